"""The form of in-network reduction: what ranks send up a tree of switches and take down from it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from allranks.algorithms.sharp import switch_levels
from allranks.cost.forms.base import Form, Stream


def sharp_all_reduce(n: int, num_chunks: int, *, radix: int | None = None) -> Iterator[Stream]:
    """Send chunk c up level l in step c + l, and down again as many steps before the end.

    (k + 2h - 1)(alpha + S/k beta) + (k + h - 1) S/k gamma for h levels: a switch has a port for
    every rank or switch attached. A rank sends S and receives S.
    """
    levels = list(pairwise(switch_levels(n, radix)))
    below = np.concatenate([np.arange(low.start, low.stop) for low, _ in levels])
    above = np.concatenate(
        [high.start + np.arange(len(low)) // (radix or len(low)) for low, high in levels]
    )
    level = np.repeat(np.arange(len(levels)), [len(low) for low, _ in levels])
    yield Stream.of(
        start=np.concatenate([level, 2 * len(levels) - 1 - level]),
        times=num_chunks,
        src=np.concatenate([below, above]),
        dst=np.concatenate([above, below]),
        reduced=np.repeat([1, 0], below.size),
    )


FORMS = {
    ("all_reduce", "sharp"): Form(sharp_all_reduce),
}
