"""Wrong on purpose: near partners first, and each keeps a run of neighboring chunks."""

from allranks import Op, Transfer


def recursive_halving(world_size):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    first = [0] * world_size
    width, distance = world_size, 1
    while distance < world_size:
        width //= 2
        kept = [first[rank] + (width if rank & distance else 0) for rank in range(world_size)]
        yield [
            Transfer(rank, rank ^ distance, kept[rank ^ distance] + i, Op.REDUCE)
            for rank in range(world_size)
            for i in range(width)
        ]
        first = kept
        distance *= 2
