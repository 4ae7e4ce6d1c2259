"""Wrong on purpose: nothing comes down before everything is up."""

from allranks import Op, Transfer


def switch_all_reduce(world_size, num_pieces):
    switch = world_size
    if world_size == 1:
        return
    for piece in range(num_pieces):
        yield [Transfer(rank, switch, piece, Op.REDUCE) for rank in range(world_size)]
    for piece in range(num_pieces):
        yield [Transfer(switch, rank, piece, Op.COPY) for rank in range(world_size)]
