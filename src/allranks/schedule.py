"""A schedule: who sends which chunk to whom, in which step, and what the receiver does with it.

A step is a set of transfers that happen at the same time: every send reads the state *before* the
step. Endpoints 0 .. n-1 are ranks; n, n+1, ... are switches. A schedule carries no data and no
times; a trace is a schedule together with what one run of it did, when.

The steps of a short schedule are tuples of Transfers and need the standard library alone. Those of
a long one are `Columns`: NumPy arrays that make Transfers on demand, 17 bytes a transfer.
"""

from __future__ import annotations

import hashlib
import json
import numbers
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

from allranks.errors import ScheduleError, shown

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

SCHEDULE_FORMAT = "allranks.schedule/1"
TRACE_FORMAT = "allranks.trace/1"

SIMULATED = "SIMULATED"
EMULATED = "EMULATED"
MEASURED_CPU = "MEASURED: CPU processes"

LONG = 1 << 14  # transfers; a schedule of more is kept in columns

_MOST_DIGITS = 600  # of a number in JSON: far more than any that fits
_SHOWN = 60  # characters of a wrong value that a message quotes


class Op(Enum):
    """What the receiver does with a chunk: keep it (COPY) or combine it with its own (REDUCE)."""

    COPY = "copy"
    REDUCE = "reduce"


class Transfer(NamedTuple):
    """Endpoint `src` sends `chunk` to endpoint `dst`, which applies `op`."""

    src: int
    dst: int
    chunk: int
    op: Op


Step = Sequence[Transfer]
Steps: TypeAlias = Sequence[tuple[Transfer, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class Columns(Sequence[tuple[Transfer, ...]]):
    """The steps of a schedule as NumPy columns; indexed and iterated, it is their sequence.

    Step s is the rows bounds[s] to bounds[s + 1] - 1. Row i says that `src[i]` sends `chunk[i]` to
    `dst[i]`, which adds it (`reduce[i]`) or keeps it. The columns are read-only views, not copies,
    of what they are made from: bounds and chunk int64, src and dst int32, reduce bool. Equal to any
    sequence of the same steps.

    Raises:
        ScheduleError: the columns do not fit together, or hold what their type cannot (kind
            "format").

    >>> columns = Columns.collect([[Transfer(0, 1, 0, Op.COPY)], []])
    >>> columns, columns[0]
    (Columns(2 steps, 1 transfer), (Transfer(src=0, dst=1, chunk=0, op=<Op.COPY: 'copy'>),))
    """

    bounds: Array
    src: Array
    dst: Array
    chunk: Array
    reduce: Array

    def __post_init__(self) -> None:
        import numpy as np  # noqa: PLC0415 - small schedules need the standard library alone

        kinds = {"bounds": np.int64, "src": np.int32, "dst": np.int32, "chunk": np.int64}
        for name, kind in {**kinds, "reduce": np.bool_}.items():
            object.__setattr__(self, name, _column(name, getattr(self, name), kind))
        rows = {len(column) for column in (self.src, self.dst, self.chunk, self.reduce)}
        bounds = self.bounds
        ordered = len(bounds) and bounds[0] == 0 and (bounds[1:] >= bounds[:-1]).all()
        if len(rows) != 1 or not ordered or bounds[-1] != len(self.src):
            message = (
                "columns: src, dst, chunk and reduce must be equally long, and bounds must rise "
                "from 0 to that length"
            )
            raise ScheduleError(message, kind="format")

    @classmethod
    def collect(cls, steps: Iterable[Iterable[Transfer]], *, limit: int | None = None) -> Columns:
        """Return the columns of steps that come one after another, as a generator yields them.

        Raises:
            ScheduleError: something is no transfer (kind "format"); the message says where.
            TooLongError: more than `limit` transfers; raised before they fill the memory.
        """
        return _collected(_limited(steps, limit))

    @property
    def num_transfers(self) -> int:
        """Return the number of transfers in all steps, without counting."""
        return len(self.src)

    def steps_of(self, rows: Array) -> Array:
        """Return the steps that rows belong to."""
        return self.bounds.searchsorted(rows, side="right") - 1

    def head(self, rows: int) -> Columns:
        """Return the same steps without what stands in this row or a later one."""
        kept = (column[:rows] for column in self.columns)
        return Columns(self.bounds.clip(max=rows), *kept)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, index: int) -> tuple[Transfer, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Columns: ...
    def __getitem__(self, index: int | slice) -> tuple[Transfer, ...] | Columns:
        if isinstance(index, slice):
            start, stop, stride = index.indices(len(self))
            if stride != 1:
                return Columns.collect(self[number] for number in range(start, stop, stride))
            stop = max(start, stop)
            first, last = int(self.bounds[start]), int(self.bounds[stop])
            rows = (column[first:last] for column in self.columns)
            return Columns(self.bounds[start : stop + 1] - first, *rows)
        number = range(len(self))[index]
        return self._step(int(self.bounds[number]), int(self.bounds[number + 1]))

    def __iter__(self) -> Iterator[tuple[Transfer, ...]]:
        return (self._step(first, last) for first, last in pairwise(self.bounds.tolist()))

    @property
    def columns(self) -> tuple[Array, Array, Array, Array]:
        """Return src, dst, chunk and reduce, one row a transfer."""
        return self.src, self.dst, self.chunk, self.reduce

    def _step(self, first: int, last: int) -> tuple[Transfer, ...]:
        src, dst, chunk, reduce = (column[first:last].tolist() for column in self.columns)
        ops = [_OPS[added] for added in reduce]
        return tuple(map(Transfer, src, dst, chunk, ops))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Columns):
            pairs = zip((self.bounds, *self.columns), (other.bounds, *other.columns), strict=True)
            return all(len(a) == len(b) and bool((a == b).all()) for a, b in pairs)
        if isinstance(other, tuple):
            return len(self) == len(other) and all(map(operator.eq, self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))  # equal to a tuple, so hashed like one

    def __repr__(self) -> str:
        size = f"{counted(len(self), 'step')}, {counted(self.num_transfers, 'transfer')}"
        return f"{type(self).__name__}({size})"


_OPS = (Op.COPY, Op.REDUCE)


@dataclass(frozen=True)
class Schedule:
    """A chunk-level program for one collective: the object that is proved, priced, played and run.

    `num_chunks` is the number of pieces into which the whole vector is cut. `root` is None for
    collectives without one. `steps` become tuples of Transfers unless they are `Columns`; whole
    numbers of other types, NumPy's for one, become Python's. Building a Schedule does not prove it;
    `allranks.verify` does.

    Raises:
        ScheduleError: a size is not a whole number, or is out of range; the steps are no sequence
            of sequences (kind "format").
    """

    collective: str
    algorithm: str
    world_size: int
    num_chunks: int
    steps: Steps
    root: int | None = None
    num_switches: int = 0

    def __post_init__(self) -> None:
        self._settle("world_size", least=1)
        self._settle("num_chunks", least=1)
        self._settle("num_switches", least=0)
        if self.root is not None:
            self._settle("root", least=0)
            if self.root >= self.world_size:
                last = self.world_size - 1
                message = f"root {shown(self.root)} is not a rank; ranks are 0 to {shown(last)}"
                raise ScheduleError(message, kind="format")
        if not isinstance(self.steps, Columns):
            object.__setattr__(self, "steps", _frozen(self.steps))

    def _settle(self, name: str, *, least: int) -> None:
        value = _whole_number(getattr(self, name))
        if type(value) is not int or value < least:
            message = f"{name} is {shown(value)}; it must be a whole number of at least {least}"
            raise ScheduleError(message, kind="format")
        object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        # The steps count by their number alone: two schedules that differ in them are still unequal
        return hash((self.collective, self.algorithm, self.world_size, self.num_chunks, self.root))

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what `columns` remembers."""
        return {name: value for name, value in self.__dict__.items() if name != "_columns"}

    @property
    def num_endpoints(self) -> int:
        """Return the number of ranks and switches."""
        return self.world_size + self.num_switches

    @property
    def num_transfers(self) -> int:
        """Return the number of transfers in all steps."""
        if isinstance(self.steps, Columns):
            return self.steps.num_transfers
        return sum(len(step) for step in self.steps)

    def columns(self) -> Columns:
        """Return the steps as NumPy columns; they are made once and remembered.

        Raises:
            ScheduleError: something is no transfer, or a number does not fit its column (kind
                "format"); the message says where.
        """
        if isinstance(self.steps, Columns):
            return self.steps
        known: Columns | None = self.__dict__.get("_columns")
        if known is None:
            known = Columns.collect(self.steps)
            object.__setattr__(self, "_columns", known)
        return known

    def transfers(self) -> Iterator[tuple[int, Transfer]]:
        """Yield every transfer with the number of its step, in order."""
        for number, step in enumerate(self.steps):
            for transfer in step:
                yield number, transfer

    def endpoint_name(self, endpoint: int) -> str:
        """Return the name a person reads: "rank 3" or "switch 0".

        >>> Schedule("all_reduce", "sharp", 4, 1, (), num_switches=1).endpoint_name(4)
        'switch 0'
        """
        if endpoint < self.world_size:
            return f"rank {endpoint}"
        return f"switch {endpoint - self.world_size}"

    def to_dict(self) -> dict[str, Any]:
        """Return the schedule as plain JSON data in the format "allranks.schedule/1"."""
        return {**self._head(), "steps": [_rows(step) for step in self.steps]}

    def _head(self) -> dict[str, Any]:
        return {
            "format": SCHEDULE_FORMAT,
            "collective": self.collective,
            "algorithm": self.algorithm,
            "world_size": self.world_size,
            "num_switches": self.num_switches,
            "root": self.root,
            "num_chunks": self.num_chunks,
        }

    def to_json(self) -> str:
        """Return the schedule as one line of JSON."""
        return "".join(self._json())

    def _json(self) -> Iterator[str]:
        """Yield the JSON piece by piece, the same for both forms of the steps."""
        yield _dumps({**self._head(), "steps": []}).removesuffix("]}")
        for number, step in enumerate(self.steps):
            yield ("," if number else "") + _dumps(_rows(step))
        yield "]}"

    @classmethod
    def from_dict(cls, data: object) -> Schedule:
        """Read a schedule from plain JSON data.

        Raises:
            ScheduleError: the data is not a schedule (kind "format"); the message says where.
        """
        fields = _object(data, SCHEDULE_FORMAT)
        return cls(
            collective=_text(fields, "collective"),
            algorithm=_text(fields, "algorithm", default="custom"),
            world_size=_number(fields, "world_size"),
            num_chunks=_number(fields, "num_chunks"),
            steps=write_out(
                _step(number, row) for number, row in enumerate(_list(fields, "steps"))
            ),
            root=None if fields.get("root") is None else _number(fields, "root"),
            num_switches=_number(fields, "num_switches", default=0),
        )

    @classmethod
    def from_json(cls, text: str) -> Schedule:
        """Read a schedule from JSON text.

        Raises:
            ScheduleError: the text is not a schedule (kind "format"); the message says where.
        """
        return cls.from_dict(_parse(text))

    def digest(self) -> str:
        """Return the SHA-256 of the schedule's JSON: equal schedules have equal digests."""
        sha = hashlib.sha256()
        for piece in self._json():
            sha.update(piece.encode())
        return sha.hexdigest()

    def to_text(self) -> str:
        """Return one line per transfer, as a person would write it down."""
        root = "" if self.root is None else f", root {self.root}"
        size = f"{counted(self.world_size, 'rank')}, {counted(self.num_chunks, 'chunk')}{root}"
        work = f"{counted(len(self.steps), 'step')}, {counted(self.num_transfers, 'transfer')}"
        lines = [f"{self.collective} {self.algorithm}: {size}, {work}"]
        for number, step in enumerate(self.steps):
            lines.append(f"step {number}")
            lines += [
                f"  {self.endpoint_name(t.src)} -> {self.endpoint_name(t.dst)}  "
                f"chunk {t.chunk}  {t.op.value}"
                for t in step
            ]
        return "\n".join(lines)

    def table(self) -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
        """Return the transfers as columns step, src, dst, chunk, op (0 = copy, 1 = reduce)."""
        import numpy as np  # noqa: PLC0415 - small schedules need the standard library alone

        columns = self.columns()
        step = np.repeat(np.arange(len(columns)), np.diff(columns.bounds))
        names = ("step", "src", "dst", "chunk", "op")
        rows = (step, *columns.columns)
        return {name: row.astype(np.int64) for name, row in zip(names, rows, strict=True)}


class TransferRecord(NamedTuple):
    """One transfer as it really happened: seconds on one clock, counted bytes, and by what means.

    `start_s` and `end_s` count from the start of the collective on its first rank.
    """

    step: int
    src: int
    dst: int
    chunk: int
    op: Op
    start_s: float
    end_s: float
    nbytes: int
    transport: str
    device: str


@dataclass(frozen=True)
class Trace:
    """One run of a schedule: what moved when, and a header that says what was measured where.

    Every label that a page shows comes from `header["label"]`, and from nowhere else.
    """

    schedule: Schedule
    records: tuple[TransferRecord, ...]
    header: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Return SIMULATED, EMULATED, or MEASURED: and the device."""
        return str(self.header["label"])

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as plain JSON data in the format "allranks.trace/1"."""
        return {
            "format": TRACE_FORMAT,
            "header": dict(self.header),
            "schedule": self.schedule.to_dict(),
            "records": [[*r[:4], r.op.value, *r[5:]] for r in self.records],
        }

    def to_json(self) -> str:
        """Return the trace as one line of JSON."""
        return json.dumps(self.to_dict(), separators=(",", ":"))

    @classmethod
    def from_dict(cls, data: object) -> Trace:
        """Read a trace from plain JSON data.

        Raises:
            ScheduleError: the data is not a trace (kind "format"); the message says where.
        """
        fields = _object(data, TRACE_FORMAT)
        header = fields.get("header")
        if not isinstance(header, dict) or not isinstance(header.get("label"), str):
            message = "header: needs a label that says what was measured; write the trace again"
            raise ScheduleError(message, kind="format")
        records = tuple(_record(number, row) for number, row in enumerate(_list(fields, "records")))
        return cls(Schedule.from_dict(fields.get("schedule")), records, header)

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Read a trace from JSON text.

        Raises:
            ScheduleError: the text is not a trace (kind "format"); the message says where.
        """
        return cls.from_dict(_parse(text))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "step"), counted(131_071, "step")
    ('1 step', '131,071 steps')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class TooLongError(ValueError):
    """A schedule has more transfers than it may."""


def write_out(steps: Iterable[Step], *, limit: int | None = None) -> Steps:
    """Return all steps of a generator: as tuples, or as Columns if they are more than LONG.

    Raises:
        ScheduleError: something in a long schedule is no transfer (kind "format").
        TooLongError: more than `limit` transfers; raised before they fill the memory.
    """
    coming = _limited(steps, limit)
    written: list[tuple[Transfer, ...]] = []
    transfers = 0
    for step in coming:
        written.append(step)
        transfers += len(step)
        if transfers > LONG:
            return _collected(chain(written, coming))
    return tuple(written)


def check_form(step: int, index: int, transfer: object) -> None:
    """Raise unless this is a Transfer of plain whole numbers and an Op.

    Raises:
        ScheduleError: it is something else (kind "format").
    """
    if not isinstance(transfer, Transfer) or not isinstance(transfer.op, Op):
        message = (
            f"step {step}, transfer {index} is {shown(transfer)}; "
            "it must be Transfer(src, dst, chunk, Op.COPY or Op.REDUCE)"
        )
        raise ScheduleError(message, kind="format", step=step)
    for name, value in zip(Transfer._fields, transfer[:3], strict=False):
        if type(value) is not int:
            message = (
                f"step {step}, transfer {index}: {name} is {shown(value)}; "
                "ranks and chunks are plain whole numbers (int)"
            )
            raise ScheduleError(message, kind="format", step=step)


def _limited(
    steps: Iterable[Iterable[Transfer]], limit: int | None
) -> Iterator[tuple[Transfer, ...]]:
    transfers = 0
    for step in steps:
        whole = tuple(step)
        transfers += len(whole)
        if limit is not None and transfers > limit:
            message = f"a schedule of more than {limit:,} transfers is too long to write out"
            raise TooLongError(message)
        yield whole


def _collected(steps: Iterable[tuple[Transfer, ...]]) -> Columns:
    import numpy as np  # noqa: PLC0415 - small schedules need the standard library alone

    lengths = [0]
    parts: list[tuple[Array, ...]] = []
    waiting: list[tuple[Transfer, ...]] = []
    transfers = 0
    for step in steps:
        waiting.append(step)
        lengths.append(len(step))
        transfers += len(step)
        if transfers > LONG:
            parts.append(_packed(waiting, len(lengths) - 1 - len(waiting)))
            waiting, transfers = [], 0
    parts.append(_packed(waiting, len(lengths) - 1 - len(waiting)))
    return Columns(np.cumsum(lengths), *map(np.concatenate, zip(*parts, strict=True)))


def _packed(steps: Sequence[tuple[Transfer, ...]], first: int) -> tuple[Array, ...]:
    """Return src, dst, chunk and reduce of some steps, the first of which has this number."""
    import numpy as np  # noqa: PLC0415 - small schedules need the standard library alone

    rows = list(chain.from_iterable(steps))
    if {*map(type, rows)} - {Transfer} or _kinds(rows) - {int, Op}:
        steps = [_plain(step) for step in steps]
        for number, step in enumerate(steps, first):
            for index, transfer in enumerate(step):
                check_form(number, index, transfer)
        rows = list(chain.from_iterable(steps))
    src, dst, chunk, ops = zip(*rows, strict=True) if rows else ((), (), (), ())
    if max(map(abs, chain(src, dst)), default=0) >> 31 or max(map(abs, chunk), default=0) >> 63:
        _refuse_range(steps, first)
    return (
        np.array(src, dtype=np.int32),
        np.array(dst, dtype=np.int32),
        np.array(chunk, dtype=np.int64),
        np.array([op is Op.REDUCE for op in ops], dtype=np.bool_),
    )


def _refuse_range(steps: Sequence[tuple[Transfer, ...]], first: int) -> None:
    for number, step in enumerate(steps, first):
        for index, transfer in enumerate(step):
            for name, value, bits in zip(
                Transfer._fields, transfer[:3], (31, 31, 63), strict=False
            ):
                if abs(value) >> bits:
                    message = (
                        f"step {number}, transfer {index}: {name} is {shown(value)}; "
                        f"it must be less than 2^{bits}"
                    )
                    raise ScheduleError(message, kind="format", step=number)


def _column(name: str, values: Any, kind: type[np.generic]) -> Array:  # noqa: ANN401 - any array
    """Return values as a read-only column of a type, without a copy where they have it already."""
    import numpy as np  # noqa: PLC0415 - small schedules need the standard library alone

    given = np.asarray(values)
    column = np.ascontiguousarray(given, dtype=kind)[:] if given.ndim == 1 else given
    if given.ndim != 1 or (given.dtype != column.dtype and not np.array_equal(given, column)):
        message = f"columns: {name} must be a row of numbers that fit {np.dtype(kind)}"
        raise ScheduleError(message, kind="format")
    column.flags.writeable = False
    return column


def _frozen(steps: object) -> Steps:
    """Return steps as tuples of tuples; what is inside a step is for `verify` to judge."""
    if not isinstance(steps, Iterable) or isinstance(steps, str | bytes | Mapping):
        message = f"steps is {shown(steps)}; it must be a list of steps, each a list of transfers"
        raise ScheduleError(message, kind="format")
    frozen = []
    for number, step in enumerate(steps):
        if not isinstance(step, Iterable) or isinstance(step, str | bytes | Mapping | Transfer):
            message = f"step {number} is {shown(step)}; it must be a list of transfers"
            raise ScheduleError(message, kind="format", step=number)
        frozen.append(_plain(step))
    return tuple(frozen)


def _plain(step: Iterable[Any]) -> tuple[Any, ...]:
    """Return a step as a tuple in which the numbers of Transfers are of Python's own type."""
    whole = tuple(step)
    if _kinds(whole) <= {int, Op}:
        return whole
    return tuple(_plain_transfer(transfer) for transfer in whole)


def _plain_transfer(transfer: Any) -> Any:  # noqa: ANN401 - a step may hold anything
    if not isinstance(transfer, Transfer):
        return transfer
    src, dst, chunk, op = map(_whole_number, transfer)
    return transfer._replace(src=src, dst=dst, chunk=chunk, op=op)


def _kinds(step: Sequence[Any]) -> set[type]:
    """Return the types of everything that stands in some transfers."""
    try:
        return set(map(type, chain.from_iterable(step)))
    except TypeError:  # something in it is no transfer
        return {object}


def _whole_number(value: Any) -> Any:  # noqa: ANN401 - whatever a caller passes
    """Return a whole number of another library as an int, and everything else as it is."""
    if type(value) is int or isinstance(value, bool) or not isinstance(value, numbers.Integral):
        return value
    return operator.index(value)


def _rows(step: Step) -> list[list[int | str]]:
    return [[t.src, t.dst, t.chunk, t.op.value] for t in step]


def _dumps(data: object) -> str:
    return json.dumps(data, separators=(",", ":"))


def _parse(text: object) -> object:
    if not isinstance(text, str | bytes | bytearray):
        message = f"the text is {shown(text)}; give JSON in a string, or use from_dict"
        raise ScheduleError(message, kind="format")
    try:
        return json.loads(text, parse_int=_digits)
    except _TooManyDigitsError as error:
        raise ScheduleError(str(error), kind="format") from None
    except (ValueError, RecursionError) as error:
        message = f"not readable as JSON ({error}); a schedule is one JSON object"
        raise ScheduleError(message, kind="format") from error


class _TooManyDigitsError(Exception):
    """A number that nobody means."""


def _digits(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        message = f"a number of {len(text):,} digits; numbers have at most {_MOST_DIGITS} here"
        raise _TooManyDigitsError(message)
    return int(text)


def _object(data: object, expected: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        message = f"expected one JSON object of the format {expected}, got {_kind(data)}"
        raise ScheduleError(message, kind="format")
    if data.get("format") != expected:
        message = f"format is {shown(data.get('format'))}; this reader knows {expected!r}"
        raise ScheduleError(message, kind="format")
    return data


def _text(fields: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = fields.get(name, default)
    if not isinstance(value, str):
        message = f"{name} is {_show(value)}; it must be a name in quotes"
        raise ScheduleError(message, kind="format")
    return value


def _number(fields: Mapping[str, Any], name: str, default: int | None = None) -> int:
    value = fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        message = f"{name} is {_show(value)}; it must be a whole number"
        raise ScheduleError(message, kind="format")
    return value


def _list(fields: Mapping[str, Any], name: str) -> list[Any]:
    value = fields.get(name)
    if not isinstance(value, list):
        message = f"{name} is {_show(value)}; it must be a list"
        raise ScheduleError(message, kind="format")
    return value


def _step(number: int, data: object) -> tuple[Transfer, ...]:
    if not isinstance(data, list):
        message = f"step {number} is {_show(data)}; it must be a list of transfers"
        raise ScheduleError(message, kind="format", step=number)
    return tuple(_transfer(f"step {number}, transfer {i}", row) for i, row in enumerate(data))


def _transfer(where: str, row: object) -> Transfer:
    if not isinstance(row, list) or len(row) != len(Transfer._fields) or not _whole(row[:3]):
        message = f"{where} is {_show(row)}; it must be [src, dst, chunk, op]"
        raise ScheduleError(message, kind="format")
    return Transfer(row[0], row[1], row[2], _op(where, row[3]))


def _record(number: int, row: object) -> TransferRecord:
    where = f"record {number}"
    if (
        not isinstance(row, list)
        or len(row) != len(TransferRecord._fields)
        or not _whole([*row[:4], row[7]])
        or not all(isinstance(value, int | float) for value in row[5:7])
        or not all(isinstance(value, str) for value in row[8:])
    ):
        fields = ", ".join(TransferRecord._fields)
        message = f"{where} is {_show(row)}; it must be [{fields}]"
        raise ScheduleError(message, kind="format")
    step, src, dst, chunk, op, *measured = row
    return TransferRecord(step, src, dst, chunk, _op(where, op), *measured)


def _op(where: str, value: object) -> Op:
    try:
        return Op(value)
    except ValueError:
        message = f'{where}: op is {_show(value)}; it must be "copy" or "reduce"'
        raise ScheduleError(message, kind="format") from None


def _whole(values: Iterable[object]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", type(None): "nothing", bool: "true or false"}
    return names.get(type(value), "a number")


def _show(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return shown(value)
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
