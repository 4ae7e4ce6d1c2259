"""What cannot be priced is refused with a sentence."""

from __future__ import annotations

import math

import pytest
from price_facts import bench, custom

from allranks.algorithms import build
from allranks.cost import (
    best_num_chunks,
    busbw,
    bytes_per_link,
    bytes_per_rank,
    cost,
    lower_bound,
    price,
    timeline,
)
from allranks.errors import ScheduleError
from allranks.schedule import Op
from allranks.topology import Link, Tier, Topology

RING = build("all_reduce", "ring", world_size=4)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "either nbytes, or count and itemsize"),
        ({"nbytes": 8, "count": 2, "itemsize": 4}, "either nbytes, or count and itemsize"),
        ({"count": 2}, "either nbytes, or count and itemsize"),
        ({"nbytes": 8, "itemsize": 4}, "either nbytes, or count and itemsize"),
        ({"nbytes": -1}, "nbytes is -1"),
        ({"nbytes": math.nan}, "nbytes is nan"),
        ({"nbytes": math.inf}, "nbytes is inf"),
        ({"nbytes": "16MiB"}, "nbytes is '16MiB'"),
        ({"nbytes": True}, "nbytes is True"),
        ({"nbytes": 10**400}, "nbytes is a number of about 400 digits"),
        ({"nbytes": 1 + 2j}, r"nbytes is \(1\+2j\)"),
        ({"count": 2**62 + 1, "itemsize": 1}, "at most 2\\^62 elements"),
        ({"nbytes": 8, "topology": None}, "topology is None; make one with Topology.preset"),
        ({"nbytes": 8, "topology": "bench"}, "topology is 'bench'; make one"),
        ({"count": -1, "itemsize": 4}, "count is -1"),
        ({"count": 1.5, "itemsize": 4}, "count is 1.5"),
        ({"count": 1, "itemsize": 0}, "itemsize is 0"),
        ({"count": 1, "itemsize": 10**400}, "itemsize is a number of about 400 digits; it may be"),
        ({"nbytes": 8, "clock": "lock-step"}, "did you mean 'lockstep'"),
        ({"nbytes": 8, "topology": bench(3)}, "topology has 3 ranks, the collective 4"),
    ],
)
def test_an_impossible_cost_is_refused(options, says):
    with pytest.raises(ValueError, match=says):
        cost(RING, **{"topology": bench(4), **options})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"collective": "all_redcue"}, "did you mean 'all_reduce'"),
        ({"algorithm": "rnig"}, "did you mean 'ring'"),
        ({"world_size": 0}, "world_size is 0"),
        ({"world_size": 1 << 31}, "ranks are int32, 2,147,483,647 at most"),
        (
            {"algorithm": "sharp", "num_chunks": 1 << 63},
            "num_chunks is 9223372036854775808; it may",
        ),
        ({"collective": [4]}, "unknown collective"),
        ({"world_size": 4.0}, "world_size is 4.0"),
        ({"nbytes": -1}, "nbytes is -1"),
        ({"root": 1}, "all_reduce has no root"),
        ({"num_chunks": 5}, "num_chunks is 5; ring all_reduce on 4 ranks always uses 4"),
        ({"algorithm": "sharp", "num_chunks": 0}, "num_chunks is 0"),
        ({"collective": "broadcast", "algorithm": "flat", "root": 4}, "root is 4"),
        ({"topology": bench(3)}, "topology has 3 ranks"),
        ({"topology": None}, "topology is None; make one"),
        ({"nbytes": "1MiB"}, "nbytes is '1MiB'"),
        ({"node_size": 2}, "node_size is 2; ring all_reduce has no such parameter"),
    ],
)
def test_an_impossible_price_is_refused(options, says):
    usual = {"collective": "all_reduce", "algorithm": "ring", "world_size": 4, "nbytes": 8}
    call = {**usual, "topology": bench(4), **options}
    with pytest.raises(ValueError, match=says):
        price(call.pop("collective"), call.pop("algorithm"), **call)


@pytest.mark.parametrize(
    "call",
    [
        lambda: lower_bound("broadcast", 0, 8, bench(4)),
        lambda: lower_bound("broadcast", 5, 8, bench(4)),
        lambda: lower_bound("broadcast", 4, -8, bench(4)),
        lambda: lower_bound("brodcast", 4, 8, bench(4)),
        lambda: best_num_chunks(0, 8, 1e-6, 1e-9),
        lambda: best_num_chunks(4, -8, 1e-6, 1e-9),
        lambda: best_num_chunks(4, 8, -1e-6, 1e-9),
        lambda: best_num_chunks(4, 8, 1e-6, math.nan),
        lambda: busbw("all_reduce", world_size=0, nbytes=8, seconds=1),
        lambda: busbw("all_reduce", world_size=2, nbytes=-8, seconds=1),
        lambda: busbw("all_reduce", world_size=2, nbytes=8, seconds="1ms"),
        lambda: busbw("all_reduce", world_size=2, nbytes=8, seconds=None),
        lambda: busbw("all_reduce", world_size=2, nbytes=8, seconds=10**400),
        lambda: lower_bound("broadcast", 4, 8, bench(4), clock="barrier"),
        lambda: lower_bound("broadcast", 4, 8, None),
        lambda: best_num_chunks(4, 8, "4us", 1e-9),
        lambda: cost(None, nbytes=8, topology=bench(4)),
        lambda: timeline("ring", nbytes=8, topology=bench(4)),
        lambda: bytes_per_rank(None, 8),
        lambda: bytes_per_link(None, nbytes=8, topology=bench(4)),
        lambda: busbw("all_reduce", world_size=2, nbytes=8, seconds=-1),
        lambda: busbw("all_reduce", world_size=2, nbytes=8, seconds=math.nan),
        lambda: timeline(RING, nbytes=8, topology=bench(4), clock="barrier"),
        lambda: timeline(RING, nbytes=8, topology=bench(2)),
        lambda: bytes_per_rank(RING, -1),
    ],
)
def test_impossible_numbers_are_refused(call):
    with pytest.raises(ValueError, match=r" is | has |unknown"):
        call()


@pytest.mark.parametrize("transfer", [(0, 9, 0, Op.COPY), (-1, 1, 0, Op.COPY)])
def test_an_endpoint_that_does_not_exist_is_named(transfer):
    schedule = custom([transfer], world_size=4)
    with pytest.raises(ScheduleError, match="endpoints are 0 to 3") as caught:
        cost(schedule, nbytes=8, topology=bench(4))
    assert (caught.value.kind, caught.value.step) == ("unknown_endpoint", 0)


def test_a_switch_that_a_topology_lacks_is_named():
    up = custom([(rank, 4, 0, Op.REDUCE) for rank in range(4)], world_size=4, num_switches=1)
    star = Topology.graph(4, [Link(rank, "hub", 1e-6, 1e9) for rank in range(4)])
    with pytest.raises(ValueError, match="switch 0 of the schedule does not exist"):
        cost(up, nbytes=8, topology=star)
    with pytest.raises(ValueError, match="topology 'dgx-a100': no switch adds; choose an"):
        cost(up, nbytes=8, topology=Topology.preset("dgx-a100", 4))
    with pytest.raises(ValueError, match="'pcie-workstation' has no switch that adds"):
        cost(up, nbytes=8, topology=Topology.preset("pcie-workstation", 4))


def test_a_direct_exchange_among_ranks_that_all_differ_is_refused_when_it_is_too_long():
    node = Tier(name="node", size=8, alpha=1e-6, bandwidth=1e9)
    topology = Topology.tiers(65_537, [node, Tier(name="net", alpha=1e-6, bandwidth=1e9)])
    call = {"world_size": 65_537, "nbytes": 2**20, "topology": topology}
    with pytest.raises(ValueError, match="choose a number of ranks that fills its groups"):
        price("all_gather", "direct", **call)
    assert price("all_gather", "ring", **call).steps == 65_536


def test_a_busbw_of_no_number_of_ranks_is_refused():
    with pytest.raises(ValueError, match="world_size is None; it must be a whole number"):
        busbw("all_reduce", world_size=None, nbytes=8, seconds=1)


def test_networks_of_nothing_and_of_everything_are_refused():
    for links in (None, "ab"):
        with pytest.raises(ValueError, match="it must be a list of Link"):
            Topology.graph(2, links)
    with pytest.raises(ValueError, match="tiers is None; it must be a list"):
        Topology.tiers(2, None)
    for sizes in ({"world_size": 10**30}, {"world_size": 2, "switches": 10**400}):
        with pytest.raises(ValueError, match="is too large, it may have 2,048"):
            Topology.graph(links=[], **sizes)


@pytest.mark.parametrize("algorithm", ["hierarchical", "sharp", "ring"])
@pytest.mark.parametrize("n", [1 << 25, (1 << 31) - 1, 10**30])
def test_a_schedule_for_far_too_many_ranks_is_refused_at_once(algorithm, n):
    with pytest.raises(ValueError, match=r"too long to write out|ranks are int32"):
        build("all_reduce", algorithm, world_size=n)
