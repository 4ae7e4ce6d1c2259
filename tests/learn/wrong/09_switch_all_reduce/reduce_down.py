"""Wrong on purpose: the ranks add the sum to what they hold."""

from allranks import Op, Transfer


def switch_all_reduce(world_size, num_pieces):
    switch = world_size
    for step in range(num_pieces + 1 if world_size > 1 else 0):
        up = [
            Transfer(rank, switch, step, Op.REDUCE)
            for rank in range(world_size)
            if step < num_pieces
        ]
        down = [Transfer(switch, rank, step - 1, Op.REDUCE) for rank in range(world_size) if step]
        yield up + down
