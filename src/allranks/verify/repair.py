"""Repair: whether one more transfer makes a chunk right, tried out by playing the chunk with it.

Blame says which transfer is missing. What it says is advice, and advice has to work: where a COPY
comes into the same cell in the same step, nobody can add another transfer there, and what comes
late may miss those who send it on. So every advice is tried before it is given, and if it fails,
every other transfer in every step is, as long as that does not take too long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from allranks.collectives import Contract, Size
from allranks.schedule import Op, Schedule, Transfer
from allranks.verify.play import Parts, last_of_chunk, mask_of, once

MOST_WORK = 1 << 20  # transfers that are played in search of a repair: about a second

Moves: TypeAlias = Mapping[int, Sequence[Transfer]]


class Repair(NamedTuple):
    """A transfer that was left out, and the step in which it makes its chunk right."""

    step: int
    transfer: Transfer


class Bench:
    """One chunk of a schedule, to be played again with one more transfer, or with another op."""

    def __init__(
        self, schedule: Schedule, promise: Contract, size: Size, chunk: int, moves: Moves
    ) -> None:
        self.chunk = chunk
        self._moves = [(step, list(moves[step])) for step in sorted(moves)]
        self._num_steps = len(schedule.steps)
        ranks = range(size.world_size)
        start: list[Parts] = [mask_of(promise.starts(rank, chunk, size)) for rank in ranks]
        self._start = [*start, *[0] * schedule.num_switches]
        ends = ((rank, promise.ends(rank, chunk, size)) for rank in ranks)
        self._promised = [(rank, mask_of(parts)) for rank, parts in ends if parts is not None]
        self._ops = (Op.REDUCE, Op.COPY) if promise.reduces else (Op.COPY,)

    def helps(self, repair: Repair) -> bool:
        """Tell whether a chunk is right with this transfer added."""
        held = self._played(repair)
        return held is not None and self._is_right(held)

    def _played(self, repair: Repair) -> list[Parts] | None:
        """Return what a chunk ends as with this transfer added; None if it cannot be played."""
        step, (src, dst, _, op) = repair
        here = next((some for number, some in self._moves if number == step), [])
        into = [other for other in here if other.dst == dst]
        if into and (op is Op.COPY or any(other.op is Op.COPY for other in into)):
            return None  # two writes into one cell, one of them a COPY
        before = [some for number, some in self._moves if number < step]
        after = [some for number, some in self._moves if number > step]
        held = last_of_chunk(self._start, before)
        if not held[src]:
            return None
        return last_of_chunk(held, [[*here, repair.transfer], *after])

    def is_right_as_a_sum(self, step: int, copied: Transfer) -> bool:
        """Tell whether a chunk is right if a transfer that copies adds instead."""
        changed = copied._replace(op=Op.REDUCE)
        moves = (
            [changed if number == step and move == copied else move for move in some]
            for number, some in self._moves
        )
        return self._is_right(last_of_chunk(self._start, moves))

    def find(self, missing: int) -> Repair | None:
        """Return the first transfer of some missing parts that makes the chunk right, if any."""
        return next((repair for repair in self._tries(missing) if self.helps(repair)), None)

    def find_from(self, step: int, src: int) -> Repair | None:
        """Return the first transfer of one endpoint in one step that makes the chunk right."""
        tries = (Repair(step, transfer) for transfer in self._sends(src))
        return next((repair for repair in tries if self.helps(repair)), None)

    def brings(self, step: int, src: int, rank: int | None) -> bool:
        """Tell whether one transfer in a step leaves a rank with more parts than it ends with."""
        if rank is None:
            return False
        wanted = dict(self._promised).get(rank, 0)
        ended = once(last_of_chunk(self._start, (some for _, some in self._moves))[rank])
        for op in self._ops:
            held = self._played(Repair(step, Transfer(src, rank, self.chunk, op)))
            if held and wanted & once(held[rank]) & ~ended:
                return True
        return False

    def is_small(self) -> bool:
        """Tell whether all transfers from all endpoints can be tried in all steps."""
        transfers = sum(len(some) for _, some in self._moves)
        endpoints = len(self._start)
        return self._num_steps * endpoints**2 * len(self._ops) * (transfers + 1) <= MOST_WORK

    def _tries(self, missing: int) -> Iterator[Repair]:
        now, known = self._start, dict(self._moves)
        for step in range(self._num_steps):
            for src, parts in enumerate(now):
                if missing & once(parts):
                    yield from (Repair(step, transfer) for transfer in self._sends(src))
            if step in known:
                now = last_of_chunk(now, [known[step]])

    def _sends(self, src: int) -> Iterator[Transfer]:
        for dst in range(len(self._start)):
            if dst != src:
                yield from (Transfer(src, dst, self.chunk, op) for op in self._ops)

    def _is_right(self, held: Sequence[Parts]) -> bool:
        return all(held[rank] == parts for rank, parts in self._promised)
