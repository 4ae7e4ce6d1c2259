"""Wrong on purpose: the ranks send up with COPY, and nothing is added."""

from allranks import Op, Transfer


def switch_all_reduce(world_size, num_pieces):
    switch = world_size
    for step in range(num_pieces + 1 if world_size > 1 else 0):
        up = [
            Transfer(rank, switch, step, Op.COPY) for rank in range(world_size) if step < num_pieces
        ]
        down = [Transfer(switch, rank, step - 1, Op.COPY) for rank in range(world_size) if step]
        yield up + down
