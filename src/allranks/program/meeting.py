"""Blocks of calls that meet while programs run: what moves, what it counts, who waits for whom.

Needs no arrays: of what is sent it knows dtype, shape and bytes. The rules are those of a traced
program. The k-th send from a to b meets the k-th receive of b from a; blocks that meet make up one
group, which is over when all of its calls are met; and the step of a group is one more than that of
the latest earlier group of any of its ranks.

Costs are counted as for a schedule. All that a rank sends to one peer in a step is one message, and
a message without bytes is none. A step costs as many alphas as the rank that has most to do in it
has peers to send to, or to receive from, whichever is more: one port, one message each way at a
time. `latency_terms` are the alphas of all steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from allranks.errors import Deadlock, Mismatch
from allranks.program.waits import Wait, deadlock


class Form(NamedTuple):
    """What an array looks like from outside."""

    dtype: str
    shape: tuple[int, ...]
    nbytes: int


class Meets(NamedTuple):
    """One send or receive, without its data; `form` is None for a receive that takes what comes."""

    sends: bool
    peer: int
    form: Form | None


class Delivery(NamedTuple):
    """A send that met a receive: the numbers of both calls in the blocks of their ranks."""

    src: int
    sent: int
    dst: int
    received: int
    form: Form


class Group(NamedTuple):
    """Blocks that are over: whose they are, and what moved between them."""

    ranks: tuple[int, ...]
    deliveries: tuple[Delivery, ...]


@dataclass
class Traffic:
    """Bytes out of every rank and into it, messages, and alphas; see the top of this module."""

    world_size: int
    sent: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    messages: int = 0
    alphas: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sent = [0] * self.world_size
        self.received = [0] * self.world_size

    @property
    def latency_terms(self) -> int:
        """Return the alphas of all steps together."""
        return sum(self.alphas)

    def add(self, step: int, moved: Counter[tuple[int, int]]) -> None:
        """Count what a group moved in a step: bytes by (src, dst)."""
        pairs = [pair for pair, nbytes in moved.items() if nbytes]
        for src, dst in pairs:
            self.sent[src] += moved[src, dst]
            self.received[dst] += moved[src, dst]
        self.messages += len(pairs)
        ports = Counter((side, pair[side]) for pair in pairs for side in (0, 1))
        self.alphas += [0] * (step + 1 - len(self.alphas))
        self.alphas[step] = max(self.alphas[step], *ports.values(), 0)


class Meeting:
    """Ranks come with one block of calls after another; blocks are over when all of it is met."""

    def __init__(self, world_size: int) -> None:
        self.traffic = Traffic(world_size)
        self._blocks: dict[int, Sequence[Meets]] = {}
        self._gone: set[int] = set()
        self._latest = [-1] * world_size
        self._sends: Counter[tuple[int, int]] = Counter()
        self._receives: Counter[tuple[int, int]] = Counter()

    @property
    def waiting(self) -> tuple[int, ...]:
        """Return the ranks whose block is not over."""
        return tuple(sorted(self._blocks))

    def arrive(self, rank: int, calls: Sequence[Meets]) -> Group | None:
        """Let a rank come to a block; return the group that is over with it, None if it waits.

        Raises:
            Mismatch: the group is complete, but a send and its receive differ in dtype or shape;
                its ranks wait for ever.
        """
        self._blocks[rank] = calls
        for call in calls:
            if call.sends:
                self._sends[rank, call.peer] += 1
            else:
                self._receives[call.peer, rank] += 1
        ranks = self._group_of(rank)
        if ranks is None:
            return None
        deliveries = [each for src in ranks for each in self._deliveries(src)]
        for each in sorted(deliveries, key=lambda each: (each.dst, each.src)):
            self._compare(each)
        step = 1 + max(self._latest[member] for member in ranks)
        moved: Counter[tuple[int, int]] = Counter()
        for each in deliveries:
            moved[each.src, each.dst] += each.form.nbytes
            self._latest[each.src] = self._latest[each.dst] = step
        self.traffic.add(step, moved)
        for member in ranks:
            del self._blocks[member]
        return Group(tuple(ranks), tuple(deliveries))

    def leave(self, rank: int) -> None:
        """Let a rank end: it meets nobody any more."""
        self._gone.add(rank)

    def deadlock(self) -> Deadlock:
        """Return who waits for whom, once every rank waits or has ended, and some wait."""
        return deadlock(self._waits())

    def _group_of(self, rank: int) -> list[int] | None:
        """Return the ranks whose blocks hang together with this one's; None if one is not met."""
        group = {rank}
        coming = [rank]
        while coming:
            member = coming.pop()
            for peer in sorted({call.peer for call in self._blocks[member]}):
                if peer not in self._blocks or not self._agree(member, peer):
                    return None
                if peer not in group:
                    group.add(peer)
                    coming.append(peer)
        return sorted(group)

    def _agree(self, one: int, other: int) -> bool:
        """Return whether every call between the blocks of two ranks is met by one of the other."""
        return all(
            len(self._numbers(src, dst, sends=True)) == len(self._numbers(dst, src, sends=False))
            for src, dst in ((one, other), (other, one))
        )

    def _numbers(self, rank: int, peer: int, *, sends: bool) -> list[int]:
        return [
            number
            for number, call in enumerate(self._blocks[rank])
            if call.peer == peer and call.sends == sends
        ]

    def _deliveries(self, src: int) -> list[Delivery]:
        peers = sorted({call.peer for call in self._blocks[src] if call.sends})
        return [
            Delivery(src, sent, dst, received, self._form(src, sent))
            for dst in peers
            for sent, received in zip(
                self._numbers(src, dst, sends=True),
                self._numbers(dst, src, sends=False),
                strict=True,
            )
        ]

    def _form(self, src: int, sent: int) -> Form:
        form = self._blocks[src][sent].form
        assert form is not None  # noqa: S101 - only a receive may leave it open
        return form

    def _compare(self, met: Delivery) -> None:
        form, wanted = met.form, self._blocks[met.dst][met.received].form
        if wanted is None or form[:2] == wanted[:2]:
            return
        src, dst = met.src, met.dst
        if form.dtype != wanted.dtype:
            mine, theirs, what = form.dtype, wanted.dtype, "dtype"
        else:
            mine, theirs = (f"an array of shape {_tuple(each.shape)}" for each in (form, wanted))
            what = "shape"
        message = (
            f"rank {src} sends {mine} to rank {dst}, and the receive of rank {dst} that meets it "
            f"has room for {theirs}; give both the same {what}"
        )
        raise Mismatch(message, kind=what, rank=dst, src=src, dst=dst, peer=src)

    def _waits(self) -> dict[int, Wait]:
        waits: dict[int, Wait] = {}
        for rank, calls in self._blocks.items():
            found = filter(None, (self._wait(rank, number) for number in range(len(calls))))
            first = min(found, key=lambda wait: wait.never is None, default=None)
            if first is not None:
                waits[rank] = first
        # Where all calls of a block are met, it waits for a peer that itself waits for another.
        reached = sorted(waits)
        for blocker in reached:
            for rank, calls in sorted(self._blocks.items()):
                call = next((call for call in calls if call.peer == blocker), None)
                if rank not in waits and call is not None:
                    waits[rank] = Wait(blocker, call.sends)
                    reached.append(rank)
        return waits

    def _wait(self, rank: int, number: int) -> Wait | None:
        """Return what one call of a waiting block waits for; None if the other side is there."""
        call = self._blocks[rank][number]
        peer = call.peer
        if peer in self._gone:
            return Wait(peer, call.sends, never=lambda: self._never_comes(rank, call))
        place = self._numbers(rank, peer, sends=call.sends).index(number)
        met = peer in self._blocks and place < len(self._numbers(peer, rank, sends=not call.sends))
        return None if met else Wait(peer, call.sends)

    def _never_comes(self, rank: int, call: Meets) -> str:
        peer = call.peer
        src, dst = (rank, peer) if call.sends else (peer, rank)
        what, advice = ("receive on", "receive") if call.sends else ("send from", "send")
        sends, receives = self._sends[src, dst], self._receives[src, dst]
        return (
            f"rank {rank} waits for a {what} rank {peer} that never comes: rank {peer} has "
            f"returned; rank {src} -> rank {dst} has {_count(sends, 'send')} and "
            f"{_count(receives, 'receive')}, add the {advice} or leave this call out"
        )


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _tuple(shape: tuple[int, ...]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"
