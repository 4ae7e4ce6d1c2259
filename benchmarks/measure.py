# ruff: noqa: INP001, T201 - a helper of scripts that print
"""What the benchmarks share: fresh processes, peak memory, growth from one size to the next.

A case runs in a process of its own, because peak memory cannot be taken back. It repeats what it
measures and reports the fastest time, the one that other programs disturbed least.
"""

from __future__ import annotations

import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

SIZES = (64, 1024, 8192, 131_072)
_MIB = 1 << 20


def alone(script: str, *arguments: object) -> dict[str, Any]:
    """Run `script` with arguments in a new process; return the JSON object it prints last.

    An error comes back as {"error": its last line}.
    """
    command = [sys.executable, script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(work: Callable[[], object], **facts: object) -> None:
    """Time `work` and print seconds, peak memory and other facts, for `alone` to read.

    `first_s` is the first call in a fresh process, `best_s` the fastest of up to five.
    """
    times: list[float] = []
    while len(times) < 5 and sum(times) < 5:  # noqa: PLR2004 - five calls or five seconds
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    print(json.dumps({"first_s": times[0], "best_s": min(times), "peak_mib": peak(), **facts}))


def peak() -> float:
    """Return the most memory that this process has held, Python and NumPy included, in MiB."""
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held * (1 if sys.platform == "darwin" else 1024) / _MIB


def growth(sizes: Sequence[int], seconds: Sequence[float | None]) -> list[str]:
    """Return between each two sizes the exponent e in seconds ~ size^e, as text."""
    texts = []
    for index in range(1, len(sizes)):
        before, after = seconds[index - 1 : index + 1]
        if not before or not after:
            texts.append("")
            continue
        exponent = math.log(after / before) / math.log(sizes[index] / sizes[index - 1])
        texts.append(f"n^{exponent:.2f}")
    return ["", *texts]


def heading(title: str) -> str:
    """Return a line that says what was measured on what, when, with which versions."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("allranks", "numpy"))
    return (
        f"{title}\n{machine()}, Python {platform.python_version()}, {versions}, "
        f"{datetime.now(UTC):%Y-%m-%d}"
    )


def machine() -> str:
    """Return the processor's name and how many cores this process may use."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        name = next(
            (x.partition(":")[2].strip() for x in lines if x.startswith("model name")), name
        )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores"


def print_table(rows: Iterable[Sequence[object]]) -> None:
    """Print rows as columns, the first row as their names."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for row in cells:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
