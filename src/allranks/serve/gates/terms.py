"""Find words that a page uses before the book has introduced them.

`terms.toml` lists the terms of the book, each with the chapter that introduces it. A page
introduces a term where it sets it in **bold** or *italics*, or puts it into the first column of a
table whose first heading is `word`. From there on every page may use it. A page that comes earlier
may use it too if it introduces the term itself. Code, formulas, links to other pages, what a
library box quotes, and what stands above the first section of a page (its promise and its goals)
are not read as uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from allranks.serve.gates.reading import Block, Page
from allranks.serve.gates.rules import Chapter, Finding

HEADS = {"word", "words", "term", "symbol"}
BESIDE = {"nccl", "takeaway"}
"""Boxes introduce nothing: they stand beside the story. What a library box quotes is no use."""


class Term(NamedTuple):
    """A term of the book: its forms, the chapter that introduces it, and where in it."""

    name: str
    chapter: str
    section: str
    pattern: re.Pattern[str]


def terms(rules: Mapping[str, Any]) -> list[Term]:
    """Return the terms of the book.

    Every term is known in its plural, and in the `forms` that its entry adds.
    """
    return [
        Term(
            row["name"],
            row["chapter"],
            row.get("section", ""),
            _pattern([row["name"], *row.get("forms", [])]),
        )
        for row in rules.get("term", ())
    ]


def _pattern(forms: Sequence[str]) -> re.Pattern[str]:
    words = "|".join(re.escape(form).replace(r"\ ", r"\s+") for form in forms)
    # A name is a name in its own spelling alone: ZeRO is not zero.
    flags = re.IGNORECASE if all(form.islower() for form in forms) else re.NOFLAG
    return re.compile(rf"(?<![\w-])(?:{words})(?:e?s)?(?![\w]|-\w)", flags)


def findings(chapters: Sequence[Chapter], rules: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield every use of a term before its introduction, and every term that is not introduced."""
    listed = terms(rules)
    for term in listed:
        known = False
        for chapter in chapters:
            known = known or _later(chapter.name, term)
            if known:
                break
            own = chapter.name.rpartition("/")[2].startswith(term.chapter)
            line = introduction(chapter.page, term)
            use = first_use(chapter.page, term, before=line)
            if use and not chapter.allowed.has("term", term.name):
                yield Finding(chapter.path, use, "term", _advice(term, line, own=own))
            if own and line is None:
                text = (
                    f"{term.name!r} is a word of this chapter, and nothing introduces it: set it in"
                    " **bold** where it is explained, or give it a row in the table of words"
                )
                yield Finding(chapter.path, 1, "term", text)
            known = line is not None or own
    for chapter in chapters:
        yield from chapter.allowed.unused(["term"])


def _later(name: str, term: Term) -> bool:
    """Return whether a page comes after the chapter of a term, which may still be missing."""
    number = name.rpartition("/")[2][:2]
    return number.isdecimal() and number > term.chapter


def _advice(term: Term, line: int | None, *, own: bool) -> str:
    if own:
        return f"{term.name!r} is used here and introduced in line {line}; explain it first"
    where = f", and introduced in line {line}" if line else ""
    return (
        f"{term.name!r} is a word of chapter {term.chapter}, used here{where}; use another word, or"
        " set it in **bold** at its first use and say in a few words what it means"
    )


def introduction(page: Page, term: Term) -> int | None:
    """Return the line in which a page introduces a term: marked, or in its table of words."""
    for block in page.blocks:
        if BESIDE.intersection(block.inside):
            continue
        if block.kind == "cell" and block.column == 0 and block.head in HEADS:
            if term.pattern.search(_all_text(block)):
                return block.line
            continue
        marked = " ".join(piece.text for piece in block.pieces if piece.marked)
        if term.pattern.search(marked):
            return block.line
    return None


def _all_text(block: Block) -> str:
    return "".join(piece.text for piece in block.pieces)


def first_use(page: Page, term: Term, *, before: int | None) -> int | None:
    """Return the line of the first use of a term, if it comes before this line of the page."""
    body = False
    for block in page.blocks:
        body = body or (block.kind == "heading" and block.level > 1)
        if before is not None and block.line >= before:
            return None
        if not body or block.kind in {"math", "heading"} or "nccl" in block.inside:
            continue
        if block.kind == "cell" and block.column == 0 and block.head in HEADS:
            continue
        words = "".join(_word(piece.kind, piece.text, piece.target) for piece in block.pieces)
        found = term.pattern.search(words)
        if found:
            return block.line_at(found.start())
    return None


def _word(kind: str, text: str, target: str) -> str:
    """Return what counts as a use, as long as what the page shows."""
    if kind == "text" and ".md" in target:
        return "\N{OBJECT REPLACEMENT CHARACTER}" * len(text)
    return text if kind in {"text", "show", "mis"} else "\N{OBJECT REPLACEMENT CHARACTER}"
