"""Neighbor exchange: pairs of ranks swap what they have, with one neighbor and the other in turn.

Source: open-mpi/ompi ompi/mca/coll/base/coll_base_allgather.c (neighborexchange), which follows
Chen et al., "Performance Evaluation of Allgather Algorithms on Terascale Linux Cluster with Fast
Ethernet", HPCASIA 2005.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.schedule import Op, Step, Transfer


def neighbor_exchange_all_gather(world_size: int) -> Iterator[Step]:
    """Swap own blocks inside a pair, then pairs of blocks with the neighbors in turn: n/2 steps.

    Ranks 2q and 2q + 1 are pair q. In step 0 they swap their own blocks, so that both hold pair q.
    In every later step a rank changes sides, and sends the two blocks that it got in the step
    before (in step 1: those of its own pair). From its two sides an even rank gets the pairs q - 1,
    q + 1, q - 2, q + 2, ..., an odd rank the mirror of it, until all n/2 are there.

    Every rank sends 1 + 2(n/2 - 1) = n - 1 blocks, (n - 1)/n S, with one peer in a step and never
    more than two in all. Half the steps of a ring, and still no long way. Needs an even n.
    """
    for step in range(world_size // 2):
        yield [
            Transfer(
                src=rank,
                dst=(rank + _side(rank) * (-1) ** step) % world_size,
                chunk=chunk,
                op=Op.COPY,
            )
            for rank in range(world_size)
            for chunk in _blocks(rank, step, world_size)
        ]


def needs_an_even_number(world_size: int) -> str:
    """Return why n ranks cannot form pairs; "" where they can, or are alone.

    >>> needs_an_even_number(6)
    ''
    """
    if world_size == 1 or world_size % 2 == 0:
        return ""
    return (
        f"world_size is {world_size}; neighbor_exchange all_gather needs an even number of ranks, "
        "because they work in pairs; use ring or bruck, which take any number"
    )


def _side(rank: int) -> int:
    """Return where the other rank of the pair is: +1, to the right, for even ranks."""
    return 1 - 2 * (rank % 2)


def _blocks(rank: int, step: int, world_size: int) -> list[int]:
    """Return the blocks that a rank sends in a step.

    >>> [_blocks(0, step, 8) for step in range(4)]
    [[0], [0, 1], [6, 7], [2, 3]]
    """
    if step == 0:
        return [rank]
    # what came in the step before is this many pairs away: none, 1 back, 1 on, 2 back, 2 on, ...
    away = (step // 2) * (-1) ** (step - 1)
    first = 2 * (rank // 2 + _side(rank) * away) % world_size
    return [first, first + 1]
