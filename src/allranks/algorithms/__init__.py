"""Algorithms: generators that yield the steps of one collective, and the one table of their names.

An algorithm knows ranks, chunks and steps. It knows no buffers, no links, no prices and no Ray.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from allranks.algorithms.all_to_all import direct_all_to_all, pairwise_all_to_all
from allranks.algorithms.bruck import bruck_all_gather, bruck_all_to_all
from allranks.algorithms.chain import chain_broadcast, chain_reduce
from allranks.algorithms.direct import (
    direct_all_gather,
    direct_all_reduce,
    direct_reduce_scatter,
    flat_all_reduce,
    flat_broadcast,
    flat_gather,
    flat_reduce,
    flat_scatter,
    one_shot_all_reduce,
)
from allranks.algorithms.double_tree import double_binary_tree_all_reduce, uneven_halves
from allranks.algorithms.doubling import (
    needs_a_power_of_two,
    power_of_two,
    rabenseifner_all_reduce,
    recursive_doubling_all_gather,
    recursive_doubling_all_reduce,
    recursive_halving_reduce_scatter,
)
from allranks.algorithms.hierarchical import (
    all_reduce_chunks,
    all_reduce_switches,
    hierarchical_all_reduce,
    hierarchical_all_to_all,
    refuse_all_reduce,
    refuse_all_to_all,
)
from allranks.algorithms.neighbor import needs_an_even_number, neighbor_exchange_all_gather
from allranks.algorithms.nvls import (
    nvls_all_gather,
    nvls_all_reduce,
    nvls_reduce_scatter,
    one_chunk_per_head,
    uneven_heads,
)
from allranks.algorithms.pat import pat_all_gather, pat_reduce_scatter
from allranks.algorithms.ring import (
    bidirectional_ring_all_gather,
    bidirectional_ring_all_reduce,
    bidirectional_ring_reduce_scatter,
    needs_two_buffers,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
    unchunked_ring_all_reduce,
)
from allranks.algorithms.sharp import num_sharp_switches, sharp_all_reduce, wrong_radix
from allranks.algorithms.tree import (
    binomial_all_reduce,
    binomial_broadcast,
    binomial_gather,
    binomial_reduce,
    binomial_scatter,
    scatter_all_gather_broadcast,
)
from allranks.errors import shown, unknown_name
from allranks.schedule import Schedule, Step, Steps, TooLongError, write_out

__all__ = [
    "ALGORITHMS",
    "PARAMETERS",
    "Algorithm",
    "Parameters",
    "Plan",
    "algorithms",
    "build",
    "plan_of",
    "usual_algorithm",
]


NodeSize = int | tuple[int, ...]


class Parameters(TypedDict, total=False):
    """What a caller may leave open or decide, beside the root; see `build`."""

    num_chunks: int | None
    node_size: NodeSize | None
    inner: str | None
    outer: str | None
    radix: int | None


# What a generator may accept beside `world_size`. Each accepts only what it uses.
PARAMETERS = ("root", "num_chunks", "node_size", "inner", "outer", "radix")


def _one(_world_size: int, **_parameters: object) -> int:
    return 1


def _one_per_rank(world_size: int, **_parameters: object) -> int:
    return world_size


def _one_per_pair(world_size: int, **_parameters: object) -> int:
    return world_size**2


def _one_per_tree(_world_size: int, **_parameters: object) -> int:
    return 2


def _none(_world_size: int, **_parameters: object) -> int:
    return 0


def _one_between_any_two(world_size: int) -> int:
    return world_size * (world_size - 1)


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
    `always_priced`: the price is known even where no schedule can be written. `least_transfers(n)`
    is a number of transfers that the schedule has at least, if that is more than what its
    collective needs in any case.
    """

    generator: Callable[..., Iterator[Step]]
    default_chunks: Callable[..., int] = _one
    num_switches: Callable[..., int] = _none
    restriction: str = ""
    refuse: Callable[..., str] = _never
    always_priced: bool = False
    least_transfers: Callable[[int], int] = _none

    @property
    def parameters(self) -> frozenset[str]:
        """Return the names of what the generator accepts beside `world_size`."""
        return frozenset(inspect.signature(self.generator).parameters) - {"world_size"}


TWO_PORTS = "gains only where a rank has two ports"
NVLS = (
    "needs GPUs on an NVSwitch that adds and multicasts (Hopper or newer); here an ordinary "
    "process plays it"
)
FOLDED = "any n; where it is no power of two, the ranks beyond one are folded, two steps more"

ALGORITHMS: dict[tuple[str, str], Algorithm] = {
    ("broadcast", "flat"): Algorithm(flat_broadcast),
    ("broadcast", "chain"): Algorithm(chain_broadcast),
    ("broadcast", "binomial"): Algorithm(binomial_broadcast),
    ("broadcast", "scatter_all_gather"): Algorithm(scatter_all_gather_broadcast, _one_per_rank),
    ("reduce", "flat"): Algorithm(flat_reduce),
    ("reduce", "chain"): Algorithm(chain_reduce),
    ("reduce", "binomial"): Algorithm(binomial_reduce),
    ("scatter", "flat"): Algorithm(flat_scatter, _one_per_rank),
    ("scatter", "binomial"): Algorithm(binomial_scatter, _one_per_rank),
    ("gather", "flat"): Algorithm(flat_gather, _one_per_rank),
    ("gather", "binomial"): Algorithm(binomial_gather, _one_per_rank),
    ("all_gather", "ring"): Algorithm(ring_all_gather, _one_per_rank),
    ("all_gather", "bidirectional_ring"): Algorithm(
        bidirectional_ring_all_gather, _one_per_rank, restriction=TWO_PORTS
    ),
    ("all_gather", "neighbor_exchange"): Algorithm(
        neighbor_exchange_all_gather,
        _one_per_rank,
        restriction="needs an even number of ranks",
        refuse=needs_an_even_number,
    ),
    ("all_gather", "recursive_doubling"): Algorithm(
        recursive_doubling_all_gather,
        _one_per_rank,
        restriction="needs a power of two",
        refuse=needs_a_power_of_two,
    ),
    ("all_gather", "bruck"): Algorithm(bruck_all_gather, _one_per_rank),
    ("all_gather", "direct"): Algorithm(direct_all_gather, _one_per_rank),
    ("all_gather", "pat"): Algorithm(pat_all_gather, _one_per_rank),
    ("all_gather", "nvls"): Algorithm(
        nvls_all_gather,
        one_chunk_per_head,
        num_switches=_one_above,
        restriction=NVLS,
        refuse=uneven_heads,
    ),
    ("reduce_scatter", "ring"): Algorithm(ring_reduce_scatter, _one_per_rank),
    ("reduce_scatter", "bidirectional_ring"): Algorithm(
        bidirectional_ring_reduce_scatter, _one_per_rank, restriction=TWO_PORTS
    ),
    ("reduce_scatter", "recursive_halving"): Algorithm(
        recursive_halving_reduce_scatter, _one_per_rank, restriction=FOLDED
    ),
    ("reduce_scatter", "direct"): Algorithm(direct_reduce_scatter, _one_per_rank),
    ("reduce_scatter", "pat"): Algorithm(pat_reduce_scatter, _one_per_rank),
    ("reduce_scatter", "nvls"): Algorithm(
        nvls_reduce_scatter,
        one_chunk_per_head,
        num_switches=_one_above,
        restriction=NVLS,
        refuse=uneven_heads,
    ),
    ("all_reduce", "flat"): Algorithm(flat_all_reduce),
    ("all_reduce", "unchunked_ring"): Algorithm(
        unchunked_ring_all_reduce,
        restriction="a schedule for two ranks at most; its price is known for any number",
        refuse=needs_two_buffers,
        always_priced=True,
    ),
    ("all_reduce", "ring"): Algorithm(ring_all_reduce, _one_per_rank),
    ("all_reduce", "bidirectional_ring"): Algorithm(
        bidirectional_ring_all_reduce, _one_per_rank, restriction=TWO_PORTS
    ),
    ("all_reduce", "binomial"): Algorithm(binomial_all_reduce),
    ("all_reduce", "recursive_doubling"): Algorithm(
        recursive_doubling_all_reduce, restriction=FOLDED
    ),
    ("all_reduce", "rabenseifner"): Algorithm(
        rabenseifner_all_reduce, power_of_two, restriction=FOLDED
    ),
    ("all_reduce", "direct"): Algorithm(direct_all_reduce, _one_per_rank),
    ("all_reduce", "one_shot"): Algorithm(
        one_shot_all_reduce,
        restriction="ranks add in different orders, so floats may differ in their last bits",
        least_transfers=_one_between_any_two,
    ),
    ("all_reduce", "double_binary_tree"): Algorithm(
        double_binary_tree_all_reduce,
        _one_per_tree,
        restriction="needs an even number of chunks, half of them for each tree",
        refuse=uneven_halves,
    ),
    ("all_reduce", "hierarchical"): Algorithm(
        hierarchical_all_reduce,
        all_reduce_chunks,
        num_switches=all_reduce_switches,
        restriction=(
            "8 ranks a node if not told; inner nvls and outer sharp need switches that add"
        ),
        refuse=refuse_all_reduce,
    ),
    ("all_reduce", "sharp"): Algorithm(
        sharp_all_reduce,
        num_switches=num_sharp_switches,
        restriction=(
            "needs switches that add, as InfiniBand's with SHARP; here ordinary processes play them"
        ),
        refuse=wrong_radix,
    ),
    ("all_reduce", "nvls"): Algorithm(
        nvls_all_reduce,
        one_chunk_per_head,
        num_switches=_one_above,
        restriction=NVLS,
        refuse=uneven_heads,
    ),
    ("all_to_all", "direct"): Algorithm(direct_all_to_all, _one_per_pair),
    ("all_to_all", "pairwise"): Algorithm(pairwise_all_to_all, _one_per_pair),
    ("all_to_all", "bruck"): Algorithm(bruck_all_to_all, _one_per_pair),
    ("all_to_all", "hierarchical"): Algorithm(
        hierarchical_all_to_all,
        _one_per_pair,
        restriction="needs nodes of equal size; 8 ranks a node if not told",
        refuse=refuse_all_to_all,
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

# A schedule that is written out lives in memory: 17 bytes a transfer as columns, about 100 as
# tuples where there are few. `allranks.price` and `allranks.prove` need none and answer for any n.
MAX_TRANSFERS = 1 << 24

TOO_LONG = (
    f"a schedule of more than {MAX_TRANSFERS:,} transfers is too long to write out; "
    "allranks.price and allranks.prove answer without one"
)

# Messages and columns know ranks as int32 and chunks as int64.
MAX_RANKS = (1 << 31) - 1
MAX_CHUNKS = 1 << 62

ROOTED = frozenset({"broadcast", "reduce", "scatter", "gather"})


def algorithms(collective: str) -> dict[str, str]:
    """Return the algorithms of a collective: name -> restriction ("" where there is none).

    Raises:
        ValueError: no algorithm of such a collective; the message suggests the nearest name.

    >>> list(algorithms("scatter"))
    ['flat', 'binomial']
    """
    asked: object = collective
    wanted = asked if isinstance(asked, str) else None
    named = {name: entry.restriction for (of, name), entry in ALGORITHMS.items() if of == wanted}
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
    plan = plan_of(collective, algorithm, world_size, asked, most_ranks=MAX_TRANSFERS)
    return Schedule(
        collective=collective,
        algorithm=algorithm,
        world_size=world_size,
        num_chunks=plan.num_chunks,
        steps=_written_out(plan, collective, world_size),
        root=plan.parameters.get("root"),
        num_switches=plan.num_switches,
    )


class Plan(NamedTuple):
    """An algorithm with every parameter decided: what `build` writes out and `price` adds up."""

    entry: Algorithm
    parameters: dict[str, Any]
    num_chunks: int
    num_switches: int


def plan_of(  # noqa: PLR0913 - what is planned, and for what
    collective: str,
    algorithm: str,
    world_size: int,
    asked: Mapping[str, Any],
    *,
    priced: bool = False,
    most_ranks: int = MAX_RANKS,
) -> Plan:
    """Return the algorithm with its parameters checked and its numbers of chunks and switches.

    `asked` holds values for names of PARAMETERS; None means that nobody asked. A plan that is only
    `priced` may be one that no schedule can follow. With more than `most_ranks` ranks nothing is
    planned: a schedule of MAX_TRANSFERS at most has no more of them, and no column any number.

    Raises:
        ValueError: as `build`, but for the length of the schedule; more than MAX_RANKS ranks or
            MAX_CHUNKS chunks.
    """
    known = algorithms(collective)
    wanted: object = algorithm
    if not isinstance(wanted, str) or wanted not in known:
        raise ValueError(unknown_name(f"algorithm of {collective}", algorithm, known))
    entry = ALGORITHMS[collective, algorithm]
    name = f"{algorithm} {collective}"
    _check_whole("world_size", world_size, least=1)
    _check_not_absurd(world_size, asked, most_ranks)
    parameters = {key: value for key, value in asked.items() if value is not None}
    chunks = parameters.pop("num_chunks", None)
    if chunks is not None:
        _check_whole("num_chunks", chunks, least=1)
        if "num_chunks" in entry.parameters:
            parameters["num_chunks"] = chunks
    _check_root(collective, world_size, parameters)
    for key, value in parameters.items():
        if key not in entry.parameters:
            message = f"{key} is {shown(value)}; {name} has no such parameter, leave it out"
            raise ValueError(message)
    reason = entry.refuse(world_size, **parameters)
    if reason and not (priced and entry.always_priced):
        raise ValueError(reason)
    usual = entry.default_chunks(world_size, **parameters)
    if "num_chunks" in entry.parameters:
        chunks = parameters.setdefault("num_chunks", usual)
    elif chunks not in (None, usual):
        message = f"num_chunks is {chunks}; {name} on {world_size} ranks always uses {usual}"
        raise ValueError(message)
    return Plan(entry, parameters, chunks or usual, entry.num_switches(world_size, **parameters))


def _check_not_absurd(world_size: int, asked: Mapping[str, Any], most_ranks: int) -> None:
    """Refuse at once what would take forever to refuse later."""
    if world_size > MAX_RANKS:
        message = f"world_size is {shown(world_size)}; ranks are int32, {MAX_RANKS:,} at most"
        raise ValueError(message)
    if world_size > most_ranks:  # every collective needs at least n - 1 transfers
        raise ValueError(TOO_LONG)
    for name in ("num_chunks", "node_size", "radix"):
        value = asked.get(name)
        if isinstance(value, int) and value > MAX_CHUNKS:
            message = f"{name} is {shown(value)}; it may be 2^62 at most, give a smaller one"
            raise ValueError(message)


def _check_root(collective: str, world_size: int, parameters: dict[str, Any]) -> None:
    if collective in ROOTED:
        root = parameters.setdefault("root", 0)
        _check_whole("root", root, least=0, most=world_size - 1)
    elif "root" in parameters:
        message = f"root is {shown(parameters['root'])}; {collective} has no root, leave it out"
        raise ValueError(message)


def _least_transfers(plan: Plan, collective: str, world_size: int) -> int:
    """Return a number of transfers below which nobody does this; for all_to_all and direct, n^2."""
    others = world_size - 1
    own_block_stays = collective in ("scatter", "gather", "all_to_all")
    needed = plan.num_chunks * others // (world_size if own_block_stays else 1)
    return max(needed, plan.entry.least_transfers(world_size))


def _written_out(plan: Plan, collective: str, world_size: int) -> Steps:
    """Return all steps, as columns where they are many, or refuse before they fill the memory."""
    if _least_transfers(plan, collective, world_size) > MAX_TRANSFERS:
        raise ValueError(TOO_LONG)
    steps = plan.entry.generator(world_size, **plan.parameters)
    try:
        return write_out(steps, limit=MAX_TRANSFERS)
    except TooLongError:
        raise ValueError(TOO_LONG) from None


def _check_whole(name: str, value: object, *, least: int, most: int | None = None) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or value < least
        or (most is not None and value > most)
    ):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        message = f"{name} is {shown(value)}; it must be a whole number {span}"
        raise ValueError(message)
