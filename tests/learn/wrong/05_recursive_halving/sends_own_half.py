"""Wrong on purpose: a rank sends the half with its own block, and keeps the other."""

from allranks import Op, Transfer


def recursive_halving(world_size):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    distance = world_size // 2
    while distance:
        # rank r keeps what leads to the block at the other end of the world, n - 1 - r
        kept = [(world_size - 1 - rank) // distance * distance for rank in range(world_size)]
        yield [
            Transfer(rank, rank ^ distance, kept[rank ^ distance] + i, Op.REDUCE)
            for rank in range(world_size)
            for i in range(distance)
        ]
        distance //= 2
