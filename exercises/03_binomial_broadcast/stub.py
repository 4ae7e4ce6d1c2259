"""Exercise 03a: a binomial tree. Check it with: allranks check 03_binomial_broadcast."""

from collections.abc import Iterator

from allranks import Op, Step, Transfer


def binomial_broadcast(world_size: int, root: int) -> Iterator[Step]:
    """Give every rank the root's chunk 0, for any number of ranks and any root.

    Target for n ranks: ceil(lg n) steps, at most ceil(lg n) S out of the busiest rank; every rank
    but the root receives exactly once.
    For n = 6 and root 2 the steps are: 2 > 3; then 2 > 4 and 3 > 5; then 2 > 0 and 3 > 1.
    """
    # TODO: who knows the vector before each step, and whom does each of them tell?
    raise NotImplementedError
