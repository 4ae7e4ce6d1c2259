"""The promises of the collectives as columns: which rank a chunk starts on, and where it must end.

Every collective of ours says the same sentence with other ranks in it: *each target of a chunk ends
with the part of each of its sources, once*. A rank that is a source starts with its own part. So a
promise about all chunks is two columns. A contract that says anything else is not in the table, and
is asked rank by rank. A test compares the table with the contracts, (rank, chunk) by (rank, chunk).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from allranks import collectives
from allranks.collectives import Contract, Size

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Homes(NamedTuple):
    """For each chunk of a row, its one source and its one target; None: every rank is one."""

    sources: Array | None
    targets: Array | None


Home: TypeAlias = Callable[[Array, Size], Array | None]


def _every_rank(_chunk: Array, _size: Size) -> None:
    return None


def _root(chunk: Array, size: Size) -> Array:
    return np.full(len(chunk), size.root or 0, dtype=np.int64)


def _block(chunk: Array, size: Size) -> Array:
    return chunk // (size.num_chunks // size.world_size)


def _addressee(chunk: Array, size: Size) -> Array:
    return chunk // (size.num_chunks // size.world_size**2) % size.world_size


class Rule(NamedTuple):
    """Where the chunks of a collective start, and where they must end."""

    source: Home
    target: Home

    def homes(self, chunks: Array, size: Size) -> Homes:
        """Return the sources and targets of some chunks: `chunks`, and the ranks, are int64."""
        return Homes(self.source(chunks, size), self.target(chunks, size))


RULES: dict[Contract, Rule] = {
    collectives.BROADCAST: Rule(_root, _every_rank),
    collectives.REDUCE: Rule(_every_rank, _root),
    collectives.SCATTER: Rule(_root, _block),
    collectives.GATHER: Rule(_block, _root),
    collectives.ALL_GATHER: Rule(_block, _every_rank),
    collectives.REDUCE_SCATTER: Rule(_every_rank, _block),
    collectives.ALL_REDUCE: Rule(_every_rank, _every_rank),
    collectives.ALL_TO_ALL: Rule(_block, _addressee),
}
