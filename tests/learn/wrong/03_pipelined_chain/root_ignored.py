"""Wrong on purpose: the chain always starts at rank 0."""

from allranks import Op, Transfer


def chain_broadcast(world_size, root, num_segments):
    for step in range(world_size - 2 + num_segments if world_size > 1 else 0):
        yield [
            Transfer(v, v + 1, step - v, Op.COPY)
            for v in range(world_size - 1)
            if 0 <= step - v < num_segments
        ]
