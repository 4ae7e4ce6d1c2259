"""What a topology accepts, and what a port of it charges."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from allranks.topology import PRESETS, Topology


def bench(n):
    return Topology.preset("bench", n)


def test_bench_is_the_house_machine_of_the_course():
    assert (bench(6).alpha, bench(6).bandwidth, bench(6).gamma) == (4e-6, 25e9, 0.0)
    assert bench(6).world_size == 6
    assert list(PRESETS) == ["bench"]


def test_beta_is_the_time_of_a_byte():
    assert Topology.uniform(2, alpha=0, bandwidth=50e9).beta == 2e-11
    assert Topology.uniform(2, alpha=0, bandwidth=math.inf).beta == 0


@pytest.mark.parametrize(
    ("messages", "in_flight", "terms"), [(0, 1, 0), (1, 1, 1), (5, 1, 5), (5, 2, 3), (5, 7, 1)]
)
def test_messages_in_flight_share_their_alphas(messages, in_flight, terms):
    topology = Topology.uniform(8, alpha=1.0, bandwidth=1.0, in_flight=in_flight)
    assert topology.alpha_terms(messages) == terms
    assert topology.port_seconds(messages, 10) == terms + 10


def test_a_port_pays_gamma_for_what_it_adds():
    topology = Topology.uniform(2, alpha=1.0, bandwidth=0.5, gamma=3.0)
    assert topology.port_seconds(1, 10, reduced_nbytes=4) == 1 + 20 + 12


def test_numpy_numbers_are_numbers():
    made = Topology.uniform(2, alpha=np.float32(0.5), bandwidth=np.int64(4))
    assert made.port_seconds(1, 8) == 2.5


def test_a_topology_is_frozen():
    with pytest.raises(FrozenInstanceError):
        bench(2).alpha = 0


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"world_size": 0}, "world_size is 0"),
        ({"world_size": -1}, "world_size is -1"),
        ({"world_size": 2.0}, "world_size is 2.0"),
        ({"world_size": True}, "world_size is True"),
        ({"alpha": -1e-6}, "alpha is -1e-06"),
        ({"alpha": math.nan}, "alpha is nan"),
        ({"alpha": math.inf}, "alpha is inf"),
        ({"alpha": "4us"}, "alpha is '4us'"),
        ({"gamma": -1.0}, "gamma is -1.0"),
        ({"bandwidth": 0}, "bandwidth is 0"),
        ({"bandwidth": -25e9}, "bandwidth is -25000000000.0"),
        ({"bandwidth": math.nan}, "bandwidth is nan"),
        ({"bandwidth": None}, "bandwidth is None"),
        ({"ports": 0}, "ports is 0"),
        ({"in_flight": 0}, "in_flight is 0"),
    ],
)
def test_impossible_numbers_are_refused(changed, says):
    numbers = {"world_size": 4, "alpha": 4e-6, "bandwidth": 25e9} | changed
    with pytest.raises(ValueError, match=says):
        Topology.uniform(numbers.pop("world_size"), **numbers)


def test_an_unknown_machine_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="did you mean 'bench'"):
        Topology.preset("bnech", 4)
