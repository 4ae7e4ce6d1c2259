"""Forms of the binomial trees, with ranks counted from the root: v = (rank - root) mod n."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from allranks.cost.forms.base import Form, Phase, Run, lg
from allranks.cost.forms.ring import ring_all_gather


def binomial_broadcast(n: int, _num_chunks: int, *, root: int) -> Iterator[Phase]:
    """Double the ranks that know in every step: L = ceil(log2 n) steps of S, L(alpha + S beta)."""
    for distance in (1 << bit for bit in range(lg(n))):
        v = np.arange(min(distance, n - distance))
        yield Phase.of(src=(root + v) % n, dst=(root + v + distance) % n)


def binomial_reduce(n: int, _num_chunks: int, *, root: int) -> Iterator[Phase]:
    """Play the binomial broadcast backwards: L(alpha + S beta + S gamma), L S into the root."""
    for phase in reversed(list(binomial_broadcast(n, 1, root=root))):
        yield phase._replace(src=phase.dst, dst=phase.src, reduced=phase.chunks)


def binomial_scatter(n: int, _num_chunks: int, *, root: int) -> Iterator[Phase]:
    """Send halves down a tree: L alpha + (n-1)/n S beta, (n-1)/n S out of the root.

    In the step of distance d, v sends the blocks v + d .. v + 2d - 1 that exist to v + d.
    """
    for distance in (1 << bit for bit in reversed(range(lg(n)))):
        v = np.arange(0, n - distance, 2 * distance)
        blocks = np.minimum(v + 2 * distance, n) - v - distance
        yield Phase.of(src=(root + v) % n, dst=(root + v + distance) % n, chunks=blocks)


def binomial_gather(n: int, num_chunks: int, *, root: int) -> Iterator[Phase]:
    """Play the binomial scatter backwards: L alpha + (n-1)/n S beta, (n-1)/n S into the root."""
    for phase in reversed(list(binomial_scatter(n, num_chunks, root=root))):
        yield phase._replace(src=phase.dst, dst=phase.src)


def binomial_all_reduce(n: int, num_chunks: int) -> Iterator[Phase]:
    """Reduce to rank 0, then broadcast: 2L(alpha + S beta) + L S gamma."""
    yield from binomial_reduce(n, num_chunks, root=0)
    yield from binomial_broadcast(n, num_chunks, root=0)


def scatter_all_gather_broadcast(n: int, num_chunks: int, *, root: int) -> Iterator[Run]:
    """Scatter the blocks, then pass them round: (L+n-1) alpha + 2(n-1)/n S beta."""
    yield from binomial_scatter(n, num_chunks, root=root)
    yield from ring_all_gather(n, num_chunks)


FORMS = {
    ("broadcast", "binomial"): Form(binomial_broadcast),
    ("broadcast", "scatter_all_gather"): Form(scatter_all_gather_broadcast),
    ("reduce", "binomial"): Form(binomial_reduce),
    ("scatter", "binomial"): Form(binomial_scatter),
    ("gather", "binomial"): Form(binomial_gather),
    ("all_reduce", "binomial"): Form(binomial_all_reduce),
}
