"""What the gates share: findings, the pages in the book's order, and what is let pass, and why.

`book/_gates/` holds what authors may change: `numbers.toml`, `words.toml` and `terms.toml` for all
pages, and `<page>.toml` for one page. Every entry there says why; an entry of a page that no longer
matches anything is a finding itself, so the lists stay as short as the truth.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from allranks.serve.gates.reading import Page, read

FOLDER = "_gates"
PAGE_LISTS = {"number", "given", "word", "term"}


class RulesError(ValueError):
    """A file of the gates is not what its readers expect."""


class Finding(NamedTuple):
    """Something that a page must not say, where it says it, and what to do."""

    page: str
    line: int
    gate: str
    text: str

    def __str__(self) -> str:
        """Return one line: page, line, gate, and what to do."""
        return f"{self.page}:{self.line}: {self.gate}: {self.text}"


@dataclass
class Allowed:
    """What one page may say, with the reasons; it remembers what was needed."""

    path: str
    entries: dict[str, list[Mapping[str, str]]]
    used: set[tuple[str, str]] = field(default_factory=set)

    def has(self, kind: str, text: str) -> bool:
        """Return whether this text of this kind is let pass on the page."""
        for entry in self.entries.get(kind, ()):
            if entry["text"].casefold() == text.casefold():
                self.used.add((kind, entry["text"]))
                return True
        return False

    def unused(self, kinds: Iterable[str]) -> Iterator[Finding]:
        """Yield a finding for every entry of these kinds that nothing on the page needed."""
        for kind in kinds:
            for entry in self.entries.get(kind, ()):
                if (kind, entry["text"]) not in self.used:
                    text = f"nothing on the page needs the {kind} {entry['text']!r}; take it out"
                    yield Finding(self.path, 1, "allowed", text)


class Chapter(NamedTuple):
    """A page with its place in the book."""

    name: str
    path: str
    page: Page
    allowed: Allowed


def chapter(root: Path, path: Path) -> Chapter:
    """Return one page, read, with what is let pass on it."""
    name = path.relative_to(root / "book").with_suffix("").as_posix()
    shown = path.relative_to(root).as_posix()
    page = read(path.read_text(encoding="utf-8"), name)
    return Chapter(name, shown, page, allowances(root / "book" / FOLDER, name))


def chapters(root: Path) -> list[Chapter]:
    """Return the pages that `_toc.yml` names, in the order of the book."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    files = [toc["root"], *_files(toc)]
    return [chapter(root, root / f"{name}.md") for name in files if name.startswith("book/")]


def _files(node: Any) -> Iterator[str]:  # noqa: ANN401 - whatever YAML holds
    if isinstance(node, dict):
        if "file" in node:
            yield str(node["file"])
        for key in ("parts", "chapters", "sections", "subtrees", "entries"):
            yield from _files(node.get(key, []))
    elif isinstance(node, list):
        for each in node:
            yield from _files(each)


def allowances(folder: Path, name: str) -> Allowed:
    """Return what the file of a page lets pass.

    Raises:
        RulesError: an entry without a reason, or of a kind that no gate knows.
    """
    path = folder / f"{name.replace('/', '.')}.toml"
    shown = f"book/{folder.name}/{path.name}"
    entries = dict(table(path)) if path.is_file() else {}
    for kind, rows in entries.items():
        if kind not in PAGE_LISTS:
            message = f"{shown}: [[{kind}]] is no list of a page; known: {sorted(PAGE_LISTS)}"
            raise RulesError(message)
        for row in rows:
            if set(row) != {"text", "why"} or not all(str(value).strip() for value in row.values()):
                message = f"{shown}: [[{kind}]] {row}: write text and why, nothing else"
                raise RulesError(message)
    return Allowed(shown, entries)


@cache
def table(path: Path) -> Mapping[str, Any]:
    """Return a TOML file, read once.

    Raises:
        RulesError: it is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        message = f"{path.name}: {error}"
        raise RulesError(message) from error


def listed(findings: Iterable[Finding]) -> str:
    """Return all findings, one a line, in the order of pages and lines."""
    return "\n".join(f"  {each}" for each in sorted(set(findings)))
