"""Contracts: who starts with which part of which chunk, and who must end with what.

A contract knows no algorithm. A chunk's symbolic content is a multiset of `parts`: part r of chunk
c is what rank r contributed to it. A schedule is right if, at its end, every promised chunk holds
each of its parts exactly once; how it got there is nobody's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from allranks.errors import shown, unknown_name


class Size(NamedTuple):
    """The numbers a contract depends on; `root` is None for collectives without one."""

    world_size: int
    num_chunks: int
    root: int | None = None

    def block(self, chunk: int) -> int:
        """Return the rank whose block contains `chunk`, where block r belongs to rank r.

        >>> Size(world_size=3, num_chunks=6).block(3)
        1
        """
        return chunk * self.world_size // self.num_chunks


Starts = Callable[[int, int, Size], Iterable[int]]
Ends = Callable[[int, int, Size], Iterable[int] | None]


@dataclass(frozen=True)
class Contract:
    """A collective's promise.

    `starts(rank, chunk, size)` are the parts a rank holds before the first step (none: it holds
    nothing of this chunk). `ends(rank, chunk, size)` are the parts it must hold after the last,
    each once; None means that nothing is promised there.
    `pieces(world_size)` is the number that must divide `num_chunks`.
    `busbw_factor(n)` is what nccl-tests multiplies algbw with (NVIDIA/nccl-tests src/*.cu).
    """

    name: str
    starts: Starts
    ends: Ends
    busbw_factor: Callable[[int], float]
    rooted: bool = False
    reduces: bool = False
    pieces: Callable[[int], int] = lambda _n: 1

    def size(self, world_size: int, num_chunks: int, root: int | None = None) -> Size:
        """Return the Size after checking that the numbers fit this collective.

        Raises:
            ValueError: n < 1, a chunk count that the blocks do not divide, a root that is missing,
                out of range or not used; the message says which.
        """
        if world_size < 1:
            message = f"world_size is {shown(world_size)}; a collective needs at least 1 rank"
            raise ValueError(message)
        pieces = self.pieces(world_size)
        if num_chunks < 1 or num_chunks % pieces:
            message = (
                f"num_chunks is {shown(num_chunks)}; {self.name} on {shown(world_size)} ranks "
                f"needs a positive multiple of {shown(pieces)}"
            )
            raise ValueError(message)
        if self.rooted:
            if root is None or not 0 <= root < world_size:
                last = shown(world_size - 1)
                message = f"root is {shown(root)}; {self.name} needs a rank from 0 to {last}"
                raise ValueError(message)
        elif root is not None:
            message = f"root is {shown(root)}; {self.name} has no root, leave it out"
            raise ValueError(message)
        return Size(world_size, num_chunks, root)


def _factor_one(_n: int) -> float:
    return 1.0


def _factor_others(n: int) -> float:
    return (n - 1) / n


def _everybody(size: Size) -> range:
    return range(size.world_size)


BROADCAST = Contract(
    name="broadcast",
    starts=lambda rank, _chunk, size: [rank] if rank == size.root else [],
    ends=lambda _rank, _chunk, size: [] if size.root is None else [size.root],
    busbw_factor=_factor_one,
    rooted=True,
)

REDUCE = Contract(
    name="reduce",
    starts=lambda rank, _chunk, _size: [rank],
    ends=lambda rank, _chunk, size: _everybody(size) if rank == size.root else None,
    busbw_factor=_factor_one,
    rooted=True,
    reduces=True,
)

SCATTER = Contract(
    name="scatter",
    starts=lambda rank, _chunk, size: [rank] if rank == size.root else [],
    ends=lambda rank, chunk, size: [size.root or 0] if size.block(chunk) == rank else None,
    busbw_factor=_factor_others,
    rooted=True,
    pieces=lambda n: n,
)

GATHER = Contract(
    name="gather",
    starts=lambda rank, chunk, size: [rank] if size.block(chunk) == rank else [],
    ends=lambda rank, chunk, size: [size.block(chunk)] if rank == size.root else None,
    busbw_factor=_factor_others,
    rooted=True,
    pieces=lambda n: n,
)

ALL_GATHER = Contract(
    name="all_gather",
    starts=lambda rank, chunk, size: [rank] if size.block(chunk) == rank else [],
    ends=lambda _rank, chunk, size: [size.block(chunk)],
    busbw_factor=_factor_others,
    pieces=lambda n: n,
)

REDUCE_SCATTER = Contract(
    name="reduce_scatter",
    starts=lambda rank, _chunk, _size: [rank],
    ends=lambda rank, chunk, size: _everybody(size) if size.block(chunk) == rank else None,
    busbw_factor=_factor_others,
    reduces=True,
    pieces=lambda n: n,
)

ALL_REDUCE = Contract(
    name="all_reduce",
    starts=lambda rank, _chunk, _size: [rank],
    ends=lambda _rank, _chunk, size: _everybody(size),
    busbw_factor=lambda n: 2 * (n - 1) / n,
    reduces=True,
)

# Chunk (src * n + dst) * m + j starts on src and ends on dst; `block` of it is therefore src.
ALL_TO_ALL = Contract(
    name="all_to_all",
    starts=lambda rank, chunk, size: [rank] if size.block(chunk) == rank else [],
    ends=lambda rank, chunk, size: (
        [size.block(chunk)]
        if chunk * size.world_size**2 // size.num_chunks % size.world_size == rank
        else None
    ),
    busbw_factor=_factor_others,
    pieces=lambda n: n * n,
)

CONTRACTS: dict[str, Contract] = {
    contract.name: contract
    for contract in (
        BROADCAST,
        REDUCE,
        SCATTER,
        GATHER,
        ALL_GATHER,
        REDUCE_SCATTER,
        ALL_REDUCE,
        ALL_TO_ALL,
    )
}


def contract(name: str) -> Contract:
    """Return the contract of a collective.

    Raises:
        ValueError: no such collective; the message suggests the nearest name.
    """
    wanted: object = name
    if isinstance(wanted, str) and wanted in CONTRACTS:
        return CONTRACTS[wanted]
    raise ValueError(unknown_name("collective", name, CONTRACTS))


def busbw_factor(name: str, world_size: int) -> float:
    """Return busbw / algbw of a collective on n ranks, as nccl-tests defines it.

    The factor belongs to the collective, not to the algorithm. It is the speed of the busiest wire
    only while ranks send to ranks: in-network reduction moves other amounts.

    >>> busbw_factor("all_reduce", 8)
    1.75
    """
    number: object = world_size
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        message = (
            f"world_size is {shown(number)}; it must be a whole number, a collective needs at "
            "least 1 rank"
        )
        raise ValueError(message)
    return contract(name).busbw_factor(world_size)


def split_length(count: Any, parts: int, part: Any) -> Any:  # noqa: ANN401 - numbers or arrays
    """Return how many of `count` elements go to one part, as `numpy.array_split` deals them.

    The first `count % parts` parts are one longer. `count` and `part` may be whole numbers or NumPy
    arrays of them.

    >>> [split_length(11, 4, part) for part in range(4)]
    [3, 3, 3, 2]
    """
    return count // parts + (part < count % parts)


def split_lengths(count: int, parts: int) -> tuple[int, ...]:
    """Return the lengths of all parts.

    >>> split_lengths(2, 3)
    (1, 1, 0)
    """
    least, longer = divmod(count, parts)
    return (least + 1,) * longer + (least,) * (parts - longer)
