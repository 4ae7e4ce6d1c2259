"""The schedule composer: what its figure starts with, and a schedule as the text readers copy.

The page's own engine does the rest (`static/compose.js`): it plays what the reader drags, and its
verifier judges it in the words of `allranks.verify`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.errors import unknown_name
from allranks.schedule import SIMULATED, Op, Schedule, Transfer

COMPOSE_FORMAT = "allranks.compose/1"
CONTRACTS = (
    *("broadcast", "reduce", "gather", "scatter"),
    *("all_gather", "reduce_scatter", "all_reduce"),
)
RANKS = (2, 6)
ITEMSIZE = 8

Data = dict[str, Any]
_Rows = tuple[tuple[tuple[int, int, int, Op], ...], ...]


def compose(example: str, *, title: str | None = None) -> Data:
    """Return the data of a `<chunk-compose>` that starts with a named example.

    Raises:
        ValueError: no such example; the message suggests the nearest one.
    """
    check_example(example)
    return {
        "format": COMPOSE_FORMAT,
        "label": SIMULATED,
        "title": title or "Compose a schedule",
        "example": example,
        "examples": {
            name: {"title": words, "schedule": schedule.to_dict()}
            for name, (words, schedule) in EXAMPLES.items()
        },
        "contracts": list(CONTRACTS),
        "n": list(RANKS),
        "itemsize": ITEMSIZE,
    }


def check_example(name: str) -> None:
    """Raise ValueError with the nearest name if this is no example."""
    if name not in EXAMPLES:
        raise ValueError(unknown_name("example", name, EXAMPLES))


def json_text(schedule: Schedule | Mapping[str, Any]) -> str:
    """Return a schedule as the figure's "Copy as JSON" writes it: one line for each step.

    >>> print(json_text(EXAMPLES["two-step-broadcast"][1]))
    {"format": "allranks.schedule/1", "collective": "broadcast",
     "algorithm": "mine", "world_size": 4, "root": 0, "num_chunks": 1,
     "steps": [
      [[0, 1, 0, "copy"]],
      [[0, 2, 0, "copy"], [1, 3, 0, "copy"]]
     ]}
    """
    data = schedule.to_dict() if isinstance(schedule, Schedule) else schedule
    rows = [
        ", ".join(f'[{src}, {dst}, {chunk}, "{op}"]' for src, dst, chunk, op in step)
        for step in data["steps"]
    ]
    steps = ",\n".join(f"  [{row}]" for row in rows)
    inside = f"\n{steps}\n " if rows else ""
    root = "null" if data["root"] is None else data["root"]
    size = f'"world_size": {data["world_size"]}, "root": {root}, "num_chunks": {data["num_chunks"]}'
    return (
        f'{{"format": "{data["format"]}", "collective": "{data["collective"]}",\n'
        f' "algorithm": "{data["algorithm"]}", {size},\n'
        f' "steps": [{inside}]}}'
    )


def _mine(
    collective: str, n: int, steps: _Rows, *, root: int | None = None, chunks: int = 1
) -> Schedule:
    rows = tuple(tuple(Transfer(*row) for row in step) for step in steps)
    return Schedule(collective, "mine", n, chunks, rows, root)


_C, _R = Op.COPY, Op.REDUCE

EXAMPLES: dict[str, tuple[str, Schedule]] = {
    "unfinished-broadcast": (
        "A broadcast, begun",
        _mine("broadcast", 4, (((0, 1, 0, _C),),), root=0),
    ),
    "one-after-another": (
        "The root sends to one rank after another",
        _mine("broadcast", 4, (((0, 1, 0, _C),), ((0, 2, 0, _C),), ((0, 3, 0, _C),)), root=0),
    ),
    "all-at-once": (
        "The root sends to all others in one step",
        _mine("broadcast", 4, (((0, 1, 0, _C), (0, 2, 0, _C), (0, 3, 0, _C)),), root=0),
    ),
    "two-step-broadcast": (
        "Whoever has it sends it on",
        _mine("broadcast", 4, (((0, 1, 0, _C),), ((0, 2, 0, _C), (1, 3, 0, _C))), root=0),
    ),
    "send-too-early": (
        "Rank 1 sends in the step in which it receives",
        _mine("broadcast", 3, (((0, 1, 0, _C), (1, 2, 0, _C)),), root=0),
    ),
    "swap-two-ranks": (
        "Two ranks send to each other in one step",
        _mine("all_reduce", 2, (((0, 1, 0, _C), (1, 0, 0, _C)),)),
    ),
    "copy-in-turn": (
        "The same two transfers in two steps",
        _mine("all_reduce", 2, (((0, 1, 0, _C),), ((1, 0, 0, _C),))),
    ),
    "sum-of-two": (
        "Two ranks add what the other sends",
        _mine("all_reduce", 2, (((0, 1, 0, _R), (1, 0, 0, _R)),)),
    ),
    "double-count": (
        "The two additions in two steps",
        _mine("all_reduce", 2, (((0, 1, 0, _R),), ((1, 0, 0, _R),))),
    ),
    "two-writers": (
        "Two COPYs into one place in one step",
        _mine("reduce", 3, (((1, 0, 0, _C), (2, 0, 0, _C)),), root=0),
    ),
    "root-forgotten": (
        "A reduce for rank 2 that ends on rank 0",
        _mine("reduce", 3, (((1, 0, 0, _R),), ((2, 0, 0, _R),)), root=2),
    ),
}
"""Schedules that a chapter can put into the composer by name, right and wrong ones."""
