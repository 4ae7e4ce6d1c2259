"""Wrong on purpose: a segment is passed on in the step in which it arrives."""

from allranks import Op, Transfer


def chain_broadcast(world_size, root, num_segments):
    for chunk in range(num_segments):
        yield [
            Transfer((root + v) % world_size, (root + v + 1) % world_size, chunk, Op.COPY)
            for v in range(world_size - 1)
        ]
