import numpy as np


def reduce_scatter(rank, x, counts):
    n = rank.world_size
    bounds = np.cumsum([0, *counts])
    parts = [x[bounds[c] : bounds[c + 1]] for c in range(n)]
    total = parts[rank.id].copy()
    for step in range(1, n):
        dst, src = (rank.id + step) % n, (rank.id - step) % n
        arrived = np.empty_like(total)
        rank.sendrecv(dst, parts[dst], src=src, out=arrived)
        total = total + arrived
    return total
