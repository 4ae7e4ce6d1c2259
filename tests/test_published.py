"""Measurements of other people carry their source, and say what the course quotes of them."""

from __future__ import annotations

import pytest

from allranks.cost import price
from allranks.published import NVLS_ON_B200, NVLS_ON_H200
from allranks.topology import Topology


def bound(n: int, algorithm: str) -> float:
    """Return by what factor fewer bytes a busiest rank sends than in a ring."""
    topology = Topology.uniform(n, alpha=0.0, bandwidth=1.0)
    ring, other = (
        price("all_reduce", name, world_size=n, nbytes=n * 2**20, topology=topology)
        for name in ("ring", algorithm)
    )
    return ring.bytes_sent_max / other.bytes_sent_max


def test_one_factor_fits_the_model_with_the_own_operand_and_drifts_in_the_other():
    points = NVLS_ON_H200.with_nvls()
    assert [point.world_size for point in points] == [5, 6, 7, 8]
    own = [round(point.gain / bound(point.world_size, "nvls"), 3) for point in points]
    slide = [round(point.gain / bound(point.world_size, "sharp"), 3) for point in points]
    assert own == [0.852, 0.835, 0.839, 0.832]
    assert slide == [0.710, 0.716, 0.734, 0.739]


def test_what_a_wire_carried_is_less_than_a_link_can():
    wires = [point.nvls / bound(point.world_size, "nvls") for point in NVLS_ON_H200.with_nvls()]
    # busbw (n + 1) / (2 (n - 1)): algbw times what NVLS sends of S
    assert [round(wire / 1e9) for wire in wires] == [311, 305, 307, 304]


def test_the_newer_machine_is_nearly_flat_too():
    points = NVLS_ON_B200.with_nvls()
    own = [round(point.gain / bound(point.world_size, "nvls"), 3) for point in points]
    assert (min(own), max(own)) == (0.79, 0.804)


def test_the_printed_gains_are_the_ratios_of_the_printed_rates():
    gains = [f"{p.free / p.ring:.2f}" for p in (*NVLS_ON_H200.points, *NVLS_ON_B200.points)]
    assert gains == ["1.00", "1.14", "1.19", "1.26", "1.29", "1.00", "1.00", "1.15", "1.19", "1.23"]


def test_where_the_library_kept_the_ring_no_gain_is_claimed():
    assert NVLS_ON_H200.point(4).gain is None
    assert NVLS_ON_H200.point(4).ring == 363.3e9


def test_a_number_of_ranks_that_nobody_published_is_refused():
    with pytest.raises(ValueError, match="was published for 4, 5, 6, 7, 8"):
        NVLS_ON_H200.point(3)
