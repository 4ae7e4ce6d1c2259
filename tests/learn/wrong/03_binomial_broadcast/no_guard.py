"""Wrong on purpose: nobody asks whether rank v + d exists."""

from allranks import Op, Transfer


def binomial_broadcast(world_size, root):
    d = 1
    while d < world_size:
        yield [Transfer(root + v, root + v + d, 0, Op.COPY) for v in range(d)]
        d *= 2
