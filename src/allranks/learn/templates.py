"""What the templates of quiz items are made of: one function per kind of item, and number words.

A template draws its numbers from the random generator it is given, asks the engine for the key, and
returns plain data in the format "allranks.quiz/1" (see `view.html.quiz_html`). Where a wrong answer
would equal the key, it raises ClashError and is asked again with other numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allranks.learn.misconceptions import meaning

Data = dict[str, Any]
Draw = random.Random
LETTERS = "abcdefghijklmnop"


class ClashError(Exception):
    """The numbers drawn make a wrong answer right, or two answers the same: draw again."""


@dataclass(frozen=True)
class Template:
    """One item of the bank. `build(draw)` returns its data without id and type.

    `predict` items come before a figure; they may be skipped, and open it.
    """

    type: str
    build: Callable[[Draw], Data]
    predict: bool = False


def told(misconception: str, extra: str = "") -> str:
    """Return the sentence of a misconception, then the numbers of this instance."""
    return f"{meaning(misconception)} {extra}".strip()


def right(text: str, feedback: str) -> Data:
    """Return the right option of a choice, or one of the right ones of a multi."""
    return {"text": text, "right": True, "feedback": feedback, "misconception": None}


def wrong(text: str, misconception: str, extra: str = "") -> Data:
    """Return a wrong option that belongs to one misconception."""
    return {
        "text": text,
        "right": False,
        "feedback": told(misconception, extra),
        "misconception": misconception,
    }


def choice(draw: Draw, stem: str, options: Sequence[Data], explanation: str = "") -> Data:
    """Return a question with one right option; the options are shuffled and lettered.

    Raises:
        ClashError: two options read the same.
    """
    mixed = _lettered(draw, options)
    if sum(option["right"] for option in mixed) != 1:
        message = f"{stem!r}: a choice has exactly one right option"
        raise ValueError(message)
    return {"stem": stem, "options": mixed, "explanation": explanation}


def multi(draw: Draw, stem: str, options: Sequence[Data], explanation: str = "") -> Data:
    """Return a question with any number of right options, at least one.

    Raises:
        ClashError: two options read the same.
    """
    mixed = _lettered(draw, options)
    if not any(option["right"] for option in mixed):
        message = f"{stem!r}: at least one option must be right"
        raise ValueError(message)
    return {"stem": stem, "options": mixed, "explanation": explanation}


def _lettered(draw: Draw, options: Sequence[Data]) -> list[Data]:
    texts = [option["text"] for option in options]
    if len(set(texts)) < len(texts):
        raise ClashError(texts)
    mixed = list(options)
    draw.shuffle(mixed)
    return [{"id": LETTERS[place], **option} for place, option in enumerate(mixed)]


def trap(value: float, misconception: str, extra: str = "") -> Data:
    """Return a wrong number that belongs to one misconception."""
    return {
        "value": value,
        "feedback": told(misconception, extra),
        "misconception": misconception,
    }


def num(  # noqa: PLR0913 - the parts of one question
    stem: str,
    value: float,
    traps: Sequence[Data],
    *,
    feedback_right: str,
    feedback_else: str,
    unit: str | None = None,
    tolerance: float | None = None,
    explanation: str = "",
) -> Data:
    """Return a question for a number: exact if `tolerance` is None, else within that share of it.

    Raises:
        ClashError: a wrong number would be accepted, or cannot be told from another one.
    """
    room = abs(value) * (tolerance or 0) + 1e-9 * abs(value)
    numbers = [each["value"] for each in traps]
    for place, number in enumerate(numbers):
        others = [value, *numbers[:place]]
        if any(abs(number - other) <= 2 * room for other in others):
            raise ClashError(numbers)
    return {
        "stem": stem,
        "num": {
            "value": value,
            "unit": unit,
            "tolerance": tolerance or 0,
            "exact": tolerance is None,
            "distractors": list(traps),
            "feedback_right": feedback_right,
            "feedback_else": feedback_else,
        },
        "explanation": explanation,
    }


def keyed(  # noqa: PLR0913 - the parts of one question
    kind: str,
    stem: str,
    key: Mapping[str, Any],
    traps: Sequence[Data],
    *,
    feedback_right: str,
    feedback_else: str,
    explanation: str = "",
) -> Data:
    """Return an order, state, next or spot question: `key` is what its kind needs."""
    return {
        "stem": stem,
        kind: {
            **key,
            "distractors": list(traps),
            "feedback_right": feedback_right,
            "feedback_else": feedback_else,
        },
        "explanation": explanation,
    }


# number words


def size(nbytes: float) -> str:
    """Return a number of bytes as a person writes it.

    Six digits are shown where they say all, and else four: nobody reads 5.14286 kB.

    >>> size(48e6), size(3000), size(12), size(1_234_560), size(36000 / 7)
    ('48 MB', '3 kB', '12 B', '1.23456 MB', '5.143 kB')
    """
    scales = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
    factor, unit = next((each for each in scales if nbytes >= each[0]), scales[-1])
    value = nbytes / factor
    shown = f"{value:.6g}"
    return f"{shown if _says_all(shown, value) else f'{value:.4g}'} {unit}"


def _says_all(shown: str, value: float) -> bool:
    return abs(float(shown) - value) <= 1e-12 * abs(value)


def us(seconds: float) -> str:
    """Return a time in microseconds, or in milliseconds from 10 of them on.

    >>> us(12.36e-6), us(9.62e-3), us(0.123), us(7.92)
    ('12.4 µs', '9620 µs', '123 ms', '7.92 s')
    """
    if seconds >= 1:
        return f"{seconds:.4g} s"
    micro = seconds * 1e6
    if micro >= 1e4:  # noqa: PLR2004
        return f"{micro / 1e3:.4g} ms"
    return f"{micro:.3g} µs" if micro < 1e3 else f"{micro:.0f} µs"  # noqa: PLR2004


def listing(words: Iterable[object], last: str = "and") -> str:
    """Return words as a list in a sentence.

    >>> listing([0, 1, 2])
    '0, 1 and 2'
    """
    *firsts, final = map(str, words)
    return f"{', '.join(firsts)} {last} {final}" if firsts else final
