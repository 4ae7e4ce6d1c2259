"""Exercise 05a: a ring reduce-scatter. Check it with: allranks check 05_ring_reduce_scatter."""

from collections.abc import Iterator

from allranks import Op, Step, Transfer


def ring_reduce_scatter(world_size: int) -> Iterator[Step]:
    """Leave at rank r the sum of every rank's chunk r, sending only to the right.

    Any plan that meets the target passes; the ring is the one that the chapter builds.
    Target for n ranks: n - 1 steps, (n - 1)/n S out of every rank and as much into it.
    For n = 4 the ranks 0, 1, 2, 3 send the chunks 3, 0, 1, 2 in step 0, then 2, 3, 0, 1, then
    1, 2, 3, 0.
    """
    # TODO: which chunk does `rank` send in each step, so that chunk c ends at rank c?
    raise NotImplementedError
