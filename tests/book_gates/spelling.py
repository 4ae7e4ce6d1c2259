"""Spelling: American English and the words of the field, in everything that a learner reads.

`python tests/book_gates/spelling.py [03-broadcast ...]` lists what it finds on these pages, or
everywhere: page, line, word, the nearest words that it knows. The words of the field stand in
`book/_gates/dictionary.txt`, one a line. The rest is Hunspell's dictionary for the United States.
"""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from spylls.hunspell import Dictionary

from allranks.learn.exercises import load_manifest
from allranks.learn.misconceptions import MISCONCEPTIONS
from allranks.learn.quiz import item_ids, practice
from allranks.serve.gates.rules import chapters

ROOT = Path(__file__).resolve().parents[2]
FIELD = ROOT / "book" / "_gates" / "dictionary.txt"
SEEDS = 10
LETTER = "[A-Za-z\u00b5\u00c0-\u024f\u0391-\u03c9]"
WORD = re.compile(rf"{LETTER}+(?:['’]{LETTER}+)*")
# Code in back quotes, addresses, paths, names with an underscore or a digit, places of a template.
NO_WORDS = re.compile(
    r"`[^`]*`|https?:\S+|\{[^{}]*\}\w*|\b[\w.-]*/[\w./-]*\w"
    r"|\b\w-th\b|\b\w*_\w*\b|\b\w*\d\w*\b|\b\w+\.(?:py|md|cc)\b"
)
KEYS = {"stem", "text", "feedback", "feedback_right", "feedback_else", "explanation", "unit"}


class Text(NamedTuple):
    """A sentence that a learner reads, and where it stands."""

    place: str
    line: int
    text: str


class Unknown(NamedTuple):
    """A word that no dictionary has."""

    place: str
    line: int
    word: str

    def __str__(self) -> str:
        near = ", ".join(nearest(self.word)) or "nothing near"
        return f"{self.place}:{self.line}: {self.word}: no word of the dictionaries; {near}"


@cache
def english() -> Dictionary:
    with warnings.catch_warnings():
        # The library leaves the files of its dictionary to be closed by the interpreter.
        warnings.simplefilter("ignore", ResourceWarning)
        return Dictionary.from_files("en_US")


@cache
def field() -> frozenset[str]:
    return frozenset(FIELD.read_text(encoding="utf-8").split())


def is_known(word: str) -> bool:
    """Return whether a word is English or of the field; a capital may begin a sentence."""
    plain = word.replace("’", "'")
    stem = re.sub(r"'s$|'$", "", plain)
    forms = {plain, stem, stem[:1].lower() + stem[1:]}
    if len(stem) == 1 or forms & field():
        return True
    return any(english().lookup(form) for form in forms)


def unknown(texts: Iterable[Text]) -> list[Unknown]:
    """Return the words that nobody knows, each once for every place."""
    found = []
    for each in texts:
        readable = NO_WORDS.sub(lambda hidden: " " * len(hidden.group()), each.text)
        found += [
            Unknown(each.place, each.line + readable[: match.start()].count("\n"), match.group())
            for match in WORD.finditer(readable)
            if not is_known(match.group())
        ]
    return list(dict.fromkeys(found))


def nearest(word: str) -> list[str]:
    """Return the three nearest words that begin with the same letter.

    >>> nearest("recieve")[0]
    'receive'
    """
    low = word.lower()
    stems = {entry.stem for entry in english().dic.words} | field()
    near = [each for each in stems if each[:1].lower() == low[:1] and abs(len(each) - len(low)) < 4]
    return difflib.get_close_matches(low, near, n=3, cutoff=0.6)


def pages(names: Iterable[str] = ()) -> Iterator[Text]:
    """Yield the prose of the pages whose names begin so."""
    chosen = tuple(names)
    for chapter in chapters(ROOT):
        if chosen and not chapter.name.rpartition("/")[2].startswith(chosen):
            continue
        for block in chapter.page.blocks:
            if block.kind != "math":
                yield Text(chapter.path, block.line, block.text)


def items(chapter: str | None = None) -> Iterator[Text]:
    """Yield what the items say, over some seeds."""
    for item_id in item_ids(chapter):
        seen: set[str] = set()
        for seed in range(SEEDS):
            for text in _said(practice(item_id, seed=seed)):
                if text not in seen:
                    seen.add(text)
                    yield Text(f"item {item_id}", seed, text)


def _said(data: Any, key: str = "text") -> Iterator[str]:
    if isinstance(data, str) and key in KEYS:
        yield data
    elif isinstance(data, Mapping):
        for name, value in data.items():
            yield from _said(value, name)
    elif isinstance(data, list):
        for value in data:
            yield from _said(value, key)


def exercises() -> Iterator[Text]:
    """Yield titles, hints, reasons and feedback of the exercises, and the misconceptions."""
    for exercise in load_manifest():
        place = f"exercise {exercise.slug}"
        said = [exercise.title, *exercise.hints, exercise.why]
        said += [rule.text for rule in exercise.feedback]
        yield from (Text(place, number, text) for number, text in enumerate(said, start=1))
    for name, sentence in MISCONCEPTIONS.items():
        yield Text(f"misconception {name}", 1, sentence)


def main(names: list[str]) -> int:
    """Print every unknown word; return 1 if there is one."""
    texts = [*pages(names)]
    for name in names or [None]:
        texts += items(name[:2] if name else None)
    texts += exercises()
    found = unknown(texts)
    sys.stdout.writelines(f"{each}\n" for each in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
