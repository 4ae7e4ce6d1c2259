"""Neighbor exchange: even and odd ranks, inside and outside of their pairs."""

from __future__ import annotations

from collections import Counter

import pytest
from algorithm_facts import blocks_sent, links, messages, received, sent

from allranks.algorithms import ALGORITHMS, build
from allranks.schedule import Op

EVEN = [2, 4, 6, 8, 10, 16]


@pytest.mark.parametrize("n", EVEN)
def test_a_rank_talks_to_one_neighbor_and_to_the_other_in_turn(n):
    schedule = build("all_gather", "neighbor_exchange", world_size=n)
    assert len(schedule.steps) == n // 2
    for step, found in enumerate(messages(schedule)):
        inside = {(rank, rank ^ 1) for rank in range(n)}
        outside = {(a, b) for a in range(n) for b in ((a + 1) % n, (a - 1) % n)} - inside
        assert set(found) == (outside if step % 2 else inside)
        assert set(found.values()) == {2 if step else 1}
    assert sent(schedule) == received(schedule) == [n - 1] * n
    assert {op for _, (*_, op) in schedule.transfers()} == {Op.COPY}


@pytest.mark.parametrize("n", EVEN)
def test_every_block_arrives_once(n):
    schedule = build("all_gather", "neighbor_exchange", world_size=n)
    arrivals = Counter((t.dst, t.chunk) for _, t in schedule.transfers())
    assert arrivals == {
        (rank, chunk): 1 for rank in range(n) for chunk in range(n) if rank != chunk
    }


def test_eight_ranks_send_the_blocks_worked_by_hand():
    schedule = build("all_gather", "neighbor_exchange", world_size=8)
    assert blocks_sent(schedule) == [
        [[0], [1], [2], [3], [4], [5], [6], [7]],
        [[0, 1], [0, 1], [2, 3], [2, 3], [4, 5], [4, 5], [6, 7], [6, 7]],
        [[6, 7], [2, 3], [0, 1], [4, 5], [2, 3], [6, 7], [4, 5], [0, 1]],
        [[2, 3], [6, 7], [4, 5], [0, 1], [6, 7], [2, 3], [0, 1], [4, 5]],
    ]


@pytest.mark.parametrize("n", EVEN)
def test_the_blocks_come_from_where_open_mpi_takes_them(n):
    # recv_data_from[i % 2] + offset_at_step[i % 2] in coll_base_allgather.c, written out
    arrived = {}
    for step, transfers in enumerate(build("all_gather", "neighbor_exchange", world_size=n).steps):
        for t in transfers:
            arrived.setdefault((step, t.dst), []).append(t.chunk)
    for rank in range(n):
        odd = rank % 2
        turn = -1 if odd else 1
        for step in range(1, n // 2):
            away = [2, -2][step % 2] * turn * ((step + 1) // 2)
            first = (rank - odd + away) % n
            assert arrived[step, rank] == [first, first + 1]


def test_odd_numbers_of_ranks_are_refused():
    refuse = ALGORITHMS["all_gather", "neighbor_exchange"].refuse
    assert [n for n in range(1, 12) if not refuse(n)] == [1, 2, 4, 6, 8, 10]


def test_only_the_links_of_a_ring_are_used():
    n = 10
    assert links(build("all_gather", "neighbor_exchange", world_size=n)) == {
        (a, b) for a in range(n) for b in ((a + 1) % n, (a - 1) % n)
    }
