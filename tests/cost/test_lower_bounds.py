"""Lower bounds: the course's numbers, and no algorithm below them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from price_facts import US, S, bench, calls, easy, networks, priced

from allranks.algorithms import build
from allranks.cost import cost, lower_bound, price
from allranks.topology import Topology


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
