"""Wrong on purpose: each hop carries all segments in one step, as if nothing were cut."""

from allranks import Op, Transfer


def chain_broadcast(world_size, root, num_segments):
    for hop in range(world_size - 1):
        src = (root + hop) % world_size
        yield [Transfer(src, (src + 1) % world_size, c, Op.COPY) for c in range(num_segments)]
