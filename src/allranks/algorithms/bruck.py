"""Bruck's algorithms: logarithmic steps for every n, whether or not it is a power of two.

Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in
multiport message-passing systems", IEEE TPDS 8(11), 1997. On plain buffers both of them keep blocks
by their distance from the rank, and turn the buffer at the end (all-gather) or before and after
(all-to-all). Here a chunk's number says which block it is, wherever it lies, so no turning remains:
every block is in its place when it arrives.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.schedule import Op, Step, Transfer


def bruck_all_gather(world_size: int) -> Iterator[Step]:
    """Double the blocks that everybody holds: ceil(log2 n) steps, (n - 1)/n S per rank.

    Before the step of distance d, rank r holds the d blocks r .. r + d - 1. It sends the first
    min(d, n - d) of them to rank r - d, which then holds twice as many; the last message is cut to
    what is still missing, n - 2^(L-1) blocks. Any n. Source: pmodels/mpich
    src/mpi/coll/allgather/allgather_intra_brucks.c.
    """
    distance = 1
    while distance < world_size:
        yield [
            Transfer(
                src=rank,
                dst=(rank - distance) % world_size,
                chunk=(rank + block) % world_size,
                op=Op.COPY,
            )
            for rank in range(world_size)
            for block in range(min(distance, world_size - distance))
        ]
        distance *= 2


def bruck_all_to_all(world_size: int) -> Iterator[Step]:
    """Send every block on in hops of 1, 2, 4, ... places: ceil(log2 n) steps, about S/2 in each.

    The block from `src` for rank src + j has j places to go: it makes the hop of distance d if j
    has the bit d. Before that hop it lies j mod d places to the right of `src`. All ranks send as
    many blocks: over the steps, the number of bits set in 0 .. n - 1, which for powers of two is
    (n/2) log2 n against the n - 1 of pairwise. Source: pmodels/mpich
    src/mpi/coll/alltoall/alltoall_intra_brucks.c.
    """
    distance = 1
    while distance < world_size:
        yield [
            Transfer(
                src=(src + away % distance) % world_size,
                dst=(src + away % distance + distance) % world_size,
                chunk=src * world_size + (src + away) % world_size,
                op=Op.COPY,
            )
            for src in range(world_size)
            for away in range(world_size)
            if away & distance
        ]
        distance *= 2
