"""Wrong on purpose: the halves are copied on the way in, so what was there is lost."""

from allranks import Op, Transfer


def halving_doubling_all_reduce(world_size):
    yield from _phase(world_size, up=False)
    yield from _phase(world_size, up=True)


def _phase(n, *, up):
    distances = [1 << bit for bit in range(n.bit_length() - 1)]
    for distance in distances if up else reversed(distances):
        yield [
            Transfer(rank, rank ^ distance, chunk, Op.COPY)
            for rank in range(n)
            for chunk in _group(rank if up else rank ^ distance, distance)
        ]


def _group(rank, width):
    first = rank - rank % width
    return range(first, first + width)
