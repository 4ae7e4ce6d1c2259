"""Chapter 01: what every rank holds after some steps of a schedule."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from allranks.algorithms import build
from allranks.errors import ScheduleError
from allranks.learn.judges.base import AnswerError, Call, Facts, Judge, shown
from allranks.schedule import Op, Schedule, Transfer
from allranks.verify import State, states

A_STATE = (
    "return a list with a row for every rank, each a list with a Counter for every chunk, as start"
)
NUM_DRAWN = 12
COPY, REDUCE = Op.COPY, Op.REDUCE

BY_HAND = (
    # rank 1 passes on what it had, not what it gets in the same step
    ("all_reduce", 3, 1, [[(0, 1, 0, REDUCE), (1, 2, 0, REDUCE)]]),
    # two ranks swap
    ("all_reduce", 2, 1, [[(0, 1, 0, COPY), (1, 0, 0, COPY)]]),
    # a part that is added twice counts twice
    ("all_reduce", 2, 1, [[(0, 1, 0, REDUCE)], [(0, 1, 0, REDUCE)]]),
    # two ranks add to a third, which keeps its own
    ("reduce", 3, 2, [[(0, 2, 1, REDUCE), (1, 2, 1, REDUCE)], [(2, 0, 1, COPY)]]),
)
LIBRARY = (
    ("broadcast", "binomial", 6, 2),
    ("broadcast", "chain", 4, 1),
    ("gather", "flat", 5, 3),
    ("scatter", "flat", 4, 0),
    ("all_gather", "ring", 4, None),
    ("all_gather", "bruck", 5, None),
    ("reduce_scatter", "ring", 5, None),
    ("all_reduce", "ring", 3, None),
    ("all_reduce", "recursive_doubling", 4, None),
)


def _state_cases() -> list[Call]:
    """Return the cases worked by hand, the library's collectives, and drawn transfers."""
    cases = []
    for schedule in (*_by_hand(), *_of_the_library(), *_drawn()):
        length = len(schedule.steps)
        for steps in sorted({length, length // 2, 1, 0}, reverse=True):
            given = {"schedule": schedule, "start": next(states(schedule)), "steps": steps}
            cases.append(Call(given))
    return cases


def _by_hand() -> Iterator[Schedule]:
    for collective, n, chunks, steps in BY_HAND:
        root = 2 if collective == "reduce" else None
        made = tuple(tuple(Transfer(*row) for row in step) for step in steps)
        yield Schedule(collective, "by_hand", n, chunks, made, root=root)


def _of_the_library() -> Iterator[Schedule]:
    for collective, algorithm, n, root in LIBRARY:
        yield build(collective, algorithm, world_size=n, root=root)


def _drawn() -> Iterator[Schedule]:
    """Yield random schedules that can be played; most of them keep no collective's promise."""
    draw = random.Random(11)  # noqa: S311 - a fixed list of cases, the same for everybody
    found = 0
    while found < NUM_DRAWN:
        n, chunks = draw.randint(2, 5), draw.randint(1, 3)
        schedule = Schedule("all_reduce", "drawn", n, chunks, _random_steps(draw, n, chunks))
        try:
            list(states(schedule))
        except ScheduleError:
            continue
        found += 1
        yield schedule


def _random_steps(draw: random.Random, n: int, chunks: int) -> tuple[tuple[Transfer, ...], ...]:
    def transfer() -> Transfer:
        src, dst = draw.sample(range(n), 2)
        return Transfer(src, dst, draw.randrange(chunks), draw.choice([COPY, REDUCE]))

    return tuple(
        tuple(transfer() for _ in range(draw.randint(1, 3))) for _ in range(draw.randint(1, 4))
    )


class Mistake(NamedTuple):
    """A wrong way to play a schedule: True where it differs from the right one."""

    in_place: bool = False
    copy_adds: bool = False
    forgets_counts: bool = False
    moves: bool = False


MISTAKES = {
    "in_place": Mistake(in_place=True),
    "copy_adds": Mistake(copy_adds=True),
    "forgets_counts": Mistake(forgets_counts=True),
    "moves": Mistake(moves=True),
}


def _played(schedule: Schedule, steps: int, mistake: Mistake) -> State:
    """Return the state after some steps, as somebody who makes one mistake plays them."""
    state = next(states(schedule))
    for step in schedule.steps[:steps]:
        before = state if mistake.in_place else [[Counter(parts) for parts in row] for row in state]
        if mistake.moves:
            for src, _, chunk, _ in step:
                state[src][chunk] = Counter()
        for src, dst, chunk, op in step:
            sent, held = before[src][chunk], state[dst][chunk]
            if op is COPY and not mistake.copy_adds:
                state[dst][chunk] = Counter(sent)
            else:
                state[dst][chunk] = held | sent if mistake.forgets_counts else held + sent
    return state


def _state_facts(call: Call, answer: object) -> Facts:
    schedule, _, steps = call.arguments.values()
    held = _read_state(answer, schedule)
    wanted = _state_after(schedule, steps)
    rank, chunk = _first_difference(held, wanted)
    facts: dict[str, Any] = {"right": rank is None, "message": "", "rank": rank, "chunk": chunk}
    for name, mistake in MISTAKES.items():
        facts[name] = rank is not None and held == _played(schedule, steps, mistake)
    facts |= _passed_on(schedule, steps) if facts["in_place"] else {"hasty": None, "step": None}
    if rank is not None and chunk is not None:
        held_there = held[rank][chunk]
        facts["message"] = (
            f"chunk {chunk} of rank {rank} is {shown(held_there) if held_there else 'empty'}, but "
            f"that is not what it holds after {steps} step{'s' * (steps != 1)}"
        )
    return facts


@cache
def _state_after(schedule: Schedule, steps: int) -> State:
    return next(itertools.islice(states(schedule), steps, None))


def _read_state(answer: Any, schedule: Schedule) -> State:  # noqa: ANN401
    rows = answer if isinstance(answer, list | tuple) else []
    if len(rows) != schedule.world_size:
        raise AnswerError(answer, A_STATE)
    for row in rows:
        if not isinstance(row, list | tuple) or len(row) != schedule.num_chunks:
            raise AnswerError(answer, A_STATE)
        if not all(isinstance(parts, dict) and _are_counts(parts) for parts in row):
            raise AnswerError(answer, A_STATE)
    return [[Counter({part: n for part, n in parts.items() if n}) for parts in row] for row in rows]


def _are_counts(parts: dict[Any, Any]) -> bool:
    return all(
        type(part) is int and isinstance(count, int | float) and not isinstance(count, bool)
        for part, count in parts.items()
    )


def _first_difference(held: State, wanted: State) -> tuple[int, int] | tuple[None, None]:
    for rank, (row, due) in enumerate(zip(held, wanted, strict=True)):
        for chunk, (parts, promised) in enumerate(zip(row, due, strict=True)):
            if parts != promised:
                return rank, chunk
    return None, None


def _passed_on(schedule: Schedule, steps: int) -> Facts:
    """Return the first rank that passes on what it receives in the same step, if steps are loops.

    The transfers of a step are taken in their order, so the receiving one has to come first.
    """
    for number, step in enumerate(schedule.steps[:steps]):
        fresh: set[tuple[int, int]] = set()
        for src, dst, chunk, _ in step:
            if (src, chunk) in fresh:
                return {"hasty": src, "step": number}
            fresh.add((dst, chunk))
    return {"hasty": None, "step": None}


JUDGES = {"state": Judge(_state_cases, _state_facts, keeps_arguments=True)}
