"""Exercise 05c: recursive halving. Check it with: allranks check 05_recursive_halving."""

from collections.abc import Iterator

from allranks import Op, Step, Transfer


def recursive_halving(world_size: int) -> Iterator[Step]:
    """Leave at rank r the sum of every rank's chunk r, by swaps between ever nearer partners.

    Target for n = 1, 2, 4, 8, ...: lg n steps, (n - 1)/n S out of every rank and as much into it.
    For every other n: raise ValueError with a sentence that says which n it can serve.
    For n = 4 rank 0 first sends chunks 2 and 3 to rank 2, then chunk 1 to rank 1.
    """
    # TODO: whom does `rank` swap with at distance n/2, n/4, ..., 1, and which chunks does it send?
    raise NotImplementedError
