"""Run the gates over the book and bring together everything that they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from allranks.serve.gates import beliefs, numbers, structure, terms, words
from allranks.serve.gates.rules import FOLDER, Chapter, Finding, chapters, table

Gate = Callable[[Sequence[Chapter], Path], Iterator[Finding]]


def _numbers(pages: Sequence[Chapter], folder: Path) -> Iterator[Finding]:
    rules = table(folder / "numbers.toml")
    for page in pages:
        yield from numbers.findings(page, rules)


def _words(pages: Sequence[Chapter], folder: Path) -> Iterator[Finding]:
    rules = table(folder / "words.toml")
    for page in pages:
        yield from words.findings(page, rules)


def _terms(pages: Sequence[Chapter], folder: Path) -> Iterator[Finding]:
    yield from terms.findings(pages, table(folder / "terms.toml"))


def _structure(pages: Sequence[Chapter], _folder: Path) -> Iterator[Finding]:
    for page in pages:
        yield from structure.findings(page)


def _beliefs(pages: Sequence[Chapter], folder: Path) -> Iterator[Finding]:
    yield from beliefs.findings(pages, table(folder / "beliefs.toml")["chapters"])


PROSE: dict[str, Gate] = {
    "numbers": _numbers,
    "words": _words,
    "terms": _terms,
    "structure": _structure,
    "beliefs": _beliefs,
}
"""The gates that read the sources alone: a second for the whole book."""


def check(
    root: Path, names: Sequence[str] = (), *, gates: dict[str, Gate] | None = None
) -> list[Finding]:
    """Return what the gates find in the book at `root`, or on the pages that are named.

    A name is the path of a page below `book/`, or its beginning, such as "03". Gates that compare
    pages read all of them, whatever is named.

    Raises:
        ValueError: a name that no page has.
    """
    pages = chapters(root)
    chosen = {
        page.path
        for page in pages
        if not names or any(page.name.rpartition("/")[2].startswith(name) for name in names)
    }
    if not chosen:
        message = f"no page begins with {', '.join(names)}; known: {[page.name for page in pages]}"
        raise ValueError(message)
    lists = {page.allowed.path for page in pages if page.path in chosen}
    found: list[Finding] = []
    for gate in (gates or PROSE).values():
        found += [
            each
            for each in gate(pages, root / "book" / FOLDER)
            if each.page in chosen or each.page in lists
        ]
    return sorted(set(found))
