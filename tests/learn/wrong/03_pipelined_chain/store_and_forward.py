"""Wrong on purpose: each rank waits for all segments before it passes the first one on."""

from allranks import Op, Transfer


def chain_broadcast(world_size, root, num_segments):
    for hop in range(world_size - 1):
        for chunk in range(num_segments):
            src = (root + hop) % world_size
            yield [Transfer(src, (src + 1) % world_size, chunk, Op.COPY)]
