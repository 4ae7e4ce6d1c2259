"""Wrong on purpose: a piece comes down in the step in which it goes up."""

from allranks import Op, Transfer


def switch_all_reduce(world_size, num_pieces):
    switch = world_size
    for piece in range(num_pieces if world_size > 1 else 0):
        up = [Transfer(rank, switch, piece, Op.REDUCE) for rank in range(world_size)]
        down = [Transfer(switch, rank, piece, Op.COPY) for rank in range(world_size)]
        yield up + down
