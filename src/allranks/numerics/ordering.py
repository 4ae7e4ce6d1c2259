"""The order in which a schedule adds: every sum it forms, by name, before any number is known.

`allranks.simulate` moves arrays through a schedule. Here the same steps move the *names* of sums,
so that one sum can be printed, compared with another rank's, and evaluated in any arithmetic. The
rules are those of `simulate` (and a test holds both to the same bits): all sends of a step read the
state before it; a REDUCE adds to the receiver's own value, several of them in order of src; a
REDUCE into an empty place is a COPY.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from numbers import Integral
from typing import NamedTuple

from allranks.collectives import contract
from allranks.errors import shown
from allranks.schedule import Op, Schedule, Transfer
from allranks.verify import verify


class Kind(Enum):
    """How a sum came about; WIDE and ROUND occur where a switch adds in a wider dtype."""

    PART = "part"  # what a rank put in
    ADD = "add"  # two sums added, and rounded to the dtype
    WIDE = "wide"  # two sums added in a switch, in its wider dtype
    ROUND = "round"  # a wide sum that leaves its switch and is rounded to the dtype


class Sum(NamedTuple):
    """One sum: of `left`, the receiver's own, and `right`, which arrived; both are numbers of sums.

    A PART has the number of its rank on the left. PART and ROUND have nothing on the right (-1).
    """

    kind: Kind
    left: int
    right: int


class Order:
    """Every sum that a schedule forms, each once, and which one ends where.

    `sums[i]` refers only to sums before i. `final[rank, chunk]` is the number of the sum that a
    rank is promised and gets. Sums are formed alike for many chunks; they are one entry here.
    """

    def __init__(self, schedule: Schedule, *, wide_switches: bool, chunk: int | None) -> None:
        self.sums: list[Sum] = []
        self.final: dict[tuple[int, int], int] = {}
        self._numbers: dict[Sum, int] = {}
        self._play(schedule, wide_switches=wide_switches, chunk=chunk)

    def number(self, kind: Kind, left: int, right: int = -1) -> int:
        """Return the number of a sum, a new one if it has not been formed before."""
        new = Sum(kind, left, right)
        known = self._numbers.setdefault(new, len(self.sums))
        if known == len(self.sums):
            self.sums.append(new)
        return known

    def holders(self) -> dict[int, dict[int, int]]:
        """Return for every chunk the ranks that are promised it, each with the sum it gets."""
        found: dict[int, dict[int, int]] = {}
        for (rank, chunk), number in self.final.items():
            found.setdefault(chunk, {})[rank] = number
        return found

    def needed(self, targets: set[int]) -> list[int]:
        """Return the sums that some sums are made of, themselves included, children first."""
        found = set(targets)
        waiting = list(targets)
        while waiting:
            kind, left, right = self.sums[waiting.pop()]
            children = [] if kind is Kind.PART else [left] if kind is Kind.ROUND else [left, right]
            for child in children:
                if child not in found:
                    found.add(child)
                    waiting.append(child)
        return sorted(found)

    def roundings(self) -> int:
        """Return the most roundings to the dtype that any part goes through on its way."""
        depth: list[int] = []
        for kind, left, right in self.sums:
            match kind:
                case Kind.PART:
                    depth.append(0)
                case Kind.ROUND:
                    depth.append(depth[left] + 1)
                case _:
                    deeper = max(depth[left], depth[right])
                    depth.append(deeper + (kind is Kind.ADD))
        return max((depth[number] for number in self.final.values()), default=0)

    def up_to_swaps(self) -> list[int]:
        """Return a number for every sum, equal for two that differ by swapped operands alone."""
        numbers: dict[tuple[Kind, int, int], int] = {}
        same: list[int] = []
        for kind, left, right in self.sums:
            one, other = left, right
            if kind is not Kind.PART:
                one = same[left]
            if kind in (Kind.ADD, Kind.WIDE):
                one, other = min(one, same[right]), max(one, same[right])
            key = (kind, one, other)
            same.append(numbers.setdefault(key, len(numbers)))
        return same

    def text(self, number: int) -> str:
        """Return a sum as it would be written, the operand with more parts first."""
        ranking = self._ranking(number)
        written: list[str] = []
        waiting: list[int | str] = [number]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                written.append(item)
                continue
            kind, left, right = self.sums[item]
            if kind is Kind.PART:
                written.append(f"x{left}")
            elif kind is Kind.ROUND:
                waiting += [")", left, "round("]
            else:
                one, other = sorted((left, right), key=ranking.__getitem__)
                waiting += reversed([*self._operand(one), " + ", *self._operand(other)])
        return "".join(written)

    def _ranking(self, last: int) -> list[tuple[int, int]]:
        """Return for every sum up to `last` what decides which operand is written first."""
        ranking: list[tuple[int, int]] = []
        for kind, left, right in self.sums[: last + 1]:
            if kind is Kind.PART:
                ranking.append((-1, left))
            elif kind is Kind.ROUND:
                ranking.append(ranking[left])
            else:
                parts = ranking[left][0] + ranking[right][0]
                ranking.append((parts, min(ranking[left], ranking[right])[1]))
        return ranking

    def _operand(self, number: int) -> list[int | str]:
        bare = self.sums[number].kind in (Kind.PART, Kind.ROUND)
        return [number] if bare else ["(", number, ")"]

    def _play(self, schedule: Schedule, *, wide_switches: bool, chunk: int | None) -> None:
        held = self._start(schedule, chunk)
        for step in schedule.steps:
            sent = [
                (transfer, self._leaving(held[transfer.src, transfer.chunk]))
                for transfer in sorted(step, key=_place)
                if chunk is None or transfer.chunk == chunk
            ]
            for transfer, value in sent:
                cell = (transfer.dst, transfer.chunk)
                if transfer.op is Op.COPY or cell not in held:
                    held[cell] = value
                else:
                    wide = wide_switches and transfer.dst >= schedule.world_size
                    held[cell] = self.number(Kind.WIDE if wide else Kind.ADD, held[cell], value)
        self.final = {cell: held[cell] for cell in _promised(schedule, chunk)}

    def _start(self, schedule: Schedule, chunk: int | None) -> dict[tuple[int, int], int]:
        promise = contract(schedule.collective)
        size = promise.size(schedule.world_size, schedule.num_chunks, schedule.root)
        return {
            (rank, piece): self.number(Kind.PART, rank)
            for rank in range(schedule.world_size)
            for piece in _chunks(schedule, chunk)
            if any(True for _ in promise.starts(rank, piece, size))
        }

    def _leaving(self, number: int) -> int:
        """Return what is sent of a value: a wide sum is rounded when it leaves its switch."""
        return self.number(Kind.ROUND, number) if self.sums[number].kind is Kind.WIDE else number


def check_schedule(schedule: object) -> None:
    """Refuse what is no schedule.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(schedule, Schedule):
        message = (
            f"schedule is {shown(schedule)}; make one with allranks.schedule(collective, "
            "algorithm, world_size=...)"
        )
        raise ValueError(message)  # noqa: TRY004 - a wrong argument, like the others here


def order_of(schedule: Schedule, *, wide_switches: bool, chunk: int | None = None) -> Order:
    """Return every sum that a schedule forms, for all chunks or one; the schedule is proved first.

    With `wide_switches`, switches add in a wider dtype and round when they send.

    Raises:
        ValueError: no schedule.
        ScheduleError: the schedule breaks a rule or its promise.
    """
    check_schedule(schedule)
    verify(schedule)
    return Order(schedule, wide_switches=wide_switches, chunk=chunk)


def order(schedule: Schedule, rank: int = 0, chunk: int = 0, *, wide_switches: bool = True) -> str:
    """Return how a chunk of a rank's output is summed, as an expression: x2 is rank 2's part.

    Every + rounds to the dtype; `round(...)` is the one rounding of what a switch has added in a
    wider dtype, as `run` lets them do for float16 and bfloat16; without `wide_switches` they add
    like ranks, as in all other dtypes. The operand with more parts is written first, then the one
    with the lower rank: addition commutes, so this changes no bit, and equal expressions mean equal
    bits.

    Raises:
        ScheduleError: the schedule breaks a rule or its promise.
        ValueError: no schedule, no such rank or chunk, or one that the rank is not promised.

    >>> from allranks.algorithms import build
    >>> ring = build("all_reduce", "ring", world_size=4)
    >>> [order(ring, chunk=c) for c in (0, 1)]
    ['((x1 + x2) + x3) + x0', '((x2 + x3) + x0) + x1']
    >>> order(build("reduce", "binomial", world_size=4))
    '(x0 + x2) + (x1 + x3)'
    >>> sharp = build("all_reduce", "sharp", world_size=4)
    >>> [order(sharp, wide_switches=wide) for wide in (True, False)]
    ['round(((x0 + x1) + x2) + x3)', '((x0 + x1) + x2) + x3']
    """
    check_schedule(schedule)
    for name, value, count in (
        ("rank", rank, schedule.world_size),
        ("chunk", chunk, schedule.num_chunks),
    ):
        if not _is_one_of(value, count):
            raise ValueError(f"{name} is {shown(value)}; {name}s are 0 to {count - 1}")
    found = order_of(schedule, wide_switches=wide_switches, chunk=chunk)
    if (rank, chunk) not in found.final:
        holders = ", ".join(str(holder) for holder, _ in found.final)
        raise ValueError(
            f"rank {rank}: {schedule.collective} promises it nothing of chunk {chunk}; "
            f"ask a rank that gets it: {holders}"
        )
    return found.text(found.final[rank, chunk])


def same_order(schedule: Schedule, *, wide_switches: bool = True) -> bool:
    """Return whether all ranks add alike, so that they agree bit for bit whatever the numbers are.

    Sums that differ by swapped operands are alike: addition commutes. True is a proof for every
    input (NaN payloads aside); False says that two ranks add in different orders, so that their
    sums may round to different numbers. `wide_switches` as in `order`.

    Raises:
        ValueError: no schedule.
        ScheduleError: the schedule breaks a rule or its promise.

    >>> from allranks.algorithms import build
    >>> same_order(build("all_reduce", "ring", world_size=6))
    True
    """
    found = order_of(schedule, wide_switches=wide_switches)
    same = found.up_to_swaps()
    of_chunk: dict[int, int] = {}
    return all(
        of_chunk.setdefault(chunk, same[number]) == same[number]
        for (_, chunk), number in found.final.items()
    )


def roundings(schedule: Schedule, *, wide_switches: bool = True) -> int:
    """Return the most roundings that any rank's part goes through: n - 1 in a ring, lg n in a tree.

    Each multiplies by at most 1 + u with u = 2^-p, so without overflow or integers the error of an
    element is at most ((1 + u)^roundings - 1) times the sum of the absolute values of its parts
    (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). A switch of
    `wide_switches` rounds once, when it sends, however many parts it has added.

    Raises:
        ValueError: no schedule.
        ScheduleError: the schedule breaks a rule or its promise.

    >>> from allranks.algorithms import build
    >>> [roundings(build("reduce", name, world_size=16)) for name in ("chain", "binomial")]
    [15, 4]
    >>> nvls = build("all_reduce", "nvls", world_size=16)
    >>> roundings(nvls), roundings(nvls, wide_switches=False)
    (1, 15)
    """
    return order_of(schedule, wide_switches=wide_switches).roundings()


def _is_one_of(value: object, count: int) -> bool:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and value in range(count)


def _place(transfer: Transfer) -> tuple[int, int, int]:
    return transfer[:3]


def _chunks(schedule: Schedule, chunk: int | None) -> range:
    return range(schedule.num_chunks) if chunk is None else range(chunk, chunk + 1)


def _promised(schedule: Schedule, chunk: int | None) -> Iterator[tuple[int, int]]:
    promise = contract(schedule.collective)
    size = promise.size(schedule.world_size, schedule.num_chunks, schedule.root)
    for rank in range(schedule.world_size):
        for piece in _chunks(schedule, chunk):
            if promise.ends(rank, piece, size) is not None:
                yield rank, piece
