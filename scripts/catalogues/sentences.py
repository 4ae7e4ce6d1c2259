"""A sentence that a learner reads, wherever it is written, with a named place for every value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LETTERS = re.compile(r"[^\W\d_]{2,}")
NAMES = re.compile(r"\b(?:ar|chunk)-[\w-]*|--[\w-]+|[\w.-]+\([^)]*\)|\w+_\w+")
"""Classes, elements, properties and calls are made of words and are none."""


@dataclass(frozen=True)
class Sentence:
    """A text, the file and line it stands in, and what the names of its places stand for."""

    text: str
    file: str
    line: int
    places: dict[str, str] = field(default_factory=dict, hash=False)


def is_sentence(own: str) -> bool:
    """Return whether a literal speaks: two words, or one that ends a sentence.

    >>> is_sentence("Try again"), is_sentence("Right."), is_sentence("At  , finished:  .")
    (True, True, True)
    >>> is_sentence("ar-feedback ar-note"), is_sentence("right"), is_sentence("M 3 4z")
    (False, False, False)
    """
    text = NAMES.sub(" ", own).strip()
    words = LETTERS.findall(text)
    several = len(words) > 1 and " " in text
    return several or (len(words) == 1 and re.search(r"[^\W\d_]{2,}[.:!?]$", text) is not None)


def place_name(code: str, taken: dict[str, str], *, called: bool = False) -> str:
    """Return a short name for a value, and note what it stands for.

    >>> taken = {}
    >>> place_name("lane.title", taken), place_name("seconds(x)", taken, called=True)
    ('title', 'seconds')
    """
    words = re.findall(r"[^\W\d]\w*", code) or ["value"]
    base = words[0] if called else words[-1]
    name, count = base, 2
    while name in taken:
        if taken[name] == code:
            return name
        name, count = f"{base}_{count}", count + 1
    taken[name] = code
    return name
