"""Wrong on purpose: the run of chunks is sent to the right."""

from allranks import Op, Transfer


def bruck_all_gather(world_size):
    d = 1
    while d < world_size:
        yield [
            Transfer(rank, (rank + d) % world_size, (rank + block) % world_size, Op.COPY)
            for rank in range(world_size)
            for block in range(min(d, world_size - d))
        ]
        d *= 2
