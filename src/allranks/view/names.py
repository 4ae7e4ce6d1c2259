"""What a figure calls things: the headings of schedules, algorithms as prose writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from allranks.algorithms import ROOTED
from allranks.schedule import Schedule

PARAMETERS = ("node_size", "radix", "inner", "outer")
"""What some algorithms take beside n, a root and a number of chunks; see `algorithms.build`."""


def title_of(schedule: Schedule, parameters: Mapping[str, Any] | None = None) -> str:
    """Return the heading of a schedule's figure.

    >>> from allranks.algorithms import build
    >>> title_of(build("broadcast", "chain", world_size=6, num_chunks=4))
    'Chain broadcast on 6 ranks, root 0, 4 chunks'
    """
    name = f"{words(schedule.algorithm)} {words(schedule.collective)}"
    root = f", root {schedule.root}" if schedule.collective in ROOTED else ""
    chunks = "" if schedule.num_chunks == 1 else f", {schedule.num_chunks} chunks"
    ranks = plural(schedule.world_size, "rank")
    made_with = parameter_words(parameters or {})
    return f"{name[:1].upper()}{name[1:]} on {ranks}{root}{chunks}{made_with}"


def parameter_words(parameters: Mapping[str, Any]) -> str:
    """Return what a title says of the parameters, each behind a comma.

    >>> parameter_words({"node_size": 4, "outer": "rabenseifner"})
    ', nodes of 4, Rabenseifner between nodes'
    """
    said = {
        "node_size": lambda value: f"nodes of {_sizes(value)}",
        "radix": lambda value: f"{value} ports down a switch",
        "inner": lambda value: f"{words(value)} inside nodes",
        "outer": lambda value: f"{words(value)} between nodes",
    }
    return "".join(f", {said[name](parameters[name])}" for name in PARAMETERS if name in parameters)


def entrant_title(entrant: Mapping[str, Any], chunks: int | None) -> str:
    """Return the name of a lane: the algorithm, its chunks where they were chosen, parameters."""
    cut = "" if chunks is None else f", {plural(chunks, 'chunk')}"
    return f"{words(entrant['algorithm'])}{cut}{parameter_words(entrant['parameters'])}"


def words(name: str) -> str:
    """Return a name as prose writes it.

    >>> words("all_reduce"), words("scatter_all_gather")
    ('all-reduce', 'scatter + all-gather')
    """
    return _WORDS.get(name, name.replace("_", " "))


_WORDS = {
    "scatter_all_gather": "scatter + all-gather",
    "all_to_all": "all-to-all",
    "all_gather": "all-gather",
    "all_reduce": "all-reduce",
    "reduce_scatter": "reduce-scatter",
    "bruck": "Bruck",
    "nvls": "NVLS",
    "pat": "PAT",
    "rabenseifner": "Rabenseifner",
    "sharp": "SHARP",
}


def _sizes(node_size: int | Sequence[int]) -> str:
    """Return the ranks of a node, or of each of them: "3, 3 and 2"."""
    if isinstance(node_size, int):
        return str(node_size)
    *most, last = (str(size) for size in node_size)
    return f"{', '.join(most)} and {last}" if most else last


def plural(count: int, one: str) -> str:
    """Return "1 rank" or "6 ranks"."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"
