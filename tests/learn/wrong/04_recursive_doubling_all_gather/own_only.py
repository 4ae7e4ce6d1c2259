"""Wrong on purpose: only the own chunk is swapped."""

from allranks import Op, Transfer


def recursive_doubling_all_gather(world_size):
    if world_size & (world_size - 1):
        raise ValueError(f"{world_size} ranks are no power of two")
    d = 1
    while d < world_size:
        yield [Transfer(rank, rank ^ d, rank, Op.COPY) for rank in range(world_size)]
        d *= 2
