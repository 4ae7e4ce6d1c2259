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
    check_transfer,
    last_of_chunk,
    mask_of,
    not_held,
    unaffordable,
    write_conflict,
)
from allranks.verify.promise import RULES, Array

MAX_PARTS = 1 << 15  # written out, 2^15 sets of so many parts are 128 MB
IDLE_VALUES = 1 << 20  # without any transfer; to say what is missing then takes some seconds
BLAMED_CELLS = 1 << 18  # of wrong chunks that are played and traced one by one, in seconds
BLAMED_CHUNKS = 1 << 12
VALUES_PER_TRANSFER = 8  # a right schedule has about one, or two where a switch is beside each rank

_OPS = (Op.COPY, Op.REDUCE)


def is_provable(schedule: Schedule, promise: Contract, size: Size) -> bool:
    """Tell whether the promise is known as columns.

    Raises:
        ScheduleError: the schedule is a hopeless giant (kind "format"): it has far more values to
            follow than transfers. A chunk that starts or ends on all n ranks moves n - 1 times, one
            with one source and one target once if they differ; so with more than one rank such a
            schedule cannot be right, and to say where it is wrong would take long.
    """
    if promise not in RULES:
        return False
    most = IDLE_VALUES + VALUES_PER_TRANSFER * schedule.num_transfers
    values = max(schedule.num_endpoints, schedule.num_chunks)
    if values <= most:
        homes = RULES[promise].homes(np.zeros(1, dtype=np.int64), size)
        if None in homes:  # else one source, one target: only those are looked at
            values = schedule.num_endpoints * schedule.num_chunks
    if values > most:
        raise unaffordable(schedule, values, most)
    return True


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
    very many wrong chunks, only the first are asked: BLAMED_CHUNKS with BLAMED_CELLS.
    """
    columns = schedule.columns()
    if size.world_size > MAX_PARTS and promise.reduces:
        for chunk in doubtful.tolist():
            _count(schedule, promise, size, chunk)
        return
    most = min(BLAMED_CHUNKS, max(1, BLAMED_CELLS // schedule.num_endpoints))
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
