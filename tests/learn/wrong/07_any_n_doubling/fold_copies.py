"""Wrong on purpose: the fold copies, so the vector of the rank that takes it in is lost."""

from allranks import Op, Transfer


def any_n_doubling_all_reduce(world_size):
    p = 1 << (world_size.bit_length() - 1)
    if world_size > p:
        yield [Transfer(rank, rank - p, 0, Op.COPY) for rank in range(p, world_size)]
    distance = 1
    while distance < p:
        yield [Transfer(rank, rank ^ distance, 0, Op.REDUCE) for rank in range(p)]
        distance *= 2
    if world_size > p:
        yield [Transfer(rank - p, rank, 0, Op.COPY) for rank in range(p, world_size)]
