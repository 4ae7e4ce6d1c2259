"""Wrong on purpose: the second phase takes n steps, so that every chunk comes home again."""

from allranks import Op, Transfer


def ring_all_reduce(world_size):
    for step in range(world_size - 1):
        yield [
            Transfer(rank, (rank + 1) % world_size, (rank - 1 - step) % world_size, Op.REDUCE)
            for rank in range(world_size)
        ]
    for step in range(world_size if world_size > 1 else 0):
        yield [
            Transfer(rank, (rank + 1) % world_size, (rank - step) % world_size, Op.COPY)
            for rank in range(world_size)
        ]
