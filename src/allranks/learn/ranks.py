"""Judges array programs: raw results against our own sums, and the messages that passed our relay.

What is checked of a call, in this order, for every rank: it returned an array of the right dtype
and shape; its x is as it was; where the exercise asks for it, the result has memory of its own; the
values; and messages did bring them. Then bytes and alphas are compared with the targets, as counted
by `program.meeting`, which is the meaning that they have for schedules.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from allranks.learn import process, relay
from allranks.learn.contracts import (
    MAX_CODED,
    ArrayCase,
    Parts,
    array_cases,
    blame,
    coded_inputs,
    facts_of_parts,
    facts_of_sizes,
    read_parts,
    secret_inputs,
    span_of,
)
from allranks.learn.exercises import Exercise
from allranks.learn.expressions import count, evaluate
from allranks.learn.judging import (
    MAX_BROKEN,
    Allowance,
    Judging,
    Outcome,
    plain_text,
)
from allranks.learn.verdict import Verdict, points
from allranks.program.arrays import Array
from allranks.program.meeting import Traffic

BYTES_WORDS = {
    "bytes_sent_max": "the busiest rank sends {}",
    "bytes_received_max": "the busiest rank receives {}",
    "bytes_total": "{} move in all",
    "peak_bytes": "the arrays of rank.empty take up to {} on one rank",
}

IN_EVENTS = ("rank", "src", "dst", "peer", "index", "element", "wrong", "twice", "missing")


@dataclass(frozen=True)
class Fault:
    """What is wrong with a call: in words, and as facts for the event and for feedback."""

    kind: str
    message: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ArrayOutcome(Outcome):
    """One call: what is wrong with it, or what it costs; and what its ranks printed."""

    case: ArrayCase
    fault: Fault | None = None
    output: str = ""
    right_here: int = 0


class _CannotRunError(Exception):
    """A call that ends the check: the verdict on it is ready."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


def judge_ranks(exercise: Exercise, request: Mapping[str, Any], *, seconds: float) -> Verdict:
    """Return the verdict on the array program in `request`.

    Raises:
        InfrastructureError: the check itself failed.
    """
    with relay.Ranks(request, seconds=seconds) as ranks:
        return RanksJudging(
            exercise, ranks, filename=request["filename"], seconds=seconds
        ).verdict()


class RanksJudging(Judging):
    """Plays the cases, small worlds first, until enough is known."""

    allowance = Allowance(
        names="ArrayRank alone",
        modules="the standard library and NumPy",
        memory="1 GiB",
        says="only calls its rank, and returns an array",
        files="ranks talk through their messages alone, and write no file",
    )

    def __init__(
        self, exercise: Exercise, ranks: relay.Ranks, *, filename: str, seconds: float
    ) -> None:
        super().__init__(exercise, filename=filename, seconds=seconds)
        self.ranks = ranks
        self.span = span_of(exercise)
        self.right: Counter[int] = Counter()  # cases that were right, by world size

    def verdict(self) -> Verdict:
        """Return the verdict on all cases."""
        outcomes: list[ArrayOutcome] = []
        broken: list[ArrayOutcome] = []
        try:
            for case in array_cases(self.exercise):
                outcomes.append(self._outcome(case))
                if outcomes[-1].fault:
                    broken.append(outcomes[-1])
                if len(broken) == MAX_BROKEN:
                    break
        except _CannotRunError as error:
            if not broken:
                return error.verdict
        if broken:
            return self._broken(broken)
        self.output = outcomes[-1].output
        return self._on_target(outcomes)

    # one case

    def _outcome(self, case: ArrayCase) -> ArrayOutcome:
        inputs = secret_inputs(case)
        played = self.ranks.play(
            relay.Call(inputs, case.arguments, own_memory=self.exercise.own_memory)
        )
        fault = (
            self._fault_of(case, played)
            if played.failure
            else next(self._faults(case, inputs, played), None)
        )
        if fault:
            return ArrayOutcome(
                case, fault=fault, output=played.output, right_here=self.right[case.world_size]
            )
        self.right[case.world_size] += 1
        counted = _counted(played.traffic, played.returned)
        missed = tuple(self._missed(case, counted))
        return ArrayOutcome(case, counted=counted, missed=missed, output=played.output)

    def _missed(
        self, case: ArrayCase, counted: Mapping[str, float]
    ) -> Iterator[tuple[str, float, float]]:
        for quantity, target in self.exercise.targets.items():
            wanted = evaluate(target, case.numbers())
            if counted[quantity] > wanted:
                yield quantity, counted[quantity], wanted

    # a call that was played to its end

    def _faults(
        self, case: ArrayCase, inputs: Sequence[Array], played: relay.Outcome
    ) -> Iterator[Fault]:
        """Yield what is wrong, the most basic first; each rank in turn."""
        total = np.sum(np.stack(inputs), axis=0, dtype=inputs[0].dtype)
        wanted = [total[self.span(case, rank)] for rank in range(case.world_size)]
        pairs = list(enumerate(zip(played.returned, wanted, strict=True)))
        sizes = facts_of_sizes(case, [math.prod(each.shape) for each in played.returned])
        for rank, (returned, expected) in pairs:
            for fault in _form_faults(rank, returned, expected, case):
                yield replace(fault, facts={**fault.facts, **sizes})
        for rank, (returned, _) in pairs:
            yield from _input_faults(rank, returned, inputs[rank])
        for rank, (returned, expected) in pairs:
            yield from _memory_faults(rank, returned, expected)
        for rank, (returned, expected) in pairs:
            wrong = np.flatnonzero(returned.array != expected)
            if len(wrong):
                yield self._wrong_sum(case, rank, wrong, returned.array, expected)
        for rank, (_, expected) in pairs:
            if case.world_size > 1 and len(expected) and not played.traffic.received[rank]:
                message = (
                    f"rank {rank}: the result is right, but no message brought it; ranks talk "
                    "through rank.send and rank.recv alone"
                )
                yield Fault("no_messages", message, {"rank": rank})

    def _wrong_sum(
        self, case: ArrayCase, rank: int, wrong: Array, got: Array, expected: Array
    ) -> Fault:
        first = int(wrong[0])
        element = self.span(case, rank).start + first
        parts = self._parts(case, rank, first)
        why = blame(parts, element) if parts else ""
        block = " of its block" if self.exercise.collective == "reduce_scatter" else ""
        which = _which(wrong.tolist(), len(expected)) + block
        message = (
            f"rank {rank}: {which} {'is' if len(wrong) == 1 else 'are'} wrong; element {first} is "
            f"{_number(got[first])}, and should be {_number(expected[first])}"
        )
        facts = {
            "rank": rank,
            "index": first,
            "element": element,
            "wrong": len(wrong),
            **facts_of_parts(parts, rank, case.world_size),
            "from_other_block": _lies_outside(parts, self.span(case, rank)),
        }
        return Fault("wrong_sum", f"{message}. {why}" if why else message, facts)

    def _parts(self, case: ArrayCase, rank: int, index: int) -> Any:  # noqa: ANN401 - Parts or None
        """Play the case again with inputs that can be read off a sum, and read one element."""
        if case.world_size > MAX_CODED:
            return None
        # in new processes: whatever the call before left behind is not what is asked about
        played = self.ranks.play(relay.Call(coded_inputs(case), case.arguments), fresh=True)
        if played.failure:
            return None
        result = played.returned[rank].array
        if result.shape != (len(range(case.length)[self.span(case, rank)]),):
            return None
        number = result[index]
        return read_parts(case, int(number)) if result.dtype == np.int64 else None

    # a call that was not

    def _fault_of(self, case: ArrayCase, played: relay.Outcome) -> Fault:
        """Return the fault of a program that ran and is wrong; end the check where it cannot run.

        Raises:
            InfrastructureError: a process was ended from outside.
        """
        failure = played.failure
        assert failure is not None  # noqa: S101 - that is when this is asked
        self.output = played.output
        if failure.kind == "stuck":
            assert failure.error is not None  # noqa: S101 - the relay's own
            facts = failure.error.to_dict()
            return Fault(facts.pop("kind"), facts.pop("message"), facts)
        if failure.kind == "complaint":
            return _complaint(failure)
        if failure.kind == "endless":
            limits = process.LIMITS
            message = (
                f"more than {limits['messages']} messages, or {limits['traffic_bytes'] >> 20} "
                "MiB, in one call; does the loop ever end?"
            )
            return Fault("endless", message)
        raise _CannotRunError(self._cannot_run(case, failure))

    def _cannot_run(self, case: ArrayCase, failure: relay.Failure) -> Verdict:
        where = f"{case.words()}, rank {failure.rank}: "
        if failure.kind == "raised":
            loaded = failure.facts.get("loaded")
            return self._raised(failure.facts, where if loaded else "while your file was loaded: ")
        if failure.kind == "no_entry":
            return self._error(self._no_entry(failure.facts))
        if failure.kind in ("timeout", "cpu"):
            return self._error(where + self._too_slow())
        if failure.kind == "killed":
            message = (
                f"{where}the process was ended from outside (by a person, or by a system without "
                "memory)"
            )
            raise process.InfrastructureError(message)
        return self._error(where + self._broke_off(failure.kind, failure.detail))

    # verdicts

    def _broken(self, broken: Sequence[ArrayOutcome]) -> Verdict:
        first = broken[0]
        assert first.fault is not None  # noqa: S101 - that is what broken means
        _, spoken = self._first_spoken(broken)
        message = f"{first.case.words()}: {first.fault.message}"
        facts = {name: first.fault.facts.get(name) for name in IN_EVENTS}
        facts = {name: value for name, value in facts.items() if value not in (None, [])}
        event = {**first.case.facts(), "kind": first.fault.kind, **facts, "message": message}
        self.output = first.output
        return self._done("fail", message, points(0, 0, 0), event=event, spoken=spoken)

    def _amount(self, outcome: Outcome, quantity: str, value: float) -> str:
        if quantity == "latency_terms":
            return f"alpha is paid {count(int(value), 'time')}"
        return BYTES_WORDS[quantity].format(self._target(outcome, quantity, value))

    def _target(self, outcome: Outcome, quantity: str, wanted: float) -> str:
        if quantity == "latency_terms":
            return f"{wanted:g}"
        assert isinstance(outcome, ArrayOutcome)  # noqa: S101 - our own kind
        elements = int(wanted // outcome.case.itemsize)
        return f"{wanted:g} B ({count(elements, 'element')})"

    def _facts(self, outcome: ArrayOutcome) -> Mapping[str, Any]:
        """Return all that conditions and texts of the manifest may name; None: does not apply."""
        facts: dict[str, Any] = {
            **dict.fromkeys(("rank", "src", "dst", "peer", "index", "element", "wrong")),
            "most_got": None,
            "next_block": False,
            "from_other_block": False,
            **facts_of_parts(None, 0, 1),
            **dict.fromkeys(("bytes_sent_max", "bytes_received_max", "bytes_total"), 0),
            "latency_terms": 0,
            "peak_bytes": 0,
            "messages": 0,
            "kind": None,
            "right_here": outcome.right_here,
            **outcome.case.numbers(),
            **outcome.counted,
        }
        if outcome.fault:
            facts |= outcome.fault.facts
            facts["kind"] = outcome.fault.kind
        return facts


def _lies_outside(parts: Parts | None, span: slice) -> bool:
    """Tell whether a wrong sum is made of an element that the rank does not owe."""
    return parts is not None and not span.start <= parts.element < span.stop


def _complaint(failure: relay.Failure) -> Fault:
    line, code = failure.facts.get("line"), plain_text(failure.facts.get("code"))
    at = f"line {line} (`{code}`): " if isinstance(line, int) and code else ""
    rank = failure.rank
    message = plain_text(failure.facts.get("message"))
    who = "" if message.startswith("rank ") else f"rank {rank}: "
    return Fault(plain_text(failure.facts.get("kind")), f"{at}{who}{message}", {"rank": rank})


def _counted(traffic: Traffic, returned: Sequence[relay.Returned]) -> dict[str, float]:
    return {
        "latency_terms": traffic.latency_terms,
        "bytes_sent_max": max(traffic.sent),
        "bytes_received_max": max(traffic.received),
        "bytes_total": sum(traffic.sent),
        "messages": traffic.messages,
        "peak_bytes": max(each.peak_bytes for each in returned),
    }


def _form_faults(
    rank: int, returned: relay.Returned, expected: Array, case: ArrayCase
) -> Iterator[Fault]:
    what = "the sum" if case.counts is None else "its block"
    if returned.dtype != expected.dtype.name:
        message = (
            f"rank {rank} returns {returned.dtype}, and x is {expected.dtype.name}; make arrays "
            "with dtype=x.dtype"
        )
        yield Fault("dtype", message, {"rank": rank})
    if returned.shape != expected.shape:
        message = f"rank {rank} returns shape {returned.shape}; {what} has shape {expected.shape}"
        yield Fault("shape", message, {"rank": rank})


def _input_faults(rank: int, returned: relay.Returned, x: Array) -> Iterator[Fault]:
    after = np.frombuffer(returned.input_after, x.dtype)
    changed = np.flatnonzero(after.view(np.uint8) != x.view(np.uint8))
    if len(changed):
        first = int(changed[0]) // x.itemsize
        message = (
            f"rank {rank}: x was changed; element {first} was {_number(x[first])}, and is "
            f"{_number(after[first])} now. x is the caller's: write into arrays of your own"
        )
        yield Fault("input_changed", message, {"rank": rank, "index": first})


def _memory_faults(rank: int, returned: relay.Returned, expected: Array) -> Iterator[Fault]:
    """Yield a fault if the result is made of what the input was overwritten with afterwards."""
    size = expected.itemsize
    mine, instead = (
        {body[at : at + size] for at in range(0, len(body), size)}
        for body in (returned.body, returned.instead)
    )
    if mine and not np.array_equal(returned.array, expected) and mine & instead:
        message = (
            f"rank {rank}: the result shares memory with x; once the caller writes into x, the "
            "result changes too; return a copy"
        )
        yield Fault("shares_memory", message, {"rank": rank})


def _which(wrong: Sequence[int], size: int) -> str:
    """Return which elements are meant.

    >>> _which([3], 9), _which([3, 4, 5], 9), _which([1, 7], 9), _which([0, 1], 2)
    ('element 3', 'elements 3 to 5', '2 of 9 elements, from element 1 on,', 'all 2 elements')
    """
    if len(wrong) == 1:
        return f"element {wrong[0]}"
    if len(wrong) == size:
        return f"all {size} elements"
    if wrong[-1] - wrong[0] == len(wrong) - 1:
        return f"elements {wrong[0]} to {wrong[-1]}"
    return f"{len(wrong)} of {size} elements, from element {wrong[0]} on,"


def _number(value: Any) -> str:  # noqa: ANN401 - a NumPy number
    number = value.item()
    return str(int(number)) if isinstance(number, float) and number.is_integer() else str(number)
