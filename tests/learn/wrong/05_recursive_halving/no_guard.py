"""Wrong on purpose: nobody asks whether the partner exists."""

from allranks import Op, Transfer


def recursive_halving(world_size):
    distance = 1
    while 2 * distance < world_size:
        distance *= 2
    while distance and world_size > 1:
        yield [
            Transfer(rank, rank ^ distance, (rank ^ distance) // distance * distance + i, Op.REDUCE)
            for rank in range(world_size)
            for i in range(distance)
        ]
        distance //= 2
