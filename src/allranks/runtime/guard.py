"""Ends Ray's own processes when the driver was killed (Linux).

Ray's servers die with the driver that started them, but its two agents then try for a minute to
report that. A guard is a tiny process that notices the driver's end, however it came, by the end of
a pipe, and kills those of the given processes that are still there.

Started as a script, with "pid:start-time" arguments and the pipe as standard input.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress


def start_time(pid: int) -> str | None:
    """Return when a process started, which tells it from a later one with its number."""
    fields = _stat(pid)
    return fields[19] if fields else None


def descendants(pid: int) -> set[int]:
    """Return all processes that a process has started, and those that they have started."""
    children: dict[int, list[int]] = {}
    with os.scandir("/proc") as entries:
        numbers = [int(entry.name) for entry in entries if entry.name.isdigit()]
    for number in numbers:
        if fields := _stat(number):
            children.setdefault(int(fields[1]), []).append(number)
    found = [pid]
    for parent in found:
        found += children.get(parent, [])
    return set(found[1:])


def _stat(pid: int) -> list[str]:
    try:
        # `open`, because the guard must start fast and small.
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def watch_over(pids: Iterable[int]) -> None:
    """Start a guard that kills these processes when the calling process has ended."""
    marks = [f"{pid}:{start_time(pid)}" for pid in sorted(pids)]
    read, _write = os.pipe()  # the write end closes when this process ends, and not before
    command = [sys.executable, "-I", "-S", __file__, *marks]
    actions = [(os.POSIX_SPAWN_DUP2, read, 0)]
    # In a session of its own: Ctrl-C in the terminal is not for it.
    os.posix_spawn(sys.executable, command, os.environ, file_actions=actions, setsid=True)
    os.close(read)


def main(marks: list[str]) -> None:
    """Wait for the end of standard input, then kill what is still there."""
    while os.read(0, 1):
        pass
    for mark in marks:
        pid, _, started = mark.partition(":")
        if start_time(int(pid)) == started:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(pid), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
