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
every chunk follows a film; and t meets the one source and the one target for every chunk (above
CHECKED chunks, all_to_all has n^2 of them, for so many spread over all). That t is one to one holds
for every turn: taking away the digits that were added undoes it. What is *not* checked here is that
the generator of the algorithm yields this schedule and no other. For all n up to 64 the tests
compare the two, transfer by transfer; both say in their docstrings why it holds for any n.
"""

from __future__ import annotations

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
    promise = contract(folded.collective)
    size = promise.size(folded.world_size, folded.num_chunks, folded.root)
    _check_places(folded, promise, size)
    verify_columns(folded.schedule_of_films(), promise, size, folded.representatives)


def _check_places(folded: Folded, promise: Contract, size: Size) -> None:
    """Raise unless every chunk follows a film, by a turn that meets its promise."""
    films = folded.representatives
    chunks = np.arange(size.num_chunks) if size.num_chunks <= CHECKED else _spread(size.num_chunks)
    film, turn, delay = folded.place(chunks)
    follows = (film >= 0) & (film < len(films)) & (turn >= 0) & (turn < size.world_size)
    if not (follows & (delay >= 0)).all() or int(folded.copies.sum()) != size.num_chunks:
        message = f"{folded.algorithm} {folded.collective}: not every chunk follows a film"
        raise ValueError(message)
    rule = RULES[promise]
    for ours, of_films in zip(rule.homes(chunks, size), rule.homes(films, size), strict=True):
        if ours is None or of_films is None:  # every rank: so it is after any turn
            continue
        missed = folded.turned(of_films[film], turn) != ours
        if missed.any():
            chunk = int(chunks[missed.argmax()])
            message = (
                f"{folded.algorithm} {folded.collective}: chunk {chunk} follows a film of which "
                "the turn does not meet its source and target"
            )
            raise ValueError(message)


def _spread(number: int) -> Array:
    """Return CHECKED chunks, spread evenly over so many, the last one among them."""
    return np.linspace(0, number - 1, CHECKED).astype(np.int64)
