"""Wrong on purpose: nobody asks whether the partner exists."""

from allranks import Op, Transfer


def recursive_doubling_all_gather(world_size):
    d = 1
    while d < world_size:
        yield [
            Transfer(rank, rank ^ d, rank - rank % d + block, Op.COPY)
            for rank in range(world_size)
            for block in range(d)
        ]
        d *= 2
