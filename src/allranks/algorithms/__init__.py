"""Algorithms: generators that yield the steps of one collective, and the one table of their names.

An algorithm knows ranks, chunks and steps. It knows no buffers, no links, no prices and no Ray.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from allranks.algorithms.chain import chain_broadcast, chain_reduce
from allranks.algorithms.direct import flat_broadcast, flat_reduce
from allranks.algorithms.ring import ring_all_gather, ring_all_reduce, ring_reduce_scatter
from allranks.algorithms.sharp import sharp_all_reduce
from allranks.algorithms.tree import (
    binomial_broadcast,
    binomial_reduce,
    binomial_scatter,
    scatter_all_gather_broadcast,
)
from allranks.errors import unknown_name
from allranks.schedule import Schedule, Step, Transfer

__all__ = ["ALGORITHMS", "Algorithm", "algorithms", "build", "usual_algorithm"]


def _one(_world_size: int) -> int:
    return 1


def _one_per_rank(world_size: int) -> int:
    return world_size


@dataclass(frozen=True)
class Algorithm:
    """A generator of steps with what one must know to call it.

    `default_chunks(n)` is the number of chunks if nobody asks for another; algorithms that take a
    `num_chunks` parameter accept any. `restriction` is what a caller must know before choosing it,
    in a sentence; "" where any n, root and size work.
    """

    generator: Callable[..., Iterator[Step]]
    default_chunks: Callable[[int], int] = _one
    num_switches: int = 0
    restriction: str = ""

    @property
    def parameters(self) -> frozenset[str]:
        """Return the names of what the generator accepts beside `world_size`."""
        return frozenset(inspect.signature(self.generator).parameters) - {"world_size"}


ALGORITHMS: dict[tuple[str, str], Algorithm] = {
    ("broadcast", "flat"): Algorithm(flat_broadcast),
    ("broadcast", "chain"): Algorithm(chain_broadcast),
    ("broadcast", "binomial"): Algorithm(binomial_broadcast),
    ("broadcast", "scatter_all_gather"): Algorithm(scatter_all_gather_broadcast, _one_per_rank),
    ("reduce", "flat"): Algorithm(flat_reduce),
    ("reduce", "chain"): Algorithm(chain_reduce),
    ("reduce", "binomial"): Algorithm(binomial_reduce),
    ("scatter", "binomial"): Algorithm(binomial_scatter, _one_per_rank),
    ("all_gather", "ring"): Algorithm(ring_all_gather, _one_per_rank),
    ("reduce_scatter", "ring"): Algorithm(ring_reduce_scatter, _one_per_rank),
    ("all_reduce", "ring"): Algorithm(ring_all_reduce, _one_per_rank),
    ("all_reduce", "sharp"): Algorithm(
        sharp_all_reduce,
        num_switches=1,
        restriction="needs a switch that adds; here an ordinary process plays it",
    ),
}

USUAL = {
    "broadcast": "binomial",
    "reduce": "binomial",
    "scatter": "binomial",
    "all_gather": "ring",
    "reduce_scatter": "ring",
    "all_reduce": "ring",
}

# A schedule that is written out lives in memory, about 100 bytes a transfer. `allranks.price` needs
# no schedule and answers for any number of ranks.
MAX_TRANSFERS = 1 << 22

ROOTED = frozenset({"broadcast", "reduce", "scatter", "gather"})


def algorithms(collective: str) -> dict[str, str]:
    """Return the algorithms of a collective: name -> restriction ("" where there is none).

    Raises:
        ValueError: no algorithm of such a collective; the message suggests the nearest name.

    >>> list(algorithms("all_reduce"))
    ['ring', 'sharp']
    """
    named = {
        name: entry.restriction for (of, name), entry in ALGORITHMS.items() if of == collective
    }
    if not named:
        known = {of for of, _ in ALGORITHMS}
        raise ValueError(unknown_name("collective", collective, known))
    return named


def usual_algorithm(collective: str) -> str:
    """Return the algorithm that is meant where none is named: binomial trees and rings.

    Raises:
        ValueError: no algorithm of such a collective; the message suggests the nearest name.
    """
    algorithms(collective)
    return USUAL[collective]


def build(
    collective: str,
    algorithm: str,
    *,
    world_size: int,
    root: int | None = None,
    num_chunks: int | None = None,
) -> Schedule:
    """Return the schedule of a collective by an algorithm: `allranks.schedule` is this function.

    `root` defaults to rank 0 where the collective has one. `num_chunks` is how many pieces the
    vector is cut into, for the algorithms that leave it open (the pipelined ones).

    Raises:
        ValueError: unknown names (the nearest is suggested), n < 1, a root that is no rank or is
            not used, a chunk count of 0 or one the algorithm does not leave open, or a schedule of
            more than MAX_TRANSFERS transfers.

    >>> build("broadcast", "binomial", world_size=4).steps[1]
    (Transfer(src=0, dst=2, chunk=0, op=<Op.COPY: 'copy'>), \
Transfer(src=1, dst=3, chunk=0, op=<Op.COPY: 'copy'>))
    """
    known = algorithms(collective)
    if algorithm not in known:
        raise ValueError(unknown_name(f"algorithm of {collective}", algorithm, known))
    entry = ALGORITHMS[collective, algorithm]
    _check_whole("world_size", world_size, least=1)
    arguments: dict[str, int] = {}
    if collective in ROOTED:
        root = 0 if root is None else root
        _check_whole("root", root, least=0, most=world_size - 1)
        arguments["root"] = root
    elif root is not None:
        message = f"root is {root!r}; {collective} has no root, leave it out"
        raise ValueError(message)
    chunks = entry.default_chunks(world_size)
    if num_chunks is not None:
        _check_whole("num_chunks", num_chunks, least=1)
        if "num_chunks" in entry.parameters:
            arguments["num_chunks"] = chunks = num_chunks
        elif num_chunks != chunks:
            message = (
                f"num_chunks is {num_chunks}; {algorithm} {collective} on {world_size} ranks "
                f"always uses {chunks}"
            )
            raise ValueError(message)
    return Schedule(
        collective=collective,
        algorithm=algorithm,
        world_size=world_size,
        num_chunks=chunks,
        steps=_written_out(entry, max(world_size, chunks), world_size, arguments),
        root=root,
        num_switches=entry.num_switches if world_size > 1 else 0,
    )


def _written_out(
    entry: Algorithm, least_transfers: int, world_size: int, arguments: dict[str, int]
) -> tuple[tuple[Transfer, ...], ...]:
    """Return all steps, or refuse before they fill the memory."""
    message = (
        f"a schedule of more than {MAX_TRANSFERS:,} transfers is too long to write out; "
        "allranks.price answers without one"
    )
    if least_transfers > MAX_TRANSFERS:
        raise ValueError(message)
    steps: list[tuple[Transfer, ...]] = []
    transfers = 0
    for step in entry.generator(world_size, **arguments):
        transfers += len(step)
        if transfers > MAX_TRANSFERS:
            raise ValueError(message)
        steps.append(tuple(step))
    return tuple(steps)


def _check_whole(name: str, value: object, *, least: int, most: int | None = None) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or value < least
        or (most is not None and value > most)
    ):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        message = f"{name} is {value!r}; it must be a whole number {span}"
        raise ValueError(message)
