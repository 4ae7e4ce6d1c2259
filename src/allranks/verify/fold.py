"""Proof of schedules too long to write out: prove a few films, and that all chunks follow them.

**Why the films prove every chunk.** `Folded` says that chunk c does what a filmed chunk f does,
with other ranks in the places: whenever endpoint e sends f, endpoint t(e) sends c to t of the
receiver, with the same op, a fixed number of steps later. Here t is a turn: it is one to one, and
leaves switches alone.

1. Chunks never meet. A transfer reads and writes cells of its own chunk only, and what makes a step
   unplayable (a send of nothing, two writes into one cell) is between cells of one chunk. So each
   chunk can be played by itself.
2. Play c, and call t(e) whatever is called e in f, parts included: part r of f is part t(r) of c.
   This is the same play, transfer for transfer; that its steps have later numbers changes nothing.
   If f can be played, so can c; and if e ends with some parts of f, t(e) ends with the same parts
   of c, renamed.
3. So c keeps its promise if f keeps its own and t turns the promise about f into that about c: its
   sources into the sources of c, its targets into the targets of c (`promise` has the words). Where
   every rank is a source, that is so for any t; where one rank is, t has to meet it.

What is checked when this runs, for this very n: every film is played and held to its contract;
every chunk follows a film, and each film as many as is said; and t meets the one source and the one
target for every chunk (above CHECKED chunks, all_to_all has n^2 of them, for so many spread over
all; their films must then be equally popular, so that their number is known). A turn is one to one
because the product of its radices is world_size, which is checked as well: every rank is one row of
digits, and taking away the digits that were added undoes it. What is *not* checked here is that
the generator of the algorithm yields this schedule and no other. For all n up to 64 the tests
compare the two, transfer by transfer; both say in their docstrings why it holds for any n.
"""

from __future__ import annotations

import math

import numpy as np

from allranks.algorithms.folded import Folded
from allranks.collectives import Contract, Size, contract
from allranks.verify.long import verify_columns
from allranks.verify.promise import RULES, Array

CHECKED = 1 << 20


def verify_folded(folded: Folded) -> None:
    """Prove a schedule by its films.

    Raises:
        ScheduleError: a film breaks its promise; as `allranks.verify`.
        ValueError: the films do not say what every chunk does.
    """
    _check_form(folded)
    promise = contract(folded.collective)
    size = promise.size(folded.world_size, folded.num_chunks, folded.root)
    _check_places(folded, promise, size)
    verify_columns(folded.schedule_of_films(), promise, size, folded.representatives)


def _check_form(folded: Folded) -> None:
    """Raise unless turns are one to one, and films are those of chunks, in rising order."""
    films, moved = folded.representatives, folded.film.chunk
    whole = all(type(radix) is int and radix > 0 for radix in folded.radices)
    if not whole or math.prod(folded.radices) != folded.world_size:
        raise _unsound(folded, f"turns of the radices {folded.radices} are not one to one")
    if not _are_whole(films, folded.copies) or films.shape != folded.copies.shape:
        raise _unsound(folded, "the filmed chunks and their copies are no equal rows of numbers")
    if not len(films) or films[0] < 0 or (films[1:] <= films[:-1]).any():
        raise _unsound(folded, "the filmed chunks are not in rising order")
    if films[-1] >= folded.num_chunks or not np.isin(moved, films).all():
        raise _unsound(folded, "a film is of no chunk, or none of those that are filmed")


def _check_places(folded: Folded, promise: Contract, size: Size) -> None:
    """Raise unless every chunk follows a film, by a turn that meets its promise."""
    films, copies = folded.representatives, folded.copies
    every = size.num_chunks <= CHECKED
    chunks = np.arange(size.num_chunks) if every else _spread(size.num_chunks)
    film, turn, delay = folded.place(chunks)
    shapes = {np.shape(column) for column in (film, turn, delay)}
    if not _are_whole(film, turn, delay) or shapes != {chunks.shape}:
        raise _unsound(folded, "films, turns and delays are no rows of whole numbers")
    follows = (film >= 0) & (film < len(films)) & (turn >= 0) & (turn < size.world_size)
    if not (follows & (delay >= 0)).all():
        raise _unsound(folded, "not every chunk follows a film")
    followers = np.bincount(film, minlength=len(films)) if every else copies[:1]
    if (copies != followers).any() or sum(copies.tolist()) != size.num_chunks:
        raise _unsound(folded, "not every film has as many copies as it says")
    rule = RULES[promise]
    for ours, of_films in zip(rule.homes(chunks, size), rule.homes(films, size), strict=True):
        if ours is None or of_films is None:  # every rank: so it is after any turn
            continue
        missed = folded.turned(of_films[film], turn) != ours
        if missed.any():
            chunk = int(chunks[missed.argmax()])
            what = f"chunk {chunk} follows a film of which the turn does not meet its source and"
            raise _unsound(folded, f"{what} target")


def _spread(number: int) -> Array:
    """Return CHECKED chunks, spread evenly over so many, the last one among them."""
    return np.linspace(0, number - 1, CHECKED).astype(np.int64)


def _are_whole(*columns: object) -> bool:
    """Tell whether all are arrays of whole numbers."""
    return all(
        isinstance(column, np.ndarray) and np.issubdtype(column.dtype, np.integer)
        for column in columns
    )


def _unsound(folded: Folded, what: str) -> ValueError:
    return ValueError(f"{folded.algorithm} {folded.collective}: {what}")
