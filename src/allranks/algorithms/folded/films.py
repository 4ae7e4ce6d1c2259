"""What one chunk does in each algorithm, made quickly for any n.

Chunk 0 unless something else is said; with a root, ranks are counted from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from allranks.algorithms.double_tree import chunk_distance, edge_columns, num_steps_down
from allranks.algorithms.folded.rows import (
    COPY,
    NOTHING,
    REDUCE,
    Rows,
    both,
    num_steps,
    rows_of,
    then,
)
from allranks.algorithms.pat import all_gather_hops, reduce_scatter_hops
from allranks.algorithms.sharp import switch_levels


def ring_reduce_scatter(n: int) -> Rows:
    """Chunk 0 leaves rank 1 and goes to the right until it is at rank 0."""
    step = np.arange(n - 1)
    return rows_of(step, step + 1, (step + 2) % n, REDUCE)


def ring_all_gather(n: int) -> Rows:
    """Chunk 0 leaves rank 0 and goes to the right until it has been everywhere."""
    step = np.arange(n - 1)
    return rows_of(step, step, step + 1, COPY)


def bidirectional_ring_all_gather(n: int) -> Rows:
    """Chunk 0 leaves rank 0 on both sides; n // 2 places to the right, (n - 1) // 2 to the left."""
    right, left = np.arange(n // 2), np.arange((n - 1) // 2)
    return both(
        rows_of(right, right, right + 1, COPY), rows_of(left, -left % n, -left - 1 + n, COPY)
    )


def bidirectional_ring_reduce_scatter(n: int) -> Rows:
    """Chunk 0 comes in to rank 0 from as far on both sides, the parts of the farthest first."""
    ahead_right, ahead_left = np.arange(n // 2), np.arange((n - 1) // 2)
    last = n // 2 - 1
    return both(
        rows_of(last - ahead_right, n - 1 - ahead_right, -ahead_right % n, REDUCE),
        rows_of(last - ahead_left, ahead_left + 1, ahead_left, REDUCE),
    )


def direct_reduce_scatter(n: int) -> Rows:
    """Everybody sends chunk 0 to rank 0 at once."""
    return rows_of(0, np.arange(1, n), 0, REDUCE)


def direct_all_gather(n: int) -> Rows:
    """Rank 0 sends chunk 0 to all others at once."""
    return rows_of(0, 0, np.arange(1, n), COPY)


def bruck_all_gather(n: int) -> Rows:
    """The ranks 0, n - 1, ..., n + 1 - d have chunk 0 before the step of distance d."""
    return both(
        *(
            rows_of(step, -held % n, (-held - (1 << step)) % n, COPY)
            for step in range((n - 1).bit_length())
            for held in [np.arange(min(1 << step, n - (1 << step)))]
        )
    )


def pat_all_gather(n: int) -> Rows:
    """Chunk 0 reaches the rank `far` places to the left of rank 0 in the hop that lists `far`."""
    return both(
        *(
            rows_of(step, ((1 << hop.dim) - far) % n, -far % n, COPY)
            for step, hop in enumerate(all_gather_hops(n))
            for far in [np.array(hop.places)]
        )
    )


def pat_reduce_scatter(n: int) -> Rows:
    """The rank `far` places to the left of rank 0 sends chunk 0 in the hop that lists `far`."""
    return both(
        *(
            rows_of(step, -far % n, ((1 << hop.dim) - far) % n, REDUCE)
            for step, hop in enumerate(reduce_scatter_hops(n))
            for far in [np.array(hop.places)]
        )
    )


def binomial_broadcast(n: int) -> Rows:
    """Ranks below d, counted from the root, know before the step of distance d."""
    return both(
        *(
            rows_of(step, told, told + (1 << step), COPY)
            for step in range((n - 1).bit_length())
            for told in [np.arange(min(1 << step, n - (1 << step)))]
        )
    )


def binomial_reduce(n: int) -> Rows:
    """Play the binomial broadcast backwards, adding."""
    down = binomial_broadcast(n)
    return rows_of(num_steps(down) - 1 - down.step, down.dst, down.src, REDUCE)


def flat_broadcast(n: int) -> Rows:
    """The root tells one rank a step."""
    others = np.arange(1, n)
    return rows_of(others - 1, 0, others, COPY)


def flat_reduce(n: int) -> Rows:
    """The root takes in one rank a step: a star has no more than one message at a time."""
    others = np.arange(1, n)
    return rows_of(others - 1, others, 0, REDUCE)


def recursive_doubling(n: int) -> Rows:
    """Everybody swaps; the ranks beyond a power of two hand their part over, and get the sum."""
    power = 1 << (n.bit_length() - 1)
    even = np.arange(0, 2 * (n - power), 2)
    ranks = np.concatenate([even + 1, np.arange(2 * (n - power), n)])
    place = np.arange(power)
    swaps = [
        rows_of(step, ranks, ranks[place ^ (1 << step)], REDUCE)
        for step in range(power.bit_length() - 1)
    ]
    return then(rows_of(0, even, even + 1, REDUCE), both(*swaps), rows_of(0, even + 1, even, COPY))


def double_tree(n: int, num_chunks: int) -> Rows:
    """The first chunk of each tree: up when the others are on their way, then down."""
    per_tree = num_chunks // 2
    total = num_steps_down(n, num_chunks)
    tree, parent, child, start = edge_columns(n)
    up = total - 1 - start - chunk_distance(n) * (per_tree - 1)
    chunk = tree * per_tree
    return both(
        rows_of(up, child, parent, REDUCE, chunk),
        rows_of(total + start, parent, child, COPY, chunk),
    )


def sharp(n: int, radix: int | None) -> Rows:
    """Chunk 0 climbs a level of switches a step, and comes down again a level a step."""
    levels = switch_levels(n, radix)
    height = len(levels) - 1
    parts = []
    for level, (below, above) in enumerate(pairwise(levels)):
        low = np.arange(len(below))
        high = above.start + (low // radix if radix else 0)
        parts += [
            rows_of(level, below.start + low, high, REDUCE),
            rows_of(2 * height - 1 - level, high, below.start + low, COPY),
        ]
    return both(*parts)


def nvls(n: int, stages: Sequence[str]) -> Rows:
    """Chunk 0, of which rank 0 is the head, goes through the stages, one a step."""
    ranks = np.arange(n)
    done = {
        "add up": rows_of(0, ranks, n, REDUCE),
        "give the head": rows_of(0, n, 0, COPY),
        "store": rows_of(0, 0, n, COPY),
        "copy to all": rows_of(0, n, ranks, COPY),
    }
    return then(*(done[stage] for stage in stages)) if n > 1 else NOTHING


def neighbor_exchange(n: int) -> Rows:
    """The chunks 0 and 1 are swapped by pair 0, then move together, from both sides in turn."""
    away = np.concatenate([[0], [(step // 2) * (-1) ** (step - 1) for step in range(1, n // 2)]])
    step = np.arange(n // 2)
    even = 2 * (-away % (n // 2))
    odd = 2 * (away % (n // 2)) + 1
    side = (-1) ** step
    moves = [(even, (even + side) % n), (odd, (odd - side) % n)]
    later = slice(1, None)
    return both(
        rows_of(0, 0, 1, COPY, 0),
        rows_of(0, 1, 0, COPY, 1),
        *(
            rows_of(step[later], src[later], dst[later], COPY, chunk)
            for src, dst in moves
            for chunk in (0, 1)
        ),
    )


def direct_blocks(n: int) -> Rows:
    """Rank 0 sends all its blocks at once."""
    other = np.arange(1, n)
    return rows_of(0, 0, other, COPY, other)


def pairwise_blocks(n: int) -> Rows:
    """Rank 0 sends one block a step, to ever farther ranks."""
    other = np.arange(1, n)
    return rows_of(other - 1, 0, other, COPY, other)


def bruck_blocks(n: int) -> Rows:
    """The block for rank j makes a hop for every bit of j, the lowest first."""
    block = np.arange(n)
    return both(
        *(
            rows_of(bit, far % (1 << bit), far % (1 << bit) + (1 << bit), COPY, far)
            for bit in range((n - 1).bit_length())
            for far in [block[block >> bit & 1 == 1]]
        )
    )
