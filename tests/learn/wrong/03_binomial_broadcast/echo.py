"""Wrong on purpose: recursive doubling, where both ranks of a pair send."""

from allranks import Op, Transfer


def binomial_broadcast(world_size, root):
    d = 1
    while d < world_size:
        step = []
        for v in range(d):
            if v + d < world_size:
                a, b = (root + v) % world_size, (root + v + d) % world_size
                step += [Transfer(a, b, 0, Op.COPY), Transfer(b, a, 0, Op.COPY)]
        yield step
        d *= 2
