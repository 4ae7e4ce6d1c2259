"""Find quantities that were typed by hand: in the book they come from the engine or are given.

`{engine}` computes a number, `{given}` states one by definition, and a box about a library quotes
rates from the source that it names. Any other number with a unit is a sentence that nobody checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

RATES = ("GB/s", "Gb/s", "MB/s", "GiB/s")
UNITS = (
    *RATES,
    *("ns", "us", "µs", "μs", "ms", "s", "minutes?", "hours?"),
    *("B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "bytes?", "bits?"),
    *("%", "steps?", "messages?", "ranks?", "chunks?", "segments?", "hops?", "alphas?"),
    *("elements?", "vectors?", "processes", "GPUs?", "nodes?", "times"),
)
BOXES = {"nccl", "takeaway"}
FIGURES = {"chunk-flow", "chunk-race", "chunk-curve", "chunk-ports", "chunk-fit"}

_FENCE = re.compile(r"^(?P<mark>`{3,}|:{3,}|~{3,})\s*(?:\{(?P<name>[\w-]+)\})?")
_HIDDEN = re.compile(
    r"\{(?:engine|given)\}`[^`]*`"  # numbers that are accounted for
    r"|(?<=\{show\})`(?P<words>[^`<]*)<[^`]*>`"  # of a link, the words are read
    r"|(?<!\{show\})`[^`]*`"  # code
    r"|(?<![\\\d])\$[^$\n]+\$"  # formulas
    r"|\]\([^)]*\)"  # where links lead
)
_NUMBER = r"(?<![\w.,/^-])\d(?:[\d.,]*\d)?(?:e\d+)?"
_QUANTITY = re.compile(
    rf"{_NUMBER}[\s\u00a0-]?(?:{'|'.join(sorted(UNITS, reverse=True))})(?![\w/])"
)


class Quantity(NamedTuple):
    """A number with a unit, typed by hand, in this line of a page."""

    line: int
    text: str


def quantities(page: str) -> list[Quantity]:
    """Return the quantities of a page that nothing computes.

    >>> quantities("It takes 12 us, or {engine}`x | us`, for {given}`48 MB`: `5 steps`.")
    [Quantity(line=1, text='12 us')]
    """
    found = []
    for number, line, rates in _sentences(page):
        for match in _QUANTITY.finditer(_HIDDEN.sub(_words, line)):
            text = match.group()
            if not (rates and text.endswith(RATES)):
                found.append(Quantity(number, text))
    return found


def _words(hidden: re.Match[str]) -> str:
    return hidden["words"] or " "


def _sentences(page: str) -> Iterator[tuple[int, str, bool]]:
    """Yield (line number, text, whether rates are quoted here) of what a reader reads."""
    lines = page.split("\n")
    start = lines.index("---", 1) + 1 if lines[0] == "---" and "---" in lines[1:] else 0
    open_fences: list[tuple[str, str]] = []
    formula = False
    for number, line in enumerate(lines[start:], start=start + 1):
        bare = line.strip()
        fence = _FENCE.match(bare)
        if fence:
            mark, name = fence["mark"], fence["name"]
            if open_fences and not name and bare == mark and mark.startswith(open_fences[-1][0]):
                open_fences.pop()
            elif not open_fences or open_fences[-1][1] in BOXES | FIGURES:
                open_fences.append((mark, name or ""))
            continue
        inside = open_fences[-1][1] if open_fences else None
        if inside is not None and inside not in BOXES | FIGURES:
            continue
        if inside in FIGURES and re.match(r":[\w-]+:", bare):
            continue
        if bare.count("$$") == 1:
            formula = not formula
            continue
        if not formula and not (bare.startswith("$$") and bare.endswith("$$")):
            yield number, line, inside == "nccl"
