"""All-to-all without detours."""

from __future__ import annotations

import pytest
from algorithm_facts import MB, WORLDS, messages, received, sent

from allranks.algorithms import build
from allranks.cost import cost
from allranks.topology import Topology


@pytest.mark.parametrize("n", WORLDS)
@pytest.mark.parametrize("algorithm", ["direct", "pairwise"])
def test_every_block_goes_straight_to_its_rank_and_own_blocks_stay(algorithm, n):
    schedule = build("all_to_all", algorithm, world_size=n)
    moved = [t for _, t in schedule.transfers()]
    assert all((t.src, t.dst) == divmod(t.chunk, n) for t in moved)
    assert len({t.chunk for t in moved}) == len(moved) == n * (n - 1)
    assert sent(schedule) == received(schedule) == [n - 1] * n


@pytest.mark.parametrize("n", WORLDS)
def test_pairwise_talks_to_one_peer_after_another(n):
    schedule = build("all_to_all", "pairwise", world_size=n)
    assert messages(schedule) == [
        {(rank, (rank + distance) % n): 1 for rank in range(n)} for distance in range(1, n)
    ]


def test_pairwise_on_three_ranks_is_the_one_worked_by_hand():
    schedule = build("all_to_all", "pairwise", world_size=3)
    assert [[tuple(t[:3]) for t in step] for step in schedule.steps] == [
        [(0, 1, 1), (1, 2, 5), (2, 0, 6)],
        [(0, 2, 2), (1, 0, 3), (2, 1, 7)],
    ]


def test_on_one_port_direct_and_pairwise_cost_the_same_and_in_flight_direct_wins():
    direct, pairwise = (build("all_to_all", name, world_size=8) for name in ("direct", "pairwise"))

    def seconds(schedule, in_flight):
        machine = Topology.uniform(8, alpha=4e-6, bandwidth=25e9, in_flight=in_flight)
        return cost(schedule, nbytes=64 * MB, topology=machine).seconds

    assert seconds(direct, 1) == pytest.approx(7 * 4e-6 + 56 * MB / 25e9, rel=1e-12)
    assert seconds(pairwise, 1) == pytest.approx(seconds(direct, 1), rel=1e-12)
    assert seconds(direct, 7) == pytest.approx(4e-6 + 56 * MB / 25e9, rel=1e-12)
    assert seconds(pairwise, 7) == pytest.approx(seconds(pairwise, 1), rel=1e-12)
