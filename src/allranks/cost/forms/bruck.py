"""Forms of Bruck's algorithms: in the step of distance d all ranks send d places on, or back."""

from __future__ import annotations

from collections.abc import Iterator

from allranks.cost.forms.base import Form, Shift, lg


def bruck_all_gather(n: int, _num_chunks: int) -> Iterator[Shift]:
    """Send 1, 2, 4, ... blocks, and what is missing last: L alpha + (n-1)/n S beta."""
    for distance in (1 << bit for bit in range(lg(n))):
        yield Shift.of(shift=n - distance, chunks=min(distance, n - distance))


def bruck_all_to_all(n: int, _num_chunks: int) -> Iterator[Shift]:
    """Send the blocks whose way has the bit d: L alpha + about S/2 L beta.

    Of the distances 0 .. n - 1, d in every 2d have the bit.
    """
    for distance in (1 << bit for bit in range(lg(n))):
        whole, rest = divmod(n, 2 * distance)
        yield Shift.of(shift=distance, chunks=whole * distance + max(0, rest - distance))


FORMS = {
    ("all_gather", "bruck"): Form(bruck_all_gather),
    ("all_to_all", "bruck"): Form(bruck_all_to_all),
}
