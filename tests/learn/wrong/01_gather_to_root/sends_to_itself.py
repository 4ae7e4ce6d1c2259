"""Wrong on purpose: the root sends its own block to itself."""

from allranks import Op, Transfer


def gather(world_size, root):
    for rank in range(world_size):
        yield [Transfer(rank, root, rank, Op.COPY)]
