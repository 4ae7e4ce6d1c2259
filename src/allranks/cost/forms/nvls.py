"""Forms of in-switch collectives: n chunks a message where all data pass, one where a head's do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from allranks.cost.forms.base import Form, Phase


class _Stage(NamedTuple):
    """What every rank sends up to the switch, or takes down, for a slice; in chunks."""

    up: int = 0
    added: int = 0
    down: int = 0


def nvls_all_reduce(n: int, num_chunks: int) -> Iterator[Phase]:
    """Play all four stages: k/n + 3 steps, S(1 + 1/n) out of every rank and as much in."""
    stages = [_Stage(up=n, added=n), _Stage(down=1), _Stage(up=1), _Stage(down=n)]
    return _pipeline(n, num_chunks, stages)


def nvls_all_gather(n: int, num_chunks: int) -> Iterator[Phase]:
    """Store a block, take all down: k/n + 1 steps, S/n out of every rank and S in."""
    return _pipeline(n, num_chunks, [_Stage(up=1), _Stage(down=n)])


def nvls_reduce_scatter(n: int, num_chunks: int) -> Iterator[Phase]:
    """Send all up, take a block down: k/n + 1 steps, S out of every rank and S/n in."""
    return _pipeline(n, num_chunks, [_Stage(up=n, added=n), _Stage(down=1)])


def _pipeline(n: int, num_chunks: int, stages: list[_Stage]) -> Iterator[Phase]:
    """Start a stage a step, k/n times each: steps in which the same stages are busy are one run."""
    slices = num_chunks // n
    starts = range(len(stages))
    rank, switch = np.arange(n), np.full(n, n)
    for begin, end in pairwise(sorted({*starts, *(start + slices for start in starts)})):
        busy = stages[max(0, begin - slices + 1) : begin + 1]
        up, added, down = map(sum, zip(*busy, strict=True))
        ways = [(rank, switch, up, added), (switch, rank, down, 0)]
        src, dst, chunks, reduced = zip(*(way for way in ways if way[2]), strict=True)
        yield Phase.of(
            repeat=end - begin,
            src=np.concatenate(src),
            dst=np.concatenate(dst),
            chunks=np.repeat(chunks, n),
            reduced=np.repeat(reduced, n),
        )


FORMS = {
    ("all_reduce", "nvls"): Form(nvls_all_reduce),
    ("all_gather", "nvls"): Form(nvls_all_gather),
    ("reduce_scatter", "nvls"): Form(nvls_reduce_scatter),
}
