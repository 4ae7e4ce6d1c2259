"""Wrong on purpose: the receiver keeps what comes instead of adding it."""

from allranks import Op, Transfer


def ring_reduce_scatter(world_size):
    for step in range(world_size - 1):
        yield [
            Transfer(rank, (rank + 1) % world_size, (rank - 1 - step) % world_size, Op.COPY)
            for rank in range(world_size)
        ]
