"""Judges exercises from what the learner's process really sent: rows of transfers, or a number.

An exercise passes if its promise holds in every case and the targets for bytes and latency are met
at least within 1.3 times; where the manifest says `goal = "contract"`, the promise is enough.
The promise is worth 60 points, all or nothing; bytes 25 and latency 15: all at the target, half
within 1.3 times, else none. Any schedule that keeps the promise at that price passes, whatever it
looks like. A fault of ours is ungraded, never a zero.
"""

from __future__ import annotations

import itertools
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allranks.collectives import contract
from allranks.cost import Cost, cost
from allranks.errors import ScheduleError
from allranks.learn import process, valued
from allranks.learn.exercises import (
    Case,
    Exercise,
    ExerciseError,
    Feedback,
    answer_path,
    find_exercise,
    load_manifest,
    start,
)
from allranks.learn.expressions import count, evaluate, fill
from allranks.learn.judges import Call
from allranks.learn.verdict import Verdict, points, render
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Topology
from allranks.verify import states, verify

WHOLE_BYTES = 48_000_000
ALPHA_S = 4e-6
BANDWIDTH = 25e9
NEAR = 1.3
SOURCE_LIMIT = 2**20
# a few broken cases are enough for a verdict; the others would only cost the learner's time
MAX_BROKEN = 3
WORDS_OF_A_SENTENCE = 3
CRITERION = {"latency_terms": "latency"}


def check(
    name: str | None = None, *, file: str | Path | None = None, seconds: float | None = None
) -> list[Verdict]:
    """Grade one exercise, or all of them, each in a process of its own.

    Without `file`, the learner's copy in the workspace is graded; it is made from the stub if it is
    not there yet. `seconds` replaces the computing time that the manifest allows.

    Raises:
        ExerciseError: no such exercise, a file that cannot be read, or a file without a name.
    """
    if name is None:
        if file is not None:
            message = (
                "--file: say which exercise it answers, as in: check 00_hello_collective --file x"
            )
            raise ExerciseError(message)
        return [_check(exercise, start(exercise.slug), seconds) for exercise in load_manifest()]
    exercise = find_exercise(name)
    path = start(exercise.slug) if file is None else Path(file)
    return [_check(exercise, path, seconds)]


def _check(exercise: Exercise, path: Path, seconds: float | None) -> Verdict:
    return grade(exercise, read_source(path), str(path), seconds=seconds)


def check_solution(exercise: Exercise) -> Verdict:
    """Grade the course's own solution, the one file that may import the library (for our gates)."""
    source = read_source(exercise.solution)
    return _grade(exercise, source, str(exercise.solution), exercise.seconds, library=True)


def read_source(path: Path) -> str:
    """Return the text of a Python file.

    Raises:
        ExerciseError: missing, no regular file, unreadable, too long or not UTF-8; says which.
    """
    try:
        # asked before it is opened: opening a pipe waits for somebody to write
        if not stat.S_ISREG(path.stat().st_mode):
            message = (
                f"{path}: cannot be read (not a regular file); give the path of your Python file"
            )
            raise ExerciseError(message)
        with path.open("rb") as file:
            data = file.read(SOURCE_LIMIT + 1)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}); give the path of your Python file"
        raise ExerciseError(message) from error
    if len(data) > SOURCE_LIMIT:
        message = f"{path}: more than 1 MiB; an answer is a Python file of at most 1 MiB"
        raise ExerciseError(message)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8 text"
        raise ExerciseError(message) from error


def grade(
    exercise: Exercise, source: str, filename: str, *, seconds: float | None = None
) -> Verdict:
    """Return the verdict on a file's text; `filename` is what messages call it."""
    return _grade(exercise, source, filename, seconds or exercise.seconds, library=False)


def _grade(
    exercise: Exercise, source: str, filename: str, seconds: float, *, library: bool
) -> Verdict:
    asked = _Asked.of(exercise)
    request = {
        "source": source,
        "filename": filename,
        "entry": list(exercise.entry),
        "more_entries": list(exercise.more_entries),
        "kind": exercise.kind,
        "collective": exercise.collective,
        "library": library,
        "cases": asked.requests,
    }
    try:
        run = process.run(request, seconds=seconds)
        verdict = _Judging(exercise, asked, run, filename=filename, seconds=seconds).verdict()
    except process.InfrastructureError as error:
        message = f"Not graded: {error}. This does not count; try again."
        return Verdict(exercise.slug, "ungraded", message, title=exercise.title)
    except Exception as error:  # noqa: BLE001 - a fault of the checker must never become a zero
        message = (
            f"Not graded: a fault of the checker ({type(error).__name__}: {error}). This does not "
            "count; please report it."
        )
        return Verdict(exercise.slug, "ungraded", message, title=exercise.title)
    return verdict


@dataclass(frozen=True)
class _Asked:
    """The calls that are made, as the child gets them and as messages name them."""

    cases: tuple[Case, ...]
    calls: tuple[Call, ...]
    entry: str
    requests: list[dict[str, Any]]

    @classmethod
    def of(cls, exercise: Exercise) -> _Asked:
        if exercise.kind == "value":
            calls = valued.calls_of(exercise)
            asked = [valued.request_of(exercise, call) for call in calls]
            return cls((), calls, exercise.entry[0], asked)
        cases = tuple(exercise.cases())
        requests = [
            {
                "world_size": case.world_size,
                "arguments": dict(case.arguments),
                "root": case.root,
                "num_chunks": _num_chunks(exercise, case),
                "may_refuse": _may_refuse(exercise, case),
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


def _num_chunks(exercise: Exercise, case: Case) -> int:
    return int(evaluate(exercise.num_chunks, _numbers(case)))


def _num_switches(exercise: Exercise, case: Case) -> int:
    return int(evaluate(exercise.num_switches, _numbers(case)))


def _may_refuse(exercise: Exercise, case: Case) -> bool:
    return bool(exercise.may_refuse) and bool(evaluate(exercise.may_refuse, _numbers(case)))


def _numbers(case: Case) -> dict[str, Any]:
    return {"n": case.world_size, "S": WHOLE_BYTES, "root": case.root, **case.arguments}


@dataclass(frozen=True)
class _Outcome:
    """One answered schedule case: what is wrong with it, or what it costs."""

    case: Case
    schedule: Schedule | None
    error: ScheduleError | None
    cost: Cost | None
    missed: tuple[tuple[str, float, float], ...] = ()


class _Judging:
    """Turns one run into a verdict; every sentence that a learner reads is put together here."""

    def __init__(
        self,
        exercise: Exercise,
        asked: _Asked,
        run: process.Run,
        *,
        filename: str,
        seconds: float,
    ) -> None:
        self.exercise = exercise
        self.filename = filename
        self.asked = asked
        self.run = run
        self.seconds = seconds
        answers = [event for event in run.events if event["event"] == "case"]
        in_order = itertools.takewhile(
            lambda pair: pair[1].get("case") == pair[0], enumerate(answers)
        )
        self.answers: list[Any] = [event.get("answer") for _, event in in_order][: len(asked)]

    def verdict(self) -> Verdict:
        if self.exercise.kind == "value":
            return self._value_verdict()
        outcomes: list[_Outcome] = []
        broken: list[_Outcome] = []
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

    # schedules

    def _outcome(self, case: Case, answer: object) -> _Outcome:
        if isinstance(answer, dict) and _may_refuse(self.exercise, case):
            return _Outcome(case, None, _silent(answer.get("refused")), None)
        try:
            schedule = Schedule.from_dict(
                {
                    "format": "allranks.schedule/1",
                    "collective": self.exercise.collective,
                    "algorithm": "yours",
                    "world_size": case.world_size,
                    "root": case.root,
                    "num_chunks": _num_chunks(self.exercise, case),
                    "num_switches": _num_switches(self.exercise, case),
                    "steps": answer,
                }
            )
        except ScheduleError as error:
            return _Outcome(case, None, error, None)
        try:
            verify(schedule)
        except ScheduleError as error:
            return _Outcome(case, schedule, error, None)
        priced = price_of(schedule)
        return _Outcome(case, schedule, None, priced, tuple(self._missed(case, priced)))

    def _missed(self, case: Case, priced: Cost) -> Iterator[tuple[str, float, float]]:
        for quantity, target in self.exercise.targets.items():
            value = getattr(priced, quantity)
            wanted = evaluate(target, _numbers(case))
            if value > wanted * (1 + 1e-9):
                yield quantity, value, wanted

    def _too_much(self, case: Case) -> Verdict:
        message = (
            f"{case.words()}: more than {process.LIMITS['total']} steps and transfers in the cases "
            "up to here"
        )
        event = {**_case_facts(case), "kind": "endless", "message": message}
        return self._done("fail", message, points(0, 0, 0), event=event)

    def _broken(self, broken: Sequence[_Outcome]) -> Verdict:
        first = broken[0]
        assert first.error is not None  # noqa: S101 - that is what broken means
        _, spoken = _first_spoken(self.exercise, broken)
        message = f"{first.case.words()}: {first.error.message}"
        event = {**_case_facts(first.case), **first.error.to_dict()}
        return self._done(
            "fail", message, points(0, 0, 0), event=event, spoken=spoken, schedule=first.schedule
        )

    def _on_target(self, outcomes: Sequence[_Outcome]) -> Verdict:
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
        shown, spoken = _first_spoken(self.exercise, missed)
        worst = shown or max(missed, key=lambda outcome: max(map(_excess, outcome.missed)))
        quantity, value, wanted = max(worst.missed, key=_excess)
        sentence = (
            f"{worst.case.words()}: the result is right, but {_amount(quantity, value)}; "
            f"the target is {_target(quantity, wanted)}."
        )
        if 0.0 not in shares.values() or self.exercise.goal == "contract":
            message = f"Right in {_all(outcomes)}. {sentence}"
            return self._done("pass", message, scored, note=self.exercise.why)
        event = {
            **_case_facts(worst.case),
            "kind": "off_target",
            "quantity": quantity,
            "value": value,
            "target": wanted,
            "message": sentence,
        }
        return self._done(
            "fail", sentence, scored, event=event, spoken=spoken, schedule=worst.schedule
        )

    def _praise(self, outcomes: Sequence[_Outcome]) -> str:
        last = next(outcome for outcome in reversed(outcomes) if outcome.cost)
        amounts = "; ".join(
            _amount(quantity, getattr(last.cost, quantity)) for quantity in self.exercise.targets
        )
        return f"Right in {_all(outcomes)}, on target. {last.case.words()}: {amounts}."

    # values

    def _value_verdict(self) -> Verdict:
        wrong = valued.weigh(self.exercise, self.asked.calls, self.answers)
        if wrong:
            nothing = _all_or_nothing(right=False)
            return self._done(
                "fail", wrong.message, nothing, event=wrong.event, spoken=wrong.spoken
            )
        if len(self.answers) < len(self.asked):
            return self._trouble()
        message = f"Right in {_all(self.answers)}."
        return self._done("pass", message, _all_or_nothing(right=True), note=self.exercise.why)

    # the process did not answer everything

    def _trouble(self) -> Verdict:
        last = self.run.events[-1]
        kind = last["event"]
        if self.run.ending in ("timeout", "cpu"):
            return self._error(self._where(len(self.answers)) + self._too_slow())
        if self.run.ending == "killed":
            message = (
                f"{self._where(len(self.answers))}the process was ended from outside (by a "
                "person, or "
                "by a system without memory)"
            )
            raise process.InfrastructureError(message)
        if self.run.ending == "done" and kind == "raised":
            return self._raised(last)
        if self.run.ending == "done" and kind == "complaint":
            return self._complaint(last)
        if self.run.ending == "done" and kind == "no_entry":
            return self._error(self._no_entry(last))
        return self._error(self._where(len(self.answers)) + self._broke_off())

    def _where(self, number: object) -> str:
        words = (
            self.asked.words(number)
            if any(event["event"] == "loaded" for event in self.run.events)
            else "while your file was loaded"
        )
        return f"{words}: " if words else ""

    def _too_slow(self) -> str:
        return (
            f"no answer within {self.seconds:g} s of computing; look for a loop that never ends, "
            "or "
            "for something that waits"
        )

    def _broke_off(self) -> str:
        how = {
            "exit": f"your file ended its own process ({self.run.detail}); remove the exit",
            "crash": (
                f"the process crashed ({self.run.detail}); look for a recursion without an end, or "
                "for memory that grows without a bound"
            ),
            "protocol": f"{self.run.detail}; an answer only returns or yields its steps",
            "done": "your file left before it answered every case; remove what ends it early",
        }
        return how[self.run.ending]

    def _no_entry(self, event: Mapping[str, Any]) -> str:
        defined = [str(name)[:60] for name in _listed(event.get("defined"))]
        seen = f"it defines {', '.join(defined)}" if defined else "it defines no function"
        missing = event.get("missing")
        name = missing if missing in self.exercise.more_entries else self.exercise.entry[0]
        return f"there is no function called {name}; {seen}. Keep the stub's name."

    def _raised(self, event: Mapping[str, Any]) -> Verdict:
        family = _listed(event.get("family"))
        line = event.get("line")
        at = f"line {line}" if isinstance(line, int) else "outside your file"
        if "NotImplementedError" in family and isinstance(line, int):
            message = (
                f"Not written yet: {at} still raises NotImplementedError. Replace the TODO with "
                f"your own code. A first hint: {self.exercise.hints[0]}"
            )
            return self._done("fail", message, self._nothing())
        code = _text(event.get("code"))
        where = self._where(event.get("case"))
        shown = f" (`{code}`)" if code else ""
        text = f"{where}{at}{shown} raises {_raised_words(event, family)}"
        return self._error(text)

    def _complaint(self, event: Mapping[str, Any]) -> Verdict:
        number = event.get("case")
        message = self._where(number) + _text(event.get("message"))
        first: dict[str, Any] = {"kind": _text(event.get("kind"))}
        for name in ("step", "src", "dst", "chunk", "rank", "peer"):
            fact = event.get(name)
            first[name] = fact if isinstance(fact, int) else None
        first["message"] = message
        if isinstance(number, int) and 0 <= number < len(self.asked.cases):
            first = {**_case_facts(self.asked.cases[number]), **first}
        return self._done("fail", message, self._nothing(), event=first)

    def _nothing(self) -> dict[str, float | None]:
        return _all_or_nothing(right=False) if self.exercise.kind == "value" else points(0, 0, 0)

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
            output=self.run.output,
            schedule=schedule,
        )


def price_of(schedule: Schedule) -> Cost:
    """Return the cost of a schedule on the machine that targets are stated for: one port a rank."""
    topology = Topology.uniform(schedule.world_size, alpha=ALPHA_S, bandwidth=BANDWIDTH)
    return cost(schedule, nbytes=WHOLE_BYTES, topology=topology)


def _silent(refusal: object) -> ScheduleError | None:
    """Return the fault of a ValueError that explains nothing; None if it has a sentence."""
    if len(_text(refusal).split()) >= WORDS_OF_A_SENTENCE:
        return None
    return ScheduleError(
        "it raises ValueError without a sentence; say which n it cannot serve, and why",
        kind="refusal",
    )


def _amount_to_evaluate(answer: object) -> int:
    """Return how many steps and transfers an answer makes us look at."""
    steps = answer if isinstance(answer, list) else []
    return len(steps) + sum(len(step) for step in steps if isinstance(step, list))


def _all_or_nothing(*, right: bool) -> dict[str, float | None]:
    """A value exercise has one criterion: the contract."""
    return {**dict.fromkeys(("bandwidth", "latency")), "contract": 60 if right else 0}


def _all(cases: Sequence[object]) -> str:
    return f"all {len(cases)} cases" if len(cases) > 1 else "the one case there is"


def _excess(missed: tuple[str, float, float]) -> float:
    _, value, wanted = missed
    return value / wanted if wanted else float("inf")


AMOUNTS: dict[str, Callable[[float], str]] = {
    "latency_terms": lambda value: f"alpha is paid {count(int(value), 'time')}",
    "bytes_sent_max": lambda value: f"the busiest rank sends {value / WHOLE_BYTES:.4g} S",
    "bytes_received_max": lambda value: f"the busiest rank receives {value / WHOLE_BYTES:.4g} S",
    "bytes_total": lambda value: f"{value / WHOLE_BYTES:.4g} S move in all",
}


def _amount(quantity: str, value: float) -> str:
    return AMOUNTS[quantity](value)


def _target(quantity: str, wanted: float) -> str:
    return f"{wanted:g}" if quantity == "latency_terms" else f"{wanted / WHOLE_BYTES:.4g} S"


def _case_facts(case: Case) -> dict[str, Any]:
    return {"world_size": case.world_size, **case.arguments}


def _listed(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _text(value: object) -> str:
    return process.readable(value[:600]) if isinstance(value, str) else ""


def _raised_words(event: Mapping[str, Any], family: Sequence[str]) -> str:
    kind, text = _text(event.get("type")), _text(event.get("text"))
    if "ImportError" in family:
        if _text(event.get("module")).partition(".")[0] == "allranks":
            if "write it yourself" in text:
                return f"{kind}: {text}"
            return (
                f"{kind}: {text}; write it yourself. In an exercise `allranks` holds Transfer, Op, "
                "Rank and Step"
            )
        return f"{kind}: {text}; an answer needs the standard library at most"
    advice = {
        "SystemExit": "remove the exit",
        "RecursionError": "a recursion has no end",
        "MemoryError": "it asked for more than 2 GiB of memory",
        "EOFError": "nothing is typed in during a check; remove input()",
    }
    said = f"{kind}: {text}" if text else kind
    known = next((advice[name] for name in family if name in advice), "")
    missing = f"Op.{_text(event.get('module'))}"
    if "AttributeError" in family and missing in _text(event.get("code")):
        known = (
            f"there is no {missing}; Op has COPY and REDUCE, and what REDUCE does is not said here"
        )
    return f"{said}; {known}" if known else said


# what a feedback may ask about a case


def _first_spoken(
    exercise: Exercise, outcomes: Sequence[_Outcome]
) -> tuple[_Outcome | None, tuple[str, str | None] | None]:
    """Return the first case that one of the manifest's feedbacks fits, and what it says."""
    for outcome in outcomes:
        spoken = _speak(exercise, _facts(outcome))
        if spoken:
            return outcome, spoken
    return None, None


def _speak(exercise: Exercise, facts: Mapping[str, Any]) -> tuple[str, str | None] | None:
    for feedback in exercise.feedback:
        if evaluate(feedback.when, facts):
            return fill(feedback.text, facts), feedback.misconception
    return None


def feedback_for(exercise: Exercise, wrong: str) -> Feedback:
    """Return the feedback of the manifest for one named wrong solution."""
    return next(each for each in exercise.feedback if each.wrong == wrong)


COUNTED = ("latency_terms", "bytes_sent_max", "bytes_received_max", "bytes_total")


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


def _facts(outcome: _Outcome) -> Mapping[str, Any]:
    """Return all that conditions and texts of the manifest may name; None: does not apply."""
    error, schedule = outcome.error, outcome.schedule
    facts = _numbers(outcome.case)
    for name in ("kind", "step", "src", "dst", "chunk", "rank"):
        facts[name] = getattr(error, name, None)
    facts["rank"] = facts["dst"] if facts["rank"] is None else facts["rank"]
    facts.update({name: getattr(outcome.cost, name, 0) for name in COUNTED})
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
        "part": lambda: _part_counted_twice(schedule, error),
        "lost_chunks": lambda: _lost_chunks(schedule, facts["kind"]),
        "again_step": lambda: _delivered_again(schedule)[0],
        "again_src": lambda: _delivered_again(schedule)[1],
        "again_dst": lambda: _delivered_again(schedule)[2],
        "again_chunk": lambda: _delivered_again(schedule)[3],
        "early_step": lambda: _sent_down_early(schedule)[0],
        "early_chunk": lambda: _sent_down_early(schedule)[1],
        "early_lacks": lambda: _sent_down_early(schedule)[2],
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


__all__ = [
    "answer_path",
    "check",
    "check_solution",
    "feedback_for",
    "grade",
    "price_of",
    "read_source",
    "render",
]
