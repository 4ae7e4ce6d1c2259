"""Wrong on purpose: chunks that lie ahead are sent, before they arrive."""

from allranks import Op, Transfer


def ring_all_gather(world_size):
    for step in range(world_size - 1):
        yield [
            Transfer(rank, (rank + 1) % world_size, (rank + step) % world_size, Op.COPY)
            for rank in range(world_size)
        ]
