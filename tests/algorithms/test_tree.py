"""Binomial trees, and the broadcast that scatters first."""

from __future__ import annotations

from collections import Counter

import pytest
from algorithm_facts import MB, US, WORLDS, lg, links, messages, pairs, received, sent

from allranks.algorithms import build
from allranks.cost import cost
from allranks.topology import Topology
from allranks.verify import states


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


@pytest.mark.parametrize("n", WORLDS)
def test_binomial_scatter_sends_each_block_down_one_way(n):
    for root in range(n):
        schedule = build("scatter", "binomial", world_size=n, root=root)
        assert len(schedule.steps) == lg(n)
        assert sent(schedule)[root] == n - 1
        arrivals = Counter((t.dst, t.chunk) for _, t in schedule.transfers())
        assert set(arrivals.values()) <= {1}


@pytest.mark.parametrize("n", WORLDS)
def test_binomial_gather_is_the_scatter_backwards(n):
    for root in range(n):
        down = build("scatter", "binomial", world_size=n, root=root)
        up = build("gather", "binomial", world_size=n, root=root)
        turned = [[(t.dst, t.src, t.chunk) for t in step] for step in reversed(up.steps)]
        assert turned == [[tuple(t[:3]) for t in step] for step in down.steps]
        assert received(up)[root] == n - 1


def test_binomial_gather_on_six_ranks_to_root_1_is_the_one_worked_by_hand():
    schedule = build("gather", "binomial", world_size=6, root=1)
    assert messages(schedule) == [
        {(2, 1): 1, (4, 3): 1, (0, 5): 1},
        {(3, 1): 2},
        {(5, 1): 2},
    ]


@pytest.mark.parametrize("n", WORLDS)
def test_scatter_all_gather_takes_lg_n_plus_n_minus_1_steps(n):
    schedule = build("broadcast", "scatter_all_gather", world_size=n, root=n // 2)
    assert len(schedule.steps) == lg(n) + n - 1
    assert sent(schedule)[n // 2] == 2 * (n - 1)
    assert schedule.num_chunks == n


@pytest.mark.parametrize("n", WORLDS)
def test_binomial_all_reduce_goes_up_a_tree_and_down_the_same(n):
    schedule = build("all_reduce", "binomial", world_size=n)
    steps = pairs(schedule)
    assert len(steps) == 2 * lg(n)
    assert steps == [[(b, a) for a, b in step] for step in reversed(steps)]
    assert sent(schedule)[0] == received(schedule)[0] == lg(n)


def test_binomial_all_reduce_of_the_course_takes_11544_us():
    schedule = build("all_reduce", "binomial", world_size=6)
    assert links(schedule) == {
        (a, b) for x, y in [(0, 1), (0, 2), (1, 3), (0, 4), (1, 5)] for a, b in [(x, y), (y, x)]
    }
    found = cost(schedule, nbytes=48 * MB, topology=Topology.preset("bench", 6))
    assert (found.steps, found.bytes_total) == (6, 480 * MB)
    assert found.seconds == pytest.approx(11544 * US, rel=1e-12)
