"""Exercise 06c: the busiest rank of an all-reduce. Check it with: allranks check 06_explain_4x."""

from fractions import Fraction


def busiest(world_size: int, algorithm: str) -> Fraction:
    """Return what the busiest of n ranks moves, out or in, whichever is more, as a share of S.

    "star": all ranks send their vector to rank 0, one after another, which adds them and sends the
    sum to each in turn. "unchunked": every rank passes a whole vector to its right, n - 1 times.
    "ring": a reduce-scatter and then an all-gather, both round the ring in blocks of S/n.

    Target: the exact share for all three and any n = world_size of at least 1.
    For n = 8 the unchunked ring moves 7 S and the ring 7/4 S through every port: 4 times less.
    """
    # TODO: which rank is busiest, how often does it send, and how much each time?
    raise NotImplementedError
