"""Folded schedules: the films of a few chunks, and how every other chunk moves like one of them.

A *film* is all that happens to one chunk: its transfers with their steps. In most algorithms the
film of chunk c is that of another chunk played by other ranks, or a few steps later. A ring looks
the same from everywhere: chunk c of a ring all-reduce moves as chunk 0 does, with rank r + c in the
place of rank r. So the whole schedule of n^2 transfers is the film of chunk 0, of n transfers, and
a rule that says who plays whose part.

That rule is a **turn**: write a rank in digits (of one radix n, of radices N and g for N nodes of g
ranks, of radices 2, 2, 2, ...), then add to each digit the same digit of the turn, without a carry.
One radix n makes this a rotation, radices 2 the XOR of doubling algorithms. Any turn is one to one,
because it can be turned back. Switches play themselves. A **delay** shifts a film in time, as the
chunks of a pipeline follow each other.

The films here are made from what each algorithm is, not from its generator, and quickly for huge n.
`Folded.expand` writes the schedule out; the tests compare it with the generator's, step by step,
for all n up to 64. Why proving the films proves the schedule stands in `allranks.verify.fold`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allranks.algorithms.folded.packs import Place, Size, pack_of
from allranks.algorithms.folded.rows import Array, both, columns_of, rows_of
from allranks.schedule import Columns, Schedule

if TYPE_CHECKING:
    from allranks.algorithms import Plan


@dataclass(frozen=True)
class Folded:
    """A schedule of any length as the films of some chunks and the places of all chunks.

    `film` holds the transfers of the chunks `representatives` (in rising order) under their own
    numbers. `place` says for chunks (int64) which film, by its place in that row, they follow, and
    how; `radices` are of the digits that turns add, the most significant first, their product being
    world_size. `copies` says how many chunks follow each film.
    """

    collective: str
    algorithm: str
    world_size: int
    num_chunks: int
    film: Columns
    representatives: Array
    copies: Array
    place: Callable[[Array], Place]
    radices: tuple[int, ...]
    symmetry: str
    root: int | None = None
    num_switches: int = 0

    @property
    def num_transfers(self) -> int:
        """Return the number of transfers of the whole schedule, exactly."""
        if len(self.copies) == 1:
            return self.film.num_transfers * int(self.copies[0])
        films = np.searchsorted(self.representatives, self.film.chunk)
        lengths = np.bincount(films, minlength=len(self.representatives))
        return sum(map(int.__mul__, lengths.tolist(), self.copies.tolist()))

    def turned(self, endpoints: Array, turns: Array) -> Array:
        """Return which endpoints play the parts of these endpoints after a turn."""
        turned, value = np.zeros_like(endpoints + turns), 1
        for radix in reversed(self.radices):
            turned += (endpoints // value + turns // value) % radix * value
            value *= radix
        return np.where(endpoints < self.world_size, turned, endpoints)

    def schedule_of_films(self) -> Schedule:
        """Return what is left of the schedule if only the chunks that are filmed move."""
        return self._schedule(self.film)

    def expand(self) -> Schedule:
        """Return the whole schedule, written out: for tests, and for those who want to look."""
        films = np.searchsorted(self.representatives, self.film.chunk)
        step = np.repeat(np.arange(len(self.film)), np.diff(self.film.bounds))
        parts = []
        for chunk in range(self.num_chunks):
            film, turn, delay = self.place(np.array([chunk]))
            rows = np.flatnonzero(films == film[0])
            src, dst = (self.turned(side[rows], turn) for side in (self.film.src, self.film.dst))
            parts.append(rows_of(step[rows] + delay[0], src, dst, self.film.reduce[rows], chunk))
        return self._schedule(columns_of(both(*parts)))

    def _schedule(self, steps: Columns) -> Schedule:
        return Schedule(
            collective=self.collective,
            algorithm=self.algorithm,
            world_size=self.world_size,
            num_chunks=self.num_chunks,
            steps=steps,
            root=self.root,
            num_switches=self.num_switches,
        )


def fold(collective: str, algorithm: str, world_size: int, plan: Plan) -> Folded | None:
    """Return a planned schedule by its films, or None where it has no symmetry that helps."""
    root = plan.parameters.get("root")
    size = Size(world_size, plan.num_chunks, root or 0, plan.parameters)
    pattern = pack_of(collective, algorithm, size)
    if pattern is None:
        return None
    return Folded(
        collective=collective,
        algorithm=algorithm,
        world_size=world_size,
        num_chunks=plan.num_chunks,
        film=columns_of(pattern.rows),
        representatives=pattern.representatives,
        copies=pattern.copies,
        place=pattern.place,
        radices=pattern.radices,
        symmetry=pattern.symmetry,
        root=root,
        num_switches=plan.num_switches,
    )
