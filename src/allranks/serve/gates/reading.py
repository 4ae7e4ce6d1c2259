"""Read a page of the book as its reader does: blocks of prose, each piece with its line.

The gates look at prose alone. What a cell computes, what a listing includes and what a role hides
are told apart here, once, with the parser that the book itself is built with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from allranks.view.sphinx import escape_bars

EXTENSIONS = {"amsmath", "colon_fence", "deflist", "dollarmath", "substitution"}
HIDDEN = "\N{OBJECT REPLACEMENT CHARACTER}"
"""What stands in a sentence for a piece that is no prose: code, a formula, a computed number."""
NOT_PROSE = {
    *("bibliography", "chunk-quiz", "code", "code-block", "code-cell", "csv-table", "eval-rst"),
    "footbibliography",
    *("literalinclude", "mermaid", "prf:algorithm", "raw", "tableofcontents", "toctree"),
}
"""Directives whose content is data or code; every other one holds prose."""
TITLED = {"admonition", "dropdown", "nccl", "note", "takeaway", "tip", "topic", "warning"}
"""Directives whose argument is read as a title."""
KINDS = {
    "text": "text",
    "image": "text",
    "code_inline": "code",
    "math_inline": "math",
    "math_single": "math",
    "math_inline_double": "math",
}
"""The kind of piece that a token is."""
READ_OPTIONS = {"alt", "caption", "title"}
WORDS_AND_TARGET = re.compile(r"(?P<words>.+?)\s*<(?P<target>[^<>]*)>", re.DOTALL)

_NAMED = re.compile(r"\{(?P<name>[\w:-]+)\}\s*(?P<argument>.*)", re.DOTALL)
_OPTION = re.compile(r":(?P<name>[\w-]+):[ \t]*(?P<value>.*)")


@dataclass(frozen=True)
class Piece:
    """A run of one kind: text, code, math, or the name of a role such as engine or given.

    `marked` says that it is bold or italic. `target` is where a link leads, or what stands in the
    angle brackets of a role.
    """

    kind: str
    text: str
    line: int
    marked: bool = False
    target: str = ""


@dataclass(frozen=True)
class Block:
    """A paragraph, a heading, a table cell, a formula, an option that is read.

    `inside` names the directives around it, outermost first. `row` is the same for the cells of
    one row; `head` is the first word of the first column of the table that holds a cell.
    """

    kind: str
    line: int
    pieces: tuple[Piece, ...]
    inside: tuple[str, ...] = ()
    level: int = 0
    row: int = 0
    column: int = 0
    head: str = ""

    @property
    def text(self) -> str:
        """Return the sentence, with one sign in the place of what is no prose."""
        return "".join(shown(piece) for piece in self.pieces)

    def line_at(self, offset: int) -> int:
        """Return the line of the page on which this place of `text` stands."""
        line = self.line
        for piece in self.pieces:
            if offset < 0:
                break
            line = piece.line
            offset -= len(shown(piece))
        return line


class Directive(NamedTuple):
    """A directive as it is written: figures, cells and listings are judged by what it says."""

    name: str
    argument: str
    options: dict[str, str]
    body: str
    line: int


@dataclass
class Page:
    """A page: its blocks of prose, and its directives."""

    name: str
    source: str
    blocks: list[Block] = field(default_factory=list)
    directives: list[Directive] = field(default_factory=list)
    images: list[tuple[int, str, str]] = field(default_factory=list)

    def pieces(self, kind: str) -> Iterator[tuple[Block, Piece]]:
        """Yield every piece of this kind with the block that holds it."""
        for block in self.blocks:
            for piece in block.pieces:
                if piece.kind == kind:
                    yield block, piece


def shown(piece: Piece) -> str:
    """Return what a piece adds to the text of its block: nothing is as long as it was typed."""
    return piece.text if piece.kind in {"text", "show", "mis", "words"} else HIDDEN


def read(source: str, name: str = "page") -> Page:
    """Return the page that this Markdown is.

    >>> page = read("It takes {given}`48 MB` in `code` and 12 us.")
    >>> [(piece.kind, piece.text) for piece in page.blocks[0].pieces]
    [('text', 'It takes '), ('given', '48 MB'), ('text', ' in '), ('code', 'code'), \
('text', ' and 12 us.')]
    """
    page = Page(name, source)
    _Reader(page).read(escape_bars(source), offset=0, inside=())
    return page


@cache
def _parser() -> MarkdownIt:
    config = MdParserConfig(enable_extensions=EXTENSIONS)
    return create_md_parser(config, RendererHTML)


@dataclass
class _Place:
    """Where the reader is: in a heading, in a cell, or in a paragraph."""

    kind: str = "paragraph"
    level: int = 0
    row: int = 0
    column: int = 0
    head: str = ""


class _Reader:
    """Walks the tokens of a page and of the directives in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.rows = 0

    def read(self, source: str, *, offset: int, inside: tuple[str, ...]) -> None:
        """Add what `source` holds; its first line is line `offset` + 1 of the page."""
        place = _Place()
        for token in _parser().parse(source):
            line = offset + (token.map[0] if token.map else 0) + 1
            self._move(place, token)
            if token.type == "inline":
                self._words(place, token, line, inside)
            elif token.type in {"fence", "colon_fence"}:
                self._directive(token, line, inside)
            elif token.type in {"math_block", "math_block_label", "amsmath"}:
                self._add("math", Piece("math", token.content, line), inside)
            elif token.type == "html_block":
                words = re.sub(r"<!--.*?-->|<[^>]*>", " ", token.content, flags=re.DOTALL)
                self._add("paragraph", Piece("text", words, line), inside)

    def _move(self, place: _Place, token: Token) -> None:
        match token.type:
            case "heading_open":
                place.kind, place.level = "heading", int(token.tag[1])
            case "heading_close" | "table_close" | "table_open":
                place.kind, place.level, place.head = "paragraph", 0, ""
            case "tr_open":
                self.rows += 1
                place.row, place.column = self.rows, -1
            case "th_open" | "td_open":
                place.kind, place.column = "cell", place.column + 1
            case _:
                pass

    def _words(self, place: _Place, token: Token, line: int, inside: tuple[str, ...]) -> None:
        in_cell = place.kind == "cell"
        if in_cell and place.column == 0 and not place.head:
            place.head = token.content.strip().lower()
        block = Block(
            place.kind,
            line,
            tuple(self._pieces(token.children or (), line)),
            inside,
            level=place.level,
            row=place.row if in_cell else 0,
            column=place.column if in_cell else 0,
            head=place.head,
        )
        self.page.blocks.append(block)

    def _add(self, kind: str, piece: Piece, inside: tuple[str, ...]) -> None:
        self.page.blocks.append(Block(kind, piece.line, (piece,), inside))

    def _directive(self, token: Token, line: int, inside: tuple[str, ...]) -> None:
        named = _NAMED.fullmatch(token.info.strip())
        if named is None:
            return
        name, argument = named["name"], named["argument"].strip()
        options, skipped = _options(token.content)
        body = "\n".join(token.content.split("\n")[skipped:])
        self.page.directives.append(Directive(name, argument, options, body, line))
        if name in NOT_PROSE:
            return
        around = (*inside, name)
        if name == "math":
            self._add("math", Piece("math", body, line + 1), around)
            return
        read_here = [argument] if name in TITLED and argument else []
        read_here += [value for key, value in options.items() if key in READ_OPTIONS]
        for words in read_here:
            self._add("option", Piece("text", words, line), around)
        self.read(body, offset=line + skipped, inside=around)

    def _pieces(self, tokens: Sequence[Token], line: int) -> Iterator[Piece]:
        marked, target = 0, ""
        for token in tokens:
            if token.type in {"softbreak", "hardbreak"}:
                yield Piece("text", "\n", line, marked > 0, target)
                line += 1
            elif token.type in {"strong_open", "strong_close", "em_open", "em_close"}:
                marked += token.nesting
            elif token.type in {"link_open", "link_close"}:
                target = str(token.attrs.get("href", ""))
            elif token.type == "myst_role":
                yield _role(token, line, marked=marked > 0)
            elif token.type in KINDS:
                if token.type == "image":
                    self.page.images.append((line, str(token.attrs["src"]), token.content))
                yield Piece(KINDS[token.type], token.content, line, marked > 0, target)


def _role(token: Token, line: int, *, marked: bool) -> Piece:
    name = str(token.meta.get("name", ""))
    found = WORDS_AND_TARGET.fullmatch(token.content)
    if name in {"show", "mis"} and found:
        return Piece(name, found["words"], line, marked, found["target"])
    if name == "mis":  # the whole paragraph answers
        return Piece(name, "", line, marked, token.content)
    if name in {"ref", "doc"} and found:
        return Piece("words", found["words"], line, marked, found["target"])
    return Piece(name, token.content, line, marked)


def _options(content: str) -> tuple[dict[str, str], int]:
    """Return the options at the head of a directive, and how many lines they take."""
    options: dict[str, str] = {}
    lines = content.split("\n")
    for number, line in enumerate(lines):
        found = _OPTION.fullmatch(line.strip())
        if found is None:
            return options, number
        options[found["name"]] = found["value"].strip()
    return options, len(lines)
