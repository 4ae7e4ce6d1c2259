"""The price from the form is the cost of the schedule, for every algorithm, size and machine."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.algorithms import ALGORITHMS, build
from allranks.collectives import CONTRACTS
from allranks.cost import cost, price
from allranks.topology import Topology

KEYS = sorted(ALGORITHMS)
ROUNDED = {"seconds", "algbw", "busbw"}
MACHINES = [
    {"alpha": 4e-6, "bandwidth": 25e9},
    {"alpha": 4e-6, "bandwidth": 25e9, "gamma": 1e-11, "ports": 2},
    {"alpha": 1e-6, "bandwidth": 1e9, "gamma": 3e-10, "ports": 3, "in_flight": 2},
    {"alpha": 2e-6, "bandwidth": 450e9, "in_flight": 7},
]


def assert_same(walked, folded, why):
    walked, folded = asdict(walked), asdict(folded)
    for field in ROUNDED:
        have, want = folded.pop(field), walked.pop(field)
        assert (have is None) == (want is None), why
        assert have is None or have == pytest.approx(want, rel=1e-12, abs=0), (why, field)
    assert folded == walked, why


@pytest.mark.slow
@pytest.mark.parametrize(("collective", "algorithm"), KEYS)
def test_the_price_is_the_cost_on_1_to_64_ranks(collective, algorithm):
    for n in range(1, 65):
        if ALGORITHMS[collective, algorithm].refuse(n):
            continue
        asked = {"root": n // 3} if CONTRACTS[collective].rooted else {}
        schedule = build(collective, algorithm, world_size=n, **asked)
        for machine in MACHINES if n < 10 else [MACHINES[n % 4]]:
            given = {"nbytes": 48e6 + 1, "topology": Topology.uniform(n, **machine)}
            folded = price(collective, algorithm, world_size=n, **given, **asked)
            assert_same(cost(schedule, **given), folded, (n, machine))


@st.composite
def calls(draw):
    collective, algorithm = draw(st.sampled_from(KEYS))
    entry = ALGORITHMS[collective, algorithm]
    n = draw(st.integers(1, 40).filter(lambda n: not entry.refuse(n)))
    asked = {}
    if "root" in entry.parameters:
        asked["root"] = draw(st.integers(0, n - 1))
    if "num_chunks" in entry.parameters:
        asked["num_chunks"] = entry.default_chunks(n) * draw(st.integers(1, 12))
    return collective, algorithm, n, asked


@given(
    calls(),
    st.one_of(st.integers(0, 2**40), st.floats(0, 1e12)),
    st.floats(0, 1e-3),
    st.floats(1e6, 1e12),
    st.floats(0, 1e-9),
    st.integers(1, 5),
    st.integers(1, 40),
)
@settings(max_examples=150)
def test_the_price_is_the_cost(call, nbytes, alpha, bandwidth, gamma, ports, in_flight):
    collective, algorithm, n, asked = call
    topology = Topology.uniform(
        n, alpha=alpha, bandwidth=bandwidth, gamma=gamma, ports=ports, in_flight=in_flight
    )
    walked = cost(
        build(collective, algorithm, world_size=n, **asked), nbytes=nbytes, topology=topology
    )
    folded = price(collective, algorithm, world_size=n, nbytes=nbytes, topology=topology, **asked)
    assert_same(walked, folded, call)


def test_the_unchunked_ring_has_the_price_of_the_course():
    bench = Topology.preset("bench", 6)
    found = price("all_reduce", "unchunked_ring", world_size=6, nbytes=48e6, topology=bench)
    assert (found.steps, found.latency_terms, found.messages) == (5, 5, 30)
    assert (found.bytes_sent_max, found.bytes_total) == (240e6, 6 * 240e6)
    assert found.seconds == pytest.approx(9620e-6, rel=1e-12)
