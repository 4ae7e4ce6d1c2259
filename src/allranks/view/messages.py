"""What the figure of one message shows, as plain JSON: its size, and the link it travels on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.cost import price
from allranks.schedule import SIMULATED
from allranks.topology import Topology
from allranks.view.frames import Data, check_size

MESSAGE_FORMAT = "allranks.message/1"
SIZES = (1, 1e3, 1e5, 1e7, 1e9)


def message(
    *,
    nbytes: float,
    topology: Topology | None = None,
    controls: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Data:
    """Return the data of a `<chunk-message>`: one message of `nbytes` between two ranks.

    `points` are some sizes with their seconds, priced as a broadcast from rank 0 to rank 1.

    Raises:
        ValueError: a size below 1 byte, or a machine whose links differ.
    """
    check_size(nbytes)
    machine = topology or Topology.preset("bench", 2)
    if not machine.is_uniform:
        text = f"message: {machine.name!r} has links that differ; choose a uniform machine"
        raise ValueError(text)
    points = [
        {
            "nbytes": size,
            "seconds": price(
                "broadcast", "chain", world_size=2, nbytes=size, topology=machine
            ).seconds,
        }
        for size in sorted({*SIZES, nbytes})
    ]
    return {
        "format": MESSAGE_FORMAT,
        "title": title or "One message",
        "label": SIMULATED,
        "machine": machine.name,
        "alpha": machine.alpha,
        "bandwidth": machine.bandwidth,
        "nbytes": nbytes,
        "points": points,
        "controls": dict(controls or {}),
    }
