"""Variants of a schedule: the same plan backwards, shifted by a chunk, or with one planted fault.

A figure offers them by name, and a question takes its fault from here. The JavaScript twin is
`view/static/variants.js`; `tests/view/test_twin.py` compares every transfer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from allranks.errors import unknown_name
from allranks.schedule import Op, Schedule, Transfer

# What a schedule becomes whose steps run backwards, every transfer the other way round.
MIRROR = {
    "all_gather": "reduce_scatter",
    "reduce_scatter": "all_gather",
    "broadcast": "reduce",
    "reduce": "broadcast",
    "gather": "scatter",
    "scatter": "gather",
    "all_reduce": "all_reduce",
}
_ONLY_COPIES = {"gather", "scatter"}


def vary(schedule: Schedule, *names: str) -> Schedule:
    """Return the schedule with some variants applied, in this order.

    Raises:
        ValueError: no such variant, or this schedule has none of that kind.

    >>> from allranks.algorithms import build
    >>> gather = build("all_gather", "ring", world_size=3)
    >>> vary(gather, "reversed").collective
    'reduce_scatter'
    """
    for name in names:
        if name not in VARIANTS:
            raise ValueError(unknown_name("variant", name, VARIANTS))
        schedule = VARIANTS[name](schedule)
    return schedule


def backwards(schedule: Schedule) -> Schedule:
    """Play the film backwards: the last step first, arrows turned round, COPY becomes REDUCE.

    Where every rank gets a chunk at most once, the transfers of a chunk are a tree that grows out
    of the rank it starts on. Backwards it is a tree that leads there, so an all-gather becomes a
    reduce-scatter: in as many steps, with as many bytes, every rank's out and in exchanged.
    """
    if schedule.collective not in MIRROR:
        message = f"{schedule.collective} has no collective that is its mirror image"
        raise ValueError(message)
    keeps = schedule.collective in _ONLY_COPIES
    other = {Op.COPY: Op.COPY if keeps else Op.REDUCE, Op.REDUCE: Op.COPY}
    steps = [
        tuple(Transfer(t.dst, t.src, t.chunk, other[t.op]) for t in step)
        for step in reversed(schedule.steps)
    ]
    return replace(schedule, collective=MIRROR[schedule.collective], steps=tuple(steps))


def shifted(schedule: Schedule) -> Schedule:
    """Name every chunk one higher: the textbook ring, whose rank r starts with chunk r, not r - 1.

    A reduce-scatter then ends with block r + 1 on rank r.
    """
    blocks = _chunks_of_a_block(schedule)
    return _renamed(schedule, lambda chunk: (chunk + blocks) % schedule.num_chunks)


def swapped(schedule: Schedule) -> Schedule:
    """Exchange the names of blocks 0 and 1, so that each ends where the other belongs."""
    blocks = _chunks_of_a_block(schedule)
    if schedule.world_size == 1:
        message = "one rank has no second block to exchange; take more ranks"
        raise ValueError(message)

    def other(chunk: int) -> int:
        block = chunk // blocks
        return chunk if block > 1 else chunk + blocks - 2 * block * blocks

    return _renamed(schedule, other)


def twice(schedule: Schedule) -> Schedule:
    """Let one REDUCE, the first of a middle step, stand twice in its step."""
    number, place = _middle(schedule)
    step = schedule.steps[number]
    return _with_step(schedule, number, (*step, step[place]))


def dropped(schedule: Schedule) -> Schedule:
    """Leave out one REDUCE: the one that `twice` doubles."""
    number, place = _middle(schedule)
    step = schedule.steps[number]
    return _with_step(schedule, number, (*step[:place], *step[place + 1 :]))


VARIANTS: dict[str, Callable[[Schedule], Schedule]] = {
    "reversed": backwards,
    "shifted": shifted,
    "twice": twice,
    "dropped": dropped,
    "swapped": swapped,
}
BUGS = ("twice", "dropped", "swapped")


def _chunks_of_a_block(schedule: Schedule) -> int:
    blocks, rest = divmod(schedule.num_chunks, schedule.world_size)
    if rest or not blocks:
        message = (
            f"{schedule.num_chunks} chunks are no whole blocks on {schedule.world_size} ranks; "
            "take a multiple of the ranks"
        )
        raise ValueError(message)
    return blocks


def _renamed(schedule: Schedule, name: Callable[[int], int]) -> Schedule:
    steps = (tuple(t._replace(chunk=name(t.chunk)) for t in step) for step in schedule.steps)
    return replace(schedule, steps=tuple(steps))


def _middle(schedule: Schedule) -> tuple[int, int]:
    """Return the middle one of the steps that add, and the place of its first REDUCE."""
    adding = [
        (number, place)
        for number, step in enumerate(schedule.steps)
        if (place := next((i for i, t in enumerate(step) if t.op is Op.REDUCE), None)) is not None
    ]
    if not adding:
        message = "nothing is added in this schedule; take one with a REDUCE"
        raise ValueError(message)
    return adding[len(adding) // 2]


def _with_step(schedule: Schedule, number: int, step: tuple[Transfer, ...]) -> Schedule:
    steps = [step if each == number else one for each, one in enumerate(schedule.steps)]
    return replace(schedule, steps=tuple(steps))
