"""Forms of PAT: every rank does the same, so one step is one entry."""

from __future__ import annotations

from collections.abc import Iterator

from allranks.algorithms.pat import all_gather_hops, reduce_scatter_hops
from allranks.cost.forms.base import Form, Shift


def pat_all_gather(n: int, _num_chunks: int) -> Iterator[Shift]:
    """Send to r - 2^d, 1, 2, 4, ... blocks: L alpha + (n-1)/n S beta.

    L = ceil(log2 n), one more for n = 2^k + 1, k >= 2.
    """
    hops = all_gather_hops(n)
    yield Shift.of(
        step=range(len(hops)),
        shift=[n - (1 << hop.dim) for hop in hops],
        chunks=[len(hop.places) for hop in hops],
    )


def pat_reduce_scatter(n: int, _num_chunks: int) -> Iterator[Shift]:
    """Send to r + 2^d, ..., 4, 2, 1 blocks: the all-gather's price + (n-1)/n S gamma."""
    hops = reduce_scatter_hops(n)
    blocks = [len(hop.places) for hop in hops]
    yield Shift.of(
        step=range(len(hops)),
        shift=[1 << hop.dim for hop in hops],
        chunks=blocks,
        reduced=blocks,
    )


FORMS = {
    ("all_gather", "pat"): Form(pat_all_gather),
    ("reduce_scatter", "pat"): Form(pat_reduce_scatter),
}
