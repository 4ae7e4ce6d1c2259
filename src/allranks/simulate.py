"""The reference executor: any schedule on NumPy arrays, in this process.

Nothing here knows Ray, a clock or an algorithm. `layout` says which elements of which array make up
a chunk; every executor uses it, so that all of them cut arrays in the same places. `simulate` then
plays the steps one after another.

Where a chunk lies. Every endpoint has one flat buffer that holds the whole vector, and chunk c is
`buffer[layout.chunk(c)]` in all of them. The whole vector is

    broadcast, reduce, scatter, reduce_scatter, all_reduce   what one rank puts in
    gather, all_gather                                       all inputs, joined along axis 0
    all_to_all                                               all send buffers, joined along axis 0

Collectives with blocks cut its rows (axis 0) into one block per rank like `numpy.array_split`, then
the elements of each block into its chunks in the same way; an all_to_all does so with each send
buffer. The others cut all elements, in logical (C) order, into `num_chunks`. The first pieces are
one longer where the division leaves a rest; empty pieces are legal.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allranks.collectives import Contract, Size, contract, split_lengths
from allranks.errors import Mismatch, unknown_name
from allranks.schedule import Op, Schedule, Step, Transfer
from allranks.verify import verify

Array = npt.NDArray[Any]
Inputs = Sequence[object] | Callable[[int], object]


class ReduceOp(Enum):
    """The arithmetic of a REDUCE.

    AVG divides every input by n before anything is added, as NCCL's PreMulSum does: the sum of
    large fp16 values can overflow although their mean fits. The price is one more rounding.
    """

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    AVG = "avg"

    @classmethod
    def named(cls, name: str | ReduceOp) -> ReduceOp:
        """Return the operation of that name.

        Raises:
            ValueError: no such operation; the message suggests the nearest.

        >>> ReduceOp.named("sum")
        <ReduceOp.SUM: 'sum'>
        """
        try:
            return cls(name.lower() if isinstance(name, str) else name)
        except ValueError:
            raise ValueError(unknown_name("reduce_op", name, [op.value for op in cls])) from None

    @property
    def ufunc(self) -> np.ufunc:
        """Return the NumPy function that combines two values (AVG adds: it has divided before)."""
        return _UFUNCS[self]


_UFUNCS: dict[ReduceOp, np.ufunc] = {
    ReduceOp.SUM: np.add,
    ReduceOp.PROD: np.multiply,
    ReduceOp.MAX: np.maximum,
    ReduceOp.MIN: np.minimum,
    ReduceOp.AVG: np.add,
}


class Spec(NamedTuple):
    """What must be known of an input before anything moves: its shape and its dtype."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True, eq=False)
class Layout:
    """Where every chunk lies, how a rank's input gets there, and how its output is cut out.

    `shape` is the shape of the whole vector; `bounds` has num_chunks + 1 element numbers, and chunk
    c is `bounds[c]` to `bounds[c + 1]`. `rows` are the rows of each block (one send buffer's, for
    all_to_all); without blocks there is none. `inputs` holds the arrays that `layout` was given
    (None where a rank has none), and is empty when the layout was made from shapes alone.
    """

    schedule: Schedule
    reduce_op: ReduceOp
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    bounds: tuple[int, ...]
    rows: tuple[int, ...]
    inputs: tuple[Array | None, ...] = ()

    @property
    def count(self) -> int:
        """Return the number of elements of the whole vector, and so of every flat buffer."""
        return self.bounds[-1]

    @property
    def nbytes(self) -> int:
        """Return S in bytes: the whole vector, or one rank's send buffer for all_to_all."""
        senders = self.schedule.world_size if self.schedule.collective == "all_to_all" else 1
        return self.count // senders * self.dtype.itemsize

    def chunk(self, number: int) -> slice:
        """Return where chunk `number` lies in any endpoint's flat buffer."""
        return slice(self.bounds[number], self.bounds[number + 1])

    def chunk_nbytes(self, number: int) -> int:
        """Return the size of chunk `number` in bytes; 0 for an empty chunk."""
        return (self.bounds[number + 1] - self.bounds[number]) * self.dtype.itemsize

    def held_at_start(self, endpoint: int) -> list[int]:
        """Return the chunks that an endpoint holds before step 0; none on a switch."""
        if endpoint >= self.schedule.world_size:
            return []
        promise, size = self._promise()
        return [c for c in range(size.num_chunks) if _some(promise.starts(endpoint, c, size))]

    def promised(self, rank: int) -> list[int]:
        """Return the chunks that the contract promises to a rank after the last step."""
        promise, size = self._promise()
        return [c for c in range(size.num_chunks) if _some(promise.ends(rank, c, size))]

    def input_slices(self, rank: int) -> list[slice]:
        """Return where a rank's input goes: its elements in C order fill these parts in turn."""
        return self._joined(self.held_at_start(rank))

    def output_slices(self, rank: int) -> list[slice]:
        """Return the parts of a rank's flat buffer that, in turn, are its output in C order."""
        return self._joined(self.promised(rank))

    def output_shape(self, rank: int) -> tuple[int, ...] | None:
        """Return the shape of a rank's output; None where the contract promises it nothing."""
        promised = self.promised(rank)
        if not promised:
            return None
        if self.schedule.collective == "all_to_all":
            return (self.schedule.world_size * self.rows[rank], *self.shape[1:])
        if len(promised) < self.schedule.num_chunks:
            return (self.rows[rank], *self.shape[1:])
        return self.shape

    def new_buffer(self) -> Array:
        """Return an uninitialised flat buffer for one endpoint."""
        return np.empty(self.count, self.dtype)

    def load(self, rank: int, array: Array, buffer: Array) -> None:
        """Write a rank's input into its flat buffer: in logical order, and divided by n for AVG.

        The input may be read-only and need not be contiguous; it is never changed.
        """
        flat = self._scaled(np.ravel(array, order="C"))
        at = 0
        for part in self.input_slices(rank):
            length = part.stop - part.start
            buffer[part] = flat[at : at + length]
            at += length

    def output(self, rank: int, buffer: Array) -> Array | None:
        """Return a rank's output as a fresh array; None where the contract promises it nothing."""
        shape = self.output_shape(rank)
        if shape is None:
            return None
        parts = [buffer[part] for part in self.output_slices(rank)]
        return np.concatenate(parts).reshape(shape)

    def _promise(self) -> tuple[Contract, Size]:
        s = self.schedule
        return contract(s.collective), Size(s.world_size, s.num_chunks, s.root)

    def _joined(self, chunks: Iterable[int]) -> list[slice]:
        parts: list[slice] = []
        for number in chunks:
            part = self.chunk(number)
            if parts and parts[-1].stop == part.start:
                part = slice(parts.pop().start, part.stop)
            parts.append(part)
        return parts

    def _scaled(self, flat: Array) -> Array:
        if self.reduce_op is not ReduceOp.AVG or not contract(self.schedule.collective).reduces:
            return flat
        n = self.schedule.world_size
        # n itself may not fit into a narrow type, so narrow types divide in fp32 and round once
        narrow = self.dtype.itemsize < np.dtype(np.float32).itemsize
        scaled: Array = np.divide(flat.astype(np.float32) if narrow else flat, n)
        return scaled.astype(self.dtype)


def layout(schedule: Schedule, inputs: Inputs, reduce_op: str | ReduceOp = "sum") -> Layout:
    """Return the layout for these inputs, with them as arrays in `.inputs`; nothing has moved yet.

    `inputs` has one entry per rank: anything with DLPack or `__array__`, or None for a rank that
    starts with nothing (all but the root of broadcast and scatter). A callable is asked for the
    input of every rank that has one: `inputs(rank)`.

    Raises:
        Mismatch: ranks disagree about shape or dtype, a rank has no input or one too many, a
            dtype cannot travel, or an input cannot be read as an array; the message names the rank.
        ValueError: an unknown collective or reduce_op, or one that the dtype does not allow.
    """
    arrays = read_inputs(schedule, inputs)
    specs = [None if array is None else Spec(array.shape, array.dtype) for array in arrays]
    return replace(layout_of(schedule, specs, reduce_op), inputs=tuple(arrays))


def layout_of(
    schedule: Schedule, specs: Sequence[Spec | None], reduce_op: str | ReduceOp = "sum"
) -> Layout:
    """Return the layout for inputs of these shapes and dtypes, one per rank; needs no array.

    Raises:
        Mismatch: as `layout` does, except for what only an array can show.
        ValueError: as `layout` does.
    """
    promise = contract(schedule.collective)
    n = schedule.world_size
    size = promise.size(n, schedule.num_chunks, schedule.root)
    _check_presence(promise, size, [spec is not None for spec in specs])
    given = {rank: spec for rank, spec in enumerate(specs) if spec is not None}
    operation = ReduceOp.named(reduce_op)
    dtype = _common_dtype(promise, given, operation)
    shape = _whole_shape(promise, size, {rank: spec.shape for rank, spec in given.items()})
    rows: tuple[int, ...] = ()
    if _has_blocks(promise):
        exchanges = promise.name == "all_to_all"
        rows = split_lengths(shape[0] // n if exchanges else shape[0], n)
        width = math.prod(shape[1:])
        blocks = rows * n if exchanges else rows
        per_block = schedule.num_chunks // len(blocks)
        counts = [count for block in blocks for count in split_lengths(block * width, per_block)]
    else:
        counts = list(split_lengths(math.prod(shape), schedule.num_chunks))
    return Layout(
        schedule=schedule,
        reduce_op=operation,
        dtype=dtype,
        shape=shape,
        bounds=tuple(accumulate(counts, initial=0)),
        rows=rows,
    )


def read_inputs(schedule: Schedule, inputs: Inputs) -> list[Array | None]:
    """Return one array per rank, or None; views of what was given wherever that is possible.

    Raises:
        Mismatch: not one input per rank, or one that is no array of numbers in host memory.
    """
    n = schedule.world_size
    promise = contract(schedule.collective)
    size = promise.size(n, schedule.num_chunks, schedule.root)
    if callable(inputs):
        asked: list[object] = [
            inputs(rank) if _takes_input(promise, rank, size) else None for rank in range(n)
        ]
    elif isinstance(inputs, list | tuple | np.ndarray):
        asked = list(inputs)
    else:
        message = (
            f"inputs is a {type(inputs).__name__}; give a list with one array per rank, or a "
            "function from a rank to its array"
        )
        raise Mismatch(message)
    _check_presence(promise, size, [entry is not None for entry in asked])
    return [None if entry is None else as_array(rank, entry) for rank, entry in enumerate(asked)]


def simulate(
    schedule: Schedule, inputs: Inputs, reduce_op: str | ReduceOp = "sum"
) -> list[Array | None]:
    """Play a schedule on arrays and return each rank's output, None where nothing is promised.

    The schedule is proved first. All sends of a step read the state before the step; several
    REDUCEs into one chunk are applied to the own value in order of src. The inputs stay as they
    are and the outputs are new arrays of the inputs' dtype. Integers wrap where they overflow, and
    a SUM of bools is a logical OR, as in NumPy; a float that overflows is announced by a
    RuntimeWarning.

    Shapes, with p = the piece of rank r that `numpy.array_split(whole, n)` gives:
        broadcast         root gives the whole, all get it
        reduce            all give the same shape, the root gets it
        scatter           root gives the whole, rank r gets p
        gather            rank r gives p, the root gets the whole
        all_gather        rank r gives p, all get the whole
        reduce_scatter    all give the same shape, rank r gets p of the result
        all_reduce        all give the same shape, all get it
        all_to_all        all give the same shape; piece q of rank r's input goes to rank q, which
                          gets the pieces in order of their senders

    Raises:
        ScheduleError: the schedule breaks a rule or its promise.
        Mismatch, ValueError: as `layout`.

    >>> from allranks.algorithms import build
    >>> ring = build("all_reduce", "ring", world_size=2)
    >>> simulate(ring, [np.array([1, 2, 3]), np.array([10, 20, 30])])
    [array([11, 22, 33]), array([11, 22, 33])]
    """
    verify(schedule)
    plan = layout(schedule, inputs, reduce_op)
    buffers = [plan.new_buffer() for _ in range(schedule.num_endpoints)]
    held = [set(plan.held_at_start(endpoint)) for endpoint in range(schedule.num_endpoints)]
    for rank, array in enumerate(plan.inputs):
        if array is not None:
            plan.load(rank, array, buffers[rank])
    overflow: str | None = None
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for number, step in enumerate(schedule.steps):
            bad = _play(plan, step, buffers, held)
            if bad is not None and overflow is None:
                overflow = overflow_message(plan, number, bad)
    if overflow is not None:
        warnings.warn(overflow, RuntimeWarning, stacklevel=2)
    return [plan.output(rank, buffers[rank]) for rank in range(schedule.world_size)]


def example_inputs(
    schedule: Schedule, *, nbytes: int, dtype: npt.DTypeLike = "float32"
) -> list[Array | None]:
    """Return inputs for a run of S = `nbytes`: whole numbers, another one in every place.

    Element i of rank r is 100 (r + 1) + i, wrapped so that a sum over all ranks is exact in the
    dtype. An array has one axis; S is of the whole vector, one rank's send buffer for all_to_all.

    Raises:
        ValueError: not a numeric dtype, or not a whole number of elements.

    >>> from allranks.algorithms import build
    >>> [a.tolist() for a in example_inputs(build("all_gather", "ring", world_size=2), nbytes=12)]
    [[100.0, 101.0], [200.0]]
    """
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        message = f"dtype {dtype!r} is unknown to NumPy; use one such as float32 or int64"
        raise ValueError(message) from error
    if not _is_number(kind):
        message = f"dtype {kind} holds no numbers; use one such as float32 or int64"
        raise ValueError(message)
    if nbytes < 0 or nbytes % kind.itemsize:
        message = f"{nbytes} bytes are no whole number of {kind} elements ({kind.itemsize} bytes)"
        raise ValueError(message)
    n, count = schedule.world_size, nbytes // kind.itemsize
    promise = contract(schedule.collective)
    size = promise.size(n, schedule.num_chunks, schedule.root)
    counts = split_lengths(count, n) if _joins(promise) else (count,) * n
    period = max(2, min(_largest_exact(kind), 2**62) // n + 1)
    return [
        ((100 * (rank + 1) + np.arange(counts[rank])) % period).astype(kind)
        if _takes_input(promise, rank, size)
        else None
        for rank in range(n)
    ]


def overflow_message(plan: Layout, step: int, transfer: Transfer) -> str:
    """Return the sentence for a REDUCE whose result no longer fits the dtype."""
    s = plan.schedule
    advice = {
        ReduceOp.SUM: "use a wider dtype, or reduce_op='avg', which divides before it adds",
        ReduceOp.AVG: "use a wider dtype",
        ReduceOp.PROD: "use a wider dtype",
    }
    return (
        f"step {step}: {s.endpoint_name(transfer.src)} -> {s.endpoint_name(transfer.dst)}, chunk "
        f"{transfer.chunk}: the {plan.reduce_op.value} overflowed {plan.dtype} and is no finite "
        f"number any more; {advice[plan.reduce_op]}"
    )


def _play(plan: Layout, step: Step, buffers: list[Array], held: list[set[int]]) -> Transfer | None:
    """Play one step in place; return the first transfer that overflowed, if one did."""
    written = {(t.dst, t.chunk) for t in step}
    sent: list[tuple[Transfer, Array]] = []
    for t in step:
        value = buffers[t.src][plan.chunk(t.chunk)]
        # what this step also overwrites is read now, before any write
        sent.append((t, value.copy() if (t.src, t.chunk) in written else value))
    overflowed: Transfer | None = None
    for t, value in sorted(sent, key=lambda pair: pair[0][:3]):
        own = buffers[t.dst][plan.chunk(t.chunk)]
        if t.op is Op.COPY or t.chunk not in held[t.dst]:
            own[...] = value
            held[t.dst].add(t.chunk)
            continue
        result = plan.reduce_op.ufunc(own, value)
        if overflowed is None and _overflowed(plan, own, value, result):
            overflowed = t
        own[...] = result
    return overflowed


def _overflowed(plan: Layout, own: Array, value: Array, result: Array) -> bool:
    if plan.dtype.kind in "biu" or plan.reduce_op in (ReduceOp.MAX, ReduceOp.MIN):
        return False
    finite = np.isfinite(result)
    return not finite.all() and bool((~finite & np.isfinite(own) & np.isfinite(value)).any())


def _some(parts: Iterable[int] | None) -> bool:
    """Return whether a contract names any part here."""
    return parts is not None and any(True for _ in parts)


def _has_blocks(promise: Contract) -> bool:
    return promise.pieces(2) > 1


def _joins(promise: Contract) -> bool:
    """Return whether the whole is joined from pieces, one on each rank."""
    return promise.name in ("gather", "all_gather")


def _largest_exact(dtype: np.dtype[Any]) -> int:
    """Return a number up to which all whole numbers are exact in a dtype."""
    if dtype.kind == "b":
        return 1
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max)
    largest = 1
    while largest < 2**53 and _is_exact(2 * largest - 1, dtype):
        largest *= 2
    return largest


def _is_exact(value: int, dtype: np.dtype[Any]) -> bool:
    stored = np.asarray([value]).astype(dtype)
    return bool((stored.astype(np.complex128) == value).all())


def _takes_input(promise: Contract, rank: int, size: Size) -> bool:
    return any(_some(promise.starts(rank, chunk, size)) for chunk in range(size.num_chunks))


def _check_presence(promise: Contract, size: Size, present: Sequence[bool]) -> None:
    n = size.world_size
    if len(present) != n:
        message = (
            f"{len(present)} inputs for {n} ranks; give one per rank, None where a rank starts "
            "with nothing"
        )
        raise Mismatch(message)
    for rank, here in enumerate(present):
        due = _takes_input(promise, rank, size)
        if due and not here:
            message = f"rank {rank}: no input; {promise.name} needs an array from this rank"
            raise Mismatch(message, rank=rank)
        if here and not due:
            message = (
                f"rank {rank}: an input where none is due; only the root, rank {size.root}, starts "
                f"with data in a {promise.name}, so give None here"
            )
            raise Mismatch(message, rank=rank, peer=size.root)


def as_array(rank: int, entry: object) -> Array:
    """Return a rank's input as an array in native byte order, sharing its memory where NumPy can.

    Raises:
        Mismatch: a masked array, or nothing that NumPy can read as an array in host memory.
    """
    if isinstance(entry, np.ma.MaskedArray):
        message = f"rank {rank}: a masked array; its mask cannot travel, fill it first (.filled())"
        raise Mismatch(message, rank=rank)
    try:
        if hasattr(entry, "__dlpack__") and not isinstance(entry, np.ndarray | np.generic):
            array: Array = np.from_dlpack(entry)
        else:
            array = np.asarray(entry)
    except Exception as error:
        message = (
            f"rank {rank}: the input, a {type(entry).__name__}, is no array in host memory "
            f"({error}); give numbers of one dtype in a rectangular shape"
        )
        raise Mismatch(message, rank=rank) from error
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _common_dtype(promise: Contract, given: dict[int, Spec], operation: ReduceOp) -> np.dtype[Any]:
    by_dtype = _grouped({rank: spec.dtype for rank, spec in given.items()})
    for dtype, ranks in by_dtype.items():
        if not _is_number(dtype):
            message = (
                f"rank {ranks[0]}: dtype {dtype} holds no numbers of a fixed size; convert the "
                "input to a numeric dtype first"
            )
            raise Mismatch(message, rank=ranks[0])
    _check_agreement("dtype", by_dtype, "convert them to one dtype first")
    agreed: np.dtype[Any] = next(iter(by_dtype))
    if promise.reduces:
        _check_arithmetic(operation, agreed)
    return agreed


def _check_arithmetic(operation: ReduceOp, dtype: np.dtype[Any]) -> None:
    half = np.asarray([0.5]).astype(dtype)
    if operation is ReduceOp.AVG and (dtype.kind == "b" or not half.all()):
        message = (
            f"reduce_op 'avg' of {dtype}: a mean of whole numbers need not be one; convert the "
            "inputs to a float dtype, or use 'sum' and divide"
        )
        raise ValueError(message)
    try:
        result = operation.ufunc(half, half)
    except TypeError as error:
        message = f"reduce_op {operation.value!r} does not exist for {dtype}; convert the inputs"
        raise ValueError(message) from error
    if result.dtype != dtype:
        message = (
            f"reduce_op {operation.value!r} turns {dtype} into {result.dtype}; convert the inputs"
        )
        raise ValueError(message)


def _whole_shape(
    promise: Contract, size: Size, shapes: dict[int, tuple[int, ...]]
) -> tuple[int, ...]:
    n = size.world_size
    for rank, shape in shapes.items():
        if _has_blocks(promise) and not shape:
            message = (
                f"rank {rank}: a single number without an axis; {promise.name} splits axis 0, so "
                "give an array of shape (1,)"
            )
            raise Mismatch(message, rank=rank)
    joins = _joins(promise)
    compared = {rank: shape[1:] if joins else shape for rank, shape in shapes.items()}
    what = "shape after axis 0" if joins else "shape"
    _check_agreement(what, _grouped(compared), f"{promise.name} needs the same on all ranks")
    shape = next(iter(shapes.values()))
    if joins:
        rows = [shapes[rank][0] for rank in range(n)]
        _check_pieces(promise, rows)
        return (sum(rows), *shape[1:])
    if promise.name == "all_to_all":
        return (n * shape[0], *shape[1:])
    return shape


def _check_pieces(promise: Contract, rows: list[int]) -> None:
    due = split_lengths(sum(rows), len(rows))
    for rank, (here, wanted) in enumerate(zip(rows, due, strict=True)):
        if here != wanted:
            message = (
                f"rank {rank}: {here} rows where {wanted} are due; the inputs of {promise.name} "
                f"are the pieces of the whole ({sum(rows)} rows) that numpy.array_split gives: "
                f"{_listed(due)}"
            )
            raise Mismatch(message, rank=rank)


def _is_number(dtype: np.dtype[Any]) -> bool:
    # bfloat16 and its narrow relatives (ml_dtypes) have kind V, as raw bytes and records do
    return dtype.kind in "biufc" or (dtype.kind == "V" and dtype.type is not np.void)


def _grouped(values: Mapping[int, Any]) -> dict[Any, list[int]]:
    groups: dict[Any, list[int]] = {}
    for rank, value in values.items():
        groups.setdefault(value, []).append(rank)
    return groups


def _check_agreement(what: str, groups: dict[Any, list[int]], advice: str) -> None:
    if len(groups) == 1:
        return
    said = "; ".join(
        f"{'rank' if len(ranks) == 1 else 'ranks'} {_listed(ranks)}: {value}"
        for value, ranks in groups.items()
    )
    first, second, *_ = groups.values()
    message = f"ranks disagree about the {what} ({said}); {advice}"
    raise Mismatch(message, rank=second[0], peer=first[0])


def _listed(values: Sequence[int], most: int = 8) -> str:
    shown = [str(value) for value in values[:most]]
    return ", ".join(shown) + (", ..." if len(values) > most else "")
