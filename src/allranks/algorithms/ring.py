"""Rings: in every step each rank sends one chunk to its right neighbor, or one to each neighbor.

Chunk numbers are NCCL's (NVIDIA/nccl src/device/all_reduce.h): rank r ends reduce-scatter owning
chunk r. Bandwidth-optimal among algorithms of sends and receives (Patarasuk and Yuan, JPDC 69(2),
2009, 117-124).

A bidirectional ring is two rings at once, one to the right and one to the left. Blocks meet half
way, so it takes n // 2 steps instead of n - 1. But in each of them a rank talks to two peers: on
one port that is two alphas and the bytes of both, and nothing is gained. On two full-duplex ports
the two messages pass side by side, and both alphas and time on the wire are halved.
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


def unchunked_ring_all_reduce(world_size: int) -> Iterator[Step]:
    """Pass whole vectors round the ring and add each that arrives: n - 1 steps of S.

    Every rank sends (n - 1) S, n/2 times as much as in the ring of chunks. What it sends on must be
    the vector that arrived, not its sum so far, so it needs a buffer for what passes through beside
    the one it adds into. A schedule gives a rank one place for a chunk: from three ranks on, no
    schedule does this (`needs_two_buffers` says why), although its price is known. Source: gloo's
    allreduce_ring (facebookincubator/gloo docs/algorithms.md), whose inbox is that second buffer.

    Raises:
        ValueError: more than two ranks.
    """
    if reason := needs_two_buffers(world_size):
        raise ValueError(reason)
    for _ in range(world_size - 1):
        yield [
            Transfer(src=rank, dst=(rank + 1) % world_size, chunk=0, op=Op.REDUCE)
            for rank in range(world_size)
        ]


def needs_two_buffers(world_size: int) -> str:
    """Return why a ring of whole vectors is no schedule of chunks; "" for one or two ranks.

    In n - 1 steps to the right, the part of rank r + 1 reaches rank r only if it moves on in every
    step, beginning with the first. Then every rank has two parts after one step, its own and its
    left neighbor's. It would have to send on the second without the first; and if it keeps only the
    second, its own part is lost to it until it has gone all the way round, one step too late.

    >>> needs_two_buffers(2)
    ''
    """
    if world_size <= 2:  # noqa: PLR2004 - the whole ring is one exchange
        return ""
    return (
        f"world_size is {world_size}; unchunked_ring all_reduce passes on what arrived and adds it "
        "up in another buffer, but a schedule has one place for a chunk on a rank; use one_shot, "
        "which moves the same bytes, or arrays of your own; allranks.price knows what it costs"
    )


def bidirectional_ring_all_gather(world_size: int) -> Iterator[Step]:
    """Pass each rank's chunk round both ways until the copies meet: n // 2 steps.

    In step s a rank sends its right neighbor the chunk of the rank s places to its left, and its
    left neighbor that of the rank s places to its right. Chunks go n // 2 places to the right and
    (n - 1) // 2 to the left, so that each reaches every rank once: where n is even, the rank
    opposite gets it from one side only, and the last step has no message to the left. Every rank
    sends (n - 1)/n S in all, S/n to each neighbor in a step.
    """
    for step in range(world_size // 2):
        right = [
            Transfer(
                src=rank,
                dst=(rank + 1) % world_size,
                chunk=(rank - step) % world_size,
                op=Op.COPY,
            )
            for rank in range(world_size)
        ]
        left = [
            Transfer(
                src=rank,
                dst=(rank - 1) % world_size,
                chunk=(rank + step) % world_size,
                op=Op.COPY,
            )
            for rank in range(world_size)
            if step < (world_size - 1) // 2
        ]
        yield right + left


def bidirectional_ring_reduce_scatter(world_size: int) -> Iterator[Step]:
    """Collect each chunk from both sides, adding on the way: n // 2 steps, (n - 1)/n S in all.

    Chunk c comes to rank c from the n // 2 ranks on its left and the (n - 1) // 2 on its right;
    both sums arrive in the last step. With `ahead` hops to go after this one, a rank sends to the
    right the chunk that ends `ahead` places beyond that neighbor, and likewise to the left.
    """
    for ahead in reversed(range(world_size // 2)):
        right = [
            Transfer(
                src=rank,
                dst=(rank + 1) % world_size,
                chunk=(rank + 1 + ahead) % world_size,
                op=Op.REDUCE,
            )
            for rank in range(world_size)
        ]
        left = [
            Transfer(
                src=rank,
                dst=(rank - 1) % world_size,
                chunk=(rank - 1 - ahead) % world_size,
                op=Op.REDUCE,
            )
            for rank in range(world_size)
            if ahead < (world_size - 1) // 2
        ]
        yield right + left


def bidirectional_ring_all_reduce(world_size: int) -> Iterator[Step]:
    """Join the two: 2 (n // 2) steps, and per rank the 2(n - 1)/n S of the ring, half each way."""
    yield from bidirectional_ring_reduce_scatter(world_size)
    yield from bidirectional_ring_all_gather(world_size)
