"""Forms of doubling and halving: in a step, place i swaps with place i XOR d.

Places are the p ranks that are left after the fold; p = n where n is a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from allranks.cost.forms.base import Array, Form, Phase


def recursive_doubling_all_gather(n: int, _num_chunks: int) -> Iterator[Phase]:
    """Swap 1, 2, 4, ... blocks: log2 n alpha + (n-1)/n S beta."""
    rank = np.arange(n)
    for distance in _distances(n):
        yield Phase.of(src=rank, dst=rank ^ distance, chunks=distance)


def recursive_halving_reduce_scatter(n: int, _num_chunks: int) -> Iterator[Phase]:
    """Swap n/2, n/4, ... blocks: log2 n alpha + (n-1)/n S (beta + gamma).

    Other n first fold whole vectors. Then a group of d places works on the blocks of all ranks
    behind it, up to 2d, and the odd rank of a pair sends the even one its block at the end.
    """
    rank, even = _places(n)
    place = np.arange(rank.size)
    # blocks before place i: a folded pair has two
    before = np.append(place + np.minimum(place, even.size), n)
    if even.size:
        yield Phase.of(src=even, dst=even + 1, chunks=n, reduced=n)
    for distance in reversed(_distances(n)):
        partner = place ^ distance
        first = partner // distance * distance
        blocks = before[first + distance] - before[first]
        yield Phase.of(src=rank, dst=rank[partner], chunks=blocks, reduced=blocks)
    if even.size:
        yield Phase.of(src=even + 1, dst=even)


def recursive_doubling_all_reduce(n: int, _num_chunks: int) -> Iterator[Phase]:
    """Swap whole vectors: log2 n (alpha + S beta + S gamma); other n: two steps of S more."""
    rank, even = _places(n)
    place = np.arange(rank.size)
    if even.size:
        yield Phase.of(src=even, dst=even + 1, reduced=1)
    for distance in _distances(n):
        yield Phase.of(src=rank, dst=rank[place ^ distance], reduced=1)
    if even.size:
        yield Phase.of(src=even + 1, dst=even)


def rabenseifner_all_reduce(n: int, _num_chunks: int) -> Iterator[Phase]:
    """Swap p/2, p/4, ... of p chunks, then the same back: 2 log2 n alpha + 2(n-1)/n S beta.

    And (n-1)/n S gamma. Other n: (2 floor(log2 n) + 2) alpha + (2(p-1)/p + 2) S beta + (1 +
    (p-1)/p) S gamma.
    """
    rank, even = _places(n)
    place = np.arange(rank.size)
    if even.size:
        yield Phase.of(src=even, dst=even + 1, chunks=rank.size, reduced=rank.size)
    for distance in _distances(n):
        half = rank.size // (2 * distance)
        yield Phase.of(src=rank, dst=rank[place ^ distance], chunks=half, reduced=half)
    for distance in reversed(_distances(n)):
        half = rank.size // (2 * distance)
        yield Phase.of(src=rank, dst=rank[place ^ distance], chunks=half)
    if even.size:
        yield Phase.of(src=even + 1, dst=even, chunks=rank.size)


def _distances(n: int) -> list[int]:
    """Return 1, 2, 4, ... below p."""
    return [1 << bit for bit in range(n.bit_length() - 1)]


def _places(n: int) -> tuple[Array, Array]:
    """Return the ranks that are left after the fold, by place, and the even ranks that are not."""
    extra = n - (1 << (n.bit_length() - 1))
    return (
        np.concatenate([np.arange(1, 2 * extra, 2), np.arange(2 * extra, n)]),
        np.arange(0, 2 * extra, 2),
    )


FORMS = {
    ("all_gather", "recursive_doubling"): Form(recursive_doubling_all_gather),
    ("reduce_scatter", "recursive_halving"): Form(recursive_halving_reduce_scatter),
    ("all_reduce", "recursive_doubling"): Form(recursive_doubling_all_reduce),
    ("all_reduce", "rabenseifner"): Form(rabenseifner_all_reduce),
}
