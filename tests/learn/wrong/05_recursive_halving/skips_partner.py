"""Wrong on purpose: a rank without a partner leaves the step out."""

from allranks import Op, Transfer


def recursive_halving(world_size):
    distance = 1
    while 2 * distance < world_size:
        distance *= 2
    while distance and world_size > 1:
        yield [
            Transfer(rank, partner, chunk, Op.REDUCE)
            for rank in range(world_size)
            if (partner := rank ^ distance) < world_size
            for chunk in range(partner // distance * distance, (partner // distance + 1) * distance)
            if chunk < world_size
        ]
        distance //= 2
