"""Chains: pipelines along the ring."""

from __future__ import annotations

import pytest
from algorithm_facts import CHUNKS, WORLDS, links, pairs, received, sent

from allranks.algorithms import build


@pytest.mark.parametrize("k", CHUNKS)
@pytest.mark.parametrize("n", WORLDS)
def test_a_chain_of_k_chunks_takes_n_minus_2_plus_k_steps_to_the_right(n, k):
    for root in range(n):
        down = build("broadcast", "chain", world_size=n, root=root, num_chunks=k)
        up = build("reduce", "chain", world_size=n, root=root, num_chunks=k)
        assert len(down.steps) == len(up.steps) == (n - 2 + k if n > 1 else 0)
        last, first = (root - 1) % n, (root + 1) % n
        circle = {(r, (r + 1) % n) for r in range(n)}
        assert links(down) == circle - {(last, root)}
        assert links(up) == circle - {(root, first)}
        if n > 1:
            assert sent(down) == [0 if rank == last else k for rank in range(n)]
            assert sent(up) == [0 if rank == root else k for rank in range(n)]


def test_in_a_chain_reduce_the_inner_ranks_receive_and_send_everything():
    schedule = build("reduce", "chain", world_size=5, root=3, num_chunks=4)
    assert sent(schedule) == [4, 4, 4, 0, 4]
    assert received(schedule) == [4, 4, 4, 4, 0]


def test_a_chain_of_three_ranks_and_two_chunks_is_the_one_worked_by_hand():
    schedule = build("broadcast", "chain", world_size=3, num_chunks=2)
    assert [[(t.src, t.dst, t.chunk) for t in step] for step in schedule.steps] == [
        [(0, 1, 0)],
        [(0, 1, 1), (1, 2, 0)],
        [(1, 2, 1)],
    ]


def test_a_chain_to_root_1_begins_on_its_right():
    schedule = build("reduce", "chain", world_size=3, root=1, num_chunks=1)
    assert pairs(schedule) == [[(2, 0)], [(0, 1)]]
