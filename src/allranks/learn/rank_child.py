"""The program that runs a learner's array program: one process for every rank, forked from here.

Run as a script by `learn.relay`, with a request file and a socket for orders. This process reads no
line of the learner's: it imports what is slow to import, sets the limits and, when it is told to,
forks one process per rank. Each of those runs the learner's file afresh and holds one end of a
socket to the grader, which is the network: nothing else leads from one rank to another. No memory
is shared, no file can be written, no process started.

What a rank says is not believed where it matters. The grader counts the bytes of the messages that
passed through it, and judges the bytes of the result; whoever forges a message sends it. That the
input is as it was, and how much memory `rank.empty` gave out, is what this module reports from
inside the rank's process: an accident shows, a learner who rewrites this module at run time could
hide it. A result that shares memory with the input shows from outside: the grader sends new bytes
for the input after the function has returned, and only then asks for the result.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import sys
import time
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

HEADER = 8
GRACE_S = 2.0
# a rank talks through its messages alone: nothing it writes reaches a file
FILE_BYTES = 0


class Channel:
    """Frames of JSON and raw bytes over a socket: 4 bytes of length each, then both."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def write(self, head: object, body: bytes = b"") -> None:
        """Send one frame."""
        text = json.dumps(head, separators=(",", ":")).encode()
        self._end.sendall(len(text).to_bytes(4, "big") + len(body).to_bytes(4, "big") + text)
        self._end.sendall(body)

    def read(self) -> tuple[dict[str, Any], bytes]:
        """Return the next frame; leave this process when there is nobody any more."""
        sizes = self._exactly(HEADER)
        text = self._exactly(int.from_bytes(sizes[:4], "big"))
        return json.loads(text), self._exactly(int.from_bytes(sizes[4:], "big"))

    def _exactly(self, count: int) -> bytes:
        parts = []
        while count:
            part = self._end.recv(min(count, 2**20))
            if not part:
                os._exit(0)
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def main() -> NoReturn:
    """Fork ranks as the grader orders, until it goes away."""
    with Path(sys.argv[1]).open(encoding="utf-8") as file:
        request = json.load(file)
    orders = socket.socket(fileno=int(sys.argv[2]))
    tools = _tools()
    limits = request["limits"]
    own = {"memory_bytes": limits["rank_memory_bytes"], "file_bytes": FILE_BYTES}
    tools.child.limit_resources({**limits, **own})
    pids: list[int] = []
    _answer(orders, {"event": "ready"})
    while True:
        text, ends, _, _ = socket.recv_fds(orders, 2**16, limits["ranks"])
        if not text:
            _end(pids)
            os._exit(0)
        order = json.loads(text)
        if order["order"] == "fork":
            pids = [_fork(number, ends, orders, request, tools) for number in range(len(ends))]
            for end in ends:
                os.close(end)
            _answer(orders, {"event": "forked"})
        elif order["order"] == "how":
            _answer(orders, {"event": "ended", "code": _how(pids, order["rank"])})
        else:
            _end(pids)
            pids = []
            _answer(orders, {"event": "gone"})


def _answer(orders: socket.socket, event: object) -> None:
    orders.sendall(json.dumps(event).encode())


def _tools() -> types.SimpleNamespace:
    """Import all that a rank needs, wherever the package lies, before there are many ranks."""
    home = str(Path(__file__).resolve().parents[2])
    sys.path.insert(0, home)
    import numpy as np  # noqa: PLC0415 - only now on the path, like the others

    from allranks.errors import CollectiveError  # noqa: PLC0415
    from allranks.learn import child  # noqa: PLC0415
    from allranks.program import arrays, meeting  # noqa: PLC0415

    engine = child.engine()
    sys.path.remove(home)
    engine.ArrayRank = arrays.ArrayRank
    return types.SimpleNamespace(
        np=np,
        arrays=arrays,
        meeting=meeting,
        child=child,
        engine=engine,
        CollectiveError=CollectiveError,
    )


def _fork(
    number: int,
    ends: Sequence[int],
    orders: socket.socket,
    request: Mapping[str, Any],
    tools: types.SimpleNamespace,
) -> int:
    pid = os.fork()
    if pid:
        return pid
    leave = os._exit
    try:
        orders.close()
        for other, end in enumerate(ends):
            if other != number:
                os.close(end)
        Rank(Channel(socket.socket(fileno=ends[number])), request, tools).serve()
    finally:
        leave(0)


def _how(pids: list[int], rank: int) -> int | None:
    """Return how a rank ended: its exit code, or minus the signal; None if it lives on."""
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        pid, status = os.waitpid(pids[rank], os.WNOHANG)
        if pid:
            pids[rank] = 0
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    return None


def _end(pids: Sequence[int]) -> None:
    for pid in filter(None, pids):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in filter(None, pids):
        os.waitpid(pid, 0)


class Rank:
    """One rank's process: loads the learner's file, runs its function, hands over what it gave."""

    def __init__(
        self, channel: Channel, request: Mapping[str, Any], tools: types.SimpleNamespace
    ) -> None:
        self.channel = channel
        self.request = request
        self.tools = tools

    def serve(self) -> None:
        """Answer calls until the grader goes away, or the learner's code raises."""
        child = self.tools.child
        for stream in (sys.stdout, sys.stderr):
            # what a rank prints before it waits for ever should be seen
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(line_buffering=True)
        child.isolate(self.tools.engine, child.ARRAY_PUBLIC, library=self.request["library"])
        sys.addaudithook(child.refuse)
        loaded = False
        try:
            function = child.load(self.request, self.channel.write)
            if function is None:
                return
            loaded = True
            while True:
                self._call(function, *self.channel.read())
        except child.ComplaintError as complaint:
            self._say({"event": "complaint", "kind": complaint.kind, "message": str(complaint)})
        except self.tools.CollectiveError as error:
            facts = {name: getattr(error, name) for name in ("kind", "rank", "peer")}
            told = child.describe(error, self.request["filename"])
            self._say({"event": "complaint", "message": error.message, **facts, **_place(told)})
        except BaseException as error:  # noqa: BLE001 - SystemExit is an answer too
            told = child.describe(error, self.request["filename"])
            self._say({"event": "raised", "loaded": loaded, **told})

    def _say(self, event: object, body: bytes = b"") -> None:
        # what was printed comes before the event: the grader shows the output of one case
        for stream in (sys.stdout, sys.stderr):
            self.tools.child.flush(stream)
        self.channel.write(event, body)

    def _call(self, function: Callable[..., Any], order: dict[str, Any], body: bytes) -> None:
        arrays, np = self.tools.arrays, self.tools.np
        memory = bytearray(body)
        x = np.frombuffer(memory, arrays.dtype_of(order["dtype"])).reshape(order["shape"])
        wire = _SocketWire(self.channel, self.tools)
        rank = arrays.ArrayRank(order["rank"], order["world_size"], wire)
        result = function(rank, x, *order["arguments"])
        rank.finish()
        self._present(result)
        self._say({"event": "returned", "peak_bytes": rank.peak_bytes}, bytes(memory))
        _, instead = self.channel.read()
        if instead:
            memory[:] = instead
        held = np.ascontiguousarray(result, result.dtype.newbyteorder("="))
        head = {"event": "result", "dtype": held.dtype.name, "shape": result.shape}
        self.channel.write(head, held.tobytes())

    def _present(self, result: object) -> None:
        """Refuse what is no array of numbers, before anybody looks at its bytes."""
        np, child = self.tools.np, self.tools.child
        name = self.request["entry"][0]
        if isinstance(result, types.GeneratorType | types.CoroutineType):
            message = (
                f"{name} has not run, because it contains yield or is async; write a plain "
                "function that returns an array"
            )
            raise child.ComplaintError(message)
        if not isinstance(result, np.ndarray):
            what = "nothing" if result is None else f"a value of type {type(result).__name__}"
            message = f"{name} returned {what}; return a NumPy array"
            raise child.ComplaintError(message)
        if not self.tools.arrays.is_number(result.dtype):
            message = f"{name} returned an array of dtype {result.dtype}; return numbers"
            raise child.ComplaintError(message)
        if result.nbytes > self.request["limits"]["frame_bytes"]:
            message = f"{name} returned {result.nbytes} bytes; a result is as long as its block"
            raise child.ComplaintError(message)


def _place(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: told[name] for name in ("line", "code")}


class _SocketWire:
    """Carries the calls of a rank to the grader, and back what they brought."""

    def __init__(self, channel: Channel, tools: types.SimpleNamespace) -> None:
        self._channel = channel
        self._tools = tools

    def meet(self, calls: Sequence[Any]) -> list[Any]:
        sent = [call.array.tobytes() for call in calls if call.meets.sends]
        self._channel.write(
            {"event": "calls", "calls": [call.meets for call in calls]}, b"".join(sent)
        )
        head, body = self._channel.read()
        arrays, start = [], 0
        for dtype, shape, nbytes in head["forms"]:
            memory = bytearray(body[start : start + nbytes])
            kind = self._tools.arrays.dtype_of(dtype)
            arrays.append(self._tools.np.frombuffer(memory, kind).reshape(shape))
            start += nbytes
        return arrays


if __name__ == "__main__":
    main()
