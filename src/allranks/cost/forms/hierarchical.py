"""Forms of hierarchical algorithms: the forms of what runs inside and between nodes, placed there.

Nodes are runs of ranks. Inside, every node plays the same form on its own ranks; where nodes have
different sizes, several forms go side by side. Between nodes, every share of the vector is passed
by its own ranks, and messages of several shares between the same two ranks are one. Switches are
the last members of a group: each node has its own, and so has each share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allranks.algorithms import ALGORITHMS
from allranks.algorithms.hierarchical import (
    NODE_SIZE,
    NodeSize,
    backwards,
    node_sizes,
    nodes_of,
    shares,
    switches_between,
)
from allranks.cost.forms.base import Array, Form, Phase, Run, Shift, Stream

# A run of so many messages takes about 400 MB.
MAX_MESSAGES = 1 << 23


def hierarchical_all_reduce(
    n: int,
    num_chunks: int,
    *,
    node_size: NodeSize = NODE_SIZE,
    inner: str = "ring",
    outer: str = "ring",
) -> Iterator[Run]:
    """Join a reduce-scatter inside, an all-reduce between nodes, and an all-gather inside.

    With rings on N nodes of g ranks: 2(g-1) alpha + 2(g-1)/g S beta inside and 2(N-1) alpha +
    2(N-1)/N S/g beta between them. With `outer="sharp"` 2 alpha + 2 S/g beta between; with
    `inner="nvls"` 4 alpha + 2(1 + 1/g) S beta inside.
    """
    sizes = node_sizes(n, node_size)
    parts = shares(sizes, num_chunks)
    above = switches_between(sizes, inner, outer)
    pieces = ALGORITHMS["all_reduce", outer].default_chunks(len(sizes))
    nodes = _nodes(sizes, inner)
    yield from _inside(("reduce_scatter", inner), nodes, num_chunks)
    ends = [[*share.ranks, *more] for share, more in zip(parts, above, strict=True)]
    yield from _between(
        _form(("all_reduce", outer), len(sizes)),
        _Groups(np.array(ends, dtype=np.int64), len(sizes)),
        np.array([len(share.chunks) // pieces for share in parts], dtype=np.int64),
        equal=len(set(sizes)) == 1,
    )
    yield from _inside(("all_gather", backwards(inner)), nodes, num_chunks)


def hierarchical_all_to_all(
    n: int,
    _num_chunks: int,
    *,
    node_size: NodeSize = NODE_SIZE,
    inner: str = "direct",
    outer: str = "direct",
) -> Iterator[Run]:
    """Swap N blocks for one inside nodes of g ranks, then g blocks for one between them."""
    sizes = node_sizes(n, node_size)
    ranks = np.arange(n).reshape(len(sizes), sizes[0])
    if len(ranks) == 1:
        yield from _form(("all_to_all", inner), n)
        return
    for run in _form(("all_to_all", inner), sizes[0]):
        yield _placed(run, _Groups(ranks, sizes[0]), np.full(len(ranks), len(ranks)))
    yield from _between(
        _form(("all_to_all", outer), len(ranks)),
        _Groups(ranks.T, len(ranks)),
        np.full(sizes[0], sizes[0]),
        equal=True,
    )


class _Groups(NamedTuple):
    """Groups that play at once: row i of `ends` are the `ranks` ranks of group i, then switches."""

    ends: Array
    ranks: int


def _nodes(sizes: Sequence[int], inner: str) -> list[_Groups]:
    """Return the nodes of each size."""
    ends: dict[int, list[list[int]]] = {}
    for node in nodes_of(sizes, inner):
        ends.setdefault(len(node.ranks), []).append([*node.ranks, *node.switches])
    return [_Groups(np.array(ends[g], dtype=np.int64), g) for g in sorted(ends)]


def _form(key: tuple[str, str], n: int) -> Iterable[Run]:
    """Return the runs of another algorithm on n ranks."""
    from allranks.cost.forms import FORMS  # noqa: PLC0415 - the table imports this module

    return FORMS[key].phases(n, ALGORITHMS[key].default_chunks(n)) if n > 1 else ()


def _inside(key: tuple[str, str], nodes: Sequence[_Groups], num_chunks: int) -> Iterator[Run]:
    """Play an algorithm in all nodes at once."""
    if len(nodes) > 1:
        yield from _side_by_side([list(_single(_alike(key, some, num_chunks))) for some in nodes])
    elif len(nodes[0].ends) > 1:
        yield from _alike(key, nodes[0], num_chunks)
    else:
        factor = _factor(key, nodes[0], num_chunks)
        yield from _between(_form(key, nodes[0].ranks), nodes[0], factor, equal=True)


def _alike(key: tuple[str, str], nodes: _Groups, num_chunks: int) -> Iterator[Phase | Stream]:
    """Play an algorithm in nodes of one size."""
    factor = _factor(key, nodes, num_chunks)
    for run in _form(key, nodes.ranks):
        yield _placed(run, nodes, factor)


def _factor(key: tuple[str, str], nodes: _Groups, num_chunks: int) -> Array:
    """Return how many chunks each node has for one of the algorithm."""
    return np.full(len(nodes.ends), num_chunks // ALGORITHMS[key].default_chunks(nodes.ranks))


def _between(runs: Iterable[Run], groups: _Groups, factor: Array, *, equal: bool) -> Iterator[Run]:
    """Play an algorithm in groups of ranks, one from every node.

    With equal nodes all ranks send equally far: from rank l of a node to rank l of another.
    """
    for run in runs:
        if equal and isinstance(run, Shift):
            yield run._replace(
                shift=run.shift * len(groups.ends),
                chunks=run.chunks * factor[0],
                reduced=run.reduced * factor[0],
            )
        else:
            placed = _placed(run, groups, factor)
            yield placed if equal or isinstance(placed, Stream) else _joined(placed)


def _placed(run: Run, groups: _Groups, factor: Array) -> Phase | Stream:
    """Play a run in several groups at once: its chunk is `factor[i]` chunks in group i."""
    count, size = len(groups.ends), groups.ranks
    listed = count * (run.shift.size * size if isinstance(run, Shift) else run.src.size)
    if listed > MAX_MESSAGES:
        message = (
            f"{listed:,} messages in groups of {size} ranks are too many to list; choose smaller "
            "nodes, or an algorithm of fewer messages, such as ring"
        )
        raise ValueError(message)
    if isinstance(run, Shift):
        run = _listed(run, size)
    src, dst = (groups.ends.T[column].reshape(-1) for column in (run.src, run.dst))
    chunks, reduced = (np.outer(column, factor).reshape(-1) for column in (run.chunks, run.reduced))
    if isinstance(run, Stream):
        start, times = (np.repeat(column, count) for column in (run.start, run.times))
        return Stream(run.every, start, times, src, dst, chunks, reduced)
    return Phase(run.repeat, np.repeat(run.step, count), src, dst, chunks, reduced)


def _listed(run: Shift, n: int) -> Phase:
    """Return the n messages of every entry of a shift."""
    entry = np.repeat(np.arange(run.shift.size), n)
    src = np.tile(np.arange(n), run.shift.size)
    dst = (src + run.shift[entry]) % n
    return Phase(run.repeat, run.step[entry], src, dst, run.chunks[entry], run.reduced[entry])


def _joined(phase: Phase) -> Phase:
    """Join the messages of a step that go from the same rank to the same rank."""
    order = np.lexsort((phase.dst, phase.src, phase.step))
    step, src, dst, chunks, reduced = (column[order] for column in phase[1:])
    new = np.ones(order.size, dtype=bool)
    new[1:] = (np.diff(step) != 0) | (np.diff(src) != 0) | (np.diff(dst) != 0)
    first = np.flatnonzero(new)
    added = (np.add.reduceat(column, first) for column in (chunks, reduced))
    return Phase(phase.repeat, step[first], src[first], dst[first], *added)


def _side_by_side(runs: Sequence[list[Phase]]) -> Iterator[Phase]:
    """Play several rows of runs of one step each at once; shorter rows end earlier."""
    rows = [list(reversed(row)) for row in runs]
    while rows := [row for row in rows if row]:
        repeat = min(row[-1].repeat for row in rows)
        heads = [row.pop() for row in rows]
        for row, head in zip(rows, heads, strict=True):
            if head.repeat > repeat:
                row.append(head._replace(repeat=head.repeat - repeat))
        yield Phase(repeat, *map(np.concatenate, zip(*(head[1:] for head in heads), strict=True)))


def _single(runs: Iterable[Phase | Stream]) -> Iterator[Phase]:
    """Take runs apart until each has one step; a run that had one keeps its repeats."""
    for run in runs:
        if isinstance(run, Phase) and run.step[-1] == 0:
            yield run
        elif isinstance(run, Phase):
            for step in list(range(run.step[-1] + 1)) * run.repeat:
                yield _taken(run, run.step == step)
        else:
            end = run.start + run.every * (run.times - 1)
            for step in range(end.max() + 1):
                now = (run.start <= step) & (step <= end) & ((step - run.start) % run.every == 0)
                yield _joined(_taken(run, now))


def _taken(run: Phase | Stream, now: NDArray[np.bool_]) -> Phase:
    """Return the chosen messages as one step."""
    columns = (column[now] for column in (run.src, run.dst, run.chunks, run.reduced))
    return Phase(1, np.zeros(now.sum(), dtype=np.int64), *columns)


FORMS = {
    ("all_reduce", "hierarchical"): Form(hierarchical_all_reduce),
    ("all_to_all", "hierarchical"): Form(hierarchical_all_to_all),
}
