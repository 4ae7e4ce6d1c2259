"""The price of an algorithm from its form: no chunk is written out, so any n is possible."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from allranks.algorithms import NodeSize, Plan, algorithms, plan_of
from allranks.algorithms.hierarchical import NODE_SIZE, node_sizes
from allranks.collectives import contract
from allranks.cost.checks import check_topology
from allranks.cost.forms import FORMS, Run, Shift, Stream
from allranks.cost.load import Messages
from allranks.cost.model import Cost
from allranks.cost.shifts import add_shift
from allranks.cost.sizes import Array, equal_chunks
from allranks.cost.streams import add_stream
from allranks.cost.tally import Tally
from allranks.cost.walk import BLOCK, placed
from allranks.errors import unknown_name
from allranks.topology import Tier, Topology


def price(  # noqa: PLR0913 - the parameters of every algorithm
    collective: str,
    algorithm: str,
    *,
    world_size: int,
    nbytes: float,
    topology: Topology,
    root: int | None = None,
    num_chunks: int | None = None,
    node_size: NodeSize | None = None,
    inner: str | None = None,
    outer: str | None = None,
    radix: int | None = None,
) -> Cost:
    """Return what an algorithm costs without writing out its schedule, so for any n in no time.

    `nbytes` is S, the bytes of the whole vector: the output for all_gather, the input for
    reduce_scatter, one rank's send buffer for all_to_all. The other parameters are those of
    `allranks.schedule`.

    The messages are not listed one by one: the algorithm's *form* says which messages each step
    has (in a ring, n - 1 times "every rank sends one chunk to the next"), and these are added up.
    The clock is *lock-step*: a step begins when the one before has ended everywhere, and lasts as
    long as its busiest port or link. The numbers are those of `cost` of the schedule: steps,
    messages and bytes exactly, seconds up to rounding.

    One schedule is one of NCCL's channels. On several nodes a flat ring uses one adapter of each
    node, the one where the ring leaves it; NCCL runs such a ring, rotated, on every adapter. And
    nvls with its usual n chunks is one slice that passes its stages one after another (four steps
    for all_reduce); more chunks (`num_chunks`, a multiple of n) make a pipeline of it.

    Raises:
        ValueError: what `allranks.schedule` refuses, an algorithm without a form here, a negative
            size, a topology for fewer ranks or without the algorithm's switches, or one in which
            ranks differ so much that every message of a huge schedule would have to be listed.

    >>> bench = Topology.preset("bench", 131_072)
    >>> price("all_reduce", "ring", world_size=131_072, nbytes=2**30, topology=bench).steps
    262142
    >>> dgx = Topology.preset("dgx-h100", 8)
    >>> of_nvls = [
    ...     price("all_reduce", "nvls", world_size=8, nbytes=2**30, topology=dgx, num_chunks=chunks)
    ...     for chunks in (None, 8 * 64)
    ... ]
    >>> [f"{cost.steps} steps, {cost.seconds * 1e3:.1f} ms" for cost in of_nvls]
    ['4 steps, 6.5 ms', '67 steps, 3.6 ms']
    """
    asked = {
        "root": root,
        "num_chunks": num_chunks,
        "node_size": node_size,
        "inner": inner,
        "outer": outer,
        "radix": radix,
    }
    promise = contract(collective)
    plan = plan_of(collective, algorithm, world_size, asked, priced=True)
    if (collective, algorithm) not in FORMS:
        known = [name for of, name in FORMS if of == collective and name in algorithms(collective)]
        raise ValueError(unknown_name(f"priced algorithm of {collective}", algorithm, known))
    promise.size(world_size, plan.num_chunks, plan.parameters.get("root"))
    check_topology(topology, world_size)
    sizes = equal_chunks(nbytes, world_size, plan.num_chunks, promise.pieces(world_size))
    if algorithm == "hierarchical":
        _check_switches_of_nodes(plan, world_size, topology)
    ends = _switch_messages(collective, algorithm, plan, world_size, topology)
    tally = Tally(placed(topology, world_size, plan.num_switches, sizes, *ends, algorithm))
    if world_size > 1:
        for run in _runs(collective, algorithm, plan, world_size):
            _add(tally, run, silent=sizes.unit == 0)
    return tally.cost(collective, nbytes)


def _runs(collective: str, algorithm: str, plan: Plan, n: int) -> Iterator[Run]:
    parameters = {name: value for name, value in plan.parameters.items() if name != "num_chunks"}
    yield from FORMS[collective, algorithm].phases(n, plan.num_chunks, **parameters)


def _check_switches_of_nodes(plan: Plan, n: int, topology: Topology) -> None:
    """Refuse NVLS beyond one node of the machine, and SHARP within one."""
    tiers: tuple[Tier, ...] = getattr(topology.network, "tiers", ())
    held = topology.node_size
    if held is None or not any(isinstance(tier.reduces, str) for tier in tiers):
        return  # switches that add in any way add wherever they stand
    sizes = node_sizes(n, plan.parameters.get("node_size", NODE_SIZE))
    if plan.parameters.get("inner") == "nvls" and any(
        first // held != (first + size - 1) // held
        for first, size in zip(accumulate(sizes, initial=0), sizes, strict=False)
    ):
        message = (
            f"inner is 'nvls', and some node that was asked for is not within one node of "
            f"{topology.name!r}, which holds {held} ranks; give a node_size that divides {held}"
        )
        raise ValueError(message)
    if plan.parameters.get("outer") == "sharp" and n <= held and tiers[0].reduces is not True:
        message = (
            f"outer is 'sharp', but all {n} ranks are on one node of {topology.name!r}, whose "
            "switch does not add so; choose another outer algorithm"
        )
        raise ValueError(message)


def _switch_messages(
    collective: str, algorithm: str, plan: Plan, n: int, topology: Topology
) -> tuple[Array, Array]:
    """Return the ends of messages from and to switches, if the network must place these."""
    found: list[tuple[Array, Array]] = [(np.empty(0, dtype=np.int64),) * 2]
    if plan.num_switches and topology.network is not None and n > 1:
        for run in _runs(collective, algorithm, plan, n):
            if not isinstance(run, Shift):
                which = (run.src >= n) | (run.dst >= n)
                found.append((run.src[which], run.dst[which]))
    src, dst = (np.concatenate(column) for column in zip(*found, strict=True))
    return src, dst


def _add(tally: Tally, run: Run, *, silent: bool) -> None:
    """Add a run to the sums; `silent` means that its messages have no bytes and are not sent."""
    if silent:
        tally.steps += _steps(run)
    elif isinstance(run, Shift):
        add_shift(tally, run)
    elif isinstance(run, Stream):
        add_stream(tally, run)
    else:
        for first, last, steps in _parts(run.step):
            step, src, dst, chunks, reduced = (column[first:last] for column in run[1:])
            messages = Messages(step - step[0], src, dst, chunks, reduced)
            tally.add(messages, steps=steps, repeat=run.repeat)


def _steps(run: Run) -> int:
    if isinstance(run, Stream):
        return int((run.start + run.every * (run.times - 1)).max()) + 1
    return run.repeat * (int(run.step[-1]) + 1)


def _parts(step: Array) -> Iterator[tuple[int, int, int]]:
    """Yield (first row, last row, steps) of whole steps, about BLOCK rows at a time."""
    first, rows = 0, step.size
    while first < rows:
        last = rows
        if rows - first > BLOCK:
            last = int(np.searchsorted(step, step[first + BLOCK], side="left"))
            if last <= first:
                last = int(np.searchsorted(step, step[first], side="right"))
        yield first, last, int(step[last - 1] - step[first]) + 1
        first = last
