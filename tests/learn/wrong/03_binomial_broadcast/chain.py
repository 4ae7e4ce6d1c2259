"""Wrong on purpose: a chain, one rank after another."""

from allranks import Op, Transfer


def binomial_broadcast(world_size, root):
    for hop in range(world_size - 1):
        yield [Transfer((root + hop) % world_size, (root + hop + 1) % world_size, 0, Op.COPY)]
