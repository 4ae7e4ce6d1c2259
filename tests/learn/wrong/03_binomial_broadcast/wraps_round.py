"""Wrong on purpose: a modulo hides that v + d has passed n."""

from allranks import Op, Transfer


def binomial_broadcast(world_size, root):
    d = 1
    while d < world_size:
        yield [
            Transfer((root + v) % world_size, (root + v + d) % world_size, 0, Op.COPY)
            for v in range(d)
        ]
        d *= 2
