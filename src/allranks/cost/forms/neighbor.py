"""Form of the neighbor exchange: pairs swap one block, then two, inside and outside in turn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from allranks.cost.forms.base import Form, Phase


def neighbor_exchange_all_gather(n: int, _num_chunks: int) -> Iterator[Phase]:
    """Swap one block once, two blocks n/2 - 1 times: n/2 alpha + (n-1)/n S beta."""
    rank = np.arange(n)
    inside = rank ^ 1
    outside = (2 * rank - inside) % n
    yield Phase.of(src=rank, dst=inside)
    turns, one_more = divmod(n // 2 - 1, 2)
    if turns:
        yield Phase.of(
            repeat=turns,
            step=np.repeat([0, 1], n),
            src=np.concatenate([rank, rank]),
            dst=np.concatenate([outside, inside]),
            chunks=2,
        )
    if one_more:
        yield Phase.of(src=rank, dst=outside, chunks=2)


FORMS = {("all_gather", "neighbor_exchange"): Form(neighbor_exchange_all_gather)}
