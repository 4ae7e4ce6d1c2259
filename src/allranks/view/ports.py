"""What `<chunk-ports>` shows, as plain JSON: a ring, a switch that adds and NVLS, port by port."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from allranks.cost import Cost, price
from allranks.schedule import SIMULATED
from allranks.topology import Topology
from allranks.view.frames import DEFAULT_NBYTES, Data, check_size
from allranks.view.machines import machine_data

PORTS_FORMAT = "allranks.ports/1"
PLANS = {"ring": "ring", "sharp": "switch that adds (SHARP)", "nvls": "NVLS"}


def ports(  # noqa: PLR0913 - what a figure can be asked for
    *,
    world_size: int,
    nbytes: float = DEFAULT_NBYTES,
    pieces: int | None = None,
    topology: Topology | None = None,
    controls: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Data:
    """Return the data of a `<chunk-ports>`: three all-reduces on one clock, with their counters.

    `pieces` is into how many pieces the two plans with a switch cut the vector; None is the best
    number for each.

    Raises:
        ValueError: fewer than 2 ranks, a size below 1 byte, no piece, a machine that a page counts
            differently (not uniform, more than one port, or one that pays for adding).
    """
    check_size(nbytes)
    machine = topology or Topology.preset("bench", world_size)
    if world_size < 2 or (pieces is not None and pieces < 1):  # noqa: PLR2004
        message = f"ports: n is {world_size} and k is {pieces}; give at least 2 ranks and 1 piece"
        raise ValueError(message)
    if not machine.is_uniform or not machine.reduces or machine.ports != 1 or machine.gamma:
        message = (
            f"ports: {machine.name!r} is not a uniform machine with one port per rank, switches "
            "that add, and gamma 0; choose bench or island"
        )
        raise ValueError(message)
    rows = []
    for name, words in PLANS.items():
        number = None if name == "ring" else pieces or best_pieces(name, nbytes, machine)
        paid = plan_price(name, number, nbytes, machine)
        cut = "" if number is None else f", {number} {'piece' if number == 1 else 'pieces'}"
        rows.append(
            {
                "title": f"{words}{cut}",
                "steps": paid.steps,
                "seconds": paid.seconds,
                "out": paid.bytes_sent_max,
                "into": paid.bytes_received_max,
                "switch_in": paid.switch_bytes_in,
                "switch_out": paid.switch_bytes_out,
            }
        )
    return {
        "format": PORTS_FORMAT,
        "title": title or "All-reduce: a ring, a switch that adds, and NVLS",
        "label": SIMULATED,
        "n": world_size,
        "nbytes": nbytes,
        "pieces": pieces,
        "machine": machine.name,
        "costs": machine_data(machine),
        "plans": rows,
        "controls": dict(controls or {}),
    }


def plan_price(name: str, pieces: int | None, nbytes: float, machine: Topology) -> Cost:
    """Return the price of one plan; NVLS cuts every piece once more, into a chunk for each head."""
    n = machine.world_size
    chunks = pieces and pieces * (n if name == "nvls" else 1)
    return price(
        "all_reduce", name, world_size=n, nbytes=nbytes, num_chunks=chunks, topology=machine
    )


def best_pieces(name: str, nbytes: float, machine: Topology) -> int:
    """Return the number of pieces with which a plan with a switch is fastest.

    From three pieces on, the lock-step time is (k + a) alpha + S beta (b + c/k), with c = 1 for a
    switch and c = 3 - 1/n for NVLS; so the best is the first k with k(k + 1) >= c S beta / alpha.
    Fewer pieces are tried.

    >>> best_pieces("sharp", 48e6, Topology.preset("bench", 6))
    22
    """
    most = max(1, int(nbytes // machine.world_size if name == "nvls" else nbytes))
    weight = 3 - 1 / machine.world_size if name == "nvls" else 1
    if machine.alpha == 0:
        return most
    ratio = weight * nbytes * machine.beta / machine.alpha
    near = max(1, math.isqrt(int(ratio)) - 1)
    first = next(k for k in _upward(near) if k * (k + 1) >= ratio)
    tried = sorted({min(k, most) for k in (1, 2, 3, first)})
    return min(tried, key=lambda k: plan_price(name, k, nbytes, machine).seconds)


def _upward(start: int) -> Iterator[int]:
    while True:
        yield start
        start += 1
