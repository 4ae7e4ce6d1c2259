"""Wrong on purpose: n steps instead of n - 1."""

from allranks import Op, Transfer


def ring_all_gather(world_size):
    for step in range(world_size):
        yield [
            Transfer(rank, (rank + 1) % world_size, (rank - step) % world_size, Op.COPY)
            for rank in range(world_size)
        ]
