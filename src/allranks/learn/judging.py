"""Turns what a learner's processes said into a verdict, whatever kind of exercise it is.

The promise is worth 60 points, all or nothing; bytes 25 and latency 15: all at the target, half
within 1.3 times, else none. Every sentence that a learner reads is put together here or in the
kind's own module; what a process said is only ever quoted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from allranks.learn import process
from allranks.learn.exercises import Exercise
from allranks.learn.expressions import evaluate, fill
from allranks.learn.verdict import Verdict, points
from allranks.schedule import Schedule

NEAR = 1.3
# a few broken cases are enough for a verdict; the others would only cost the learner's time
MAX_BROKEN = 3
CRITERION = {"latency_terms": "latency"}


class AnyCase(Protocol):
    """One call of the learner's function, whatever its kind."""

    def words(self) -> str:
        """Return the case as a person reads it."""

    def facts(self) -> dict[str, Any]:
        """Return what the first wrong event says about the case."""


@dataclass(frozen=True)
class Outcome:
    """One answered case: what it costs, and which targets that misses: (quantity, value, target).

    `counted` is empty where nothing is to be counted.
    """

    case: AnyCase
    schedule: Schedule | None = None
    counted: Mapping[str, float] = field(default_factory=dict)
    missed: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True)
class Allowance:
    """What an answer may use, in the words of the messages about it."""

    names: str = "Transfer, Op, Rank and Step"
    modules: str = "the standard library"
    memory: str = "2 GiB"
    files: str = "an answer writes no large file"
    says: str = "only returns or yields its steps"


class Judging:
    """What all kinds share: the words for a file that cannot be run, and the points."""

    allowance = Allowance()

    def __init__(self, exercise: Exercise, *, filename: str, seconds: float) -> None:
        self.exercise = exercise
        self.filename = filename
        self.seconds = seconds
        self.output = ""

    # what the kinds say of their cases

    def _amount(self, outcome: Outcome, quantity: str, value: float) -> str:
        raise NotImplementedError

    def _target(self, outcome: Outcome, quantity: str, wanted: float) -> str:
        raise NotImplementedError

    def _facts(self, outcome: Any) -> Mapping[str, Any]:  # noqa: ANN401 - the kind's own outcome
        raise NotImplementedError

    # points

    def _on_target(self, outcomes: Sequence[Outcome]) -> Verdict:
        shares = {"bandwidth": 1.0, "latency": 1.0}
        for outcome in outcomes:
            for quantity, value, wanted in outcome.missed:
                criterion = CRITERION.get(quantity, "bandwidth")
                share = 0.5 if value <= NEAR * wanted else 0.0
                shares[criterion] = min(shares[criterion], share)
        scored = points(1, **shares)
        missed = [outcome for outcome in outcomes if outcome.missed]
        if not missed:
            return self._done("pass", self._praise(outcomes), scored, note=self.exercise.why)
        shown, spoken = self._first_spoken(missed)
        worst = shown or max(missed, key=lambda outcome: max(map(_excess, outcome.missed)))
        quantity, value, wanted = max(worst.missed, key=_excess)
        sentence = (
            f"{worst.case.words()}: the result is right, but "
            f"{self._amount(worst, quantity, value)}; "
            f"the target is {self._target(worst, quantity, wanted)}."
        )
        if 0.0 not in shares.values() or self.exercise.goal == "contract":
            message = f"Right in {all_of(outcomes)}. {sentence}"
            return self._done("pass", message, scored, note=self.exercise.why)
        event = {
            **worst.case.facts(),
            "kind": "off_target",
            "quantity": quantity,
            "value": value,
            "target": wanted,
            "message": sentence,
        }
        return self._done(
            "fail", sentence, scored, event=event, spoken=spoken, schedule=worst.schedule
        )

    def _praise(self, outcomes: Sequence[Outcome]) -> str:
        last = next(outcome for outcome in reversed(outcomes) if outcome.counted)
        amounts = "; ".join(
            self._amount(last, quantity, last.counted[quantity])
            for quantity in self.exercise.targets
        )
        return f"Right in {all_of(outcomes)}, on target. {last.case.words()}: {amounts}."

    def _first_spoken(
        self, outcomes: Sequence[Outcome]
    ) -> tuple[Outcome | None, tuple[str, str | None] | None]:
        """Return the first case that one of the manifest's feedbacks fits, and what it says."""
        for outcome in outcomes:
            spoken = speak(self.exercise, self._facts(outcome))
            if spoken:
                return outcome, spoken
        return None, None

    # a file that cannot be run to its end

    def _too_slow(self) -> str:
        return (
            f"no answer within {self.seconds:g} s of computing; look for a loop that never ends, "
            "or for something that waits"
        )

    def _broke_off(self, ending: str, detail: str) -> str:
        how = {
            "exit": f"your file ended its own process ({detail}); remove the exit",
            "crash": (
                f"the process crashed ({detail}); look for a recursion without an end, "
                "or for memory that grows without a bound"
            ),
            "protocol": f"{detail}; an answer {self.allowance.says}",
            "done": "your file left before it answered every case; remove what ends it early",
        }
        return how[ending]

    def _no_entry(self, event: Mapping[str, Any]) -> str:
        defined = [str(name)[:60] for name in plain_list(event.get("defined"))]
        seen = f"it defines {', '.join(defined)}" if defined else "it defines no function"
        missing = event.get("missing")
        name = missing if missing in self.exercise.more_entries else self.exercise.entry[0]
        return f"there is no function called {name}; {seen}. Keep the stub's name."

    def _raised(self, event: Mapping[str, Any], where: str) -> Verdict:
        family = plain_list(event.get("family"))
        line = event.get("line")
        at = f"line {line}" if isinstance(line, int) else "outside your file"
        if "NotImplementedError" in family and isinstance(line, int):
            message = (
                f"Not written yet: {at} still raises NotImplementedError. Replace the TODO with "
                f"your own code. A first hint: {self.exercise.hints[0]}"
            )
            return self._done("fail", message, self._nothing())
        code = plain_text(event.get("code"))
        shown = f" (`{code}`)" if code else ""
        text = f"{where}{at}{shown} raises {raised_words(event, family, self.allowance)}"
        return self._error(text)

    def _nothing(self) -> dict[str, float | None]:
        return all_or_nothing(right=False) if self.exercise.kind == "value" else points(0, 0, 0)

    def _error(self, message: str) -> Verdict:
        return self._done("error", message, self._nothing())

    def _done(  # noqa: PLR0913
        self,
        status: str,
        message: str,
        criteria: Mapping[str, float | None],
        *,
        event: Mapping[str, Any] | None = None,
        spoken: tuple[str, str | None] | None = None,
        schedule: Schedule | None = None,
        note: str = "",
    ) -> Verdict:
        text, misconception = spoken or ("", None)
        return Verdict(
            slug=self.exercise.slug,
            status=status,
            message=f"{message}\n{text}" if text else message,
            criteria=criteria,
            first_wrong_event=event,
            misconception=misconception,
            title=self.exercise.title,
            file=self.filename,
            note=note,
            output=self.output,
            schedule=schedule,
        )


def speak(exercise: Exercise, facts: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """Return the text and the misconception of the first feedback that fits, None if none does."""
    for feedback in exercise.feedback:
        if evaluate(feedback.when, facts):
            return fill(feedback.text, facts), feedback.misconception
    return None


def all_or_nothing(*, right: bool) -> dict[str, float | None]:
    """Return the points of a kind with one criterion, the contract."""
    return {**dict.fromkeys(("bandwidth", "latency")), "contract": 60 if right else 0}


def all_of(cases: Sequence[object]) -> str:
    """Return how many cases there are, in words."""
    return f"all {len(cases)} cases" if len(cases) > 1 else "the one case there is"


def _excess(missed: tuple[str, float, float]) -> float:
    _, value, wanted = missed
    return value / wanted if wanted else float("inf")


def plain_list(value: object) -> list[str]:
    """Return what should be a list of words as one."""
    return [str(item) for item in value] if isinstance(value, list) else []


def plain_text(value: object) -> str:
    """Return what should be a text as one that can do nothing to a terminal."""
    return process.readable(value[:600]) if isinstance(value, str) else ""


def raised_words(event: Mapping[str, Any], family: Sequence[str], allowance: Allowance) -> str:
    """Return what was raised, in words, with what to do about it where that is known."""
    kind, text = plain_text(event.get("type")), plain_text(event.get("text"))
    if "ImportError" in family:
        if plain_text(event.get("module")).partition(".")[0] == "allranks":
            if "write it yourself" in text:
                return f"{kind}: {text}"
            return (
                f"{kind}: {text}; write it yourself. In an exercise `allranks` holds "
                f"{allowance.names}"
            )
        return f"{kind}: {text}; an answer needs {allowance.modules} at most"
    advice = {
        "SystemExit": "remove the exit",
        "RecursionError": "a recursion has no end",
        "MemoryError": f"it asked for more than {allowance.memory} of memory",
        "EOFError": "nothing is typed in during a check; remove input()",
    }
    said = f"{kind}: {text}" if text else kind
    known = next((advice[name] for name in family if name in advice), "")
    if "OSError" in family and "File too large" in said:
        known = allowance.files
    missing = f"Op.{plain_text(event.get('module'))}"
    if "AttributeError" in family and missing in plain_text(event.get("code")):
        known = (
            f"there is no {missing}; Op has COPY and REDUCE, and what REDUCE does is not said here"
        )
    return f"{said}; {known}" if known else said
