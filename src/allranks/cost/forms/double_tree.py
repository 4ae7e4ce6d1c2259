"""The form of the double binary tree: every link of a tree passes each chunk of its half once."""

from __future__ import annotations

from collections.abc import Iterator

from allranks.algorithms.double_tree import chunk_distance, edge_columns, num_steps_down
from allranks.cost.forms.base import Form, Stream


def double_binary_tree_all_reduce(n: int, num_chunks: int) -> Iterator[Stream]:
    """Send k/2 chunks over each link, first up, then down: one message per port in a step.

    2 num_steps_down (alpha + S/k beta) + num_steps_down S/k gamma. The way up is the way down
    backwards: a link that is last used `end` steps before the end is first used in step `end`.
    """
    _tree, parent, child, start = edge_columns(n)
    times, every = num_chunks // 2, chunk_distance(n)
    last = start + every * (times - 1)
    yield Stream.of(
        every=every,
        start=num_steps_down(n, num_chunks) - 1 - last,
        times=times,
        src=child,
        dst=parent,
        reduced=1,
    )
    yield Stream.of(every=every, start=start, times=times, src=parent, dst=child)


FORMS = {
    ("all_reduce", "double_binary_tree"): Form(double_binary_tree_all_reduce),
}
