"""Forms of the rings: every rank sends to its right, or to both sides at once."""

from __future__ import annotations

from collections.abc import Iterator

from allranks.cost.forms.base import Form, Shift


def ring_all_gather(n: int, _num_chunks: int) -> Iterator[Shift]:
    """Send one chunk of S/n from every rank in n - 1 steps: (n-1)(alpha + S/n beta)."""
    yield Shift.of(repeat=n - 1, shift=1)


def ring_reduce_scatter(n: int, _num_chunks: int) -> Iterator[Shift]:
    """Take the ring all-gather's steps and bytes; every chunk that arrives is added.

    With the whole vector for a chunk it is the unchunked all-reduce: (n-1)(alpha + S beta + S
    gamma).
    """
    yield Shift.of(repeat=n - 1, shift=1, reduced=1)


def ring_all_reduce(n: int, num_chunks: int) -> Iterator[Shift]:
    """Join both: 2(n-1) alpha + 2(n-1)/n S beta + (n-1)/n S gamma."""
    yield from ring_reduce_scatter(n, num_chunks)
    yield from ring_all_gather(n, num_chunks)


def bidirectional_ring_all_gather(n: int, _num_chunks: int) -> Iterator[Shift]:
    """Send a chunk to each side in (n-1) // 2 steps; for even n, one more to the right alone.

    Two ports: n // 2 (alpha + S/n beta). One port: (n-1)(alpha + S/n beta), as one ring.
    """
    if n > 2:  # noqa: PLR2004 - two ranks have one side
        yield Shift.of(repeat=(n - 1) // 2, shift=[1, n - 1])
    if n % 2 == 0:
        yield Shift.of(shift=1)


def bidirectional_ring_reduce_scatter(n: int, num_chunks: int) -> Iterator[Shift]:
    """Do the same the other way round; every chunk that arrives is added."""
    for run in reversed(list(bidirectional_ring_all_gather(n, num_chunks))):
        yield run._replace(reduced=run.chunks)


def bidirectional_ring_all_reduce(n: int, num_chunks: int) -> Iterator[Shift]:
    """Join both; two ports: 2 (n // 2) (alpha + S/n beta) + (n // 2) S/n gamma."""
    yield from bidirectional_ring_reduce_scatter(n, num_chunks)
    yield from bidirectional_ring_all_gather(n, num_chunks)


FORMS = {
    ("all_gather", "ring"): Form(ring_all_gather),
    ("all_gather", "bidirectional_ring"): Form(bidirectional_ring_all_gather),
    ("reduce_scatter", "ring"): Form(ring_reduce_scatter),
    ("reduce_scatter", "bidirectional_ring"): Form(bidirectional_ring_reduce_scatter),
    ("all_reduce", "ring"): Form(ring_all_reduce),
    ("all_reduce", "bidirectional_ring"): Form(bidirectional_ring_all_reduce),
    ("all_reduce", "unchunked_ring"): Form(ring_reduce_scatter),
}
