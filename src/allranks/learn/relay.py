"""The network of array programs: every message between ranks passes through here, and is counted.

`Ranks` starts one trusted process (`rank_child`), which forks a process per rank, and plays calls
of the learner's function on them. A call ends when all ranks have returned, when nobody can go on,
or when one has failed; whatever happens, nothing keeps running. Arrival differs from run to run, so
a failure is only reported when no rank runs any more: the lowest rank that raised comes first, then
a mismatch, then who waits for whom.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from allranks.errors import CollectiveError, Mismatch
from allranks.learn import process
from allranks.learn.process import InfrastructureError
from allranks.program.arrays import Array, dtype_of
from allranks.program.meeting import Form, Group, Meeting, Meets, Traffic

SCRIPT = Path(__file__).with_name("rank_child.py")
HEADER = 8
HEAD_LIMIT = 2**18
# of the stated seconds: how long nothing may happen at all, and how long all calls may take
SILENCE = 2
WHOLE = 8
ANSWER_S = 10.0


@dataclass(frozen=True)
class Returned:
    """What one rank gave back: raw bytes, and what they are said to be."""

    dtype: str
    shape: tuple[int, ...]
    body: bytes
    input_after: bytes
    instead: bytes
    peak_bytes: int

    @property
    def array(self) -> Array:
        """Return the result as an array."""
        return np.frombuffer(self.body, dtype_of(self.dtype)).reshape(self.shape)


@dataclass(frozen=True)
class Failure:
    """Why a call has no result.

    `kind` is one of raised, complaint, no_entry, stuck, endless, timeout, cpu, exit, crash, killed,
    protocol. `facts` are what the rank reported, of unknown worth; `error` is the relay's own.
    """

    kind: str
    rank: int | None = None
    detail: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    error: CollectiveError | None = None


@dataclass(frozen=True)
class Call:
    """One call of the learner's function on all ranks.

    Rank r gets `inputs[r]` and `arguments`. With `own_memory` the input is overwritten after the
    function has returned, before its result is asked for.
    """

    inputs: Sequence[Array]
    arguments: Sequence[Any] = ()
    own_memory: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a call: one result per rank, or a failure; what it cost, what it printed."""

    returned: tuple[Returned, ...]
    traffic: Traffic
    failure: Failure | None
    output: str


class _ForgedError(Exception):
    """A rank sent what our own code never sends."""


class _End:
    """The grader's end of the socket to one rank, which may close, stall or send anything."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.connection.setblocking(False)  # noqa: FBT003 - as the socket has it
        self._incoming = bytearray()
        self.outgoing = bytearray()

    def write(self, head: object, body: bytes = b"") -> None:
        text = json.dumps(head, separators=(",", ":")).encode()
        self.outgoing += len(text).to_bytes(4, "big") + len(body).to_bytes(4, "big") + text + body
        self.flush()

    def flush(self) -> None:
        """Send what there is room for; the rest goes when there is room again."""
        try:
            while self.outgoing:
                del self.outgoing[: self.connection.send(self.outgoing)]
        except BlockingIOError:
            return
        except OSError:
            self.outgoing.clear()  # nobody is there any more, which reading will tell

    def read(self) -> bool:
        """Take in what has arrived; return whether the other end is still there."""
        try:
            data = self.connection.recv(2**20)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._incoming += data
        return bool(data)

    def frames(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yield the frames that are complete.

        Raises:
            _ForgedError: one is too long, or no JSON object.
        """
        while len(self._incoming) >= HEADER:
            head = int.from_bytes(self._incoming[:4], "big")
            body = int.from_bytes(self._incoming[4:8], "big")
            if head > HEAD_LIMIT or body > process.LIMITS["frame_bytes"]:
                message = "it sent more than a check ever needs"
                raise _ForgedError(message)
            whole = HEADER + head + body
            if len(self._incoming) < whole:
                return
            frame = bytes(self._incoming[:whole])
            del self._incoming[:whole]
            try:
                event = json.loads(frame[HEADER : HEADER + head])
            except (ValueError, RecursionError):
                event = None
            if not isinstance(event, dict):
                message = "it wrote something unreadable into the channel of the check"
                raise _ForgedError(message)
            yield event, frame[HEADER + head :]


class Ranks:
    """The processes of one check: one world of ranks at a time, kept as long as it works.

    `request` has `source`, `filename`, `entry` and `library`, as for other exercises.
    """

    def __init__(self, request: Mapping[str, Any], *, seconds: float) -> None:
        self.seconds = seconds
        self._request = request
        self._open = contextlib.ExitStack()
        self._ends: list[_End] = []
        self._spent_s = 0.0

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opened:
            try:
                self._orders, child_end = socket.socketpair()
                opened.enter_context(self._orders)
                self._process = opened.enter_context(
                    process.launched(
                        SCRIPT, self._request, child_end.detach(), seconds=self.seconds
                    )
                )
            except OSError as error:
                message = f"the process for the check could not be run ({error.strerror or error})"
                raise InfrastructureError(message) from error
            self.streams = [_pipe(self._process.stdout), _pipe(self._process.stderr)]
            self._answer("ready", process.START_SECONDS)
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._close_ends()
        self._open.close()

    def play(self, call: Call, *, fresh: bool = False) -> Outcome:
        """Return what a call gives on as many ranks as it has inputs, `fresh` ones if need be.

        Raises:
            InfrastructureError: the processes could not be started, or one was ended from outside.
        """
        try:
            if fresh or len(self._ends) != len(call.inputs):
                self._end_world()
                self._fork(len(call.inputs))
            began = time.monotonic()
            left = WHOLE * self.seconds - self._spent_s
            outcome = _Playing(self, call, self._ends, left).outcome()
            self._spent_s += time.monotonic() - began
            if outcome.failure:
                self._end_world()
        except OSError as error:
            message = f"the processes for the check could not be run ({error.strerror or error})"
            raise InfrastructureError(message) from error
        return outcome

    def how_it_ended(self, rank: int, *, late: bool) -> tuple[str, str]:
        """Return how the process of a rank ended, as `process.ending_of`, or "protocol"."""
        code = self._order({"order": "how", "rank": rank})["code"]
        if code is None:
            return "protocol", "it closed its channel and went on"
        return process.ending_of(code, late=late)

    def _fork(self, world_size: int) -> None:
        pairs = [socket.socketpair() for _ in range(world_size)]
        self._ends = [_End(ours) for ours, _ in pairs]
        theirs = [each.fileno() for _, each in pairs]
        try:
            socket.send_fds(self._orders, [json.dumps({"order": "fork"}).encode()], theirs)
        finally:
            for _, each in pairs:
                each.close()
        self._answer("forked", ANSWER_S)

    def _end_world(self) -> None:
        if self._ends:
            self._close_ends()
            self._order({"order": "end"})

    def _close_ends(self) -> None:
        for end in self._ends:
            end.connection.close()
        self._ends = []

    def _order(self, order: Mapping[str, Any]) -> dict[str, Any]:
        with contextlib.suppress(BrokenPipeError):  # which the answer will tell
            self._orders.sendall(json.dumps(order).encode())
        return self._answer("", ANSWER_S)

    def _answer(self, expected: str, seconds: float) -> dict[str, Any]:
        self._orders.settimeout(seconds)
        try:
            text = self._orders.recv(2**16)
        except TimeoutError as error:
            message = f"the process for the check did not answer within {seconds:g} s"
            raise InfrastructureError(message) from error
        except OSError:
            text = b""
        if not text:
            said = process.output_of(b"".join(map(_drained, self.streams))[-400:], 0)
            message = f"the process for the check ended: {said or 'it said nothing'}"
            raise InfrastructureError(message)
        answer: dict[str, Any] = json.loads(text)
        if expected not in ("", answer["event"]):
            message = f"the process for the check answered {answer['event']}, not {expected}"
            raise InfrastructureError(message)
        return answer


def _pipe(stream: Any) -> int:  # noqa: ANN401 - a pipe of Popen
    number: int = stream.fileno()
    os.set_blocking(number, False)
    return number


def _drained(stream: int) -> bytes:
    """Return what a pipe holds now."""
    parts = []
    with contextlib.suppress(BlockingIOError):
        while part := os.read(stream, 2**16):
            parts.append(part)
    return b"".join(parts)


class _Playing:
    """One call while it runs. A rank runs, waits in the meeting, or is through."""

    def __init__(self, ranks: Ranks, call: Call, ends: Sequence[_End], left: float) -> None:
        self.ranks = ranks
        self.call = call
        self.ends = ends
        self.meeting = Meeting(len(ends))
        self.running = set(range(len(ends)))
        self.failures: list[Failure] = []
        self.stuck: CollectiveError | None = None
        self.fatal: Failure | None = None
        self.after: dict[int, tuple[bytes, bytes, int]] = {}
        self.returned: dict[int, Returned] = {}
        self.sent: dict[int, list[bytes]] = {}
        self.messages = 0
        self.moved = 0
        self.printed = bytearray()
        self.cut = 0
        self.began = time.monotonic()
        self.deadline = self.began + left

    def outcome(self) -> Outcome:
        """Play the call to its end."""
        for rank, (end, x) in enumerate(zip(self.ends, self.call.inputs, strict=True)):
            head = {
                "rank": rank,
                "world_size": len(self.ends),
                "dtype": x.dtype.name,
                "shape": x.shape,
                "arguments": self.call.arguments,
            }
            end.write(head, x.tobytes())
        with selectors.DefaultSelector() as selector:
            for rank, end in enumerate(self.ends):
                selector.register(end.connection, selectors.EVENT_READ, rank)
            for stream in self.ranks.streams:
                selector.register(stream, selectors.EVENT_READ, None)
            self._run(selector)
        for stream in self.ranks.streams:
            self._take_output(_drained(stream))
        failure = self._failure()
        returned = () if failure else tuple(self.returned[rank] for rank in range(len(self.ends)))
        output = process.output_of(self.printed, self.cut)
        return Outcome(returned, self.meeting.traffic, failure, output)

    def _run(self, selector: selectors.BaseSelector) -> None:
        silence = SILENCE * self.ranks.seconds
        quiet_until = time.monotonic() + silence
        while self.running and not self.fatal:
            if time.monotonic() > min(self.deadline, quiet_until):
                self.failures.append(Failure("timeout", min(self.running)))
                return
            for key in list(selector.get_map().values()):
                more = key.data is not None and self.ends[key.data].outgoing
                wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if more else 0)
                selector.modify(key.fileobj, wanted, key.data)
            for key, mask in selector.select(0.05):
                if key.data is not None and mask & selectors.EVENT_WRITE:
                    self.ends[key.data].flush()
                if mask & selectors.EVENT_READ:
                    if key.data is not None:
                        quiet_until = time.monotonic() + silence
                    if not self._there(key):
                        selector.unregister(key.fileobj)

    def _there(self, key: selectors.SelectorKey) -> bool:
        """Take in what has arrived; return whether there is anybody to send more."""
        if key.data is not None:
            return self._take(key.data)
        data = os.read(key.fd, 2**16)
        self._take_output(data)
        return bool(data)

    def _take_output(self, data: bytes) -> None:
        room = max(0, process.OUTPUT_LIMIT - len(self.printed))
        self.printed += data[:room]
        self.cut += len(data) - len(data[:room])

    def _take(self, rank: int) -> bool:
        """Take in what a rank sent; return whether its process is still there."""
        end = self.ends[rank]
        there = end.read()
        try:
            for event, body in end.frames():
                self._handle(rank, event, body)
        except _ForgedError as error:
            self.fatal = Failure("protocol", rank, str(error))
            return False
        if not there and rank not in self._through:
            late = time.monotonic() - self.began > self.ranks.seconds
            kind, detail = self.ranks.how_it_ended(rank, late=late)
            self._fail(Failure(kind, rank, detail))
        return there

    @property
    def _through(self) -> set[int]:
        return {*self.returned, *(each.rank for each in self.failures if each.rank is not None)}

    def _fail(self, failure: Failure) -> None:
        assert failure.rank is not None  # noqa: S101 - it is a rank's own
        self.failures.append(failure)
        self._leave(failure.rank)

    def _leave(self, rank: int) -> None:
        self.running.discard(rank)
        self.meeting.leave(rank)

    def _handle(self, rank: int, event: dict[str, Any], body: bytes) -> None:
        match event.get("event"):
            case _ if rank not in self.running:
                message = "it went on where it had to wait"
                raise _ForgedError(message)
            case "calls":
                self._meet(rank, event, body)
            case "returned" if rank not in self.after:
                if len(body) != self.call.inputs[rank].nbytes:
                    message = "it gave back an input of another length"
                    raise _ForgedError(message)
                instead = os.urandom(len(body)) if self.call.own_memory else b""
                peak = event.get("peak_bytes")
                self.after[rank] = (body, instead, peak if isinstance(peak, int) else 0)
                self.ends[rank].write({}, instead)
            case "result" if rank in self.after:
                dtype, shape = event.get("dtype"), event.get("shape")
                form = _form([dtype, shape, len(body)])
                self.returned[rank] = Returned(form.dtype, form.shape, body, *self.after[rank])
                self._leave(rank)
            case "raised" | "complaint" | "no_entry" as kind:
                self._fail(Failure(kind, rank, facts=event))
            case _:
                message = "it wrote something unknown into the channel of the check"
                raise _ForgedError(message)

    def _meet(self, rank: int, event: Mapping[str, Any], body: bytes) -> None:
        calls = _calls(event.get("calls"), rank, len(self.ends))
        sizes = [call.form.nbytes if call.sends and call.form else 0 for call in calls]
        if sum(sizes) != len(body):
            message = "it sent other bytes than it said"
            raise _ForgedError(message)
        self.messages += sum(call.sends for call in calls)
        self.moved += len(body)
        limits = process.LIMITS
        if self.messages > limits["messages"] or self.moved > limits["traffic_bytes"]:
            self.fatal = Failure("endless", rank)
            return
        ends = np.cumsum(sizes).tolist()
        starts = [0, *ends[:-1]]
        self.sent[rank] = [body[a:b] for a, b in zip(starts, ends, strict=True)]
        self.running.discard(rank)
        try:
            group = self.meeting.arrive(rank, calls)
        except Mismatch as error:
            if self.stuck is None or (error.dst, error.src) < (self.stuck.dst, self.stuck.src):
                self.stuck = error
            return
        if group is not None:
            self._deliver(group)

    def _deliver(self, group: Group) -> None:
        brought: dict[int, dict[int, tuple[Form, bytes]]] = {rank: {} for rank in group.ranks}
        for met in group.deliveries:
            form, body = met.form, self.sent[met.src][met.sent]
            brought[met.dst][met.received] = form, body
        for rank, arrays in brought.items():
            found = [arrays[number] for number in sorted(arrays)]
            head = {"forms": [form for form, _ in found]}
            self.ends[rank].write(head, b"".join(body for _, body in found))
            self.running.add(rank)

    def _failure(self) -> Failure | None:
        if self.failures:
            return min(self.failures, key=lambda each: (each.kind == "timeout", each.rank or 0))
        if self.fatal:
            return self.fatal
        if self.stuck:
            return Failure("stuck", self.stuck.rank, error=self.stuck)
        if self.meeting.waiting:
            error = self.meeting.deadlock()
            return Failure("stuck", error.rank, error=error)
        return None


def _calls(value: object, rank: int, world_size: int) -> list[Meets]:
    """Return the calls of a frame, once they are what our own code sends."""
    calls = []
    for each in value if isinstance(value, list) else [None]:
        match each:
            case [bool(sends), int(peer), form] if not isinstance(peer, bool):
                if not 0 <= peer < world_size or peer == rank or (sends and form is None):
                    break
                calls.append(Meets(sends, peer, None if form is None else _form(form)))
            case _:
                break
    else:
        return calls
    message = "it wrote something unreadable into the channel of the check"
    raise _ForgedError(message)


def _form(value: object) -> Form:
    """Return dtype, shape and bytes, once they agree."""
    match value:
        case [str(dtype), list(sizes), int(nbytes)] if all(type(size) is int for size in sizes):
            shape = tuple(int(size) for size in sizes)
            with contextlib.suppress(ValueError):
                fits = math.prod(shape) * dtype_of(dtype).itemsize == nbytes
                if fits and min(shape, default=0) >= 0:
                    return Form(dtype, shape, nbytes)
    message = "it sent an array that does not fit its dtype and shape"
    raise _ForgedError(message)
