"""Forms of the chains: pipelines in which hop v carries chunk c in step v + c."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from allranks.cost.forms.base import Form, Stream


def chain_broadcast(n: int, num_chunks: int, *, root: int) -> Iterator[Stream]:
    """Move k chunks over n - 1 hops: (n-2+k)(alpha + S/k beta), S out of every sender."""
    hop = np.arange(n - 1)
    yield Stream.of(start=hop, times=num_chunks, src=(root + hop) % n, dst=(root + hop + 1) % n)


def chain_reduce(n: int, num_chunks: int, *, root: int) -> Iterator[Stream]:
    """Do the same towards the root; every chunk that arrives is added."""
    hop = np.arange(n - 1)
    src, dst = (root + hop + 1) % n, (root + hop + 2) % n
    yield Stream.of(start=hop, times=num_chunks, src=src, dst=dst, reduced=1)


FORMS = {
    ("broadcast", "chain"): Form(chain_broadcast),
    ("reduce", "chain"): Form(chain_reduce),
}
