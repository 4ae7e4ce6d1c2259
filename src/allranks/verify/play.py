"""Symbolic play: what every endpoint holds of every chunk, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from allranks.collectives import Contract, Size, contract
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule, Transfer

# A set of parts is one integer, part r being bit r: joining two of them costs next to nothing. Only
# values that hold a part more than once need a Counter. 0 means that nothing is held.
Parts: TypeAlias = int | Counter[int]
Board: TypeAlias = list[list[Parts]]

MAX_CELLS = 1 << 26


def contract_of(schedule: Schedule) -> tuple[Contract, Size]:
    """Return the promise that a schedule is held to, and the size it is made for.

    Raises:
        ScheduleError: no such collective, or numbers that do not fit it (kind "format").
    """
    try:
        promise = contract(schedule.collective)
        size = promise.size(schedule.world_size, schedule.num_chunks, schedule.root)
    except ValueError as error:
        raise ScheduleError(str(error), kind="format") from error
    cells = schedule.num_endpoints * schedule.num_chunks
    if cells > MAX_CELLS:
        message = (
            f"{schedule.num_endpoints} endpoints with {schedule.num_chunks} chunks each are "
            f"{cells} values to follow, more than the {MAX_CELLS} this proof can take; "
            "use fewer ranks or chunks"
        )
        raise ScheduleError(message, kind="format")
    return promise, size


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
        _check_transfer(schedule, number, index, transfer)
        src, dst, chunk, op = transfer
        carried = board[src][chunk]
        if not carried:
            raise _not_held(schedule, number, transfer)
        cell = (dst, chunk)
        if cell in copied or (op is Op.COPY and cell in written):
            raise _write_conflict(schedule, number, transfer)
        if op is Op.COPY:
            copied.add(cell)
            written[cell] = carried
        else:
            written[cell] = join(written.get(cell, board[dst][chunk]), carried)
    return written


def mask_of(parts: Iterable[int]) -> int:
    """Return a set of parts as one integer: part r is bit r."""
    return _mask(parts if isinstance(parts, range) else tuple(parts))


@lru_cache(maxsize=1024)  # the same few sets are promised again and again
def _mask(parts: range | tuple[int, ...]) -> int:
    if isinstance(parts, range) and parts.step == 1:
        return (1 << parts.stop) - (1 << parts.start) if parts else 0
    return sum(1 << part for part in set(parts))


def join(one: Parts, other: Parts) -> Parts:
    """Return the multiset sum of what two values hold."""
    if isinstance(one, int) and isinstance(other, int) and not one & other:
        return one | other
    return counter(one) + counter(other)


def counter(parts: Parts) -> Counter[int]:
    """Return how often each part is held, as a Counter of its own."""
    return Counter(parts) if isinstance(parts, Counter) else Counter(bits(parts))


def bits(mask: int) -> list[int]:
    """Return the parts that are in a set, in order."""
    digits = bin(mask)[:1:-1]
    return [part for part, digit in enumerate(digits) if digit == "1"]


def once(parts: Parts) -> int:
    """Return which parts are held at all."""
    return parts if isinstance(parts, int) else mask_of(parts)


def twice(parts: Parts) -> int:
    """Return which parts are held more than once."""
    return 0 if isinstance(parts, int) else mask_of(p for p, count in parts.items() if count > 1)


def _check_transfer(schedule: Schedule, step: int, index: int, transfer: object) -> None:
    if not isinstance(transfer, Transfer) or not isinstance(transfer.op, Op):
        message = (
            f"step {step}, transfer {index} is {transfer!r}; "
            "it must be Transfer(src, dst, chunk, Op.COPY or Op.REDUCE)"
        )
        raise ScheduleError(message, kind="format", step=step)
    src, dst, chunk, _ = transfer
    for field, value in (("src", src), ("dst", dst), ("chunk", chunk)):
        if type(value) is not int:
            message = (
                f"step {step}, transfer {index}: {field} is {value!r}; "
                "ranks and chunks are plain whole numbers (int)"
            )
            raise ScheduleError(message, kind="format", step=step)
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


def _not_held(schedule: Schedule, step: int, transfer: Transfer) -> ScheduleError:
    src, chunk = transfer.src, transfer.chunk
    unchecked: Sequence[Sequence[object]] = schedule.steps
    later = [
        number
        for number in range(step, len(unchecked))
        if any(isinstance(t, Transfer) and t[1:3] == (src, chunk) for t in unchecked[number])
    ]
    if not later:
        advice = f"bring chunk {chunk} there first, or let somebody send it who has it"
    elif later[0] == step:
        advice = "it only arrives in this step, and every send reads the state before the step"
    else:
        advice = f"it only arrives in step {later[0]}, so send it on in a step after that"
    root = "" if schedule.root is None else f" (the root is rank {schedule.root})"
    message = (
        f"{where(schedule, step, transfer)}: {name_of(schedule, src)} sends data it does not hold"
        f"{root}; {advice}"
    )
    return ScheduleError(
        message, kind="not_held", rank=src, step=step, src=src, dst=transfer.dst, chunk=chunk
    )


def _write_conflict(schedule: Schedule, step: int, second: Transfer) -> ScheduleError:
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
