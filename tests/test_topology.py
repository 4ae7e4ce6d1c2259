"""What a topology accepts, and what a port of it charges."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from allranks.cost import cost, price
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import PRESETS, Link, Tier, Topology


def bench(n):
    return Topology.preset("bench", n)


def test_bench_is_the_house_machine_of_the_course():
    assert (bench(6).alpha, bench(6).bandwidth, bench(6).gamma) == (4e-6, 25e9, 0.0)
    assert bench(6).world_size == 6


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
    made = Topology.uniform(np.int64(2), alpha=np.float32(0.5), bandwidth=np.int64(4))
    assert made.port_seconds(1, 8) == 2.5
    assert type(made.world_size) is int


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
        ({"alpha": 10**400}, "alpha is a number of about 400 digits; it is too large"),
        ({"bandwidth": 10**400}, "bandwidth is a number of about 400 digits"),
        ({"bandwidth": "25GB/s"}, "bandwidth is '25GB/s'; it must be a number"),
    ],
)
def test_impossible_numbers_are_refused(changed, says):
    numbers = {"world_size": 4, "alpha": 4e-6, "bandwidth": 25e9} | changed
    with pytest.raises(ValueError, match=says):
        Topology.uniform(numbers.pop("world_size"), **numbers)


def test_an_unknown_machine_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="did you mean 'bench'"):
        Topology.preset("bnech", 4)


# machines that are known


@pytest.mark.parametrize("name", PRESETS)
def test_a_machine_says_what_it_is_made_of_and_where_the_numbers_come_from(name):
    preset = PRESETS[name]
    for text in (preset.summary, preset.peak, preset.attainable, preset.source, preset.assumed):
        assert len(text) > 5
    assert "GB/s" in preset.peak
    assert "GB/s" in preset.attainable
    assert preset.read == "2026-11"
    try:
        network = preset.make(144).network
    except ValueError:  # it is one node
        network = None
    nodes = network is not None and len(network.cuts(144)) > 1
    assert ("a schedule is one channel" in preset.assumed) == nodes


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 16, 100, 131_072])
def test_a_machine_takes_any_number_of_ranks_or_says_why_not(name, n):
    try:
        made = Topology.preset(name, n)
    except ValueError as error:
        assert (name, n > 4) in {("island", True), ("pcie-workstation", True)}
        assert "holds at most" in str(error)  # noqa: PT017
    else:
        assert (made.world_size, made.name) == (n, name)


@pytest.mark.parametrize(
    ("name", "alpha", "bandwidth", "in_flight"),
    [
        ("bench", 4e-6, 25e9, 1),
        ("island", 2e-6, 370e9, 7),
        ("fabric", 2e-6, 370e9, 7),
        ("dgx-h100", 3.4e-6, 370e9, 7),
        ("dgx-h200", 3.4e-6, 366e9, 7),
        ("dgx-a100", 3.4e-6, 240e9, 7),
        ("dgx-b200", 3.4e-6, 721e9, 7),
        ("gb200-nvl72", 3.4e-6, 721e9, 7),
    ],
)
def test_eight_ranks_of_a_machine_have_its_ports(name, alpha, bandwidth, in_flight):
    made = Topology.preset(name, 8)
    assert (made.alpha, made.bandwidth, made.in_flight) == (alpha, bandwidth, in_flight)


def sent(topology, src, dst, nbytes):
    """Return the seconds of one message."""
    one = Schedule(
        "all_reduce", "custom", topology.world_size, 1, ((Transfer(src, dst, 0, Op.COPY),),)
    )
    return cost(one, nbytes=nbytes, topology=topology).seconds


@pytest.mark.parametrize(
    ("name", "n", "near", "far"),
    [
        ("fabric", 16, (2e-6, 370e9), (6e-6, 50e9)),
        ("dgx-h100", 16, (3.4e-6, 370e9), (14e-6, 49e9)),
        ("dgx-a100", 16, (3.4e-6, 240e9), (14e-6, 24.5e9)),
        ("gb200-nvl72", 144, (3.4e-6, 721e9), (14e-6, 49e9)),
    ],
)
def test_ranks_of_two_nodes_meet_over_their_own_adapters(name, n, near, far):
    topology = Topology.preset(name, n)
    for dst, (alpha, bandwidth) in ((1, near), (n - 1, far)):
        assert sent(topology, 0, dst, 10**9) == pytest.approx(alpha + 1e9 / bandwidth)


@pytest.mark.parametrize(("distance", "crossing"), [(8, 8), (16, 16), (24, 24), (32, 32)])
def test_a_spine_of_half_the_bandwidth_slows_what_crosses_it(distance, crossing):
    n, leaf = 64, 32
    topology = Topology.preset("fat-tree-cluster", n)
    step = tuple(Transfer(rank, (rank + distance) % n, 0, Op.COPY) for rank in range(n))
    schedule = Schedule("all_reduce", "custom", n, 1, (step,))
    found = cost(schedule, nbytes=10**9, topology=topology).seconds
    spine = 49e9 * leaf / 2
    assert found == pytest.approx(14e-6 + max(1e9 / 49e9, crossing * 1e9 / spine))


def test_rails_meet_at_their_leaf_and_cross_at_the_spine():
    topology = Topology.preset("rail-cluster", 1024)
    ring = price("all_reduce", "ring", world_size=1024, nbytes=2**30, topology=topology)
    assert ring.steps == 2046
    same_rail = sent(topology, 0, 8, 10**9)
    other_rail = sent(topology, 0, 9, 10**9)
    assert same_rail == pytest.approx(14e-6 + 1e9 / 49e9)
    assert other_rail == pytest.approx(14e-6 + 1e9 / 49e9)


@pytest.mark.parametrize(
    ("name", "nbytes", "busbw", "rel"),
    [
        # stas00/ml-engineering network/README.md, commit 744d01e: 8 A100; 8 H200 with NVLS off
        ("dgx-a100", 2**31, 231.41e9, 0.05),
        ("dgx-a100", 2**25, 138.49e9, 0.5),
        ("dgx-h200", 2**33, 365.6e9, 0.01),
    ],
)
def test_a_ring_on_a_machine_comes_near_what_was_published(name, nbytes, busbw, rel):
    topology = Topology.preset(name, 8)
    found = price("all_reduce", "ring", world_size=8, nbytes=nbytes, topology=topology)
    assert found.busbw == pytest.approx(busbw, rel=rel)


@pytest.mark.parametrize(
    ("name", "algorithm", "n", "lacks"),
    [
        ("dgx-a100", "nvls", 8, True),
        ("dgx-h100", "nvls", 8, False),
        ("dgx-h100", "nvls", 16, True),
        ("gb200-nvl72", "nvls", 72, False),
        ("pcie-workstation", "sharp", 4, True),
        ("laptop-processes", "sharp", 4, True),
        ("rail-cluster", "sharp", 64, False),
        ("bench", "sharp", 6, False),
    ],
)
def test_only_machines_with_switches_that_add_take_algorithms_that_need_them(
    name, algorithm, n, lacks
):
    call = {"world_size": n, "nbytes": 2**20, "topology": Topology.preset(name, n)}
    if lacks:
        with pytest.raises(ValueError, match="choose an algorithm without switches"):
            price("all_reduce", algorithm, **call)
    else:
        assert price("all_reduce", algorithm, **call).switch_bytes_in > 0


@pytest.mark.parametrize(
    ("machine", "algorithm", "n", "says"),
    [
        (
            "dgx-h100",
            "sharp",
            8,
            (
                "topology 'dgx-h100': no switch adds as sharp needs it (tier 'node' adds for "
                "nvls); choose an algorithm without switches, nvls, or a topology that has such "
                "switches"
            ),
        ),
        (
            "dgx-h100",
            "nvls",
            16,
            (
                "topology 'dgx-h100': the ranks of switch 0 meet at tier 'leaf', and neither "
                "there nor above does a switch add as nvls needs it, only at tier 'node'; choose "
                "an algorithm "
                "without switches, a hierarchical one, or fewer ranks"
            ),
        ),
        (
            "dgx-a100",
            "nvls",
            8,
            (
                "topology 'dgx-a100': no switch adds as nvls needs it; choose an algorithm without "
                "switches, or a topology that has such switches"
            ),
        ),
    ],
)
def test_a_machine_without_the_right_switches_says_what_it_has(machine, algorithm, n, says):
    call = {"world_size": n, "nbytes": 8, "topology": Topology.preset(machine, n)}
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        price("all_reduce", algorithm, **call)


# topologies that cannot be

NODE = Tier(name="node", size=4, alpha=1e-6, bandwidth=1e9)
TOP = Tier(name="top", alpha=1e-6, bandwidth=1e9)
STAR = [Link(rank, "hub", 1e-6, 1e9) for rank in range(4)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Topology.tiers(5, [NODE]), "'tiers' has 4 endpoints, too few for 5 ranks"),
        (lambda: Topology.tiers(4, []), "tiers: there is none"),
        (lambda: Topology.tiers(4, [None]), "None is no Tier"),
        (lambda: Topology.tiers(0, [TOP]), "world_size is 0"),
        (lambda: Topology.tiers(4, [TOP, NODE]), "tier 'top': size is open"),
        (lambda: Tier(name="x", alpha=-1, bandwidth=1), "tier 'x': alpha is -1"),
        (lambda: Tier(name="x", alpha=0, bandwidth=0), "tier 'x': bandwidth is 0"),
        (lambda: Tier(name="x", alpha=0, bandwidth=-5.0), "tier 'x': bandwidth is -5.0"),
        (lambda: Tier(name="x", alpha=0, bandwidth="1"), "bandwidth is '1'; it must be a number"),
        (lambda: Tier(name="x", alpha=0, bandwidth=1, size=0), "tier 'x': size is 0"),
        (lambda: Tier(name="x", alpha=0, bandwidth=1, links=0), "tier 'x': links is 0"),
        (lambda: Tier(name="x", alpha=0, bandwidth=1, backplane=0), "tier 'x': backplane is 0"),
        *(
            (
                lambda way=way: Tier(name="x", alpha=0, bandwidth=1, reduces=way),
                "tier 'x': reduces is .*; it must be one of True, False, 'nvls', 'sharp'",
            )
            for way in ("NVLS", "yes", "", None, 1, [])
        ),
        (
            lambda: Topology.tiers(
                8, [NODE, Tier(name="l", alpha=0, bandwidth=1, links=4, rails=True)]
            ),
            "its rails are never joined",
        ),
        (
            lambda: Topology.tiers(4, [Tier(name="n", alpha=0, bandwidth=1, links=2)]),
            "a rank has one link here; set ports instead",
        ),
        (lambda: Topology.graph(5, STAR), "rank 0 cannot reach rank 4"),
        (lambda: Topology.graph(3, []), "rank 0 cannot reach rank 1: no links lead there"),
        (
            lambda: Topology.graph(2, [Link(1, 0, 0.0, 1.0, both_ways=False)]),
            "rank 0 cannot reach rank 1",
        ),
        (
            lambda: Topology.graph(2, [Link(0, 1, 0.0, 1.0, both_ways=False)]),
            "rank 1 cannot reach rank 0",
        ),
        (lambda: Topology.graph(4, STAR, switches=1), "rank 0 cannot reach switch 0"),
        (lambda: Topology.graph(2, [Link(0, 2, 0.0, 1.0)]), "2 is neither a rank, a switch"),
        (lambda: Topology.graph(2, [Link(0, 1.5, 0.0, 1.0)]), "1.5 is neither a rank"),
        (lambda: Topology.graph(2, [Link(0, 0, 0.0, 1.0)]), "both ends are the same"),
        (lambda: Topology.graph(2, [Link(0, 1, 0.0, -1.0)]), "bandwidth is -1.0"),
        (lambda: Topology.graph(2, [Link(0, 1, 0.0, 0)]), "bandwidth is 0"),
        (lambda: Topology.graph(2, [Link(0, 1, math.inf, 1.0)]), "alpha is inf"),
        (lambda: Topology.graph(2, [(0, 1)]), "make it with Link"),
        (
            lambda: Topology.graph(5000, STAR),
            "a graph of 5,000 endpoints and switches is too large",
        ),
        (lambda: Topology.preset("island", 9), "holds at most 8 ranks, not 9: it is one node"),
        (lambda: Topology.preset("bench", 2.5), "world_size is 2.5"),
    ],
)
def test_an_impossible_network_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_a_graph_of_one_rank_needs_no_link():
    alone = Topology.graph(1, [])
    assert price("all_reduce", "ring", world_size=1, nbytes=8, topology=alone).seconds == 0


def test_fewer_ranks_may_use_a_part_of_a_network():
    star = Topology.graph(4, STAR)
    found = price("all_gather", "ring", world_size=2, nbytes=2000, topology=star)
    assert found.seconds == pytest.approx(2e-6 + 1000 / 1e9)


def test_uniform_networks_need_no_numpy():
    code = (
        "import sys; from allranks.topology import Topology, PRESETS; "
        "Topology.preset('bench', 4); assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
