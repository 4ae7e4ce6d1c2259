"""Rings: in every step each rank sends one chunk to its right neighbor.

Chunk numbers are NCCL's (NVIDIA/nccl src/device/all_reduce.h): rank r ends reduce-scatter owning
chunk r. Bandwidth-optimal among algorithms of sends and receives (Patarasuk and Yuan, JPDC 69(2),
2009, 117-124).
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.schedule import Op, Step, Transfer


def ring_reduce_scatter(world_size: int) -> Iterator[Step]:
    """Pass each chunk once round the ring, adding every rank's part on the way.

    Chunk c leaves rank c + 1, visits every rank and comes to rest, complete, at rank c. That takes
    n - 1 steps, in each of which every rank sends S/n.
    """
    for step in range(world_size - 1):
        yield [
            Transfer(
                src=rank,
                dst=(rank + 1) % world_size,
                chunk=(rank - 1 - step) % world_size,
                op=Op.REDUCE,
            )
            for rank in range(world_size)
        ]


def ring_all_gather(world_size: int) -> Iterator[Step]:
    """Pass each rank's chunk once round the ring, everybody keeping a copy.

    In step 0 a rank sends its own chunk; in every later step, the one it received in the step
    before. That takes n - 1 steps, in each of which every rank sends S/n.
    """
    for step in range(world_size - 1):
        yield [
            Transfer(
                src=rank,
                dst=(rank + 1) % world_size,
                chunk=(rank - step) % world_size,
                op=Op.COPY,
            )
            for rank in range(world_size)
        ]


def ring_all_reduce(world_size: int) -> Iterator[Step]:
    """Reduce-scatter, then all-gather: 2(n - 1) steps, each moving S/n per rank."""
    yield from ring_reduce_scatter(world_size)
    yield from ring_all_gather(world_size)
