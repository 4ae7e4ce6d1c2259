"""Runs compiled schedules on threads, and makes random schedules: the executor without Ray."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from allranks.collectives import contract
from allranks.runtime.compile import Plan, compile_schedule
from allranks.runtime.execute import Region, arrive, leave, load, play, view
from allranks.runtime.shm import Control, SharedFile, map_file
from allranks.schedule import Op, Schedule, Transfer
from allranks.simulate import Layout, layout

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Bench:
    """A compiled schedule with shared memory and one control view per endpoint."""

    layout: Layout
    plan: Plan
    memory: Any
    regions: list[Region]
    controls: list[Control]

    def buffer(self, endpoint: int) -> Array:
        return view(self.memory, self.regions[endpoint], self.layout.dtype)

    def chunk(self, endpoint: int, chunk: int) -> Array:
        """Return a chunk from where it lies after a run."""
        offset = dict(self.plan.places[endpoint]).get(chunk, self.layout.bounds[chunk])
        count = self.layout.bounds[chunk + 1] - self.layout.bounds[chunk]
        return self.buffer(endpoint)[offset : offset + count].copy()


def bench(agreed: Layout, *, tile_bytes: int = 1 << 18) -> Bench:
    """Compile a layout's schedule and give it fresh memory, filled with rubbish."""
    plan = compile_schedule(agreed, tile_bytes=tile_bytes)
    sizes = [-(-count * agreed.dtype.itemsize // 64) * 64 for count in plan.elements]
    offsets = list(accumulate(sizes, initial=0))
    arena = SharedFile(offsets[-1])
    memory = arena.map()
    memory[:] = b"\xa5" * len(memory)
    endpoints = agreed.schedule.num_endpoints
    control = SharedFile(Control.nbytes(endpoints))
    controls = [
        Control(map_file(control.path, control.nbytes), endpoints) for _ in range(endpoints)
    ]
    arena.close()
    control.close()
    regions = [Region(o, e) for o, e in zip(offsets, plan.elements, strict=False)]
    return Bench(agreed, plan, memory, regions, controls)


def run_threads(
    made: Bench,
    runs: Sequence[Sequence[Array | None]],
    *,
    delay: Callable[[int, int], float] = lambda _endpoint, _instruction: 0.0,
    barrier: bool = True,
    collect: Callable[[int], Any] = lambda _endpoint: None,
) -> list[list[Any]]:
    """Play the schedule once per entry of `runs`, back to back, one thread per endpoint.

    Nobody waits between two runs but for what the programs say. `delay(endpoint, i)` is how long
    to sleep before instruction i. Returns, per run, what `collect` gave at each endpoint.
    """
    endpoints = range(made.layout.schedule.num_endpoints)
    answers: list[list[Any]] = [[None for _ in endpoints] for _ in runs]
    errors: list[BaseException] = []

    def work(endpoint: int) -> None:
        try:
            for number, array in enumerate(run[endpoint] for run in padded):
                one_run(made, endpoint, number, array, delay=delay, barrier=barrier)
                answers[number][endpoint] = collect(endpoint)
        except BaseException as error:  # noqa: BLE001 - raised again by the test's own thread
            errors.append(error)
            made.controls[endpoint].abort(1)

    padded = [[*run, *[None] * made.layout.schedule.num_switches] for run in runs]
    threads = [threading.Thread(target=work, args=(e,), daemon=True) for e in endpoints]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive(), "a compiled program hangs"
    if errors:
        raise errors[0]
    return answers


def one_run(
    made: Bench,
    endpoint: int,
    number: int,
    array: Array | None,
    *,
    delay: Callable[[int, int], float],
    barrier: bool,
) -> None:
    """Play one endpoint's part of one run, as its actor would."""
    control, program = made.controls[endpoint], made.plan.programs[endpoint]
    base = 1 + number * made.plan.length
    if array is not None:
        made.layout.load(endpoint, array, made.buffer(endpoint))
    if barrier:
        arrive(control, endpoint, run=1, base=base, endpoints=len(made.regions))
    else:
        time.sleep(delay(endpoint, -1))
        control.publish(endpoint, base)
    play(
        load(program, endpoint, made.regions, made.memory, made.layout.dtype),
        control,
        endpoint,
        run=1,
        base=base,
        ufunc=made.layout.reduce_op.ufunc,
        before=lambda i: time.sleep(delay(endpoint, i)),
    )
    leave(program, control, endpoint, run=1, base=base)


def random_delays(rng: random.Random, endpoints: int) -> Callable[[int, int], float]:
    """Make some endpoints slow at some instructions, differently for every seed."""
    slow = {e for e in range(endpoints) if rng.random() < 0.5}
    dice = random.Random(rng.random())

    def delay(endpoint: int, _instruction: int) -> float:
        return dice.random() * 0.003 if endpoint in slow and dice.random() < 0.3 else 0.0

    return delay


def random_steps(
    rng: random.Random, held: list[set[int]], num_chunks: int, steps: int
) -> list[list[Transfer]]:
    """Return steps that break no rule: any number of sends of what one holds, in any mixture.

    They keep no promise; they contain everything that a compiler can meet: swaps, rotations, a
    chunk that is reduced into and sent at once, several senders, fresh receivers.
    """
    endpoints = len(held)
    made: list[list[Transfer]] = []
    for _ in range(steps):
        step: list[Transfer] = []
        for dst in range(endpoints):
            for chunk in range(num_chunks):
                senders = [e for e in range(endpoints) if e != dst and chunk in held[e]]
                if not senders or rng.random() < 0.5:
                    continue
                if rng.random() < 0.5:
                    step.append(Transfer(rng.choice(senders), dst, chunk, Op.COPY))
                else:
                    chosen = rng.sample(senders, rng.randint(1, len(senders)))
                    step += [Transfer(src, dst, chunk, Op.REDUCE) for src in chosen]
        rng.shuffle(step)
        for t in step:
            held[t.dst].add(t.chunk)
        made.append(step)
    return made


def starts(schedule: Schedule) -> list[set[int]]:
    """Return the chunks that every endpoint holds before the first step."""
    promise = contract(schedule.collective)
    size = promise.size(schedule.world_size, schedule.num_chunks, schedule.root)
    held = [
        {c for c in range(schedule.num_chunks) if any(True for _ in promise.starts(r, c, size))}
        for r in range(schedule.world_size)
    ]
    return held + [set() for _ in range(schedule.num_switches)]


def expected(
    schedule: Schedule, inputs: Sequence[Array | None], reduce_op: str = "sum"
) -> dict[tuple[int, int], Array]:
    """Execute step semantics literally: copy the whole state, then apply all transfers to it.

    Returns the value of every chunk that an endpoint holds at the end.
    """
    agreed = layout(schedule, inputs, reduce_op)
    state: dict[tuple[int, int], Array] = {}
    for rank, held in enumerate(starts(schedule)[: schedule.world_size]):
        array = agreed.inputs[rank]
        if array is not None:
            buffer = agreed.new_buffer()
            agreed.load(rank, array, buffer)
            state.update({(rank, c): buffer[agreed.chunk(c)].copy() for c in held})
    for step in schedule.steps:
        before = dict(state)
        for t in sorted(step, key=lambda t: t[:3]):
            value = before[t.src, t.chunk]
            if t.op is Op.REDUCE and (t.dst, t.chunk) in state:
                with np.errstate(all="ignore"):
                    value = agreed.reduce_op.ufunc(state[t.dst, t.chunk], value)
            state[t.dst, t.chunk] = value
    return state
