# ruff: noqa: INP001, T201 - a script that prints
"""What starting Ray and four ranks costs here, with and without the slow import left out.

Backs the sentence in src/allranks/runtime/quick/rfc3987_syntax.py. Prints seconds of processor time
of all processes that Ray starts, and of waiting, for both ways, one after the other:

    python benchmarks/ray_start.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

from allranks.runtime import cluster, guard
from allranks.runtime.discover import machine
from allranks.runtime.world import World

RANKS = 4


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(*, quick: bool) -> str:
    """Start Ray and a World once; return one row of the table."""
    if not quick:
        cluster._environment = nullcontext  # noqa: SLF001 - the other way, to compare with
        cluster._without_slow_imports = nullcontext  # noqa: SLF001
    start = time.monotonic()
    cluster.connect()
    connected = time.monotonic()
    with World(RANKS):
        ready = time.monotonic()
        used = sum(processor_seconds(pid) for pid in guard.descendants(os.getpid()))
    name = "left out" if quick else "imported"
    return f"{name:<12}{connected - start:>12.1f}{ready - connected:>12.1f}{used:>22.1f}"


def main() -> None:
    """Print the table; each row comes from a fresh process."""
    if len(sys.argv) > 1:
        print(measure(quick=sys.argv[1] == "quick"))
        return
    print(machine().to_text())
    print(f"\nparser      Ray starts  {RANKS} ranks  processor s, all of them")
    for way in ("quick", "plain"):
        subprocess.run([sys.executable, __file__, way], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
