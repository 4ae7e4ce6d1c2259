"""Exercise 04c: recursive doubling. Check: allranks check 04_recursive_doubling_all_gather."""

from collections.abc import Iterator

from allranks import Op, Step, Transfer


def recursive_doubling_all_gather(world_size: int) -> Iterator[Step]:
    """Give every rank all chunks by swaps between partners; rank r starts with chunk r.

    Target for n = 1, 2, 4, 8, ...: lg n steps, (n - 1)/n S out of every rank and as much into it.
    For every other n: raise ValueError with a sentence that says which n it can serve.
    For n = 4 rank 0 first swaps with rank 1 (one chunk each), then with rank 2 (two chunks each).
    """
    # TODO: whom does `rank` swap with at distance 1, 2, 4, ..., and what does it hold by then?
    raise NotImplementedError
