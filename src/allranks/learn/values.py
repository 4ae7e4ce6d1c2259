"""Judges plain data: the engine says what a right answer is."""

from __future__ import annotations

from allranks.learn import weighing
from allranks.learn.answers import Answered
from allranks.learn.judging import all_of, all_or_nothing
from allranks.learn.verdict import Verdict


class ValueJudging(Answered):
    """Judges the plain data that a process sent."""

    def verdict(self) -> Verdict:
        """Return the verdict on all cases."""
        wrong = weighing.weigh(self.exercise, self.asked.calls, self.answers)
        if wrong:
            nothing = all_or_nothing(right=False)
            return self._done(
                "fail", wrong.message, nothing, event=wrong.event, spoken=wrong.spoken
            )
        if len(self.answers) < len(self.asked):
            return self._trouble()
        message = f"Right in {all_of(self.answers)}."
        return self._done("pass", message, all_or_nothing(right=True), note=self.exercise.why)
