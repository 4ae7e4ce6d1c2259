"""Weighs the answers of a value exercise: the calls as the child gets them, and what is wrong.

What came out of the child is data of unknown worth: it is read within limits, and the judge of the
exercise says what each answer is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allranks.learn.exercises import Exercise, Feedback
from allranks.learn.expressions import evaluate, fill
from allranks.learn.judges import JUDGES, AnswerError, Call, Refusal
from allranks.learn.plain import NotPlainError, pack, unpack

Spoken = tuple[str, str | None]


@dataclass(frozen=True)
class Wrong:
    """The wrong answer that a verdict speaks of, and what the manifest has to say about it."""

    message: str
    event: Mapping[str, Any]
    spoken: Spoken | None = None


def calls_of(exercise: Exercise) -> tuple[Call, ...]:
    """Return every call that is made, in order."""
    return tuple(JUDGES[exercise.judge].cases())


def request_of(exercise: Exercise, call: Call) -> dict[str, Any]:
    """Return a call as the child gets it; every call unpacks its arguments afresh."""
    judge = JUDGES[exercise.judge]
    return {
        "function": call.function or exercise.entry[0],
        "arguments": pack(dict(call.arguments)),
        "may_refuse": judge.may_refuse,
        "keeps_arguments": judge.keeps_arguments,
    }


def weigh(exercise: Exercise, calls: Sequence[Call], answers: Sequence[Any]) -> Wrong | None:
    """Return what is wrong with the answers that came, None if all of them are right.

    Of the feedbacks in the manifest the one that fits the most wrong answers speaks, the first of
    them if several do, for one answer may look like a mistake that nobody made.
    """
    wrong = []
    changed: tuple[Call, str] | None = None
    for call, answer in zip(calls, answers, strict=False):
        try:
            facts = _facts(exercise, call, answer)
        except AnswerError as error:
            facts = {"right": False, "message": str(error), "form": True}
        if not facts["right"]:
            wrong.append((call, facts))
        elif changed is None:
            changed = next(((call, name) for name in _changed(exercise, call, answer)), None)
    if wrong:
        call, facts, spoken = _worth_telling(exercise, wrong)
        return _wrong(exercise, call, facts["message"], spoken)
    if changed:
        call, name = changed
        message = (
            f"the answer is right, but the argument {name} was changed; work on a copy of it, as "
            "the caller still needs it"
        )
        return _wrong(exercise, call, message, None)
    return None


def _facts(exercise: Exercise, call: Call, answer: object) -> Mapping[str, Any]:
    judge = JUDGES[exercise.judge]
    if isinstance(answer, dict) and judge.may_refuse and isinstance(answer.get("refused"), str):
        return judge.facts(call, Refusal(answer["refused"]))
    try:
        wire = answer["data"] if isinstance(answer, dict) and "data" in answer else {}
        value = unpack(wire)
    except NotPlainError as error:
        message = f"what it returned cannot be read: {error}"
        return {"right": False, "message": message, "form": True}
    return judge.facts(call, value)


def _changed(exercise: Exercise, call: Call, answer: Mapping[str, Any]) -> list[str]:
    if not JUDGES[exercise.judge].keeps_arguments:
        return []
    said = answer.get("changed")
    return [name for name in call.arguments if isinstance(said, list) and name in said]


def _worth_telling(
    exercise: Exercise, wrong: Sequence[tuple[Call, Mapping[str, Any]]]
) -> tuple[Call, Mapping[str, Any], Spoken | None]:
    judged = [pair for pair in wrong if "form" not in pair[1]]
    best: tuple[int, Feedback | None] = (0, None)
    for feedback in exercise.feedback:
        fits = sum(bool(evaluate(feedback.when, facts)) for _, facts in judged)
        if fits > best[0]:
            best = (fits, feedback)
    chosen = best[1]
    if chosen is None:
        return *wrong[0], None
    call, facts = next(pair for pair in judged if evaluate(chosen.when, pair[1]))
    return call, facts, (fill(chosen.text, facts), chosen.misconception)


def _wrong(exercise: Exercise, call: Call, message: str, spoken: Spoken | None) -> Wrong:
    message = f"{call.words(exercise.entry[0])}: {message}"
    return Wrong(message, {"kind": "value", "message": message}, spoken)
