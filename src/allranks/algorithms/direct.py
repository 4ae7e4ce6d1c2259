"""Direct algorithms: data go straight from the rank that has them to the rank that needs them.

In the flat (star) algorithms one root talks to every other rank, one after another, because its
single port is the bottleneck: n - 1 messages are n - 1 steps. In the others all ranks talk to all
ranks at once. Such a step costs n - 1 alphas where a rank sends one message at a time, and one
where all of them are in flight together, as inside an NVSwitch.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.schedule import Op, Step, Transfer


def flat_broadcast(world_size: int, root: int = 0) -> Iterator[Step]:
    """Send the whole vector from the root to one rank after another: n - 1 steps of S.

    After step s, the s + 1 ranks that follow the root have it. The root sends (n - 1) S.
    """
    for distance in range(1, world_size):
        yield [Transfer(src=root, dst=(root + distance) % world_size, chunk=0, op=Op.COPY)]


def flat_reduce(world_size: int, root: int = 0) -> Iterator[Step]:
    """Add one rank's whole vector after another at the root: n - 1 steps of S.

    After step s, the root holds its own part and those of the s + 1 ranks that follow it.
    """
    for distance in range(1, world_size):
        yield [Transfer(src=(root + distance) % world_size, dst=root, chunk=0, op=Op.REDUCE)]


def flat_scatter(world_size: int, root: int = 0) -> Iterator[Step]:
    """Send each rank its own block, one after another: n - 1 steps of S/n.

    After step s, the s + 1 ranks that follow the root have theirs. The root sends (n - 1)/n S, as
    little as any scatter; a tree only takes fewer steps.
    """
    for distance in range(1, world_size):
        rank = (root + distance) % world_size
        yield [Transfer(src=root, dst=rank, chunk=rank, op=Op.COPY)]


def flat_gather(world_size: int, root: int = 0) -> Iterator[Step]:
    """Take one rank's block after another in at the root: n - 1 steps of S/n.

    After step s, the root has its own block and those of the s + 1 ranks that follow it.
    """
    for distance in range(1, world_size):
        rank = (root + distance) % world_size
        yield [Transfer(src=rank, dst=root, chunk=rank, op=Op.COPY)]


def flat_all_reduce(world_size: int) -> Iterator[Step]:
    """Reduce to rank 0, then broadcast: 2(n - 1) steps of S, all of them through rank 0.

    Rank 0 takes in (n - 1) S and sends (n - 1) S; every other rank sends S and receives S. The sum
    over all ranks, 2(n - 1) S, is that of the ring: a star moves no more, it only spreads nothing.
    """
    yield from flat_reduce(world_size)
    yield from flat_broadcast(world_size)


def direct_all_gather(world_size: int) -> Iterator[Step]:
    """Let every rank send its block to all others at once: one step, (n - 1)/n S each way.

    No block takes more than one hop, and no rank waits for another.
    """
    if world_size > 1:
        yield [
            Transfer(src=src, dst=dst, chunk=src, op=Op.COPY)
            for src in range(world_size)
            for dst in range(world_size)
            if dst != src
        ]


def direct_reduce_scatter(world_size: int) -> Iterator[Step]:
    """Let every rank send all others their blocks, which are added there: one step, (n - 1)/n S.

    Rank r gets n - 1 parts of block r in one step and adds them to its own, in order of the ranks.
    """
    if world_size > 1:
        yield [
            Transfer(src=src, dst=dst, chunk=dst, op=Op.REDUCE)
            for src in range(world_size)
            for dst in range(world_size)
            if dst != src
        ]


def direct_all_reduce(world_size: int) -> Iterator[Step]:
    """Join direct reduce-scatter and all-gather ("two-shot"): two steps, 2(n - 1)/n S each way.

    The bytes of a ring in two hops. Source: the two-step all-pairs all-reduce of Azure/msccl-tools
    and ROCm/rccl, for small messages.
    """
    yield from direct_reduce_scatter(world_size)
    yield from direct_all_gather(world_size)


def one_shot_all_reduce(world_size: int) -> Iterator[Step]:
    """Let every rank send its whole vector to all others: one step, (n - 1) S each way.

    Every rank adds for itself: its own part first, then the others in order of their ranks. Ranks
    therefore add in different orders, and floating-point sums may differ in their last bits from
    rank to rank. Source: the one-step all-reduce (allreduce_1step) of MSCCL.
    """
    if world_size > 1:
        yield [
            Transfer(src=src, dst=dst, chunk=0, op=Op.REDUCE)
            for src in range(world_size)
            for dst in range(world_size)
            if dst != src
        ]
