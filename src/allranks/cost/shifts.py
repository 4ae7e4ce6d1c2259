"""Steps that look the same from every rank, priced from the messages of a few ranks.

In a uniform network one rank stands for all. In a network of tiers whose groups are all alike, the
ranks of one group do: their own ports, and the links that only they use, are as busy as anybody's.
Distances that load these alike are taken together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from allranks.cost.forms.base import Shift
from allranks.cost.load import Messages
from allranks.cost.sizes import Array, Floats, wide
from allranks.cost.tally import Tally

MOST_MESSAGES = 1 << 25  # listed at most for one run, a few seconds' work
_AT_A_TIME = 1 << 18


def add_shift(tally: Tally, run: Shift) -> None:
    """Add a run of equal steps to the sums.

    Raises:
        ValueError: the ranks of this topology differ, and there are too many messages to list.
    """
    machine, network = tally.machine, tally.machine.topology.network
    one_port = machine.topology.ports == 1
    tally.add_to_all(int(wide(run.chunks).sum()) * run.repeat, run.step.size * run.repeat)
    if network is None and (one_port or _even(run)):
        seconds, terms = _uniform(tally, run)
        tally.crowded |= bool(terms.max(initial=0) > 1)
    else:
        n = machine.world_size
        span = network.period(n) if network is not None and one_port else n
        rows = _Rows(*run[1:], None, None)
        if network is not None and span < n:
            rows = _alike(rows._replace(shift=network.alike(n, run.shift)))
        seconds, terms = _listed(tally, rows, span)
        tally.crowded |= bool(terms.max(initial=0) > 1)
        if rows.times is not None:
            seconds, terms = seconds * rows.times, terms * rows.times
    steps = int(run.step[-1]) + 1
    tally.add_time(seconds, int(terms.sum()), steps=steps, repeat=run.repeat)


def _even(run: Shift) -> bool:
    """Return whether the messages of every step are equally large."""
    same = run.step[1:] == run.step[:-1]
    unequal = (np.diff(run.chunks) != 0) | (np.diff(run.reduced) != 0)
    return not (same & unequal).any()


def _uniform(tally: Tally, run: Shift) -> tuple[Floats, Array]:
    """Price one rank's port: with several, the first one has the most peers."""
    topology, sizes = tally.machine.topology, tally.machine.sizes
    first = np.flatnonzero(np.diff(run.step, prepend=-1))
    peers = np.diff(first, append=run.step.size)
    here = -(-peers // topology.ports)
    terms = -(-here // topology.in_flight)
    chunks, reduced = run.chunks[first] * here, run.reduced[first] * here
    if topology.ports == 1:
        chunks, reduced = (np.add.reduceat(c, first) for c in (run.chunks, run.reduced))
    seconds = terms * topology.alpha + sizes.floats(chunks) / topology.bandwidth
    if topology.gamma:
        seconds += sizes.floats(reduced) * topology.gamma
    return seconds, terms


class _Rows(NamedTuple):
    """Entries of a Shift: each stands for `weight` of its kind, each step for `times` like it."""

    step: Array
    shift: Array
    chunks: Array
    reduced: Array
    weight: Array | None
    times: Array | None


def _alike(rows: _Rows) -> _Rows:
    """Take together what loads a group alike: whole steps of one entry, or entries of a step."""
    one_each = int(rows.step[-1]) + 1 == rows.step.size
    columns = rows[1:4] if one_each else rows[:4]
    order = np.lexsort(columns[::-1])
    new = np.zeros(order.size, dtype=bool)
    new[0] = True
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    first = np.flatnonzero(new)
    counts = np.diff(first, append=order.size)
    step, shift, chunks, reduced = (column[order[first]] for column in rows[:4])
    if one_each:
        return _Rows(np.arange(first.size), shift, chunks, reduced, None, counts)
    return _Rows(step, shift, chunks, reduced, counts, None)


def _listed(tally: Tally, rows: _Rows, span: int) -> tuple[Floats, Array]:
    """Price steps by the messages from and to the first `span` ranks."""
    machine = tally.machine
    n, steps = machine.world_size, int(rows.step[-1]) + 1
    if rows.step.size * span > MOST_MESSAGES:
        message = (
            f"topology {machine.topology.name!r}: {n:,} ranks are not alike in it, and "
            f"{rows.step.size * span:,} messages are too many to list; choose a number of ranks "
            "that fills its groups, or a uniform topology"
        )
        raise ValueError(message)
    seconds, terms = np.zeros(steps), np.zeros(steps, dtype=np.int64)
    bounds = np.searchsorted(rows.step, np.arange(steps + 1)).tolist()
    for first, last in _blocks(bounds, max(1, _AT_A_TIME // span)):
        part = slice(bounds[first], bounds[last])
        step, shift, units, reduced = (np.repeat(c[part], span) for c in rows[:4])
        weight = None if rows.weight is None else np.repeat(rows.weight[part], span)
        rank = np.tile(np.arange(span), step.size // span)
        sent = Messages(step - first, rank, (rank + shift) % n, units, reduced, weight)
        asked = [sent]
        if span < n:
            back = sent._replace(src=(rank - shift) % n, dst=rank, sides=("in",))
            asked = [sent._replace(sides=("out",)), back]
        for messages in asked:
            lasts, paid = machine.busiest(messages, last - first)
            seconds[first:last] = np.maximum(seconds[first:last], lasts)
            terms[first:last] = np.maximum(terms[first:last], paid)
    return seconds, terms


def _blocks(bounds: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield whole steps, with about so many rows at a time."""
    first = 0
    for last in range(1, len(bounds)):
        full = last + 1 == len(bounds) or bounds[last + 1] - bounds[first] > most
        if full:
            yield first, last
            first = last
