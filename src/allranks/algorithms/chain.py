"""Chains: every rank passes on what it gets to its right neighbor, cut into chunks like a pipe.

NCCL's broadcast and reduce are this chain on a ring (NVIDIA/nccl src/device/broadcast.h, reduce.h).
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.schedule import Op, Step, Transfer


def chain_broadcast(world_size: int, root: int = 0, num_chunks: int = 1) -> Iterator[Step]:
    """Pass every chunk from the root to its right, each chunk one step behind the one before.

    Hop v leads from the rank v places right of the root to the next one. It carries chunk c in
    step v + c, so the last chunk makes the last hop in step n - 2 + k - 1: n - 2 + k steps for k
    chunks. No rank sends more than S; the last rank only receives.
    """
    hops = world_size - 1
    for step in range(hops - 1 + num_chunks if hops else 0):
        yield [
            Transfer(
                src=(root + hop) % world_size,
                dst=(root + hop + 1) % world_size,
                chunk=step - hop,
                op=Op.COPY,
            )
            for hop in range(hops)
            if 0 <= step - hop < num_chunks
        ]


def chain_reduce(world_size: int, root: int = 0, num_chunks: int = 1) -> Iterator[Step]:
    """Pass every chunk round to the root, adding each rank's part on the way: n - 2 + k steps.

    The rank to the right of the root begins; hop h leads from there h places on, and the last hop
    ends at the root. The root sends nothing, every other rank sends S.
    """
    hops = world_size - 1
    for step in range(hops - 1 + num_chunks if hops else 0):
        yield [
            Transfer(
                src=(root + hop + 1) % world_size,
                dst=(root + hop + 2) % world_size,
                chunk=step - hop,
                op=Op.REDUCE,
            )
            for hop in range(hops)
            if 0 <= step - hop < num_chunks
        ]
