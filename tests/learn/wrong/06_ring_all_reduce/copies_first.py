"""Wrong on purpose: the first phase copies, so that parts are lost."""

from allranks import Op, Transfer


def ring_all_reduce(world_size):
    for step in range(2 * (world_size - 1)):
        yield [
            Transfer(rank, (rank + 1) % world_size, (rank - 1 - step) % world_size, Op.COPY)
            for rank in range(world_size)
        ]
