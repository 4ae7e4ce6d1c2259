"""Rank programs: traced into schedules, or refused with the circle of ranks that wait."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.algorithms import build
from allranks.errors import Deadlock, Mismatch, RankFailed, ScheduleError
from allranks.program import Rank, trace_program, who
from allranks.schedule import Op, Transfer
from allranks.verify import verify

COPY, REDUCE = Op.COPY, Op.REDUCE
WORLDS = [1, 2, 3, 4, 5, 7, 8, 16]


def test_a_numpy_integer_names_a_rank_and_a_chunk_as_well():
    def swap(rank):
        with rank.step():
            rank.send(np.int64(1 - rank.id), chunk=np.uint8(0))
            rank.recv(np.int32(1 - rank.id), chunk=np.int64(0), reduce=True)

    (step,) = trace_program(swap, "all_reduce", world_size=2).steps
    assert step == (Transfer(0, 1, 0, REDUCE), Transfer(1, 0, 0, REDUCE))
    assert {type(number) for transfer in step for number in transfer[:3]} == {int}


@pytest.mark.parametrize("peer", [True, np.True_, 1.0, "1", None])
def test_what_is_no_whole_number_names_no_rank(peer):
    with pytest.raises(ScheduleError, match=r"rank 0: send: peer is .*; it must be a whole number"):
        trace_program(lambda rank: rank.send(peer, chunk=0), "all_reduce", world_size=2)


def ring_reduce_scatter(rank):
    for step in range(rank.world_size - 1):
        with rank.step():
            rank.send(rank.right, chunk=(rank.id - step - 1) % rank.world_size)
            rank.recv(rank.left, chunk=(rank.id - step - 2) % rank.world_size, reduce=True)


def ring_all_gather(rank):
    for step in range(rank.world_size - 1):
        with rank.step():
            rank.send(rank.right, chunk=(rank.id - step) % rank.world_size)
            rank.recv(rank.left, chunk=(rank.id - step - 1) % rank.world_size)


def ring_all_reduce(rank):
    ring_reduce_scatter(rank)
    ring_all_gather(rank)


def binomial_broadcast(rank):
    n, root = rank.world_size, rank.root
    v = (rank.id - root) % n
    distance = 1
    while distance < n:
        if v < distance and v + distance < n:
            rank.send((v + distance + root) % n, chunk=0)
        elif distance <= v < 2 * distance:
            rank.recv((v - distance + root) % n, chunk=0)
        distance *= 2


def chain_broadcast(rank):
    hop = (rank.id - rank.root) % rank.world_size
    for chunk in range(rank.num_chunks + 1):
        with rank.step():
            if hop > 0 and chunk < rank.num_chunks:
                rank.recv(rank.left, chunk=chunk)
            if hop < rank.world_size - 1 and (hop == 0 or chunk > 0):
                sent = chunk if hop == 0 else chunk - 1
                if sent < rank.num_chunks:
                    rank.send(rank.right, chunk=sent)


def send_then_receive(rank):
    if rank.world_size > 1:
        rank.send(rank.right, chunk=0)
        rank.recv(rank.left, chunk=0, reduce=True)


# --- From programs to steps -----------------------------------------------------------------


@pytest.mark.parametrize("n", WORLDS)
@pytest.mark.parametrize(
    ("fn", "collective"),
    [
        (ring_reduce_scatter, "reduce_scatter"),
        (ring_all_gather, "all_gather"),
        (ring_all_reduce, "all_reduce"),
    ],
)
def test_the_ring_as_a_program_is_the_ring_as_a_generator(fn, collective, n):
    traced = trace_program(fn, collective, world_size=n)
    verify(traced)
    assert traced.steps == build(collective, "ring", world_size=n).steps
    assert (traced.algorithm, traced.root, traced.num_chunks) == (fn.__name__, None, n)


@pytest.mark.parametrize("n", WORLDS)
def test_a_tree_of_lone_calls_takes_as_many_steps_as_the_generator(n):
    for root in range(n):
        traced = trace_program(binomial_broadcast, "broadcast", n, root=root)
        verify(traced)
        assert len(traced.steps) == (n - 1).bit_length()


@pytest.mark.parametrize("n", WORLDS)
@pytest.mark.parametrize("chunks", [1, 2, 5])
def test_a_pipelined_chain_fills_its_pipe(n, chunks):
    traced = trace_program(chain_broadcast, "broadcast", n, root=n // 2, num_chunks=chunks)
    verify(traced)
    by_generator = build("broadcast", "chain", world_size=n, root=n // 2, num_chunks=chunks)
    assert len(traced.steps) == len(by_generator.steps)
    assert traced.num_transfers == by_generator.num_transfers


def test_two_ranks_swap_in_one_step():
    def swap(rank):
        with rank.step():
            rank.send(1 - rank.id, chunk=0)
            rank.recv(1 - rank.id, chunk=0)

    traced = trace_program(swap, "all_reduce", world_size=2)
    assert traced.steps == ((Transfer(0, 1, 0, COPY), Transfer(1, 0, 0, COPY)),)


def test_the_kth_send_meets_the_kth_receive():
    def three(rank):
        for chunk in (2, 0, 1):
            if rank.id == 0:
                rank.send(1, chunk=chunk)
            else:
                rank.recv(0, chunk=chunk, reduce=chunk == 0)

    traced = trace_program(three, "broadcast", world_size=2)
    assert traced.num_chunks == 3
    assert traced.steps == (
        (Transfer(0, 1, 2, COPY),),
        (Transfer(0, 1, 0, REDUCE),),
        (Transfer(0, 1, 1, COPY),),
    )


def test_a_group_waits_for_the_latest_of_its_ranks_and_others_do_not():
    def fn(rank):
        if rank.id in (0, 1):
            for _ in range(3):
                rank.send(1, chunk=0) if rank.id == 0 else rank.recv(0, chunk=0)
        if rank.id == 1:
            rank.send(2, chunk=0)
        if rank.id == 2:
            rank.recv(1, chunk=0)
            rank.send(3, chunk=0)
        if rank.id == 3:
            rank.recv(2, chunk=0)
        if rank.id in (4, 5):
            rank.send(5, chunk=0) if rank.id == 4 else rank.recv(4, chunk=0)

    traced = trace_program(fn, "broadcast", world_size=6)
    assert [[(t.src, t.dst) for t in step] for step in traced.steps] == [
        [(0, 1), (4, 5)],
        [(0, 1)],
        [(0, 1)],
        [(1, 2)],
        [(2, 3)],
    ]


def test_blocks_that_meet_share_a_step_even_at_second_hand():
    def fn(rank):
        """Rank 1's step joins the lone calls of ranks 0 and 2."""
        if rank.id == 0:
            rank.send(1, chunk=0)
        if rank.id == 1:
            with rank.step():
                rank.recv(0, chunk=0, reduce=True)
                rank.send(2, chunk=0)
        if rank.id == 2:
            rank.recv(1, chunk=0, reduce=True)

    (step,) = trace_program(fn, "all_reduce", world_size=3).steps
    assert step == (Transfer(0, 1, 0, REDUCE), Transfer(1, 2, 0, REDUCE))


def test_an_empty_step_and_an_empty_program_are_nothing():
    def fn(rank):
        with rank.step():
            pass

    assert trace_program(fn, "all_reduce", world_size=3).steps == ()
    assert trace_program(lambda _: None, "all_reduce", 3).algorithm == "program"


def test_a_rank_knows_its_place():
    seen = []

    def fn(rank):
        seen.append((rank.id, rank.left, rank.right, rank.world_size, rank.root, rank.num_chunks))

    trace_program(fn, "scatter", world_size=3, root=1)
    assert seen == [(0, 2, 1, 3, 1, 3), (1, 0, 2, 3, 1, 3), (2, 1, 0, 3, 1, 3)]
    assert repr(Rank(1, 3)) == "<rank 1 of 3>"


def test_the_root_is_rank_0_unless_said_otherwise():
    assert trace_program(lambda _: None, "broadcast", 3).root == 0
    assert trace_program(lambda _: None, "all_reduce", 3).root is None


def test_chunks_are_counted_where_the_collective_leaves_them_open():
    def fn(rank):
        if rank.id == 0:
            rank.send(1, chunk=4)
        else:
            rank.recv(0, chunk=4)

    assert trace_program(fn, "broadcast", 2).num_chunks == 5
    assert trace_program(fn, "broadcast", 2, num_chunks=7).num_chunks == 7
    assert trace_program(fn, "all_to_all", 2, num_chunks=8).num_chunks == 8
    assert trace_program(lambda _: None, "all_to_all", 3).num_chunks == 9


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_schedule_written_as_a_program_comes_back(data):
    """Each rank plays its part of every step in one block; steps may only come earlier."""
    n = data.draw(st.integers(2, 5))
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    steps = data.draw(
        st.lists(st.lists(st.sampled_from(pairs), min_size=1, max_size=4, unique=True), max_size=5)
    )

    def fn(rank):
        for number, step in enumerate(steps):
            with rank.step():
                for src, dst in step:
                    if rank.id == src:
                        rank.send(dst, chunk=number)
                    if rank.id == dst:
                        rank.recv(src, chunk=number, reduce=True)

    traced = trace_program(fn, "all_reduce", n)
    moved = sorted((t.chunk, t.src, t.dst) for _, t in traced.transfers())
    assert moved == sorted((number, *pair) for number, step in enumerate(steps) for pair in step)
    when = {(t.src, t.dst, t.chunk): number for number, t in traced.transfers()}
    for (a, b, early), (c, d, late) in itertools.product(when, repeat=2):
        assert when[a, b, early] <= early
        if early < late and {a, b} & {c, d}:
            assert when[a, b, early] < when[c, d, late]


# --- Deadlocks --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_a_ring_that_sends_first_deadlocks_and_prints_its_circle(n):
    with pytest.raises(Deadlock) as caught:
        trace_program(send_then_receive, "all_reduce", world_size=n)
    circle = "; ".join(f"rank {r} waits for rank {(r + 1) % n}" for r in range(n))
    assert str(caught.value) == (
        f"{circle}: a circle, and nobody can go on; all of them send first; "
        "put a rank's send and receive into one `with rank.step():`"
    )
    assert (caught.value.kind, caught.value.rank, caught.value.peer) == ("deadlock", 0, 1)


def test_the_same_ring_in_a_step_does_not_deadlock():
    def together(rank):
        with rank.step():
            send_then_receive(rank)

    assert len(trace_program(together, "all_reduce", world_size=5).steps) == 1


def test_a_ring_that_receives_first_waits_the_other_way_round():
    def receive_first(rank):
        rank.recv(rank.left, chunk=0)
        rank.send(rank.right, chunk=0)

    words = "rank 0 waits for rank 2; rank 2 waits for rank 1; rank 1 waits for rank 0"
    with pytest.raises(Deadlock, match=words) as caught:
        trace_program(receive_first, "all_reduce", world_size=3)
    assert "all of them receive first" in str(caught.value)


def test_even_and_odd_ranks_taking_turns_go_through():
    def turns(rank):
        calls = [
            lambda: rank.send(rank.right, chunk=0),
            lambda: rank.recv(rank.left, chunk=0, reduce=True),
        ]
        for call in calls if rank.id % 2 == 0 else calls[::-1]:
            call()

    assert len(trace_program(turns, "all_reduce", world_size=4).steps) == 2
    assert len(trace_program(turns, "all_reduce", world_size=3).steps) == 3


def test_ranks_blocked_behind_a_circle_are_named_apart():
    def fn(rank):
        if rank.id in (1, 2):
            rank.send(3 - rank.id, chunk=0)
            rank.recv(3 - rank.id, chunk=0)
        if rank.id == 1:
            rank.send(0, chunk=0)
        if rank.id == 0:
            rank.recv(1, chunk=0)
            rank.send(3, chunk=0)
        if rank.id == 3:
            rank.recv(0, chunk=0)

    with pytest.raises(Deadlock) as caught:
        trace_program(fn, "all_reduce", world_size=5)
    message = str(caught.value)
    assert message.startswith("rank 1 waits for rank 2; rank 2 waits for rank 1: a circle")
    assert message.endswith(". Blocked behind: rank 0, rank 3")
    assert caught.value.rank == 1


def test_a_send_that_never_comes_is_named():
    def fn(rank):
        if rank.id == 1:
            rank.recv(0, chunk=2)
            rank.send(2, chunk=2)
        if rank.id == 2:
            rank.recv(1, chunk=2)

    with pytest.raises(Deadlock) as caught:
        trace_program(fn, "broadcast", world_size=3)
    assert str(caught.value) == (
        "rank 1 waits for a send from rank 0 that never comes (chunk 2); rank 0 -> rank 1 has "
        "0 sends and 1 receives, add the send. Blocked behind: rank 2"
    )
    error = caught.value
    assert (error.rank, error.peer, error.chunk) == (1, 0, 2)


def test_a_receive_that_never_comes_is_named():
    def fn(rank):
        if rank.id == 0:
            rank.send(1, chunk=0)
            rank.send(1, chunk=1)
        else:
            rank.recv(0, chunk=0)

    with pytest.raises(Deadlock) as caught:
        trace_program(fn, "broadcast", world_size=2)
    assert str(caught.value) == (
        "rank 0 waits for a receive on rank 1 that never comes (chunk 1); rank 0 -> rank 1 has "
        "2 sends and 1 receives, add the receive"
    )


def test_two_blocks_of_one_rank_in_one_group_deadlock():
    def fn(rank):
        if rank.id == 0:
            rank.send(1, chunk=0)
            rank.send(1, chunk=1)
        else:
            with rank.step():
                rank.recv(0, chunk=0)
                rank.recv(0, chunk=1)

    with pytest.raises(Deadlock, match="rank 0 waits for rank 1; rank 1 waits for rank 0"):
        trace_program(fn, "broadcast", world_size=2)


def test_a_whole_block_waits_for_one_of_its_calls():
    def fn(rank):
        """Ranks 0, 1, 2 meet in one group; rank 2 also waits for rank 3, which waits for it."""
        if rank.id == 0:
            rank.send(1, chunk=0)
        if rank.id == 1:
            with rank.step():
                rank.recv(0, chunk=0)
                rank.send(2, chunk=0)
        if rank.id == 2:
            with rank.step():
                rank.recv(1, chunk=0)
                rank.send(3, chunk=0)
            rank.recv(3, chunk=0)
        if rank.id == 3:
            rank.send(2, chunk=0)
            rank.recv(2, chunk=0)

    with pytest.raises(Deadlock) as caught:
        trace_program(fn, "broadcast", world_size=4)
    message = str(caught.value)
    assert message.startswith("rank 2 waits for rank 3; rank 3 waits for rank 2: a circle")
    assert message.endswith("Blocked behind: rank 0, rank 1")


def test_chunks_that_differ_are_a_mismatch():
    def fn(rank):
        if rank.id == 0:
            rank.send(1, chunk=0)
        else:
            rank.recv(0, chunk=1)

    with pytest.raises(Mismatch) as caught:
        trace_program(fn, "broadcast", world_size=2)
    assert str(caught.value) == (
        "rank 0 sends chunk 0 to rank 1, and the receive of rank 1 that meets it says chunk 1; "
        "both must name the same chunk"
    )
    error = caught.value
    assert (error.src, error.dst, error.chunk) == (0, 1, 1)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_random_lone_calls_are_judged_as_by_playing_them(data):
    """A twin that plays rendezvous one by one agrees on who gets through."""
    n = data.draw(st.integers(2, 4))
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    moves = data.draw(st.lists(st.sampled_from(pairs), max_size=6))
    calls = [[] for _ in range(n)]
    for src, dst in moves:
        calls[src].append((True, dst))
        calls[dst].append((False, src))
    calls = [data.draw(st.permutations(mine)) for mine in calls]

    def fn(rank):
        for sends, peer in calls[rank.id]:
            (rank.send if sends else rank.recv)(peer, chunk=0)

    left = [list(mine) for mine in calls]
    met = True
    while met:
        met = False
        for src, dst in pairs:
            if left[src][:1] == [(True, dst)] and left[dst][:1] == [(False, src)]:
                del left[src][0], left[dst][0]
                met = True
    if any(left):
        with pytest.raises(Deadlock) as caught:
            trace_program(fn, "all_reduce", n)
        assert left[caught.value.rank][0][1] == caught.value.peer
    else:
        assert trace_program(fn, "all_reduce", n).num_transfers == len(moves)


# --- Misuse -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda r: r.send(2, chunk=0), "unknown_endpoint", "send: rank 2 does not exist"),
        (lambda r: r.recv(-1, chunk=0), "unknown_endpoint", "recv: rank -1 does not exist"),
        (lambda r: r.send(r.id, chunk=0), "self_send", "send to itself"),
        (lambda r: r.recv(r.id, chunk=0), "self_send", "recv from itself"),
        (lambda r: r.send(r.right, chunk=2), "unknown_chunk", "chunks are 0 to 1"),
        (lambda r: r.send(r.right, chunk=-1), "unknown_chunk", "there is no chunk -1"),
        (lambda r: r.send(r.right, chunk=0.0), "format", "chunk is 0.0; it must be a whole"),
        (lambda r: r.send(r.right, chunk=True), "format", "chunk is True"),
        (lambda r: r.send("1", chunk=0), "format", "peer is '1'"),
        (lambda r: r.recv(r.right, chunk=0, reduce="sum"), "format", "reduce is 'sum'"),
        (lambda r: r.step(), "format", "step() without `with` does nothing"),
        (lambda r: r.step().__enter__(), "format", "still open at the end"),
    ],
)
def test_a_wrong_call_is_refused_with_its_rank(call, kind, words):
    with pytest.raises(ScheduleError) as caught:
        trace_program(call, "broadcast", world_size=2, num_chunks=2)
    assert (caught.value.kind, caught.value.rank) == (kind, 0)
    assert str(caught.value).startswith("rank 0: ")
    assert words in str(caught.value)


def test_one_rank_has_nobody_to_send_to():
    with pytest.raises(ScheduleError, match="with one rank there is nothing to do"):
        trace_program(lambda r: r.send(r.right, chunk=0), "broadcast", 1)


def test_a_step_inside_a_step_is_refused():
    def fn(rank):
        with rank.step(), rank.step():
            pass

    with pytest.raises(ScheduleError, match=r"rank 0: step\(\) inside step\(\)"):
        trace_program(fn, "broadcast", 2)


def test_an_exception_inside_a_program_names_the_rank_and_keeps_its_traceback():
    def fn(rank):
        with rank.step():
            if rank.id == 1:
                rank.recv(0, chunk=0)
                raise KeyError(rank.id)
            rank.send(1, chunk=0)

    with pytest.raises(RankFailed) as caught:
        trace_program(fn, "broadcast", 2)
    assert str(caught.value).startswith("rank 1: the program raised KeyError: 1 (after 1 calls)")
    assert isinstance(caught.value.__cause__, KeyError)
    assert "raise KeyError(rank.id)" in caught.value.remote_traceback


def test_an_interrupt_is_not_swallowed():
    def fn(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trace_program(fn, "broadcast", 2)


def test_a_generator_or_async_function_is_refused_because_it_has_not_run():
    def generator(rank):
        yield rank.send(rank.right, chunk=0)

    async def coroutine(rank):
        rank.send(rank.right, chunk=0)

    for fn in (generator, coroutine):
        with pytest.raises(ScheduleError, match="contains yield or is async"):
            trace_program(fn, "broadcast", 2)


def test_a_loop_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(who, "MAX_CALLS", 1000)

    def fn(rank):
        while True:
            rank.send(rank.right, chunk=0)

    with pytest.raises(ScheduleError, match="more than 1000 sends and receives"):
        trace_program(fn, "broadcast", 2)


def test_num_chunks_left_open_cannot_be_asked_for():
    with pytest.raises(ScheduleError, match=r"say trace_program\(num_chunks=\)"):
        trace_program(lambda r: r.num_chunks, "all_reduce", 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"collective": "brodcast", "world_size": 2}, "did you mean 'broadcast'"),
        ({"collective": "broadcast", "world_size": 0}, "at least 1 rank"),
        ({"collective": "broadcast", "world_size": -3}, "at least 1 rank"),
        ({"collective": "broadcast", "world_size": 2.0}, "world_size is 2.0"),
        ({"collective": "broadcast", "world_size": None}, "world_size is None"),
        ({"collective": "broadcast", "world_size": 2, "root": 2}, "needs a rank from 0 to 1"),
        ({"collective": "broadcast", "world_size": 2, "root": True}, "root is True"),
        ({"collective": "all_reduce", "world_size": 2, "root": 0}, "has no root"),
        ({"collective": "all_gather", "world_size": 2, "num_chunks": 3}, "multiple of 2"),
        ({"collective": "all_reduce", "world_size": 2, "num_chunks": 0}, "positive"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_before_anything_runs(arguments, words):
    with pytest.raises(ValueError, match=words):
        trace_program(lambda _: pytest.fail("it ran"), **arguments)
