"""Flat (star) algorithms: the root talks to every other rank, one after another.

The root's single port is the bottleneck, so its n - 1 messages are n - 1 steps.
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
