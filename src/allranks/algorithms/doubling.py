"""Doubling and halving: in every step each rank exchanges with the one that differs in one bit.

So after log2 n steps everybody has heard, directly or through others, from everybody.

Partners exist for powers of two. For other n, MPICH and Open MPI **fold**: with p the highest power
of two below n, the ranks 0 .. 2(n - p) - 1 form pairs. First each even rank hands all its data to
the odd rank on its right; then the p ranks that are left, at **places** 0 .. p - 1, do the work; at
the end the even ranks get their result back from the right (unfold). Two steps more.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.schedule import Op, Step, Transfer


def recursive_doubling_all_gather(world_size: int) -> Iterator[Step]:
    """Swap all that one has with ever farther partners: log2 n steps of S/n, 2S/n, 4S/n, ...

    Before the step of distance d, rank r holds the d blocks of its group, the ranks that differ
    from r only in bits below d. It sends them all to rank r XOR d. Every rank sends (n - 1)/n S.
    Needs a power of two. Source: pmodels/mpich
    src/mpi/coll/allgather/allgather_intra_recursive_doubling.c.
    """
    for distance in distances(world_size):
        yield [
            Transfer(src=rank, dst=rank ^ distance, chunk=block, op=Op.COPY)
            for rank in range(world_size)
            for block in _group(rank, distance)
        ]


def recursive_halving_reduce_scatter(world_size: int) -> Iterator[Step]:
    """Keep half of what one still works on, send the other half: log2 n steps of S/2, S/4, ...

    Before the step of distance d the 2d places of a group share the work on their 2d blocks, and
    between them they hold everybody's parts of these. A place sends the d blocks of the other half
    to the partner in there, and adds what it gets to its own half: far partners first, so that
    place i ends with block i. Every rank sends (n - 1)/n S.

    Other n are folded: the even rank of a pair sends S, the odd one works on both blocks of the
    pair, and sends the even rank its block last. floor(log2 n) + 2 steps. Source: pmodels/mpich
    src/mpi/coll/reduce_scatter/reduce_scatter_intra_recursive_halving.c.
    """
    ranks = places(world_size)
    yield from _fold(world_size, range(world_size))
    for distance in reversed(distances(len(ranks))):
        yield [
            Transfer(src=rank, dst=ranks[place ^ distance], chunk=block, op=Op.REDUCE)
            for place, rank in enumerate(ranks)
            for block in _blocks(_group(place ^ distance, distance), world_size)
        ]
    if folded := _pairs(world_size):
        yield [Transfer(src=odd, dst=even, chunk=even, op=Op.COPY) for even, odd in folded]


def recursive_doubling_all_reduce(world_size: int) -> Iterator[Step]:
    """Swap and add whole vectors with ever farther partners: log2 n steps of S.

    After the step of distance d, place i holds the sum over the 2d places that differ from i only
    in bits up to d. Both partners add the same two numbers, so all ranks get the same bits. Other
    n are folded: two steps of S more. Source: pmodels/mpich
    src/mpi/coll/allreduce/allreduce_intra_recursive_doubling.c.
    """
    ranks = places(world_size)
    yield from _fold(world_size, [0])
    for distance in distances(len(ranks)):
        yield [
            Transfer(src=rank, dst=ranks[place ^ distance], chunk=0, op=Op.REDUCE)
            for place, rank in enumerate(ranks)
        ]
    yield from _unfold(world_size, [0])


def rabenseifner_all_reduce(world_size: int) -> Iterator[Step]:
    """Halve the vector while doubling the distance, then the same backwards: 2 log2 n steps.

    In the step of distance d = 1, 2, 4, ... partners share out what both work on: the place without
    the bit d keeps the first half, and the other half comes back, added, in the mirrored step. So
    the big messages go to near partners, and place i is left with the chunk of its bits reversed.
    2(n - 1)/n S per rank, as little as a ring, in far fewer steps.

    Other n are folded with whole vectors: (2 floor(log2 n) + 2) alpha + (2(p - 1)/p + 2) S beta.
    The vector is cut into p chunks. Source: pmodels/mpich
    src/mpi/coll/allreduce/allreduce_intra_reduce_scatter_allgather.c, after Rolf Rabenseifner.
    Open MPI halves the vector in the fold too (coll_base_allreduce.c), which saves bytes there.
    """
    ranks = places(world_size)
    yield from _fold(world_size, range(len(ranks)))
    for distance in distances(len(ranks)):
        yield [
            Transfer(src=rank, dst=ranks[place ^ distance], chunk=chunk, op=Op.REDUCE)
            for place, rank in enumerate(ranks)
            for chunk in _kept(place ^ distance, distance, len(ranks))
        ]
    for distance in reversed(distances(len(ranks))):
        yield [
            Transfer(src=rank, dst=ranks[place ^ distance], chunk=chunk, op=Op.COPY)
            for place, rank in enumerate(ranks)
            for chunk in _kept(place, distance, len(ranks))
        ]
    yield from _unfold(world_size, range(len(ranks)))


def needs_a_power_of_two(world_size: int) -> str:
    """Return why doubling alone cannot gather on n ranks; "" for powers of two.

    >>> needs_a_power_of_two(8)
    ''
    """
    if world_size == power_of_two(world_size):
        return ""
    return (
        f"world_size is {world_size}; recursive_doubling all_gather needs a power of two, because "
        "some ranks would have no partner; use bruck, which takes ceil(log2 n) steps for any n"
    )


def power_of_two(world_size: int) -> int:
    """Return p, the highest power of two that is not above n.

    >>> power_of_two(8), power_of_two(7)
    (8, 4)
    """
    return 1 << (world_size.bit_length() - 1)


def distances(num_places: int) -> list[int]:
    """Return 1, 2, 4, ... below p.

    >>> distances(8)
    [1, 2, 4]
    """
    return [1 << bit for bit in range(num_places.bit_length() - 1)]


def places(world_size: int) -> list[int]:
    """Return the ranks that are left after the fold, in order of their places.

    >>> places(6)
    [1, 3, 4, 5]
    """
    extra = world_size - power_of_two(world_size)
    return [*range(1, 2 * extra, 2), *range(2 * extra, world_size)]


def _pairs(world_size: int) -> list[tuple[int, int]]:
    """Return the pairs (even, odd) that are folded into one place; none for powers of two.

    >>> _pairs(6)
    [(0, 1), (2, 3)]
    """
    extra = world_size - power_of_two(world_size)
    return [(even, even + 1) for even in range(0, 2 * extra, 2)]


def _fold(world_size: int, chunks: range | list[int]) -> Iterator[Step]:
    """Let the even rank of every pair hand its chunks to the odd one, which adds them."""
    if folded := _pairs(world_size):
        yield [Transfer(even, odd, chunk, Op.REDUCE) for even, odd in folded for chunk in chunks]


def _unfold(world_size: int, chunks: range | list[int]) -> Iterator[Step]:
    """Let the odd rank of every pair hand the finished chunks back."""
    if folded := _pairs(world_size):
        yield [Transfer(odd, even, chunk, Op.COPY) for even, odd in folded for chunk in chunks]


def _group(place: int, width: int) -> range:
    """Return the places of the group of a width, a power of two, that a place is in.

    >>> _group(5, 2)
    range(4, 6)
    """
    first = place - place % width
    return range(first, first + width)


def _blocks(group: range, world_size: int) -> range:
    """Return the blocks of the ranks behind a group of places, folded ranks included.

    >>> _blocks(range(2), world_size=6), _blocks(range(2, 4), world_size=6)
    (range(0, 4), range(4, 6))
    """
    extra = world_size - power_of_two(world_size)
    return range(group.start + min(group.start, extra), group.stop + min(group.stop, extra))


def _kept(place: int, distance: int, num_places: int) -> range:
    """Return the chunks that a place keeps in the halving step of a distance.

    >>> [_kept(3, distance, 8) for distance in (1, 2, 4)]
    [range(4, 8), range(6, 8), range(6, 7)]
    """
    first, width = 0, num_places
    for nearer in distances(2 * distance):
        width //= 2
        first += width if place & nearer else 0
    return range(first, first + width)
