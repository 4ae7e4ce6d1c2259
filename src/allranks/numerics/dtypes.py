"""The number formats that a sum can be made in: their names, their rounding, and where they stop.

Every addition here rounds once, to nearest, ties to even. float32 and float64 do so in hardware.
NumPy (float16) and ml_dtypes (bfloat16, float8) add in float32 and round the sum again; that second
rounding changes nothing, because float32 has 24 significand bits and a sum of two p-bit numbers is
safe from it if 24 >= 2p + 2 (Figueroa, "When is double rounding innocuous?", SIGNUM 30(3), 1995):
p = 11, 8, 4 and 3 all pass. *Conversion* has no such luck: NumPy turns float64 into bfloat16 and
float8 by way of float32 and so rounds twice. `rounded` rounds once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from allranks.errors import shown, unknown_name
from allranks.simulate import ReduceOp

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
DtypeName = str | type[Any] | np.dtype[Any]

_INTEGERS = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
_FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
_NUMPYS = _FLOATS[:3]
_DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(name) for name in _INTEGERS + _FLOATS}
_ALIASES = {
    "fp64": "float64",
    "double": "float64",
    "fp32": "float32",
    "float": "float32",
    "fp16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    # what NCCL, CUDA and OCP call e4m3 has no infinity; ml_dtypes marks that with "fn"
    "float8_e4m3": "float8_e4m3fn",
    "fp8_e4m3": "float8_e4m3fn",
    "e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "e5m2": "float8_e5m2",
}


@dataclass(frozen=True)
class Format:
    """A binary floating-point format.

    `precision` is the number of significand bits with the implicit one; normal numbers reach from
    2^min_exponent to `largest`, which lies between 2^max_exponent and 2^(max_exponent + 1).
    """

    name: str
    precision: int
    min_exponent: int
    max_exponent: int
    largest: float


def dtype_named(name: DtypeName) -> np.dtype[Any]:
    """Return the dtype of that name: NumPy's, ml_dtypes', or a short one such as "bf16" or "e4m3".

    "e4m3" is the format of NCCL, CUDA and OCP, without infinity: ml_dtypes' float8_e4m3fn.

    Raises:
        ValueError: a dtype that is unknown here; the message suggests the nearest.

    >>> dtype_named("bf16"), dtype_named("e4m3"), dtype_named(np.float32)
    (dtype(bfloat16), dtype(float8_e4m3fn), dtype('float32'))
    """
    if isinstance(name, str):
        spelled = name.lower()
        spelled = _ALIASES.get(spelled, spelled)
        if spelled in _DTYPES:
            return _DTYPES[spelled]
    else:
        try:
            dtype: np.dtype[Any] = np.dtype(name)
        except TypeError:
            dtype = np.dtype(object)
        if dtype in _DTYPES.values():
            return dtype
        name = str(name)
    raise ValueError(unknown_name("dtype", name, [*_FLOATS, *_ALIASES, *_INTEGERS]))


def is_float(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype of `dtype_named` is a floating-point format."""
    return dtype.name in _FLOATS


def format_of(dtype: DtypeName) -> Format:
    """Return the numbers that define a floating-point dtype.

    Raises:
        ValueError: an unknown dtype, or one without a significand.

    >>> format_of("e4m3")
    Format(name='float8_e4m3fn', precision=4, min_exponent=-6, max_exponent=8, largest=448.0)
    """
    kind = dtype_named(dtype)
    if not is_float(kind):
        raise ValueError(f"{kind} holds whole numbers; use a floating-point dtype such as float16")
    return _format(kind.name)


@lru_cache
def _format(name: str) -> Format:
    info: Any = ml_dtypes.finfo(_DTYPES[name])  # type: ignore[no-untyped-call]
    largest = float(info.max)
    return Format(
        name=name,
        precision=int(info.nmant) + 1,
        min_exponent=int(info.minexp),
        max_exponent=math.frexp(largest)[1] - 1,
        largest=largest,
    )


def real_numbers(values: npt.ArrayLike) -> Array:
    """Return values as an array of real numbers; whole ones beyond int64 become float64.

    Raises:
        ValueError: rows of unequal length, something that is no real number, or a whole number
            that float64 does not reach.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except OverflowError:
        wide = next(x for x in np.asarray(values).flat if isinstance(x, int) and _is_beyond(x))
        message = f"values: {shown(wide)} is beyond float64; give numbers below 1.8e308"
        raise ValueError(message) from None
    except (TypeError, ValueError):
        array = np.empty(0, np.dtype(object))
    if array.dtype.kind not in "biuf" and array.dtype not in _DTYPES.values():
        message = f"values: {shown(values)}; give real numbers, all rows of the same length"
        raise ValueError(message)
    return array


def _is_beyond(number: int) -> bool:
    try:
        float(number)
    except OverflowError:
        return True
    return False


def ulp(values: npt.ArrayLike, dtype: DtypeName) -> Floats:
    """Return the unit in the last place of a format at each value: the gap between its neighbors.

    For 2^e <= |x| < 2^(e+1) it is 2^(e + 1 - p); below the normal range it is the gap of the
    subnormals, above the range that of the largest binade. x need not be a number of the format.

    Raises:
        ValueError: an unknown dtype, one without a significand, or values that are no real numbers.

    >>> ulp([1.0, 2051.0, 0.0], "float16")
    array([9.76562500e-04, 2.00000000e+00, 5.96046448e-08])
    """
    form = format_of(dtype)
    size = np.abs(real_numbers(values).astype(np.float64))
    exponent = np.frexp(size)[1] - 1
    exponent = np.where(size == 0, form.min_exponent, exponent)
    exponent = np.where(np.isfinite(size), exponent, form.max_exponent)
    exponent = np.clip(exponent, form.min_exponent, form.max_exponent)
    gap: Floats = np.ldexp(1.0, exponent + 1 - form.precision)
    return gap


def rounded(values: npt.ArrayLike, dtype: DtypeName, *, saturate: bool = False) -> Array:
    """Return the values in a floating-point dtype, each rounded once to nearest, ties to even.

    Beyond the largest number lies inf, for e4m3 NaN, which has no inf. With `saturate`, the largest
    number stands there instead, as in CUDA's conversions to float8.

    Raises:
        ValueError: as `ulp`.

    >>> above_the_tie = [1 + 2**-8 + 2**-40]
    >>> rounded(above_the_tie, "bfloat16").astype(float), 1 + 2**-7
    (array([1.0078125]), 1.0078125)
    >>> [float(rounded(500.0, "e4m3", saturate=saturate)) for saturate in (False, True)]
    [nan, 448.0]
    """
    kind, form = dtype_named(dtype), format_of(dtype)
    wide = real_numbers(values)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if saturate:
            wide = np.clip(wide.astype(np.float64), -form.largest, form.largest)
        if kind.name in _NUMPYS or wide.dtype == kind:
            return wide.astype(kind)
        wide = wide.astype(np.float64)
        # In units of the last place the nearest even whole number is the rounded significand; what
        # it gives is a number of the format (or lies beyond all of them), so no cast rounds again.
        gap = ulp(wide, kind)
        return np.where(np.isfinite(wide), np.rint(wide / gap) * gap, wide).astype(kind)


def combined(op: ReduceOp, own: Array, value: Array, *, saturate: bool = False) -> Array:
    """Return what a receiver makes of its own value and one that arrives, rounded once."""
    if not saturate:
        result: Array = op.ufunc(own, value)
        return result
    wide = op.ufunc(own.astype(np.float32), value.astype(np.float32))
    return rounded(wide, own.dtype, saturate=True)


def stops_at(dtype: DtypeName) -> int:
    """Return where a running sum of ones stops: 2^p for a format of p significand bits.

    Up to there every whole number has its place. 2^p + 1 lies halfway between its neighbors, and
    the even one is 2^p: adding one more changes nothing, however many follow.

    Raises:
        ValueError: an unknown dtype, or an integer, which does not stop but wraps.

    >>> {name: stops_at(name) for name in ("fp32", "fp16", "bf16", "e4m3", "e5m2")}
    {'fp32': 16777216, 'fp16': 2048, 'bf16': 256, 'e4m3': 16, 'e5m2': 8}
    """
    kind = dtype_named(dtype)
    if kind.kind in "iu":
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        raise ValueError(
            f"{kind} does not stop: its sums wrap from {most} to {least}; use a float dtype"
        )
    return 1 << format_of(kind).precision


def running_sum(values: npt.ArrayLike, dtype: DtypeName, *, saturate: bool = False) -> Array:
    """Return the sum after each value, added one by one in a dtype as a ring of that length does.

    `values` has one axis and is rounded to the dtype first. Integers wrap.

    Raises:
        ValueError: an unknown dtype, `saturate` for anything but float8, or values that are no real
            numbers.

    >>> running_sum([1] * 20, "e4m3").astype(int)[-6:]
    array([15, 16, 16, 16, 16, 16])
    >>> running_sum([30000, 30000, 30000], "fp16").tolist()
    [30000.0, 60000.0, inf]
    """
    kind = dtype_named(dtype)
    saturates = check_saturate(kind, saturate=saturate)
    terms = np.ravel(real_numbers(values))
    terms = rounded(terms, kind, saturate=saturates) if is_float(kind) else terms.astype(kind)
    sums = terms.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(1, len(sums)):
            before, term = sums[i - 1 : i], terms[i : i + 1]
            sums[i : i + 1] = combined(ReduceOp.SUM, before, term, saturate=saturates)
    return sums


def check_saturate(dtype: np.dtype[Any], *, saturate: bool) -> bool:
    """Return `saturate` after checking that the dtype has two ways of overflowing.

    Raises:
        ValueError: `saturate` for anything but float8.
    """
    if saturate and not dtype.name.startswith("float8"):
        raise ValueError(
            f"saturate=True for {dtype}; only float8 saturates, on CUDA as in NCCL: leave it out"
        )
    return saturate
