"""What the figures of latency against bandwidth show, as plain JSON: the plane, the double tree.

The page draws both again for other numbers, by the closed forms in `static/plane.js` and
`static/trees.js`; tests compare these with `allranks.price` and with the trees of the library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from allranks.algorithms.double_tree import NOBODY, children, double_tree, num_steps_down
from allranks.cost import lower_bound, price
from allranks.schedule import SIMULATED
from allranks.topology import Topology
from allranks.view.frames import DEFAULT_NBYTES, check_size
from allranks.view.machines import machines_data

PLANE_FORMAT = "allranks.plane/1"
TREES_FORMAT = "allranks.trees/1"
PAIR = 2
MOST_RANKS = 1 << 17
MOST_TREE_RANKS = 32
MOST_CHUNKS = 1 << 20

Data = dict[str, Any]

NAMES = {
    "ring": "ring",
    "recursive_doubling": "recursive doubling",
    "rabenseifner": "Rabenseifner",
    "binomial": "binomial tree",
    "flat": "star",
    "unchunked_ring": "unchunked ring",
    "direct": "two-shot all-pairs",
    "one_shot": "one-shot all-pairs",
    "double_binary_tree": "double tree",
    "ideal": "double tree, ideal",
}
"""The all-reduces on the plane; "ideal" is a formula, the others are schedules of the library."""


def plane(
    *,
    world_size: int,
    nbytes: float = DEFAULT_NBYTES,
    topology: Topology | None = None,
    controls: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Data:
    """Return the data of a `<chunk-plane>`: every all-reduce by its alphas and its bytes.

    `alphas` are those paid one after another; `bytes` those through the busiest port of every step,
    added up, in units of S: time = alphas alpha + bytes S beta. `sent` is what the busiest rank
    sends, in S. The double tree takes the number of chunks that is best for the size.

    Raises:
        ValueError: n not from 2 to 131,072, a size below 1 byte, or a machine that the plane cannot
            hold: not uniform, several ports a rank, a price for adding or none for bytes.
    """
    check_size(nbytes)
    if not PAIR <= world_size <= MOST_RANKS:
        message = f"plane: n is {world_size}; give 2 to {MOST_RANKS:,} ranks"
        raise ValueError(message)
    machine = topology or Topology.preset("bench", world_size)
    fits = machine.is_uniform and machine.ports == 1 and not machine.gamma
    if not fits or not math.isfinite(machine.bandwidth):
        message = (
            f"plane: machine {machine.name!r} is not uniform, has several ports, charges for "
            "adding or nothing for bytes; two coordinates cannot hold that, so choose another one"
        )
        raise ValueError(message)
    offered = {
        name: each
        for name, each in machines_data(machine).items()
        if each["ports"] == 1 and not each["gamma"]
    }
    return {
        "format": PLANE_FORMAT,
        "title": title or "All-reduce: alphas against bytes",
        "label": SIMULATED,
        "n": world_size,
        "nbytes": nbytes,
        "machine": machine.name,
        "machines": offered,
        "points": [point(key, world_size, nbytes, machine) for key in NAMES],
        "bounds": {
            "alphas": least_alphas(world_size, machine),
            "bytes": 2 * (world_size - 1) / world_size,
            "seconds": lower_bound("all_reduce", world_size, nbytes, machine),
        },
        "controls": dict(controls or {}),
    }


def point(key: str, world_size: int, nbytes: float, machine: Topology) -> Data:
    """Return one all-reduce of the plane, priced by the engine."""
    chunks = None
    if key == "ideal":
        seconds = ideal_double_tree(world_size, nbytes, machine)
        alphas = 2 * (world_size - 1).bit_length()
        moved = sent = tree_bytes(world_size)
    else:
        if key == "double_binary_tree":
            chunks = best_tree_chunks(world_size, nbytes, machine)
        # where a message costs its bytes alone, the price is what passes the busiest ports
        paid, plain = (
            price(
                "all_reduce",
                key,
                world_size=world_size,
                nbytes=nbytes,
                num_chunks=chunks,
                topology=each,
            )
            for each in (machine, replace(machine, alpha=0.0, bandwidth=1.0))
        )
        seconds, alphas = paid.seconds, paid.latency_terms
        moved, sent = plain.seconds / nbytes, paid.bytes_sent_max / nbytes
    return {
        "key": key,
        "title": NAMES[key],
        "alphas": alphas,
        "bytes": moved,
        "sent": sent,
        "seconds": seconds,
        "chunks": chunks,
        "ideal": key == "ideal",
    }


def ideal_double_tree(world_size: int, nbytes: float, machine: Topology) -> float:
    """Return 2L alpha + 2S beta: sums that come down while others go up, and no time to fill.

    No schedule of the library reaches it on one port; see `algorithms.double_tree`. With two and
    three ranks the busiest sends less than 2S, so the second term is smaller.
    """
    terms = 2 * (world_size - 1).bit_length()
    return terms * machine.alpha + tree_bytes(world_size) * nbytes * machine.beta


def tree_bytes(world_size: int) -> float:
    """Return what the busiest rank of a double tree sends, in units of S.

    >>> [tree_bytes(n) for n in (2, 3, 4, 7)]
    [1.0, 1.5, 2, 2]
    """
    return 2 if world_size > 3 else world_size / 2  # noqa: PLR2004 - smaller trees have no middle


def best_tree_chunks(world_size: int, nbytes: float, machine: Topology) -> int:
    """Return the even number of chunks with which the double tree's schedule is fastest.

    With k chunks it takes A + 2k steps of alpha + S beta/k, so k is near sqrt(A S beta/(2 alpha)).
    """
    most = max(2, 2 * int(min(nbytes, MOST_CHUNKS) // 2))
    rest = 2 * num_steps_down(world_size, 2) - 4
    wire = nbytes * machine.beta
    # two ranks have no pipe to fill, and three hardly one
    if world_size <= PAIR or rest <= 0 or wire == 0:
        return 2
    if machine.alpha == 0:
        return most
    low = min(max(2, 2 * int(math.sqrt(rest * wire / (2 * machine.alpha)) / 2)), most)

    def lasts(chunks: int) -> float:
        return 2 * num_steps_down(world_size, chunks) * (machine.alpha + wire / chunks)

    return low + 2 if low + 2 <= most and lasts(low + 2) < lasts(low) else low


def least_alphas(world_size: int, machine: Topology) -> int:
    """Return the alphas that no plan of sends and receives gets below: L with one port."""
    endless = replace(machine, alpha=1.0, bandwidth=math.inf, gamma=0.0)
    return round(lower_bound("all_reduce", world_size, 1, endless))


def trees(
    *, world_size: int, controls: Mapping[str, Any] | None = None, title: str | None = None
) -> Data:
    """Return the data of a `<chunk-trees>`: the parents in both trees, and the bytes of each rank.

    `bytes` are sent, in units of S: half of a rank's links in both trees, since each tree carries
    S/2 up and S/2 down.

    Raises:
        ValueError: n not from 2 to 32.
    """
    if not PAIR <= world_size <= MOST_TREE_RANKS:
        message = f"trees: n is {world_size}; give 2 to {MOST_TREE_RANKS} ranks"
        raise ValueError(message)
    parents = double_tree(world_size)
    return {
        "format": TREES_FORMAT,
        "title": title or "The double binary tree",
        "label": SIMULATED,
        "n": world_size,
        "parents": [list(each) for each in parents],
        "bytes": sent_in_trees(world_size),
        "controls": dict(controls or {}),
    }


def sent_in_trees(world_size: int) -> list[float]:
    """Return what every rank of a double binary tree sends, in units of S.

    >>> sent_in_trees(7)
    [1.5, 1.0, 2.0, 2.0, 2.0, 2.0, 1.5]
    """
    both = double_tree(world_size)
    links = [
        [(up != NOBODY) + len(below) for up, below in zip(tree, children(tree), strict=True)]
        for tree in both
    ]
    return [sum(each) / 2 for each in zip(*links, strict=True)]
