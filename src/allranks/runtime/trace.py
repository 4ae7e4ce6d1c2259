"""What a run leaves behind: its trace, whose header says what was measured where, and a log."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from allranks.runtime.discover import Machine
from allranks.runtime.execute import Record
from allranks.schedule import EMULATED, MEASURED_CPU, Schedule, Trace, TransferRecord

RUN_LOG = "ALLRANKS_RUN_LOG"
CHAPTER = "ALLRANKS_CHAPTER"
TRANSPORT = "shm"
DEVICE = "cpu"


def label(schedule: Schedule) -> str:
    """Return what may be said of a run on CPU processes: one that plays a switch is emulation."""
    return EMULATED if schedule.num_switches else MEASURED_CPU


def trace_of(schedule: Schedule, records: Sequence[Record], here: Machine) -> Trace:
    """Return the trace of a run from what its endpoints measured, indexed by endpoint."""
    origin = min(record.start_ns for record in records)
    rows: list[TransferRecord] = []
    for number, (step, t) in enumerate(schedule.transfers()):
        measured = records[t.dst]
        rows.append(
            TransferRecord(
                step=step,
                src=t.src,
                dst=t.dst,
                chunk=t.chunk,
                op=t.op,
                start_s=(measured.begin[number] - origin) / 1e9,
                end_s=(measured.end[number] - origin) / 1e9,
                nbytes=measured.nbytes[number],
                transport=TRANSPORT,
                device=DEVICE,
            )
        )
    return Trace(schedule, tuple(rows), _header(schedule, here))


def _header(schedule: Schedule, here: Machine) -> dict[str, Any]:
    return {
        "label": label(schedule),
        "devices": [here.cpu],
        "driver": "none",
        "versions": here.versions,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "host_cores": here.cores,
        "system": here.system,
        "ranks": schedule.world_size,
        "switches": schedule.num_switches,
        "clock": "CLOCK_MONOTONIC of one machine, in seconds since the first rank's start",
        "measured": "start and end of every transfer on the rank that receives it, and its bytes; "
        "all ranks had their input and had met before the start; Ray's call is not counted",
    }


def seconds_of(records: Sequence[Record]) -> float:
    """Return the time from the first rank's start to the last rank's end."""
    first = min(record.start_ns for record in records)
    return (max(record.end_ns for record in records) - first) / 1e9


def bytes_by_link(trace: Trace) -> dict[tuple[int, int], int]:
    """Return the bytes that the receivers counted, per (src, dst)."""
    moved: Counter[tuple[int, int]] = Counter()
    for record in trace.records:
        moved[record.src, record.dst] += record.nbytes
    return dict(moved)


def log_run(trace: Trace, pids: Sequence[int]) -> None:
    """Append one line about a run to the file that ALLRANKS_RUN_LOG names, if it names one."""
    path = os.environ.get(RUN_LOG)
    if not path:
        return
    line = {
        "chapter": os.environ.get(CHAPTER),
        "schedule": trace.schedule.digest(),
        "pids": list(pids),
        "label": trace.label,
        "date": trace.header["date"],
    }
    # One write, so that chapters built in parallel do not mix their lines.
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, (json.dumps(line) + "\n").encode())
    finally:
        os.close(fd)
