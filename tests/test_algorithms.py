"""Algorithms: the contract, the figures worked by hand, the links, and how to ask for them."""

from __future__ import annotations

import inspect
import itertools
from collections import Counter

import pytest

from allranks.algorithms import (
    ALGORITHMS,
    USUAL,
    algorithms,
    build,
    chain,
    direct,
    ring,
    sharp,
    tree,
    usual_algorithm,
)
from allranks.collectives import CONTRACTS
from allranks.schedule import Op
from allranks.verify import final_state, states, verify

COPY, REDUCE = Op.COPY, Op.REDUCE
WORLDS = [1, 2, 3, 4, 5, 7, 8, 16]
CHUNKS = [1, 2, 3, 5, 8]


def roots(collective, n):
    return range(n) if CONTRACTS[collective].rooted else [None]


def lg(n):
    return (n - 1).bit_length()


def sent(schedule):
    """Return how many chunks every endpoint sends in all."""
    out = Counter(t.src for _, t in schedule.transfers())
    return [out[endpoint] for endpoint in range(schedule.num_endpoints)]


def received(schedule):
    into = Counter(t.dst for _, t in schedule.transfers())
    return [into[endpoint] for endpoint in range(schedule.num_endpoints)]


def pairs(schedule):
    return [[(t.src, t.dst) for t in step] for step in schedule.steps]


def chunks_sent(schedule):
    """Return, per step, the chunk that ranks 0, 1, 2, ... send."""
    return [[t.chunk for t in sorted(step)] for step in schedule.steps]


# --- The contract -----------------------------------------------------------------------------


@pytest.mark.parametrize("n", WORLDS)
@pytest.mark.parametrize(("collective", "algorithm"), sorted(ALGORITHMS))
def test_every_algorithm_keeps_its_promise_for_any_root_and_chunks(collective, algorithm, n):
    open_chunks = "num_chunks" in ALGORITHMS[collective, algorithm].parameters
    for root, num_chunks in itertools.product(
        roots(collective, n), CHUNKS if open_chunks else [None]
    ):
        schedule = build(collective, algorithm, world_size=n, root=root, num_chunks=num_chunks)
        verify(schedule)
        assert (schedule.collective, schedule.algorithm) == (collective, algorithm)
        assert (schedule.root, schedule.world_size) == (root, n)
        assert schedule.num_chunks == (
            num_chunks or ALGORITHMS[collective, algorithm].default_chunks(n)
        )


@pytest.mark.parametrize(("collective", "algorithm"), sorted(ALGORITHMS))
def test_one_rank_takes_no_step(collective, algorithm):
    assert build(collective, algorithm, world_size=1).steps == ()


@pytest.mark.parametrize("n", WORLDS)
@pytest.mark.parametrize(("collective", "algorithm"), sorted(ALGORITHMS))
def test_no_step_is_empty(collective, algorithm, n):
    assert all(build(collective, algorithm, world_size=n).steps)


@pytest.mark.parametrize("n", WORLDS)
@pytest.mark.parametrize(
    ("collective", "algorithm"), sorted(key for key in ALGORITHMS if key[1] != "sharp")
)
def test_between_ranks_nobody_sends_to_two_or_hears_from_two_in_one_step(collective, algorithm, n):
    for root in roots(collective, n):
        for step in build(collective, algorithm, world_size=n, root=root).steps:
            routes = {(t.src, t.dst) for t in step}
            assert len({src for src, _ in routes}) == len(routes)
            assert len({dst for _, dst in routes}) == len(routes)


# --- Rings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", WORLDS)
@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
def test_in_a_ring_every_rank_sends_once_per_step_to_its_right(collective, n):
    schedule = build(collective, "ring", world_size=n)
    assert len(schedule.steps) == (2 if collective == "all_reduce" else 1) * (n - 1)
    for step in schedule.steps:
        assert sorted((t.src, t.dst) for t in step) == [(r, (r + 1) % n) for r in range(n)]
    assert sent(schedule) == received(schedule) == [len(schedule.steps)] * n


@pytest.mark.parametrize("n", WORLDS)
def test_ring_reduce_scatter_leaves_rank_r_the_sum_of_chunk_r(n):
    held = final_state(build("reduce_scatter", "ring", world_size=n))
    assert [held[rank][rank] for rank in range(n)] == [Counter(range(n))] * n


def test_ring_reduce_scatter_on_four_ranks_matches_the_figure_in_the_chapter():
    schedule = build("reduce_scatter", "ring", world_size=4)
    assert chunks_sent(schedule) == [
        [3, 0, 1, 2],  # step 0: what ranks 0, 1, 2, 3 send
        [2, 3, 0, 1],
        [1, 2, 3, 0],
    ]
    assert {t.op for _, t in schedule.transfers()} == {REDUCE}


def test_ring_all_gather_on_four_ranks_matches_the_figure_in_the_chapter():
    schedule = build("all_gather", "ring", world_size=4)
    assert chunks_sent(schedule) == [[0, 1, 2, 3], [3, 0, 1, 2], [2, 3, 0, 1]]
    assert {t.op for _, t in schedule.transfers()} == {COPY}


def test_ring_all_reduce_on_four_ranks_has_the_numbers_of_the_first_chapter():
    schedule = build("all_reduce", "ring", world_size=4)
    assert len(schedule.steps) == 6
    assert chunks_sent(schedule) == [
        [3, 0, 1, 2],
        [2, 3, 0, 1],
        [1, 2, 3, 0],
        [0, 1, 2, 3],
        [3, 0, 1, 2],
        [2, 3, 0, 1],
    ]
    assert [{t.op for t in step} for step in schedule.steps] == [{REDUCE}] * 3 + [{COPY}] * 3
    # S = 64 B in 4 chunks: 96 B out of every rank (1.5 S), 384 B in all
    assert [16 * count for count in sent(schedule)] == [96] * 4
    assert 16 * schedule.num_transfers == 384


def test_ring_all_reduce_after_its_first_step_holds_pairs():
    after = list(states(build("all_reduce", "ring", world_size=4)))[1]
    assert [after[(c + 2) % 4][c] for c in range(4)] == [
        Counter({(c + 1) % 4: 1, (c + 2) % 4: 1}) for c in range(4)
    ]


def test_a_ring_moves_as_much_as_a_star_and_spreads_it():
    n = 8  # 256 B: 3584 B in all for both; busiest rank in + out 3584 against 896
    whole = 256
    star = [build("reduce", "flat", world_size=n), build("broadcast", "flat", world_size=n)]
    circle = build("all_reduce", "ring", world_size=n)
    piece = whole // n
    assert sum(s.num_transfers for s in star) * whole == circle.num_transfers * piece == 3584
    in_and_out = [
        sum(counts) for counts in zip(*map(sent, star), *map(received, star), strict=True)
    ]
    assert max(in_and_out) * whole == 3584
    assert (sent(circle)[0] + received(circle)[0]) * piece == 896
    assert (sum(s.num_transfers for s in star), circle.num_transfers) == (14, 112)


# --- Broadcast and reduce ---------------------------------------------------------------------


def test_binomial_broadcast_on_six_ranks_from_root_2_is_the_one_worked_by_hand():
    schedule = build("broadcast", "binomial", world_size=6, root=2)
    assert pairs(schedule) == [[(2, 3)], [(2, 4), (3, 5)], [(2, 0), (3, 1)]]


@pytest.mark.parametrize("n", WORLDS)
def test_binomial_trees_take_lg_n_steps_and_everybody_hears_once(n):
    for root in range(n):
        down = build("broadcast", "binomial", world_size=n, root=root)
        up = build("reduce", "binomial", world_size=n, root=root)
        assert len(down.steps) == len(up.steps) == lg(n)
        assert received(down) == sent(up) == [int(rank != root) for rank in range(n)]
        assert sent(down)[root] == received(up)[root] == lg(n)
        assert pairs(up) == [[(b, a) for a, b in step] for step in reversed(pairs(down))]


def test_binomial_steps_are_3_for_eight_ranks_and_4_for_nine():
    assert [len(build("broadcast", "binomial", world_size=n).steps) for n in (8, 9)] == [3, 4]


def test_informed_ranks_double():
    seen = states(build("broadcast", "binomial", world_size=6))
    assert [sum(bool(row[0]) for row in state) for state in seen] == [1, 2, 4, 6]


@pytest.mark.parametrize("n", WORLDS)
def test_flat_is_a_star_around_the_root(n):
    for root in range(n):
        others = [(root + distance) % n for distance in range(1, n)]
        down = build("broadcast", "flat", world_size=n, root=root)
        up = build("reduce", "flat", world_size=n, root=root)
        assert pairs(down) == [[(root, rank)] for rank in others]
        assert pairs(up) == [[(rank, root)] for rank in others]


@pytest.mark.parametrize("k", CHUNKS)
@pytest.mark.parametrize("n", WORLDS)
def test_a_chain_of_k_chunks_takes_n_minus_2_plus_k_steps_to_the_right(n, k):
    for root in range(n):
        down = build("broadcast", "chain", world_size=n, root=root, num_chunks=k)
        up = build("reduce", "chain", world_size=n, root=root, num_chunks=k)
        assert len(down.steps) == len(up.steps) == (n - 2 + k if n > 1 else 0)
        last, first = (root - 1) % n, (root + 1) % n
        links = {(r, (r + 1) % n) for r in range(n)}
        assert {pair for step in pairs(down) for pair in step} == links - {(last, root)}
        assert {pair for step in pairs(up) for pair in step} == links - {(root, first)}
        if n > 1:
            assert sent(down) == [0 if rank == last else k for rank in range(n)]
            assert sent(up) == [0 if rank == root else k for rank in range(n)]


def test_a_chain_of_three_ranks_and_two_chunks_is_the_one_worked_by_hand():
    schedule = build("broadcast", "chain", world_size=3, num_chunks=2)
    assert [[(t.src, t.dst, t.chunk) for t in step] for step in schedule.steps] == [
        [(0, 1, 0)],
        [(0, 1, 1), (1, 2, 0)],
        [(1, 2, 1)],
    ]


def test_the_standard_case_has_the_numbers_of_the_broadcast_chapter():
    n, whole = 6, 48  # MB
    cases = {  # steps, MB out of the root
        ("flat", None): (5, 240),
        ("chain", 1): (5, 48),
        ("binomial", None): (3, 144),
        ("chain", 44): (48, 48),
        ("scatter_all_gather", None): (8, 80),
    }
    for (algorithm, chunks), (steps, root_out) in cases.items():
        schedule = build("broadcast", algorithm, world_size=n, num_chunks=chunks)
        assert len(schedule.steps) == steps
        assert sent(schedule)[0] * whole / schedule.num_chunks == pytest.approx(root_out)


def test_in_a_reduce_the_root_sends_nothing():
    for algorithm in algorithms("reduce"):
        schedule = build("reduce", algorithm, world_size=5, root=3)
        assert sent(schedule) == [1, 1, 1, 0, 1]


@pytest.mark.parametrize("n", WORLDS)
def test_binomial_scatter_sends_each_block_down_one_way(n):
    for root in range(n):
        schedule = build("scatter", "binomial", world_size=n, root=root)
        assert len(schedule.steps) == lg(n)
        assert sent(schedule)[root] == n - 1
        arrivals = Counter((t.dst, t.chunk) for _, t in schedule.transfers())
        assert set(arrivals.values()) <= {1}


@pytest.mark.parametrize("n", WORLDS)
def test_scatter_all_gather_takes_lg_n_plus_n_minus_1_steps(n):
    schedule = build("broadcast", "scatter_all_gather", world_size=n, root=n // 2)
    assert len(schedule.steps) == lg(n) + n - 1
    assert sent(schedule)[n // 2] == 2 * (n - 1)
    assert schedule.num_chunks == n


# --- SHARP ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", CHUNKS)
@pytest.mark.parametrize("n", WORLDS)
def test_sharp_sends_the_vector_up_once_and_down_once(n, k):
    schedule = build("all_reduce", "sharp", world_size=n, num_chunks=k)
    if n == 1:
        assert (schedule.steps, schedule.num_switches) == ((), 0)
        return
    assert len(schedule.steps) == k + 1
    assert schedule.num_switches == 1
    assert sent(schedule) == received(schedule) == [k] * n + [n * k]
    for _, t in schedule.transfers():
        assert (t.op, n in (t.src, t.dst)) == (REDUCE if t.dst == n else COPY, True)


# --- Asking for them --------------------------------------------------------------------------


def test_the_name_of_a_generator_is_algorithm_then_collective():
    generators = {
        name: member
        for module in (chain, direct, ring, sharp, tree)
        for name, member in inspect.getmembers(module, inspect.isgeneratorfunction)
        if not name.startswith("_") and member.__module__ == module.__name__
    }
    table = {f"{algorithm}_{collective}": e for (collective, algorithm), e in ALGORITHMS.items()}
    assert generators == {name: entry.generator for name, entry in table.items()}
    for name, entry in table.items():
        assert next(iter(inspect.signature(entry.generator).parameters)) == "world_size"
        assert inspect.getdoc(entry.generator), name


def test_the_names_are_those_in_use():
    assert {c: list(algorithms(c)) for c in USUAL} == {
        "broadcast": ["flat", "chain", "binomial", "scatter_all_gather"],
        "reduce": ["flat", "chain", "binomial"],
        "scatter": ["binomial"],
        "all_gather": ["ring"],
        "reduce_scatter": ["ring"],
        "all_reduce": ["ring", "sharp"],
    }
    assert "switch" in algorithms("all_reduce")["sharp"]
    assert {c: usual_algorithm(c) for c in USUAL} == USUAL
    assert all((c, a) in ALGORITHMS for c, a in USUAL.items())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("all_redcue", "ring", {"world_size": 4}), "did you mean 'all_reduce'"),
        (("all_reduce", "rign", {"world_size": 4}), "did you mean 'ring'"),
        (("all_reduce", "ring", {"world_size": 0}), "world_size is 0"),
        (("all_reduce", "ring", {"world_size": -1}), "world_size is -1"),
        (("all_reduce", "ring", {"world_size": 2.0}), "world_size is 2.0"),
        (("all_reduce", "ring", {"world_size": True}), "world_size is True"),
        (("all_reduce", "ring", {"world_size": 4, "root": 0}), "all_reduce has no root"),
        (("all_reduce", "ring", {"world_size": 4, "num_chunks": 5}), "always uses 4"),
        (("all_reduce", "ring", {"world_size": 4, "num_chunks": 0}), "num_chunks is 0"),
        (("broadcast", "chain", {"world_size": 4, "num_chunks": 0}), "num_chunks is 0"),
        (("broadcast", "chain", {"world_size": 4, "num_chunks": 1.5}), "num_chunks is 1.5"),
        (("broadcast", "chain", {"world_size": 4, "root": 4}), "from 0 to 3"),
        (("broadcast", "chain", {"world_size": 4, "root": -1}), "root is -1"),
    ],
)
def test_what_does_not_exist_or_fit_is_refused(arguments, words):
    collective, algorithm, options = arguments
    with pytest.raises(ValueError, match=words):
        build(collective, algorithm, **options)


def test_a_collective_without_algorithms_says_which_have_some():
    with pytest.raises(ValueError, match="all_gather, all_reduce, broadcast"):
        algorithms("all_to_all")
    with pytest.raises(ValueError, match="Known"):
        usual_algorithm("gather")


def test_a_chunk_count_may_be_said_where_it_is_the_only_one():
    assert build("all_reduce", "ring", world_size=4, num_chunks=4) == build(
        "all_reduce", "ring", world_size=4
    )
