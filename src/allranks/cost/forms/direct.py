"""Forms of the algorithms in which the root, or everybody, talks to every other rank directly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from allranks.cost.forms.base import Form, Phase, Shift


def flat_broadcast(n: int, _num_chunks: int, *, root: int) -> Iterator[Phase]:
    """Send S to n - 1 ranks, one a step: (n-1)(alpha + S beta), (n-1) S out of the root.

    A scatter does the same with blocks of S/n.
    """
    distance = np.arange(1, n)
    yield Phase.of(step=distance - 1, src=root, dst=(root + distance) % n)


def flat_gather(n: int, _num_chunks: int, *, root: int) -> Iterator[Phase]:
    """Take a block from n - 1 ranks, one a step: (n-1)(alpha + S/n beta)."""
    distance = np.arange(1, n)
    yield Phase.of(step=distance - 1, src=(root + distance) % n, dst=root)


def flat_reduce(n: int, num_chunks: int, *, root: int) -> Iterator[Phase]:
    """Take S from n - 1 ranks, one a step: (n-1)(alpha + S beta + S gamma)."""
    for phase in flat_gather(n, num_chunks, root=root):
        yield phase._replace(reduced=phase.chunks)


def flat_all_reduce(n: int, num_chunks: int) -> Iterator[Phase]:
    """Reduce to rank 0, then broadcast: 2(n-1)(alpha + S beta) + (n-1) S gamma."""
    yield from flat_reduce(n, num_chunks, root=0)
    yield from flat_broadcast(n, num_chunks, root=0)


def direct_all_gather(n: int, _num_chunks: int) -> Iterator[Shift]:
    """Send a block to n - 1 peers at once: (n-1)/n S each way, with one port (n-1) alpha."""
    yield Shift.of(shift=range(1, n))


def direct_reduce_scatter(n: int, _num_chunks: int) -> Iterator[Shift]:
    """Take n - 1 parts of a block in at once and add them: (n-1)/n S gamma beside that.

    With the whole vector for a block it is the one-shot all-reduce.
    """
    yield Shift.of(shift=range(1, n), reduced=1)


def direct_all_reduce(n: int, num_chunks: int) -> Iterator[Shift]:
    """Join both: two steps, 2(n-1)/n S each way."""
    yield from direct_reduce_scatter(n, num_chunks)
    yield from direct_all_gather(n, num_chunks)


FORMS = {
    ("broadcast", "flat"): Form(flat_broadcast),
    ("reduce", "flat"): Form(flat_reduce),
    ("scatter", "flat"): Form(flat_broadcast),
    ("gather", "flat"): Form(flat_gather),
    ("all_gather", "direct"): Form(direct_all_gather),
    ("reduce_scatter", "direct"): Form(direct_reduce_scatter),
    ("all_reduce", "flat"): Form(flat_all_reduce),
    ("all_reduce", "direct"): Form(direct_all_reduce),
    ("all_reduce", "one_shot"): Form(direct_reduce_scatter),
}
