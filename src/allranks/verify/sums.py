"""Values by number: play the steps of many chunks with one integer for each value.

Broad steps are played as arrays, narrow ones (a chain has one transfer a step) row by row: the same
rules, twice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from allranks.verify.promise import Array

BROAD = 24  # transfers; from here on a step costs less as an array
PIECE = 1 << 14  # rows that are written out as Python's numbers at a time


class Bad(NamedTuple):
    """A row that cannot be played: a second write into one cell, or a send of what is not held."""

    row: int
    conflict: bool


class Sums:
    """The ids of a table of cells, and the sums that were made on the way.

    Ids 1 .. num_leaves are leaves, later ones sums in the order in which they were made; 0 is held
    where nothing is. Sum number i (id num_leaves + 1 + i) adds the ids `low[i]` <= `high[i]`, both
    smaller than its own, and was first written into `cell[i]`.
    """

    def __init__(self, table: Array, num_leaves: int, most_sums: int) -> None:
        self.table = table
        self.num_leaves = num_leaves
        self.num_sums = 0
        self._low, self._high, self._cell = np.zeros((3, most_sums), dtype=np.int32)
        self._views = _view(self._low), _view(self._high), _view(self._cell)
        self._writer = np.zeros(len(table), dtype=np.int32)
        self._adder = np.zeros(num_leaves + most_sums + 1, dtype=np.int32)

    def times_below_a_sum(self) -> Array:
        """Return for each id, 0 included, how often it stands below a sum."""
        made = slice(0, self.num_sums)
        below = np.concatenate([self._low[made], self._high[made]])
        return np.bincount(below, minlength=self.num_leaves + self.num_sums + 1)

    def leaves_below(self, top: int) -> Array:
        """Return for each leaf how many ways lead down to it from an id: 0, 1, or 2 for more.

        Counting no further than "more" is exact: more ways to a sum are more to all below it.
        """
        ways = bytearray(top + 1)
        ways[top] = 1
        low, high, _ = self._views
        for one in range(top, self.num_leaves, -1):
            if ways[one]:
                number = one - self.num_leaves - 1
                for below in (low[number], high[number]):
                    ways[below] = min(2, ways[below] + ways[one])
        counts = np.frombuffer(ways, dtype=np.uint8)[1 : self.num_leaves + 1]
        return np.pad(counts, (0, self.num_leaves - len(counts)))

    def cell_of(self, ids: Array) -> Array:
        """Return a cell of the chunk of each id: where it was at the start, or first written."""
        cells = ids - 1
        later = ids > self.num_leaves
        cells[later] = self._cell[ids[later] - self.num_leaves - 1]
        return cells

    def play(self, read: Array, write: Array, reduce: Array, bounds: Array) -> Bad | None:
        """Play all steps; return the first row that cannot be played, if there is one."""
        broad = np.diff(bounds) >= BROAD
        turns = np.flatnonzero(broad[1:] != broad[:-1]) + 1
        edges = bounds.tolist()
        for first, last in pairwise([0, *turns.tolist(), len(broad)]):
            if first < last and broad[first]:
                bad = self._march(read, write, reduce, edges[first : last + 1])
            else:
                bad = self._walk(read, write, reduce, edges[first : last + 1])
            if bad:
                return bad
        return None

    def _march(self, read: Array, write: Array, reduce: Array, edges: list[int]) -> Bad | None:
        """Play broad steps, each as arrays; step s is the rows edges[s] to edges[s + 1] - 1."""
        for first, last in pairwise(edges):
            into, added = write[first:last], reduce[first:last]
            sent = self.table[read[first:last]]
            order = np.arange(last - first, dtype=np.int32)
            self._writer[into] = order
            alone = bool((self._writer[into] == order).all())
            if not alone or not sent.all():
                bad = _first_bad(sent.tolist(), into.tolist(), added.tolist())
                if bad:
                    return Bad(first + bad.row, bad.conflict)
            if alone:
                self._write(into, sent, added)
            else:
                self._heap(into, sent, added)
        return None

    def _write(self, into: Array, sent: Array, added: Array) -> None:
        """Write into cells of which no two are the same."""
        if added.any():
            own = self.table[into]
            both = added & (own != 0)
            if both.all():
                sent = self._add(own, sent, into)
            elif both.any():
                sent[both] = self._add(own[both], sent[both], into[both])
        self.table[into] = sent

    def _heap(self, into: Array, sent: Array, added: Array) -> None:
        """Write into cells of which some are the same, which all add.

        What comes together in one cell is put in order, then added in pairs until one is left. So
        equal heaps become equal sums.
        """
        cells = np.unique(into[added])
        own = self.table[cells]
        heap = np.concatenate([into[added], cells[own != 0]]).astype(np.int64) << 32
        heap |= np.concatenate([sent[added], own[own != 0]])
        heap.sort()
        cell, ids = heap >> 32, heap.astype(np.int32)
        self.table[into[~added]] = sent[~added]
        while True:
            again = np.append(cell[1:] == cell[:-1], False)
            if not again.any():
                break
            place = np.arange(len(cell))
            starts = np.append(True, ~again[:-1])
            even = (place - np.maximum.accumulate(np.where(starts, place, 0))) % 2 == 0
            left = np.flatnonzero(even & again)
            ids[left] = self._add(ids[left], ids[left + 1], cell[left])
            cell, ids = cell[even], ids[even]
        self.table[cell] = ids

    def _add(self, one: Array, other: Array, cell: Array) -> Array:
        """Return the ids of the sums of two, row by row; equal pairs get one id."""
        low, high = np.minimum(one, other), np.maximum(one, other)
        order = np.arange(len(low), dtype=np.int32)
        self._adder[low] = order
        leader = self._adder[low]  # a row with the same low id; the same for all of them
        if (leader == order).all():
            return self._new(low, high, cell)
        if (high[leader] == high).all():
            leads = leader == order
            order[leads] = self._new(low[leads], high[leads], cell[leads])
            return order[leader]
        pairs = low.astype(np.int64) << 32 | high
        _, leads, back = np.unique(pairs, return_index=True, return_inverse=True)
        return self._new(low[leads], high[leads], cell[leads])[back]

    def _new(self, low: Array, high: Array, cell: Array) -> Array:
        made = slice(self.num_sums, self.num_sums + len(low))
        self._low[made], self._high[made], self._cell[made] = low, high, cell
        first = self.num_leaves + 1 + self.num_sums
        self.num_sums += len(low)
        return np.arange(first, first + len(low), dtype=np.int32)

    def _walk(self, read: Array, write: Array, reduce: Array, edges: list[int]) -> Bad | None:
        """Play narrow steps, row by row."""
        start = 0
        while start < len(edges) - 1:
            stop = max(start + 1, bisect_right(edges, edges[start] + PIECE) - 1)
            rows = slice(edges[start], edges[stop])
            sides = read[rows].tolist(), write[rows].tolist(), reduce[rows].tolist()
            bad = self._piece(*sides, [edge - rows.start for edge in edges[start : stop + 1]])
            if bad:
                return Bad(rows.start + bad.row, bad.conflict)
            start = stop
        return None

    def _piece(
        self, read: list[int], write: list[int], reduce: list[bool], edges: list[int]
    ) -> Bad | None:
        held, (low, high, cell_of) = _view(self.table), self._views
        for first, last in pairwise(edges):
            if last - first == 1:  # nobody else reads in this step, so it is written at once
                sent, into = held[read[first]], write[first]
                if not sent:
                    return Bad(first, conflict=False)
                if reduce[first] and (own := held[into]):  # `_add_two`, without a call
                    number = self.num_sums
                    low[number], high[number] = (own, sent) if own < sent else (sent, own)
                    cell_of[number] = into
                    self.num_sums += 1
                    sent = self.num_leaves + self.num_sums
                held[into] = sent
                continue
            values = [held[cell] for cell in read[first:last]]
            cells, adds = write[first:last], reduce[first:last]
            if 0 in values or len(set(cells)) < len(cells):
                bad = _first_bad(values, cells, adds)
                if bad:
                    return Bad(first + bad.row, bad.conflict)
                self._write_heaps(cells, values, adds)
                continue
            pairs: dict[tuple[int, int], int] = {}
            for value, cell, added in zip(values, cells, adds, strict=True):
                own = held[cell] if added else 0
                held[cell] = self._paired(own, value, cell, pairs) if own else value
        return None

    def _write_heaps(self, cells: list[int], values: list[int], adds: list[bool]) -> None:
        """Write what comes together in each cell, and what is there if it is added to."""
        held = _view(self.table)
        heaps: dict[int, list[int]] = {}
        for cell, value, added in zip(cells, values, adds, strict=True):
            heap = heaps.setdefault(cell, [held[cell]] if added and held[cell] else [])
            heap.append(value)
        pairs: dict[tuple[int, int], int] = {}
        for cell, heap in heaps.items():
            ids = sorted(heap)
            while len(ids) > 1:
                rest = ids[len(ids) // 2 * 2 :]
                both = zip(ids[::2], ids[1::2], strict=False)
                ids = [self._paired(*pair, cell, pairs) for pair in both] + rest
            held[cell] = ids[0]

    def _paired(self, one: int, other: int, cell: int, pairs: dict[tuple[int, int], int]) -> int:
        """Return the id of a sum of two, the same for equal pairs."""
        pair = (one, other) if one < other else (other, one)
        if pair not in pairs:
            pairs[pair] = self._add_two(*pair, cell)
        return pairs[pair]

    def _add_two(self, one: int, other: int, cell: int) -> int:
        low, high, cells = self._views
        number = self.num_sums
        low[number], high[number] = (one, other) if one < other else (other, one)
        cells[number] = cell
        self.num_sums += 1
        return self.num_leaves + self.num_sums


def _view(column: Array) -> memoryview[int]:
    """Return a column as Python sees memory: reading one number from it is three times as fast."""
    return memoryview(column)  # type: ignore[arg-type,no-any-return,unused-ignore]


def _first_bad(values: Sequence[int], cells: Sequence[int], adds: Sequence[bool]) -> Bad | None:
    """Return the first row of a step that cannot be played: what it sends, where to, and how."""
    written: dict[int, bool] = {}  # cell: whether it is added to
    for row, (value, cell, added) in enumerate(zip(values, cells, adds, strict=True)):
        if not value:
            return Bad(row, conflict=False)
        if cell in written and not (added and written[cell]):
            return Bad(row, conflict=True)
        written[cell] = added
    return None
