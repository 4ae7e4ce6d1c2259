"""A schedule: who sends which chunk to whom, in which step, and what the receiver does with it.

A step is a set of transfers that happen at the same time: every send reads the state *before* the
step. Endpoints 0 .. n-1 are ranks; n, n+1, ... are switches. A schedule carries no data and no
times; a trace is a schedule together with what one run of it did, when.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from allranks.errors import ScheduleError

if TYPE_CHECKING:
    import numpy as np

SCHEDULE_FORMAT = "allranks.schedule/1"
TRACE_FORMAT = "allranks.trace/1"

SIMULATED = "SIMULATED"
EMULATED = "EMULATED"
MEASURED_CPU = "MEASURED: CPU processes"

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


@dataclass(frozen=True)
class Schedule:
    """A chunk-level program for one collective: the object that is proved, priced, played and run.

    `num_chunks` is the number of pieces into which the whole vector is cut. `root` is None for
    collectives without one. Building a Schedule does not prove it; `allranks.verify` does.

    Raises:
        ScheduleError: a size is not a whole number, or is out of range (kind "format").
    """

    collective: str
    algorithm: str
    world_size: int
    num_chunks: int
    steps: tuple[tuple[Transfer, ...], ...]
    root: int | None = None
    num_switches: int = 0

    def __post_init__(self) -> None:
        _check_whole("world_size", self.world_size, least=1)
        _check_whole("num_chunks", self.num_chunks, least=1)
        _check_whole("num_switches", self.num_switches, least=0)
        if self.root is not None:
            _check_whole("root", self.root, least=0)
            if self.root >= self.world_size:
                last = self.world_size - 1
                message = f"root {self.root} is not a rank; ranks are 0 to {last}"
                raise ScheduleError(message, kind="format")
        frozen = tuple(tuple(step) for step in self.steps)
        object.__setattr__(self, "steps", frozen)

    @property
    def num_endpoints(self) -> int:
        """Return the number of ranks and switches."""
        return self.world_size + self.num_switches

    @property
    def num_transfers(self) -> int:
        """Return the number of transfers in all steps."""
        return sum(len(step) for step in self.steps)

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
        return {
            "format": SCHEDULE_FORMAT,
            "collective": self.collective,
            "algorithm": self.algorithm,
            "world_size": self.world_size,
            "num_switches": self.num_switches,
            "root": self.root,
            "num_chunks": self.num_chunks,
            "steps": [[[t.src, t.dst, t.chunk, t.op.value] for t in step] for step in self.steps],
        }

    def to_json(self) -> str:
        """Return the schedule as one line of JSON."""
        return json.dumps(self.to_dict(), separators=(",", ":"))

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
            steps=tuple(_step(number, step) for number, step in enumerate(_list(fields, "steps"))),
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
        return hashlib.sha256(self.to_json().encode()).hexdigest()

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

        rows = np.array(
            [(s, t.src, t.dst, t.chunk, t.op is Op.REDUCE) for s, t in self.transfers()],
            dtype=np.int64,
        ).reshape(-1, 5)
        return dict(zip(("step", "src", "dst", "chunk", "op"), rows.T, strict=True))


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


def _check_whole(name: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        message = f"{name} is {value!r}; it must be a whole number of at least {least}"
        raise ScheduleError(message, kind="format")


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"not readable as JSON ({error}); a schedule is one JSON object"
        raise ScheduleError(message, kind="format") from error


def _object(data: object, expected: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        message = f"expected one JSON object of the format {expected}, got {_kind(data)}"
        raise ScheduleError(message, kind="format")
    if data.get("format") != expected:
        message = f"format is {data.get('format')!r}; this reader knows {expected!r}"
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
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
