"""Into how many chunks a pipeline is cut best."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from price_facts import KEYS, S, priced

from allranks.algorithms import ALGORITHMS
from allranks.cost import best_chunks_of, best_num_chunks, price
from allranks.topology import Topology


@given(st.integers(1, 300), st.integers(0, 10**8), st.floats(1e-7, 1e-3), st.floats(1e-12, 1e-8))
@settings(max_examples=200, deadline=None)
def test_no_number_of_chunks_beats_the_best(n, nbytes, alpha, beta):
    best = best_num_chunks(n, nbytes, alpha, beta)
    assert 1 <= best <= max(1, nbytes)

    def exact(k):
        hops = max(n - 2, 0) + k
        return hops * (Fraction(alpha) + nbytes * Fraction(beta) / k)

    neighbors = {1, max(1, best - 1), best + 1, max(1, best // 2), 2 * best}
    for k in neighbors:
        assert exact(best) <= exact(k) or k > nbytes
    if best > 1:
        assert exact(best) < exact(best - 1)


def test_the_best_number_of_chunks_is_the_course_s():
    assert best_num_chunks(6, S, 4e-6, 4e-11) == 44
    seconds = {k: priced("chain", k=k).seconds for k in range(1, 200)}
    assert min(seconds, key=seconds.get) == 44
    real = (math.sqrt(4 * 4e-6) + math.sqrt(S * 4e-11)) ** 2
    assert seconds[44] == pytest.approx(real, rel=1e-5)


@pytest.mark.parametrize(("n", "nbytes"), [(1, S), (2, S), (6, 0), (6, 1), (131_072, 1)])
def test_one_chunk_is_best_where_nothing_is_passed_on_or_nothing_is_there(n, nbytes):
    assert best_num_chunks(n, nbytes, 4e-6, 4e-11) == 1


@pytest.mark.parametrize("alpha", [0.0, 1e-15])
def test_no_chunk_is_smaller_than_a_byte(alpha):
    assert best_num_chunks(4, 100, alpha, 1e-9) == 100


def test_best_chunks_of_a_pipelined_algorithm_is_no_worse_than_its_neighbors():
    bench = Topology.preset("bench", 6)
    for collective, algorithm in [
        ("broadcast", "chain"),
        ("reduce", "chain"),
        ("all_reduce", "sharp"),
    ]:
        best = best_chunks_of(collective, algorithm, world_size=6, nbytes=1e6, topology=bench)

        def seconds(k, name=(collective, algorithm)):
            return price(*name, world_size=6, nbytes=1e6, num_chunks=k, topology=bench).seconds

        assert seconds(best) <= min(seconds(best - 1), seconds(best + 1))
        assert seconds(best) < seconds(1)


PIPELINED = [key for key in KEYS if "num_chunks" in ALGORITHMS[key].parameters]
FABRIC = Topology.preset("fabric", 16)


@pytest.mark.parametrize("key", PIPELINED)
@pytest.mark.parametrize("nbytes", [1, 1000, 10**6, 3 * 10**8])
def test_no_number_of_chunks_beats_the_best_on_a_network(key, nbytes):
    options = {"world_size": 16, "nbytes": nbytes, "topology": FABRIC}
    if key[1] in ("nvls", "sharp"):
        options |= {"topology": Topology.preset("island", 8), "world_size": 8}
    best = best_chunks_of(*key, **options)
    assert best is not None
    least = price(*key, num_chunks=best, **options).seconds
    entry = ALGORITHMS[key]
    for k in {*range(1, 130), *(2**power for power in range(7, 15))}:
        refused = entry.refuse(options["world_size"], num_chunks=k)
        if k <= max(nbytes, entry.default_chunks(options["world_size"])) and not refused:
            assert least <= price(*key, num_chunks=k, **options).seconds * (1 + 1e-9)


def test_best_chunks_take_the_other_parameters_of_the_algorithm():
    free = Topology.uniform(16, alpha=1e-6, bandwidth=1e9)
    options = {"world_size": 16, "nbytes": 10**7, "topology": free}
    flat, tree = (
        best_chunks_of("all_reduce", "sharp", radix=radix, **options) for radix in (None, 4)
    )
    seconds = [
        price("all_reduce", "sharp", radix=4, num_chunks=k, **options).seconds for k in (flat, tree)
    ]
    assert flat != tree
    assert seconds[1] < seconds[0]


def test_the_best_chunks_of_a_long_chain_are_found_in_a_network():
    options = {"world_size": 1024, "nbytes": 10**9, "topology": Topology.preset("fabric", 1024)}
    best = best_chunks_of("broadcast", "chain", **options)
    assert best > 1000
    seconds = [
        price("broadcast", "chain", num_chunks=k, **options).seconds
        for k in (best, best - 10, best + 10, best // 2, best * 2)
    ]
    assert min(seconds) == seconds[0]


def test_best_chunks_of_an_algorithm_that_is_not_pipelined_is_none():
    bench = Topology.preset("bench", 6)
    facts = {"world_size": 6, "nbytes": 1e6, "topology": bench}
    assert best_chunks_of("broadcast", "binomial", **facts) is None


@pytest.mark.parametrize(("gamma", "best"), [(0, 44), (1e-10, 82), (1e-9, 223)])
def test_a_chain_that_adds_is_cut_finer(gamma, best):
    topology = Topology.uniform(6, alpha=4e-6, bandwidth=25e9, gamma=gamma)
    asked = {"world_size": 6, "nbytes": 48_000_000, "topology": topology}
    found = best_chunks_of("reduce", "chain", **asked)
    assert found == best
    prices = [price("reduce", "chain", num_chunks=found + k, **asked) for k in (-1, 0, 1)]
    assert min(prices, key=lambda cost: cost.seconds) == prices[1]
