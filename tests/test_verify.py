"""The verifier: what it proves, what it refuses, and the step it blames."""

from __future__ import annotations

import importlib
import itertools
import pickle
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from allranks.algorithms import ALGORITHMS, build
from allranks.collectives import CONTRACTS, Contract
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule, Transfer
from allranks.verify import blame, final_state, play, states, verify, where

room = importlib.import_module("allranks.verify")  # the package binds the function to this name
COPY, REDUCE = Op.COPY, Op.REDUCE
BASE = 10**6  # more than any part is ever counted here


def make(collective, n, steps, *, root=None, num_chunks=1, num_switches=0):
    rows = tuple(tuple(Transfer(*transfer) for transfer in step) for step in steps)
    return Schedule(collective, "by hand", n, num_chunks, rows, root, num_switches)


def ring(n, steps, chunk, *, op=REDUCE, right=1):
    return [[(r, (r + right) % n, chunk(r, s) % n, op) for r in range(n)] for s in range(steps)]


def refusal(schedule):
    with pytest.raises(ScheduleError) as caught:
        verify(schedule)
    return caught.value


# --- An executor and a judge of our own: no symbols, only integers -----------------------------


def starting(schedule, rank, chunk):
    n, block = schedule.world_size, chunk * schedule.world_size // schedule.num_chunks
    held = {
        "broadcast": rank == schedule.root,
        "scatter": rank == schedule.root,
        "gather": rank == block,
        "all_gather": rank == block,
        "all_to_all": rank == block,
    }
    return BASE**rank if held.get(schedule.collective, True) and rank < n else None


def wanted(schedule, rank, chunk):
    """Return the number a rank must end with, or None."""
    n, block = schedule.world_size, chunk * schedule.world_size // schedule.num_chunks
    total = sum(BASE**r for r in range(n))
    root = schedule.root
    return {
        "broadcast": lambda: BASE**root,
        "reduce": lambda: total if rank == root else None,
        "scatter": lambda: BASE**root if rank == block else None,
        "gather": lambda: BASE**block if rank == root else None,
        "all_gather": lambda: BASE**block,
        "reduce_scatter": lambda: total if rank == block else None,
        "all_reduce": lambda: total,
        "all_to_all": lambda: (
            BASE**block if chunk * n * n // schedule.num_chunks % n == rank else None
        ),
    }[schedule.collective]()


def executed(schedule):
    """Return what every endpoint ends with, or None if a step cannot be played."""
    endpoints, chunks = schedule.num_endpoints, schedule.num_chunks
    held = {
        (e, c): starting(schedule, e, c) if e < schedule.world_size else None
        for e in range(endpoints)
        for c in range(chunks)
    }
    for step in schedule.steps:
        before = dict(held)
        writers = Counter((t.dst, t.chunk) for t in step)
        for t in step:
            if (
                t.src == t.dst
                or (t.dst, t.chunk) not in held
                or before.get((t.src, t.chunk)) is None
            ):
                return None
            if t.op is COPY and writers[t.dst, t.chunk] > 1:
                return None
            sent = before[t.src, t.chunk]
            own = held[t.dst, t.chunk]
            held[t.dst, t.chunk] = sent if t.op is COPY or own is None else own + sent
    return held


def keeps_its_promise(schedule):
    held = executed(schedule)
    return held is not None and all(
        wanted(schedule, rank, chunk) in (None, held[rank, chunk])
        for rank in range(schedule.world_size)
        for chunk in range(schedule.num_chunks)
    )


def fault_of(schedule):
    """Return the error, or None for a schedule that is proved."""
    try:
        verify(schedule)
    except ScheduleError as error:
        return error
    return None


def proved(schedule):
    return fault_of(schedule) is None


# --- What it proves ----------------------------------------------------------------------------


def test_verify_returns_nothing_for_a_right_schedule():
    result = verify(build("all_reduce", "ring", world_size=4))
    assert result is None


def test_every_send_reads_the_state_before_the_step():
    # In place, one after the other, rank 0's part would come back to rank 0.
    both_ways = make("all_reduce", 2, [[(0, 1, 0, REDUCE), (1, 0, 0, REDUCE)]])
    assert final_state(both_ways) == [[Counter({0: 1, 1: 1})]] * 2
    verify(both_ways)


def test_several_reduces_into_one_chunk_in_one_step_are_allowed():
    verify(make("reduce", 4, [[(r, 0, 0, REDUCE) for r in (3, 1, 2)]], root=0))


def test_a_reduce_into_an_endpoint_that_holds_nothing_stores():
    verify(make("broadcast", 2, [[(0, 1, 0, REDUCE)]], root=0))
    verify(build("all_reduce", "sharp", world_size=3, num_chunks=2))


@pytest.mark.parametrize("right", [1, -1])
@pytest.mark.parametrize("start", range(5))
def test_every_ring_that_ends_right_is_accepted(right, start):
    n = 5
    # the chunk numbers of one phase follow from those of the other, wherever one begins
    reduce = ring(n, n - 1, lambda r, s: r + start - right * s, right=right)
    gather = ring(n, n - 1, lambda r, s: r + start + right - right * s, op=COPY, right=right)
    verify(make("all_reduce", n, reduce + gather, num_chunks=n))


def test_a_double_count_that_no_promise_depends_on_is_nobodys_business():
    n = 4
    one_step_more = ring(n, n, lambda r, s: r - 1 - s)
    verify(make("reduce_scatter", n, one_step_more, num_chunks=n))
    echo = make("reduce", 3, [[(1, 0, 0, REDUCE), (2, 0, 0, REDUCE)], [(0, 1, 0, REDUCE)]], root=0)
    assert final_state(echo)[1] == [Counter({0: 1, 1: 2, 2: 1})]
    verify(echo)


def test_one_rank_needs_no_step():
    for collective, contract in CONTRACTS.items():
        verify(make(collective, 1, [], root=0 if contract.rooted else None))


def test_a_ring_of_64_ranks_costs_few_operations(monkeypatch):
    joins = []
    monkeypatch.setattr(play, "join", lambda a, b, join=play.join: joins.append(1) or join(a, b))
    monkeypatch.setattr(play, "counter", lambda _: pytest.fail("a Counter on the fast path"))
    verify(build("all_reduce", "ring", world_size=64))
    assert len(joins) == 63 * 64


# --- States ------------------------------------------------------------------------------------


def test_final_state_counts_parts_and_shows_switches():
    schedule = make(
        "all_reduce",
        2,
        [[(0, 2, 0, REDUCE), (1, 2, 0, REDUCE)], [(2, 0, 0, REDUCE)]],
        num_switches=1,
    )
    assert final_state(schedule) == [
        [Counter({0: 2, 1: 1})],
        [Counter({1: 1})],
        [Counter({0: 1, 1: 1})],
    ]


def test_states_are_one_more_than_steps_and_independent():
    seen = list(states(build("broadcast", "chain", world_size=3)))
    nothing, root = Counter(), Counter({0: 1})
    assert seen == [
        [[root], [nothing], [nothing]],
        [[root], [root], [nothing]],
        [[root], [root], [root]],
    ]
    seen[2][0][0][9] = 1
    assert seen[1][0][0] == root


def test_states_yields_what_was_before_a_step_that_cannot_be_played():
    broken = make("broadcast", 3, [[(0, 1, 0, COPY)], [(2, 1, 0, COPY)]], root=0)
    walk = states(broken)
    assert next(walk)[1] == [Counter()]
    assert next(walk)[1] == [Counter({0: 1})]
    with pytest.raises(ScheduleError, match="step 1"):
        next(walk)


# --- What it refuses, in words -----------------------------------------------------------------


def test_a_part_added_twice_is_named_with_step_ranks_and_chunk():
    error = refusal(make("all_reduce", 2, [[(0, 1, 0, REDUCE)], [(1, 0, 0, REDUCE)]]))
    assert error.to_dict() == {
        "kind": "double_count",
        "rank": 0,
        "step": 1,
        "src": 1,
        "dst": 0,
        "peer": None,
        "chunk": 0,
        "message": "step 1: rank 1 -> rank 0, chunk 0: the part of rank 0 would be added twice; "
        "what rank 1 sends is complete, so COPY it",
    }


def test_a_partial_sum_added_twice_asks_for_another_chunk():
    error = refusal(
        make("reduce", 3, [[(2, 1, 0, REDUCE)], [(1, 0, 0, REDUCE)], [(2, 0, 0, REDUCE)]], root=0)
    )
    assert str(error) == (
        "step 2: rank 2 -> rank 0, chunk 0: the part of rank 2 would be added twice; "
        "send a chunk that does not contain it"
    )


def test_the_same_reduce_twice_in_one_step_is_a_double_count():
    error = refusal(make("reduce", 2, [[(1, 0, 0, REDUCE), (1, 0, 0, REDUCE)]], root=0))
    assert (error.kind, error.step) == ("double_count", 0)
    assert "stands twice in this step" in str(error)


def test_a_double_count_is_reported_where_it_entered_not_where_it_shows():
    # Rank 2 gets rank 3's part twice in step 1; rank 0, to whom it is promised, only in step 3.
    steps = [
        [(3, 2, 0, REDUCE)],
        [(3, 2, 0, REDUCE)],
        [(2, 1, 0, REDUCE)],
        [(1, 0, 0, REDUCE)],
    ]
    error = refusal(make("reduce", 4, steps, root=0))
    assert (error.step, error.src, error.dst, error.rank) == (1, 3, 2, 2)
    assert "the part of rank 3 would be added twice" in str(error)


def test_of_several_reduces_the_last_in_order_of_src_is_the_one_too_many():
    steps = [[(3, 1, 0, REDUCE)], [(3, 0, 0, REDUCE), (1, 0, 0, REDUCE), (2, 0, 0, REDUCE)]]
    error = refusal(make("reduce", 4, steps, root=0))
    assert (error.kind, error.step, error.src) == ("double_count", 1, 3)


def test_several_parts_added_twice_are_all_named():
    n = 7
    steps = [[(r, 0, 0, REDUCE)] for r in range(1, n)] + [[(0, 1, 0, REDUCE)]]
    error = refusal(make("all_reduce", n, [*steps, [(1, r, 0, COPY) for r in range(2, n)]]))
    assert error.step == n - 1
    schedule = build("all_reduce", "ring", world_size=n)
    flipped = schedule.steps[:7] + tuple(
        tuple(t._replace(op=REDUCE) for t in step) for step in schedule.steps[7:]
    )
    error = refusal(replace(schedule, steps=flipped))
    assert (error.kind, error.step) == ("double_count", 7)
    assert "the parts of ranks " in str(error)


def test_a_copy_over_a_part_that_was_needed_is_the_fault():
    error = refusal(make("all_reduce", 2, [[(0, 1, 0, COPY), (1, 0, 0, COPY)]]))
    assert (error.kind, error.step, error.src, error.dst, error.rank) == ("missing", 0, 1, 0, 0)
    assert str(error) == (
        "step 0: rank 1 -> rank 0, chunk 0: COPY replaces what rank 0 holds and loses the part of "
        "rank 0; REDUCE keeps it"
    )


def test_a_copy_that_replaces_a_better_value_does_not_advise_reduce():
    steps = [[(1, 0, 0, REDUCE)], [(2, 0, 0, REDUCE)], [(1, 0, 0, COPY)]]
    error = refusal(make("reduce", 3, steps, root=0))
    assert (error.kind, error.step) == ("missing", 2)
    steps = [[(1, 0, 0, REDUCE), (1, 2, 0, REDUCE)], [(2, 0, 0, COPY)]]
    error = refusal(make("reduce", 3, steps, root=0))
    assert error.step == 1
    assert str(error).endswith("send a chunk that contains what is there already")


def test_a_transfer_left_out_is_missed_where_a_rank_falls_silent():
    schedule = build("broadcast", "binomial", world_size=8)
    first, (zero, _, *rest), last = schedule.steps[0], schedule.steps[1], schedule.steps[2]
    kept = tuple(t for t in last if t.src != 3 and t.dst != 7)
    error = refusal(replace(schedule, steps=(first, (zero, *rest), kept)))
    assert (error.kind, error.step, error.peer) == ("missing", 1, 1)
    assert str(error) == (
        "step 1: chunk 0: rank 1 has it and sends nothing in this step; rank 3 ends without it, "
        "add the transfer that brings it there"
    )


def test_a_schedule_that_stops_too_early_says_so():
    schedule = build("reduce_scatter", "ring", world_size=4)
    error = refusal(replace(schedule, steps=schedule.steps[:-1]))
    assert (error.kind, error.step, error.chunk, error.rank) == ("missing", 1, 0, 0)
    assert str(error) == (
        "step 1: chunk 0: the schedule ends here, and rank 3 has the parts of ranks 1, 2 and 3; "
        "rank 0 ends without them, add the transfer that brings them there"
    )


def test_a_schedule_without_steps_has_no_step_to_blame():
    error = refusal(make("all_reduce", 2, []))
    assert (error.kind, error.step) == ("missing", None)
    assert str(error).startswith("no step: chunk 0: the schedule ends here, and rank 1 has")


def test_parts_that_were_never_together_are_spoken_of_one_at_a_time():
    error = refusal(make("reduce", 4, [[(1, 0, 0, REDUCE)]], root=0))
    assert (error.kind, error.peer) == ("missing", 2)
    assert "the part of rank 2" in str(error)


def test_who_no_longer_has_a_part_is_not_blamed_for_silence():
    # Rank 1 sends chunk 1 in steps 0 and 2; in step 1, when it is silent, its chunk 0 is gone.
    steps = [
        [(2, 1, 0, COPY), (1, 0, 1, REDUCE)],
        [(2, 0, 0, REDUCE), (2, 0, 1, REDUCE)],
        [(1, 2, 1, REDUCE)],
    ]
    error = refusal(make("reduce", 3, steps, root=0, num_chunks=2))
    assert (error.kind, error.step, error.peer) == ("missing", 0, 1)
    assert "from here on nobody new gets it" in str(error)


def test_always_sending_the_own_block_is_found_in_step_1():
    schedule = make("all_gather", 4, ring(4, 3, lambda r, _: r, op=COPY), num_chunks=4)
    error = refusal(schedule)
    assert (error.kind, error.step, error.rank, error.chunk) == ("missing", 1, 2, 0)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8])
def test_the_r_plus_1_trap_is_called_by_its_name(n):
    textbook = make("reduce_scatter", n, ring(n, n - 1, lambda r, s: r - s), num_chunks=n)
    error = refusal(textbook)
    owner = n - 1
    assert (error.kind, error.step, error.chunk, error.rank) == ("wrong_owner", n - 2, 0, 0)
    assert (error.dst, error.peer) == (owner, owner)
    assert str(error) == (
        f"step {n - 2}: rank {owner - 1} -> rank {owner}, chunk 0: chunk 0 is complete on rank "
        f"{owner}, the contract wants it on rank 0: start one chunk earlier "
        '(the "r + 1" trap: rank r ends with chunk r + 1)'
    )


def test_the_trap_is_named_for_a_ring_that_turns_left_and_for_blocks():
    n = 5
    left = make("reduce_scatter", n, ring(n, n - 1, lambda r, s: r + s, right=-1), num_chunks=n)
    assert str(refusal(left)).endswith("start one chunk later")
    doubled = [
        [(t[0], t[1], 2 * t[2] + j, t[3]) for t in step for j in (0, 1)]
        for step in ring(n, n - 1, lambda r, s: r - s)
    ]
    blocks = refusal(make("reduce_scatter", n, doubled, num_chunks=2 * n))
    assert blocks.kind == "wrong_owner"
    assert 'the "r + 1" trap' in str(blocks)


def test_a_reduce_that_ends_on_another_rank_asks_about_the_root():
    schedule = replace(build("reduce", "chain", world_size=4, root=0), root=2)
    error = refusal(schedule)
    assert (error.kind, error.peer, error.rank) == ("wrong_owner", 0, 2)
    assert "the root is rank 2, is that used?" in str(error)


def test_a_sum_that_ends_on_a_stranger_speaks_of_no_root_where_there_is_none():
    home = {0: 0, 1: 3, 2: 2, 3: 3}
    step = [(src, dst, c, REDUCE) for c, dst in home.items() for src in range(4) if src != dst]
    error = refusal(make("reduce_scatter", 4, [step], num_chunks=4))
    assert (error.kind, error.peer, error.rank) == ("wrong_owner", 3, 1)
    assert str(error).endswith("let its way end there")


def test_blocks_delivered_to_each_other_have_the_wrong_owner():
    error = refusal(
        make("scatter", 3, [[(0, 2, 1, COPY)], [(0, 1, 2, COPY)]], root=0, num_chunks=3)
    )
    assert (error.kind, error.step, error.peer, error.rank) == ("wrong_owner", 0, 2, 1)


def test_sending_what_one_does_not_hold_is_an_error_at_once():
    moved = replace(build("broadcast", "chain", world_size=4, root=0), root=2)
    error = refusal(moved)
    assert (error.kind, error.step, error.rank) == ("not_held", 0, 0)
    assert str(error) == (
        "step 0: rank 0 -> rank 1, chunk 0: rank 0 sends data it does not hold (the root is "
        "rank 2); bring chunk 0 there first, or let somebody send it who has it"
    )


def test_sending_on_in_the_step_of_arrival_explains_the_step():
    error = refusal(make("broadcast", 3, [[(0, 1, 0, COPY), (1, 2, 0, COPY)]], root=0))
    assert "every send reads the state before the step" in str(error)
    error = refusal(make("broadcast", 3, [[(1, 2, 0, COPY)], [(0, 1, 0, COPY)]], root=0))
    assert "it only arrives in step 1" in str(error)


def test_a_switch_that_received_nothing_has_nothing_to_send():
    error = refusal(make("all_reduce", 2, [[(2, 0, 0, COPY)]], num_switches=1))
    assert (error.kind, error.src) == ("not_held", 2)
    assert str(error).startswith("step 0: switch 0 -> rank 0, chunk 0: switch 0 sends data")


@pytest.mark.parametrize(("first", "second"), [(COPY, COPY), (COPY, REDUCE), (REDUCE, COPY)])
def test_two_writes_into_one_chunk_in_one_step_conflict(first, second):
    error = refusal(make("all_reduce", 3, [[(0, 2, 0, first), (1, 2, 0, second)]]))
    assert (error.kind, error.step, error.src, error.dst) == ("write_conflict", 0, 1, 2)
    assert (error.rank, error.peer, error.chunk) == (2, 0, 0)
    assert f"rank 0 writes chunk 0 of rank 2 in the same step ({first.name}, here" in str(error)


def test_the_same_copy_twice_in_one_step_is_to_be_left_out():
    error = refusal(make("broadcast", 2, [[(0, 1, 0, COPY), (0, 1, 0, COPY)]], root=0))
    assert error.kind == "write_conflict"
    assert str(error).endswith(
        "the same transfer stands in this step already; leave one of them out"
    )


@pytest.mark.parametrize(
    ("transfer", "switches", "kind", "words"),
    [
        ((0, 3, 0, COPY), 0, "unknown_endpoint", "rank 3 does not exist; ranks are 0 to 2"),
        ((-1, 0, 0, COPY), 0, "unknown_endpoint", "rank -1 does not exist; ranks are 0 to 2"),
        (
            (0, 5, 0, COPY),
            2,
            "unknown_endpoint",
            "endpoint 5 does not exist; ranks are 0 to 2, switches are the endpoints from 3 to 4",
        ),
        ((0, 1, 1, COPY), 0, "unknown_chunk", "there is no chunk 1; the only chunk is 0"),
        ((0, 1, -1, COPY), 0, "unknown_chunk", "there is no chunk -1"),
        ((1, 1, 0, COPY), 0, "self_send", "rank 1 sends to itself"),
        ((3, 3, 0, COPY), 1, "self_send", "switch 0 sends to itself"),
    ],
)
def test_places_that_do_not_exist_are_refused(transfer, switches, kind, words):
    error = refusal(make("all_reduce", 3, [[], [transfer]], num_switches=switches))
    assert (error.kind, error.step) == (kind, 1)
    assert (error.src, error.dst, error.chunk) == transfer[:3]
    assert words in str(error)


def test_the_first_transfer_that_cannot_be_played_is_reported():
    steps = [[(0, 1, 0, COPY)], [(2, 1, 0, COPY), (0, 9, 0, COPY)]]
    assert refusal(make("broadcast", 3, steps, root=0)).kind == "not_held"
    assert refusal(make("broadcast", 3, [steps[1][::-1]], root=0)).kind == "unknown_endpoint"


@pytest.mark.parametrize(
    "transfer",
    [
        Transfer(0, dst=True, chunk=0, op=COPY),
        Transfer(0, 1.0, 0, COPY),
        Transfer(0, 1, None, COPY),
        Transfer("0", 1, 0, COPY),
        Transfer(0, 1, 0, "copy"),
        (0, 1, 0, COPY),
        (0, 1),
        7,
    ],
)
def test_what_is_no_transfer_is_refused_with_its_place(transfer):
    schedule = Schedule("broadcast", "x", 2, 1, ((), (transfer,)), root=0)
    error = refusal(schedule)
    assert (error.kind, error.step) == ("format", 1)
    assert str(error).startswith("step 1, transfer 0")


def test_what_is_no_transfer_in_a_later_step_does_not_hide_the_first_fault():
    steps = ((Transfer(1, 0, 0, COPY),), ((0, 1),))
    assert refusal(Schedule("broadcast", "x", 2, 1, steps, root=0)).kind == "not_held"


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (make("all_redcue", 2, []), "did you mean 'all_reduce'?"),
        (make("all_gather", 3, [], num_chunks=4), "needs a positive multiple of 3"),
        (make("broadcast", 2, []), "broadcast needs a rank from 0 to 1"),
        (make("all_reduce", 2, [], root=1), "all_reduce has no root"),
        (make("all_reduce", 10**6, [], num_chunks=10**6), "use fewer ranks or chunks"),
    ],
)
@pytest.mark.parametrize("call", [verify, final_state, lambda s: next(states(s))])
def test_a_schedule_whose_numbers_do_not_fit_is_refused_before_it_is_played(schedule, words, call):
    with pytest.raises(ScheduleError) as caught:
        call(schedule)
    assert caught.value.kind == "format"
    assert words in str(caught.value)


@pytest.mark.parametrize("call", [verify, final_state, lambda s: next(states(s))])
@pytest.mark.parametrize("nothing", [None, 3, "ring", [[]], {"steps": []}])
def test_what_is_no_schedule_is_refused_in_one_sentence(nothing, call):
    with pytest.raises(TypeError, match=r"is no Schedule; allranks.schedule makes one"):
        call(nothing)


def test_the_fault_that_entered_first_is_reported():
    schedule = build("all_reduce", "ring", world_size=5)
    steps = [list(step) for step in schedule.steps]
    steps[5][4] = steps[5][4]._replace(op=REDUCE)
    steps[2][0] = steps[2][0]._replace(op=COPY)
    error = refusal(replace(schedule, steps=tuple(steps)))
    assert (error.kind, error.step, error.src) == ("missing", 2, 0)


def test_a_part_that_nobody_promised_is_refused_too(monkeypatch):
    """No collective of ours can meet this; a contract for groups of ranks could."""
    own = Contract("own", lambda r, _c, _s: [r], lambda r, _c, _s: [r], lambda _n: 1.0)
    monkeypatch.setitem(CONTRACTS, "own", own)
    verify(make("own", 2, []))
    error = refusal(make("own", 2, [[], [(1, 0, 0, REDUCE)]]))
    assert (error.step, error.rank) == (1, 0)
    assert "nobody promised the part of rank 1 in this chunk of rank 0" in str(error)


def test_errors_survive_pickling_and_never_tell_what_was_expected():
    errors = [error for error in map(fault_of, corpus()) if error]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert again.to_dict() == error.to_dict()
    messages = [str(error) for error in errors]
    assert len(messages) > 100
    assert not any("expect" in message for message in messages)
    assert all(message.startswith("step ") for message in messages)


def test_where_names_switches():
    schedule = build("all_reduce", "sharp", world_size=2)
    assert where(schedule, 1, schedule.steps[1][0]) == "step 1: switch 0 -> rank 0, chunk 0"


# --- Planted faults ----------------------------------------------------------------------------


def planted(schedule, step, index, fault):
    t = schedule.steps[step][index]
    new = {
        "drop": [],
        "op": [t._replace(op=COPY if t.op is REDUCE else REDUCE)],
        "twice": [t, t],
        "chunk": [t._replace(chunk=(t.chunk + 1) % schedule.num_chunks)],
        "src": [t._replace(src=(t.src + 1) % schedule.world_size)],
        "dst": [t._replace(dst=(t.dst + 1) % schedule.world_size)],
    }[fault]
    changed = [list(s) for s in schedule.steps]
    changed[step][index : index + 1] = new
    return replace(schedule, steps=tuple(changed))


FAULTS = ("drop", "op", "twice", "chunk", "src", "dst")


def smallest(collective, algorithm):
    """Return an algorithm on three ranks, or on two or four where three are not possible."""
    parameters = {"node_size": 2} if algorithm == "hierarchical" else {}
    for n in (3, 4, 2):
        try:
            return build(collective, algorithm, world_size=n, **parameters)
        except ValueError:
            continue
    pytest.fail(f"{algorithm} {collective} takes none of these numbers of ranks")


def corpus():
    """Yield every single fault in every algorithm on a few ranks."""
    for collective, algorithm in ALGORITHMS:
        schedule = smallest(collective, algorithm)
        for step, transfers in enumerate(schedule.steps):
            for index, fault in itertools.product(range(len(transfers)), FAULTS):
                yield planted(schedule, step, index, fault)


def test_every_fault_is_found_unless_the_promise_is_kept_all_the_same():
    verdicts = Counter()
    for schedule in corpus():
        right = keeps_its_promise(schedule)
        assert proved(schedule) == right, schedule.to_text()
        verdicts["right" if right else "wrong"] += 1
    assert min(verdicts["right"], verdicts["wrong"]) > 20


@pytest.mark.parametrize("collective", ["reduce_scatter", "all_reduce"])
@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("fault", ["drop", "op", "twice"])
def test_in_a_ring_the_step_of_the_fault_is_named(collective, n, fault):
    schedule = build(collective, "ring", world_size=n)
    for step, transfers in enumerate(schedule.steps):
        for index, transfer in enumerate(transfers):
            error = refusal(planted(schedule, step, index, fault))
            assert error.step == step, str(error)
            assert error.chunk == transfer.chunk
            if fault != "drop":
                assert (error.src, error.dst) == (transfer.src, transfer.dst)


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_in_a_ring_a_wrong_chunk_is_found_in_its_step(n):
    schedule = build("reduce_scatter", "ring", world_size=n)
    for step, transfers in enumerate(schedule.steps):
        for index in range(len(transfers)):
            assert refusal(planted(schedule, step, index, "chunk")).step == step


@pytest.mark.parametrize(("algorithm", "chunks"), [("flat", 1), ("chain", 1), ("chain", 3)])
@pytest.mark.parametrize("n", [2, 3, 5, 6])
@pytest.mark.parametrize("fault", ["drop", "op"])
def test_in_a_reduce_the_step_of_the_fault_is_named(algorithm, chunks, n, fault):
    num_chunks = chunks if algorithm == "chain" else None
    schedule = build("reduce", algorithm, world_size=n, root=1, num_chunks=num_chunks)
    for step, transfers in enumerate(schedule.steps):
        for index in range(len(transfers)):
            assert refusal(planted(schedule, step, index, fault)).step == step


def one_left_out(schedule):
    """Yield every step and its error for a transfer left out, if that breaks the promise."""
    for step, transfer, changed in without_one(schedule):
        yield step, transfer, refusal(changed)


def without_one(schedule):
    """Yield the schedule without one transfer, whose step is named, if that breaks the promise."""
    for step, transfers in enumerate(schedule.steps):
        for index, transfer in enumerate(transfers):
            changed = planted(schedule, step, index, "drop")
            assert proved(changed) == keeps_its_promise(changed)
            if not proved(changed):
                yield step, transfer, changed


@pytest.mark.parametrize("n", range(2, 7))
@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_whatever_is_left_out_of_sharp_is_missed_in_its_step(n, chunks):
    schedule = build("all_reduce", "sharp", world_size=n, num_chunks=chunks)
    for step, transfer, error in one_left_out(schedule):
        assert (error.kind, error.step, error.chunk) == ("missing", step, transfer.chunk)
        if transfer.dst == n:
            assert error.peer == transfer.src, str(error)
        else:
            assert error.rank == transfer.dst, str(error)


def test_a_part_that_never_went_up_is_not_blamed_on_the_sum_that_comes_down():
    schedule = build("all_reduce", "sharp", world_size=3)
    assert str(refusal(planted(schedule, 0, 0, "drop"))) == (
        "step 0: chunk 0: rank 0 has the part of rank 0 and sends nothing in this step; "
        "rank 1 ends without it, add the transfer that brings it there"
    )


def test_a_rank_that_the_sum_does_not_reach_is_missed_when_the_others_get_it():
    schedule = build("all_reduce", "sharp", world_size=3, num_chunks=2)
    down = next(i for i, t in enumerate(schedule.steps[1]) if (t.src, t.dst) == (3, 0))
    assert str(refusal(planted(schedule, 1, down, "drop"))) == (
        "step 1: chunk 0: switch 0 has the parts of ranks 1 and 2 and sends them to others in "
        "this step; rank 0 ends without them, add the transfer that brings them there"
    )


@pytest.mark.parametrize("n", range(2, 9))
def test_whatever_is_left_out_of_a_scatter_is_missed_in_its_step(n):
    for root in range(n):
        schedule = build("scatter", "binomial", world_size=n, root=root)
        for step, transfer, error in one_left_out(schedule):
            assert error.chunk == transfer.chunk
            if transfer.dst != transfer.chunk:
                # A block that was to be sent on: the first send without it cannot be played.
                assert (error.kind, error.src) == ("not_held", transfer.dst)
                assert error.step > step
            elif n == 6 and transfer.src == (root + 4) % n:
                # This rank has the block since step 0 and is free in steps 1 and 2: either is
                # right, the first is named.
                assert (error.kind, error.step, step) == ("missing", 1, 2)
            else:
                assert (error.kind, error.step) == ("missing", step), str(error)
                assert (error.rank, error.peer) == (transfer.dst, transfer.src)


@pytest.mark.parametrize(("collective", "algorithm"), sorted(ALGORITHMS))
def test_who_is_blamed_for_silence_has_what_is_missing(collective, algorithm):
    for _, _, changed in without_one(smallest(collective, algorithm)):
        error = refusal(changed)
        if error.kind == "missing" and error.src is None:
            seen = list(states(changed))
            ends_with = set(seen[-1][error.rank][error.chunk])
            last = error.step == len(changed.steps) - 1
            held = [state[error.peer][error.chunk] for state in seen[error.step :][: 1 + last]]
            assert any(set(parts) - ends_with for parts in held), str(error)


def test_a_block_that_is_not_sent_on_has_no_wrong_owner():
    schedule = build("scatter", "binomial", world_size=4, root=0)
    last = next(i for i, t in enumerate(schedule.steps[1]) if t.src == 2)
    assert str(refusal(planted(schedule, 1, last, "drop"))) == (
        "step 1: chunk 3: rank 2 holds it since step 0 and does not send it on; "
        "rank 3 ends without it, add the transfer that brings it there"
    )


def test_a_stop_on_the_way_to_the_root_is_no_wrong_owner_and_a_dead_end_is_one():
    steps = [[(2, 1, 2, COPY)], [(1, 0, 1, COPY)], [(1, 0, 2, COPY)]]
    verify(make("gather", 3, steps, root=0, num_chunks=3))
    stuck = refusal(make("gather", 3, [*steps[:2], []], root=0, num_chunks=3))
    assert (stuck.kind, stuck.step, stuck.peer, stuck.rank) == ("missing", 1, 1, 0)
    dead_end = refusal(make("gather", 3, [[(0, 1, 0, COPY)], []], root=2, num_chunks=3))
    assert (dead_end.kind, dead_end.step, dead_end.peer) == ("wrong_owner", 0, 1)


def test_a_block_that_stops_in_a_switch_is_missed_there():
    for collective, root, chunk in (("scatter", 0, 1), ("gather", 1, 0)):
        steps = [[(0, 2, chunk, COPY)], []]
        error = refusal(make(collective, 2, steps, root=root, num_chunks=2, num_switches=1))
        assert (error.kind, error.step, error.peer, error.rank) == ("missing", 1, 2, 1)


@st.composite
def schedules(draw):
    """One algorithm, any size and root, with up to three random changes."""
    collective, algorithm = draw(st.sampled_from(sorted(ALGORITHMS)))
    entry = ALGORITHMS[collective, algorithm]
    n = draw(st.integers(1, 6))
    root = draw(st.integers(0, n - 1)) if CONTRACTS[collective].rooted else None
    parameters = {}
    if "num_chunks" in entry.parameters:
        parameters["num_chunks"] = draw(st.integers(1, 8))
    if "node_size" in entry.parameters:
        parameters["node_size"] = draw(st.integers(1, n))
    if root is not None:
        parameters["root"] = root
    assume(not entry.refuse(n, **parameters))
    schedule = build(collective, algorithm, world_size=n, **parameters)
    for _ in range(draw(st.integers(0, 3))):
        busy = [number for number, step in enumerate(schedule.steps) if step]
        if not busy:
            break
        step = draw(st.sampled_from(busy))
        index = draw(st.integers(0, len(schedule.steps[step]) - 1))
        schedule = planted(schedule, step, index, draw(st.sampled_from(FAULTS)))
    return schedule


@given(schedules())
@settings(max_examples=300, deadline=None)
def test_the_verdict_is_that_of_an_executor_with_integers(schedule):
    assert proved(schedule) == keeps_its_promise(schedule)


@given(schedules())
@settings(max_examples=150, deadline=None)
def test_an_error_names_a_step_that_exists_and_is_always_the_same(schedule):
    error = fault_of(schedule)
    if error:
        assert (error.step is None) == (not schedule.steps)
        assert error.step is None or 0 <= error.step < len(schedule.steps)
        assert refusal(schedule).to_dict() == error.to_dict()


@st.composite
def histories(draw):
    """Random transfers that can be played: an all_reduce that most likely fails."""
    n, chunks = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    switches = draw(st.integers(0, 1))
    endpoints = st.integers(0, n + switches - 1)
    holding = {(rank, chunk) for rank in range(n) for chunk in range(chunks)}
    steps = []
    for _ in range(draw(st.integers(0, 6))):
        step, written = [], {}
        for _ in range(draw(st.integers(0, 5))):
            src, dst, chunk = draw(endpoints), draw(endpoints), draw(st.integers(0, chunks - 1))
            op = draw(st.sampled_from(Op))
            cell = (dst, chunk)
            clash = cell in written and COPY in (op, written[cell])
            if src != dst and (src, chunk) in holding and not clash:
                step.append((src, dst, chunk, op))
                written[cell] = op
        holding |= set(written)
        steps.append(step)
    return make("all_reduce", n, steps, num_chunks=chunks, num_switches=switches)


@given(histories())
@settings(max_examples=200, deadline=None)
def test_parts_are_counted_as_digits_are(schedule):
    held = executed(schedule)
    for endpoint, row in enumerate(final_state(schedule)):
        for chunk, parts in enumerate(row):
            number = sum(count * BASE**part for part, count in parts.items())
            assert number == (held[endpoint, chunk] or 0)
            assert all(count > 0 for count in parts.values())


@given(histories())
@settings(max_examples=200, deadline=None)
def test_a_double_count_is_blamed_on_a_sum_that_made_it(schedule):
    error = fault_of(schedule)
    if error and error.kind == "double_count":
        before, after = list(states(schedule))[error.step : error.step + 2]
        into = after[error.dst][error.chunk]
        own, sent = before[error.dst][error.chunk], before[error.src][error.chunk]
        assert max(into.values()) > 1
        assert max([*own.values(), *sent.values()]) == 1
        assert Transfer(error.src, error.dst, error.chunk, REDUCE) in schedule.steps[error.step]


@st.composite
def gossips(draw):
    """A right broadcast that follows no algorithm: whoever knows tells somebody who does not."""
    n = draw(st.integers(1, 8))
    root = draw(st.integers(0, n - 1))
    order = draw(st.permutations([rank for rank in range(n) if rank != root]))
    told, steps = [root], []
    while order:
        many = draw(st.integers(1, min(len(order), len(told))))
        senders = draw(st.permutations(told))[:many]
        steps.append([(src, dst, 0, COPY) for src, dst in zip(senders, order, strict=False)])
        told += order[:many]
        order = order[many:]
    return n, root, steps


@given(gossips())
@settings(max_examples=100, deadline=None)
def test_any_way_to_tell_everybody_is_a_broadcast_and_backwards_a_reduce(gossip):
    n, root, steps = gossip
    verify(make("broadcast", n, steps, root=root))
    backwards = [[(dst, src, 0, REDUCE) for src, dst, _, _ in step] for step in reversed(steps)]
    verify(make("reduce", n, backwards, root=root))
    verify(make("all_reduce", n, backwards + steps))


# --- The checks themselves are checked ---------------------------------------------------------


def _as_a_set(one, other):
    return play.once(one) | play.once(other)


def _in_place(schedule, number, board):
    for t in schedule.steps[number]:
        own, sent = board[t.dst][t.chunk], board[t.src][t.chunk]
        board[t.dst][t.chunk] = sent if t.op is COPY else play.join(own, sent)
    return {}


def _last_writer_wins(schedule, number, board):
    before = [list(row) for row in board]
    for t in schedule.steps[number]:
        play.check_transfer(schedule, number, 0, t)
        own, sent = board[t.dst][t.chunk], before[t.src][t.chunk]
        if not sent:
            raise play.not_held(schedule, number, t)
        board[t.dst][t.chunk] = sent if t.op is COPY else play.join(own, sent)
    return {}


MUTANTS = {
    "provenance is a set": [(play, "join", _as_a_set), (blame, "join", _as_a_set)],
    "steps are played in place": [(play, "_writes", _in_place)],
    "the promise is not asked": [(room, "find_faults", lambda *_: [])],
    "only presence is asked": [
        (
            room,
            "find_faults",
            lambda *a: [f for f in blame.find_faults(*a) if f.promised & ~play.once(f.parts)],
        )
    ],
    "transfers are not checked": [(play, "check_transfer", lambda *_: None)],
    "conflicts are not seen": [(play, "_writes", _last_writer_wins)],
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_verifier_with_a_fault_of_its_own_is_caught(name, monkeypatch):
    for module, attribute, mutant in MUTANTS[name]:
        monkeypatch.setattr(module, attribute, mutant)

    def agrees(schedule):
        try:
            return proved(schedule) == keeps_its_promise(schedule)
        except (IndexError, TypeError):  # it fell over its own fault
            return False

    assert not all(agrees(schedule) for schedule in corpus())
