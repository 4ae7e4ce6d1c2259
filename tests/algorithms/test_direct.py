"""Stars, and everybody to everybody at once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from algorithm_facts import MB, US, WORLDS, links, messages, pairs, received, sent

from allranks.algorithms import build
from allranks.cost import cost
from allranks.schedule import Op
from allranks.simulate import simulate
from allranks.topology import Topology
from allranks.verify import states


@pytest.mark.parametrize("n", WORLDS)
def test_flat_is_a_star_around_the_root(n):
    for root in range(n):
        others = [(root + distance) % n for distance in range(1, n)]
        for down, up in (("broadcast", "reduce"), ("scatter", "gather")):
            away = build(down, "flat", world_size=n, root=root)
            home = build(up, "flat", world_size=n, root=root)
            assert pairs(away) == [[(root, rank)] for rank in others]
            assert pairs(home) == [[(rank, root)] for rank in others]


@pytest.mark.parametrize("n", WORLDS)
def test_flat_scatter_and_gather_move_each_rank_s_own_block(n):
    for root in range(n):
        down = build("scatter", "flat", world_size=n, root=root)
        up = build("gather", "flat", world_size=n, root=root)
        assert all(t.chunk == t.dst and t.op is Op.COPY for _, t in down.transfers())
        assert all(t.chunk == t.src and t.op is Op.COPY for _, t in up.transfers())


def test_in_a_flat_reduce_the_root_sends_nothing():
    assert sent(build("reduce", "flat", world_size=5, root=3)) == [1, 1, 1, 0, 1]


def test_a_star_sends_everything_through_rank_0_and_no_less_than_a_ring():
    n = 6
    star, ring = (build("all_reduce", name, world_size=n) for name in ("flat", "ring"))
    assert links(star) == {(0, r) for r in range(1, n)} | {(r, 0) for r in range(1, n)}
    assert (sent(star), received(star)) == ([5, 1, 1, 1, 1, 1], [5, 1, 1, 1, 1, 1])
    # 480 MB in all for both; 10 messages against 60; busiest rank 240 MB against 80
    assert star.num_transfers * 48 == ring.num_transfers * 8 == 480
    assert (star.num_transfers, ring.num_transfers) == (10, 60)
    assert (max(sent(star)) * 48, max(sent(ring)) * 8) == (240, 80)


def test_a_ring_moves_as_much_as_a_star_and_spreads_it():
    n, whole = 8, 256  # 256 B: 3584 B in all for both; busiest rank in + out 3584 against 896
    star = build("all_reduce", "flat", world_size=n)
    circle = build("all_reduce", "ring", world_size=n)
    piece = whole // n
    assert star.num_transfers * whole == circle.num_transfers * piece == 3584
    assert (sent(star)[0] + received(star)[0]) * whole == 3584
    assert (sent(circle)[0] + received(circle)[0]) * piece == 896
    assert (star.num_transfers, circle.num_transfers) == (14, 112)


@pytest.mark.parametrize("n", WORLDS)
@pytest.mark.parametrize(
    ("collective", "algorithm", "steps"),
    [
        ("all_gather", "direct", 1),
        ("reduce_scatter", "direct", 1),
        ("all_reduce", "direct", 2),
        ("all_reduce", "one_shot", 1),
        ("all_to_all", "direct", 1),
    ],
)
def test_in_a_direct_step_everybody_sends_one_chunk_to_everybody(collective, algorithm, steps, n):
    schedule = build(collective, algorithm, world_size=n)
    everybody = Counter((a, b) for a in range(n) for b in range(n) if a != b)
    assert messages(schedule) == ([everybody] * steps if n > 1 else [])


def test_direct_on_three_ranks_is_the_one_worked_by_hand():
    gather, scatter = (
        [[tuple(t[:3]) for t in step] for step in build(name, "direct", world_size=3).steps]
        for name in ("all_gather", "reduce_scatter")
    )
    assert gather == [[(0, 1, 0), (0, 2, 0), (1, 0, 1), (1, 2, 1), (2, 0, 2), (2, 1, 2)]]
    assert scatter == [[(0, 1, 1), (0, 2, 2), (1, 0, 0), (1, 2, 2), (2, 0, 0), (2, 1, 1)]]


def test_two_shot_has_every_sum_on_its_owner_after_the_first_shot():
    after = list(states(build("all_reduce", "direct", world_size=4)))[1]
    assert [after[rank][rank] for rank in range(4)] == [Counter(range(4))] * 4


def test_one_shot_pays_an_alpha_per_peer_on_one_port_and_one_where_all_are_in_flight():
    schedule = build("all_reduce", "one_shot", world_size=8)
    for in_flight, terms in ((1, 7), (4, 2), (7, 1)):
        machine = Topology.uniform(8, alpha=1e-6, bandwidth=1e9, in_flight=in_flight)
        found = cost(schedule, nbytes=1000, topology=machine)
        assert found.latency_terms == terms
        assert found.seconds == pytest.approx(terms * 1e-6 + 7 * 1e-6, rel=1e-12)


def test_one_shot_is_the_family_whose_ranks_may_differ_in_the_last_bits():
    given = [np.array([x], np.float32) for x in (1e8, 1, -1e8, 1)]
    own_first = simulate(build("all_reduce", "one_shot", world_size=4), given)
    # ranks 0 and 1: ((1e8 + 1) - 1e8) + 1; rank 2: ((-1e8 + 1e8) + 1) + 1, as it should be;
    # rank 3: ((1 + 1e8) + 1) - 1e8
    assert [float(x[0]) for x in own_first] == [1, 1, 2, 0]
    for name in ("flat", "ring", "binomial", "recursive_doubling", "rabenseifner", "direct"):
        found = simulate(build("all_reduce", name, world_size=4), given)
        assert len({x.tobytes() for x in found}) == 1, name


def test_the_star_of_the_course_takes_19240_us():
    star = build("all_reduce", "flat", world_size=6)
    found = cost(star, nbytes=48 * MB, topology=Topology.preset("bench", 6))
    assert (found.steps, found.messages, found.bytes_total) == (10, 10, 480 * MB)
    assert (found.bytes_sent_max, found.bytes_received_max) == (240 * MB, 240 * MB)
    assert found.seconds == pytest.approx(19240 * US, rel=1e-12)
