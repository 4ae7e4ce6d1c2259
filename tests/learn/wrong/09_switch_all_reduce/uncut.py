"""Wrong on purpose: all pieces go up in one step and come down in the next."""

from allranks import Op, Transfer


def switch_all_reduce(world_size, num_pieces):
    if world_size == 1:
        return
    ends = [(rank, piece) for rank in range(world_size) for piece in range(num_pieces)]
    yield [Transfer(rank, world_size, piece, Op.REDUCE) for rank, piece in ends]
    yield [Transfer(world_size, rank, piece, Op.COPY) for rank, piece in ends]
