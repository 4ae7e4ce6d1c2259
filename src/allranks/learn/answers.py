"""Kinds whose cases one process answers: what it is asked, and what to say when it breaks off."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allranks.learn import process, weighing
from allranks.learn.exercises import Case, Exercise
from allranks.learn.expressions import evaluate
from allranks.learn.judges import Call
from allranks.learn.judging import Judging, plain_text
from allranks.learn.verdict import Verdict

WHOLE_BYTES = 48_000_000


@dataclass(frozen=True)
class Asked:
    """The calls that are made, as the child gets them and as messages name them."""

    cases: tuple[Case, ...]
    calls: tuple[Call, ...]
    entry: str
    requests: list[dict[str, Any]]

    @classmethod
    def of(cls, exercise: Exercise) -> Asked:
        """Return all calls of an exercise."""
        if exercise.kind == "value":
            calls = weighing.calls_of(exercise)
            asked = [weighing.request_of(exercise, call) for call in calls]
            return cls((), calls, exercise.entry[0], asked)
        cases = tuple(exercise.cases())
        requests = [
            {
                "world_size": case.world_size,
                "arguments": dict(case.arguments),
                "root": case.root,
                "num_chunks": num_chunks(exercise, case),
                "may_refuse": may_refuse(exercise, case),
            }
            for case in cases
        ]
        return cls(cases, (), exercise.entry[0], requests)

    def __len__(self) -> int:
        return len(self.requests)

    def words(self, number: object) -> str:
        """Return the name of a case; what the child says about its number is checked here."""
        if not isinstance(number, int) or not 0 <= number < len(self):
            return ""
        if self.cases:
            return self.cases[number].words()
        return self.calls[number].words(self.entry)


def num_chunks(exercise: Exercise, case: Case) -> int:
    """Return into how many chunks the whole vector is cut in a case."""
    return int(evaluate(exercise.num_chunks, numbers(case)))


def num_switches(exercise: Exercise, case: Case) -> int:
    """Return how many switches a schedule may use in a case."""
    return int(evaluate(exercise.num_switches, numbers(case)))


def may_refuse(exercise: Exercise, case: Case) -> bool:
    """Return whether a ValueError with a sentence is a right answer in a case."""
    return bool(exercise.may_refuse) and bool(evaluate(exercise.may_refuse, numbers(case)))


def numbers(case: Case) -> dict[str, Any]:
    """Return what targets may name: the case, and S."""
    return {"n": case.world_size, "S": WHOLE_BYTES, "root": case.root, **case.arguments}


class Answered(Judging):
    """What the process answered, case by case in order."""

    def __init__(
        self,
        exercise: Exercise,
        asked: Asked,
        run: process.Run,
        *,
        filename: str,
        seconds: float,
    ) -> None:
        super().__init__(exercise, filename=filename, seconds=seconds)
        self.asked = asked
        self.run = run
        self.output = run.output
        answers = [event for event in run.events if event["event"] == "case"]
        in_order = itertools.takewhile(
            lambda pair: pair[1].get("case") == pair[0], enumerate(answers)
        )
        self.answers: list[Any] = [event.get("answer") for _, event in in_order][: len(asked)]

    def verdict(self) -> Verdict:
        """Return the verdict on all cases."""
        raise NotImplementedError

    def _trouble(self) -> Verdict:
        last = self.run.events[-1]
        kind = last["event"]
        if self.run.ending in ("timeout", "cpu"):
            return self._error(self._where(len(self.answers)) + self._too_slow())
        if self.run.ending == "killed":
            message = (
                f"{self._where(len(self.answers))}the process was ended from outside (by a "
                "person, or by a system without memory)"
            )
            raise process.InfrastructureError(message)
        if self.run.ending == "done" and kind == "raised":
            return self._raised(last, self._where(last.get("case")))
        if self.run.ending == "done" and kind == "complaint":
            return self._complaint(last)
        if self.run.ending == "done" and kind == "no_entry":
            return self._error(self._no_entry(last))
        return self._error(
            self._where(len(self.answers)) + self._broke_off(self.run.ending, self.run.detail)
        )

    def _where(self, number: object) -> str:
        words = (
            self.asked.words(number)
            if any(event["event"] == "loaded" for event in self.run.events)
            else "while your file was loaded"
        )
        return f"{words}: " if words else ""

    def _complaint(self, event: Mapping[str, Any]) -> Verdict:
        number = event.get("case")
        message = self._where(number) + plain_text(event.get("message"))
        first: dict[str, Any] = {"kind": plain_text(event.get("kind"))}
        for name in ("step", "src", "dst", "chunk", "rank", "peer"):
            fact = event.get(name)
            first[name] = fact if isinstance(fact, int) else None
        first["message"] = message
        if isinstance(number, int) and 0 <= number < len(self.asked.cases):
            first = {**self.asked.cases[number].facts(), **first}
        return self._done("fail", message, self._nothing(), event=first)
