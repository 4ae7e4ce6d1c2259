"""What array programs are asked, and what they owe: inputs, expected results, and blame.

Two kinds of input. The verdict rests on secret ones: distinct whole numbers drawn afresh each time,
exact in their dtype and so are their sums. Where a sum is wrong, the case is played once more with
coded ones: in each number every rank has a digit of its own, and the position has the rest, so a
wrong sum can be read: whose part is in it, how often, and of which element.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from allranks.learn.exercises import MANIFEST, Exercise, ExerciseError
from allranks.learn.expressions import count, evaluate
from allranks.program.arrays import Array, dtype_of

DTYPES = ("int64", "float32")
EXACT = 2**24  # whole numbers up to here are exact in float32
POSITION_BITS = 15
DIGITS_BITS = 48
MAX_CODED = 16  # ranks; more would leave a digit fewer than three bits


@dataclass(frozen=True)
class ArrayCase:
    """One call on n ranks: how long every rank's x is, its dtype, and how the vector is cut."""

    world_size: int
    length: int
    dtype: str
    counts: tuple[int, ...] | None = None

    def words(self) -> str:
        """Return the case as a person reads it.

        >>> ArrayCase(2, 3, "int64", (2, 1)).words()
        'n = 2, 3 elements (int64), counts 2, 1'
        """
        cut = "" if self.counts is None else f", counts {', '.join(map(str, self.counts))}"
        return f"n = {self.world_size}, {count(self.length, 'element')} ({self.dtype}){cut}"

    def facts(self) -> dict[str, Any]:
        """Return what a first wrong event says about the case."""
        facts: dict[str, Any] = {
            "world_size": self.world_size,
            "length": self.length,
            "dtype": self.dtype,
        }
        return facts if self.counts is None else {**facts, "counts": list(self.counts)}

    @property
    def arguments(self) -> list[Any]:
        """Return what the function gets after `rank` and `x`."""
        return [] if self.counts is None else [list(self.counts)]

    @property
    def itemsize(self) -> int:
        """Return the bytes of one element."""
        return dtype_of(self.dtype).itemsize

    def numbers(self) -> dict[str, Any]:
        """Return what targets may name: n, S in bytes, length, itemsize and the smallest block."""
        return {
            "n": self.world_size,
            "S": self.length * self.itemsize,
            "length": self.length,
            "itemsize": self.itemsize,
            "smallest": 0 if self.counts is None else min(self.counts),
        }


def split(length: int, n: int) -> tuple[int, ...]:
    """Return n counts as equal as can be, the longer ones first.

    >>> split(73, 4)
    (19, 18, 18, 18)
    """
    return tuple(length // n + (rank < length % n) for rank in range(n))


def uneven(length: int, n: int) -> tuple[int, ...]:
    """Return n counts that grow from rank to rank, and are empty at first where length is short.

    >>> uneven(73, 4), uneven(3, 4)
    ((4, 14, 23, 32), (0, 0, 1, 2))
    """
    bounds = [length * rank * rank // (n * n) for rank in range(n + 1)]
    return tuple(after - before for before, after in itertools.pairwise(bounds))


CUTS: dict[str, Callable[[int, int], tuple[int, ...]]] = {"split": split, "uneven": uneven}


def array_cases(exercise: Exercise) -> Iterator[ArrayCase]:
    """Yield every call that is tried, small worlds first; lengths as in the manifest.

    Raises:
        ExerciseError: the manifest names no such cut or dtype.
    """
    _known(exercise, "cuts", exercise.cuts, CUTS)
    _known(exercise, "dtypes", exercise.dtypes, DTYPES)
    number = 0
    for n in sorted({*exercise.worlds, *exercise.more_worlds}):
        lengths = [max(0, int(evaluate(each, {"n": n}))) for each in exercise.lengths]
        for length in dict.fromkeys(lengths):
            cuts = dict.fromkeys(CUTS[cut](length, n) for cut in exercise.cuts)
            for counts in cuts or (None,):
                yield ArrayCase(n, length, exercise.dtypes[number % len(exercise.dtypes)], counts)
                number += 1


def _known(exercise: Exercise, what: str, names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            message = f"{MANIFEST}: {exercise.slug}: {what} has {name!r}; use {', '.join(known)}"
            raise ExerciseError(message)


def whole(case: ArrayCase, _rank: int) -> slice:
    """Return which elements of the sum every rank ends with: all of them."""
    return slice(0, case.length)


def own_block(case: ArrayCase, rank: int) -> slice:
    """Return which elements of the sum a rank ends with: its block."""
    counts = case.counts or split(case.length, case.world_size)
    first = sum(counts[:rank])
    return slice(first, first + counts[rank])


SPANS: dict[str, Callable[[ArrayCase, int], slice]] = {
    "all_reduce": whole,
    "reduce_scatter": own_block,
}


def span_of(exercise: Exercise) -> Callable[[ArrayCase, int], slice]:
    """Return which elements of the sum over all ranks a rank owes, by the exercise's collective.

    Raises:
        ExerciseError: array programs of that collective are not judged yet.
    """
    _known(exercise, "collective", [exercise.collective], SPANS)
    return SPANS[exercise.collective]


def secret_inputs(case: ArrayCase) -> list[Array]:
    """Return one x per rank: distinct whole numbers that nobody can guess."""
    amount = case.world_size * case.length
    # small enough to read, and for exact sums of all ranks' parts
    below = min(max(1000, 50 * amount), EXACT // case.world_size)
    drawn = random.SystemRandom().sample(range(1, below), amount)
    rows = np.array(drawn, case.dtype).reshape(case.world_size, case.length)
    return list(rows)


def coded_inputs(case: ArrayCase) -> list[Array]:
    """Return one x per rank (int64): a digit that is the rank's own, and the element's position."""
    bits = _digit_bits(case)
    positions = np.arange(1, case.length + 1, dtype=np.int64)
    return [positions + (1 << (POSITION_BITS + bits * rank)) for rank in range(case.world_size)]


def _digit_bits(case: ArrayCase) -> int:
    return min(DIGITS_BITS // case.world_size, 16)


@dataclass(frozen=True)
class Parts:
    """What a number is the sum of: how often each rank's part of which element is in it."""

    element: int
    times: tuple[int, ...]

    @property
    def twice(self) -> list[int]:
        """Return the ranks whose part is there more than once."""
        return [rank for rank, times in enumerate(self.times) if times > 1]

    @property
    def missing(self) -> list[int]:
        """Return the ranks whose part is not there."""
        return [rank for rank, times in enumerate(self.times) if not times]


def read_parts(case: ArrayCase, number: int) -> Parts | None:
    """Return what a sum of coded inputs is made of; None if it is no sum of parts of one element.

    >>> case = ArrayCase(3, 5, "int64")
    >>> x = coded_inputs(case)
    >>> read_parts(case, int(x[0][4] + 2 * x[2][4]))
    Parts(element=4, times=(1, 0, 2))
    >>> read_parts(case, int(x[0][4] + x[1][3]))
    """
    bits = _digit_bits(case)
    digits, low = divmod(number, 1 << POSITION_BITS)
    times = tuple((digits >> (bits * rank)) % (1 << bits) for rank in range(case.world_size))
    total = sum(times)
    if number < 0 or not total or digits >> (bits * case.world_size):
        return None
    element, left = divmod(low, total)
    if left or not 1 <= element <= case.length:
        return None
    return Parts(element - 1, times)


def blame(parts: Parts, element: int) -> str:
    """Return in words what is wrong with a sum that should hold each rank's part once.

    >>> blame(Parts(4, (1, 0, 3)), 4)
    'In it, the part of rank 1 is missing, and the part of rank 2 is there 3 times'
    >>> blame(Parts(2, (1, 1)), 4)
    'It is element 2 of the sum, where element 4 belongs'
    """
    said = []
    if parts.missing:
        said.append(f"{_parts_of(parts.missing)} missing")
    for times in sorted({parts.times[rank] for rank in parts.twice}):
        ranks = [rank for rank in parts.twice if parts.times[rank] == times]
        said.append(f"{_parts_of(ranks)} there {'twice' if times == 2 else f'{times} times'}")  # noqa: PLR2004
    faults = ", and ".join(said)
    if parts.element == element:
        return f"In it, {faults}" if faults else ""
    where = f"element {parts.element}"
    if not faults:
        return f"It is {where} of the sum, where element {element} belongs"
    return f"It is made of {where} of x, where element {element} belongs; in it, {faults}"


def _parts_of(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"the part of rank {ranks[0]} is"
    listed = f"{', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
    return f"the parts of ranks {listed} are"


def facts_of_sizes(case: ArrayCase, sizes: Sequence[int]) -> Mapping[str, Any]:
    """Return what feedback may ask about the elements that the ranks returned."""
    counts = case.counts or ()
    return {"most_got": max(sizes), "next_block": tuple(sizes) == (*counts[1:], *counts[:1])}


def facts_of_parts(parts: Parts | None, rank: int, world_size: int) -> Mapping[str, Any]:
    """Return what feedback may ask about a wrong sum on `rank`; -1 where it cannot be read."""
    if parts is None:
        unknown = {"own_times": -1, "left_times": -1, "most_times": -1, "from_element": -1}
        return {"twice": [], "missing": [], "others_once": False, **unknown}
    others = [times for other, times in enumerate(parts.times) if other != rank]
    return {
        "twice": parts.twice,
        "missing": parts.missing,
        "own_times": parts.times[rank],
        "left_times": parts.times[(rank - 1) % world_size],
        "most_times": max(parts.times),
        "others_once": set(others) == {1},
        "from_element": parts.element,
    }
