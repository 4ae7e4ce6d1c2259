"""Bruck's algorithms: any n in ceil(log2 n) steps, and every block in its place at once."""

from __future__ import annotations

from collections import Counter

import pytest
from algorithm_facts import MB, US, WORLDS, blocks_sent, lg, messages, received, sent

from allranks.algorithms import build
from allranks.cost import cost
from allranks.topology import Topology
from allranks.verify import states


@pytest.mark.parametrize("n", [*WORLDS, 6, 9, 12, 13])
def test_bruck_all_gather_sends_back_by_ever_larger_distances(n):
    schedule = build("all_gather", "bruck", world_size=n)
    assert len(schedule.steps) == lg(n)
    for step, found in enumerate(messages(schedule)):
        d = 1 << step
        assert found == {(rank, (rank - d) % n): min(d, n - d) for rank in range(n)}
    assert sent(schedule) == received(schedule) == [n - 1] * n


@pytest.mark.parametrize(
    ("n", "blocks"), [(5, [1, 2, 1]), (6, [1, 2, 2]), (7, [1, 2, 3]), (9, [1, 2, 4, 1])]
)
def test_the_last_message_is_cut_to_what_is_missing(n, blocks):
    schedule = build("all_gather", "bruck", world_size=n)
    assert [step[n - 1, n - 1 - (1 << i)] for i, step in enumerate(messages(schedule))] == blocks


def test_after_s_steps_rank_r_has_the_blocks_from_r_on():
    for step, state in enumerate(states(build("all_gather", "bruck", world_size=6))):
        have = min(2**step, 6)
        for rank, row in enumerate(state):
            assert [c for c in range(6) if row[c]] == sorted((rank + i) % 6 for i in range(have))


def test_bruck_all_gather_on_five_ranks_is_the_one_worked_by_hand():
    assert blocks_sent(build("all_gather", "bruck", world_size=5)) == [
        [[0], [1], [2], [3], [4]],
        [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]],
        [[0], [1], [2], [3], [4]],
    ]


@pytest.mark.parametrize(
    ("nbytes", "ring_us", "bruck_us"), [(48 * MB, 1620, 1612), (6000, 20.2, 12.2)]
)
def test_ring_and_bruck_cost_what_the_course_says(nbytes, ring_us, bruck_us):
    for name, us in (("ring", ring_us), ("bruck", bruck_us)):
        schedule = build("all_gather", name, world_size=6)
        found = cost(schedule, nbytes=nbytes, topology=Topology.preset("bench", 6))
        assert found.seconds == pytest.approx(us * US, rel=1e-12)
        assert found.bytes_sent_max == 5 * nbytes / 6


@pytest.mark.parametrize("n", [*WORLDS, 6, 9, 12, 13])
def test_bruck_all_to_all_moves_blocks_by_the_bits_of_their_way(n):
    schedule = build("all_to_all", "bruck", world_size=n)
    assert len(schedule.steps) == lg(n)
    for step, found in enumerate(messages(schedule)):
        blocks = sum(away >> step & 1 for away in range(n))
        assert found == {(rank, (rank + (1 << step)) % n): blocks for rank in range(n)}
    hops = Counter(t.chunk for _, t in schedule.transfers())
    assert all(hops[a * n + b] == ((b - a) % n).bit_count() for a in range(n) for b in range(n))


@pytest.mark.parametrize(("n", "blocks"), [(8, 12), (5, 5), (7, 9), (16, 32)])
def test_bruck_all_to_all_sends_more_blocks_than_pairwise_in_fewer_steps(n, blocks):
    assert sent(build("all_to_all", "bruck", world_size=n)) == [blocks] * n
    assert sent(build("all_to_all", "pairwise", world_size=n)) == [n - 1] * n


def test_bruck_all_to_all_on_three_ranks_is_the_one_worked_by_hand():
    # chunk 3 a + b goes from a to b: one place on in step 0, two places on in step 1
    schedule = build("all_to_all", "bruck", world_size=3)
    assert [[tuple(t[:3]) for t in step] for step in schedule.steps] == [
        [(0, 1, 1), (1, 2, 5), (2, 0, 6)],
        [(0, 2, 2), (1, 0, 3), (2, 1, 7)],
    ]


def test_a_block_with_two_bits_to_go_rests_on_the_way():
    schedule = build("all_to_all", "bruck", world_size=4)
    assert [(t.src, t.dst) for _, t in schedule.transfers() if t.chunk == 0 * 4 + 3] == [
        (0, 1),
        (1, 3),
    ]
