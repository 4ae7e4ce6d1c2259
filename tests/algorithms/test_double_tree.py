"""The double binary tree: NCCL's trees, who moves how much, the turns, and the steps it takes."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from algorithm_facts import MB, lg, links, received, sent
from form_facts import assert_form_is_schedule

from allranks.algorithms import build
from allranks.algorithms.double_tree import (
    NOBODY,
    children,
    double_tree,
    edge_columns,
    edges,
    num_steps_down,
    turn,
)
from allranks.cost import bytes_per_rank, cost, price
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Topology
from allranks.verify import final_state, states, verify

NAME = ("all_reduce", "double_binary_tree")
GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "nccl_double_tree.json").read_text("utf-8")
)
VECTORS = {vector["world_size"]: vector for vector in GOLDEN["vectors"]}
CHUNKS = [2, 4, 6, 10]


def shares(n):
    """Return the bytes that each rank sends, in S, as NCCL's trees imply."""
    if n == 1:
        return [0]
    if n == 2:
        return [1, 1]
    if n % 2 == 0:
        return [1, *[2] * (n - 2), 1]
    most = [2] * n
    most[0] = most[-1] = Fraction(3, 2)
    most[1] = 1
    return most


# NCCL's own construction


def test_the_golden_vectors_name_their_source_and_sizes():
    assert sorted(VECTORS) == [2, 3, 4, 5, 6, 7, 8, 16]
    assert "v2.30.7" in GOLDEN["source"]
    assert "Apache-2.0" in GOLDEN["license"]


@pytest.mark.parametrize("n", sorted(VECTORS))
def test_the_trees_are_nccl_s(n):
    trees = double_tree(n)
    assert list(trees) == VECTORS[n]["parents"]
    for parents, expected in zip(trees, VECTORS[n]["children"], strict=True):
        assert children(parents) == [sorted(both) for both in expected]


@pytest.mark.parametrize("n", sorted(VECTORS))
def test_data_go_over_the_links_of_nccl_s_trees_only(n):
    golden = {(r, up) for parents in VECTORS[n]["parents"] for r, up in enumerate(parents)}
    up = {pair for pair in golden if NOBODY not in pair}
    assert links(build(*NAME, world_size=n)) == up | {(b, a) for a, b in up}


def test_every_tree_has_depth_ceil_log2_n_and_two_children_at_most():
    for n in range(2, 301):
        for parents in double_tree(n):
            assert max(map(len, children(parents))) <= 2
            depths = {}
            for rank in range(n):
                path = [rank]
                while parents[path[-1]] != NOBODY:
                    path.append(parents[path[-1]])
                depths[rank] = len(path) - 1
            assert max(depths.values()) == lg(n)


def test_a_rank_is_inner_in_one_tree_only_but_for_rank_0_and_odd_n():
    for n in range(2, 64):
        both = [
            rank for rank in range(n) if all(children(parents)[rank] for parents in double_tree(n))
        ]
        assert both == ([0] if n % 2 else [])
        roots = [parents.index(NOBODY) for parents in double_tree(n)]
        assert roots == [0, 1 if n % 2 else n - 1]


def test_rank_3_of_six_has_parents_2_and_1():
    first, second = double_tree(6)
    assert (first[3], second[3]) == (2, 1)


# The contract, and what every rank moves


def test_it_keeps_its_promise_for_any_number_of_ranks_and_chunks():
    for n in range(1, 65):
        for k in CHUNKS if n < 20 else CHUNKS[:2]:
            verify(build(*NAME, world_size=n, num_chunks=k))


def test_every_rank_moves_what_nccl_s_trees_imply():
    for n in range(1, 65):
        for k in (2, 6):
            schedule = build(*NAME, world_size=n, num_chunks=k)
            assert [Fraction(count, k) for count in sent(schedule)] == shares(n)
            assert sent(schedule) == received(schedule)
            assert schedule.num_transfers == 2 * (n - 1) * k


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (2, [1, 1]),
        (3, [1.5, 1, 1.5]),
        (6, [1, 2, 2, 2, 2, 1]),
        (7, [1.5, 1, 2, 2, 2, 2, 1.5]),
    ],
)
def test_the_bytes_per_rank_are_those_of_the_course(n, expected):
    traffic = bytes_per_rank(build(*NAME, world_size=n), 64 * MB)
    assert [rank.sent for rank in traffic] == [64 * MB * share for share in expected]
    assert [rank.received for rank in traffic] == [rank.sent for rank in traffic]
    assert sum(rank.sent for rank in traffic) == 2 * (n - 1) * 64 * MB


def test_each_half_of_the_chunks_stays_in_its_own_tree():
    n, k = 7, 6
    trees = double_tree(n)
    for _, t in build(*NAME, world_size=n, num_chunks=k).transfers():
        parents = trees[t.chunk // (k // 2)]
        assert (parents[t.src] == t.dst) == (t.op is Op.REDUCE)
        assert (parents[t.dst] == t.src) == (t.op is Op.COPY)


# Steps and turns


def test_nobody_sends_to_two_or_hears_from_two_in_a_step():
    for n in range(1, 65):
        for step in build(*NAME, world_size=n, num_chunks=6).steps:
            assert len({t.src for t in step}) == len({t.dst for t in step}) == len(step)


def test_the_steps_are_the_closed_form():
    for n in range(2, 65):
        for k in CHUNKS:
            steps = build(*NAME, world_size=n, num_chunks=k).steps
            assert len(steps) == 2 * num_steps_down(n, k)
            wait = n % 4 == 0
            assert len(steps) == (k if n == 2 else 4 * lg(n) + 2 * k - 8 + 2 * wait)
            assert all(len(step) for step in steps)


@pytest.mark.parametrize(
    ("n", "k", "steps"),
    [(2, 2, 2), (3, 2, 4), (4, 2, 6), (6, 2, 8), (8, 2, 10), (8, 16, 38), (9, 2, 12), (16, 2, 14)],
)
def test_the_steps_of_some_sizes_by_hand(n, k, steps):
    assert len(build(*NAME, world_size=n, num_chunks=k).steps) == steps


@pytest.mark.slow
def test_turns_keep_siblings_and_the_two_messages_of_a_rank_apart():
    for n in range(2, 601):
        trees = double_tree(n)
        for tree, parents in enumerate(trees):
            for below in children(parents):
                assert len({turn(n, tree, child) for child in below}) == len(below)
                if parents.index(NOBODY) in below:
                    assert {turn(n, tree, child) for child in below} == {0}
        for rank in range(n):
            if all(parents[rank] != NOBODY for parents in trees):
                assert turn(n, 0, rank) != turn(n, 1, rank)
        roots = [parents.index(NOBODY) for parents in trees]
        first = [(tree, children(trees[tree])[root][0]) for tree, root in enumerate(roots)]
        assert [turn(n, *link) for link in first] == [0, 0]
        if n % 2:  # rank 0 has one child in each tree
            assert turn(n, 0, children(trees[0])[0][0]) != turn(n, 1, children(trees[1])[0][0])


@pytest.mark.slow
def test_the_way_down_takes_the_steps_it_says_up_to_600_ranks():
    for n in range(2, 601):
        assert max(edge.start for edge in edges(n)) + 1 == num_steps_down(n, 2)


def test_the_columns_for_huge_worlds_are_the_links_of_small_ones():
    for n in range(1, 301):
        assert sorted(map(tuple, edge_columns(n).T.tolist())) == sorted(map(tuple, edges(n)))


def test_two_ranks_swap_halves_like_a_ring():
    schedule = build(*NAME, world_size=2, num_chunks=4)
    assert [sorted((t.src, t.dst, t.chunk) for t in step) for step in schedule.steps] == [
        [(0, 1, 2), (1, 0, 0)],
        [(0, 1, 3), (1, 0, 1)],
        [(0, 1, 0), (1, 0, 2)],
        [(0, 1, 1), (1, 0, 3)],
    ]


def test_four_ranks_are_the_ones_worked_by_hand():
    # tree 0, chunk 0: 1 and 3 below 2 below 0; tree 1, chunk 1: 0 and 2 below 1 below 3
    schedule = build(*NAME, world_size=4)
    assert [sorted((t.src, t.dst, t.chunk) for t in step) for step in schedule.steps] == [
        [(0, 1, 1), (3, 2, 0)],
        [(1, 2, 0), (2, 1, 1)],
        [(1, 3, 1), (2, 0, 0)],
        [(0, 2, 0), (3, 1, 1)],
        [(1, 2, 1), (2, 1, 0)],
        [(1, 0, 1), (2, 3, 0)],
    ]


def test_after_the_way_up_the_roots_hold_the_sums():
    n, k = 6, 4
    schedule = build(*NAME, world_size=n, num_chunks=k)
    held = list(states(schedule))[num_steps_down(n, k)]
    assert [held[0][chunk] for chunk in (0, 1)] == [Counter(range(n))] * 2
    assert [held[n - 1][chunk] for chunk in (2, 3)] == [Counter(range(n))] * 2
    assert final_state(schedule)[3][0] == Counter(range(n))


# The price


@pytest.mark.parametrize("k", [2, 6, 22])
@pytest.mark.parametrize("n", [2, 3, 6, 8, 13])
def test_a_step_costs_one_alpha_and_one_chunk(n, k):
    alpha, bandwidth, gamma, nbytes = 4e-6, 25e9, 1e-11, 48 * MB
    machine = Topology.uniform(n, alpha=alpha, bandwidth=bandwidth, gamma=gamma)
    found = cost(build(*NAME, world_size=n, num_chunks=k), nbytes=nbytes, topology=machine)
    down = num_steps_down(n, k)
    assert found.latency_terms == found.steps == 2 * down
    expected = down * (2 * alpha + 2 * nbytes / k / bandwidth + nbytes / k * gamma)
    assert found.seconds == pytest.approx(expected, rel=1e-12)


def test_with_many_chunks_it_tends_to_twice_the_vector():
    n, nbytes = 16, 10**9
    machine = Topology.preset("bench", n)
    found = price(*NAME, world_size=n, nbytes=nbytes, topology=machine, num_chunks=1000)
    assert found.seconds / (2 * nbytes / 25e9) == pytest.approx(1.05, abs=0.06)


@pytest.mark.slow
def test_the_form_says_the_messages_of_the_schedule():
    for n in range(1, 65):
        for k in CHUNKS if n < 20 else CHUNKS[:2]:
            assert_form_is_schedule(*NAME, n, num_chunks=k)


def test_it_is_priced_for_a_hundred_thousand_ranks():
    n = 131_072
    machine = Topology.uniform(n, alpha=2e-6, bandwidth=50e9)
    found = price(*NAME, world_size=n, nbytes=10**9, topology=machine, num_chunks=64)
    assert found.steps == 4 * 17 + 2 * 64 - 8 + 2
    assert found.bytes_sent_max == 2 * 10**9
    assert found.bytes_total == 2 * (n - 1) * 10**9
    assert found.seconds == pytest.approx(found.steps * (2e-6 + 10**9 / 64 / 50e9))


# What does not fit, and planted faults


def test_an_odd_number_of_chunks_is_refused():
    with pytest.raises(ValueError, match=r"num_chunks is 3; .* half of the chunks, .* even number"):
        build(*NAME, world_size=6, num_chunks=3)
    assert len(build(*NAME, world_size=1, num_chunks=3).steps) == 0


def level_by_level(n):
    """Return the schedule without turns: a rank hears from both children in one step."""
    down = [[] for _ in range(lg(n))]
    for tree, parents in enumerate(double_tree(n)):
        for rank in range(n):
            path = [rank]
            while parents[path[-1]] != NOBODY:
                path.append(parents[path[-1]])
            if len(path) > 1:
                down[len(path) - 2].append(Transfer(parents[rank], rank, tree, Op.COPY))
    up = [[Transfer(t.dst, t.src, t.chunk, Op.REDUCE) for t in step] for step in reversed(down)]
    return Schedule(*NAME, n, 2, tuple(map(tuple, up + down)))


@pytest.mark.parametrize(("n", "alphas"), [(6, (10, 8)), (8, (10, 10)), (13, (14, 12))])
def test_taking_both_children_at_once_is_never_faster_on_one_port(n, alphas):
    at_once, in_turn = level_by_level(n), build(*NAME, world_size=n)
    verify(at_once)
    machine = Topology.preset("bench", n)
    slow, fast = (cost(s, nbytes=48 * MB, topology=machine) for s in (at_once, in_turn))
    assert (slow.latency_terms, fast.latency_terms) == alphas
    assert slow.steps < fast.steps
    assert slow.seconds >= fast.seconds * (1 - 1e-12)


@pytest.mark.parametrize("step", range(8))
def test_a_message_left_out_is_found(step):
    right = build(*NAME, world_size=6)
    assert len(right.steps) == 8
    steps = [
        tuple(row)[1:] if number == step else tuple(row) for number, row in enumerate(right.steps)
    ]
    with pytest.raises(ScheduleError):
        verify(Schedule(*NAME, 6, 2, tuple(steps)))
