"""Binomial trees: the number of ranks that know doubles in every step.

Ranks are counted from the root, v = (rank - root) mod n, so any rank can be the root and n need
not be a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.algorithms.ring import ring_all_gather
from allranks.schedule import Op, Step, Transfer


def _distances(world_size: int) -> list[int]:
    """Return 1, 2, 4, ... below n: one distance per step, ceil(log2 n) of them.

    >>> _distances(6)
    [1, 2, 4]
    """
    return [1 << power for power in range((world_size - 1).bit_length())]


def binomial_broadcast(world_size: int, root: int = 0) -> Iterator[Step]:
    """Let every rank that has the vector send it on: ceil(log2 n) steps of S.

    Before the step of distance d the ranks v < d have it; each sends it to v + d, if that exists.
    The root sends in every step. Source: pmodels/mpich src/mpi/coll/bcast/bcast_intra_binomial.c.
    """
    for distance in _distances(world_size):
        yield [
            Transfer(
                src=(root + v) % world_size,
                dst=(root + v + distance) % world_size,
                chunk=0,
                op=Op.COPY,
            )
            for v in range(min(distance, world_size - distance))
        ]


def binomial_reduce(world_size: int, root: int = 0) -> Iterator[Step]:
    """Play the binomial broadcast backwards: arrows turn round and copies become sums.

    After the step of distance d the ranks v < d hold everybody's parts between them. Source:
    pmodels/mpich src/mpi/coll/reduce/reduce_intra_binomial.c.
    """
    for step in reversed(list(binomial_broadcast(world_size, root))):
        yield [Transfer(src=t.dst, dst=t.src, chunk=t.chunk, op=Op.REDUCE) for t in step]


def binomial_scatter(world_size: int, root: int = 0) -> Iterator[Step]:
    """Hand each rank its own block down a tree: ceil(log2 n) steps, (n - 1)/n S out of the root.

    Rank v holds the blocks of v .. v + 2d - 1 before the step of distance d (as far as they exist)
    and sends the upper half to v + d: far ranks first, so that they can help.
    """
    for distance in reversed(_distances(world_size)):
        yield [
            Transfer(
                src=(root + v) % world_size,
                dst=(root + v + distance) % world_size,
                chunk=(root + block) % world_size,
                op=Op.COPY,
            )
            for v in range(0, world_size - distance, 2 * distance)
            for block in range(v + distance, min(v + 2 * distance, world_size))
        ]


def binomial_gather(world_size: int, root: int = 0) -> Iterator[Step]:
    """Play the binomial scatter backwards: ceil(log2 n) steps, (n - 1)/n S into the root.

    Rank v holds the blocks of v .. v + d - 1 before the step of distance d (as far as they exist);
    if v is an odd multiple of d, it sends them to v - d. Source: pmodels/mpich
    src/mpi/coll/gather/gather_intra_binomial.c.
    """
    for step in reversed(list(binomial_scatter(world_size, root))):
        yield [Transfer(src=t.dst, dst=t.src, chunk=t.chunk, op=Op.COPY) for t in step]


def binomial_all_reduce(world_size: int) -> Iterator[Step]:
    """Reduce to rank 0 up a tree, then broadcast down it: 2 ceil(log2 n) steps of S.

    Rank 0 takes in and sends ceil(log2 n) S. Everybody gets the one sum that rank 0 has made, so
    all ranks have the same bits.
    """
    yield from binomial_reduce(world_size)
    yield from binomial_broadcast(world_size)


def scatter_all_gather_broadcast(world_size: int, root: int = 0) -> Iterator[Step]:
    """Scatter the blocks, then pass them round: ceil(log2 n) + n - 1 steps, about 2S per port.

    Robert van de Geijn's broadcast: the root sends (n - 1)/n S in each of the two phases. Source:
    pmodels/mpich src/mpi/coll/bcast/bcast_intra_scatter_ring_allgather.c.
    """
    yield from binomial_scatter(world_size, root)
    yield from ring_all_gather(world_size)
