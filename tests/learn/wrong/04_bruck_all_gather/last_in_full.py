"""Wrong on purpose: the last message is as long as the doubling would have it."""

from allranks import Op, Transfer


def bruck_all_gather(world_size):
    d = 1
    while d < world_size:
        yield [
            Transfer(rank, (rank - d) % world_size, (rank + block) % world_size, Op.COPY)
            for rank in range(world_size)
            for block in range(d)
        ]
        d *= 2
