"""Execute a compiled program: wait, read the senders' memory in place, publish, note the time.

Knows memory and counters, no Ray. The clock is CLOCK_MONOTONIC, which all processes of a machine
share, so the times of different ranks can be compared.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allranks.runtime.compile import OWN, Program
from allranks.runtime.shm import Control

Array = npt.NDArray[Any]

# Linux 5.14: touch pages ahead, so that page faults do not count as transfer time.
_POPULATE_READ, _POPULATE_WRITE = 22, 23


class Region(NamedTuple):
    """Where an endpoint's memory lies in the arena: byte offset, and size in elements."""

    offset: int
    elements: int


class Action(NamedTuple):
    """An instruction with its addresses filled in."""

    waits: tuple[tuple[int, int], ...]
    target: Array
    sources: tuple[Array, ...]
    transfers: tuple[int, ...]


@dataclass
class Record:
    """What an endpoint measured: per transfer it received, start, end (ns) and bytes moved."""

    start_ns: int = 0
    end_ns: int = 0
    begin: dict[int, int] = field(default_factory=dict)
    end: dict[int, int] = field(default_factory=dict)
    nbytes: dict[int, int] = field(default_factory=dict)
    overflowed: int | None = None

    def note(self, transfer: int, begin_ns: int, end_ns: int, nbytes: int) -> None:
        """Add a tile to a transfer."""
        self.begin.setdefault(transfer, begin_ns)
        self.end[transfer] = end_ns
        self.nbytes[transfer] = self.nbytes.get(transfer, 0) + nbytes


def view(memory: mmap.mmap, region: Region, dtype: np.dtype[Any]) -> Array:
    """Return an endpoint's memory as one flat array."""
    return np.ndarray((region.elements,), dtype, memory, region.offset)


def load(
    program: Program,
    endpoint: int,
    regions: Sequence[Region],
    memory: mmap.mmap,
    dtype: np.dtype[Any],
) -> list[Action]:
    """Turn offsets into arrays over the arena, and touch every page that the program will use."""
    flat = [view(memory, region, dtype) for region in regions]
    own = flat[endpoint]
    reads: list[tuple[int, int]] = []
    writes: list[tuple[int, int]] = []
    actions: list[Action] = []
    for instruction in program.instructions:
        count = instruction.elements
        sources = tuple(
            flat[source.endpoint][source.offset : source.offset + count]
            for source in instruction.sources
        )
        target = own[instruction.target : instruction.target + count]
        transfers = tuple(source.transfer for source in instruction.sources)
        actions.append(Action(instruction.waits, target, sources, transfers))
        writes.append((regions[endpoint].offset + instruction.target * dtype.itemsize, count))
        reads += [
            (regions[source.endpoint].offset + source.offset * dtype.itemsize, count)
            for source in instruction.sources
        ]
    _touch(memory, writes, dtype.itemsize, _POPULATE_WRITE)
    _touch(memory, reads, dtype.itemsize, _POPULATE_READ)
    return actions


def _touch(memory: mmap.mmap, parts: list[tuple[int, int]], itemsize: int, advice: int) -> None:
    spans: list[tuple[int, int]] = []
    for offset, count in sorted(parts):
        first = offset // mmap.PAGESIZE * mmap.PAGESIZE
        end = offset + count * itemsize
        if spans and first <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((first, end))
    for first, end in spans:
        if end > first:
            try:
                memory.madvise(advice, first, end - first)
            except (OSError, AttributeError):
                # An older kernel, or not Linux: the first run then pays for the page faults.
                return


def play(  # noqa: PLR0913 - who, where, which run and with what arithmetic
    actions: Sequence[Action],
    control: Control,
    endpoint: int,
    *,
    run: int,
    base: int,
    ufunc: np.ufunc,
    before: Callable[[int], None] | None = None,
) -> Record:
    """Execute a program and return what was measured; counters run from `base`.

    `before(i)` is called ahead of instruction i; tests use it to disturb the timing.

    Raises:
        Stopped: the run was aborted while this endpoint waited.
    """
    record = Record()
    now = time.monotonic_ns
    current = OWN

    def overflow(_error: str, _flag: int) -> None:
        if record.overflowed is None:
            record.overflowed = current

    with np.errstate(over="call", invalid="ignore", under="ignore", call=overflow):
        for done, (waits, target, sources, transfers) in enumerate(actions):
            if before:
                before(done)
            for peer, count in waits:
                control.wait(endpoint, peer, base + count, run)
            begin = now()
            if len(sources) == 1:
                np.copyto(target, sources[0])
                record.note(transfers[0], begin, now(), target.nbytes)
            else:
                total = sources[0]
                for source, transfer in zip(sources[1:], transfers[1:], strict=True):
                    current = transfer
                    ufunc(total, source, out=target)
                    total = target
                    end = now()
                    record.note(transfer, begin, end, target.nbytes)
                    begin = end
                if transfers[0] != OWN:
                    first = record.begin[transfers[1]]
                    record.note(transfers[0], first, record.end[transfers[1]], target.nbytes)
            control.publish(endpoint, base + done + 1)
    return record


def arrive(control: Control, endpoint: int, *, run: int, base: int, endpoints: int) -> None:
    """Say that this endpoint's input lies ready, and wait until everybody says so.

    Raises:
        Stopped: the run was aborted meanwhile.
    """
    control.publish(endpoint, base)
    for peer in range(endpoints):
        if peer != endpoint:
            control.wait(endpoint, peer, base, run)


def leave(program: Program, control: Control, endpoint: int, *, run: int, base: int) -> None:
    """Wait until nobody reads this endpoint's memory any more.

    Raises:
        Stopped: the run was aborted meanwhile.
    """
    for peer, count in program.exits:
        control.wait(endpoint, peer, base + count, run)
