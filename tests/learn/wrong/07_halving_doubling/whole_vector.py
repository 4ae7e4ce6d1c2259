"""Wrong on purpose: swaps the whole vector in every step, which is recursive doubling."""

from allranks import Op, Transfer


def halving_doubling_all_reduce(world_size):
    distance = 1
    while distance < world_size:
        yield [
            Transfer(rank, rank ^ distance, chunk, Op.REDUCE)
            for rank in range(world_size)
            for chunk in range(world_size)
        ]
        distance *= 2
