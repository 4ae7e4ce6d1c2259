def reduce_scatter(rank, x, counts):
    n = rank.world_size
    k = len(x) // n
    parts = [x[c * k : (c + 1) * k] for c in range(n)]
    partial = parts[rank.left].copy()
    for step in range(n - 1):
        arrived = rank.sendrecv(rank.right, partial, src=rank.left)
        partial = arrived + parts[(rank.id - 2 - step) % n]
    return partial
