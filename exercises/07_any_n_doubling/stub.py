"""Exercise 07b: doubling for any number of ranks. Check: allranks check 07_any_n_doubling."""

from collections.abc import Iterator

from allranks import Op, Step, Transfer


def any_n_doubling_all_reduce(world_size: int) -> Iterator[Step]:
    """Leave the sum on every rank; the whole vector is one chunk, chunk 0.

    Target for a power of two: lg n steps. For every other n: floor(lg n) + 2 steps.
    No rank may send more than ceil(lg n) S. For n = 3: rank 0 hands its vector to rank 1, the ranks
    1 and 2 swap, and rank 1 hands the sum back to rank 0.
    """
    # TODO: which ranks are too many, who takes their vectors in, and when do they get the sum?
    raise NotImplementedError
