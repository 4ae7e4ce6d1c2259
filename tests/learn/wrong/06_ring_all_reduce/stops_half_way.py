"""Wrong on purpose: the second phase is missing."""

from allranks import Op, Transfer


def ring_all_reduce(world_size):
    for step in range(world_size - 1):
        yield [
            Transfer(rank, (rank + 1) % world_size, (rank - 1 - step) % world_size, Op.REDUCE)
            for rank in range(world_size)
        ]
