"""Wrong on purpose: the ranks that were folded away never get the sum."""

from allranks import Op, Transfer


def any_n_doubling_all_reduce(world_size):
    p = 1 << (world_size.bit_length() - 1)
    if world_size > p:
        yield [Transfer(rank, rank - p, 0, Op.REDUCE) for rank in range(p, world_size)]
    distance = 1
    while distance < p:
        yield [Transfer(rank, rank ^ distance, 0, Op.REDUCE) for rank in range(p)]
        distance *= 2
