"""Wrong on purpose: everything goes to rank 0, whatever the root is."""

from allranks import Op, Transfer


def gather(world_size, root):
    for rank in range(1, world_size):
        yield [Transfer(rank, 0, rank, Op.COPY)]
