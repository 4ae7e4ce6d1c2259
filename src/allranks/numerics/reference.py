"""What the result should have been: exact sums, and how far a rounded one is from them.

No rounding error of ours may hide one of the schedule's, so sums are made by `math.fsum`, which
rounds an exact sum once, and by fractions where that does not reach.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from allranks.numerics.dtypes import Array, Floats, is_float
from allranks.simulate import ReduceOp


class Exact(NamedTuple):
    """Exact results: `value` rounded to float64, and `rest`, what that rounding left over.

    For whole numbers and bools `value` holds Python's own, without a limit, and `rest` is 0.
    """

    value: Array
    rest: Floats

    def error_of(self, result: Array) -> Floats:
        """Return result - exact for every element, itself rounded only in the last place.

        It is infinite where the result is no finite number though the exact one is, and 0 where
        both are the same infinity or both are NaN.
        """
        if not is_float(result.dtype):
            # bools are subtracted as the numbers 0 and 1
            return as_floats(result.astype(object) + 0 - self.value)
        ours = result.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            # Knuth's TwoSum: difference + lost is ours - value without any error
            difference = ours - self.value
            virtual = difference - ours
            lost = (ours - (difference - virtual)) - (self.value + virtual)
            error = difference + (lost - self.rest)
        finite = np.isfinite(ours) & np.isfinite(self.value)
        alike = (ours == self.value) | (np.isnan(ours) & np.isnan(self.value))
        beyond = np.where(ours < self.value, -np.inf, np.inf)
        return np.where(finite, error, np.where(alike, 0.0, beyond))


def exact(parts: Sequence[Array], op: ReduceOp) -> Exact:
    """Return the exact combination of arrays of equal length, element by element.

    The parts are what the ranks put in, before AVG divides.
    """
    count = len(parts[0])
    if not is_float(parts[0].dtype):
        whole = reduce(_object_ufunc(op, parts[0].dtype), (part.astype(object) for part in parts))
        return Exact(whole, np.zeros(count))
    columns = np.stack([part.astype(np.float64) for part in parts], axis=1).tolist()
    pairs = [_exact_element(column, op) for column in columns]
    table = np.array(pairs, np.float64).reshape(count, 2)
    return Exact(table[:, 0], table[:, 1])


def copied(part: Array) -> Exact:
    """Return what is exact where nothing is added: the part itself."""
    value = part.astype(np.float64 if is_float(part.dtype) else object)
    return Exact(value, np.zeros(len(part)))


def as_floats(values: Array) -> Floats:
    """Return numbers as float64; whole numbers beyond its range become infinite."""
    try:
        return values.astype(np.float64)
    except OverflowError:
        floats = [_float(Fraction(value)) for value in values.flat]
        return np.array(floats).reshape(values.shape)


def _float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _object_ufunc(op: ReduceOp, dtype: np.dtype[Any]) -> np.ufunc:
    # a SUM of bools is a logical OR, as in `allranks.simulate`
    return np.maximum if dtype.kind == "b" and op is ReduceOp.SUM else op.ufunc


def _exact_element(column: list[float], op: ReduceOp) -> tuple[float, float]:
    if not all(map(math.isfinite, column)):
        with np.errstate(invalid="ignore"):
            return float(op.ufunc.reduce(np.array(column))), 0.0
    if op in (ReduceOp.MAX, ReduceOp.MIN):
        return (max if op is ReduceOp.MAX else min)(column), 0.0
    if op is ReduceOp.SUM:
        try:
            value = math.fsum(column)
            return value, math.fsum([*column, -value])
        except OverflowError:
            pass  # beyond float64 on the way, or at the end: fractions have no such limit
    numbers = map(Fraction, column)
    total = reduce(mul, numbers) if op is ReduceOp.PROD else sum(numbers, Fraction(0))
    if op is ReduceOp.AVG:
        total /= len(column)
    value = _float(total)
    return value, float(total - Fraction(value)) if math.isfinite(value) else 0.0
