"""What a run gave: the outputs in their dtype, the exact results, and every measure of the gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from allranks.collectives import contract
from allranks.numerics.dtypes import Array, Floats, is_float, ulp
from allranks.numerics.reference import as_floats
from allranks.schedule import Schedule, counted
from allranks.simulate import ReduceOp

Arrays = tuple[Array | None, ...]

_SHOWN = 6  # elements or groups that a printed result shows


@dataclass(frozen=True, eq=False, repr=False)
class Numerics:
    """What one run of a schedule in one number format gave, and how far from exact it is.

    `outputs[rank]` is what `allranks.simulate` returns for that rank: an array of the dtype, None
    where nothing is promised. `exact[rank]` has the same shape: float64, rounded once from the
    exact result of the inputs *as they are in the dtype*; whole numbers for integer dtypes.
    `errors[rank]` is outputs - exact in float64. `roundings` is the most any part goes through.

    `switch_dtype` is what the switches added in; None where no switch adds.

    `groups` are the ranks whose outputs are the same bit for bit, `num_differing` the elements that
    not all ranks agree about; where every rank has elements of its own, each stands alone.
    """

    schedule: Schedule
    dtype: np.dtype[Any]
    reduce_op: ReduceOp
    switch_dtype: np.dtype[Any] | None
    outputs: Arrays
    exact: Arrays
    errors: tuple[Floats | None, ...]
    roundings: int
    groups: tuple[tuple[int, ...], ...]
    num_differing: int

    @property
    def agree(self) -> bool:
        """Return whether ranks that are promised the same hold the same bits (any NaN is NaN)."""
        return self.num_differing == 0

    def compare(self, rank: int, other: int) -> int:
        """Return how many elements of two ranks' outputs are not the same bits.

        Raises:
            ValueError: one of them has no output, or they are promised different chunks.
        """
        one, two = self.outputs[rank], self.outputs[other]
        if one is None or two is None or not shares(self.schedule):
            raise ValueError(
                f"ranks {rank} and {other}: {self.schedule.collective} does not promise them the "
                "same elements; compare outputs with exact instead"
            )
        return int(np.count_nonzero(bits_of(one) != bits_of(two)))

    def relative(self, rank: int) -> Floats | None:
        """Return |error| / |exact| of every element; 0 where both are 0."""
        error, reference = self.errors[rank], self.exact[rank]
        if error is None or reference is None:
            return None
        return _ratio(np.abs(error), np.abs(as_floats(reference)))

    def ulps(self, rank: int) -> Floats | None:
        """Return |error| in units in the last place of the dtype at the exact result.

        A correctly rounded result is at most 0.5 away. For integers it is the error itself.
        """
        error, reference = self.errors[rank], self.exact[rank]
        if error is None or reference is None:
            return None
        return _in_ulps(np.abs(error), as_floats(reference), self.dtype)

    @property
    def max_error(self) -> float:
        """Return the largest absolute error; inf after an overflow, 0 without elements."""
        return float(np.max(self._size, initial=0.0))

    @property
    def mean_error(self) -> float:
        """Return the mean absolute error of all elements on all ranks."""
        return _mean(self._size)

    @property
    def max_relative(self) -> float:
        """Return the largest relative error of an element; inf where exact is 0 and it is not."""
        return float(np.max(_ratio(self._size, np.abs(self._reference)), initial=0.0))

    @property
    def rms_error(self) -> float:
        """Return the relative rms error: the root of sum(error^2) / sum(exact^2) over all ranks.

        Unlike a mean of relative errors it is not ruled by sums that happen to be near 0.
        """
        return float(_ratio(_norm(self._size), _norm(np.abs(self._reference))))

    @property
    def max_ulps(self) -> float:
        """Return the largest error in units in the last place."""
        return float(np.max(self._ulps, initial=0.0))

    @property
    def mean_ulps(self) -> float:
        """Return the mean error in units in the last place of all elements on all ranks."""
        return _mean(self._ulps)

    @property
    def num_overflowed(self) -> int:
        """Return how many results are inf or NaN though exact is finite, or wrapped integers."""
        if not is_float(self.dtype):
            return int(np.count_nonzero(self._size))
        lost = ~np.isfinite(_joined(self.outputs)) & np.isfinite(self._reference)
        return int(np.count_nonzero(lost))

    def __repr__(self) -> str:
        s, ranks = self.schedule, counted(self.schedule.world_size, "rank")
        wide = "" if self.switch_dtype is None else f", switches add in {self.switch_dtype}"
        lines = [
            f"{s.algorithm} {s.collective} in {self.dtype}, {ranks}, {self.reduce_op.value}{wide}",
            f"  error      max {self.max_error:.4g}, rms {self._rms()}",
        ]
        if is_float(self.dtype):
            lines += [
                f"  ulps       max {self.max_ulps:.4g}, mean {self.mean_ulps:.2g}",
                f"  roundings  {self.roundings} at most",
            ]
        lines.append(f"  ranks      {self._agreement()}")
        if self.num_overflowed:
            what = "inf or NaN, though exact is finite" if is_float(self.dtype) else "wrapped"
            lines.append(f"  overflow   {counted(self.num_overflowed, 'result')} {what}")
        return "\n".join(lines)

    @cached_property
    def _reference(self) -> Floats:
        return _joined(self.exact)

    @cached_property
    def _size(self) -> Floats:
        return np.abs(_joined(self.errors))

    @cached_property
    def _ulps(self) -> Floats:
        return _in_ulps(self._size, self._reference, self.dtype)

    def _rms(self) -> str:
        share = f"{100 * self.rms_error:.2g} %" if np.isfinite(self.rms_error) else "infinite"
        return f"{share} of the exact result's rms" if np.isfinite(self.rms_error) else share

    def _agreement(self) -> str:
        if not self.agree:
            elements = counted(self.num_differing, "element")
            return f"differ in {elements}; alike are ranks {_alike(self.groups)}"
        return "agree bit for bit" if shares(self.schedule) else "each holds elements of its own"


@dataclass(frozen=True, eq=False, repr=False)
class Averages:
    """A mean in a narrow dtype, made in both ways; one array per rank, None as in Numerics.

    `summed` is the sum before any division. `exact` is float64, rounded once.
    """

    dtype: np.dtype[Any]
    summed: Arrays
    sum_then_divide: Arrays
    divide_then_sum: Arrays
    exact: Arrays

    def __repr__(self) -> str:
        rank = next(rank for rank, output in enumerate(self.exact) if output is not None)
        rows = ("summed", "sum_then_divide", "divide_then_sum", "exact")
        lines = [f"  {name:<16} {_few(getattr(self, name)[rank])}" for name in rows]
        return "\n".join([f"mean in {self.dtype}, as rank {rank} gets it", *lines])


def shares(schedule: Schedule) -> bool:
    """Return whether all ranks are promised the same elements."""
    promise = contract(schedule.collective)
    size = promise.size(schedule.world_size, schedule.num_chunks, schedule.root)
    return all(promise.ends(rank, 0, size) is not None for rank in range(schedule.world_size))


def grouped(schedule: Schedule, outputs: Sequence[Array | None]) -> tuple[tuple[int, ...], ...]:
    """Return the ranks whose outputs are the same bit for bit, each rank in one group."""
    groups: dict[bytes | int, list[int]] = {}
    together = shares(schedule)
    for rank, output in enumerate(outputs):
        if output is not None:
            groups.setdefault(bits_of(output).tobytes() if together else rank, []).append(rank)
    return tuple(map(tuple, groups.values()))


def differing(outputs: Sequence[Array | None], groups: Sequence[Sequence[int]]) -> int:
    """Return how many elements are not the same bits in the outputs of all these groups."""
    first, *others = [
        bits_of(output) for group in groups if (output := outputs[group[0]]) is not None
    ]
    changed = np.zeros(first.shape, np.bool_)
    for other in others:
        changed |= first != other
    return int(np.count_nonzero(changed))


def bits_of(array: Array) -> Array:
    """Return the bits of every element as an unsigned number; every NaN has the same."""
    bits = np.ascontiguousarray(array).reshape(array.shape).view(f"u{array.dtype.itemsize}")
    return np.where(np.isnan(array), np.iinfo(bits.dtype).max, bits)


def _joined(arrays: Arrays) -> Floats:
    flat = [as_floats(np.ravel(array)) for array in arrays if array is not None]
    return np.concatenate(flat)


def _in_ulps(size: Floats, reference: Floats, dtype: np.dtype[Any]) -> Floats:
    return size / ulp(reference, dtype) if is_float(dtype) else size


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0


def _ratio(error: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    above, below = np.asarray(error, np.float64), np.asarray(reference, np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(np.isinf(above), above, above / below)
    return np.where(above == 0, 0.0, ratio)


def _norm(size: Floats) -> float:
    largest = float(np.max(size, initial=0.0))
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.sum((size / largest) ** 2)))


def _alike(groups: tuple[tuple[int, ...], ...]) -> str:
    shown = [", ".join(map(str, group)) for group in groups[:_SHOWN]]
    return " | ".join(shown) + (" | ..." if len(groups) > _SHOWN else "")


def _few(array: Array | None) -> str:
    if array is None:
        return "nothing"
    flat = as_floats(np.ravel(array)).tolist()
    return ", ".join(f"{value:.6g}" for value in flat[:_SHOWN]) + ", ..." * (len(flat) > _SHOWN)
