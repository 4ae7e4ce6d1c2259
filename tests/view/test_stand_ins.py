"""What runs for an algorithm that is no schedule costs what the engine says that one costs."""

from __future__ import annotations

import pytest

from allranks.algorithms import build
from allranks.cost import cost, price
from allranks.schedule import SIMULATED
from allranks.topology import Topology
from allranks.view import frames, races
from allranks.view.asked import STAND_INS, read_entrant
from allranks.view.html import race_html

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 16, 64]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("pair", STAND_INS)
def test_a_stand_in_costs_what_the_algorithm_costs(pair, n):
    topology = Topology.uniform(n, alpha=3e-6, bandwidth=20e9, gamma=1e-10, ports=1)
    for nbytes in (1, 3000, 48e6):
        known = price(*pair, world_size=n, nbytes=nbytes, topology=topology)
        played = cost(build(*STAND_INS[pair], world_size=n), nbytes=n * nbytes, topology=topology)
        assert played.seconds == pytest.approx(known.seconds, rel=1e-12)
        for name in ("steps", "latency_terms", "messages"):
            assert getattr(played, name) == getattr(known, name), name
        for name in ("bytes_sent_max", "bytes_received_max", "bytes_total"):
            assert getattr(played, name) == pytest.approx(getattr(known, name)), name


def test_the_race_runs_the_unchunked_ring_and_says_so():
    data = races.race(["unchunked_ring", "ring"], collective="all_reduce", world_size=6, meter="S")
    first, second = data["lanes"]
    assert data["label"] == SIMULATED
    assert (first["title"], first["steps"], first["bytes_sent_max"]) == ("unchunked ring", 5, 240e6)
    assert first["seconds"] == pytest.approx(9620e-6)
    assert (second["steps"], second["bytes_sent_max"], second["bytes_total"]) == (10, 80e6, 480e6)
    assert data["entrants"][0]["stands_in"] == ["reduce_scatter", "ring"]
    assert "stands_in" not in data["entrants"][1]
    page = race_html(data, id="fig")
    assert "240 MB (5 S)" in page
    assert "480 MB (10 S)" in page


def test_every_other_entrant_is_its_own_schedule():
    for name in ("flat", "binomial", "ring", "sharp"):
        assert "stands_in" not in read_entrant("all_reduce", name)


def test_an_unknown_meter_is_refused():
    with pytest.raises(ValueError, match="unknown meter 'MB'; known: bytes, S"):
        races.race(["ring"], collective="all_reduce", world_size=4, meter="MB")


def test_phases_are_marked_only_where_a_page_asks():
    ring = build("all_reduce", "ring", world_size=4)
    assert frames.flow(ring, phases=True)["phases"] is True
    assert frames.flow(ring)["phases"] is False
