"""Wrong on purpose: the sum comes down to rank 0 only, and goes on from rank to rank."""

from allranks import Op, Transfer


def switch_all_reduce(world_size, num_pieces):
    switch = world_size
    if world_size == 1:
        return
    for step in range(num_pieces + world_size):
        up = [
            Transfer(rank, switch, step, Op.REDUCE)
            for rank in range(world_size)
            if step < num_pieces
        ]
        hops = [(switch, 0), *((rank, rank + 1) for rank in range(world_size - 1))]
        down = [
            Transfer(src, dst, step - 1 - hop, Op.COPY)
            for hop, (src, dst) in enumerate(hops)
            if 0 <= step - 1 - hop < num_pieces
        ]
        yield up + down
