"""Exercise 05b: blocks of any length. Check it with: allranks check 05_uneven_blocks."""

from collections.abc import Sequence

import numpy as np

from allranks import ArrayRank


def reduce_scatter(rank: ArrayRank, x: np.ndarray, counts: Sequence[int]) -> np.ndarray:
    """Return block `rank.id` of the sum of every rank's x; x stays as it is.

    Every rank runs this, with its own x. Block c has counts[c] elements, which may be 0; the blocks
    lie in x one after another. The result is an array of its own, no view of x.

    Target for n ranks: n - 1 steps, S minus the smallest block out of every rank and into it.
    For counts [2, 0, 1], x[0:2] is block 0, block 1 is empty, and x[2:3] is block 2.
    """
    # TODO: pass every block once round the ring, so that block c ends, complete, on rank c.
    raise NotImplementedError
