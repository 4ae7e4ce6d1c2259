"""Proof of a schedule: play it with symbols instead of numbers, then hold it to its contract.

Every (endpoint, chunk) holds a multiset of parts: part r of a chunk is what rank r put in. COPY
replaces what the receiver holds, REDUCE adds to it, and every send of a step reads the state before
the step. Only the parts at the end count, so any way there passes. `play` plays the steps, `blame`
traces a fault that shows at the end back to the step in which it entered.

Long schedules are proved by numbers instead of multisets (`columns` says why that is a proof), with
the same verdicts and the same errors. `prove` is for algorithms whose schedules are too long to
write out: it proves the films of a few chunks (`fold` says why that is a proof of all).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from allranks.collectives import Contract, Size
from allranks.errors import ScheduleError
from allranks.schedule import LONG, Schedule
from allranks.verify.blame import find_faults, first_fault
from allranks.verify.play import (
    boards,
    check_affordable,
    contract_of,
    counter,
    last_board,
    where,
)
from allranks.verify.proof import Proof, prove

__all__ = ["Proof", "State", "final_state", "prove", "states", "verify", "where"]

State: TypeAlias = list[list[Counter[int]]]


def verify(schedule: Schedule) -> None:
    """Prove that a schedule keeps its collective's promise; return nothing, or raise.

    Raises:
        TypeError: this is no Schedule.
        ScheduleError: the fields say where the fault *entered*, the message also what it means and
            what to do. `kind` is not_held, write_conflict, self_send, unknown_endpoint,
            unknown_chunk (a step that cannot be played), double_count, missing, wrong_owner (the
            promise is broken at the end; `rank` is where it shows) or format (not a schedule).
            `step` is None where no step is to blame: in a schedule without any, and with more
            than 32,768 ranks, whose parts are only counted.

    >>> from allranks.schedule import Op, Transfer
    >>> swap = (Transfer(0, 1, 0, Op.REDUCE), Transfer(1, 0, 0, Op.REDUCE))
    >>> verify(Schedule("all_reduce", "swap", 2, 1, (swap,)))
    >>> verify(Schedule("all_reduce", "in turn", 2, 1, (swap[:1], swap[1:])))
    Traceback (most recent call last):
    allranks.errors.ScheduleError: step 1: rank 1 -> rank 0, chunk 0: the part of rank 0 would be \
added twice; what rank 1 sends is complete, so COPY it
    """
    promise, size = contract_of(schedule)
    if _is_long(schedule) and _verified_by_columns(schedule, promise, size):
        return
    check_affordable(schedule)
    board = last_board(schedule, promise, size)
    faults = find_faults(schedule, promise, size, board)
    if faults:
        raise first_fault(schedule, promise, size, faults)


def _is_long(schedule: Schedule) -> bool:
    """Tell whether NumPy pays: small schedules need the standard library alone."""
    return max(schedule.num_transfers, schedule.num_endpoints * schedule.num_chunks) > LONG


def _verified_by_columns(schedule: Schedule, promise: Contract, size: Size) -> bool:
    """Prove a schedule of a collective of ours; False if it has to be played as it stands."""
    from allranks.verify.long import is_provable, verify_columns  # noqa: PLC0415 - needs NumPy

    if not is_provable(schedule, promise, size):
        return False
    try:
        schedule.columns()
    except ScheduleError:  # what is no transfer may come after a fault that is named first
        return False
    verify_columns(schedule, promise, size)
    return True


def final_state(schedule: Schedule) -> State:
    """Return the parts that every endpoint holds of every chunk after the last step.

    Indexed [endpoint][chunk], switches after the ranks; an empty Counter where nothing is held. The
    contract is not asked, so this also shows how a wrong schedule ends.

    Raises:
        TypeError: this is no Schedule.
        ScheduleError: a step cannot be played, or the schedule is malformed.

    >>> final_state(Schedule("all_reduce", "none", 2, 1, ()))
    [[Counter({0: 1})], [Counter({1: 1})]]
    """
    promise, size = contract_of(schedule)
    check_affordable(schedule)
    board = last_board(schedule, promise, size)
    return [[counter(parts) for parts in row] for row in board]


def states(schedule: Schedule) -> Iterator[State]:
    """Yield the state before step 0, then the state after every step, as `final_state` shows it.

    Raises:
        TypeError: this is no Schedule.
        ScheduleError: a step cannot be played, once all states before it were yielded.
    """
    promise, size = contract_of(schedule)
    check_affordable(schedule)
    for board in boards(schedule, promise, size):
        yield [[counter(parts) for parts in row] for row in board]
