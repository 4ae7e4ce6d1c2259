"""algbw and busbw, as nccl-tests defines them."""

from __future__ import annotations

import pytest
from price_facts import US

from allranks.cost import Bandwidth, busbw


@pytest.mark.parametrize(
    ("n", "nbytes", "microseconds", "algbw", "busbw_gb", "rel"),
    [
        (8, 65_536, 46.8, 1.4, 2.45, 1e-2),
        (8, 2**20, 101.9, 10.29, 18.0, 1e-3),
        (8, 2**25, 424.0, 79.14, 138.49, 5e-4),
        (8, 2**31, 16_240, 132.23, 231.41, 5e-4),
        (12, 2**34, 159_983, 107.3, 196.72, 1e-3),
    ],
)
def test_published_measurements_are_recomputed(n, nbytes, microseconds, algbw, busbw_gb, rel):
    found = busbw("all_reduce", world_size=n, nbytes=nbytes, seconds=microseconds * US)
    assert found.algbw / 1e9 == pytest.approx(algbw, rel=rel)
    assert found.busbw / 1e9 == pytest.approx(busbw_gb, rel=rel)


@pytest.mark.parametrize(
    ("collective", "factor"),
    [
        ("all_reduce", 1.75),
        ("all_gather", 0.875),
        ("reduce_scatter", 0.875),
        ("all_to_all", 0.875),
        ("gather", 0.875),
        ("scatter", 0.875),
        ("broadcast", 1),
        ("reduce", 1),
    ],
)
def test_the_factor_depends_on_the_collective_alone(collective, factor):
    assert busbw(collective, world_size=8, nbytes=8e9, seconds=1.0) == Bandwidth(8e9, factor * 8e9)


def test_nothing_is_divided_by_zero():
    assert busbw("all_reduce", world_size=8, nbytes=8, seconds=0)[:2] == (None, None)
    assert busbw("all_reduce", world_size=8, nbytes=0, seconds=0)[:2] == (0, 0)
    assert busbw("all_reduce", world_size=8, nbytes=0, seconds=1)[:2] == (0, 0)
    assert busbw("broadcast", world_size=1, nbytes=8, seconds=0)[:2] == (None, 0)
    assert busbw("broadcast", world_size=1, nbytes=8, seconds=2)[:2] == (4, 0)


def test_a_note_says_why_a_bandwidth_is_zero_or_missing():
    assert busbw("all_reduce", world_size=1, nbytes=8, seconds=2).note.startswith("one rank")
    assert "0" in busbw("all_reduce", world_size=8, nbytes=8, seconds=0).note
    assert busbw("all_reduce", world_size=8, nbytes=0, seconds=0).note == "no bytes were moved"
    assert busbw("all_reduce", world_size=8, nbytes=8, seconds=1).note == ""
