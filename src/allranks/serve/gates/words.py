"""Find words that the book does not use: two words for one thing, claims without their condition.

`words.toml` holds the rules: a pattern, what to write instead, and why. Three rules need more than
a pattern and stand here: bandwidth says its direction, a count of send/receive algorithms says so,
and Gb/s stands beside the word bits. Code, formulas and the names of roles are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from allranks.serve.gates.reading import HIDDEN, Block
from allranks.serve.gates.rules import Chapter, Finding

RATE = re.compile(r"\d[\s\u00a0]?[kMGT]i?[Bb]/s\b")
DIRECTION = re.compile(r"per direction|each direction|one direction|both directions|a direction")
BUS = re.compile(r"\b(?:busbw|algbw|bus bandwidth)\b|nccl-tests", re.IGNORECASE)
COUNT = re.compile(
    r"2\s*\\[dt]?frac\{\s*n\s*-\s*1\s*\}\{\s*n\s*\}|\\[dt]?frac\{2\s*\(n\s*-\s*1\)\}\{n\}"
    r"|2\s*\(n\s*-\s*1\)\s*/\s*n"
)
CONDITION = re.compile(
    r"send\w*(?:\W+\w+){0,3}\W+(?:and|or)\W+(?:\w+\W+){0,2}receiv|send/receive|only sends?\b"
    r"|point-to-point",
    re.IGNORECASE,
)
OF_ALL = re.compile(
    r"\b(?:least|bound|limit|optimal|minimum|every algorithm|any algorithm|all algorithms"
    r"|no algorithm|no plan|must|SHARP|NVLS)\b"
)
ALL_REDUCE = re.compile(r"\ball-reduces?\b|\bncclAllReduce\b", re.IGNORECASE)
BY_NAME = re.compile(r"\b(?:ring|halving|doubling|Rabenseifner|tree|scatter)\b", re.IGNORECASE)


def findings(chapter: Chapter, rules: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield every refused word of a page, and every claim that lacks its condition."""
    for block in chapter.page.blocks:
        if block.kind == "math":
            continue
        for offset, text, advice in refused(block.text, rules):
            if not chapter.allowed.has("word", text):
                yield Finding(chapter.path, block.line_at(offset), "word", advice)
    for line, advice in [*_counts(chapter), *_bits(chapter), *_directions(chapter)]:
        yield Finding(chapter.path, line, "word", advice)
    yield from chapter.allowed.unused(["word"])


def refused(text: str, rules: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Yield (offset, text, what to do) of every refused word in a sentence."""
    for rule in rules.get("refused", ()):
        for match in _pattern(rule).finditer(text):
            if any(
                low <= match.start() and match.end() <= high
                for low, high in _let_pass(text, rule.get("allowed", ()))
            ):
                continue
            found = " ".join(match.group().replace(HIDDEN, "…").split())
            yield match.start(), found, f"{found!r}: write {rule['use']}; {rule['why']}"


def _pattern(rule: Mapping[str, Any]) -> re.Pattern[str]:
    return re.compile(rule["pattern"], 0 if rule.get("case", False) else re.IGNORECASE)


def _let_pass(text: str, exceptions: list[Mapping[str, str]]) -> Iterator[tuple[int, int]]:
    for each in exceptions:
        for match in re.finditer(each["pattern"], text):
            yield match.span()


def _counts(chapter: Chapter) -> Iterator[tuple[int, str]]:
    """Refuse 2(n-1)/n for all-reduce as if it held for every algorithm: in-network ones do not."""
    for block in chapter.page.blocks:
        text = "".join(
            piece.text for piece in block.pieces if piece.kind != "engine"
        )  # the formula is what is looked for
        if not COUNT.search(text) or not ALL_REDUCE.search(text) or CONDITION.search(text):
            continue
        if OF_ALL.search(text) or not BY_NAME.search(text):
            advice = (
                "2(n-1)/n S is true of algorithms that send and receive: say so in this paragraph, "
                "or name the algorithm that is counted"
            )
            yield block.line, advice


def _bits(chapter: Chapter) -> Iterator[tuple[int, str]]:
    """Let a page that writes Gb/s say, in the first such paragraph, that it counts bits."""
    for block in chapter.page.blocks:
        text = _with_numbers(block)
        found = re.search(r"(?<=\d)[\s\u00a0]?([MGT]b/s)\b", text)
        if found and re.search(r"\bbits?\b", text):
            return
        if found:
            advice = (
                f"{found[1]!r}: write GB/s, or say in the paragraph that it counts bits; "
                "a small b is easily read as a byte"
            )
            yield block.line, advice


def _directions(chapter: Chapter) -> Iterator[tuple[int, str]]:
    """Let the first bandwidth of a page say that it counts one direction."""
    rates = [
        block
        for block in chapter.page.blocks
        if RATE.search(_with_numbers(block)) and not BUS.search(block.text)
    ]
    if rates and not DIRECTION.search(_with_numbers(rates[0])):
        advice = (
            "the first bandwidth of a page says `per direction`: some count both directions, and "
            "the factor is two"
        )
        yield rates[0].line, advice


def _with_numbers(block: Block) -> str:
    """Return the text of a block with what its roles write, as far as the unit can be told."""
    shown = []
    for piece in block.pieces:
        if piece.kind == "engine":
            shown.append("1 GB/s" if piece.text.strip().endswith("GBps") else HIDDEN)
        elif piece.kind in {"code", "math"} or "cite" in piece.kind:
            shown.append(HIDDEN)
        else:
            shown.append(piece.text)
    return "".join(shown)
