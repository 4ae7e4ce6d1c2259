"""Find the numbers that nobody computes: a numeral with a unit, with decimals, or of 10 and more.

`{engine}` computes a number, `{given}` states one: the parameter of a case, or what a source says.
A numeral of any other sentence is a claim that nobody checks. Formulas are read too: `$0.84$` is a
number. What is no claim (a year, a version, the name of a product) stands in `numbers.toml`, with
the reason; what a page alone may say stands in its own file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from allranks.serve.gates.reading import Block, Page, Piece, shown
from allranks.serve.gates.rules import Allowed, Chapter, Finding
from allranks.units import parse_quantity

UNITS = (
    *("GB/s", "Gb/s", "MB/s", "kB/s", "TB/s", "GiB/s", "MiB/s", "Gbit/s"),
    *("ns", "us", "µs", "μs", "ms", "s", "min", "seconds?", "minutes?", "hours?", "days?"),
    *("B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "bytes?", "bits?", "GHz", "W", "€"),
    *("%", "percent", "×", "x", "times", "steps?", "messages?", "ranks?", "chunks?", "segments?"),
    *("hops?", "alphas?", "α", "β", "S", "blocks?", "pieces?", "parts", "ports", "links", "cores"),
    *("elements?", "vectors?", "processes", "actors", "GPUs?", "nodes?", "switches", "trees"),
)
ENOUGH = 10
LABELS = (
    "rank|step|chunk|block|segment|piece|part|level|phase|node|GPU|root|switch|port|chapter|"
    "element|distance|row|column|line|case|tree|number|version"
)
SOURCE = {
    "code": re.compile(r"(?!\.venv|exercises/)[\w./-]+\.(?:cc|cu|h|hpp|c|py|md|rst|txt|json|csv)"),
    "text": re.compile(r"\bdoi\b|\barXiv\b|\bread 20\d\d-\d\d\b|\bSource:|\bissue \d+"),
}
READING_TIME = re.compile(r"\d+ (?:minutes?|hours?)")

_NUMBER = r"(?<![\w.,/^-])\d(?:[\d.,]*\d)?(?:e[+-]?\d+)?"
_UNIT = rf"(?:[\s\u00a0-]?(?P<unit>{'|'.join(sorted(UNITS, key=len, reverse=True))})(?![\w/]))?"
_QUANTITY = re.compile(rf"(?P<number>{_NUMBER}){_UNIT}")
_LABEL = re.compile(rf"\b(?:{LABELS})s?\s$", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“][^\"“”]*[\"”]")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_TEX_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3}(?!\d))*(?:\.\d+)?")
_PLAIN_NUMBER = re.compile(r"\d[\d.,]*")

Patterns = Iterable[Mapping[str, str]]


def findings(chapter: Chapter, rules: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield every numeral of a page that is typed by hand, and every `{given}` without a reason."""
    patterns = rules.get("allowed", ())
    for block in chapter.page.blocks:
        for line, text in typed(block, chapter.page, patterns):
            if not chapter.allowed.has("number", text):
                advice = (
                    f"{text!r} is typed by hand; write it with {{engine}}, or with {{given}} if it "
                    "is a parameter or stands beside its source"
                )
                yield Finding(chapter.path, line, "number", advice)
    defined = {each["text"] for each in rules.get("given", ())}
    for line, text, stands_for in givens(chapter.page, chapter.allowed, defined):
        if stands_for is None:
            advice = (
                f"{{given}} {text!r} is neither a parameter of a figure, cell or {{engine}} of this"
                " page nor beside a source; name its source there, or say what it stands for in "
                f"{chapter.allowed.path} under [[given]]"
            )
            yield Finding(chapter.path, line, "given", advice)
    yield from chapter.allowed.unused(("number", "given"))


def typed(block: Block, page: Page, patterns: Patterns = ()) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of the numerals of a block that are neither computed, given nor quoted."""
    if block.kind == "math":
        for piece in block.pieces:
            yield from _in_formula(piece, patterns)
        return
    for piece in block.pieces:
        if piece.kind == "math" and not _PLAIN_NUMBER.fullmatch(piece.text.strip()):
            yield from _in_formula(piece, patterns)
    text = "".join(
        piece.text.strip() if _is_plain_number(piece) else shown(piece) for piece in block.pieces
    )
    covered = list(_spans(text, patterns))
    if is_sourced(block, page):
        covered += [match.span() for match in _QUOTED.finditer(text)]
    for match in _QUANTITY.finditer(text):
        start, end = match.span()
        labelled = _LABEL.search(text[:start]) is not None
        unit = None if labelled else match["unit"]
        if not _counts(match["number"], unit):
            continue
        if any(low <= start and match.end("number") <= high for low, high in covered):
            continue
        found = text[start : end if unit else match.end("number")]
        yield block.line_at(start), " ".join(found.split())


def _is_plain_number(piece: Piece) -> bool:
    return piece.kind == "math" and _PLAIN_NUMBER.fullmatch(piece.text.strip()) is not None


def _counts(number: str, unit: str | None) -> bool:
    if unit:
        return True
    return re.search(r"[.,]\d", number) is not None or float(number) >= ENOUGH


def _in_formula(piece: Piece, patterns: Patterns) -> Iterator[tuple[int, str]]:
    text = _COMMAND.sub(" ", piece.text.replace("{,}", ","))
    covered = list(_spans(text, patterns))
    for match in _TEX_NUMBER.finditer(text):
        number = match.group()
        start, end = match.span()
        if _counts(number, None) and not any(low <= start and end <= high for low, high in covered):
            line = piece.line + piece.text[: match.start()].count("\n")
            yield line, number


def _spans(text: str, patterns: Patterns) -> Iterator[tuple[int, int]]:
    for pattern in patterns:
        for match in re.finditer(pattern["pattern"], text):
            yield match.span()


def givens(
    page: Page, allowed: Allowed, defined: Collection[str] = ()
) -> Iterator[tuple[int, str, str | None]]:
    """Yield (line, text, what it stands for) of every `{given}`; None where nothing says it."""
    known = _parameters(page)
    for block, piece in page.pieces("given"):
        reason = "definition" if piece.text in defined else None
        reason = reason or _stands_for(block, piece, page, known, allowed)
        yield piece.line, piece.text, reason


def _stands_for(
    block: Block, piece: Piece, page: Page, known: set[float], allowed: Allowed
) -> str | None:
    if READING_TIME.fullmatch(piece.text):
        return "estimated time"
    if is_sourced(block, page):
        return "quotation"
    try:
        if float(parse_quantity(piece.text).value) in known:
            return "parameter"
    except ValueError:
        pass
    return "listed" if allowed.has("given", piece.text) else None


def is_sourced(block: Block, page: Page) -> bool:
    """Return whether a block, or the row of a table it stands in, names where it was read."""
    row = [each for each in page.blocks if each.row == block.row and each.kind == "cell"]
    for each in row if block.kind == "cell" else [block]:
        for piece in each.pieces:
            if piece.kind.startswith(("cite", "footcite")) or piece.target.startswith("http"):
                return True
            if piece.kind in SOURCE and SOURCE[piece.kind].search(piece.text):
                return True
    return False


def _parameters(page: Page) -> set[float]:
    """Return every number that the page computes with: in roles, figures, their links and cells."""
    found: set[float] = set()
    for _, piece in page.pieces("engine"):
        found |= _constants(piece.text.rpartition("|")[0])
    texts = [piece.target for _, piece in page.pieces("show")]
    for directive in page.directives:
        texts += directive.options.values()
        if directive.name == "code-cell":
            texts.append(directive.body.replace("_", ""))
    for text in texts:
        for match in re.finditer(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?", text):
            found.add(float(match.group()))
    return found


def _constants(expression: str) -> set[float]:
    try:
        tree = ast.parse(expression.strip().replace(r"\|", "|"), mode="eval")
    except SyntaxError:
        return set()  # the role itself says what is wrong
    return {
        float(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    }
