"""Wrong on purpose: the ranks take turns, and the switch does not wait for the last of them."""

from allranks import Op, Transfer


def switch_all_reduce(world_size, num_pieces):
    switch = world_size
    for step in range(num_pieces + world_size if world_size > 1 else 0):
        up = [
            Transfer(rank, switch, step - rank, Op.REDUCE)
            for rank in range(world_size)
            if 0 <= step - rank < num_pieces
        ]
        down = [
            Transfer(switch, rank, step - 1, Op.COPY)
            for rank in range(world_size)
            if 0 <= step - 1 < num_pieces
        ]
        yield up + down
