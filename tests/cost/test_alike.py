"""A step in which all groups do the same is priced from one group, and only such a step."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.cost.alike import one_group
from allranks.cost.load import Machine, Messages
from allranks.cost.sizes import Sizes
from allranks.topology import Tier, Topology

NODE = Tier(name="node", size=4, alpha=2e-6, bandwidth=300e9)
LEAF = Tier(name="leaf", size=2, alpha=5e-6, bandwidth=25e9, links=4)
SPINE = Tier(name="spine", alpha=7e-6, bandwidth=20e9)
NETWORKS = {
    "tiers": Topology.tiers(32, [NODE, LEAF, SPINE], gamma=1e-11),
    "rails": Topology.tiers(
        32,
        [NODE, Tier(name="leaf", size=2, alpha=5e-6, bandwidth=25e9, links=4, rails=True), SPINE],
    ),
}


def step(dst, units=None):
    n = len(dst)
    units = np.ones(n, dtype=np.int64) if units is None else np.array(units)
    return Messages(np.zeros(n, dtype=np.int64), np.arange(n), np.array(dst), units, units)


def seconds(topology, messages):
    """Return the price from all messages, and from one group if all are alike."""
    machine = Machine(topology, 32, 0, Sizes(Fraction(10**6)), np.empty((0, 3), dtype=np.int64))
    (whole,), _ = machine.busiest(messages, 1)
    parts = one_group(messages, 32, topology.network)
    if parts is None:
        return whole, None
    return whole, max(machine.busiest(part, 1)[0][0] for part in parts)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("distance", [1, 2, 4, 8, 16])
def test_partners_of_recursive_doubling_are_alike_in_all_groups(network, distance):
    whole, one = seconds(NETWORKS[network], step([rank ^ distance for rank in range(32)]))
    assert one == whole > 0


@pytest.mark.parametrize("network", NETWORKS)
@given(st.permutations(range(32)), st.lists(st.integers(1, 3), min_size=32, max_size=32))
@settings(max_examples=30, deadline=None)
def test_one_group_is_asked_only_if_it_tells_the_price(network, dst, units):
    whole, one = seconds(NETWORKS[network], step(dst, units))
    assert one in (None, whole)


@pytest.mark.parametrize("network", NETWORKS)
def test_groups_that_differ_are_all_asked(network):
    inside = [rank ^ 1 for rank in range(8)]
    across = [rank ^ 16 for rank in range(8, 32)]
    across[8:16] = [rank ^ 1 for rank in range(16, 24)]
    dst = [*inside, *across]
    assert sorted(dst) == list(range(32))
    assert seconds(NETWORKS[network], step(dst))[1] is None
    bigger = step([rank ^ 1 for rank in range(32)], [1] * 31 + [2])
    assert seconds(NETWORKS[network], bigger)[1] is None
    fewer = step([rank ^ 1 for rank in range(32)])
    some = Messages(*(column[:31] for column in fewer[:5]))
    assert one_group(some, 32, NETWORKS[network].network) is None
