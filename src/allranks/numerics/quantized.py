"""Collectives of quantized blocks: fewer bytes, with a bound on the error.

A quantized all-gather errs once per value (`allranks.numerics.blocks` proves by how much). For a
quantized reduce-scatter, a ring would have to quantize, and err, again at every hop; so each
rank's blocks travel straight to their owner, who adds them in float32.

**The bound of a sum of n.** Rank r's value is off by at most its own bound b_r; then n - 1
additions round, each by at most 2^-24 of its result. Let g = (n-1) 2^-24 / (1 - (n-1) 2^-24) and
m_r the largest |x| of the value's block on rank r, so that what comes out of the block is at most
m_r + b_r. Then the error is at most

    sum(b_r) + g * sum(m_r + b_r)

(Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). It grows like n because all
errors may point the same way; with random signs they grow like the root of n.

Source: Wang et al., ZeRO++ (arXiv 2306.10209): qwZ quantizes weights once and gathers them; qgZ
replaces the reduce-scatter of gradients by an all-to-all of quantized blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from allranks.errors import Mismatch
from allranks.numerics.blocks import (
    LARGEST,
    Singles,
    bound_of,
    check_blocks,
    check_finite,
    payload_nbytes,
    peaks_of,
    quantize,
)
from allranks.numerics.dtypes import Array, Floats
from allranks.numerics.execute import converted
from allranks.numerics.reference import exact
from allranks.schedule import Schedule, counted
from allranks.simulate import Inputs, Layout, ReduceOp, layout, read_inputs, simulate

_UNIT = 2.0**-24  # half a float32 ulp of 1


@dataclass(frozen=True, eq=False, repr=False)
class QuantizedRun:
    """What a quantized collective gave, what it may be off by, and what it sent.

    `outputs` are float32; `exact`, `errors` (absolute) and `bounds` are float64 of the same shape.
    `nbytes` is what the busiest rank sends or receives, whichever is more; `nbytes_fp16` and
    `nbytes_fp32` are what the same schedule would move without quantization.
    """

    schedule: Schedule
    bits: int
    block: int
    outputs: tuple[Singles, ...]
    exact: tuple[Floats, ...]
    errors: tuple[Floats, ...]
    bounds: tuple[Floats, ...]
    nbytes: int
    nbytes_fp16: int
    nbytes_fp32: int

    @property
    def max_error(self) -> float:
        """Return the largest absolute error on any rank; 0 without elements."""
        return max(float(np.max(error, initial=0.0)) for error in self.errors)

    @property
    def max_bound(self) -> float:
        """Return the largest bound of any element."""
        return max(float(np.max(bound, initial=0.0)) for bound in self.bounds)

    @property
    def tightness(self) -> float:
        """Return the largest error / bound of any element: never above 1; 0 without elements."""
        ratios = [e / b for e, b in zip(self.errors, self.bounds, strict=True)]
        return max(float(np.max(ratio, initial=0.0)) for ratio in ratios)

    def __repr__(self) -> str:
        s = self.schedule
        saved = "nothing moves"
        if self.nbytes:
            wide, single = self.nbytes_fp16 / self.nbytes, self.nbytes_fp32 / self.nbytes
            saved = f"{self.nbytes:,} at the busiest rank; fp16 {wide:.3g}x, fp32 {single:.3g}x"
        return (
            f"{s.algorithm} {s.collective} of int{self.bits} in blocks of {self.block}, "
            f"{counted(s.world_size, 'rank')}\n"
            f"  error  max {self.max_error:.4g}, bound {self.max_bound:.4g}\n"
            f"  bytes  {saved}"
        )


def quantized_all_gather(
    schedule: Schedule, inputs: Inputs, *, bits: int = 8, block: int = 128
) -> QuantizedRun:
    """Gather values that each rank has quantized once; all ranks get the same bits.

    `schedule` is any all_gather and `inputs` are as for `allranks.simulate`, taken as float32.
    Every chunk of the schedule starts a block of its own. Copying looks at no value, so codes and
    scales arrive as they left, and the error is that of quantizing once, whatever the number of
    hops. A rank replaces its own piece, too, by what the others get.

    Raises:
        ScheduleError: the schedule breaks a rule or its promise.
        Mismatch: as `allranks.simulate`, or a value that is no finite float32.
        ValueError: another collective, or bits or a block that `quantize` refuses.

    >>> from allranks.algorithms import build
    >>> pieces = [np.linspace(-1, 1, 512) * (rank + 1) for rank in range(4)]
    >>> quantized_all_gather(build("all_gather", "ring", world_size=4), pieces)
    ring all_gather of int8 in blocks of 128, 4 ranks
      error  max 0.01566, bound 0.01575
      bytes  1,584 at the busiest rank; fp16 1.94x, fp32 3.88x
    """
    plan, arrays = _prepared(schedule, inputs, "all_gather", bits, block)
    kept = [_through(plan, rank, array, bits, block) for rank, array in enumerate(arrays)]
    outputs = _present(simulate(schedule, [dequantized for dequantized, _ in kept]))
    whole = np.concatenate(arrays).astype(np.float64)
    bounds = bound_of(np.concatenate([peaks for _, peaks in kept]), bits)
    n = schedule.world_size
    errors = [np.abs(output.astype(np.float64) - whole) for output in outputs]
    return _finished(plan, bits, block, outputs, [whole] * n, errors, [bounds] * n)


def quantized_reduce_scatter(
    schedule: Schedule, inputs: Inputs, *, bits: int = 8, block: int = 128
) -> QuantizedRun:
    """Sum over all ranks, each rank getting its piece: quantized blocks travel, float32 adds.

    `schedule` is any all_to_all: it carries each rank's quantized pieces to their owners, who
    dequantize them and add them in order of rank, own piece included (it is quantized like the
    others). Inputs have the same shape on all ranks and are taken as float32; rank r gets piece r
    of `numpy.array_split(sum, n)`. Every chunk of the schedule starts a block of its own.

    The error of an element is at most sum(m_r) / (2 q), m_r being the largest absolute value of its
    block on rank r, plus the dust of float32 (see the module's proof). `bounds` is infinite where
    the sum could leave float32.

    Raises:
        ScheduleError: the schedule breaks a rule or its promise.
        Mismatch: as `allranks.simulate`, or a value that is no finite float32.
        ValueError: another collective, or bits or a block that `quantize` refuses.
    """
    plan, arrays = _prepared(schedule, inputs, "all_to_all", bits, block)
    kept = [_through(plan, rank, array, bits, block) for rank, array in enumerate(arrays)]
    arrived = _present(simulate(schedule, [dequantized for dequantized, _ in kept]))
    n = schedule.world_size
    bounds = _bound_of_sum([peaks for _, peaks in kept], bits)
    reference = exact([np.ravel(array) for array in arrays], ReduceOp.SUM)
    sums = [_sum(pieces, n) for pieces in arrived]
    # errors are taken before rounding `exact` to float64, piece by piece of the whole
    shape = arrays[0].shape
    off = reference.error_of(np.concatenate(sums).ravel()).reshape(shape)
    return _finished(
        plan,
        bits,
        block,
        sums,
        np.array_split(reference.value.reshape(shape), n),
        np.array_split(np.abs(off), n),
        np.array_split(bounds, n),
    )


def _bound_of_sum(peaks: list[Floats], bits: int) -> Floats:
    growth = (len(peaks) - 1) * _UNIT / (1 - (len(peaks) - 1) * _UNIT)
    of_ranks = [bound_of(peak, bits) for peak in peaks]
    size = sum(peak + bound for peak, bound in zip(peaks, of_ranks, strict=True))
    return np.where(size < LARGEST, sum(of_ranks) + growth * size, np.inf)


def _prepared(
    schedule: Schedule, inputs: Inputs, collective: str, bits: int, block: int
) -> tuple[Layout, list[Singles]]:
    check_blocks(bits, block)
    if schedule.collective != collective:
        raise ValueError(
            f"the schedule is of {schedule.collective}; give one of {collective}, such as "
            f"allranks.schedule({collective!r}, ..., world_size={schedule.world_size})"
        )
    single = np.dtype(np.float32)
    arrays: list[Singles] = []
    for rank, array in enumerate(_present(read_inputs(schedule, inputs))):
        arrays.append(converted(rank, array, single))
        try:
            check_finite(arrays[-1], f"rank {rank}: ")
        except ValueError as error:
            raise Mismatch(str(error), rank=rank) from None
    return layout(schedule, arrays), arrays


def _present(arrays: Sequence[Array | None]) -> list[Array]:
    """Return the arrays as what they are: these collectives leave no rank without one."""
    return [array for array in arrays if array is not None]


def _through(
    plan: Layout, rank: int, array: Singles, bits: int, block: int
) -> tuple[Singles, Floats]:
    """Return what comes out of quantizing a rank's input chunk by chunk, and the peaks."""
    lengths = [plan.bounds[c + 1] - plan.bounds[c] for c in plan.held_at_start(rank)]
    pieces = np.split(np.ravel(array), list(accumulate(lengths))[:-1])
    out = [quantize(piece, bits=bits, block=block).dequantize() for piece in pieces]
    peaks = [peaks_of(piece, block) for piece in pieces]
    return np.concatenate(out).reshape(array.shape), np.concatenate(peaks).reshape(array.shape)


def _sum(pieces: Singles, n: int) -> Singles:
    """Return the float32 sum of what the n senders sent, added in order of rank."""
    total, *others = np.split(pieces, n)
    with np.errstate(over="ignore"):
        for other in others:
            total = total + other
    return total


def _finished(  # noqa: PLR0913, PLR0917 - the fields of the record
    plan: Layout,
    bits: int,
    block: int,
    outputs: Sequence[Array],
    exact_values: Sequence[Floats],
    errors: Sequence[Floats],
    bounds: Sequence[Floats],
) -> QuantizedRun:
    counts = np.diff(plan.bounds)
    payload = [payload_nbytes(int(count), bits, block) for count in counts]
    return QuantizedRun(
        schedule=plan.schedule,
        bits=bits,
        block=block,
        outputs=tuple(outputs),
        exact=tuple(exact_values),
        errors=tuple(errors),
        bounds=tuple(bounds),
        nbytes=_busiest(plan.schedule, np.array(payload, np.int64)),
        nbytes_fp16=_busiest(plan.schedule, counts * 2),
        nbytes_fp32=_busiest(plan.schedule, counts * 4),
    )


def _busiest(schedule: Schedule, nbytes: npt.NDArray[np.int64]) -> int:
    """Return the most bytes that a rank sends or receives, for these sizes of the chunks."""
    table = schedule.table()
    most = 0
    for end in ("src", "dst"):
        total = np.zeros(schedule.num_endpoints, np.int64)
        np.add.at(total, table[end], nbytes[table["chunk"]])
        most = max(most, int(total[: schedule.world_size].max()))
    return most
