"""What the tests of prices share: house machines, schedules by hand, calls that can be made."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from allranks.algorithms import ALGORITHMS
from allranks.collectives import CONTRACTS
from allranks.cost import price
from allranks.schedule import Schedule, Transfer
from allranks.topology import Link, Tier, Topology

S = 48_000_000
US = 1e-6
EXACT = (
    "steps",
    "latency_terms",
    "bytes_sent_max",
    "bytes_received_max",
    "bytes_total",
    "messages",
    "switch_bytes_in",
    "switch_bytes_out",
    "lower_bound",
)
RATES = ("seconds", "algbw", "busbw")
KEYS = sorted(ALGORITHMS)


def bench(n):
    return Topology.preset("bench", n)


def easy(n, **options):
    """One second an alpha, one second a byte."""
    return Topology.uniform(n, alpha=1.0, bandwidth=1.0, **options)


def priced(algorithm, *, collective="broadcast", n=6, nbytes=S, k=None):
    return price(
        collective, algorithm, world_size=n, nbytes=nbytes, topology=bench(n), num_chunks=k
    )


def custom(*steps, world_size, num_chunks=1, num_switches=0):
    """Build a schedule that nobody proved: its price does not depend on what it achieves."""
    made = tuple(tuple(Transfer(*t) for t in step) for step in steps)
    return Schedule("all_reduce", "custom", world_size, num_chunks, made, num_switches=num_switches)


def assert_same_price(walked, folded):
    assert {name: getattr(walked, name) for name in EXACT} == {
        name: getattr(folded, name) for name in EXACT
    }
    for name in RATES:
        one, other = getattr(walked, name), getattr(folded, name)
        assert one is other is None or one == pytest.approx(other, rel=1e-12)


def possible(key, n, **options):
    """Return whether a schedule of an algorithm can be written for n ranks."""
    entry = ALGORITHMS[key]
    return not entry.refuse(n, **{k: v for k, v in options.items() if k in entry.parameters})


@st.composite
def calls(draw, most=40):
    """Draw a collective, an algorithm and options with which `build` makes a schedule."""
    key = collective, algorithm = draw(st.sampled_from(KEYS))
    n = draw(st.integers(1, most).filter(lambda n: possible(key, n)))
    entry = ALGORITHMS[key]
    options = {"world_size": n}
    if CONTRACTS[collective].rooted:
        options["root"] = draw(st.integers(0, n - 1))
    if "num_chunks" in entry.parameters:
        usual = entry.default_chunks(n)
        chunks = draw(st.integers(1, 20))
        fits = possible(key, n, num_chunks=chunks)
        options["num_chunks"] = chunks if fits else usual * (1 + chunks % 4)
    return collective, algorithm, options


@st.composite
def networks(draw, n, *, ports=1):
    """Draw a topology that is not uniform and holds n ranks; all its switches add."""
    times, rates = st.floats(0, 1e-5), st.floats(1e8, 1e12)
    options = {
        "gamma": draw(st.sampled_from([0.0, 1e-11])),
        "in_flight": draw(st.integers(1, 4)),
        "ports": ports,
    }
    kind = draw(st.sampled_from(["tiers", "rails", "bus", "star"]))
    if kind == "star":
        links = [Link(rank, "hub", draw(times), draw(rates)) for rank in range(n)]
        return Topology.graph(n, links, **options)
    tiers = [
        Tier(
            name="node",
            size=draw(st.integers(1, 5)),
            alpha=draw(times),
            bandwidth=draw(rates),
            reduces=draw(st.booleans()),
            backplane=draw(rates) if kind == "bus" else float("inf"),
        )
    ]
    tiers.append(
        Tier(
            name="leaf",
            size=draw(st.integers(1, 3)),
            alpha=draw(times),
            bandwidth=draw(rates),
            links=draw(st.integers(1, 4)),
            rails=kind == "rails",
            reduces=True,
        )
    )
    tiers.append(
        Tier(
            name="spine",
            alpha=draw(times),
            bandwidth=draw(rates),
            reduces=True,
            links=draw(st.integers(1, 2)),
        )
    )
    return Topology.tiers(n, tiers, **options)
