"""Wrong on purpose: the window of a hop closes one segment early."""

from allranks import Op, Transfer


def chain_broadcast(world_size, root, num_segments):
    for step in range(world_size - 2 + num_segments if world_size > 1 else 0):
        yield [
            Transfer((root + v) % world_size, (root + v + 1) % world_size, step - v, Op.COPY)
            for v in range(world_size - 1)
            if 0 <= step - v < num_segments and step < world_size - 3 + num_segments
        ]
