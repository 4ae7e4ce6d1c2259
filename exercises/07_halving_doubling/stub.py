"""Exercise 07a: halving, then doubling. Check it with: allranks check 07_halving_doubling."""

from collections.abc import Iterator

from allranks import Op, Step, Transfer


def halving_doubling_all_reduce(world_size: int) -> Iterator[Step]:
    """Leave the sum of every chunk on every rank; the vector has world_size chunks.

    The number of ranks is a power of two. Target: 2 lg n steps, 2(n - 1)/n S out of every rank.
    For n = 4 the ranks 0, 1, 2, 3 first send two chunks each, then one, then one back, then two.
    """
    # TODO: which half does `rank` hand to its partner at each distance, and how does it come back?
    raise NotImplementedError
