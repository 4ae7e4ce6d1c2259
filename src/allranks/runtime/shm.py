"""Shared memory of one machine: files that no folder lists, counters, and how to wait for one.

Every process of a world maps the same control block. Rank r owns one progress counter there, which
only ever grows: publishing k says "my first k instructions are done", and everybody may wait for
it. A waiter spins a little, yields its core a little, then sleeps in the kernel (a futex) until the
counter changes. An abort word releases every waiter at once.

Plain stores publish in program order on x86 (total store order). Elsewhere a memory barrier goes
before every publish and after every wait; `fence` says which one this machine has.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path

HAS_MEMFD = hasattr(os, "memfd_create")
_PAGE = mmap.PAGESIZE
_STRONG_ORDER = frozenset({"x86_64", "amd64", "i686", "i386"})
_FUTEX_CALL = {"x86_64": 202, "amd64": 202, "aarch64": 98, "arm64": 98}
_MEMBARRIER_CALL = {"x86_64": 324, "amd64": 324, "aarch64": 283, "arm64": 283}
_MEMBARRIER_GLOBAL_EXPEDITED = 1 << 1
_MEMBARRIER_REGISTER_GLOBAL_EXPEDITED = 1 << 2
_FUTEX_WAIT, _FUTEX_WAKE = 0, 1
_EVERYBODY = (1 << 31) - 1

Fence = Callable[[], None]


class SharedFile:
    """Memory that the processes of one user on one machine can map, made by this process.

    On Linux it is anonymous (a memfd): others open it through /proc while this process lives, it
    is in no folder, and it is gone with the last process that maps it. Elsewhere it is a temporary
    file: call `hide` as soon as all have opened it.

    Raises:
        OSError: no memory, or no place for a temporary file.
    """

    def __init__(self, nbytes: int) -> None:
        self.nbytes = max(_PAGE, -(-nbytes // _PAGE) * _PAGE)
        self.hidden = False
        self._listed = not HAS_MEMFD
        if HAS_MEMFD:
            self.fd = os.memfd_create("allranks", os.MFD_CLOEXEC)
            self.path = f"/proc/{os.getpid()}/fd/{self.fd}"
        else:
            self.fd, self.path = tempfile.mkstemp(prefix="allranks-")
        os.ftruncate(self.fd, self.nbytes)

    def map(self) -> mmap.mmap:
        """Return this memory, mapped into this process."""
        return mmap.mmap(self.fd, self.nbytes)

    def hide(self) -> bool:
        """Remove the file's name and return True, if it has one; who has it open keeps it."""
        if not self._listed:
            return False
        Path(self.path).unlink(missing_ok=True)
        self._listed = False
        self.hidden = True
        return True

    def close(self) -> None:
        """Give the memory up; it is freed when the last process has unmapped it."""
        self.hide()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def map_file(path: str, nbytes: int) -> mmap.mmap:
    """Map shared memory that another process made."""
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return mmap.mmap(fd, nbytes)
    finally:
        os.close(fd)


def fence() -> Fence | None:
    """Return a full memory barrier, or None where plain stores already publish in order.

    Raises:
        OSError: this machine needs a barrier and offers none that Python can reach.
    """
    if platform.machine().lower() in _STRONG_ORDER:
        return None
    if sys.platform == "darwin":
        return _darwin_fence()
    return membarrier()


def _darwin_fence() -> Fence:
    barrier = ctypes.CDLL(None).OSMemoryBarrier
    barrier.restype = None
    barrier.argtypes = []

    def call() -> None:
        barrier()

    return call


def membarrier() -> Fence:
    """Return Linux's `membarrier` as a fence: a barrier on every core that runs a process of ours.

    Raises:
        OSError: the kernel or the machine does not have it.
    """
    number = _MEMBARRIER_CALL.get(platform.machine().lower())
    if number is None or not sys.platform.startswith("linux"):
        message = f"no memory barrier is known for {platform.machine()} on {sys.platform}"
        raise OSError(errno.ENOSYS, message)
    call = _syscall()
    if call(number, _MEMBARRIER_REGISTER_GLOBAL_EXPEDITED, 0, 0, None, None, 0) != 0:
        raise OSError(ctypes.get_errno(), "membarrier is not available in this kernel")

    def barrier() -> None:
        call(number, _MEMBARRIER_GLOBAL_EXPEDITED, 0, 0, None, None, 0)

    return barrier


def _syscall() -> Callable[..., int]:
    call: Callable[..., int] = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long  # type: ignore[attr-defined]
    call.argtypes = [  # type: ignore[attr-defined]
        ctypes.c_long,
        ctypes.c_void_p,
        ctypes.c_long,
        ctypes.c_long,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_long,
    ]
    return call


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class Futex:
    """Sleep in the kernel until a word changes (Linux)."""

    def __init__(self) -> None:
        number = _FUTEX_CALL.get(platform.machine().lower())
        if number is None or not sys.platform.startswith("linux"):
            message = f"no futex on {platform.machine()}, {sys.platform}"
            raise OSError(errno.ENOSYS, message)
        self._number = number
        self._call = _syscall()
        self._limit = _Timespec(0, 0)
        self._limit_address = ctypes.addressof(self._limit)

    def sleep(self, address: int, seen: int, seconds: float) -> None:
        """Sleep until somebody wakes `address`, or it no longer holds `seen`, or for so long."""
        self._limit.nanoseconds = int(seconds * 1e9)
        low = seen & 0xFFFFFFFF
        self._call(self._number, address, _FUTEX_WAIT, low, self._limit_address, None, 0)

    def wake(self, address: int) -> None:
        """Wake everybody who sleeps on `address`."""
        self._call(self._number, address, _FUTEX_WAKE, _EVERYBODY, None, None, 0)


class Polling:
    """Look again after a short sleep: for machines without futexes."""

    def sleep(self, _address: int, _seen: int, seconds: float) -> None:
        """Sleep a twentieth of what a futex might: nobody will wake us."""
        time.sleep(seconds / 20)

    def wake(self, _address: int) -> None:
        """Do nothing: sleepers look for themselves."""


def sleeper(kind: str | None = None) -> Futex | Polling:
    """Return the best way to sleep here, or the one asked for ("futex", "poll")."""
    if kind == "poll":
        return Polling()
    try:
        return Futex()
    except OSError:
        if kind == "futex":
            raise
        return Polling()


class Phase(IntEnum):
    """How far an endpoint has come in a run, in order."""

    IDLE = 0
    INPUT = 1
    READY = 2
    RUNNING = 3
    DONE = 4


class Stopped(Exception):
    """The driver stopped the run: another rank failed, or somebody interrupted it."""


# The control block in 8-byte words. Every counter has a cache line of its own (8 words), and so
# has every status, because a rank that waits writes there.
_ABORT, _GO = 0, 8
_ENDPOINTS = 16
_LINE = 8
_PER_ENDPOINT = 2 * _LINE
_COUNT, _SLEEPERS = 0, 1
_PHASE, _PEER, _NEED = _LINE, _LINE + 1, _LINE + 2
MAIL_BYTES = 1024
JOB_BYTES = 1 << 16
_SHORT_SLEEP, _LONG_SLEEP = 0.001, 0.05


class Control:
    """The control block of a world, as one process sees it: counters, status words, mail.

    Runs are numbered 1, 2, ...; a run is aborted by writing its number into the abort word, so that
    a stale abort stops nobody.
    """

    def __init__(self, memory: mmap.mmap, endpoints: int, *, sleep: str | None = None) -> None:
        self.endpoints = endpoints
        self.words = memoryview(memory).cast("q")
        self._bytes = memoryview(memory)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._sleeper = sleeper(sleep)
        self.fence = fence()
        crowded = endpoints > (os.cpu_count() or 1)
        self._spins, self._yields = (5, 30) if crowded else (50, 8)

    @staticmethod
    def nbytes(endpoints: int) -> int:
        """Return how much memory the control block of so many endpoints needs."""
        return 8 * (_ENDPOINTS + _PER_ENDPOINT * endpoints) + MAIL_BYTES * endpoints + JOB_BYTES

    @staticmethod
    def counter(endpoint: int) -> int:
        """Return the index of an endpoint's counter in `words`."""
        return _ENDPOINTS + _PER_ENDPOINT * endpoint

    # -- progress ------------------------------------------------------------------------------

    def count(self, endpoint: int) -> int:
        """Return an endpoint's counter."""
        return self.words[self.counter(endpoint)]

    def publish(self, endpoint: int, value: int) -> None:
        """Set an endpoint's own counter, after everything it wrote before, and wake who waits."""
        if self.fence:
            self.fence()
        self._store(self.counter(endpoint), value)

    def _store(self, index: int, value: int) -> None:
        self.words[index] = value
        if self.words[index + _SLEEPERS]:
            self.words[index + _SLEEPERS] = 0
            self._sleeper.wake(self._address + 8 * index)

    def wait(self, me: int, peer: int, value: int, run: int) -> None:
        """Return when the counter of `peer` has reached `value`.

        Raises:
            Stopped: the run was aborted meanwhile.
        """
        index = self.counter(peer)
        if self.words[index] < value:
            self._wait(me, peer, index, value, run)
        if self.fence:
            self.fence()

    def wait_go(self, me: int, run: int) -> None:
        """Return when the driver has released this run.

        Raises:
            Stopped: the run was aborted meanwhile.
        """
        self._wait(me, -1, _GO, run, run)
        if self.fence:
            self.fence()

    def _wait(self, me: int, peer: int, index: int, value: int, run: int) -> None:
        words = self.words
        for _ in range(self._spins):
            if words[index] >= value:
                return
        for _ in range(self._yields):
            os.sched_yield()
            if words[index] >= value:
                return
        status = self.counter(me)
        words[status + _NEED] = value
        words[status + _PEER] = peer + 1
        seconds = _SHORT_SLEEP
        while (seen := words[index]) < value:
            if words[_ABORT] >= run:
                raise Stopped
            words[index + _SLEEPERS] = 1
            if words[index] == seen:
                self._sleeper.sleep(self._address + 8 * index, seen, seconds)
            # Short at first: a wake-up can be lost between the publisher's store and its look.
            seconds = min(2 * seconds, _LONG_SLEEP)
        words[status + _PEER] = 0

    # -- what the driver says ------------------------------------------------------------------

    def go(self, run: int) -> None:
        """Release a run: inputs agree, programs lie ready."""
        if self.fence:
            self.fence()
        self._store(_GO, run)

    def abort(self, run: int) -> None:
        """Stop a run: every endpoint that waits raises Stopped."""
        self.words[_ABORT] = run
        for index in (_GO, *(self.counter(e) for e in range(self.endpoints))):
            self._sleeper.wake(self._address + 8 * index)

    def aborted(self, run: int) -> bool:
        """Return whether this run was stopped."""
        return self.words[_ABORT] >= run

    # -- what an endpoint is doing -------------------------------------------------------------

    def set_phase(self, endpoint: int, phase: Phase) -> None:
        """Say how far this endpoint has come; it waits for nobody now."""
        if self.fence:
            self.fence()
        index = self.counter(endpoint)
        self.words[index + _PEER] = 0
        self.words[index + _PHASE] = int(phase)

    def phase(self, endpoint: int) -> Phase:
        """Return how far an endpoint has come."""
        return Phase(self.words[self.counter(endpoint) + _PHASE])

    def waits_for(self, endpoint: int) -> tuple[int, int] | None:
        """Return (peer, counter value) if this endpoint still waits for a peer's progress.

        A wait that is already satisfied is none: an endpoint that does not move on although it
        could is the one to blame.
        """
        index = self.counter(endpoint)
        peer, need = self.words[index + _PEER] - 1, self.words[index + _NEED]
        if peer < 0 or self.count(peer) >= need:
            return None
        return peer, need

    # -- mail ----------------------------------------------------------------------------------

    def post(self, endpoint: int, data: bytes) -> None:
        """Leave a short message of an endpoint for the driver (before it says READY)."""
        self._write(self._mail(endpoint), MAIL_BYTES, data)

    def mail(self, endpoint: int) -> bytes:
        """Return the message that an endpoint left."""
        return self._read(self._mail(endpoint))

    def post_job(self, data: bytes) -> None:
        """Leave the driver's message for all endpoints (before `go`)."""
        self._write(self._mail(self.endpoints), JOB_BYTES, data)

    def job(self) -> bytes:
        """Return the driver's message."""
        return self._read(self._mail(self.endpoints))

    def _mail(self, box: int) -> int:
        return 8 * (_ENDPOINTS + _PER_ENDPOINT * self.endpoints) + MAIL_BYTES * box

    def _write(self, offset: int, room: int, data: bytes) -> None:
        if len(data) + 8 > room:
            message = f"a message of {len(data)} bytes does not fit into {room - 8}"
            raise ValueError(message)
        self._bytes[offset : offset + 8] = len(data).to_bytes(8, "little")
        self._bytes[offset + 8 : offset + 8 + len(data)] = data

    def _read(self, offset: int) -> bytes:
        length = int.from_bytes(self._bytes[offset : offset + 8], "little")
        return bytes(self._bytes[offset + 8 : offset + 8 + length])
