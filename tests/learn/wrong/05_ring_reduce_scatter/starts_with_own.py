"""Wrong on purpose: every rank begins with its own chunk, as many textbooks do."""

from allranks import Op, Transfer


def ring_reduce_scatter(world_size):
    for step in range(world_size - 1):
        yield [
            Transfer(rank, (rank + 1) % world_size, (rank - step) % world_size, Op.REDUCE)
            for rank in range(world_size)
        ]
