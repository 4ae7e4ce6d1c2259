"""Wrong on purpose: n steps instead of n - 1."""

from allranks import Op, Transfer


def ring_reduce_scatter(world_size):
    if world_size == 1:
        return
    for step in range(world_size):
        yield [
            Transfer(rank, (rank + 1) % world_size, (rank - 1 - step) % world_size, Op.REDUCE)
            for rank in range(world_size)
        ]
