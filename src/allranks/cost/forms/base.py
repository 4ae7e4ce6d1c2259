"""Forms: which messages each step of an algorithm has, said without writing out its chunks.

A **message** is all that one endpoint sends to one other in one step, counted in chunks. A form is
a function `(n, num_chunks, **parameters)` that yields runs of steps, one after the other. A run is
one of three things:

- `Phase`: messages that are listed, each with the number of its step;
- `Shift`: steps that look the same from every rank, told by the distance that data travel;
- `Stream`: a pipeline, in which a message recurs in many steps in a row.

Arrays are int64 and one entry is one message (of a Shift: n messages). In one step there is one
message from a given endpoint to another: two chunks for the same peer are one entry with chunks=2.
Every step of a run has a message. `chunks` counts what the message carries, `reduced` how many of
these chunks are added at the receiver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.int64]


class Phase(NamedTuple):
    """Steps 0 .. max(step) with their messages listed; the whole run happens `repeat` times.

    `step` does not decrease and leaves no number out. Endpoints are ranks 0 .. n-1, then switches.

    One step of recursive doubling on four ranks, two chunks a message:

    >>> r = np.arange(4)
    >>> run = Phase.of(src=r, dst=r ^ 1, chunks=2, reduced=2)
    >>> run.dst.tolist(), run.step.tolist(), run.chunks.tolist()
    ([1, 0, 3, 2], [0, 0, 0, 0], [2, 2, 2, 2])
    """

    repeat: int
    step: Array
    src: Array
    dst: Array
    chunks: Array
    reduced: Array

    @classmethod
    def of(  # noqa: PLR0913 - the columns of a message
        cls,
        *,
        src: Many,
        dst: Many,
        chunks: Many = 1,
        reduced: Many = 0,
        step: Many = 0,
        repeat: int = 1,
    ) -> Phase:
        """Return a phase whose columns may be given as lists or as one number for all messages."""
        return cls(repeat, *columns(step, src, dst, chunks, reduced))


class Shift(NamedTuple):
    """Steps in which every rank r sends to (r + shift) mod n; the run happens `repeat` times.

    An entry stands for n messages, one from every rank. `shift` lies in 1 .. n-1; the entries of
    one step have different shifts. A ring all-reduce is one step n - 1 times with reduced=1, and
    n - 1 times without:

    >>> [Shift.of(shift=1, reduced=1, repeat=3), Shift.of(shift=1, repeat=3)][0].repeat
    3
    """

    repeat: int
    step: Array
    shift: Array
    chunks: Array
    reduced: Array

    @classmethod
    def of(
        cls,
        *,
        shift: Many,
        chunks: Many = 1,
        reduced: Many = 0,
        step: Many = 0,
        repeat: int = 1,
    ) -> Shift:
        """Return a run whose columns may be given as lists or as one number for all."""
        return cls(repeat, *columns(step, shift, chunks, reduced))


class Stream(NamedTuple):
    """A pipeline: entry i sends in steps start[i] + every * j, for j = 0 .. times[i] - 1.

    Streams may overlap, also between the same two endpoints: in a step their chunks join in one
    message. Together they leave no step out. A chain of n ranks, k chunks, one a step:

    >>> hop = np.arange(3)
    >>> Stream.of(start=hop, times=8, src=hop, dst=hop + 1).times.tolist()
    [8, 8, 8]
    """

    every: int
    start: Array
    times: Array
    src: Array
    dst: Array
    chunks: Array
    reduced: Array

    @classmethod
    def of(  # noqa: PLR0913 - the columns of a message
        cls,
        *,
        start: Many,
        times: Many,
        src: Many,
        dst: Many,
        chunks: Many = 1,
        reduced: Many = 0,
        every: int = 1,
    ) -> Stream:
        """Return streams whose columns may be given as lists or as one number for all."""
        return cls(every, *columns(start, times, src, dst, chunks, reduced))


Run: TypeAlias = Phase | Shift | Stream
Many: TypeAlias = "Array | list[int] | range | int"


@dataclass(frozen=True)
class Form:
    """An algorithm's messages: `phases(n, num_chunks, **parameters)` yields runs, for n >= 2.

    `parameters` are those that the generator in `allranks.algorithms` takes beside `world_size`
    and `num_chunks`: `root` for rooted collectives (always given), `node_size`, `inner`, `outer`,
    `radix` where it has them. Default chunks, switches and refusals come from the algorithm's
    entry in `ALGORITHMS`: a form is called only with what that entry accepts.
    """

    phases: Callable[..., Iterable[Run]]


def columns(*values: Many) -> tuple[Array, ...]:
    """Return the values as int64 columns of one length; numbers are repeated."""
    arrays = [np.atleast_1d(np.asarray(value, dtype=np.int64)) for value in values]
    length = max(array.size for array in arrays)
    return tuple(
        np.full(length, array[0]) if array.size == 1 != length else array for array in arrays
    )


def lg(n: int) -> int:
    """Return ceil(log2 n) for n >= 1.

    >>> lg(1), lg(8), lg(9)
    (0, 3, 4)
    """
    return (n - 1).bit_length()
