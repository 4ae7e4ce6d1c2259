"""The size of every chunk as a whole number of units, so that all sums are exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from allranks.collectives import contract, split_length
from allranks.cost.checks import check_whole, exact_bytes
from allranks.errors import shown
from allranks.schedule import Schedule

Array: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Whole: TypeAlias = NDArray[Any]  # int64, or Python's own integers where int64 is too small

_FLOAT = 1 << 53  # whole numbers below this are floats exactly
INT = (1 << 63) - 1
MOST_ELEMENTS = 1 << 62


@dataclass(frozen=True)
class Sizes:
    """Chunks in units of `unit` bytes.

    With `elements` None every chunk is one unit. Otherwise the whole vector has so many elements,
    an element is a unit, and chunks have the lengths that `numpy.array_split` gives: first over
    `pieces` pieces, of which `per_buffer` make one buffer, then over `parts` parts of each.
    """

    unit: Fraction
    elements: int | None = None
    pieces: int = 1
    per_buffer: int = 1
    parts: int = 1

    def units(self, chunk: Array) -> Array:
        """Return the units of chunks, given their numbers."""
        if self.elements is None:
            return np.full(chunk.shape, int(self.unit > 0), dtype=np.int64)
        piece, part = np.divmod(chunk, self.parts)
        here = self.elements
        in_piece = split_length(here, self.per_buffer, piece % self.per_buffer)
        return np.asarray(split_length(in_piece, self.parts, part), dtype=np.int64)

    def nbytes(self, units: int) -> float:
        """Return so many units in bytes, as an int where that is exact."""
        exact = units * self.unit
        return int(exact) if exact.denominator == 1 else float(exact)

    def floats(self, units: Whole) -> Floats:
        """Return so many units in bytes, each the nearest float as long as units are below 2^53."""
        above, below = self.unit.numerator, self.unit.denominator
        most = int(units.max()) if units.size else 0
        if most * above < _FLOAT and below < _FLOAT:
            return np.asarray((units * above).astype(np.float64) / below)
        return units.astype(np.float64) * float(self.unit)


def sizes_of(
    schedule: Schedule,
    *,
    nbytes: float | None = None,
    count: int | None = None,
    itemsize: int | None = None,
) -> Sizes:
    """Return the sizes of a schedule's chunks.

    Raises:
        ValueError: not exactly one size, a negative size, or chunks that the collective's blocks do
            not divide.
    """
    promise = contract(schedule.collective)
    n, num_chunks = schedule.world_size, schedule.num_chunks
    promise.size(n, num_chunks, schedule.root)
    if (nbytes is None) == (count is None) or (count is None) != (itemsize is None):
        message = "size: give either nbytes, or count and itemsize"
        raise ValueError(message)
    pieces = promise.pieces(n)
    if nbytes is not None:
        return equal_chunks(nbytes, n, num_chunks, pieces)
    elements = check_whole("count", count, least=0)
    if elements > MOST_ELEMENTS:
        message = f"count is {shown(elements)}; at most 2^62 elements can be counted"
        raise ValueError(message)
    return Sizes(
        unit=Fraction(check_whole("itemsize", itemsize, most=MOST_ELEMENTS)),
        elements=elements,
        pieces=pieces,
        per_buffer=min(n, pieces),
        parts=num_chunks // pieces,
    )


def equal_chunks(nbytes: float, n: int, num_chunks: int, pieces: int) -> Sizes:
    """Return chunks of S / num_chunks; one send buffer of an all_to_all has n of its n n pieces.

    Raises:
        ValueError: a size that is not a finite number of 0 or more.
    """
    return Sizes(unit=exact_bytes(nbytes) / Fraction(num_chunks * min(n, pieces), pieces))


def wide(units: Array, most_added: int | None = None) -> Whole:
    """Return the units so that sums of them (of `most_added`, or all) cannot overflow."""
    most = int(units.max()) if units.size else 0
    if most * max(1, units.size if most_added is None else most_added) <= INT:
        return units
    return units.astype(object)
