"""Wrong on purpose: sends d places on, round the ring, so some parts come twice."""

from allranks import Op, Transfer


def any_n_doubling_all_reduce(world_size):
    distance = 1
    while distance < world_size:
        yield [
            Transfer(rank, (rank + distance) % world_size, 0, Op.REDUCE)
            for rank in range(world_size)
        ]
        distance *= 2
