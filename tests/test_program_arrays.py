"""Array programs: real arrays, met by rendezvous, counted as a schedule is."""

from __future__ import annotations

import contextlib

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.cost import bytes_per_rank, cost
from allranks.errors import CollectiveError, Deadlock, Mismatch, RankFailed, ScheduleError
from allranks.program import trace_program, who
from allranks.program.play import play_program
from allranks.topology import Topology

WORLDS = [1, 2, 3, 4, 5, 7, 8, 16]


def vectors(n, length=5, dtype=np.int64):
    return [np.arange(length, dtype=dtype) + 100 * rank for rank in range(n)]


def on_two(first, second, inputs=None):
    """Play one function on rank 0 and another on rank 1."""

    def both(rank, x):
        return (first if rank.id == 0 else second)(rank, x)

    return play_program(both, inputs or vectors(2)).outputs


def refused(program, n=2):
    with pytest.raises(CollectiveError) as caught:
        play_program(program, vectors(n))
    return str(caught.value)


# --- what travels ----------------------------------------------------------------------------


@pytest.mark.parametrize("n", WORLDS)
def test_a_ring_of_whole_vectors_sums_on_every_rank(n):
    def ring(rank, x):
        total, passing = x.copy(), x
        for _ in range(rank.world_size - 1):
            passing = rank.sendrecv(rank.right, passing, src=rank.left)
            total += passing
        return total

    inputs = vectors(n)
    played = play_program(ring, inputs)
    assert all(np.array_equal(output, sum(inputs)) for output in played.outputs)
    assert played.traffic.sent == played.traffic.received == [(n - 1) * 40] * n
    assert (played.traffic.latency_terms, played.traffic.messages) == (n - 1, n * (n - 1))


VIEWS = {
    "every other element": lambda x: x[::2],
    "backwards": lambda x: x[::-1],
    "a column": lambda x: np.stack([x, x + 1], axis=1)[:, 1],
    "a transposed matrix": lambda x: np.stack([x, x + 1]).T,
    "Fortran order": lambda x: np.asfortranarray(np.stack([x, x + 1])),
    "a broadcast": lambda x: np.broadcast_to(x, (3, len(x))),
    "one element": lambda x: x[2],
    "no element": lambda x: x[:0],
    "a matrix of nothing": lambda x: np.empty((0, 3), x.dtype),
    "the other byte order": lambda x: x.astype(">i8"),
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype),
    "truth values": lambda x: x > 2,
    "bfloat16": lambda x: x.astype(ml_dtypes.bfloat16),
    "complex": lambda x: x * 1j,
    "half": lambda x: x.astype(np.float16),
}


@pytest.mark.parametrize("name", VIEWS)
def test_any_view_arrives_in_its_logical_order(name):
    view = VIEWS[name]
    got = on_two(lambda rank, x: rank.send(1, view(x)), lambda rank, _: rank.recv(0))[1]
    sent = np.asarray(view(vectors(2)[0]))
    assert np.array_equal(got, sent)
    assert got.dtype == sent.dtype.newbyteorder("=")
    assert got.shape == sent.shape


def test_a_receive_fills_a_view_and_returns_it():
    def take(rank, _):
        out = np.zeros((5, 3), np.int64)
        assert rank.recv(0, out=out[:, 1]).base is out
        return out

    got = on_two(lambda rank, x: rank.send(1, x), take)[1]
    assert got[:, 1].tolist() == [0, 1, 2, 3, 4]
    assert not got[:, [0, 2]].any()


def test_reduce_adds_to_what_is_there():
    def add(rank, x):
        return rank.recv(0, out=x, reduce=True)

    inputs = vectors(2)
    got = on_two(lambda rank, x: rank.send(1, x), add, inputs)[1]
    assert got is inputs[1]
    assert got.tolist() == [100, 102, 104, 106, 108]


def test_what_was_sent_is_the_value_at_the_call():
    def changing(rank, x):
        with rank.step():
            rank.send(1, x)
            x[:] = -1
        rank.send(1, x)
        x[:] = -2

    def keeping(rank, _):
        first = rank.recv(0)
        second = rank.recv(0)
        return first.tolist(), second.tolist()

    assert on_two(changing, keeping)[1] == ([0, 1, 2, 3, 4], [-1] * 5)


def test_what_arrives_belongs_to_the_receiver_alone():
    def give(rank, x):
        rank.send(1, x)
        rank.recv(1)  # only now may it look
        return x

    def spoil(rank, _):
        got = rank.recv(0)
        got[:] = -1
        rank.send(0, got)

    assert on_two(give, spoil)[0].tolist() == [0, 1, 2, 3, 4]


def test_a_swap_in_one_step_reads_both_before_it_writes():
    def swap(rank, x):
        with rank.step():
            rank.send(1 - rank.id, x)
            rank.recv(1 - rank.id, out=x)
        return x

    played = play_program(swap, vectors(2))
    assert [output[0] for output in played.outputs] == [100, 0]
    assert played.traffic.alphas == [1]


def test_the_kth_send_meets_the_kth_receive_of_the_pair():
    def three(rank, x):
        with rank.step():
            for number in (2, 0, 1):
                rank.send(1 - rank.id, x[number])
            outs = [rank.recv(1 - rank.id, out=np.zeros((), np.int64)) for _ in range(3)]
        return [int(out) for out in outs]

    assert play_program(three, vectors(2)).outputs == [[102, 100, 101], [2, 0, 1]]


def test_an_exchange_needs_no_source():
    def exchange(rank, x):
        return int(rank.sendrecv(rank.id ^ 1, x[0]))

    assert play_program(exchange, vectors(4)).outputs == [100, 0, 300, 200]


def test_arguments_come_after_the_input_and_none_is_the_result_of_a_send():
    def program(rank, x, factor, shift):
        return rank.sendrecv(rank.id, x) if False else x[1] * factor + shift

    assert play_program(program, vectors(1), 3, 4).outputs == [7]


# --- deadlocks and mismatches ----------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5, 7])
@pytest.mark.parametrize("length", [1, 100_000])
def test_a_ring_that_sends_first_prints_its_circle_whatever_the_size(n, length):
    def send_first(rank, x):
        rank.send(rank.right, x)
        return rank.recv(rank.left)

    with pytest.raises(Deadlock) as caught:
        play_program(send_first, vectors(n, length))
    circle = "; ".join(f"rank {rank} waits for rank {(rank + 1) % n}" for rank in range(n))
    assert caught.value.message.startswith(f"{circle}: a circle")
    assert "all of them send first" in caught.value.message
    assert (caught.value.rank, caught.value.peer) == (0, 1)


def test_who_waits_behind_a_circle_is_named():
    def circle_of_two(rank, x):
        if rank.id > 1:
            return rank.recv(rank.left)
        rank.recv(1 - rank.id)
        return rank.send(2, x)

    said = refused(circle_of_two, 4)
    assert said.startswith("rank 0 waits for rank 1; rank 1 waits for rank 0: a circle")
    assert said.endswith(". Blocked behind: rank 2, rank 3")


def test_a_call_that_nobody_answers_is_a_dead_end_with_both_counts():
    def too_many(rank, x):
        if rank.id == 0:
            rank.send(1, x)
            return rank.send(1, x)
        return rank.recv(0)

    assert refused(too_many, 3) == (
        "rank 0 waits for a receive on rank 1 that never comes: rank 1 has returned; rank 0 -> "
        "rank 1 has 2 sends and 1 receive, add the receive or leave this call out. Blocked "
        "behind: rank 2"
    )


def test_two_blocks_never_meet_one():
    def one_against_two(rank, x):
        if rank.id == 0:
            with rank.step():
                rank.send(1, x)
                rank.send(1, x)
        else:
            rank.recv(0)
            rank.recv(0)

    assert "rank 0 waits for rank 1; rank 1 waits for rank 0: a circle" in refused(one_against_two)


def test_a_rank_whose_calls_are_all_met_waits_for_the_one_that_is_not():
    def chained(rank, x):
        if rank.id == 0:
            return rank.send(1, x)
        if rank.id == 1:
            with rank.step():
                rank.recv(0, out=x.copy())
                rank.send(2, x)
        return None

    said = refused(chained, 3)
    assert said.startswith("rank 1 waits for a receive on rank 2 that never comes")
    assert said.endswith("Blocked behind: rank 0")


def test_a_dead_end_is_told_before_a_wait_for_somebody_who_is_there():
    def waiting(rank, x):
        if rank.id == 0:
            with rank.step():
                rank.recv(1, out=x.copy())
                rank.recv(2, out=x.copy())
        elif rank.id == 1:
            rank.recv(0)

    said = refused(waiting, 3)
    assert said.startswith("rank 0 waits for a send from rank 2 that never comes: rank 2 has")
    assert said.endswith("Blocked behind: rank 1")


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (np.empty(4, np.int64), "sends an array of shape (5,) to rank 1"),
        (np.empty((5, 1), np.int64), "has room for an array of shape (5, 1); give both the same"),
        (np.empty(5), "rank 0 sends int64 to rank 1, and the receive of rank 1 that meets it"),
        (np.empty(5, np.int32), "has room for int32; give both the same dtype"),
        (np.empty((), np.int64), "an array of shape ()"),
    ],
)
def test_a_mismatch_names_both_ranks_and_what_differs(out, said):
    with pytest.raises(Mismatch) as caught:
        on_two(lambda rank, x: rank.send(1, x), lambda rank, _: rank.recv(0, out=out))
    assert said in caught.value.message
    assert (caught.value.src, caught.value.dst) == (0, 1)


def test_the_lowest_rank_that_raised_is_reported_and_the_others_are_let_go():
    def fragile(rank, _):
        if rank.id in (2, 3):
            return [][rank.id]
        return rank.recv(3)

    for _ in range(5):
        with pytest.raises(RankFailed, match="rank 2: the program raised IndexError") as caught:
            play_program(fragile, vectors(4))
        assert "[][rank.id]" in caught.value.remote_traceback


# --- refusals ---------------------------------------------------------------------------------


def in_a_step(call):
    def program(rank, x):
        with rank.step():
            call(rank, x)

    return program


REFUSED = {
    "no such rank": (lambda rank, x: rank.send(7, x), "send: rank 7 does not exist; ranks are 0"),
    "itself": (lambda rank, _: rank.recv(rank.id), "recv from itself; use the array"),
    "sendrecv to itself": (lambda rank, x: rank.sendrecv(rank.id, x), "sendrecv to itself"),
    "no number": (lambda rank, x: rank.send("1", x), "peer is '1'; it must be a whole number"),
    "a list": (lambda rank, _: rank.send(rank.right, [1]), "array is of type list; give a NumPy"),
    "None": (lambda rank, _: rank.send(rank.right, None), "send: array is None; give a NumPy"),
    "a plain number": (lambda rank, _: rank.send(rank.right, 3), "array is of type int"),
    "objects": (
        lambda rank, _: rank.send(rank.right, np.array([None])),
        "array has dtype object; give an array of numbers",
    ),
    "dates": (lambda rank, _: rank.send(rank.right, np.zeros(2, "M8[s]")), "datetime64[s]"),
    "a list to write into": (lambda rank, _: rank.recv(rank.right, out=[0]), "out is of type list"),
    "a scalar to write into": (lambda rank, x: rank.recv(rank.right, out=x[0]), "out is of type"),
    "read-only": (
        lambda rank, x: rank.recv(rank.right, out=np.broadcast_to(x, (2, 5))),
        "out is read-only; give an array of your own",
    ),
    "reduce into nothing": (lambda rank, _: rank.recv(rank.right, reduce=True), "say out="),
    "reduce=1": (lambda rank, x: rank.recv(rank.right, out=x, reduce=1), "reduce is 1; say True"),
    "no out in a step": (in_a_step(lambda rank, _: rank.recv(rank.right)), "inside step() fills"),
    "a step in a step": (
        in_a_step(in_a_step(lambda *_: None)),
        "step() inside step()",
    ),
    "step without with": (lambda rank, _: rank.step(), "step() without `with` does nothing"),
    "a step left open": (lambda rank, _: rank.step().__enter__(), "is still open at the end"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_that_makes_no_sense_is_refused_in_a_sentence(name):
    program, said = REFUSED[name]
    message = refused(program)
    assert message.startswith("rank 0: ")
    assert said in message


def test_with_one_rank_there_is_nobody_to_talk_to():
    assert "(with one rank there is nothing to do)" in refused(
        lambda rank, x: rank.send(rank.right, x), 1
    )


def test_a_loop_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(who, "MAX_CALLS", 200)

    def endless(rank, x):
        while True:
            rank.sendrecv(rank.right, x, src=rank.left)

    with pytest.raises(ScheduleError, match="more than 200 sends and receives"):
        play_program(endless, vectors(2))


# --- memory -----------------------------------------------------------------------------------


def test_arrays_from_empty_count_until_the_last_view_of_them_is_gone():
    def allocate(rank, _):
        for _ in range(3):
            rank.empty(10, np.float64)  # gone at once
        kept = rank.empty((2, 5), np.float32)
        view = kept[0]
        del kept
        more = rank.empty(1, np.uint8)
        return view, more

    assert play_program(allocate, vectors(1)).peak_bytes == [80]

    def both(rank, _):
        return rank.empty(10, np.float64)[:1], rank.empty(10, np.float64)

    assert play_program(both, vectors(1)).peak_bytes == [160]


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64, np.uint8])
@pytest.mark.parametrize("shape", [(), 0, 3, (2, 0), (2, 3)])
def test_an_empty_array_looks_wrong_until_it_is_written(dtype, shape):
    def allocate(rank, _):
        return rank.empty(shape, dtype)

    (array,) = play_program(allocate, vectors(1)).outputs
    assert (array.shape, array.dtype) == (np.empty(shape).shape, dtype)
    assert np.all(np.isnan(array) if array.dtype.kind in "fc" else array > 100) or array.min() < 0


# --- the same costs as the schedule ------------------------------------------------------------

STEP = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda p: p[0] != p[1]))


@settings(max_examples=60)
@given(
    steps=st.lists(STEP, max_size=6),
    lone=st.booleans(),
    length=st.integers(1, 4),
)
def test_an_array_program_costs_what_the_same_program_costs_when_traced(steps, lone, length):
    n = 5

    def play(rank, send, recv):
        for pairs in steps:
            together = contextlib.nullcontext() if lone else rank.step()
            with together:
                for src, dst in sorted(pair for pair in pairs if rank.id in pair):
                    if src == rank.id:
                        send(dst)
                    else:
                        recv(src)

    def chunks(rank):
        play(rank, lambda dst: rank.send(dst, chunk=0), lambda src: rank.recv(src, chunk=0))

    def arrays(rank, x):
        play(rank, lambda dst: rank.send(dst, x), lambda src: rank.recv(src, out=x.copy()))

    nbytes = 8 * length
    try:
        traced = trace_program(chunks, "broadcast", world_size=n, num_chunks=1)
    except Deadlock:
        with pytest.raises(Deadlock):
            play_program(arrays, vectors(n, length))
        return
    traffic = play_program(arrays, vectors(n, length)).traffic
    priced = cost(traced, nbytes=nbytes, topology=Topology.uniform(n, alpha=1, bandwidth=1))
    assert traffic.latency_terms == priced.latency_terms
    assert traffic.messages == priced.messages
    assert [*zip(traffic.sent, traffic.received, strict=True)] == [
        tuple(each) for each in bytes_per_rank(traced, nbytes)
    ]


def test_messages_without_bytes_cost_nothing_as_in_a_schedule():
    def ring(rank, x):
        return rank.sendrecv(rank.right, x, src=rank.left)

    traffic = play_program(ring, vectors(3, 0)).traffic
    assert (traffic.messages, traffic.latency_terms, traffic.sent) == (0, 0, [0, 0, 0])


def test_all_that_goes_to_one_peer_in_a_step_is_one_message():
    def twice(rank, x):
        with rank.step():
            for part in (x[:2], x[2:]):
                rank.send(rank.right, part)
                rank.recv(rank.left, out=part.copy())

    traffic = play_program(twice, vectors(3)).traffic
    assert (traffic.messages, traffic.latency_terms, traffic.sent) == (3, 1, [40, 40, 40])


def test_a_rank_with_three_peers_in_a_step_pays_three_alphas():
    def gather(rank, x):
        with rank.step():
            for peer in range(1, rank.world_size):
                if rank.id == 0:
                    rank.recv(peer, out=x.copy())
                elif rank.id == peer:
                    rank.send(0, x)

    traffic = play_program(gather, vectors(4)).traffic
    assert (traffic.alphas, traffic.received[0]) == ([3], 120)


# --- random correct programs ------------------------------------------------------------------


@settings(max_examples=40)
@given(data=st.data())
def test_a_sum_up_any_tree_and_down_again_is_right_on_every_rank(data):
    n = data.draw(st.integers(1, 9))
    order = data.draw(st.permutations(range(n)))
    parent = {
        rank: order[data.draw(st.integers(0, place - 1))]
        for place, rank in enumerate(order)
        if place
    }
    length = data.draw(st.integers(0, 6))

    def tree(rank, x):
        total = x.copy()
        children = [child for child in order if parent.get(child) == rank.id]
        for child in reversed(children):
            total += rank.recv(child)
        if rank.id in parent:
            rank.send(parent[rank.id], total)
            rank.recv(parent[rank.id], out=total)
        for child in children:
            rank.send(child, total)
        return total

    inputs = vectors(n, length)
    played = play_program(tree, inputs)
    assert all(np.array_equal(output, sum(inputs)) for output in played.outputs)
    assert sum(played.traffic.sent) == 2 * (n - 1) * 8 * length
