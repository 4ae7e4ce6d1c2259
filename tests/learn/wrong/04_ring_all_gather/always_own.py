"""Wrong on purpose: every rank sends its own chunk in every step."""

from allranks import Op, Transfer


def ring_all_gather(world_size):
    for _ in range(world_size - 1):
        yield [Transfer(rank, (rank + 1) % world_size, rank, Op.COPY) for rank in range(world_size)]
