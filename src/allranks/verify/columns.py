"""Proof of a long schedule at once: values get numbers, and a right sum is a tree.

**Values.** Symbolic play follows a multiset of parts through every (endpoint, chunk). Here a
multiset is not written out; it gets a number, its *id*. What a rank starts with gets an id of its
own, a leaf. COPY passes the id on. REDUCE into what holds something makes a new id, a *sum*, and
remembers the two ids below it; several REDUCEs into one cell in one step make a small tree of sums
of two. Equal pairs of ids in one step get the same id. By induction over the steps,

    (1) cells with the same id hold the same multiset;
    (2) the multiset of a sum holds each part as often as there are ways down from it to the part.

The converse of (1) does not hold, and is not needed: cells may hold equal multisets under two ids.

**The tree.** Take one chunk, and say that all its targets end with the same id, R. If R is nobody's
child and every other id of this chunk, leaf or sum, is the child of exactly one sum, exactly once,
then start at any leaf and go up: there is one way, ids grow along it, so it ends, and it can only
end at R. Hence there is exactly one way down from R to each leaf: by (2), R holds each part of the
chunk exactly once, by (1) so does every target, and that is the promise. Chunks never touch each
other, so the count is made over all of them at once: one pass over the sums.

Where a chunk has one source there is one leaf, and any sum holds its part twice: the promise is
kept if and only if all targets end with the leaf.

**What the argument does not decide.** A chunk that fails this test may still be right (a sum that
no promise depends on; targets that added the same parts in another order). Such chunks are
*doubtful*: they are played again with their multisets written out, by `play`, which decides. So the
answer is exact for every schedule; the ids only decide how fast it comes.

**Size.** The ids of a batch of chunks stand in one table of int32, a cell for each (endpoint,
chunk); batches keep it at CELLS. Where chunks go from one rank to one rank, most cells are never
touched, and only those that are get a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from allranks.collectives import Size
from allranks.schedule import Columns
from allranks.verify.promise import Array, Homes, Rule
from allranks.verify.sums import Sums

CELLS = 1 << 23  # of the table of a batch: 32 MB, and as much again to find double writes


class Judgement(NamedTuple):
    """What the ids say: the first row that cannot be played, or else the chunks still in doubt.

    `conflict` tells a second write into one cell from a send of what is not held.
    """

    bad_row: int | None
    conflict: bool
    doubtful: Array


def judge(columns: Columns, rule: Rule, size: Size, num_endpoints: int, chunks: Array) -> Judgement:
    """Return what can be said about some chunks of a schedule by its ids.

    `chunks` are the numbers, in rising order, of those that are to be proved; no others move in the
    columns. Every endpoint in them must exist, and nobody send to itself: see `stray_row`.
    """
    first: tuple[int, bool] | None = None
    doubtful = [np.empty(0, np.int64)]
    for batch in _batches(columns, rule, size, num_endpoints, chunks):
        sums = Sums(batch.table, batch.num_leaves, int(np.count_nonzero(batch.reduce)))
        bad = sums.play(batch.read, batch.write, batch.reduce, batch.bounds)
        if bad is None:
            doubtful.append(batch.chunks[_in_doubt(batch, sums)])
        else:
            row = bad.row if batch.rows is None else int(batch.rows[bad.row])
            first = min(first or (row, bad.conflict), (row, bad.conflict))
    if first:
        return Judgement(*first, doubtful[0])
    return Judgement(None, conflict=False, doubtful=np.concatenate(doubtful))


def counted_parts(
    columns: Columns, rule: Rule, size: Size, num_endpoints: int, chunk: int
) -> Iterator[tuple[int, Array]]:
    """Yield every different value that the targets of one chunk end with: a target, and its parts.

    `columns` holds the transfers of this chunk alone; every rank must be a source of it. The parts
    are a count for each rank: 0, 1, or 2 for more.
    """
    (batch,) = _batches(columns, rule, size, num_endpoints, np.array([chunk]))
    sums = Sums(batch.table, batch.num_leaves, int(np.count_nonzero(batch.reduce)))
    sums.play(batch.read, batch.write, batch.reduce, batch.bounds)
    tops, ranks = np.unique(sums.table[batch.targets[:, 0]], return_index=True)
    for top, place in zip(tops.tolist(), ranks.tolist(), strict=True):
        yield int(batch.targets[place, 0]), sums.leaves_below(top)


def stray_row(columns: Columns, size: Size, num_endpoints: int) -> int | None:
    """Return the first row that names no endpoint or chunk of the schedule, or sends to itself."""
    src, dst, chunk, _ = columns.columns
    stray = src == dst
    for endpoint in (src, dst):
        stray |= (endpoint < 0) | (endpoint >= num_endpoints)
    stray |= (chunk < 0) | (chunk >= size.num_chunks)
    return int(stray.argmax()) if stray.any() else None


class _Batch(NamedTuple):
    """Some chunks with all their transfers: which cell each row reads and writes.

    `rows` are the rows of the schedule (None: all of them). The leaves are ids 1, 2, ..., chunk by
    chunk the same rank after rank; `table` has them where they start. `targets` are the cells that
    must end with them: [target, chunk of the batch].
    """

    chunks: Array
    rows: Array | None
    bounds: Array
    read: Array
    write: Array
    reduce: Array
    table: Array
    num_leaves: int
    one_source: bool
    targets: Array


def _batches(
    columns: Columns, rule: Rule, size: Size, num_endpoints: int, chunks: Array
) -> Iterator[_Batch]:
    """Yield the chunks of a schedule, as many at a time as their table of ids may be large."""
    homes = rule.homes(chunks, size)
    every = len(chunks) == size.num_chunks
    place = columns.chunk if every else np.searchsorted(chunks, columns.chunk)
    if num_endpoints * len(chunks) <= CELLS:
        yield _dense(columns, place, chunks, homes, (size.world_size, num_endpoints))
    elif homes.sources is not None and homes.targets is not None:
        yield _sparse(columns, place, chunks, (homes.sources, homes.targets), num_endpoints)
    else:
        width = max(1, CELLS // num_endpoints)
        batch = (place // width).astype(np.min_scalar_type(len(chunks) // width))
        order = np.argsort(batch, kind="stable")
        last = np.cumsum(np.bincount(batch, minlength=-(-len(chunks) // width)))
        step = np.repeat(np.arange(len(columns)), np.diff(columns.bounds))
        for number, rows in enumerate(np.split(order, last[:-1])):
            first = number * width
            part = chunks[first : first + width]
            bounds = np.flatnonzero(np.diff(step[rows], prepend=-1, append=-1))
            bounds = bounds if len(rows) else np.zeros(1, np.int64)
            picked = Columns(bounds, *(column[rows] for column in columns.columns))
            ends = (size.world_size, num_endpoints)
            whole = _dense(picked, place[rows] - first, part, rule.homes(part, size), ends)
            yield whole._replace(rows=rows)


def _dense(
    columns: Columns, place: Array, chunks: Array, homes: Homes, ends: tuple[int, int]
) -> _Batch:
    """Return a batch in which every (endpoint, chunk) is a cell, endpoint after endpoint.

    `place` is the place of each row's chunk in `chunks`; `ends` the numbers of ranks and endpoints.
    """
    world_size, num_endpoints = ends
    width = len(chunks)
    place = place.astype(np.int32)
    table = np.zeros(num_endpoints * width, dtype=np.int32)
    if homes.sources is None:
        num_leaves = world_size * width
        table[:num_leaves] = np.arange(1, num_leaves + 1)
    else:
        num_leaves = width
        table[homes.sources * width + np.arange(width)] = np.arange(1, width + 1)
    targets = np.arange(world_size)[:, None] if homes.targets is None else homes.targets
    return _Batch(
        chunks,
        None,
        columns.bounds,
        columns.src * np.int32(width) + place,
        columns.dst * np.int32(width) + place,
        columns.reduce,
        table,
        num_leaves,
        homes.sources is not None,
        (targets * width + np.arange(width)).reshape(-1, width),
    )


def _sparse(
    columns: Columns, place: Array, chunks: Array, homes: tuple[Array, Array], num_endpoints: int
) -> _Batch:
    """Return a batch of all chunks in which only what is touched or promised is a cell."""
    every = np.arange(len(chunks))
    places = [
        place * num_endpoints + columns.src,
        place * num_endpoints + columns.dst,
        *(every * num_endpoints + home for home in homes),
    ]
    cells, numbers = np.unique(np.concatenate(places), return_inverse=True)
    ends = np.cumsum([len(part) for part in places])
    read, write, start, end = np.split(numbers.astype(np.int32), ends[:-1])
    table = np.zeros(len(cells), dtype=np.int32)
    table[start] = np.arange(1, len(chunks) + 1)
    return _Batch(
        chunks,
        None,
        columns.bounds,
        read,
        write,
        columns.reduce,
        table,
        len(chunks),
        True,  # noqa: FBT003 - a field's place
        end.reshape(1, -1),
    )


def _in_doubt(batch: _Batch, sums: Sums) -> Array:
    """Return for each chunk of the batch whether the tree argument fails to prove it."""
    width = len(batch.chunks)
    ended = sums.table[batch.targets]
    roots = ended[0]
    doubt: Array = (ended != roots).any(axis=0)
    if batch.one_source:
        doubt |= roots != np.arange(1, width + 1)
        return doubt
    above = sums.times_below_a_sum()
    above[roots] += 1  # what a target ends with counts as held up once, like every child
    ids = np.flatnonzero(above[1:] != 1) + 1
    doubt[sums.cell_of(ids) % width] = True
    return doubt
