"""Pipelines, in which the same messages recur step after step, priced without listing the steps.

What a port or a link passes changes only where one of its streams starts or ends. Between two such
moments all steps are alike to it, so its load is a few spans of time with one price each. The price
of a step is the largest of the prices whose spans cover it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allranks.cost.forms.base import Stream
from allranks.cost.groups import rising
from allranks.cost.load import Busy, Machine, Messages
from allranks.cost.sizes import Array, Floats
from allranks.cost.tally import Tally
from allranks.cost.walk import joined
from allranks.topology.network import Routes

MOST_ENTRIES = 1 << 24  # listed at most for one pipeline, some seconds' work
_DENSE = 8  # counting moments costs less than sorting them while they span so many times as much
_FEW = 24  # different prices that are laid over each other one by one


class _Profile:
    """The price of every step of a pipeline: the largest value whose span covers the step.

    Prices change only at moments when some stream starts or ends; `points` are these.
    """

    def __init__(self, begin: Array, end: Array) -> None:
        last = int(end.max())
        self._number: Array | None = None
        if last > _DENSE * end.size:
            self.points = rising(np.concatenate([begin, end]))
        else:
            seen = np.zeros(last + 1, dtype=bool)
            seen[begin] = True
            seen[end] = True
            self.points = np.flatnonzero(seen)
            self._number = np.cumsum(seen) - 1
        self.seconds = np.zeros(self.points.size)
        self.terms = np.zeros(self.points.size)

    def lay(self, cut: _Cut, busy: Busy) -> None:
        """Raise the prices of the steps in which ports or links are busy."""
        first, last = (self._numbered(moment[busy.step]) for moment in (cut.begin, cut.end))
        _raise(self.seconds, first, last, busy.seconds)
        if busy.terms.any():
            _raise(self.terms, first, last, busy.terms)

    def totals(self) -> tuple[float, int]:
        """Return the seconds and the alphas of all steps together."""
        lengths = np.diff(self.points)
        return float(self.seconds[:-1] @ lengths), round(float(self.terms[:-1] @ lengths))

    def _numbered(self, moments: Array) -> Array:
        if self._number is None:
            return np.searchsorted(self.points, moments)
        return self._number[moments]


class _Cut(NamedTuple):
    """Streams cut where another stream of the same port or link starts or ends.

    Stream `row[i]` takes part in span `span[i]`, in rising order of the spans; span s lasts from
    `begin[s]` to `end[s]`.
    """

    row: Array
    span: Array
    begin: Array
    end: Array


def add_stream(tally: Tally, run: Stream) -> None:
    """Add a pipeline to the sums.

    Raises:
        ValueError: so many streams start and end at one port or link that listing takes too long.
    """
    machine = tally.machine
    steps = int((run.start + run.every * (run.times - 1)).max()) + 1
    if machine.topology.ports > 1:
        _add_listed(tally, run, steps)
        return
    each = Messages(np.zeros_like(run.src), run.src, run.dst, run.chunks, run.reduced)
    tally.add_bytes(each, run.times)
    # steps that are `every` apart become neighbors, each residue a stretch of time of its own
    stretch = steps // run.every + 2
    begin = run.start % run.every * stretch + run.start // run.every
    end = begin + run.times
    routes, profile = machine.routes(each), _Profile(begin, end)
    for side in ("out", "in"):
        cut = _cut(machine.ports(each, side), begin, end, machine)
        messages = _taking_part(machine, each, cut)
        ways = None
        if routes is not None and messages.src.size == cut.row.size:
            alpha, out, into = (column[cut.row] for column in routes[:3])
            ways = Routes(alpha, out, into, ())
        profile.lay(cut, machine.side(messages, side, ways))
        if side == "out":
            tally.messages += int((cut.end - cut.begin)[messages.step].sum())
    if routes is not None:
        _lay_links(profile, machine, each, routes, begin, end)
    seconds, terms = profile.totals()
    tally.crowded |= bool(profile.terms.max(initial=0) > 1)
    tally.add_time(np.array([seconds]), terms, steps=steps)


def _add_listed(tally: Tally, run: Stream, steps: int) -> None:
    """Add every message of every step: the peers of a step are dealt over a rank's ports."""
    _check_entries(int(run.times.sum()), tally.machine)
    row = np.repeat(np.arange(run.src.size), run.times)
    turn = np.arange(row.size) - np.repeat(np.cumsum(run.times) - run.times, run.times)
    step = run.start[row] + run.every * turn
    order = np.argsort(step, kind="stable")
    src, dst, chunks, reduced = (column[row[order]] for column in run[3:])
    listed = Messages(step[order], src, dst, chunks, reduced)
    tally.add(joined(listed, tally.machine.endpoints), steps=steps)


def _cut(key: Array, begin: Array, end: Array, machine: Machine) -> _Cut:
    """Cut streams, given the port or link that each passes."""
    rows, late = np.arange(key.size), int(end.max()) + 1
    since, till = key * late + begin, key * late + end
    order = np.argsort(since, kind="stable")
    if (till[order[:-1]] <= since[order[1:]]).all():
        return _Cut(rows, rows, begin, end)  # no two at once
    points = rising(np.concatenate([since, till]))
    first, last = np.searchsorted(points, since), np.searchsorted(points, till)
    _check_entries(int((last - first).sum()), machine)
    row = np.repeat(rows, last - first)
    offset = np.cumsum(last - first) - (last - first)
    span = np.arange(row.size) - np.repeat(offset - first, last - first)
    order = np.argsort(span, kind="stable")
    return _Cut(row[order], span[order], points % late, np.append(points[1:], 0) % late)


def _taking_part(machine: Machine, each: Messages, cut: _Cut) -> Messages:
    """Return the messages of every span, as if a span were a step."""
    src, dst, units, reduced = (column[cut.row] for column in each[1:5])
    return joined(Messages(cut.span, src, dst, units, reduced), machine.endpoints)


def _lay_links(  # noqa: PLR0913, PLR0917 - streams, where they pass and when
    profile: _Profile, machine: Machine, each: Messages, routes: Routes, begin: Array, end: Array
) -> None:
    """Raise the prices of the steps in which shared links are busy."""
    for rows, link, rate, _ in routes.passages:
        cut = _cut(link - link.min(), begin[rows], end[rows], machine)
        busy = machine.link_seconds(
            cut.span,
            alpha=routes.alpha[rows][cut.row],
            units=each.units[rows][cut.row],
            rate=rate[cut.row],
        )
        profile.lay(cut, busy)


def _raise(most: Floats, first: Array, last: Array, value: Floats | Array) -> None:
    """Raise most[first:last] to the value of every span."""
    low, high = value.min(), value.max()
    values = np.array([low, high])[: 1 + int(low != high)]
    if low != high and not ((value == low) | (value == high)).all():
        values = rising(np.asarray(value))
    if values.size > _FEW:
        _paint(most, first, last, value)
        return
    for one in values.tolist():
        here = value == one
        starts, stops = (np.bincount(where[here], minlength=most.size) for where in (first, last))
        covered = np.cumsum(starts - stops) > 0
        most[covered] = np.maximum(most[covered], one)


def _paint(most: Floats, first: Array, last: Array, value: Floats | Array) -> None:
    """Do the same for many different values.

    A span is two overlapping stretches of 2^level points; these are halved level by level.
    """
    level = np.log2(last - first).astype(np.int64)
    painted = np.zeros(most.size)
    for power in range(int(level.max()), -1, -1):
        half = 1 << power
        halved = painted[: painted.size - half].copy()
        np.maximum(painted[half:], halved, out=painted[half:])
        here = level == power
        np.maximum.at(painted, first[here], value[here])
        np.maximum.at(painted, last[here] - half, value[here])
    np.maximum(most, painted, out=most)


def _check_entries(entries: int, machine: Machine) -> None:
    if entries > MOST_ENTRIES:
        message = (
            f"topology {machine.topology.name!r}: {entries:,} messages of a pipeline are too many "
            "to list; choose fewer chunks or ranks, or a topology with one port a rank"
        )
        raise ValueError(message)
