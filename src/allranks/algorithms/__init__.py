"""Algorithms: generators that yield the steps of one collective, and the one table of their names.

An algorithm knows ranks, chunks and steps. It knows no buffers, no links, no prices and no Ray.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

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

__all__ = [
    "ALGORITHMS",
    "PARAMETERS",
    "Algorithm",
    "Plan",
    "algorithms",
    "build",
    "plan_of",
    "usual_algorithm",
]


NodeSize = int | tuple[int, ...]

# What a generator may accept beside `world_size`. Each accepts only what it uses.
PARAMETERS = ("root", "num_chunks", "node_size", "inner", "outer", "radix")


def _one(_world_size: int, **_parameters: object) -> int:
    return 1


def _one_per_rank(world_size: int, **_parameters: object) -> int:
    return world_size


def _none(_world_size: int, **_parameters: object) -> int:
    return 0


def _one_above(world_size: int, **_parameters: object) -> int:
    return int(world_size > 1)


def _never(_world_size: int, **_parameters: object) -> str:
    return ""


@dataclass(frozen=True)
class Algorithm:
    """A generator of steps with what one must know to call it.

    `default_chunks(n, **parameters)` is the number of chunks if nobody asks for another; algorithms
    that take a `num_chunks` parameter leave it open. `num_switches(n, **parameters)` are the
    endpoints beyond the ranks. `restriction` is what a caller must know before choosing it, in a
    sentence; "" where any n, root and size work. `refuse(n, **parameters)` is the reason why this
    very n or parameter is impossible, and what to use instead; "" where there is none.
    """

    generator: Callable[..., Iterator[Step]]
    default_chunks: Callable[..., int] = _one
    num_switches: Callable[..., int] = _none
    restriction: str = ""
    refuse: Callable[..., str] = _never

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
        num_switches=_one_above,
        restriction="needs a switch that adds; here an ordinary process plays it",
    ),
}

USUAL = {
    "broadcast": "binomial",
    "reduce": "binomial",
    "scatter": "binomial",
    "gather": "binomial",
    "all_gather": "ring",
    "reduce_scatter": "ring",
    "all_reduce": "ring",
    "all_to_all": "pairwise",
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


def build(  # noqa: PLR0913 - the parameters of every algorithm
    collective: str,
    algorithm: str,
    *,
    world_size: int,
    root: int | None = None,
    num_chunks: int | None = None,
    node_size: NodeSize | None = None,
    inner: str | None = None,
    outer: str | None = None,
    radix: int | None = None,
) -> Schedule:
    """Return the schedule of a collective by an algorithm: `allranks.schedule` is this function.

    `root` defaults to rank 0 where the collective has one. `num_chunks` is how many pieces the
    vector is cut into, for the algorithms that leave it open (the pipelined ones). Hierarchical
    algorithms take `node_size`, the ranks of a node (a tuple for unequal nodes), and the names of
    what runs inside and between nodes, `inner` and `outer`; trees of switches take `radix`, the
    ports of a switch that lead down.

    Raises:
        ValueError: unknown names (the nearest is suggested), n < 1, a root that is no rank or is
            not used, a parameter that the algorithm does not leave open, an n that it cannot do
            (with the reason), or a schedule of more than MAX_TRANSFERS transfers.

    >>> build("broadcast", "binomial", world_size=4).steps[1]
    (Transfer(src=0, dst=2, chunk=0, op=<Op.COPY: 'copy'>), \
Transfer(src=1, dst=3, chunk=0, op=<Op.COPY: 'copy'>))
    """
    asked = {
        "root": root,
        "num_chunks": num_chunks,
        "node_size": node_size,
        "inner": inner,
        "outer": outer,
        "radix": radix,
    }
    plan = plan_of(collective, algorithm, world_size, asked)
    return Schedule(
        collective=collective,
        algorithm=algorithm,
        world_size=world_size,
        num_chunks=plan.num_chunks,
        steps=_written_out(plan, world_size),
        root=plan.parameters.get("root"),
        num_switches=plan.num_switches,
    )


class Plan(NamedTuple):
    """An algorithm with every parameter decided: what `build` writes out and `price` adds up."""

    entry: Algorithm
    parameters: dict[str, Any]
    num_chunks: int
    num_switches: int


def plan_of(collective: str, algorithm: str, world_size: int, asked: Mapping[str, Any]) -> Plan:
    """Return the algorithm with its parameters checked and its numbers of chunks and switches.

    `asked` holds values for names of PARAMETERS; None means that nobody asked.

    Raises:
        ValueError: as `build`, but for the length of the schedule.
    """
    known = algorithms(collective)
    if algorithm not in known:
        raise ValueError(unknown_name(f"algorithm of {collective}", algorithm, known))
    entry = ALGORITHMS[collective, algorithm]
    name = f"{algorithm} {collective}"
    _check_whole("world_size", world_size, least=1)
    parameters = {key: value for key, value in asked.items() if value is not None}
    chunks = parameters.pop("num_chunks", None)
    if chunks is not None:
        _check_whole("num_chunks", chunks, least=1)
        if "num_chunks" in entry.parameters:
            parameters["num_chunks"] = chunks
    _check_root(collective, world_size, parameters)
    for key, value in parameters.items():
        if key not in entry.parameters:
            message = f"{key} is {value!r}; {name} has no such parameter, leave it out"
            raise ValueError(message)
    if reason := entry.refuse(world_size, **parameters):
        raise ValueError(reason)
    usual = entry.default_chunks(world_size, **parameters)
    if "num_chunks" in entry.parameters:
        chunks = parameters.setdefault("num_chunks", usual)
    elif chunks not in (None, usual):
        message = f"num_chunks is {chunks}; {name} on {world_size} ranks always uses {usual}"
        raise ValueError(message)
    return Plan(entry, parameters, chunks or usual, entry.num_switches(world_size, **parameters))


def _check_root(collective: str, world_size: int, parameters: dict[str, Any]) -> None:
    if collective in ROOTED:
        root = parameters.setdefault("root", 0)
        _check_whole("root", root, least=0, most=world_size - 1)
    elif "root" in parameters:
        message = f"root is {parameters['root']!r}; {collective} has no root, leave it out"
        raise ValueError(message)


def _written_out(plan: Plan, world_size: int) -> tuple[tuple[Transfer, ...], ...]:
    """Return all steps, or refuse before they fill the memory."""
    message = (
        f"a schedule of more than {MAX_TRANSFERS:,} transfers is too long to write out; "
        "allranks.price and allranks.prove answer without one"
    )
    if world_size > 1 and max(world_size, plan.num_chunks) > MAX_TRANSFERS:
        raise ValueError(message)
    steps: list[tuple[Transfer, ...]] = []
    transfers = 0
    for step in plan.entry.generator(world_size, **plan.parameters):
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
