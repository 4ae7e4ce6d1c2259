"""Exercise 06a, solved: what goes on round the ring is what arrived, never the sum."""

import numpy as np

from allranks import ArrayRank


def all_reduce(rank: ArrayRank, x: np.ndarray) -> np.ndarray:
    """Keep two arrays: the sum stays here, the vector that arrived last is passed on."""
    total = x.copy()
    passing = x
    for _ in range(rank.world_size - 1):
        passing = rank.sendrecv(rank.right, passing, src=rank.left)
        total += passing
    return total
