"""Lower bounds: the course's numbers, and no algorithm below them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from price_facts import US, S, bench, calls, custom, easy, networks, priced

from allranks.algorithms import build
from allranks.cost import cost, lower_bound, price
from allranks.schedule import Op
from allranks.topology import Tier, Topology


def test_the_bounds_of_the_course():
    assert lower_bound("broadcast", 6, S, bench(6)) == pytest.approx((12 + 1920) * US)
    assert lower_bound("all_gather", 6, S, bench(6)) == pytest.approx((12 + 1600) * US)
    assert lower_bound("reduce_scatter", 6, S, bench(6)) == pytest.approx((12 + 1600) * US)
    assert lower_bound("all_reduce", 6, S, bench(6)) == pytest.approx((12 + 3200) * US)
    assert lower_bound("all_to_all", 8, S, bench(8)) == pytest.approx((12 + 1680) * US)


@pytest.mark.parametrize("n", [2, 3, 5, 6, 8, 33])
def test_a_binomial_scatter_meets_its_bound(n):
    found = price("scatter", "binomial", world_size=n, nbytes=S, topology=bench(n))
    assert found.seconds == pytest.approx(lower_bound("scatter", n, S, bench(n)), rel=1e-12)


def test_a_ring_of_two_meets_the_bound_with_gamma():
    slow = Topology.uniform(2, alpha=4e-6, bandwidth=25e9, gamma=1e-10)
    found = price("reduce_scatter", "ring", world_size=2, nbytes=S, topology=slow)
    assert found.seconds == pytest.approx(lower_bound("reduce_scatter", 2, S, slow), rel=1e-12)


@pytest.mark.slow
@given(calls(), st.integers(0, 2**32), st.floats(0, 1e-9), st.integers(1, 3), st.integers(1, 8))
@settings(max_examples=200, deadline=None)
def test_no_algorithm_beats_the_bound(call, nbytes, gamma, ports, in_flight):
    collective, algorithm, options = call
    topology = Topology.uniform(
        options["world_size"],
        alpha=4e-6,
        bandwidth=25e9,
        gamma=gamma,
        ports=ports,
        in_flight=in_flight,
    )
    schedule = build(collective, algorithm, **options)
    for clock in ("lockstep", "data_driven"):
        found = cost(schedule, nbytes=nbytes, topology=topology, clock=clock)
        assert found.lower_bound <= found.seconds * (1 + 1e-12)


@pytest.mark.slow
@given(calls(most=24), st.data(), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_no_algorithm_beats_the_bound_of_a_network(call, data, nbytes):
    collective, algorithm, options = call
    topology = data.draw(networks(options["world_size"]))
    try:
        found = price(collective, algorithm, nbytes=nbytes, topology=topology, **options)
    except ValueError as error:
        assert "switch" in str(error)  # noqa: PT017 - a graph without switches refuses them
        return
    assert found.lower_bound <= found.seconds * (1 + 1e-12)


def test_where_a_port_pays_several_alphas_bytes_may_hide_those_of_another():
    # Ranks 0 and 1 each tell two others a byte (2 alphas), while rank 4 gets ten bytes (1 alpha).
    # So the sum of alphas and bytes, 3 + 10 for these five ranks, is no bound here.
    first = [(0, 1, 0, Op.COPY), (0, 2, 0, Op.COPY)]
    crowded = custom(first, world_size=5, num_chunks=1)
    plain = custom(first[:1], first[1:], world_size=5, num_chunks=1)
    sums = lower_bound("all_reduce", 5, 10, easy(5))
    larger = lower_bound("all_reduce", 5, 10, easy(5), clock="data_driven")
    assert larger < sums
    assert cost(plain, nbytes=10, topology=easy(5)).lower_bound == sums
    assert cost(crowded, nbytes=10, topology=easy(5)).lower_bound == larger


def test_a_step_of_two_messages_on_slow_borders_keeps_above_the_bound():
    tiers = [
        Tier(name="node", size=1, alpha=3.3631008488175225e-06, bandwidth=100000001.0),
        Tier(name="leaf", size=1, alpha=3.373199139655193e-06, bandwidth=1e8),
        Tier(name="spine", alpha=3.3631008488175225e-06, bandwidth=1e8),
    ]
    topology = Topology.tiers(3, tiers)
    found = price("all_gather", "bidirectional_ring", world_size=3, nbytes=1, topology=topology)
    assert found.lower_bound <= found.seconds


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [("broadcast", "flat"), ("broadcast", "binomial"), ("reduce", "flat"), ("gather", "binomial")],
)
@pytest.mark.parametrize("root", [0, 2, 8])
def test_near_messages_beside_a_far_one_keep_above_the_bound(collective, algorithm, root):
    topology = Topology.preset("dgx-h100", 9)  # one rank is alone on its node
    made = build(collective, algorithm, world_size=9, root=root)
    for clock in ("lockstep", "data_driven"):
        found = cost(made, nbytes=1000, topology=topology, clock=clock)
        assert found.lower_bound <= found.seconds * (1 + 1e-12)


def test_a_switch_that_adds_lies_outside_the_bound():
    found = priced("sharp", collective="all_reduce", k=22)
    assert found.seconds < lower_bound("all_reduce", 6, S, bench(6))


def test_more_ports_and_alphas_in_flight_lower_the_bound():
    assert lower_bound("broadcast", 9, 90, easy(9)) == 4 + 90
    assert lower_bound("broadcast", 9, 90, easy(9, ports=2)) == 2 + 45
    assert lower_bound("broadcast", 9, 90, easy(9, in_flight=2)) == 2 + 90
    assert lower_bound("broadcast", 1, 90, easy(1)) == 0
    assert lower_bound("broadcast", 9, 0, easy(9)) == 0


def test_the_root_of_a_reduce_need_not_be_the_rank_that_adds():
    assert lower_bound("reduce", 4, 8, easy(4)) == 2 + 8
    assert lower_bound("reduce", 4, 8, easy(4, gamma=9.0)) == 2 + 6 + 54
