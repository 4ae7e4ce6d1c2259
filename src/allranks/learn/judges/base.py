"""What every judge is made of: calls, the reading of answers, and how both look in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from allranks.schedule import Schedule

MAX_NUMBER = 2**53
SHOWN_ITEMS = 4
SHOWN_LETTERS = 70
SHOWN_TRANSFERS = 3
A_NUMBER = "return a number"


@dataclass(frozen=True)
class Call:
    """One call of a learner's function: its arguments by the stub's names, in the stub's order.

    `function` is one of the names in `more_entries`; "" means the exercise's first entry. What a
    judge alone needs to know about the case stands in `facts`.
    """

    arguments: Mapping[str, Any]
    function: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def words(self, entry: str) -> str:
        """Return the call as a person writes it, long arguments shortened.

        >>> Call({"n": 6, "sizes": list(range(100, 900, 100))}).words("fit")
        'fit(n=6, sizes=[100, 200, 300, ..., 800])'
        """
        given = ", ".join(f"{name}={shown(value)}" for name, value in self.arguments.items())
        return f"{self.function or entry}({given})"


@dataclass(frozen=True)
class Refusal:
    """The answer of a function that raised ValueError where its judge lets it; the sentence."""

    sentence: str


Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Judge:
    """`cases()` are the calls; `facts(call, answer)` says what an answer to one is worth.

    The facts are what the manifest's conditions and texts may name; `right` and `message` must be
    among them. The message names the property that failed, and the right answer only where that
    gives nothing away. An answer of the wrong form raises AnswerError.

    `keeps_arguments`: an answer is wrong if the function changed what it was given.
    `may_refuse`: a ValueError reaches `facts` as a Refusal; elsewhere it is an error of the file.
    """

    cases: Callable[[], Sequence[Call]]
    facts: Callable[[Call, Any], Facts]
    keeps_arguments: bool = False
    may_refuse: bool = False


class AnswerError(ValueError):
    """An answer of the wrong form; the message says what it is and what to return instead."""

    def __init__(self, answer: object, advice: str) -> None:
        nothing = " (does every way through the function end in a return?)"
        super().__init__(f"it returned {shown(answer)}{nothing * (answer is None)}; {advice}")


def read_number(value: Any, answer: Any = None, advice: str = A_NUMBER) -> Any:  # noqa: ANN401
    """Return a number, exact if it was: an int, a Fraction or a float within +-2^53.

    `answer` is the whole that it stands in, which the sentence shows.

    Raises:
        AnswerError: a truth value, no number, not finite, or out of range.
    """
    whole = value if answer is None else answer
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise AnswerError(whole, advice)
    if not -MAX_NUMBER < value < MAX_NUMBER:
        raise AnswerError(
            whole, f"{shown(value)} is out of range; return a finite number below 2^53"
        )
    return value


def read_numbers(value: Any, count: int, advice: str) -> list[Any]:  # noqa: ANN401
    """Return so many numbers from a list or a tuple.

    Raises:
        AnswerError: no list, another length, or something in it that is no number.
    """
    if not isinstance(value, list | tuple) or len(value) != count:
        raise AnswerError(value, advice)
    return [read_number(each, value, advice) for each in value]


def near(value: Any, wanted: Any, tolerance: float) -> bool:  # noqa: ANN401 - real numbers
    """Tell whether a value is within a relative tolerance of what is wanted, ends included.

    >>> near(1.1, 1.0, 0.1), near(Fraction(1, 3), 1 / 3, 1e-12), near(0.0, 0.0, 0.01)
    (True, True, True)
    """
    return float(abs(value - wanted)) <= tolerance * abs(float(wanted)) * (1 + 1e-9)


def shown(value: object) -> str:  # noqa: PLR0911 - one way for each kind
    """Return plain data as a sentence shows it: short, floats to six digits.

    >>> shown([1.23456789e-5, Fraction(5, 3), None]), shown({0: 1, 1: 2})
    ('[1.23457e-05, 5/3, None]', '{0: 1, 1: 2}')
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Fraction):
        return _cut(f"{value}")
    if isinstance(value, Schedule):
        return _steps(value)
    if isinstance(value, dict):
        pairs = sorted(f"{shown(key)}: {shown(each)}" for key, each in value.items())
        return _cut("{" + ", ".join(_few(pairs)) + "}")
    if isinstance(value, list | tuple):
        items = ", ".join(_few([shown(each) for each in value]))
        if isinstance(value, tuple):
            return _cut(f"({items},)" if len(value) == 1 else f"({items})")
        return _cut(f"[{items}]")
    return _cut(repr(value))


def _few(items: list[str]) -> list[str]:
    return items if len(items) <= SHOWN_ITEMS else [*items[:3], "...", items[-1]]


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_LETTERS else f"{text[: SHOWN_LETTERS - 3]}..."


def _steps(schedule: Schedule) -> str:
    if schedule.num_transfers > SHOWN_TRANSFERS:
        steps = len(schedule.steps)
        return f"<{steps} step{'s' * (steps != 1)}, {schedule.num_transfers} transfers>"
    steps_shown = (
        ", ".join(f"({t.src}, {t.dst}, {t.chunk}, {t.op.name})" for t in step)
        for step in schedule.steps
    )
    return f"[{', '.join(f'[{step}]' for step in steps_shown)}]"
