"""The machines of a figure, as plain JSON: only those whose prices a page computes rightly.

A page prices uniform machines, on which every rank reaches every other alike (the JavaScript twin
of `allranks.cost`; tests compare the two).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from allranks.topology import PRESETS, Topology

MAX_RANKS = 256
"""The most ranks and switches that a figure draws, so the largest world a page prices."""

Data = dict[str, Any]


def machines_data(used: Topology) -> dict[str, Data]:
    """Return the machines that a page can price, by name, and the one that is used.

    A page prices uniform machines only. A machine's `most` is how many ranks it holds, if that is
    a limit; `in_flight` is null where all messages of a rank overlap, however many ranks there are;
    `adds` says whether its switches can add.
    """
    offered = {name: made for name in PRESETS if (made := _offered(name)) is not None}
    if used.name in offered and _of_preset(used):
        return offered
    return {**offered, used.name: machine_data(used)}


def _of_preset(used: Topology) -> bool:
    """Return whether a machine is what its preset makes, and not another of the same name."""
    try:
        return used.name in PRESETS and Topology.preset(used.name, used.world_size) == used
    except ValueError:
        return False


@cache
def _offered(name: str) -> Data | None:
    """Return a preset as JSON; None if no page could price it for every number of ranks."""
    made = [topology for n in _TRIED if (topology := _uniform(name, n)) is not None]
    if not made:
        return None
    first = made[-1]
    if any(_without_peers(each) != _without_peers(first) for each in made):
        return None
    most = made[-1].world_size
    if most < _TRIED[-1]:
        while _uniform(name, most + 1) is not None:
            most += 1
    every = all(each.in_flight == max(each.world_size - 1, 1) for each in made)
    if not every and len({each.in_flight for each in made}) > 1:
        return None
    limit = None if made[-1].world_size == _TRIED[-1] else most
    return (
        machine_data(first)
        | {"in_flight": None if every and len(made) > 1 else first.in_flight}
        | {"most": limit}
    )


_TRIED = (1, 2, 3, 4, 6, 8, 16, 32, 64, 72, 128, MAX_RANKS)


def _uniform(name: str, n: int) -> Topology | None:
    """Return a preset for n ranks if it holds so many and is uniform then."""
    try:
        made = Topology.preset(name, n)
    except ValueError:
        return None
    return made if made.is_uniform else None


def _without_peers(topology: Topology) -> Data:
    return {key: value for key, value in machine_data(topology).items() if key != "in_flight"}


def machine_data(topology: Topology) -> Data:
    """Return a machine as JSON: an infinite bandwidth is null, which JSON can write."""
    finite = math.isfinite(topology.bandwidth)
    return {
        "alpha": topology.alpha,
        "bandwidth": topology.bandwidth if finite else None,
        "gamma": topology.gamma,
        "ports": topology.ports,
        "in_flight": topology.in_flight,
        "most": None,
        "adds": topology.reduces,
    }
