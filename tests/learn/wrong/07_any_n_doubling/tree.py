"""Wrong on purpose: reduces to rank 0 and broadcasts, which takes twice the steps."""

from allranks import Op, Transfer


def any_n_doubling_all_reduce(world_size):
    n = world_size
    distances = [1 << bit for bit in range((n - 1).bit_length())]
    for distance in reversed(distances):
        yield [Transfer(v + distance, v, 0, Op.REDUCE) for v in range(distance) if v + distance < n]
    for distance in distances:
        yield [Transfer(v, v + distance, 0, Op.COPY) for v in range(distance) if v + distance < n]
