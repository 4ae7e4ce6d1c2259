"""Exercise 04a: a ring all-gather. Check it with: allranks check 04_ring_all_gather."""

from collections.abc import Iterator

from allranks import Op, Step, Transfer


def ring_all_gather(world_size: int) -> Iterator[Step]:
    """Give every rank all chunks; at the start rank r holds chunk r. Send only to the right.

    Any plan that meets the target passes; the ring is the one that the chapter builds.
    Target for n ranks: n - 1 steps, (n - 1)/n S out of every rank and as much into it.
    For n = 4 the ranks 0, 1, 2, 3 send the chunks 0, 1, 2, 3 in step 0, then 3, 0, 1, 2, then
    2, 3, 0, 1.
    """
    # TODO: which chunk does `rank` pass on in each step?
    raise NotImplementedError
