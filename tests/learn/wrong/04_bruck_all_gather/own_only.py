"""Sends only the own chunk to the left, at every distance."""

from allranks import Op, Transfer


def bruck_all_gather(world_size):
    distance = 1
    while distance < world_size:
        yield [
            Transfer(rank, (rank - distance) % world_size, rank, Op.COPY)
            for rank in range(world_size)
        ]
        distance *= 2
