"""Wrong on purpose: the second step sends a sum that already contains rank 0's part."""

from allranks import Op, Transfer


def two_rank_exchange(world_size=2):
    yield [Transfer(0, 1, 0, Op.REDUCE)]
    yield [Transfer(1, 0, 0, Op.REDUCE)]
