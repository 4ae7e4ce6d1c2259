"""Proof of a long schedule: by numbers where they decide, by symbolic play where they do not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from allranks.collectives import Contract, Size
from allranks.errors import ScheduleError
from allranks.schedule import Columns, Op, Schedule, Transfer
from allranks.verify.blame import Moves, faults_of, first_fault_of_films
from allranks.verify.columns import counted_parts, judge, stray_row
from allranks.verify.play import (
    MAX_CELLS,
    check_transfer,
    last_of_chunk,
    mask_of,
    not_held,
    write_conflict,
)
from allranks.verify.promise import RULES, Array

MAX_PARTS = 1 << 15  # written out, 2^15 sets of so many parts are 128 MB

_OPS = (Op.COPY, Op.REDUCE)


def is_provable(schedule: Schedule, promise: Contract, size: Size) -> bool:
    """Tell whether the promise is known as columns, and the schedule is no hopeless giant.

    A chunk that starts or ends on all n ranks moves n - 1 times. A schedule without so many
    transfers, of more cells than can be written out, is not worth looking at.
    """
    if promise not in RULES:
        return False
    homes = RULES[promise].homes(np.zeros(1, dtype=np.int64), size)
    if None not in homes:  # one source, one target
        return True
    enough = schedule.num_transfers >= (size.world_size - 1) * size.num_chunks
    return enough or schedule.num_endpoints * size.num_chunks <= MAX_CELLS


def verify_columns(
    schedule: Schedule, promise: Contract, size: Size, chunks: Array | None = None
) -> None:
    """Prove a schedule of any length; the verdict and the error are those of symbolic play.

    `chunks` (None: all) are the numbers, in rising order, of those that are to be proved; no others
    move in the schedule.

    Raises:
        ScheduleError: as `allranks.verify` does.
    """
    columns = schedule.columns()
    stray = stray_row(columns, size, schedule.num_endpoints)
    playable = columns if stray is None else columns.head(stray)
    if chunks is None:
        chunks = np.arange(size.num_chunks)
    judged = judge(playable, RULES[promise], size, schedule.num_endpoints, chunks)
    if judged.bad_row is not None:
        step, _, transfer = _event(columns, judged.bad_row)
        raise (write_conflict if judged.conflict else not_held)(schedule, step, transfer)
    if stray is not None:
        check_transfer(schedule, *_event(columns, stray))
    _settle_doubt(schedule, promise, size, judged.doubtful)


def _settle_doubt(schedule: Schedule, promise: Contract, size: Size, doubtful: Array) -> None:
    """Play the chunks in doubt, and blame the first fault of those that are wrong.

    With more than MAX_PARTS ranks, sums of all ranks are counted instead, and no step is named. Of
    very many wrong chunks, only the first are asked: as many as have MAX_CELLS cells.
    """
    columns = schedule.columns()
    if size.world_size > MAX_PARTS and promise.reduces:
        for chunk in doubtful.tolist():
            _count(schedule, promise, size, chunk)
        return
    most = max(1, MAX_CELLS // schedule.num_endpoints)
    wrong: list[int] = []
    failed: set[int] = set()
    for chunk, moves in films(columns, doubtful):
        start = [mask_of(promise.starts(rank, chunk, size)) for rank in range(size.world_size)]
        held = last_of_chunk([*start, *[0] * schedule.num_switches], moves.values())
        faults = faults_of(promise, size, chunk, held)
        if faults:
            wrong.append(chunk)
            failed |= {fault.rank for fault in faults}
        if len(wrong) == most:
            break
    if wrong:
        films_again = films(columns, np.array(wrong))
        raise first_fault_of_films(schedule, promise, size, frozenset(failed), films_again)


def _count(schedule: Schedule, promise: Contract, size: Size, chunk: int) -> None:
    """Hold one chunk of very many ranks to its promise; name no step if it is broken."""
    columns = schedule.columns()
    rows = columns.chunk == chunk
    bounds = np.concatenate([[0], np.cumsum(rows)])[columns.bounds]
    film = Columns(bounds, *(column[rows] for column in columns.columns))
    rule = RULES[promise]
    for rank, counts in counted_parts(film, rule, size, schedule.num_endpoints, chunk):
        wrong = np.flatnonzero(counts != 1)
        if len(wrong):
            twice = bool(counts[wrong[0]])
            message = (
                f"chunk {chunk}: rank {rank} ends {'with' if twice else 'without'} the part of "
                f"rank {wrong[0]}{' more than once' if twice else ''}; with more than "
                f"{MAX_PARTS:,} ranks no step is named, try fewer of them"
            )
            kind = "double_count" if twice else "missing"
            raise ScheduleError(message, kind=kind, rank=rank, chunk=chunk)


def films(columns: Columns, chunks: Array) -> Iterator[tuple[int, Moves]]:
    """Yield some chunks in order, each with its transfers by step."""
    if len(chunks) == 0:
        return
    rows = np.flatnonzero(np.isin(columns.chunk, chunks))
    rows = rows[np.argsort(columns.chunk[rows], kind="stable")]
    edges = np.searchsorted(columns.chunk[rows], [*chunks, chunks[-1] + 1])
    for number, chunk in enumerate(chunks.tolist()):
        film = rows[edges[number] : edges[number + 1]]
        moves: Moves = {}
        sides = (column[film].tolist() for column in (columns.src, columns.dst, columns.reduce))
        for step, src, dst, added in zip(columns.steps_of(film).tolist(), *sides, strict=True):
            moves.setdefault(step, []).append(Transfer(src, dst, chunk, _OPS[added]))
        yield chunk, moves


def _event(columns: Columns, row: int) -> tuple[int, int, Transfer]:
    """Return the step of a row, its place in there, and the transfer."""
    step = int(columns.steps_of(np.array(row)))
    index = row - int(columns.bounds[step])
    return step, index, columns[step][index]
