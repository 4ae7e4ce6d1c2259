"""Wrong on purpose: the first phase leaves chunk r + 1 complete on rank r, the second sends r."""

from allranks import Op, Transfer


def ring_all_reduce(world_size):
    for op in (Op.REDUCE, Op.COPY):
        for step in range(world_size - 1):
            yield [
                Transfer(rank, (rank + 1) % world_size, (rank - step) % world_size, op)
                for rank in range(world_size)
            ]
