"""Exercise 06a: repair the ring. Check it with: allranks check 06_repair_the_ring."""

import numpy as np

from allranks import ArrayRank


def all_reduce(rank: ArrayRank, x: np.ndarray) -> np.ndarray:
    """Return the sum of every rank's x on every rank; x stays as it is.

    Every rank runs this, with its own x. `rank.sendrecv` sends an array to one rank, and returns
    the one that comes from another.

    Target for n ranks: n - 1 steps, (n - 1) S out of every rank and into it.
    For x = [1], [10] and [100] on 3 ranks, every rank should return [111]. As it stands, this
    returns [211], [112] and [121]; with 2 ranks it is right.
    """
    # TODO: what does rank 1 send in its second step, and what should it send? Repair it.
    total = x.copy()
    for _ in range(rank.world_size - 1):
        total += rank.sendrecv(rank.right, total, src=rank.left)
    return total
