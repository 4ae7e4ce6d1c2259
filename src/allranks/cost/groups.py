"""Messages gathered by what they share: sums and maxima over equal keys, without a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allranks.cost.sizes import Array, Floats, Whole, wide

_DENSE = 8  # counting keys costs less than sorting them while they span so many times their number


@dataclass(frozen=True)
class Groups:
    """Entries gathered by key, in rising order of the keys.

    `order` are the entries group by group and `starts` where each group starts in it. With `order`
    None every entry is a group of its own, in the order given. An entry of weight w counts as w.
    """

    order: Array | None
    starts: Array
    weight: Array | None

    @classmethod
    def of(
        cls, key: Array, weight: Array | None = None, largest_first: Floats | None = None
    ) -> Groups:
        """Gather equal keys; entries of a group are ordered by `largest_first`, if given."""
        if _distinct(key):
            return cls(None, key[:0], weight)
        if largest_first is not None:
            order = np.lexsort((-largest_first, key))
        elif (key[1:] >= key[:-1]).all():
            order = np.arange(key.size)
        else:
            order = np.argsort(key, kind="stable")
        ordered = key[order]
        new = np.ones(key.size, dtype=bool)
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        return cls(order, np.flatnonzero(new), weight)

    def first(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the value of the first entry of each group."""
        return column if self.order is None else column[self.order[self.starts]]

    def sum(self, column: Whole) -> Whole:
        """Return the sum over each group, exactly, each entry times its weight."""
        if self.weight is not None:
            column = wide(column, int(self.weight.max(initial=1))) * self.weight
        if self.order is None:
            return column
        return np.asarray(np.add.reduceat(wide(column)[self.order], self.starts))

    def largest(self, column: Floats) -> Floats:
        """Return the largest value of each group."""
        if self.order is None:
            return column
        return np.asarray(np.maximum.reduceat(column[self.order], self.starts))

    def count(self) -> Array:
        """Return how many messages each group has."""
        if self.weight is None and self.order is not None:
            return np.diff(self.starts, append=self.order.size)
        if self.weight is None:
            return np.ones(1, dtype=np.int64)
        return np.asarray(self.sum(np.ones(self.weight.size, dtype=np.int64)))

    def leaders(self, every: int) -> Array:
        """Return for each entry, group by group, how many of it come first of so many in a row."""
        if self.order is None:
            weight = np.ones(1, dtype=np.int64) if self.weight is None else self.weight
            return -(-weight // every)
        weight = np.ones(self.order.size, dtype=np.int64)
        if self.weight is not None:
            weight = self.weight[self.order]
        after = np.cumsum(weight)
        before = after - weight
        lengths = np.diff(self.starts, append=weight.size)
        offset = np.repeat(before[self.starts], lengths)
        return -(-(after - offset) // every) + (-(before - offset) // every)

    def sum_ordered(self, column: Floats) -> Floats:
        """Return sums over the groups of a column that is already group by group, unweighted."""
        return column if self.order is None else np.asarray(np.add.reduceat(column, self.starts))

    def spread(self, column: Floats) -> Floats:
        """Return for each entry the value of its group."""
        if self.order is None:
            return column
        lengths = np.diff(self.starts, append=self.order.size)
        found = np.empty(self.order.size)
        found[self.order] = np.repeat(column, lengths)
        return found

    def arranged(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column group by group."""
        return column if self.order is None else column[self.order]


def rising(column: Array) -> Array:
    """Return the different values in rising order (numpy.unique hashes, which is slower here)."""
    ordered = np.sort(column)
    new = np.ones(ordered.size, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def _distinct(key: Array) -> bool:
    """Return whether no key occurs twice, if that is cheap to see."""
    if key.size <= 1 or (key[1:] > key[:-1]).all():
        return True
    low = key.min()
    span = int(key.max() - low) + 1
    return span <= _DENSE * key.size and int(np.bincount(key - low, minlength=1).max()) == 1
