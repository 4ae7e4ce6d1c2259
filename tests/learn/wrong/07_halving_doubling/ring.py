"""Wrong on purpose: a ring, which has the bytes but not the steps."""

from allranks import Op, Transfer


def halving_doubling_all_reduce(world_size):
    n = world_size
    for step in range(n - 1):
        yield [Transfer(r, (r + 1) % n, (r - 1 - step) % n, Op.REDUCE) for r in range(n)]
    for step in range(n - 1):
        yield [Transfer(r, (r + 1) % n, (r - step) % n, Op.COPY) for r in range(n)]
