"""Wrong on purpose: the tree always starts at rank 0."""

from allranks import Op, Transfer


def binomial_broadcast(world_size, root):
    d = 1
    while d < world_size:
        yield [Transfer(v, v + d, 0, Op.COPY) for v in range(d) if v + d < world_size]
        d *= 2
