"""In-network reduction as SHARP does it: switches add what comes up and send the sum down.

A switch is an endpoint above the ranks. It owns nothing at the start and nothing is promised there
at the end. Between InfiniBand switches the places that add are called aggregation nodes, and they
form a tree of their own over the cables (R. Graham et al., "Scalable Hierarchical Aggregation
Protocol (SHArP)", COMHPC 2016, doi 10.1109/COMHPC.2016.006).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from allranks.schedule import Op, Step, Transfer


def sharp_all_reduce(
    world_size: int, num_chunks: int = 1, radix: int | None = None
) -> Iterator[Step]:
    """Send every chunk up a tree of switches, which add, and the sum down: k + 2h - 1 steps.

    With `radix`, a switch has that many ports down: the first of them serves ranks 0 .. radix - 1,
    and so on, and every level above serves the switches of the one below, until one is left, h
    levels up. Without it one switch serves all ranks: h = 1, k + 1 steps.

    Chunk c leaves the ranks in step c, climbs a level a step, and comes down again one level a step
    while later chunks still climb. Every rank sends S and receives S; a switch with p ports down
    takes in p S from below and sends p S there. One rank needs no switch and no step.
    """
    levels = switch_links(world_size, radix)
    height = len(levels)
    for step in range(num_chunks + 2 * height - 1 if height else 0):
        transfers: list[Transfer] = []
        for level, links in enumerate(levels):
            climbing, falling = step - level, step - (2 * height - 1 - level)
            if 0 <= climbing < num_chunks:
                transfers += [Transfer(low, high, climbing, Op.REDUCE) for low, high in links]
            if 0 <= falling < num_chunks:
                transfers += [Transfer(high, low, falling, Op.COPY) for low, high in links]
        yield transfers


def switch_links(world_size: int, radix: int | None = None) -> list[list[tuple[int, int]]]:
    """Return the links of every level, lowest first: (endpoint below, switch above).

    Switches are numbered from n on, level by level. One rank has no link.

    >>> switch_links(5, radix=4)
    [[(0, 5), (1, 5), (2, 5), (3, 5), (4, 6)], [(5, 7), (6, 7)]]
    """
    levels = switch_levels(world_size, radix)
    return [
        [(low, above[i // radix if radix else 0]) for i, low in enumerate(below)]
        for below, above in itertools.pairwise(levels)
    ]


def switch_levels(world_size: int, radix: int | None = None) -> list[range]:
    """Return the endpoints of every level: the ranks, the leaf switches, ..., the root switch.

    >>> switch_levels(5, radix=4)
    [range(0, 5), range(5, 7), range(7, 8)]
    """
    levels = [range(world_size)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        width = -(-len(below) // radix) if radix else 1
        levels.append(range(below.stop, below.stop + width))
    return levels


def num_sharp_switches(world_size: int, radix: int | None = None, **_parameters: object) -> int:
    """Return the number of switches in the tree."""
    return switch_levels(world_size, radix)[-1].stop - world_size


def wrong_radix(_world_size: int, radix: object = None, **_parameters: object) -> str:
    """Return why no tree of switches has this radix; "" where one has."""
    if radix is None or (isinstance(radix, int) and not isinstance(radix, bool) and radix > 1):
        return ""
    return (
        f"radix is {radix!r}; a switch needs a whole number of at least 2 ports down, or no level "
        "is smaller than the one below; leave it out for one switch that serves all ranks"
    )
