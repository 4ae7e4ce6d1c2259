"""Wrong on purpose: right values at twice the price, by bringing every block to everybody."""

from allranks import Op, Transfer


def ring_reduce_scatter(world_size):
    for op, ahead in ((Op.REDUCE, -1), (Op.COPY, 0)):
        for step in range(world_size - 1):
            yield [
                Transfer(rank, (rank + 1) % world_size, (rank + ahead - step) % world_size, op)
                for rank in range(world_size)
            ]
