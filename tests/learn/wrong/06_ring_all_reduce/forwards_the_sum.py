"""Wrong on purpose: every rank sends its whole sum on, and parts count again and again."""

from allranks import Op, Transfer


def ring_all_reduce(world_size):
    for _ in range(world_size - 1):
        yield [
            Transfer(rank, (rank + 1) % world_size, chunk, Op.REDUCE)
            for rank in range(world_size)
            for chunk in range(world_size)
        ]
