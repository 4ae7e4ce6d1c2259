import numpy as np


def reduce_scatter(rank, x, counts):
    n = rank.world_size
    bounds = np.cumsum([0, *counts])
    parts = [x[bounds[c] : bounds[c + 1]] for c in range(n)]
    partial = parts[rank.id].copy()
    for step in range(n - 1):
        arrived = rank.sendrecv(rank.right, partial, src=rank.left)
        partial = arrived + parts[(rank.id - 1 - step) % n]
    return partial
