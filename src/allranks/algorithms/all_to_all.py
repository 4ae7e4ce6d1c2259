"""All-to-all without detours: every block goes straight from its source to its destination.

Chunk src n + dst is the block that rank `src` has for rank `dst`. A rank keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.schedule import Op, Step, Transfer


def direct_all_to_all(world_size: int) -> Iterator[Step]:
    """Send all blocks at once: one step with n - 1 peers, (n - 1)/n S each way.

    What NCCL does for grouped sends and receives, one message per peer: n - 1 alphas where one
    message is in flight at a time.
    """
    if world_size > 1:
        yield [
            Transfer(src=src, dst=dst, chunk=src * world_size + dst, op=Op.COPY)
            for src in range(world_size)
            for dst in range(world_size)
            if dst != src
        ]


def pairwise_all_to_all(world_size: int) -> Iterator[Step]:
    """Talk to one peer after another: n - 1 steps, S/n out of and into every rank in each.

    In step s rank r sends to r + s + 1 and receives from r - s - 1, so every rank has one peer each
    way and no two ranks send to the same. Any n. Source: open-mpi/ompi
    ompi/mca/coll/base/coll_base_alltoall.c (pairwise); pmodels/mpich
    src/mpi/coll/alltoall/alltoall_intra_pairwise.c pairs by XOR where n is a power of two.
    """
    for distance in range(1, world_size):
        yield [
            Transfer(
                src=rank,
                dst=(rank + distance) % world_size,
                chunk=rank * world_size + (rank + distance) % world_size,
                op=Op.COPY,
            )
            for rank in range(world_size)
        ]
