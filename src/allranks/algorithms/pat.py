"""PAT (parallel aggregated trees): every rank is the root of a binomial tree, all at once.

NCCL uses it where a node has one GPU, to take log2 n messages instead of the ring's n - 1. The
construction is NCCL's (NVIDIA/nccl v2.30.7 src/include/collectives.h, PatAGAlgorithm and
PatRSAlgorithm), in its aggregated form, which sends all blocks that go the same way together.

A block whose owner is `far` places to the right of a rank gets there in one hop for each bit of
`far`. In the all-gather the high bits go first, so messages are far and small at the start, near
and large at the end: the reverse of Bruck's algorithm. The reduce-scatter goes the other way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from allranks.schedule import Op, Step, Transfer


class Hop(NamedTuple):
    """One step of PAT: every rank sends 2**dim places on, one block for each entry of `places`.

    In the all-gather, rank r sends to rank r - 2**dim, and the receiver is a distance in `places`
    away from the owner of the block. In the reduce-scatter, rank r sends to rank r + 2**dim, and it
    is the sender that is so far from the owner.
    """

    dim: int
    places: tuple[int, ...]


def pat_all_gather(world_size: int) -> Iterator[Step]:
    """Send to rank - 2**d, far and small first: about log2 n steps, (n - 1)/n S in all.

    Before the step of distance 2**d a rank holds the blocks of ranks whose distance to its right is
    a multiple of 2**(d + 1); it sends all of them that the receiver lacks. For n = 2**k + 1, k >= 2
    one step more than ceil(log2 n): NCCL plans for the next power of two, 2**(k + 1) places, but
    sends no more than 2**(k - 1) of them together, so the 2**k places of distance 1 take two steps.
    """
    for hop in all_gather_hops(world_size):
        distance = 1 << hop.dim
        yield [
            Transfer(
                src=rank,
                dst=(rank - distance) % world_size,
                chunk=(rank - distance + far) % world_size,
                op=Op.COPY,
            )
            for rank in range(world_size)
            for far in hop.places
        ]


def pat_reduce_scatter(world_size: int) -> Iterator[Step]:
    """Send sums to rank + 2**d, near and large first: as many steps and bytes as the all-gather.

    A rank that is `far` places left of a block's owner sends its sum of that block as far as the
    lowest bit of `far` leads, after it has added the sums of those who send through it.
    """
    for hop in reduce_scatter_hops(world_size):
        distance = 1 << hop.dim
        yield [
            Transfer(
                src=rank,
                dst=(rank + distance) % world_size,
                chunk=(rank + far) % world_size,
                op=Op.REDUCE,
            )
            for rank in range(world_size)
            for far in hop.places
        ]


def all_gather_hops(world_size: int) -> list[Hop]:
    """Return the steps of the all-gather: high bits first, distances in growing order.

    >>> all_gather_hops(6)
    [Hop(dim=2, places=(4,)), Hop(dim=1, places=(2,)), Hop(dim=0, places=(1, 3, 5))]
    """
    group = _group(world_size)
    orders = [
        range(bit, world_size, 2 * bit) for bit in reversed(_bits(world_size)) if bit >= group
    ]
    return _hops([*orders, *(range(first, world_size, group) for first in GATHERED[group])])


def reduce_scatter_hops(world_size: int) -> list[Hop]:
    """Return the steps of the reduce-scatter: low bits first, in NCCL's order of distances.

    >>> reduce_scatter_hops(6)
    [Hop(dim=0, places=(3, 5, 1)), Hop(dim=1, places=(2,)), Hop(dim=2, places=(4,))]
    """
    group = _group(world_size)
    whole = 1 << (world_size - 1).bit_length()
    orders = [range(first, whole, group) for first in REDUCED[group]]
    orders += [range(bit, whole, 2 * bit) for bit in _bits(world_size) if bit >= group]
    mirrored = [[order[i] for i in _mirrored(len(order))] for order in orders]
    return _hops([[far for far in order if far < world_size] for order in mirrored])


# The order in which distances are served that are no multiple of the group. A group of 4 occurs for
# n = 2**k + 1 only: there the distances 1 and 3, modulo 4, take a step each, although both lead
# to the neighbor.
GATHERED: dict[int, tuple[int, ...]] = {1: (), 2: (1,), 4: (2, 3, 1)}
REDUCED: dict[int, tuple[int, ...]] = {1: (), 2: (1,), 4: (3, 2, 1)}


def _group(world_size: int) -> int:
    """Return 2, or 4 for n = 2**k + 1: 2**ceil(log2 n) over the blocks that NCCL sends together.

    It sends the least power of two together that is not below n // 2.

    >>> [_group(n) for n in range(1, 10)]
    [1, 2, 4, 2, 4, 2, 2, 2, 4]
    """
    whole = 1 << (world_size - 1).bit_length()
    together = 1 << max(world_size // 2 - 1, 0).bit_length()
    return whole // together


def _bits(world_size: int) -> list[int]:
    """Return 1, 2, 4, ... below n."""
    return [1 << dim for dim in range((world_size - 1).bit_length())]


def _mirrored(count: int) -> list[int]:
    """Return 0 .. count - 1, a power of two, in the order of their inverted, reversed bits.

    >>> _mirrored(4)
    [3, 1, 2, 0]
    """
    order = [0]
    while len(order) < count:
        order = [2 * i + 1 for i in order] + [2 * i for i in order]
    return order


def _hops(orders: Iterable[Sequence[int]]) -> list[Hop]:
    """Name each step by the lowest bit of its distances; leave out steps without any."""
    return [Hop((order[0] & -order[0]).bit_length() - 1, tuple(order)) for order in orders if order]
