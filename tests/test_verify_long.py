"""The proof of long schedules by numbers: the same verdicts and errors as symbolic play."""

from __future__ import annotations

import importlib
import itertools
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_verify import histories, make, planted, ring, schedules

from allranks.algorithms import ALGORITHMS, build
from allranks.collectives import CONTRACTS, Contract, Size
from allranks.errors import ScheduleError
from allranks.schedule import LONG, Op, Schedule, Transfer
from allranks.verify import columns, long, promise, sums, verify
from allranks.verify.play import contract_of

room = importlib.import_module("allranks.verify")  # the package binds the function to this name
COPY, REDUCE = Op.COPY, Op.REDUCE

# How steps may be played, and how many cells a batch may have: all ways must say the same.
WAYS = [
    {"BROAD": 1, "CELLS": columns.CELLS, "PIECE": sums.PIECE},
    {"BROAD": 10**9, "CELLS": columns.CELLS, "PIECE": 3},
    {"BROAD": 3, "CELLS": 1, "PIECE": 2},
    {"BROAD": 2, "CELLS": 13, "PIECE": 5},
]


@contextmanager
def played(BROAD, CELLS, PIECE):  # noqa: N803 - the names of the constants
    with (
        mock.patch.object(sums, "BROAD", BROAD),
        mock.patch.object(sums, "PIECE", PIECE),
        mock.patch.object(columns, "CELLS", CELLS),
    ):
        yield


def told(call, *arguments):
    """Return all fields of the error that a call raises, or None."""
    try:
        call(*arguments)
    except ScheduleError as error:
        return error.to_dict()
    return None


def by_columns(schedule):
    long.verify_columns(schedule, *contract_of(schedule))


def assert_same(schedule):
    """Prove a small schedule in every way there is."""
    said = told(verify, schedule)
    for way in WAYS:
        with played(**way):
            assert told(by_columns, schedule) == said, (way, schedule)
    return said


@given(schedules())
@settings(max_examples=150, deadline=None)
def test_faults_in_algorithms_are_told_alike(schedule):
    assert_same(schedule)


@given(histories())
@settings(max_examples=100, deadline=None)
def test_random_histories_are_told_alike(schedule):
    assert_same(schedule)


@st.composite
def wild(draw):
    """Anything that can be written down: any endpoint, any chunk, any collective."""
    collective = draw(st.sampled_from(sorted(CONTRACTS)))
    contract = CONTRACTS[collective]
    n, switches = draw(st.integers(1, 5)), draw(st.integers(0, 2))
    chunks = contract.pieces(n) * draw(st.integers(1, 2))
    stray = draw(st.integers(0, 1))  # half of the schedules name only what there is
    endpoints = st.integers(-stray, n + switches - 1 + stray)
    transfer = st.builds(
        Transfer, endpoints, endpoints, st.integers(-stray, chunks - 1 + stray), st.sampled_from(Op)
    )
    steps = draw(st.lists(st.lists(transfer, max_size=6), max_size=5))
    root = draw(st.integers(0, n - 1)) if contract.rooted else None
    return Schedule(collective, "wild", n, chunks, steps, root, switches)


@given(wild())
@settings(max_examples=150, deadline=None)
def test_whatever_can_be_written_down_is_told_alike(schedule):
    assert_same(schedule)


@st.composite
def crowds(draw):
    """Many values that come together in few cells, in few steps; some of it ends right."""
    n = draw(st.integers(2, 6))
    everybody = [[(src, dst, 0, REDUCE) for src in range(n) for dst in range(n) if src != dst]]
    some = draw(
        st.lists(
            st.tuples(st.integers(0, n), st.integers(0, n), st.just(0), st.just(REDUCE)),
            max_size=8,
        )
    )
    steps = [*everybody, [t for t in some if t[0] != t[1]]]
    if draw(st.booleans()):
        steps.reverse()
    return make("all_reduce", n, steps, num_switches=1)


@given(crowds())
@settings(max_examples=100, deadline=None)
def test_several_sums_in_one_cell_are_told_alike(schedule):
    assert_same(schedule)


# --- Ids and trees -------------------------------------------------------------------------------


def judged(schedule):
    contract, size = contract_of(schedule)
    chunks = np.arange(size.num_chunks)
    rule = promise.RULES[contract]
    return columns.judge(schedule.columns(), rule, size, schedule.num_endpoints, chunks)


@pytest.mark.parametrize(("collective", "algorithm"), sorted(ALGORITHMS))
def test_no_algorithm_of_ours_is_in_doubt(collective, algorithm):
    entry = ALGORITHMS[collective, algorithm]
    parameters = {"node_size": 2} if "node_size" in entry.parameters else {}
    worlds = [n for n in (2, 4, 5, 6, 8) if not entry.refuse(n, **parameters)]
    assert worlds
    for n, way in itertools.product(worlds, WAYS):
        with played(**way):
            said = judged(build(collective, algorithm, world_size=n, **parameters))
            assert (said.bad_row, said.doubtful.tolist()) == (None, []), n


def test_a_right_chunk_in_doubt_is_played_and_passes():
    # Rank 0 adds 1, then 2; rank 1 adds 2, then 0; rank 2 adds 0, then 1: other orders, same parts.
    n = 3
    passing = [[(r, n + r, 0, COPY) for r in range(n)]]
    passing += [[(n + (r + s) % n, r, 0, REDUCE) for r in range(n)] for s in (1, 2)]
    schedule = make("all_reduce", n, passing, num_switches=n)
    assert judged(schedule).doubtful.tolist() == [0]
    assert assert_same(schedule) is None


def test_a_right_chunk_with_an_idle_sum_is_played_and_passes():
    echo = make("reduce", 3, [[(1, 0, 0, REDUCE), (2, 0, 0, REDUCE)], [(0, 1, 0, REDUCE)]], root=0)
    assert judged(echo).doubtful.tolist() == [0]
    assert assert_same(echo) is None


def test_doubling_in_place_is_told_from_a_sum():
    # 0 and 1 hold the same sum; adding the one to the other doubles every part.
    steps = [[(0, 1, 0, REDUCE), (1, 0, 0, REDUCE)], [(0, 1, 0, REDUCE)]]
    assert assert_same(make("all_reduce", 2, steps))["kind"] == "double_count"


def test_what_everybody_adds_up_alike_gets_one_number():
    for algorithm in ("one_shot", "recursive_doubling"):
        schedule = build("all_reduce", algorithm, world_size=8)
        for way in WAYS:
            with played(**way):
                assert judged(schedule).doubtful.size == 0


@pytest.mark.parametrize("collective", sorted(CONTRACTS))
def test_the_promises_in_columns_are_those_of_the_contracts(collective):
    contract = CONTRACTS[collective]
    for n in (*range(1, 9), 64):
        for root in range(n) if contract.rooted and n < 9 else [n - 1 if contract.rooted else None]:
            for blocks in (1, 3) if n < 9 else (1,):
                if n == 64 and collective == "all_to_all":
                    continue  # a quarter of a million cells say no more than those for n = 8
                size = Size(n, contract.pieces(n) * blocks, root)
                homes = promise.RULES[contract].homes(np.arange(size.num_chunks), size)
                assert_homes(contract, size, homes)


def assert_homes(contract, size, homes):
    sources, targets = homes
    for chunk in range(size.num_chunks):
        ranks = range(size.world_size)
        starting = ranks if sources is None else [sources[chunk]]
        ending = ranks if targets is None else [targets[chunk]]
        for rank in ranks:
            assert list(contract.starts(rank, chunk, size)) == [rank] * (rank in starting)
            wanted = contract.ends(rank, chunk, size)
            assert (wanted is None) == (rank not in ending)
            assert wanted is None or sorted(wanted) == list(starting)


def test_a_contract_of_another_kind_is_played(monkeypatch):
    own = Contract("own", lambda r, _c, _s: [r], lambda r, _c, _s: [r], lambda _n: 1.0)
    monkeypatch.setitem(CONTRACTS, "own", own)
    monkeypatch.setattr(room, "LONG", 0)
    verify(make("own", 2, []))
    with pytest.raises(ScheduleError, match="nobody promised"):
        verify(make("own", 2, [[], [(1, 0, 0, REDUCE)]]))


# --- Long schedules ------------------------------------------------------------------------------


def is_played(*_):
    pytest.fail("a long schedule is played cell by cell")


def test_long_schedules_are_proved_by_numbers(monkeypatch):
    monkeypatch.setattr(room, "last_board", is_played)
    monkeypatch.setattr(long, "last_of_chunk", is_played)
    schedule = build("all_reduce", "ring", world_size=128)
    assert schedule.num_transfers > LONG
    verify(schedule)


@pytest.mark.parametrize("fault", ["drop", "op", "twice", "chunk", "src"])
def test_a_fault_in_a_long_schedule_is_told_as_in_a_short_one(fault, monkeypatch):
    schedule = build("all_reduce", "ring", world_size=96)
    changed = planted(schedule, 70, 40, fault)
    said = told(verify, changed)
    assert said
    monkeypatch.setattr(room, "LONG", 10**9)
    assert told(verify, changed) == said
    assert told(verify, replace(changed, steps=changed.columns())) == said


def test_a_wrong_ring_is_wrong_in_every_chunk():
    n = 100
    trap = make("reduce_scatter", n, ring(n, n - 1, lambda r, s: r - s), num_chunks=n)
    assert trap.num_endpoints * trap.num_chunks <= LONG
    long_trap = told(by_columns, trap)
    assert 'the "r + 1" trap' in long_trap["message"]
    assert told(verify, trap) == long_trap


def test_more_cells_than_can_be_written_out_are_proved_in_few():
    n = 300  # 27 million cells are possible, 180 thousand are touched
    schedule = build("all_to_all", "pairwise", world_size=n)
    assert schedule.num_endpoints * schedule.num_chunks > columns.CELLS
    verify(schedule)
    rows = schedule.columns()
    late = rows.reduce.copy()
    late[-1] = True  # a REDUCE into nothing stores as well
    verify(replace(schedule, steps=replace(rows, reduce=late)))
    there = rows.dst.copy()
    there[-1] = there[-2]
    error = told(verify, replace(schedule, steps=replace(rows, dst=there)))
    assert error["kind"] in ("missing", "wrong_owner")


def test_batches_of_chunks_say_what_one_batch_says(monkeypatch):
    schedule = build("all_reduce", "ring", world_size=100)
    monkeypatch.setattr(columns, "CELLS", 1000)
    tables = []
    monkeypatch.setattr(columns, "Sums", lambda *a: tables.append(len(a[0])) or sums.Sums(*a))
    verify(schedule)
    assert tables == [1000] * 10
    with pytest.raises(ScheduleError) as caught:
        verify(planted(schedule, 150, 50, "drop"))
    assert caught.value.chunk == schedule.steps[150][50].chunk


def test_a_hopeless_giant_is_refused_at_once():
    with pytest.raises(ScheduleError, match="use fewer ranks or chunks"):
        verify(make("all_reduce", 10**6, [], num_chunks=10**6))


def test_very_many_ranks_are_counted_without_a_step(monkeypatch):
    monkeypatch.setattr(long, "MAX_PARTS", 4)
    good = build("reduce", "binomial", world_size=8)
    by_columns(good)
    error = told(by_columns, planted(good, 0, 0, "drop"))
    assert (error["kind"], error["rank"], error["step"]) == ("missing", 0, None)
    assert "rank 0 ends without the part of rank 4" in error["message"]
    twice = told(by_columns, planted(good, 0, 0, "twice"))
    assert (twice["kind"], twice["rank"]) == ("double_count", 0)
    assert "the part of rank 4 more than once" in twice["message"]


@given(histories())
@settings(max_examples=100, deadline=None)
def test_counting_ways_decides_as_playing_does(schedule):
    with mock.patch.object(long, "MAX_PARTS", 0):
        counted = told(by_columns, schedule)
    played_out = told(verify, schedule)
    assert (counted is None) == (played_out is None)


# --- The checks themselves are checked -----------------------------------------------------------

_tree = columns._in_doubt  # noqa: SLF001 - its twins stand below


def _without_the_tree(batch, numbers):
    ended = numbers.table[batch.targets]
    return (ended != ended[0]).any(axis=0)


def _without_equal_ids(batch, numbers):
    return _tree(batch._replace(targets=batch.targets[:1]), numbers)


def _last_wins(self, into, sent, added):
    _, last = np.unique(into[::-1], return_index=True)
    kept = len(into) - 1 - last
    self._write(into[kept], sent[kept], added[kept])


def _same_lower_id(self, one, other, cell):
    low, high = np.minimum(one, other), np.maximum(one, other)
    _, leads, back = np.unique(low, return_index=True, return_inverse=True)
    return self._new(low[leads], high[leads], cell[leads])[back]


MUTANTS = {
    "no tree is asked for": (columns, "_in_doubt", _without_the_tree),
    "one target stands for all": (columns, "_in_doubt", _without_equal_ids),
    "writes that meet overwrite each other": (sums.Sums, "_heap", _last_wins),
    "half a pair is compared": (sums.Sums, "_add", _same_lower_id),
    "no row is bad": (sums, "_first_bad", lambda *_: None),
    "strays are not looked for": (long, "stray_row", lambda *_: None),
}


def faulty():
    n = 4
    everybody = [[(src, dst, 0, REDUCE) for src in range(n) for dst in range(n) if src != dst]]
    yield make("all_reduce", n, [[(0, 1, 0, REDUCE)], *everybody])
    yield make("all_reduce", 2, [[(0, 1, 0, REDUCE)], [(1, 0, 0, REDUCE)]])
    yield make("reduce", 3, [[(2, 0, 0, REDUCE), (1, 0, 0, COPY)]], root=0)
    yield make("broadcast", 3, [[(0, 1, 0, COPY)]], root=0)
    yield make("broadcast", 3, [[(0, 1, 0, COPY), (1, 2, 0, COPY)]], root=0)
    yield make("broadcast", 2, [[(0, 1, 0, COPY), (0, 3, 0, COPY)]], root=0)
    yield make("all_reduce", 2, [[(0, 1, 0, REDUCE), (1, 0, 0, REDUCE)], [(0, 1, 0, REDUCE)]])
    swap = [(0, 1, 0, REDUCE), (1, 0, 0, REDUCE), (2, 3, 0, REDUCE), (3, 2, 0, REDUCE)]
    yield make("all_reduce", 4, [swap, [(0, 2, 0, REDUCE), (1, 3, 0, REDUCE)]])
    yield make("reduce", 3, [[(1, 0, 0, REDUCE), (2, 0, 0, REDUCE), (1, 0, 0, REDUCE)]], root=0)
    yield make("all_reduce", 3, [[(0, 1, 0, REDUCE), (0, 2, 0, REDUCE)], [(1, 0, 0, COPY)]])
    yield make("reduce", 2, [[(1, 0, 0, REDUCE), (1, 0, 0, REDUCE)]], root=0)
    # Ranks 1 and 2 both add the parts of ranks 0 and 2: right for 1, twice its own for 2.
    both = [[(src, 1, 0, REDUCE), (src, 2, 0, REDUCE)] for src in (0, 3)]
    steps = [[(2, 3, 0, COPY)], *both, [(1, 0, 0, COPY)]]
    yield make("all_reduce", 3, steps, num_switches=1)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_proof_with_a_fault_of_its_own_is_caught(name, monkeypatch):
    cases = [(schedule, told(verify, schedule)) for schedule in faulty()]
    assert all(said for _, said in cases)
    room_, attribute, mutant = MUTANTS[name]
    monkeypatch.setattr(sums, "BROAD", 1)
    monkeypatch.setattr(room_, attribute, mutant)

    def agrees(schedule, said):
        try:
            return told(by_columns, schedule) == said
        except (IndexError, AssertionError, ValueError):  # it fell over its own fault
            return False

    assert not all(agrees(*case) for case in cases)


@pytest.mark.parametrize(
    "fields",
    [
        {"collective": "scatter", "root": 0, "world_size": 2, "num_chunks": 10**8},
        {"collective": "gather", "root": 0, "world_size": 2, "num_chunks": 10**12},
        {"collective": "all_to_all", "world_size": 2, "num_chunks": 4 * 10**400},
        {"collective": "broadcast", "root": 0, "world_size": 4 * 10**7, "num_chunks": 1},
        {"collective": "all_reduce", "world_size": 2, "num_chunks": 1, "num_switches": 2 * 10**9},
        {"collective": "scatter", "root": 0, "world_size": 1, "num_chunks": 1 << 21},
    ],
)
def test_far_more_values_than_transfers_are_refused_at_once(fields):
    schedule = Schedule(algorithm="by hand", steps=(), **fields)
    with pytest.raises(ScheduleError, match="values to follow, more than the 1,048,576") as caught:
        verify(schedule)
    assert caught.value.kind == "format"
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [
        ("all_reduce", "nvls"),
        ("reduce_scatter", "nvls"),
        ("all_reduce", "sharp"),
        ("all_reduce", "bidirectional_ring"),
    ],
)
def test_a_transfer_that_is_advised_makes_the_schedule_right(collective, algorithm):
    """Whatever is left out, one transfer in the step that is named repairs it, or REDUCE does."""
    parameters = {"radix": 2} if algorithm == "sharp" else {}
    whole = build(collective, algorithm, world_size=3, **parameters)
    for number, step in enumerate(whole.steps):
        for left_out in step:
            steps = [
                [t for t in some if (s, t) != (number, left_out)]
                for s, some in enumerate(whole.steps)
            ]
            if is_right(replace(whole, steps=steps)):
                continue  # the head of a chunk has it already when the switch copies it to all
            with pytest.raises(ScheduleError) as caught:
                verify(replace(whole, steps=steps))
            error = caught.value
            if error.kind != "missing" or error.message.endswith("what is there already"):
                continue  # the advice is about what was sent before, not about one transfer
            if "REDUCE keeps it" in error.message:
                cell = (error.src, error.dst, error.chunk)
                repairs = [
                    [t._replace(op=Op.REDUCE) if t[:3] == cell else t for t in steps[error.step]]
                ]
            else:
                ends = set(range(whole.num_endpoints)) - {error.peer}
                repairs = [
                    [*steps[error.step], Transfer(error.peer, end, error.chunk, op)]
                    for end in ends
                    for op in Op
                ]
            tried = [
                replace(whole, steps=[*steps[: error.step], some, *steps[error.step + 1 :]])
                for some in repairs
            ]
            assert any(map(is_right, tried)), (number, left_out, error.message)


def is_right(schedule):
    try:
        verify(schedule)
    except ScheduleError:
        return False
    return True
