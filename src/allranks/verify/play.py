"""Symbolic play: what every endpoint holds of every chunk, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from itertools import zip_longest
from operator import or_
from typing import TypeAlias

from allranks.collectives import Contract, Size, contract
from allranks.errors import ScheduleError, shown
from allranks.schedule import Columns, Op, Schedule, Transfer, check_form

# A set of parts is one integer, part r being bit r: joining two of them costs next to nothing. A
# value that holds a part more than once is several integers, the binary digits of all counts: bit r
# of number k is digit k of the count of part r, and the last number is not 0. A plain 0 means that
# nothing is held.
Parts: TypeAlias = int | tuple[int, ...]
Board: TypeAlias = list[list[Parts]]

MAX_CELLS = 1 << 22  # written out one by one, they take some seconds
_READABLE = 10**18


def contract_of(schedule: object) -> tuple[Contract, Size]:
    """Return the promise that a schedule is held to, and the size it is made for.

    Raises:
        TypeError: this is no schedule.
        ScheduleError: no such collective, or numbers that do not fit it (kind "format").
    """
    if not isinstance(schedule, Schedule):
        message = (
            f"{shown(schedule)} is no Schedule; allranks.schedule makes one, from_json reads one"
        )
        raise TypeError(message)
    try:
        promise = contract(schedule.collective)
        return promise, promise.size(schedule.world_size, schedule.num_chunks, schedule.root)
    except ValueError as error:
        raise ScheduleError(str(error), kind="format") from error


def check_affordable(schedule: Schedule) -> None:
    """Raise if there are more cells than can be written out.

    Raises:
        ScheduleError: too many (endpoint, chunk) pairs (kind "format").
    """
    cells = schedule.num_endpoints * schedule.num_chunks
    if cells > MAX_CELLS:
        raise unaffordable(schedule, cells, MAX_CELLS)


def unaffordable(schedule: Schedule, values: int, most: int) -> ScheduleError:
    """Return the error of a schedule that would take too long to follow."""
    endpoints, chunks = map(_number_words, (schedule.num_endpoints, schedule.num_chunks))
    message = (
        f"{endpoints} endpoints and {chunks} chunks make {_number_words(values)} values to follow, "
        f"more than the {most:,} that a schedule of so many transfers may have; use fewer ranks"
        f"{', switches' if schedule.num_switches else ''} or chunks"
    )
    return ScheduleError(message, kind="format")


def _number_words(number: int) -> str:
    return f"{number:,}" if number < _READABLE else shown(number)


def boards(schedule: Schedule, promise: Contract, size: Size) -> Iterator[Board]:
    """Yield one board before the first step and after each; it is the same list every time."""
    board: Board = [
        [mask_of(promise.starts(rank, chunk, size)) for chunk in range(size.num_chunks)]
        for rank in range(size.world_size)
    ]
    board += [[0] * size.num_chunks for _ in range(schedule.num_switches)]
    yield board
    for number in range(len(schedule.steps)):
        for (dst, chunk), parts in _writes(schedule, number, board).items():
            board[dst][chunk] = parts
        yield board


def last_board(schedule: Schedule, promise: Contract, size: Size) -> Board:
    """Return the board after the last step."""
    *_, last = boards(schedule, promise, size)
    return last


def _writes(schedule: Schedule, number: int, board: Board) -> dict[tuple[int, int], Parts]:
    """Return what one step leaves in the cells it writes; the board still shows the step before."""
    written: dict[tuple[int, int], Parts] = {}
    copied: set[tuple[int, int]] = set()
    for index, transfer in enumerate(schedule.steps[number]):
        check_transfer(schedule, number, index, transfer)
        src, dst, chunk, op = transfer
        carried = board[src][chunk]
        if not carried:
            raise not_held(schedule, number, transfer)
        cell = (dst, chunk)
        if cell in copied or (op is Op.COPY and cell in written):
            raise write_conflict(schedule, number, transfer)
        if op is Op.COPY:
            copied.add(cell)
            written[cell] = carried
        else:
            written[cell] = join(written.get(cell, board[dst][chunk]), carried)
    return written


def last_of_chunk(held: Sequence[Parts], moves: Iterable[Sequence[Transfer]]) -> list[Parts]:
    """Return what every endpoint ends with of one chunk, from its start and all its transfers.

    Every step of `moves` can be played: every send is of something, and no two writes conflict.
    """
    now = list(held)
    for transfers in moves:
        written: dict[int, Parts] = {}
        for src, dst, _, op in transfers:
            if op is Op.COPY:
                written[dst] = now[src]
            else:
                written[dst] = join(written.get(dst, now[dst]), now[src])
        for dst, parts in written.items():
            now[dst] = parts
    return now


def mask_of(parts: Iterable[int]) -> int:
    """Return a set of parts as one integer: part r is bit r."""
    return _mask(parts if isinstance(parts, range) else tuple(parts))


@lru_cache(maxsize=1024)  # the same few sets are promised again and again
def _mask(parts: range | tuple[int, ...]) -> int:
    if isinstance(parts, range) and parts.step == 1:
        return (1 << parts.stop) - (1 << parts.start) if parts else 0
    return sum(1 << part for part in set(parts))


def join(one: Parts, other: Parts) -> Parts:
    """Return the multiset sum of what two values hold.

    >>> join(0b011, 0b100), join(0b011, 0b001)
    (7, (2, 1))
    """
    if isinstance(one, int) and isinstance(other, int) and not one & other:
        return one | other
    return _counts_added(one, other)


def _counts_added(one: Parts, other: Parts) -> Parts:
    """Add the counts of all parts at once, digit by digit, as one adds on paper."""
    carry = 0
    total = []
    for a, b in zip_longest(_digits(one), _digits(other), fillvalue=0):
        total.append(a ^ b ^ carry)
        carry = (a & b) | ((a ^ b) & carry)
    return (*total, carry) if carry else tuple(total)


def _digits(parts: Parts) -> tuple[int, ...]:
    return parts if isinstance(parts, tuple) else (parts,)


def counter(parts: Parts) -> Counter[int]:
    """Return how often each part is held.

    >>> counter(join(0b011, 0b001))
    Counter({0: 2, 1: 1})
    """
    held = Counter[int]()
    for power, digit in enumerate(_digits(parts)):
        for part in bits(digit):
            held[part] += 1 << power
    return held


def bits(mask: int) -> list[int]:
    """Return the parts that are in a set, in order."""
    digits = bin(mask)[:1:-1]
    return [part for part, digit in enumerate(digits) if digit == "1"]


def once(parts: Parts) -> int:
    """Return which parts are held at all."""
    return parts if isinstance(parts, int) else reduce(or_, parts)


def twice(parts: Parts) -> int:
    """Return which parts are held more than once."""
    return 0 if isinstance(parts, int) else reduce(or_, parts[1:])


def check_transfer(schedule: Schedule, step: int, index: int, transfer: object) -> None:
    """Raise unless a transfer names endpoints and a chunk of the schedule, and two endpoints."""
    check_form(step, index, transfer)
    assert isinstance(transfer, Transfer)  # noqa: S101 - the line above says so
    src, dst, chunk, _ = transfer
    endpoints = schedule.num_endpoints
    if 0 <= src < endpoints and 0 <= dst < endpoints and src != dst:
        if 0 <= chunk < schedule.num_chunks:
            return
        kind = "unknown_chunk"
        what = f"there is no chunk {chunk}; {_span('chunk', 0, schedule.num_chunks)}"
    elif src == dst and 0 <= src < endpoints:
        kind = "self_send"
        what = f"{name_of(schedule, src)} sends to itself; it has the chunk already, leave this out"
    else:
        kind = "unknown_endpoint"
        stranger = dst if 0 <= src < endpoints else src
        known = _span("rank", 0, schedule.world_size)
        if schedule.num_switches:
            known += f", switches are the endpoints from {schedule.world_size} to {endpoints - 1}"
        what = f"{name_of(schedule, stranger)} does not exist; {known}"
    message = f"{where(schedule, step, transfer)}: {what}"
    raise ScheduleError(message, kind=kind, step=step, src=src, dst=dst, chunk=chunk)


def not_held(schedule: Schedule, step: int, transfer: Transfer) -> ScheduleError:
    """Return the error of a transfer whose sender holds nothing of the chunk."""
    src, chunk = transfer.src, transfer.chunk
    arrival = _arrival(schedule, step, src, chunk)
    if arrival is None:
        advice = f"bring chunk {chunk} there first, or let somebody send it who has it"
    elif arrival == step:
        advice = "it only arrives in this step, and every send reads the state before the step"
    else:
        advice = f"it only arrives in step {arrival}, so send it on in a step after that"
    root = "" if schedule.root is None else f" (the root is rank {schedule.root})"
    message = (
        f"{where(schedule, step, transfer)}: {name_of(schedule, src)} sends data it does not hold"
        f"{root}; {advice}"
    )
    return ScheduleError(
        message, kind="not_held", rank=src, step=step, src=src, dst=transfer.dst, chunk=chunk
    )


def _arrival(schedule: Schedule, first: int, dst: int, chunk: int) -> int | None:
    """Return the first step, from a step on, in which a chunk arrives somewhere."""
    steps = schedule.steps
    if isinstance(steps, Columns):
        start = steps.bounds[first]
        rows = (steps.dst[start:] == dst) & (steps.chunk[start:] == chunk)
        return int(steps.steps_of(start + rows.argmax())) if rows.any() else None
    unchecked: Sequence[Sequence[object]] = steps
    for number in range(first, len(unchecked)):
        if any(isinstance(t, Transfer) and t[1:3] == (dst, chunk) for t in unchecked[number]):
            return number
    return None


def write_conflict(schedule: Schedule, step: int, second: Transfer) -> ScheduleError:
    """Return the error of a transfer into a cell that another one writes in the same step."""
    dst, chunk = second.dst, second.chunk
    first = next(t for t in schedule.steps[step] if (t.dst, t.chunk) == (dst, chunk))
    if first == second:
        what = "the same transfer stands in this step already; leave one of them out"
    else:
        what = (
            f"{name_of(schedule, first.src)} writes chunk {chunk} of {name_of(schedule, dst)} in "
            f"the same step ({first.op.name}, here {second.op.name}), so the result depends on "
            "who comes last; move one of them to another step, or REDUCE both"
        )
    message = f"{where(schedule, step, second)}: {what}"
    return ScheduleError(
        message,
        kind="write_conflict",
        rank=dst,
        step=step,
        src=second.src,
        dst=dst,
        peer=first.src,
        chunk=chunk,
    )


def where(schedule: Schedule, step: int, transfer: Transfer) -> str:
    """Return the place of a transfer in the words that every error begins with.

    >>> where(Schedule("reduce", "none", 2, 1, (), root=1), 3, Transfer(0, 1, 0, Op.REDUCE))
    'step 3: rank 0 -> rank 1, chunk 0'
    """
    src, dst = (name_of(schedule, endpoint) for endpoint in (transfer.src, transfer.dst))
    return f"step {step}: {src} -> {dst}, chunk {transfer.chunk}"


def name_of(schedule: Schedule, endpoint: int) -> str:
    """Return "rank 3" or "switch 0", also for an endpoint that does not exist."""
    if 0 <= endpoint < schedule.num_endpoints:
        return schedule.endpoint_name(endpoint)
    return f"{'endpoint' if schedule.num_switches else 'rank'} {endpoint}"


def _span(what: str, first: int, stop: int) -> str:
    if stop - first == 1:
        return f"the only {what} is {first}"
    return f"{what}s are {first} to {stop - 1}"


def parts_words(mask: int, most: int = 4) -> str:
    """Return the words for a set of parts.

    >>> parts_words(0b1), parts_words(0b1110)
    ('the part of rank 0', 'the parts of ranks 1, 2 and 3')
    """
    ranks = [str(rank) for rank in bits(mask)]
    if len(ranks) == 1:
        return f"the part of rank {ranks[0]}"
    if len(ranks) > most:
        return f"the parts of {len(ranks)} ranks ({', '.join(ranks[:most])}, ...)"
    return f"the parts of ranks {', '.join(ranks[:-1])} and {ranks[-1]}"


def it(mask: int) -> str:
    """Return the pronoun for a set of parts."""
    return "it" if mask.bit_count() == 1 else "them"
