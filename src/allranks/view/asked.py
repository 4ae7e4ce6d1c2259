"""What authors write for a figure: its controls, and the entrants of a race."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from allranks.algorithms import algorithms
from allranks.algorithms.variants import BUGS
from allranks.view import variants
from allranks.view.names import PARAMETERS

Data = dict[str, Any]

_CONTROLS = {
    "chunk-flow": (
        *("n", "root", "algorithm", "chunks", "nbytes", "machine", *PARAMETERS),
        *variants.CONTROLS,
    ),
    "chunk-race": ("n", "root", "nbytes", "k", "machine", "count"),
    "chunk-curve": ("alpha", "n", "nbytes"),
    "chunk-message": ("alpha", "bandwidth", "nbytes"),
    "chunk-plane": ("n", "nbytes", "machine"),
    "chunk-trees": ("n",),
    "chunk-ports": ("n", "nbytes", "k"),
    "chunk-fit": (),
}
_RANGES = ("n", "chunks", "nbytes", "alpha", "bandwidth", "node_size", "radix")
_LISTS = ("algorithm", "inner", "outer")


def parse_controls(text: str, *, element: str = "chunk-flow") -> Data:
    """Read what a chapter writes: `n=2-8 root algorithm=flat,chain nbytes=1-1e9 machine`.

    Raises:
        ValueError: an unknown control for this element, or a range that is none.

    >>> parse_controls("n=2-8 root algorithm=flat,chain")
    {'n': [2, 8], 'root': True, 'algorithm': ['flat', 'chain']}
    """
    controls: Data = {}
    for word in text.split():
        name, _, value = word.partition("=")
        check_name("control", name, _CONTROLS[element])
        if name == "bugs" and value:
            controls[name] = value.split(",")
            for bug in controls[name]:
                check_name("planted fault", bug, BUGS)
        elif name in _LISTS:
            controls[name] = [each for each in value.split(",") if each]
        elif name in _RANGES and value:
            controls[name] = _range(word, value, whole=name not in {"nbytes", "alpha", "bandwidth"})
        else:
            controls[name] = True
    return controls


STAND_INS = {("all_reduce", "unchunked_ring"): ("reduce_scatter", "ring")}
"""What runs for an algorithm of a race that no schedule can write down, with n S for S.

A ring of whole vectors sends the messages of a ring reduce-scatter whose blocks are whole vectors:
the same ranks, steps, bytes and additions, which is all that a race shows (allranks.price agrees).
"""


def read_entrant(collective: str, text: str) -> Data:
    """Read `chain:k` or `hierarchical:node_size=4` into an algorithm, chunks and parameters.

    `chunks` is None where the algorithm's usual number is meant. One of STAND_INS has `stands_in`
    too: the collective and the algorithm that run for it, on n times the bytes.
    """
    name, *decided = text.split(":")
    check_algorithm(collective, name)
    entrant: Data = {"algorithm": name, "chunks": None, "piped": False, "parameters": {}}
    if (collective, name) in STAND_INS:
        entrant["stands_in"] = list(STAND_INS[collective, name])
    for part in decided:
        key, given, value = part.partition("=")
        if given:
            check_name("parameter", key, PARAMETERS)
            whole = key in {"node_size", "radix"}
            entrant["parameters"][key] = _whole(text, value) if whole else value
        elif part == "k":
            if name != "chain":
                message = f"entrant {text!r}: only a chain has a best number of chunks k"
                raise ValueError(message)
            entrant["piped"] = True
        else:
            entrant["chunks"] = _whole(text, part)
    return entrant


def _whole(entrant: str, text: str) -> int:
    if not text.isdecimal():
        message = f"entrant {entrant!r}: {text!r} is no whole number; write it as in chain:8"
        raise ValueError(message)
    return int(text)


def check_name(what: str, name: str, known: Sequence[str]) -> None:
    """Raise ValueError with the known names if this is none of them."""
    if name not in known:
        message = f"unknown {what} {name!r}; known: {', '.join(known)}"
        raise ValueError(message)


def check_algorithm(collective: str, name: str) -> None:
    """Raise ValueError if a collective has no such algorithm."""
    check_name(f"algorithm of {collective}", name, list(algorithms(collective)))


def _range(word: str, value: str, *, whole: bool) -> list[float]:
    low, _, high = re.sub(r"(?<![eE])-", " ", value, count=1).partition(" ")
    try:
        ends: list[float] = [int(low), int(high)] if whole else [float(low), float(high)]
    except ValueError:
        message = f"control {word!r}: write a range such as n=2-8"
        raise ValueError(message) from None
    least = 1 if whole else 0
    if not least <= ends[0] < ends[1]:
        message = f"control {word!r}: the range must rise and begin at {least} or more"
        raise ValueError(message)
    return ends
