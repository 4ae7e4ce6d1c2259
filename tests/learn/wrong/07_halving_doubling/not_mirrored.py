"""Wrong on purpose: the way back meets the partners in the order of the way in."""

from allranks import Op, Transfer


def halving_doubling_all_reduce(world_size):
    distances = [1 << bit for bit in reversed(range(world_size.bit_length() - 1))]
    for distance in distances:
        yield [
            Transfer(rank, rank ^ distance, chunk, Op.REDUCE)
            for rank in range(world_size)
            for chunk in _group(rank ^ distance, distance)
        ]
    for distance in distances:
        yield [
            Transfer(rank, rank ^ distance, chunk, Op.COPY)
            for rank in range(world_size)
            for chunk in _group(rank, distance)
        ]


def _group(rank, width):
    first = rank - rank % width
    return range(first, first + width)
