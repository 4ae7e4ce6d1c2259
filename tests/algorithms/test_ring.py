"""Rings of chunks, to the right and to both sides, and the ring of whole vectors."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from algorithm_facts import MB, US, WORLDS, chunks_sent, links, messages, received, sent

from allranks.algorithms import ALGORITHMS, build
from allranks.algorithms.ring import unchunked_ring_all_reduce
from allranks.cost import cost
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Topology
from allranks.verify import final_state, states

COPY, REDUCE = Op.COPY, Op.REDUCE


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


@pytest.mark.parametrize(
    ("count", "n", "elements"),
    [(11, 4, [16, 16, 17, 17]), (7, 3, [9, 10, 9])],
)
def test_uneven_chunks_of_a_ring_all_reduce_are_counted_element_by_element(count, n, elements):
    schedule = build("all_reduce", "ring", world_size=n)
    sizes = [count // n + (chunk < count % n) for chunk in range(n)]
    out = Counter()
    for _, t in schedule.transfers():
        out[t.src] += sizes[t.chunk]
    assert [out[rank] for rank in range(n)] == elements
    # rank r leaves out its right neighbor's chunk in the first half, and once more in the second
    assert elements == [2 * count - sizes[r] - sizes[(r + 1) % n] for r in range(n)]
    machine = Topology.uniform(n, alpha=0, bandwidth=1)
    found = cost(schedule, count=count, itemsize=1, topology=machine)
    assert (found.bytes_sent_max, found.bytes_total) == (max(elements), sum(elements))


@pytest.mark.parametrize(("count", "elements"), [(11, [8, 8, 8, 9]), (73, [54, 55, 55, 55])])
def test_uneven_chunks_of_a_ring_reduce_scatter_are_those_of_the_course(count, elements):
    sizes = [count // 4 + (chunk < count % 4) for chunk in range(4)]
    out = Counter()
    for _, t in build("reduce_scatter", "ring", world_size=4).transfers():
        out[t.src] += sizes[t.chunk]
    assert [out[rank] for rank in range(4)] == elements == [count - size for size in sizes]


# --- Both ways --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", WORLDS)
@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
def test_a_bidirectional_ring_sends_a_chunk_to_each_neighbor_in_half_the_steps(collective, n):
    schedule = build(collective, "bidirectional_ring", world_size=n)
    phases = 2 if collective == "all_reduce" else 1
    assert len(schedule.steps) == phases * (n // 2)
    right = {(r, (r + 1) % n): 1 for r in range(n)}
    left = {(r, (r - 1) % n): 1 for r in range(n)}
    both, one = messages(schedule).count(right | left), messages(schedule).count(right)
    if n > 2:
        assert (both, one) == (phases * ((n - 1) // 2), phases * (n % 2 == 0))
    assert sent(schedule) == received(schedule) == [phases * (n - 1)] * n


@pytest.mark.parametrize("n", WORLDS)
def test_in_a_bidirectional_all_gather_every_block_arrives_once(n):
    schedule = build("all_gather", "bidirectional_ring", world_size=n)
    arrivals = Counter((t.dst, t.chunk) for _, t in schedule.transfers())
    assert arrivals == {
        (rank, chunk): 1 for rank in range(n) for chunk in range(n) if rank != chunk
    }


def test_bidirectional_all_gather_on_four_and_five_ranks_is_the_one_worked_by_hand():
    def by_direction(n):
        return [
            [
                [t.chunk for t in step if t.dst == (t.src + turn) % n]
                for turn in (1, -1)  # what ranks 0, 1, 2, ... send right, then left
            ]
            for step in build("all_gather", "bidirectional_ring", world_size=n).steps
        ]

    assert by_direction(4) == [[[0, 1, 2, 3], [0, 1, 2, 3]], [[3, 0, 1, 2], []]]
    assert by_direction(5) == [
        [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]],
        [[4, 0, 1, 2, 3], [1, 2, 3, 4, 0]],
    ]


def test_bidirectional_reduce_scatter_on_four_ranks_is_the_one_worked_by_hand():
    schedule = build("reduce_scatter", "bidirectional_ring", world_size=4)
    assert [[tuple(t[:3]) for t in step] for step in schedule.steps] == [
        [(0, 1, 2), (1, 2, 3), (2, 3, 0), (3, 0, 1)],
        [
            *[(0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 0, 0)],
            *[(0, 3, 3), (1, 0, 0), (2, 1, 1), (3, 2, 2)],
        ],
    ]
    middle = list(states(schedule))[1]
    assert middle[3][0] == Counter([2, 3])  # from the left of rank 0; from its right comes rank 1


def test_two_ports_halve_the_bidirectional_ring_and_one_port_gains_nothing():
    both = build("all_gather", "bidirectional_ring", world_size=6)
    ring = build("all_gather", "ring", world_size=6)

    def seconds(schedule, ports):
        machine = Topology.uniform(6, alpha=4e-6, bandwidth=25e9, ports=ports)
        return cost(schedule, nbytes=48 * MB, topology=machine).seconds

    assert seconds(both, 2) == pytest.approx(972 * US, rel=1e-12)
    assert seconds(both, 1) == pytest.approx(1620 * US, rel=1e-12)
    assert seconds(ring, 1) == seconds(ring, 2) == pytest.approx(1620 * US, rel=1e-12)
    one_port = cost(both, nbytes=48 * MB, topology=Topology.preset("bench", 6))
    assert (one_port.steps, one_port.latency_terms) == (3, 5)


# --- Whole vectors ----------------------------------------------------------------------------


def test_on_two_ranks_the_ring_of_whole_vectors_is_one_exchange():
    schedule = build("all_reduce", "unchunked_ring", world_size=2)
    assert schedule.steps == ((Transfer(0, 1, 0, REDUCE), Transfer(1, 0, 0, REDUCE)),)
    assert links(build("all_reduce", "ring", world_size=2)) == links(schedule)


def test_no_schedule_of_two_steps_to_the_right_sums_whole_vectors_on_three_ranks():
    # What needs_two_buffers says, by trying all of them: each rank may add, copy or send nothing.
    n = 3
    everybody = Counter(range(n))
    choices = list(itertools.product([None, COPY, REDUCE], repeat=n))
    ends = []
    for plan in itertools.product(choices, repeat=n - 1):
        steps = tuple(
            tuple(Transfer(r, (r + 1) % n, 0, op) for r, op in enumerate(ops) if op) for ops in plan
        )
        ends.append(final_state(Schedule("all_reduce", "any", n, 1, steps)))
    assert len(ends) == 27**2
    right = [sum(row[0] == everybody for row in end) for end in ends]
    assert max(right) == 2  # two ranks can have it all by then, never all three


def test_more_ranks_are_refused_by_the_table_and_by_the_generator():
    refuse = ALGORITHMS["all_reduce", "unchunked_ring"].refuse
    assert [n for n in range(1, 10) if not refuse(n)] == [1, 2]
    with pytest.raises(ValueError, match="world_size is 6"):
        next(unchunked_ring_all_reduce(6))
