import numpy as np


def reduce_scatter(rank, x, counts):
    n = rank.world_size
    bounds = np.cumsum([0, *counts])
    parts = [x[bounds[c] : bounds[c + 1]].copy() for c in range(n)]
    for step in range(n - 1):
        with rank.step():
            if counts[rank.id]:
                rank.send(rank.right, parts[(rank.id - 1 - step) % n])
            rank.recv(rank.left, out=parts[(rank.id - 2 - step) % n], reduce=True)
    return parts[rank.id]
