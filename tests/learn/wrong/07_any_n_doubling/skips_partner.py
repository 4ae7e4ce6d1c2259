"""Wrong on purpose: a rank without a partner leaves the step out."""

from allranks import Op, Transfer


def any_n_doubling_all_reduce(world_size):
    distance = 1
    while distance < world_size:
        yield [
            Transfer(rank, rank ^ distance, 0, Op.REDUCE)
            for rank in range(world_size)
            if rank ^ distance < world_size
        ]
        distance *= 2
