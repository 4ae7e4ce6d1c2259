"""Judges numbers: the engine says what a right one is."""

from __future__ import annotations

from typing import Any

from allranks.learn.answers import Answered
from allranks.learn.judges import JUDGES
from allranks.learn.judging import all_of, all_or_nothing, speak
from allranks.learn.verdict import Verdict

MAX_VALUE = 2**53


class ValueJudging(Answered):
    """Judges the numbers that a process sent."""

    def verdict(self) -> Verdict:
        """Return the verdict on all cases."""
        judge = JUDGES[self.exercise.judge]
        wrong = []
        pairs = zip(self.asked.values, self.answers, strict=False)
        for number, (values, answer) in enumerate(pairs):
            refusal = _no_finite_number(answer)
            if refusal:
                message = self._where(number) + refusal
                event = {"kind": "value", "message": message}
                return self._done("fail", message, all_or_nothing(right=False), event=event)
            facts = judge.facts(values, answer)
            if not facts["right"]:
                wrong.append(facts)
        if wrong:
            spoken = next(filter(None, (speak(self.exercise, facts) for facts in wrong)), None)
            event = {"kind": "value", "message": wrong[0]["message"]}
            return self._done(
                "fail",
                wrong[0]["message"],
                all_or_nothing(right=False),
                event=event,
                spoken=spoken,
            )
        if len(self.answers) < len(self.asked):
            return self._trouble()
        message = f"Right in {all_of(self.answers)}."
        return self._done("pass", message, all_or_nothing(right=True), note=self.exercise.why)


def _no_finite_number(answer: Any) -> str:  # noqa: ANN401 - what a process sent
    """Return what is wrong with an answer that no judge can weigh; empty if one can."""
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return "the answer is no number; return a number"
    if not -MAX_VALUE < answer < MAX_VALUE:
        size = "" if isinstance(answer, int) else f" {answer:g}"
        return f"the answer{size} is out of range; return a finite number below 2^53"
    return ""
