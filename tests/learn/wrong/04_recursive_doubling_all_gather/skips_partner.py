"""Wrong on purpose: a rank without a partner leaves the step out."""

from allranks import Op, Transfer


def recursive_doubling_all_gather(world_size):
    held = [{rank} for rank in range(world_size)]
    d = 1
    while d < world_size:
        pairs = [(rank, rank ^ d) for rank in range(world_size) if rank ^ d < world_size]
        yield [Transfer(a, b, chunk, Op.COPY) for a, b in pairs for chunk in sorted(held[a])]
        before = [set(each) for each in held]
        for a, b in pairs:
            held[b] |= before[a]
        d *= 2
