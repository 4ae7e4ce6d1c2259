"""Forms of the all-to-all algorithms without detours."""

from __future__ import annotations

from collections.abc import Iterator

from allranks.cost.forms.base import Form, Shift


def direct_all_to_all(n: int, _num_chunks: int) -> Iterator[Shift]:
    """Send a block to n - 1 peers at once: (n-1)/n S each way, with one port (n-1) alpha."""
    yield Shift.of(shift=range(1, n))


def pairwise_all_to_all(n: int, _num_chunks: int) -> Iterator[Shift]:
    """Send a block to one peer after another: (n-1)(alpha + S/n beta)."""
    yield Shift.of(step=range(n - 1), shift=range(1, n))


FORMS = {
    ("all_to_all", "direct"): Form(direct_all_to_all),
    ("all_to_all", "pairwise"): Form(pairwise_all_to_all),
}
