"""Plays array programs on threads of this process: for trying, in a notebook or a test.

Nothing here can stop a loop that never ends; a check runs programs in processes of their own.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from allranks.errors import CollectiveError, Mismatch, RankFailed
from allranks.program.arrays import Array, ArrayRank, WireCall
from allranks.program.meeting import Group, Meeting, Traffic


@dataclass(frozen=True)
class Played:
    """What an array program returned on every rank, and what it cost."""

    outputs: list[Any]
    traffic: Traffic
    peak_bytes: list[int]


class _StoppedError(BaseException):
    """Ends a rank because another failed, or nobody can go on; passes any `except Exception`."""


class _Hall:
    """Where the threads meet: one of them at a time."""

    def __init__(self, world_size: int) -> None:
        self.meeting = Meeting(world_size)
        self.failures: dict[int, Exception] = {}
        self.stuck: CollectiveError | None = None
        self._turn = threading.Condition()
        self._running = world_size
        self._over = False
        self._calls: dict[int, Sequence[WireCall]] = {}
        self._brought: dict[int, list[Array]] = {}

    def meet(self, rank: int, calls: Sequence[WireCall]) -> list[Array]:
        with self._turn:
            self._calls[rank] = calls
            self._running -= 1
            try:
                group = self.meeting.arrive(rank, [call.meets for call in calls])
            except Mismatch as error:
                self.stuck = self.stuck or error
                group = None
            except BaseException:
                self._running += 1  # it leaves next, and is counted then
                raise
            if group is not None:
                self._deliver(group)
            self._look_around()
            while rank not in self._brought:
                if self._over:
                    raise _StoppedError
                self._turn.wait()
            return self._brought.pop(rank)

    def leave(self, rank: int, failure: Exception | None) -> None:
        with self._turn:
            if failure is not None:
                self.failures[rank] = failure
            self.meeting.leave(rank)
            self._running -= 1
            self._look_around()

    def _deliver(self, group: Group) -> None:
        brought: dict[int, dict[int, Array]] = {rank: {} for rank in group.ranks}
        for met in group.deliveries:
            array = self._calls[met.src][met.sent].array
            assert array is not None  # noqa: S101 - a send has one
            brought[met.dst][met.received] = array
        for rank, arrays in brought.items():
            self._brought[rank] = [arrays[number] for number in sorted(arrays)]
        self._running += len(group.ranks)
        self._turn.notify_all()

    def _look_around(self) -> None:
        if self._running == 0 and not self._over:
            self._over = True
            if self.meeting.waiting and self.stuck is None and not self.failures:
                self.stuck = self.meeting.deadlock()
            self._turn.notify_all()


class _ThreadWire:
    """The wire of one rank of a hall."""

    def __init__(self, hall: _Hall, rank: int) -> None:
        self._hall, self._rank = hall, rank

    def meet(self, calls: Sequence[WireCall]) -> list[Array]:
        return self._hall.meet(self._rank, calls)


def play_program(
    fn: Callable[..., Any],
    inputs: Sequence[Array],
    *arguments: Any,  # noqa: ANN401 - the program's
) -> Played:
    """Run an array program on every rank, rank r with `inputs[r]`, and return what came out.

    Raises:
        Deadlock: ranks wait for each other in a circle, or for a call that never comes.
        Mismatch: a send and the receive that meets it differ in dtype or shape.
        ScheduleError: a call names no other rank, or no array; `rank` says where.
        RankFailed: the program itself raised on `rank`, the lowest one if it did on several.

    >>> import numpy as np
    >>> def swap(rank, x):
    ...     return rank.sendrecv(1 - rank.id, x)
    >>> played = play_program(swap, [np.array([1, 2]), np.array([3, 4])])
    >>> [output.tolist() for output in played.outputs], played.traffic.sent
    ([[3, 4], [1, 2]], [16, 16])
    """
    world_size = len(inputs)
    hall = _Hall(world_size)
    outputs: list[Any] = [None] * world_size
    ranks = [ArrayRank(rank, world_size, _ThreadWire(hall, rank)) for rank in range(world_size)]

    def run(number: int) -> None:
        failure: Exception | None = None
        try:
            outputs[number] = fn(ranks[number], inputs[number], *arguments)
            ranks[number].finish()
        except _StoppedError:
            pass
        except Exception as error:  # noqa: BLE001 - it is reported below, from the right thread
            failure = error
        finally:
            hall.leave(number, failure)

    threads = [
        threading.Thread(target=run, args=(number,), name=f"rank {number}", daemon=True)
        for number in range(world_size)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if hall.failures:
        raise _failed(*min(hall.failures.items()))
    if hall.stuck is not None:
        raise hall.stuck
    return Played(outputs, hall.meeting.traffic, [rank.peak_bytes for rank in ranks])


def _failed(rank: int, error: Exception) -> Exception:
    if isinstance(error, CollectiveError):
        return error
    message = f"rank {rank}: the program raised {type(error).__name__}: {error}; mend the program"
    failed = RankFailed(message, rank=rank)
    failed.remote_traceback = "".join(traceback.format_exception(error))
    failed.__cause__ = error
    return failed
