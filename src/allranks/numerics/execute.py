"""Run any schedule in any number format, in the order that it implies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from allranks.collectives import contract
from allranks.errors import Mismatch
from allranks.numerics.dtypes import (
    Array,
    DtypeName,
    Floats,
    check_saturate,
    combined,
    dtype_named,
    format_of,
    is_float,
    rounded,
)
from allranks.numerics.ordering import Kind, Order, check_schedule, order_of
from allranks.numerics.reference import Exact, copied, exact
from allranks.numerics.results import Averages, Numerics, differing, grouped, shares
from allranks.schedule import Schedule
from allranks.simulate import Inputs, Layout, ReduceOp, layout, read_inputs


def run(  # noqa: PLR0913 - each is a choice of its own
    schedule: Schedule,
    inputs: Inputs,
    dtype: DtypeName | None = None,
    *,
    reduce_op: str | ReduceOp = "sum",
    switch_dtype: DtypeName | None = None,
    saturate: bool = False,
) -> Numerics:
    """Run a schedule in a number format, each addition rounding to it, as NCCL adds hop by hop.

    `inputs` are as for `allranks.simulate` and are first rounded, once, to `dtype` (their own dtype
    if None). A receiver adds what arrives to its own value, several parts in order of src, and
    rounds after each; without switches, the outputs have the bits of `allranks.simulate` on arrays
    of that dtype.

    `switch_dtype` is the dtype in which switches add; they round once, when they send. None means
    float32 for float16 and bfloat16, and the dtype itself for all others. So NVLS does it:
    multimem.ld_reduce is asked for `.acc::f32` where it exists (NVIDIA/nccl
    src/device/reduce_kernel.h); in which order it adds is not documented, here it is that of src.
    How wide SHARP switches add is not documented either, so the same is assumed of them. With the
    run's own dtype switches add like ranks, as `allranks.simulate` lets them.

    `saturate`, for float8: a number beyond the largest becomes the largest, as in NCCL through
    CUDA's conversion; otherwise it is inf, or NaN in e4m3. AVG divides every input first, so its
    result has one rounding more.

    Raises:
        ScheduleError: the schedule breaks a rule or its promise.
        Mismatch: inputs that do not fit the collective, each other, or an integer dtype.
        ValueError: no schedule, an unknown dtype or reduce_op, or options that do not fit.

    >>> from allranks.algorithms import build
    >>> ring = build("all_reduce", "ring", world_size=4)
    >>> result = run(ring, [np.full(4, value) for value in (2048, 1, 1, 1)], dtype="float16")
    >>> result.outputs[0].tolist(), result.exact[0].tolist()
    ([2052.0, 2052.0, 2048.0, 2048.0], [2051.0, 2051.0, 2051.0, 2051.0])
    >>> result
    ring all_reduce in float16, 4 ranks, sum
      error      max 3, rms 0.11 % of the exact result's rms
      ulps       max 1.5, mean 1
      roundings  3 at most
      ranks      agree bit for bit
    """
    check_schedule(schedule)
    arrays = _in_dtype(read_inputs(schedule, inputs), dtype, saturate=saturate)
    plan = layout(schedule, arrays, reduce_op)
    kind = dtype_named(plan.dtype)
    saturates = check_saturate(kind, saturate=saturate)
    wide = _switch_dtype(kind, switch_dtype)
    order = order_of(schedule, wide_switches=wide != kind)
    arithmetic = _Arithmetic(plan.reduce_op, kind, wide, saturates)
    results, values, errors = _play(plan, order, arithmetic)
    ranks = range(schedule.world_size)
    outputs = tuple(plan.output(rank, results[rank]) for rank in ranks)
    groups = grouped(schedule, outputs)
    promise = contract(schedule.collective)
    return Numerics(
        schedule=schedule,
        dtype=kind,
        reduce_op=plan.reduce_op,
        switch_dtype=wide if schedule.num_switches and promise.reduces else None,
        outputs=outputs,
        exact=tuple(_tidy(plan.output(rank, values), kind) for rank in ranks),
        errors=tuple(plan.output(rank, errors[rank]) for rank in ranks),
        roundings=order.roundings() if is_float(kind) else 0,
        groups=groups,
        num_differing=differing(outputs, groups) if shares(schedule) else 0,
    )


def averages(
    schedule: Schedule, inputs: Inputs, dtype: DtypeName | None = None, *, saturate: bool = False
) -> Averages:
    """Return the mean that a schedule gives when it divides after the sum, and before it.

    Dividing first keeps sums in range, but rounds every input, and what is small may vanish; a sum
    that overflows cannot be divided back. Each division rounds once.

    Raises:
        ScheduleError, Mismatch: as `run`.
        ValueError: as `run`, or a collective that does not reduce.

    >>> from allranks.algorithms import build
    >>> averages(build("all_reduce", "ring", world_size=8), [[10000.0]] * 8, dtype="float16")
    mean in float16, as rank 0 gets it
      summed           inf
      sum_then_divide  inf
      divide_then_sum  9992
      exact            10000
    """
    check_schedule(schedule)
    if not contract(schedule.collective).reduces:
        raise ValueError(
            f"{schedule.collective} adds nothing, so it has no mean; use reduce, all_reduce or "
            "reduce_scatter"
        )
    divided = run(schedule, inputs, dtype, reduce_op=ReduceOp.AVG, saturate=saturate)
    summed = run(schedule, inputs, dtype, saturate=saturate)
    n = schedule.world_size
    later = [
        None if array is None else rounded(array.astype(np.float64) / n, divided.dtype)
        for array in summed.outputs
    ]
    return Averages(divided.dtype, summed.outputs, tuple(later), divided.outputs, divided.exact)


def _in_dtype(
    given: list[Array | None], name: DtypeName | None, *, saturate: bool
) -> list[Array | None]:
    """Return the inputs in the dtype of a run, each number rounded once."""
    if name is None:
        return given
    dtype = dtype_named(name)
    return [
        None if array is None else converted(rank, array, dtype, saturate=saturate)
        for rank, array in enumerate(given)
    ]


def converted(rank: int, array: Array, dtype: np.dtype[Any], *, saturate: bool = False) -> Array:
    """Return a rank's input in another dtype, each number rounded once.

    Raises:
        Mismatch: numbers that are not real, or that an integer dtype does not hold.
    """
    if array.dtype == dtype:
        return array
    own = array.dtype
    if own.kind not in "biuf" and own.name not in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        raise Mismatch(
            f"rank {rank}: dtype {own} cannot become {dtype}; give real numbers", rank=rank
        )
    if is_float(dtype):
        return rounded(array, dtype, saturate=saturate)
    with np.errstate(invalid="ignore"):
        fitting = array.astype(dtype)
    changed = np.flatnonzero(fitting.astype(object) != array.astype(object))
    if changed.size:
        bad = array.flat[changed[0]]
        raise Mismatch(f"rank {rank}: {bad} does not fit {dtype}; use a wider dtype", rank=rank)
    return fitting


def _switch_dtype(dtype: np.dtype[Any], name: DtypeName | None) -> np.dtype[Any]:
    """Return the dtype in which switches add; the ranks' own if they add like ranks."""
    wide = dtype_named(name) if name is not None else _usual_in_switches(dtype)
    if wide == dtype:
        return dtype
    if not is_float(wide) or not is_float(dtype):
        raise ValueError(
            f"switch_dtype {wide} for {dtype}; only sums of floats are made in a wider float dtype"
        )
    outer, inner = format_of(wide), format_of(dtype)
    if outer.precision < inner.precision or outer.largest < inner.largest:
        raise ValueError(
            f"switch_dtype {wide} does not hold every {dtype}; use a wider one such as float32"
        )
    return wide


def _usual_in_switches(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype_named("float32") if dtype.name in ("float16", "bfloat16") else dtype


@dataclass(frozen=True)
class _Arithmetic:
    """How sums are evaluated: the operation, the dtype of ranks and of switches, and overflow."""

    op: ReduceOp
    dtype: np.dtype[Any]
    wide: np.dtype[Any]
    saturate: bool

    def evaluate(self, order: Order, targets: set[int], parts: Sequence[Array]) -> dict[int, Array]:
        """Return the values of these sums, where rank r put in `parts[r]`."""
        values: dict[int, Array] = {}
        for number in order.needed(targets):
            kind, left, right = order.sums[number]
            match kind:
                case Kind.PART:
                    values[number] = parts[left]
                case Kind.ADD:
                    values[number] = combined(
                        self.op, values[left], values[right], saturate=self.saturate
                    )
                case Kind.WIDE:
                    own, other = (values[child].astype(self.wide) for child in (left, right))
                    values[number] = self.op.ufunc(own, other)
                case Kind.ROUND:
                    values[number] = rounded(values[left], self.dtype, saturate=self.saturate)
        return values


def _play(
    plan: Layout, order: Order, arithmetic: _Arithmetic
) -> tuple[list[Array], Array, list[Floats]]:
    """Return the flat buffer of every rank, the exact results, and every rank's errors."""
    ranks = range(plan.schedule.world_size)
    parts = [_loaded(plan, rank) for rank in ranks]
    results = [plan.new_buffer() for _ in ranks]
    values = np.empty(plan.count, np.float64 if is_float(arithmetic.dtype) else object)
    errors = [np.zeros(plan.count) for _ in ranks]
    for chunk, holders in order.holders().items():
        cut = plan.chunk(chunk)
        pieces = [part[cut] for part in parts]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            sums = arithmetic.evaluate(order, set(holders.values()), pieces)
        reference = _reference(plan, cut, sums[next(iter(holders.values()))])
        values[cut] = reference.value
        wrong = {number: reference.error_of(sums[number]) for number in set(holders.values())}
        for rank, number in holders.items():
            results[rank][cut] = sums[number]
            errors[rank][cut] = wrong[number]
    return results, values, errors


def _loaded(plan: Layout, rank: int) -> Array:
    buffer = plan.new_buffer()
    array = plan.inputs[rank]
    if array is not None:
        plan.load(rank, array, buffer)
    return buffer


def _reference(plan: Layout, cut: slice, result: Array) -> Exact:
    """Return what is exact for a chunk; where nothing is added, every result is."""
    if not contract(plan.schedule.collective).reduces:
        return copied(result)
    return exact([np.ravel(a)[cut] for a in plan.inputs if a is not None], plan.reduce_op)


def _tidy(values: Array | None, dtype: np.dtype[Any]) -> Array | None:
    """Return exact whole numbers as an array of int64 if they fit into one."""
    if values is None or is_float(dtype):
        return values
    if dtype.kind == "b":
        return values.astype(np.bool_)
    try:
        return values.astype(np.int64)
    except OverflowError:
        return values
