"""The price from a form equals the cost of the schedule, on every kind of network."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from price_facts import KEYS, assert_same_price, calls, networks, possible

from allranks.algorithms import build
from allranks.cost import cost, price
from allranks.topology import Link, Tier, Topology

NODE = Tier(name="node", size=4, alpha=2e-6, bandwidth=300e9, reduces=True)
LEAF = Tier(name="leaf", size=2, alpha=5e-6, bandwidth=25e9, links=2, reduces=True)
RAILS = Tier(name="leaf", size=2, alpha=5e-6, bandwidth=25e9, links=4, rails=True, reduces=True)
SPINE = Tier(name="spine", alpha=7e-6, bandwidth=20e9, reduces=True)
NESTED = {
    "two tiers": [NODE, SPINE],
    "three tiers": [NODE, LEAF, SPINE],
    "rails": [NODE, RAILS, SPINE],
}


def assert_price_is_cost(call, nbytes, topology):
    collective, algorithm, options = call
    schedule = build(collective, algorithm, **options)
    found = [
        outcome(lambda: cost(schedule, nbytes=nbytes, topology=topology)),
        outcome(lambda: price(collective, algorithm, nbytes=nbytes, topology=topology, **options)),
    ]
    if "switch" in found:
        assert found == ["switch"] * 2
    else:
        assert_same_price(*found)


def outcome(call):
    """Return the price, or "switch" if the topology lacks a switch."""
    try:
        return call()
    except ValueError as error:
        if "switch" not in str(error):
            raise
        return "switch"


@pytest.mark.slow
@given(calls(most=30), st.data(), st.integers(0, 2**40), st.integers(1, 2))
@settings(max_examples=300, deadline=None)
def test_the_price_is_the_cost_on_any_network(call, data, nbytes, ports):
    topology = data.draw(networks(call[2]["world_size"], ports=ports))
    assert_price_is_cost(call, nbytes, topology)


@pytest.mark.slow
@pytest.mark.parametrize("tiers", NESTED.values(), ids=NESTED)
@pytest.mark.parametrize("key", KEYS)
def test_the_price_is_the_cost_where_groups_are_alike(key, tiers):
    for n in (4, 8, 16, 24, 32, 48):
        if possible(key, n):
            topology = Topology.tiers(n, tiers, in_flight=3, gamma=1e-12)
            assert_price_is_cost((*key, {"world_size": n}), 10**7 + 1, topology)


@pytest.mark.parametrize("chunks", [1, 3, 13, 40, 700])
@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_a_pipeline_over_links_that_all_differ_costs_its_steps(collective, chunks):
    n = 40
    links = [
        Link(rank, "hub", 1e-6 * (1 + rank * 7 % n), 1e9 / (1 + rank * 11 % n)) for rank in range(n)
    ]
    topology = Topology.graph(n, links, gamma=1e-11)
    options = {"world_size": n, "root": 5, "num_chunks": chunks}
    assert_price_is_cost((collective, "chain", options), 10**6, topology)


def test_distances_that_differ_in_size_are_dealt_over_the_ports_as_they_are():
    topology = Topology.uniform(9, alpha=1e-6, bandwidth=1e9, ports=3, gamma=1e-10, in_flight=2)
    for key in (("all_to_all", "bruck"), ("all_gather", "direct"), ("all_reduce", "one_shot")):
        assert_price_is_cost((*key, {"world_size": 9}), 10**6, topology)
