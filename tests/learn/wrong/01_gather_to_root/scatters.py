"""Wrong on purpose: the root deals blocks out, which is a scatter."""

from allranks import Op, Transfer


def gather(world_size, root):
    for rank in range(world_size):
        if rank != root:
            yield [Transfer(root, rank, rank, Op.COPY)]
