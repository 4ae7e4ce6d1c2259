"""Doubling, halving, and how other numbers than powers of two are folded."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from algorithm_facts import MB, US, blocks_sent, links, messages, power_below, received, sent

from allranks.algorithms import ALGORITHMS, build
from allranks.cost import cost
from allranks.schedule import Op
from allranks.topology import Topology
from allranks.verify import states

COPY, REDUCE = Op.COPY, Op.REDUCE
POWERS = [1, 2, 4, 8, 16, 32]
OTHERS = [3, 5, 6, 7, 9, 12, 13, 31, 33]
FOLDING = [
    ("reduce_scatter", "recursive_halving"),
    ("all_reduce", "recursive_doubling"),
    ("all_reduce", "rabenseifner"),
]


def distances(schedule):
    """Return, per step, by what all senders differ from their receivers (XOR)."""
    return [{t.src ^ t.dst for t in step} for step in schedule.steps]


def powers(n):
    return [1 << bit for bit in range(n.bit_length() - 1)]


@pytest.mark.parametrize("n", POWERS)
def test_partners_differ_in_one_bit_and_the_order_is_that_of_mpich(n):
    near_first = [{d} for d in powers(n)]
    far_first = near_first[::-1]
    for (collective, algorithm), expected in {
        ("all_gather", "recursive_doubling"): near_first,
        ("reduce_scatter", "recursive_halving"): far_first,
        ("all_reduce", "recursive_doubling"): near_first,
        ("all_reduce", "rabenseifner"): near_first + far_first,
    }.items():
        assert distances(build(collective, algorithm, world_size=n)) == expected


@pytest.mark.parametrize("n", POWERS)
def test_gathered_blocks_double_and_scattered_blocks_halve(n):
    gather = build("all_gather", "recursive_doubling", world_size=n)
    scatter = build("reduce_scatter", "recursive_halving", world_size=n)
    assert [set(step.values()) for step in messages(gather)] == [{d} for d in powers(n)]
    assert [set(step.values()) for step in messages(scatter)] == [{d} for d in powers(n)[::-1]]
    assert sent(gather) == received(gather) == sent(scatter) == received(scatter) == [n - 1] * n


def test_doubling_all_gather_on_four_ranks_is_the_one_worked_by_hand():
    assert blocks_sent(build("all_gather", "recursive_doubling", world_size=4)) == [
        [[0], [1], [2], [3]],
        [[0, 1], [0, 1], [2, 3], [2, 3]],
    ]


def test_halving_on_eight_ranks_moves_32_16_and_8_mb_of_64():
    schedule = build("reduce_scatter", "recursive_halving", world_size=8)
    assert blocks_sent(schedule)[0] == [[4, 5, 6, 7]] * 4 + [[0, 1, 2, 3]] * 4
    assert blocks_sent(schedule)[1] == [[2, 3]] * 2 + [[0, 1]] * 2 + [[6, 7]] * 2 + [[4, 5]] * 2
    assert blocks_sent(schedule)[2] == [[1], [0], [3], [2], [5], [4], [7], [6]]
    assert [8 * step[0, 4 >> i] for i, step in enumerate(messages(schedule))] == [32, 16, 8]
    assert {t.op for _, t in schedule.transfers()} == {REDUCE}


def test_rabenseifner_on_eight_ranks_halves_the_vector_and_doubles_the_distance():
    schedule = build("all_reduce", "rabenseifner", world_size=8)
    halving, mirrored = blocks_sent(schedule)[:3], blocks_sent(schedule)[3:]
    # rank 0 and its partners 1, 2, 4; the halves that each gives away, then those that it has
    assert [halving[0][0], halving[1][0], halving[2][0]] == [[4, 5, 6, 7], [2, 3], [1]]
    assert [halving[0][1], halving[1][2], halving[2][4]] == [[0, 1, 2, 3], [0, 1], [0]]
    assert [mirrored[0][0], mirrored[1][0], mirrored[2][0]] == [[0], [0, 1], [0, 1, 2, 3]]
    # after the first half every rank has one finished chunk: its bits reversed
    after = list(states(schedule))[3]
    owners = [[c for c in range(8) if after[rank][c] == Counter(range(8))] for rank in range(8)]
    assert owners == [[0], [4], [2], [6], [1], [5], [3], [7]]
    assert [{t.op for t in step} for step in schedule.steps] == [{REDUCE}] * 3 + [{COPY}] * 3


@pytest.mark.parametrize("n", OTHERS)
@pytest.mark.parametrize(("collective", "algorithm"), FOLDING)
def test_even_ranks_of_the_first_pairs_fold_in_first_and_get_theirs_last(collective, algorithm, n):
    schedule = build(collective, algorithm, world_size=n)
    p = power_below(n)
    pairs = [(even, even + 1) for even in range(0, 2 * (n - p), 2)]
    first, *inner, last = messages(schedule)
    assert set(first) == set(pairs)
    assert set(last) == {(odd, even) for even, odd in pairs}
    folded = {even for even, _ in pairs}
    for step in inner:
        ranks = {rank for message in step for rank in message}
        assert ranks == set(range(n)) - folded
    assert set(first.values()) == {schedule.num_chunks}
    assert set(last.values()) == {1 if collective == "reduce_scatter" else schedule.num_chunks}


def test_halving_on_six_ranks_is_the_one_worked_by_hand():
    schedule = build("reduce_scatter", "recursive_halving", world_size=6)
    # places 0, 1, 2, 3 are ranks 1, 3, 4, 5; ranks 1 and 3 also work for 0 and 2
    assert messages(schedule) == [
        {(0, 1): 6, (2, 3): 6},
        {(1, 4): 2, (3, 5): 2, (4, 1): 4, (5, 3): 4},
        {(1, 3): 2, (3, 1): 2, (4, 5): 1, (5, 4): 1},
        {(1, 0): 1, (3, 2): 1},
    ]
    assert [t.chunk for t in schedule.steps[-1]] == [0, 2]


def test_doubling_and_rabenseifner_on_six_ranks_are_the_ones_worked_by_hand():
    doubling = build("all_reduce", "recursive_doubling", world_size=6)
    assert messages(doubling) == [
        {(0, 1): 1, (2, 3): 1},
        {(1, 3): 1, (3, 1): 1, (4, 5): 1, (5, 4): 1},
        {(1, 4): 1, (4, 1): 1, (3, 5): 1, (5, 3): 1},
        {(1, 0): 1, (3, 2): 1},
    ]
    halves = build("all_reduce", "rabenseifner", world_size=6)
    assert halves.num_chunks == 4
    assert [set(step.values()) for step in messages(halves)] == [{4}, {2}, {1}, {1}, {2}, {4}]
    assert [set(step) for step in messages(halves)] == [
        set(messages(doubling)[i]) for i in (0, 1, 2, 2, 1, 3)
    ]


def test_only_the_all_gather_needs_a_power_of_two():
    refuse = ALGORITHMS["all_gather", "recursive_doubling"].refuse
    assert [n for n in range(1, 65) if not refuse(n)] == [1, 2, 4, 8, 16, 32, 64]
    for key in FOLDING:
        assert not any(ALGORITHMS[key].refuse(n) for n in range(1, 65))


def test_doubling_uses_lg_n_links_of_every_rank():
    n = 16
    expected = {(rank, rank ^ d) for rank in range(n) for d in (1, 2, 4, 8)}
    for collective, algorithm in [("all_gather", "recursive_doubling"), *FOLDING]:
        assert links(build(collective, algorithm, world_size=n)) == expected


# --- The numbers of the chapters --------------------------------------------------------------


@pytest.mark.parametrize(
    ("collective", "algorithm", "n", "steps", "sent_mb", "us"),
    [
        ("all_gather", "recursive_doubling", 8, 3, 56, 2252),
        ("all_gather", "ring", 8, 7, 56, 2268),
        ("reduce_scatter", "recursive_halving", 8, 3, 56, 2252),
        ("reduce_scatter", "ring", 8, 7, 56, 2268),
        ("all_reduce", "ring", 8, 14, 112, 4536),
        ("all_reduce", "rabenseifner", 8, 6, 112, 4504),
        ("all_reduce", "recursive_doubling", 8, 3, 192, 7692),
        ("all_reduce", "ring", 16, 30, 120, 4920),
        ("all_reduce", "rabenseifner", 16, 8, 120, 4832),
        ("all_reduce", "recursive_doubling", 16, 4, 256, 10256),
        ("all_reduce", "binomial", 16, 8, 256, 20512),
    ],
)
def test_64_mb_cost_what_the_course_says(collective, algorithm, n, steps, sent_mb, us):
    schedule = build(collective, algorithm, world_size=n)
    found = cost(schedule, nbytes=64 * MB, topology=Topology.preset("bench", n))
    assert (found.steps, found.bytes_sent_max) == (steps, sent_mb * MB)
    assert found.seconds == pytest.approx(us * US, rel=1e-12)


@pytest.mark.parametrize(
    ("algorithm", "us"),
    [("ring", 120.6), ("rabenseifner", 32.6), ("recursive_doubling", 17.28), ("binomial", 34.56)],
)
def test_8_kb_on_16_ranks_cost_what_the_course_says(algorithm, us):
    schedule = build("all_reduce", algorithm, world_size=16)
    found = cost(schedule, nbytes=8000, topology=Topology.preset("bench", 16))
    assert found.seconds == pytest.approx(us * US, rel=1e-12)


@pytest.mark.parametrize(
    ("small", "large", "crossover", "rounded"),
    [
        # 4(alpha + S beta) = 8 alpha + 2 (15/16) S beta; alpha / beta is 100,000 B
        ("recursive_doubling", "rabenseifner", Fraction(4 * 100_000 * 8, 17), 188_235),
        # 8(alpha + S beta) = 30 alpha + 2 (15/16) S beta
        ("binomial", "ring", Fraction(22 * 100_000 * 8, 49), 359_184),
    ],
)
def test_two_algorithms_change_places_at_this_size(small, large, crossover, rounded):
    assert round(crossover) == rounded
    bench = Topology.preset("bench", 16)

    def ahead(size):
        first, second = (
            cost(build("all_reduce", name, world_size=16), nbytes=size, topology=bench).seconds
            for name in (small, large)
        )
        return second - first

    assert ahead(math.floor(crossover)) > 0 > ahead(math.ceil(crossover))
