"""Rank programs: what one rank does, written as sends and receives, traced into a schedule.

A rank program is a function of one `Rank`; every rank runs the same one. Programs move chunks, not
values, so no rank's course depends on data: each is run to its end on its own, and the recorded
calls are matched afterwards.

The k-th send from a to b meets the k-th receive of b from a. Blocks (a `step()` block, or a lone
call) that meet make up one group, and the step of a group is one more than that of the latest
earlier group of any of its ranks.
"""

from __future__ import annotations

import functools
import inspect
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from allranks.collectives import contract
from allranks.errors import CollectiveError, Deadlock, Mismatch, RankFailed, ScheduleError
from allranks.program.waits import Wait, deadlock
from allranks.program.who import Who
from allranks.schedule import Op, Schedule, Transfer

Program: TypeAlias = "Callable[[Rank], object]"


class Call(NamedTuple):
    """One send or receive of a rank, as the program wrote it."""

    sends: bool
    peer: int
    chunk: int
    reduce: bool = False


class Rank(Who):
    """One rank, as its program sees it: who it is, who its neighbors are, and what it can do.

    `root` is None for collectives without one. `num_chunks` is the number of pieces into which the
    whole vector is cut.
    """

    def __init__(
        self, rank: int, world_size: int, *, root: int | None = None, num_chunks: int | None = None
    ) -> None:
        super().__init__(rank, world_size)
        self._root = root
        self._num_chunks = num_chunks
        self._blocks: list[list[Call]] = []
        self._open: list[Call] | None = None

    @property
    def root(self) -> int | None:
        """Return the root, or None for collectives without one."""
        return self._root

    @property
    def num_chunks(self) -> int:
        """Return the number of chunks of the whole vector.

        Raises:
            ScheduleError: it was left open, to be counted from the chunks that the program uses.
        """
        if self._num_chunks is None:
            message = f"rank {self._id}: num_chunks was left open; say trace_program(num_chunks=)"
            raise ScheduleError(message, kind="format", rank=self._id)
        return self._num_chunks

    def send(self, peer: int, *, chunk: int) -> None:
        """Send this rank's `chunk` to rank `peer`; outside `step()`, wait until it receives.

        Raises:
            ScheduleError: no such rank or chunk, this rank itself, or no whole number.
        """
        self._record("send", Call(sends=True, peer=peer, chunk=chunk))

    def recv(self, peer: int, *, chunk: int, reduce: bool = False) -> None:
        """Receive `chunk` from rank `peer`; outside `step()`, wait until it sends.

        `reduce=True` adds it to what this rank holds; otherwise it replaces that.

        Raises:
            ScheduleError: no such rank or chunk, this rank itself, or no whole number.
        """
        if not isinstance(reduce, bool):
            self._refuse(f"recv: reduce is {reduce!r}; say True to add, False to replace")
        self._record("recv", Call(sends=False, peer=peer, chunk=chunk, reduce=reduce))

    def _enter(self) -> None:
        if self._open is not None:
            self._refuse("step() inside step(); close the first one before the next")
        super()._enter()
        self._open = []

    def _leave(self, *, complete: bool) -> None:
        if self._open and complete:
            self._blocks.append(self._open)
        self._open = None

    def _record(self, name: str, call: Call) -> None:
        advice = "it has the chunk already, leave this out"
        peer = self._peer(name, call.peer, advice)
        chunk = self._whole(f"{name}: chunk", call.chunk)
        if chunk < 0 or (self._num_chunks is not None and chunk >= self._num_chunks):
            last = "upwards" if self._num_chunks is None else f"to {self._num_chunks - 1}"
            message = f"{name}: there is no chunk {chunk}; chunks are 0 {last}"
            self._refuse(message, "unknown_chunk", peer, chunk)
        self._count_call()
        call = call._replace(peer=peer, chunk=chunk)
        if self._open is None:
            self._blocks.append([call])
        else:
            self._open.append(call)

    def _finish(self) -> list[list[Call]]:
        self._check_steps(still_open=self._open is not None)
        return self._blocks


def trace_program(
    fn: Program,
    collective: str,
    world_size: int,
    root: int | None = None,
    num_chunks: int | None = None,
) -> Schedule:
    """Run a rank program on every rank, without data, and return the schedule that it amounts to.

    `root` defaults to rank 0 where the collective has one. `num_chunks` defaults to one chunk per
    block where the collective has blocks, else to as many chunks as the program uses. The schedule
    is not proved yet: `allranks.verify` does that.

    Raises:
        Deadlock: ranks wait for each other in a circle, which the message prints, or for a send or
            receive that never comes; `rank` waits for `peer`.
        Mismatch: a send and the receive that meets it name different chunks.
        ScheduleError: a call names no rank or chunk, or `step()` is misused; `rank` says where.
        RankFailed: the program itself raised.
        ValueError: an unknown collective, or a size, root or chunk count that does not fit it.

    >>> def swap(rank: Rank) -> None:
    ...     with rank.step():
    ...         rank.send(1 - rank.id, chunk=0)
    ...         rank.recv(1 - rank.id, chunk=0, reduce=True)
    >>> print(trace_program(swap, "all_reduce", world_size=2).to_text())
    all_reduce swap: 2 ranks, 1 chunk, 1 step, 2 transfers
    step 0
      rank 0 -> rank 1  chunk 0  reduce
      rank 1 -> rank 0  chunk 0  reduce
    """
    promise = contract(collective)
    for name, value in (("world_size", world_size), ("root", root), ("num_chunks", num_chunks)):
        if type(value) is not int and (value is not None or name == "world_size"):
            message = f"{name} is {value!r}; it must be a whole number (int)"
            raise ValueError(message)
    if promise.rooted and root is None:
        root = 0
    pieces = promise.pieces(world_size) if world_size > 0 else 1
    if num_chunks is None and pieces > 1:
        num_chunks = pieces
    promise.size(world_size, pieces if num_chunks is None else num_chunks, root)
    programs = [
        _record(fn, Rank(rank, world_size, root=root, num_chunks=num_chunks))
        for rank in range(world_size)
    ]
    if num_chunks is None:
        used = [call.chunk for blocks in programs for block in blocks for call in block]
        num_chunks = max(used, default=0) + 1
    name = getattr(fn, "__name__", "")
    return Schedule(
        collective=collective,
        algorithm=name if name.isidentifier() else "program",
        world_size=world_size,
        num_chunks=num_chunks,
        steps=_Meeting(programs).steps(),
        root=root,
    )


def _record(fn: Program, rank: Rank) -> list[list[Call]]:
    """Return the blocks of calls that the program makes on one rank, in order."""
    try:
        result = fn(rank)
    except CollectiveError:
        raise
    except Exception as error:
        message = (
            f"rank {rank.id}: the program raised {type(error).__name__}: {error} "
            f"(after {rank._calls} calls); mend the program"  # noqa: SLF001 - this room's own class
        )
        failed = RankFailed(message, rank=rank.id)
        failed.remote_traceback = traceback.format_exc()
        raise failed from error
    if inspect.isgenerator(result) or inspect.isawaitable(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            result.close()
        message = (
            f"rank {rank.id}: the program has not run, because it contains yield or is async; "
            "a rank program is a plain function that calls rank.send and rank.recv"
        )
        raise ScheduleError(message, kind="format", rank=rank.id)
    return rank._finish()  # noqa: SLF001 - this room's own class


class _Place(NamedTuple):
    """Where a call stands: the rank, the number of its block, and its number in the block."""

    rank: int
    block: int
    number: int


class _Meeting:
    """Recorded programs played against each other: who meets whom in which step, or who is stuck.

    A group is a set of blocks that can only be over together. It is played once every rank of it
    stands at its block; `_now[rank]` is that block.
    """

    def __init__(self, programs: Sequence[Sequence[Sequence[Call]]]) -> None:
        self._programs = programs
        self._now = [0] * len(programs)
        self._mate = _pair_up(programs)
        self._groups = self._join_blocks()

    def steps(self) -> tuple[tuple[Transfer, ...], ...]:
        """Return the steps, each in order of src.

        Raises:
            Deadlock: some rank cannot go on.
            Mismatch: a send and the receive that meets it name different chunks.
        """
        steps: list[list[Transfer]] = []
        latest = [-1] * len(self._programs)
        arrived: dict[int, int] = {}
        coming = deque(range(len(self._programs)))
        while coming:
            rank = coming.popleft()
            if not self._stuck(rank):
                continue
            group = self._groups[rank, self._now[rank]]
            arrived[id(group)] = arrived.get(id(group), 0) + 1
            if arrived[id(group)] < len(group) or self._lacks_a_mate(group):
                continue
            number = 1 + max(latest[member] for member, _ in group)
            if number == len(steps):
                steps.append([])
            for member, block in group:
                steps[number] += self._transfers(member, block)
                latest[member] = number
                self._now[member] += 1
                coming.append(member)
        if any(self._stuck(rank) for rank in range(len(self._programs))):
            raise self._deadlock()
        return tuple(tuple(sorted(step, key=lambda t: t.src)) for step in steps)

    def _stuck(self, rank: int) -> bool:
        return self._now[rank] < len(self._programs[rank])

    def _join_blocks(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """Return, for every block, the group that it belongs to, in order of rank."""
        groups = {
            (rank, block): [(rank, block)]
            for rank, blocks in enumerate(self._programs)
            for block in range(len(blocks))
        }
        for one, other in self._mate.items():
            mine, theirs = groups[one[:2]], groups[other[:2]]
            if mine is not theirs:
                small, large = sorted((mine, theirs), key=len)
                large += small
                groups.update(dict.fromkeys(small, large))
        for group in {id(group): group for group in groups.values()}.values():
            group.sort()
        return groups

    def _lacks_a_mate(self, group: Sequence[tuple[int, int]]) -> bool:
        return any(
            _Place(rank, block, number) not in self._mate
            for rank, block in group
            for number in range(len(self._programs[rank][block]))
        )

    def _transfers(self, rank: int, block: int) -> list[Transfer]:
        """Return what the sends of a block move, once the chunks on both sides agree."""
        moved = []
        for number, call in enumerate(self._programs[rank][block]):
            mate = self._mate[_Place(rank, block, number)]
            other = self._programs[mate.rank][mate.block][mate.number]
            if call.chunk != other.chunk:
                send, recv = (call, other) if call.sends else (other, call)
                src, dst = recv.peer, send.peer
                message = (
                    f"rank {src} sends chunk {send.chunk} to rank {dst}, and the receive of rank "
                    f"{dst} that meets it says chunk {recv.chunk}; both must name the same chunk"
                )
                raise Mismatch(message, rank=dst, src=src, dst=dst, peer=src, chunk=recv.chunk)
            if call.sends:
                op = Op.REDUCE if other.reduce else Op.COPY
                moved.append(Transfer(rank, mate.rank, call.chunk, op))
        return moved

    # --- Who waits for whom --------------------------------------------------------------------

    def _deadlock(self) -> Deadlock:
        return deadlock(self._waits())

    def _waits(self) -> dict[int, Wait]:
        """Return, for every rank that is stuck, the one thing that it waits for."""
        waits: dict[int, Wait] = {}
        met: dict[int, list[tuple[int, Call]]] = {}
        for rank in filter(self._stuck, range(len(self._programs))):
            met[rank] = []
            late = None
            for number, call in enumerate(self._programs[rank][self._now[rank]]):
                mate = self._mate.get(_Place(rank, self._now[rank], number))
                if mate is None:
                    never = functools.partial(self._never_comes, rank, call)
                    waits[rank] = Wait(call.peer, call.sends, call.chunk, never)
                    break
                if mate.block == self._now[mate.rank]:
                    met[rank].append((mate.rank, call))
                else:
                    late = late or Wait(mate.rank, call.sends, call.chunk)
            if late:
                waits.setdefault(rank, late)
        # Where all sides of a block are there, it waits for one that itself waits for another.
        reached = deque(sorted(waits))
        while reached:
            blocker = reached.popleft()
            for rank, _ in met[blocker]:
                if rank not in waits:
                    call = next(call for peer, call in met[rank] if peer == blocker)
                    waits[rank] = Wait(blocker, call.sends, call.chunk)
                    reached.append(rank)
        return waits

    def _never_comes(self, rank: int, call: Call) -> str:
        peer = call.peer
        src, dst = (rank, peer) if call.sends else (peer, rank)
        what, advice = ("receive on", "receive") if call.sends else ("send from", "send")
        sends = self._count(src, dst, sends=True)
        receives = self._count(dst, src, sends=False)
        return (
            f"rank {rank} waits for a {what} rank {peer} that never comes (chunk {call.chunk}); "
            f"rank {src} -> rank {dst} has {sends} sends and {receives} receives, add the {advice}"
        )

    def _count(self, rank: int, peer: int, *, sends: bool) -> int:
        calls = (call for block in self._programs[rank] for call in block)
        return sum(call.peer == peer and call.sends == sends for call in calls)


def _pair_up(programs: Sequence[Sequence[Sequence[Call]]]) -> dict[_Place, _Place]:
    """Return the other side of every call that has one: the k-th send meets the k-th receive."""
    lines: dict[tuple[int, int], tuple[list[_Place], list[_Place]]] = {}
    for rank, blocks in enumerate(programs):
        for block, calls in enumerate(blocks):
            for number, call in enumerate(calls):
                ends = (rank, call.peer) if call.sends else (call.peer, rank)
                sends, receives = lines.setdefault(ends, ([], []))
                (sends if call.sends else receives).append(_Place(rank, block, number))
    mates: dict[_Place, _Place] = {}
    for sends, receives in lines.values():
        for one, other in zip(sends, receives, strict=False):  # the rest never meets anybody
            mates[one], mates[other] = other, one
    return mates
