def all_reduce(rank, x):
    if rank.world_size == 1:
        return x
    total = x.copy()
    passing = x
    for _ in range(rank.world_size):
        passing = rank.sendrecv(rank.right, passing, src=rank.left)
        total += passing
    return total
