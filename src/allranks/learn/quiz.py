"""The quiz bank: practice items as plain data for the page, and the judge of an answer.

`practice` builds an item from its template and a seed; the engine computes every number in it.
`judge` says what an answer is worth, in a terminal or on a server; `view/static/judge.js` does the
same in a page, and a test holds both to the same cases.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from allranks.errors import unknown_name
from allranks.learn import items
from allranks.learn.templates import ClashError, Data, Template
from allranks.units import Quantity, parse_quantity

PASS_MARK = 0.80
"""The share of a quiz that passes it, wherever a mark is named."""

ITEMS: dict[str, Template] = items.load()
TRIES = 500
COUNTED = (
    "alphas",
    "blocks",
    "chunks",
    "elements",
    "messages",
    "ranks",
    "segments",
    "steps",
    "times",
    "transfers",
)


def item_ids(chapter: str | None = None) -> list[str]:
    """Return the ids of all items, or of one chapter ("03"), in the order of the course."""
    return [each for each in ITEMS if chapter is None or each.startswith(f"{chapter}-")]


def practice(item_id: str, *, seed: int = 0) -> Data:
    """Return a practice item in the format "allranks.quiz/1" (see `view.html.quiz_html`).

    The same seed gives the same numbers, on every machine.

    Raises:
        ValueError: no such item; the message suggests the nearest one.

    >>> practice("00-what-is-nccl")["type"]
    'choice'
    """
    if item_id not in ITEMS:
        raise ValueError(unknown_item(item_id))
    template = ITEMS[item_id]
    draw = random.Random(f"{item_id} {seed}")  # noqa: S311 - numbers of a question, no secret
    data = _drawn(item_id, template, draw)
    head: Data = {"id": item_id, "type": template.type}
    if template.predict:
        head["predict"] = True
    return {**head, **{name: value for name, value in data.items() if value != ""}}


def unknown_item(item_id: str) -> str:
    """Return the sentence for an item that does not exist, with the nearest one that does."""
    # unknown_name reads '-' as '_': compare in that spelling, answer in ours
    sentence = unknown_name("quiz item", item_id, [each.replace("-", "_") for each in ITEMS])
    for each in ITEMS:
        sentence = sentence.replace(each.replace("-", "_"), each)
    return sentence


def _drawn(item_id: str, template: Template, draw: random.Random) -> Data:
    for _ in range(TRIES):
        try:
            return template.build(draw)
        except ClashError:
            continue
    message = f"{item_id}: no numbers in {TRIES} draws tell right from wrong; widen the template"
    raise ValueError(message)


@dataclass(frozen=True)
class Judgement:
    """What an answer is worth: `right`, `share` (0 to 1), and the sentence to show.

    `counts` is false where nothing was really answered (empty, unreadable, a wrong unit): that is
    no attempt. `read` is how a number was understood.
    """

    right: bool
    text: str
    counts: bool = True
    share: float = 0.0
    misconception: str | None = None
    read: str = ""


def judge(item: Mapping[str, Any], answer: Any) -> Judgement:  # noqa: ANN401 - by the item's type
    """Return what an answer is worth.

    The answer is text for num, an option's id for choice, a list of ids for multi and order, a line
    number for spot, [src, dst, chunk, op] for next, {(rank, chunk): parts} for state.
    """
    judges: dict[str, Callable[[Mapping[str, Any], Any], Judgement]] = {
        "choice": _judge_choice,
        "multi": _judge_multi,
        "num": _judge_num,
        "order": _judge_order,
        "state": _judge_state,
        "next": _judge_next,
        "spot": _judge_spot,
    }
    if answer is None or answer in ("", [], {}) or (isinstance(answer, str) and not answer.strip()):
        return Judgement(right=False, counts=False, text="Answer first; nothing was counted.")
    return judges[item["type"]](item, answer)


def _yes(text: str, read: str = "") -> Judgement:
    return Judgement(right=True, text=text, share=1.0, read=read)


def _no(trap: Mapping[str, Any] | None, otherwise: str, read: str = "") -> Judgement:
    if trap is None:
        return Judgement(right=False, text=otherwise, read=read)
    return Judgement(
        right=False, text=trap["feedback"], misconception=trap["misconception"], read=read
    )


def _uncounted(text: str, read: str = "") -> Judgement:
    return Judgement(right=False, counts=False, text=text, read=read)


def _judge_choice(item: Mapping[str, Any], answer: str) -> Judgement:
    option = _first(item["options"], lambda each: each["id"] == answer)
    if option is None:
        return _uncounted(f"{answer!r} is none of the options; nothing was counted.")
    return _yes(option["feedback"]) if option["right"] else _no(option, "")


def _judge_multi(item: Mapping[str, Any], answer: Sequence[str]) -> Judgement:
    options = item["options"]
    chosen = [each for each in options if each["id"] in answer]
    if not chosen:
        return _uncounted("That is none of the options; nothing was counted.")
    wanted = [each for each in options if each["right"]]
    false = [each for each in chosen if not each["right"]]
    if chosen == wanted:
        return _yes(" ".join(each["feedback"] for each in wanted))
    missing = len(wanted) - (len(chosen) - len(false))
    said = [each["feedback"] for each in false]
    if missing:
        said.append(
            f"{missing} right {'answer is' if missing == 1 else 'answers are'} still missing."
        )
    share = max(0.0, (len(chosen) - 2 * len(false)) / len(wanted))
    return Judgement(
        right=False,
        text=" ".join(said),
        share=share,
        misconception=false[0]["misconception"] if false else None,
    )


def _judge_num(item: Mapping[str, Any], answer: str) -> Judgement:
    key = item["num"]
    doubt = two_readings(str(answer))
    try:
        value, read = read_number(str(answer), key["unit"])
    except ValueError as error:
        return _uncounted(f"{error}. Nothing was counted.")
    right = _near(value, key["value"], key)
    # 5.775 is a decimal if that is right; nobody ends a decimal with the zero of 1.500
    if doubt and (not right or doubt.digits.endswith("0")):
        return _uncounted(f"{doubt.question} Nothing was counted.")
    if right:
        return _yes(key["feedback_right"], read)
    trap = _first(key["distractors"], lambda each: _near(value, each["value"], key))
    # the e of 1.5e3 is no unit
    unit_typed = re.search("[A-Za-z]", re.sub(r"(?<=\d)[eE](?=[+-]?\d)", "", str(answer)))
    if trap is None and unit_typed and _prefix_slip(value, key):
        note = (
            "The digits are right, the prefix of the unit is not (the question asks for "
            f"{key['unit']}). Nothing was counted."
        )
        return _uncounted(note, read)
    return _no(trap, key["feedback_else"], read)


def _prefix_slip(value: float, key: Mapping[str, Any]) -> bool:
    """Return whether the value misses the key by a prefix only: k for M, or MiB for MB."""
    loose = {"exact": False, "tolerance": 0.001}
    factors = [scale for step in (1, 2, 3) for scale in (1000.0**step, 1.024**step)]
    return bool(key["value"] and key["unit"]) and any(
        not _near(scaled, key["value"], key) and _near(value, scaled, loose)
        for factor in factors
        for scaled in (key["value"] * factor, key["value"] / factor)
    )


def _near(value: float, key: float, rule: Mapping[str, Any]) -> bool:
    room = 0.0 if rule["exact"] else abs(key) * float(rule["tolerance"])
    # both ends of the range count, whatever binary fractions make of them
    return abs(value - key) <= room + 1e-9 * max(abs(key), abs(value))


class Doubt(NamedTuple):
    """Digits that are one number in one country and another in the next, and what to ask."""

    digits: str
    question: str


def two_readings(text: str) -> Doubt | None:
    """Return the question about a number such as 1.500, which may be 1.5 or 1500.

    >>> two_readings("1.500 us").question
    "'1.500' can be read in two ways; write 1.5 or 1500."
    >>> two_readings("0.375") is None
    True
    """
    found = re.match(r"\s*([+-]?[1-9]\d{0,2}[.,]\d{3})(?![\d.,eE/])", text)
    if not found:
        return None
    digits = found[1]
    small, large = float(digits.replace(",", ".")), re.sub("[.,]", "", digits)
    question = f"{digits!r} can be read in two ways; write {small:.6g} or {large}."
    return Doubt(digits, question)


def read_number(text: str, unit: str | None) -> tuple[float, str]:
    """Return what a person typed, in `unit`, and the sentence that says how it was read.

    Raises:
        ValueError: no number, or a unit of another kind.

    >>> read_number("1,5 GB/s", "GB/s")
    (1.5, 'Read as 1.5 GB/s.')
    """
    plain = " ".join(text.split())
    wanted = unit or ""
    word = re.search(r"(?<=[\d ])[a-z]+$", plain)
    if word and _counted(word[0]):
        if _counted(word[0]) != _counted(wanted):
            message = f"You wrote {word[0]}; the question asks for a number {_asked(wanted)}"
            raise ValueError(message)
        plain = plain[: word.start()].rstrip()
    quantity = parse_quantity(plain)
    if _counted(wanted) and not quantity.unit:
        value = float(quantity.value)
    else:
        value = float(_in_unit(quantity, wanted))
    return value, f"Read as {value:.10g}{' ' + unit if unit else ''}."


def _counted(word: str) -> str:
    """Return "steps" for step and steps, and so on; "" for what is no counted thing."""
    return next((each for each in COUNTED if word in (each, each[:-1])), "")


def _asked(wanted: str) -> str:
    return f"in {wanted}" if wanted else "without a unit"


def _in_unit(quantity: Quantity, wanted: str) -> Any:  # noqa: ANN401 - an exact fraction
    if not quantity.unit:
        return quantity.value
    asked = None if _counted(wanted) else parse_quantity(f"1 {wanted}")
    if asked is None or quantity.kind != asked.kind:
        bits = "; a small b means bits, 8 to the byte" if quantity.kind == "bits" else ""
        message = (
            f"You wrote {quantity.unit}; the question asks for a number {_asked(wanted)}{bits}"
        )
        raise ValueError(message)
    if quantity.kind == "bytes_per_second" and "b" in quantity.unit and "b" not in wanted:
        message = (
            f"You wrote bits ({quantity.unit}); the question asks for {wanted}, and a byte has 8 "
            "bits"
        )
        raise ValueError(message)
    return quantity.value / asked.value


def _judge_order(item: Mapping[str, Any], answer: Sequence[str]) -> Judgement:
    key = item["order"]
    if list(answer) in [list(each) for each in key["answers"]]:
        return _yes(key["feedback_right"])
    return _no(
        _first(key["distractors"], lambda each: list(each["answer"]) == list(answer)),
        key["feedback_else"],
    )


def _judge_state(item: Mapping[str, Any], answer: Mapping[Any, Sequence[int]]) -> Judgement:
    key = item["state"]

    def chosen(cell: Mapping[str, Any]) -> list[int]:
        return sorted(answer.get((cell["rank"], cell["chunk"]), ()))

    asked = [cell for cell in key["cells"] if not cell["given"]]
    fitting = sum(chosen(cell) == sorted(cell["answer"]) for cell in asked)
    if fitting == len(asked):
        return _yes(key["feedback_right"])
    trap = _first(key["distractors"], lambda each: sorted(each["parts"]) == chosen(each))
    said = _no(trap, key["feedback_else"])
    return Judgement(
        right=False,
        text=said.text,
        misconception=said.misconception,
        share=fitting / len(asked),
    )


def _judge_next(item: Mapping[str, Any], answer: Sequence[int | str]) -> Judgement:
    key = item["next"]
    if list(answer) in [list(each) for each in key["answers"]]:
        return _yes(key["feedback_right"])
    return _no(
        _first(key["distractors"], lambda each: list(each["transfer"]) == list(answer)),
        key["feedback_else"],
    )


def _judge_spot(item: Mapping[str, Any], answer: int) -> Judgement:
    key = item["spot"]
    if answer == key["answer"]:
        return _yes(key["feedback_right"])
    return _no(
        _first(key["distractors"], lambda each: each["line"] == answer), key["feedback_else"]
    )


def _first(
    rows: Sequence[Mapping[str, Any]], fits: Callable[[Mapping[str, Any]], bool]
) -> Mapping[str, Any] | None:
    return next((row for row in rows if fits(row)), None)
