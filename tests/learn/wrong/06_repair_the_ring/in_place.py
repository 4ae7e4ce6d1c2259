def all_reduce(rank, x):
    passing = x.copy()
    for _ in range(rank.world_size - 1):
        passing = rank.sendrecv(rank.right, passing, src=rank.left)
        x += passing
    return x
