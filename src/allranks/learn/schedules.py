"""Judges schedules: proved by the engine, and priced on the machine that targets are stated for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allranks.collectives import contract
from allranks.cost import Cost, cost
from allranks.errors import ScheduleError
from allranks.learn import process
from allranks.learn.answers import (
    WHOLE_BYTES,
    Answered,
    may_refuse,
    num_chunks,
    num_switches,
    numbers,
)
from allranks.learn.exercises import Case
from allranks.learn.expressions import count, evaluate
from allranks.learn.judging import MAX_BROKEN, Outcome, plain_text
from allranks.learn.verdict import Verdict, points
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Topology
from allranks.units import format_seconds
from allranks.verify import states, verify

ALPHA_S = 4e-6
BANDWIDTH = 25e9
WORDS_OF_A_SENTENCE = 3
COUNTED = ("latency_terms", "bytes_sent_max", "bytes_received_max", "bytes_total", "seconds")


@dataclass(frozen=True)
class ScheduleOutcome(Outcome):
    """One answered schedule case: what is wrong with it, or what it costs."""

    case: Case
    error: ScheduleError | None = None


class ScheduleJudging(Answered):
    """Judges the rows of transfers that a process sent."""

    def verdict(self) -> Verdict:
        """Return the verdict on all cases."""
        outcomes: list[ScheduleOutcome] = []
        broken: list[ScheduleOutcome] = []
        evaluated = 0
        for case, answer in zip(self.asked.cases, self.answers, strict=False):
            evaluated += _amount_to_evaluate(answer)
            # the child stops earlier; but what it sends may be forged
            if evaluated > process.LIMITS["total"]:
                return self._broken(broken) if broken else self._too_much(case)
            outcomes.append(self._outcome(case, answer))
            if outcomes[-1].error:
                broken.append(outcomes[-1])
            if len(broken) == MAX_BROKEN:
                break
        if broken:
            return self._broken(broken)
        if len(outcomes) < len(self.asked):
            return self._trouble()
        return self._on_target(outcomes)

    def _outcome(self, case: Case, answer: object) -> ScheduleOutcome:
        if isinstance(answer, dict) and may_refuse(self.exercise, case):
            return ScheduleOutcome(case, error=_silent(answer.get("refused")))
        try:
            schedule = Schedule.from_dict(
                {
                    "format": "allranks.schedule/1",
                    "collective": self.exercise.collective,
                    "algorithm": "yours",
                    "world_size": case.world_size,
                    "root": case.root,
                    "num_chunks": num_chunks(self.exercise, case),
                    "num_switches": num_switches(self.exercise, case),
                    "steps": answer,
                }
            )
        except ScheduleError as error:
            return ScheduleOutcome(case, error=error)
        try:
            verify(schedule)
        except ScheduleError as error:
            return ScheduleOutcome(case, schedule, error=error)
        priced = price_of(schedule)
        counted = {name: getattr(priced, name) for name in COUNTED}
        return ScheduleOutcome(case, schedule, counted, tuple(self._missed(case, counted)))

    def _missed(
        self, case: Case, counted: Mapping[str, float]
    ) -> Iterator[tuple[str, float, float]]:
        if may_refuse(self.exercise, case):
            return  # the stub states no target where nobody has to answer
        for quantity, target in self.exercise.targets.items():
            value = counted[quantity]
            wanted = evaluate(target, numbers(case))
            if value > wanted * (1 + 1e-9):
                yield quantity, value, wanted

    def _too_much(self, case: Case) -> Verdict:
        message = (
            f"{case.words()}: more than {process.LIMITS['total']} steps and transfers in the cases "
            "up to here"
        )
        event = {**case.facts(), "kind": "endless", "message": message}
        return self._done("fail", message, points(0, 0, 0), event=event)

    def _broken(self, broken: Sequence[ScheduleOutcome]) -> Verdict:
        first = broken[0]
        assert first.error is not None  # noqa: S101 - that is what broken means
        _, spoken = self._first_spoken(broken)
        message = f"{first.case.words()}: {first.error.message}"
        event = {**first.case.facts(), **first.error.to_dict()}
        return self._done(
            "fail", message, points(0, 0, 0), event=event, spoken=spoken, schedule=first.schedule
        )

    def _amount(self, _outcome: Outcome, quantity: str, value: float) -> str:
        return AMOUNTS[quantity](value)

    def _target(self, _outcome: Outcome, quantity: str, wanted: float) -> str:
        if quantity == "seconds":
            return format_seconds(wanted)
        return f"{wanted:g}" if quantity == "latency_terms" else f"{wanted / WHOLE_BYTES:.4g} S"

    def _facts(self, outcome: ScheduleOutcome) -> Mapping[str, Any]:
        return facts_of(outcome)


def price_of(schedule: Schedule) -> Cost:
    """Return the cost of a schedule on the machine that targets are stated for: one port a rank."""
    topology = Topology.uniform(schedule.world_size, alpha=ALPHA_S, bandwidth=BANDWIDTH)
    return cost(schedule, nbytes=WHOLE_BYTES, topology=topology)


def _silent(refusal: object) -> ScheduleError | None:
    """Return the fault of a ValueError that explains nothing; None if it has a sentence."""
    if len(plain_text(refusal).split()) >= WORDS_OF_A_SENTENCE:
        return None
    return ScheduleError(
        "it raises ValueError without a sentence; say which n it cannot serve, and why",
        kind="refusal",
    )


def _amount_to_evaluate(answer: object) -> int:
    """Return how many steps and transfers an answer makes us look at."""
    steps = answer if isinstance(answer, list) else []
    return len(steps) + sum(len(step) for step in steps if isinstance(step, list))


AMOUNTS: dict[str, Callable[[float], str]] = {
    "latency_terms": lambda value: f"alpha is paid {count(int(value), 'time')}",
    "bytes_sent_max": lambda value: f"the busiest rank sends {value / WHOLE_BYTES:.4g} S",
    "bytes_received_max": lambda value: f"the busiest rank receives {value / WHOLE_BYTES:.4g} S",
    "bytes_total": lambda value: f"{value / WHOLE_BYTES:.4g} S move in all",
    "seconds": lambda value: f"its steps take {format_seconds(value)} with S = 48 MB",
}


class _Facts(Mapping[str, Any]):
    """Facts by name; a fact that costs time is found when a condition or a text asks for it."""

    def __init__(self, known: dict[str, Any], later: dict[str, Callable[[], Any]]) -> None:
        self._known = known
        self._later = later

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - numbers, text or truth
        if name not in self._known:
            self._known[name] = self._later[name]()
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._later

    def __iter__(self) -> Iterator[str]:
        return iter({**self._known, **self._later})

    def __len__(self) -> int:
        return len({**self._known, **self._later})


def facts_of(outcome: ScheduleOutcome) -> Mapping[str, Any]:
    """Return all that conditions and texts of the manifest may name; None: does not apply."""
    error, schedule = outcome.error, outcome.schedule
    facts = numbers(outcome.case)
    for name in ("kind", "step", "src", "dst", "chunk", "rank"):
        facts[name] = getattr(error, name, None)
    facts["rank"] = facts["dst"] if facts["rank"] is None else facts["rank"]
    facts.update({name: outcome.counted.get(name, 0) for name in COUNTED})
    transfers = [] if schedule is None else list(schedule.transfers())
    facts["transfers"] = len(transfers)
    facts["steps"] = 0 if schedule is None else len(schedule.steps)
    facts["ops"] = sorted({transfer.op.value for _, transfer in transfers})
    together = [t for number, t in transfers if number == facts["step"]]
    src, dst, chunk = facts["src"], facts["dst"], facts["chunk"]
    facts["answered"] = any((t.src, t.dst, t.chunk) == (dst, src, chunk) for t in together)
    facts["fed"] = any((t.dst, t.chunk) == (src, chunk) for t in together)
    sent = [transfer.src for _, transfer in transfers]
    facts["busiest"] = max(sorted(set(sent)), key=sent.count, default=None)
    n = outcome.case.world_size
    between = [t for _, t in transfers if max(t.src, t.dst) < n]
    facts["between_ranks"] = WHOLE_BYTES * len(between) / (schedule.num_chunks if schedule else 1)
    later: dict[str, Callable[[], Any]] = {
        "right_for_root_0": lambda: schedule is not None and _right_for_root_0(schedule),
        "unfinished_step": lambda: _copied_early(schedule)[0],
        "unfinished_src": lambda: _copied_early(schedule)[1],
        "unfinished_chunk": lambda: _copied_early(schedule)[2],
        "early_step": lambda: _sent_down_early(schedule)[0],
        "early_chunk": lambda: _sent_down_early(schedule)[1],
        "early_lacks": lambda: _sent_down_early(schedule)[2],
        "part": lambda: _part_counted_twice(schedule, error),
        "lost_chunks": lambda: _lost_chunks(schedule, facts["kind"]),
        "again_step": lambda: _delivered_again(schedule)[0],
        "again_src": lambda: _delivered_again(schedule)[1],
        "again_dst": lambda: _delivered_again(schedule)[2],
        "again_chunk": lambda: _delivered_again(schedule)[3],
    }
    return _Facts(facts, later)


def _right_for_root_0(schedule: Schedule) -> bool:
    if not schedule.root:
        return False
    moved = {**schedule.to_dict(), "root": 0}
    try:
        verify(Schedule.from_dict(moved))
    except ScheduleError:
        return False
    return True


def _part_counted_twice(schedule: Schedule | None, error: ScheduleError | None) -> int | None:
    if schedule is None or error is None or error.kind != "double_count" or error.step is None:
        return None
    after = next(itertools.islice(states(schedule), error.step + 1, None))
    endpoint = error.dst if error.dst is not None else error.rank
    if endpoint is None or error.chunk is None:
        return None
    held = after[endpoint][error.chunk]
    return min((part for part, count in held.items() if count > 1), default=None)


def _lost_chunks(schedule: Schedule | None, kind: str | None) -> list[int]:
    """Return the chunks that some rank still lacks at the end."""
    if schedule is None or kind != "missing":
        return []
    *_, last = states(schedule)
    promise = contract(schedule.collective)
    size = promise.size(schedule.world_size, schedule.num_chunks, schedule.root)
    return sorted(
        {
            chunk
            for rank in range(schedule.world_size)
            for chunk in range(schedule.num_chunks)
            if not set(promise.ends(rank, chunk, size) or ()) <= set(last[rank][chunk])
        }
    )


def _copied_early(
    schedule: Schedule | None,
) -> tuple[int, int, int] | tuple[None, None, None]:
    """Return (step, src, chunk) of the first copy of a chunk that its sender holds incomplete."""
    if schedule is None:
        return None, None, None
    promise = contract(schedule.collective)
    size = promise.size(schedule.world_size, schedule.num_chunks, schedule.root)
    ranks = range(schedule.world_size)
    try:
        for number, (state, step) in enumerate(zip(states(schedule), schedule.steps, strict=False)):
            for t in step:
                promised = {p for rank in ranks for p in promise.ends(rank, t.chunk, size) or ()}
                if t.op is Op.COPY and set(+state[t.src][t.chunk]) != promised:
                    return number, t.src, t.chunk
    except ScheduleError:
        pass  # what is played no further has had no such copy before
    return None, None, None


def _sent_down_early(schedule: Schedule | None) -> tuple[int | None, int | None, list[int]]:
    """Return step, chunk and missing ranks of the first incomplete sum that a switch sends."""
    if schedule is None or not schedule.num_switches:
        return None, None, []
    n = schedule.world_size
    for number, (state, step) in enumerate(zip(states(schedule), schedule.steps, strict=False)):
        for transfer in step:
            held = state[transfer.src][transfer.chunk]
            lacks = sorted(set(range(n)) - set(held))
            if transfer.src >= n and lacks:
                return number, transfer.chunk, lacks
    return None, None, []


def _delivered_again(
    schedule: Schedule | None,
) -> tuple[int, int, int, int] | tuple[None, None, None, None]:
    """Return (step, src, dst, chunk) of the first copy to one who has, or just got, the chunk."""
    if schedule is None:
        return None, None, None, None
    promise = contract(schedule.collective)
    size = promise.size(schedule.world_size, schedule.num_chunks, schedule.root)
    held = {
        (rank, chunk)
        for rank in range(schedule.world_size)
        for chunk in range(schedule.num_chunks)
        if any(True for _ in promise.starts(rank, chunk, size))
    }

    def delivered(transfer: Transfer) -> bool:
        known = (transfer.dst, transfer.chunk) in held
        held.add((transfer.dst, transfer.chunk))
        return known and transfer.op is Op.COPY

    for number, transfer in schedule.transfers():
        if delivered(transfer):
            return number, transfer.src, transfer.dst, transfer.chunk
    return None, None, None, None
