"""Runs a learner's file in a process of its own and brings back what it said, as data.

A plain process on the learner's own machine: no security is claimed. What is promised is that every
file gets an answer in a stated time, that nothing of it keeps running, and that nothing the process
says can be more than numbers to judge. A class's server puts a sandbox around the same child.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHILD = Path(__file__).with_name("child.py")
MARK = "ALLRANKS_CHECK"
START_SECONDS = 60.0
FRAME_LIMIT = 8 * 2**20
REPLY_LIMIT = 32 * 2**20
OUTPUT_LIMIT = 64 * 2**10
GRACE = 2.0
LIMITS = {
    "memory_bytes": 2 * 2**30,
    "file_bytes": 16 * 2**20,
    "processes": 128,
    "steps": 4096,
    "transfers": 20_000,
    # steps and transfers of all cases together: nine times what the course's own answers need
    "total": 50_000,
    # of an array program: memory of a rank, ranks of a world, one frame, and what one call may send
    "rank_memory_bytes": 2**30,
    "ranks": 64,
    "frame_bytes": 8 * 2**20,
    "messages": 10_000,
    "traffic_bytes": 64 * 2**20,
}


class InfrastructureError(Exception):
    """The check itself failed, not the learner's file: nothing is graded."""


@dataclass
class Run:
    """What one process said and how it ended.

    `ending` is one of done, timeout, cpu, exit, crash, killed, protocol. `events` are the frames
    that arrived complete, already parsed; they are data of unknown worth.
    """

    ending: str = ""
    detail: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    output: str = ""
    seconds: float = 0.0


def run(request: Mapping[str, Any], *, seconds: float) -> Run:
    """Return what the file in `request` answered within `seconds` of computing.

    On the clock it gets twice as long, so that a busy machine costs nobody a grade.

    Raises:
        InfrastructureError: the process could not be started, or died before it read the file.
    """
    try:
        return _run(request, seconds)
    except OSError as error:
        message = f"the process for the check could not be run ({error.strerror or error})"
        raise InfrastructureError(message) from error


def _run(request: Mapping[str, Any], seconds: float) -> Run:
    channel, child_end = os.pipe()
    try:
        with launched(CHILD, request, child_end, seconds=seconds) as process:
            return _listen(process, channel, seconds)
    finally:
        os.close(channel)


@contextlib.contextmanager
def launched(
    script: Path, request: Mapping[str, Any], child_end: int, *, seconds: float
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a script of ours in a folder and a session of its own; leave nothing of it running.

    It gets the request, with the limits, in a file, and the number of its end of a channel, which
    is closed here.
    """
    process: subprocess.Popen[bytes] | None = None
    mark = secrets.token_hex(16)
    environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ
    }
    environment |= {MARK: mark, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    python = [sys.executable, "-E", "-P", "-B", "-X", "utf8"]
    with tempfile.TemporaryDirectory(
        prefix="allranks-check-", ignore_cleanup_errors=True
    ) as folder:
        home = Path(folder)
        try:
            limits = {**LIMITS, "cpu_seconds": max(1, round(seconds))}
            text = json.dumps({**request, "limits": limits})
            (home / "request.json").write_text(text, encoding="utf-8")
            (home / "run").mkdir()
            process = subprocess.Popen(  # noqa: S603 - our interpreter, our script
                [*python, str(script), str(home / "request.json"), str(child_end)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(child_end,),
                cwd=home / "run",
                env=environment,
                start_new_session=True,
            )
            os.close(child_end)
            child_end = -1
            yield process
        finally:
            if process is not None:
                _end(process, mark)
            if child_end >= 0:
                os.close(child_end)


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    # the group first: it exists as long as its leader is not reaped
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    for _ in range(20):
        escaped = list(_marked(mark))
        for pid in escaped:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not escaped:
            return


def _marked(mark: str) -> Iterator[int]:
    """Yield the processes that left the group but carry this check's mark (Linux only)."""
    wanted = f"{MARK}={mark}".encode()
    if not sys.platform.startswith("linux"):
        return
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                found = wanted in Path(entry.path, "environ").read_bytes().split(b"\0")
                dying = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
            except OSError:
                continue  # it ended, or belongs to somebody else
            if found and not dying:
                yield int(entry.name)


class _Listener:
    """Reads frames and output without ever blocking on what the process does."""

    def __init__(self, process: subprocess.Popen[bytes], channel: int) -> None:
        self.run = Run()
        self.printed = bytearray()
        self.cut = 0
        self._buffer = bytearray()
        self._received = 0
        self._selector = selectors.DefaultSelector()
        assert process.stdout is not None  # noqa: S101 - both are pipes, see Popen above
        assert process.stderr is not None  # noqa: S101
        for source in (channel, process.stdout.fileno(), process.stderr.fileno()):
            os.set_blocking(source, False)
            self._selector.register(source, selectors.EVENT_READ, source == channel)

    def close(self) -> None:
        self._selector.close()

    def turn(self, wait: float) -> bool:
        """Take in what has arrived; return whether anything had."""
        ready = self._selector.select(wait)
        for key, _ in ready:
            try:
                data = os.read(key.fd, 2**16)
            except BlockingIOError:
                continue
            if not data:
                self._selector.unregister(key.fileobj)
            elif key.data:
                self._take_reply(data)
            else:
                self._take_output(data)
        return bool(ready)

    @property
    def open(self) -> bool:
        return bool(self._selector.get_map())

    def _take_output(self, data: bytes) -> None:
        room = max(0, OUTPUT_LIMIT - len(self.printed))
        self.printed += data[:room]
        self.cut += len(data) - len(data[:room])

    def _take_reply(self, data: bytes) -> None:
        self._received += len(data)
        self._buffer += data
        while len(self._buffer) >= 4 and not self.run.ending:  # noqa: PLR2004 - a frame's length
            length = int.from_bytes(self._buffer[:4], "big")
            if length > FRAME_LIMIT or self._received > REPLY_LIMIT:
                self._end("protocol", "it sent more than a check ever needs")
                return
            if len(self._buffer) < 4 + length:
                return
            frame = bytes(self._buffer[4 : 4 + length])
            del self._buffer[: 4 + length]
            self._take_frame(frame)

    def _take_frame(self, frame: bytes) -> None:
        try:
            event = json.loads(frame)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            self._end("protocol", "it wrote something unreadable into the channel of the check")
        elif event["event"] == "done":
            self._end("done", "")
        else:
            self.run.events.append(event)

    def _end(self, ending: str, detail: str) -> None:
        self.run.ending, self.run.detail = ending, detail


def _listen(process: subprocess.Popen[bytes], channel: int, seconds: float) -> Run:
    listener = _Listener(process, channel)
    run = listener.run
    began = time.monotonic()
    started: float | None = None
    try:
        while not run.ending:
            now = time.monotonic()
            if started is None and run.events:
                started = now
            if started is None and now - began > START_SECONDS:
                message = f"the process for the check did not start within {START_SECONDS:g} s"
                raise InfrastructureError(message)
            if started is not None and now - started > 2 * seconds:
                run.ending = "timeout"
                break
            if listener.turn(0.05):
                continue
            code = process.poll()
            if code is not None or not listener.open:
                used = now - (began if started is None else started)
                code = process.wait(GRACE) if code is None else code
                _say_how_it_ended(run, code, late=used > seconds)
        run.seconds = time.monotonic() - (began if started is None else started)
        if run.ending == "done":
            _drain(listener, process)
    except subprocess.TimeoutExpired:
        run.ending, run.detail = "protocol", "it closed its channels and went on"
    finally:
        listener.close()
    run.output = output_of(listener.printed, listener.cut)
    if not run.events:
        message = f"the process for the check ended at once: {run.output[-400:] or run.detail}"
        raise InfrastructureError(message)
    return run


def _drain(listener: _Listener, process: subprocess.Popen[bytes]) -> None:
    """Take in the last output; somebody else may hold the channels open, so not for ever."""
    deadline = time.monotonic() + GRACE
    while listener.open and time.monotonic() < deadline:
        if not listener.turn(0.05) and process.poll() is not None:
            return


def _say_how_it_ended(run: Run, code: int, *, late: bool) -> None:
    run.ending, run.detail = ending_of(code, late=late)


def ending_of(code: int, *, late: bool) -> tuple[str, str]:
    """Return how a process ended (exit, cpu, killed or crash) and its exit code or signal."""
    if code >= 0:
        return "exit", f"exit code {code}"
    name = signal.Signals(-code).name
    if -code == signal.SIGXCPU or (-code == signal.SIGKILL and late):
        return "cpu", ""
    if -code == signal.SIGKILL:
        # nobody but the system (no memory left) or a person ends a process like this
        return "killed", name
    return "crash", name


def output_of(printed: bytes | bytearray, cut: int) -> str:
    """Return what was printed, as text that can do nothing to a terminal."""
    shown = readable(bytes(printed).decode("utf-8", errors="replace"))
    return f"{shown}\n(cut: {cut} more bytes)" if cut else shown


def readable(text: str) -> str:
    """Return text in which nothing can move a terminal's cursor or change its colors."""
    return "".join(
        letter if letter in "\n\t" or letter.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for letter in text.replace("\r\n", "\n")
    )
