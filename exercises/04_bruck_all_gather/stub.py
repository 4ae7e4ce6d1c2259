"""Exercise 04b: Bruck's all-gather. Check it with: allranks check 04_bruck_all_gather."""

from collections.abc import Iterator

from allranks import Op, Step, Transfer


def bruck_all_gather(world_size: int) -> Iterator[Step]:
    """Give every rank all chunks in as few steps as possible; rank r starts with chunk r.

    Target for any n: ceil(lg n) steps, (n - 1)/n S out of every rank and as much into it.
    For n = 3 rank 0 first sends chunk 0 to rank 2, and then chunk 0 to rank 1.
    """
    # TODO: what does a rank hold before each step, how much of it is missing elsewhere, and where?
    raise NotImplementedError
