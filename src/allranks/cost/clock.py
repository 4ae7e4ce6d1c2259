"""Every message on the clock: in lock-step, or data-driven with no barrier between the steps.

**Data-driven.** A message starts when all of these hold:

- every chunk it carries has its value of the end of the step before at the sender;
- its port at the sender and its port at the receiver are free: a port passes the messages of one
  step before those of the next, and within one step whichever can start first;
- no earlier step still sends the old value of a chunk that it overwrites (write after read).

A chunk that a step both sends and overwrites leaves with its old value: what arrives waits beside
it (a shadow buffer) until the old value is out. A shared link passes the bytes of its messages in
the order in which they come to it, those of earlier steps first. Where every rank has at most one
peer each way in a step, as in most algorithms of the library, the data-driven clock is never later
than lock-step.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from allranks.cost.load import Machine, Messages
from allranks.cost.model import Event
from allranks.schedule import Op, Schedule


class Message(NamedTuple):
    """All that src sends to dst in one step, with the ports and links it passes.

    `rates` are what its two ports carry, in bytes per second; `links` are the shared links between
    them, each with what it carries.
    """

    src: int
    dst: int
    chunks: tuple[int, ...]
    nbytes: float
    reduced: float
    out_port: int
    in_port: int
    alpha: float
    rates: tuple[float, float]
    links: tuple[tuple[int, float], ...]


def timeline_events(schedule: Schedule, machine: Machine) -> Iterator[Event]:
    """Yield the messages in lock-step: all of a step start together, as one port's end together."""
    chunks, messages = _collected(schedule, machine)
    ends = machine.until(messages)
    lasts, _ = machine.busiest(messages, len(schedule.steps))
    starts = np.concatenate([[0.0], np.cumsum(lasts)]).tolist()
    sizes = machine.sizes
    columns = (messages.step, messages.src, messages.dst, messages.units, ends)
    for held, step, src, dst, units, seconds in zip(
        chunks, *(column.tolist() for column in columns), strict=True
    ):
        start = starts[step]
        yield Event(step, src, dst, held, start, start + seconds, sizes.nbytes(units))


def data_driven(schedule: Schedule, machine: Machine) -> Iterator[Event]:
    """Yield the messages without a barrier, step by step, in the order in which they start."""
    clock = _Clock(machine)
    for number, step in enumerate(_steps(schedule, machine)):
        # equal starts go to near neighbors first, so that all-pairs traffic makes no queue
        waiting = [(clock.earliest(m), (m.dst - m.src) % machine.endpoints, m.src, m) for m in step]
        heapq.heapify(waiting)
        done: list[tuple[Message, float, float]] = []
        while waiting:
            known, distance, src, message = heapq.heappop(waiting)
            start = clock.earliest(message)
            if start > known:
                heapq.heappush(waiting, (start, distance, src, message))
                continue
            left, added = clock.send(message, start)
            done.append((message, left, added))
            yield Event(
                number, message.src, message.dst, message.chunks, start, added, message.nbytes
            )
        clock.finish(done)


def _collected(schedule: Schedule, machine: Machine) -> tuple[list[tuple[int, ...]], Messages]:
    """Return the messages of all steps in order of src and dst, with the chunks of each."""
    columns = schedule.columns()
    units = machine.sizes.units(columns.chunk).tolist()
    held: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    total: Counter[tuple[int, int, int]] = Counter()
    reduced: Counter[tuple[int, int, int]] = Counter()
    for (number, t), size in zip(schedule.transfers(), units, strict=True):
        if size:
            key = number, t.src, t.dst
            held[key].append(t.chunk)
            total[key] += size
            reduced[key] += size if t.op is Op.REDUCE else 0
    keys = sorted(held)
    rows = np.array(keys, dtype=np.int64).reshape(-1, 3).T
    sums = (np.array([count[key] for key in keys], dtype=np.int64) for count in (total, reduced))
    return [tuple(held[key]) for key in keys], Messages(*rows, *sums)


def _steps(schedule: Schedule, machine: Machine) -> Iterator[list[Message]]:
    """Yield the messages of each step with all that the clock must know of them."""
    chunks, messages = _collected(schedule, machine)
    out, into = machine.ports(messages, "out").tolist(), machine.ports(messages, "in").tolist()
    routes = machine.routes(messages)
    nbytes = [machine.sizes.nbytes(units) for units in messages.units.tolist()]
    reduced = [machine.sizes.nbytes(units) for units in messages.reduced.tolist()]
    size, topology = len(chunks), machine.topology
    alphas, rates = [topology.alpha] * size, [(topology.bandwidth,) * 2] * size
    links: list[tuple[tuple[int, float], ...]] = [()] * size
    if routes is not None:
        alphas = routes.alpha.tolist()
        rates = list(zip(routes.out.tolist(), routes.into.tolist(), strict=True))
        for passage in routes.passages:
            columns = (passage.rows, passage.link, passage.bandwidth)
            for row, link, rate in zip(*(column.tolist() for column in columns), strict=True):
                links[row] += ((link, rate),)
    ends = zip(messages.src.tolist(), messages.dst.tolist(), strict=True)
    made = [
        Message(*pair, *rest)
        for pair, *rest in zip(
            ends, chunks, nbytes, reduced, out, into, alphas, rates, links, strict=True
        )
    ]
    bounds = np.searchsorted(messages.step, np.arange(len(schedule.steps) + 1)).tolist()
    for first, last in itertools.pairwise(bounds):
        yield made[first:last]


class _Clock:
    """The state of the data-driven clock: when ports are free, chunks in place, old values out."""

    def __init__(self, machine: Machine) -> None:
        self._gamma = machine.topology.gamma
        self._in_flight = machine.topology.in_flight
        self._ends: defaultdict[tuple[str, int], deque[float]] = defaultdict(
            lambda: deque(maxlen=self._in_flight)
        )
        self._passed: defaultdict[int, float] = defaultdict(float)
        self._in_place: defaultdict[tuple[int, int], float] = defaultdict(float)
        self._read: defaultdict[tuple[int, int], float] = defaultdict(float)

    def earliest(self, message: Message) -> float:
        """Return when a message of the current step can start, as far as is decided."""
        times = [0.0]
        for port in (("out", message.out_port), ("in", message.in_port)):
            ends = self._ends[port]
            if len(ends) == self._in_flight:
                times.append(ends[0])
        for chunk in message.chunks:
            times.append(self._in_place[message.src, chunk])
            times.append(self._read[message.dst, chunk])
        return max(times)

    def send(self, message: Message, start: float) -> tuple[float, float]:
        """Return when the last byte has left, and when it is received and added."""
        out_ends = self._ends["out", message.out_port]
        in_ends = self._ends["in", message.in_port]
        # messages in flight share the wire: their bytes pass one after another
        wire = max([start + message.alpha, *list(out_ends)[-1:], *list(in_ends)[-1:]])
        out_rate, in_rate = message.rates
        left = wire + message.nbytes / min(out_rate, in_rate)
        for link, rate in message.links:
            # a link passes messages in the order in which they come to it
            self._passed[link] = max(self._passed[link], wire) + message.nbytes / rate
            left = max(left, self._passed[link])
        received = wire + message.nbytes / in_rate + message.reduced * self._gamma
        added = max(left, received)
        out_ends.append(left)
        in_ends.append(added)
        return left, added

    def finish(self, step: list[tuple[Message, float, float]]) -> None:
        """Make what a step has read and written known to the steps after it."""
        out: defaultdict[tuple[int, int], float] = defaultdict(float)
        for message, left, _ in step:
            for chunk in message.chunks:
                out[message.src, chunk] = max(out[message.src, chunk], left)
        for message, _, added in step:
            for chunk in message.chunks:
                place = message.dst, chunk
                self._in_place[place] = max(self._in_place[place], added, out[place])
        for place, left in out.items():
            self._read[place] = max(self._read[place], left)
