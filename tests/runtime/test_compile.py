"""The compiler and the executor together: step semantics, on threads, under every delay."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from runtime_harness import (
    Array,
    Bench,
    bench,
    expected,
    random_delays,
    random_steps,
    run_threads,
    starts,
)

from allranks.algorithms import ALGORITHMS, build
from allranks.runtime.compile import OWN, compile_schedule
from allranks.schedule import Op, Schedule, Transfer
from allranks.simulate import layout, simulate

DTYPES = ["int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "bool"]


def numbers(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Array:
    values = np.random.default_rng(rng.randrange(1 << 30)).integers(0, 100, shape)
    return values.astype(dtype)


def random_inputs(rng: random.Random, schedule: Schedule, rows: int, dtype: str) -> list[Any]:
    n = schedule.world_size
    if schedule.collective in ("all_gather", "gather"):
        whole = np.array_split(np.arange(rows), n)
        return [numbers(rng, (len(part), 2), dtype) for part in whole]
    inputs: list[Any] = [numbers(rng, (rows, 2), dtype) for _ in range(n)]
    if schedule.collective in ("broadcast", "scatter"):
        return [array if rank == schedule.root else None for rank, array in enumerate(inputs)]
    return inputs


def random_schedule(rng: random.Random) -> Schedule:
    n = rng.randint(2, 5)
    collective = rng.choice(["all_reduce", "broadcast", "all_gather", "reduce"])
    chunks = n * rng.randint(1, 2) if collective == "all_gather" else rng.randint(1, 4)
    root = rng.randrange(n) if collective in ("broadcast", "reduce") else None
    switches = rng.choice([0, 0, 1])
    empty = Schedule(collective, "random", n, chunks, (), root=root, num_switches=switches)
    steps = random_steps(rng, starts(empty), chunks, rng.randint(1, 7))
    return Schedule(
        collective,
        "random",
        n,
        chunks,
        tuple(tuple(step) for step in steps),
        root=root,
        num_switches=switches,
    )


def same_bits(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("seed", range(60))
def test_any_schedule_gives_what_its_steps_mean_under_any_delay(seed: int) -> None:
    rng = random.Random(seed)
    schedule = random_schedule(rng)
    dtype = rng.choice(DTYPES)
    rows = rng.choice([0, 1, 3, 7, 40])
    reduce_op = rng.choice(["sum", "max", "min"]) if dtype != "complex64" else "sum"
    runs = [random_inputs(rng, schedule, rows, dtype) for _ in range(3)]
    made = bench(layout(schedule, runs[0], reduce_op), tile_bytes=rng.choice([1, 8, 24, 1 << 18]))

    def held(endpoint: int) -> dict[int, Array]:
        return {chunk: made.chunk(endpoint, chunk) for chunk in range(schedule.num_chunks)}

    got = run_threads(
        made,
        runs,
        delay=random_delays(rng, schedule.num_endpoints),
        barrier=rng.random() < 0.5,
        collect=held,
    )
    for inputs, answer in zip(runs, got, strict=True):
        for (endpoint, chunk), value in expected(schedule, inputs, reduce_op).items():
            assert same_bits(answer[endpoint][chunk], value), (endpoint, chunk)


def outputs_of(made: Bench, endpoint: int) -> Array | None:
    vector = made.buffer(endpoint)[: made.layout.count].copy()
    for chunk in range(made.layout.schedule.num_chunks):
        vector[made.layout.chunk(chunk)] = made.chunk(endpoint, chunk)
    return made.layout.output(endpoint, vector)


@pytest.mark.parametrize(("collective", "algorithm"), ALGORITHMS)
def test_every_algorithm_equals_simulate_bit_for_bit(collective: str, algorithm: str) -> None:
    rng = random.Random(f"{collective} {algorithm}")
    possible = [n for n in (1, 2, 3, 5, 8) if not ALGORITHMS[collective, algorithm].refuse(n)]
    for n in possible:
        schedule = build(collective, algorithm, world_size=n)
        dtype = rng.choice(["float32", "int16", "float16"])
        for rows in (0, 1, n + 1, 37):
            runs = [random_inputs(rng, schedule, rows, dtype) for _ in range(2)]
            made = bench(layout(schedule, runs[0]), tile_bytes=rng.choice([8, 64, 1 << 18]))
            got = run_threads(
                made,
                runs,
                delay=random_delays(rng, schedule.num_endpoints),
                collect=lambda e, made=made, n=n: outputs_of(made, e) if e < n else None,
            )
            for inputs, answer in zip(runs, got, strict=True):
                for have, want in zip(answer, simulate(schedule, inputs), strict=False):
                    assert (have is None) == (want is None)
                    assert have is None or want is None or same_bits(have, want)


def exchange(n: int) -> Schedule:
    """Recursive doubling: in every step, pairs swap their sums of the one chunk."""
    steps = []
    distance = 1
    while distance < n:
        steps.append(tuple(Transfer(r, r ^ distance, 0, Op.REDUCE) for r in range(n)))
        distance *= 2
    return Schedule("all_reduce", "doubling", n, 1, tuple(steps))


@pytest.mark.parametrize("n", [2, 4, 8])
def test_recursive_doubling_needs_a_shadow_and_gives_the_sum(n: int) -> None:
    schedule = exchange(n)
    inputs = [np.arange(50, dtype="float32") * (rank + 1) for rank in range(n)]
    made = bench(layout(schedule, inputs), tile_bytes=32)
    got = run_threads(made, [inputs] * 3, collect=lambda e: outputs_of(made, e))
    for answer in got:
        for have in answer:
            assert np.array_equal(have, sum(inputs))
    assert made.plan.elements == (100,) * n
    moved = n in (2, 8)  # an odd number of steps leaves the chunk in its shadow
    assert made.plan.places == (((0, 50),) if moved else (),) * n


def test_a_chunk_reduced_into_and_sent_in_one_step_sends_its_old_value() -> None:
    schedule = Schedule(
        "reduce",
        "custom",
        3,
        3,
        (
            (Transfer(0, 1, 2, Op.REDUCE), Transfer(1, 2, 2, Op.REDUCE)),
            (Transfer(0, 2, 2, Op.REDUCE),),
            tuple(Transfer(src, 2, c, Op.REDUCE) for src in (0, 1) for c in (0, 1)),
        ),
        root=2,
    )
    inputs = [np.array([1, 10, 100]) * (rank + 1) for rank in range(3)]
    made = bench(layout(schedule, inputs))
    slow_reader = lambda endpoint, _i: 0.05 if endpoint == 2 else 0.0  # noqa: E731
    (answer,) = run_threads(
        made, [inputs], delay=slow_reader, collect=lambda e: outputs_of(made, e)
    )
    assert answer[2].tolist() == [6, 60, 600]
    assert simulate(schedule, inputs)[2].tolist() == [6, 60, 600]


def test_waits_of_a_chain_are_the_ones_worked_by_hand() -> None:
    """Chain 0 -> 1 -> 2 of one chunk: two reads after writes, two readers at the exit."""
    schedule = build("broadcast", "chain", world_size=3, num_chunks=1)
    plan = compile_schedule(layout(schedule, [np.arange(4), None, None]))
    waits = [[i.waits for i in program.instructions] for program in plan.programs]
    assert waits == [[], [((0, 0),)], [((1, 1),)]]
    assert [program.exits for program in plan.programs] == [((1, 1),), ((2, 1),), ()]


def test_overwriting_waits_for_the_reader_of_the_step_before() -> None:
    steps = (
        (Transfer(0, 1, 0, Op.COPY),),
        (Transfer(1, 2, 0, Op.COPY),),
        (Transfer(3, 1, 0, Op.COPY),),
    )
    schedule = Schedule("all_reduce", "custom", 4, 1, steps)
    plan = compile_schedule(layout(schedule, [np.arange(2)] * 4))
    overwrite = plan.programs[1].instructions[1]
    assert dict(overwrite.waits) == {3: 0, 2: 1}  # rank 3's input, rank 2's read
    assert plan.elements == (2,) * 4  # nothing is read and written in one step: no shadow


def test_several_senders_are_added_to_the_own_value_in_rank_order() -> None:
    step = (
        Transfer(3, 1, 0, Op.REDUCE),
        Transfer(0, 1, 0, Op.REDUCE),
        Transfer(2, 1, 0, Op.REDUCE),
    )
    schedule = Schedule("reduce", "custom", 4, 1, (step,), root=1)
    plan = compile_schedule(layout(schedule, [np.arange(2)] * 4))
    (instruction,) = plan.programs[1].instructions
    assert [(s.endpoint, s.transfer) for s in instruction.sources] == [
        (1, OWN),
        (0, 1),
        (2, 2),
        (3, 0),
    ]


def test_waits_point_backwards_in_one_order_so_programs_cannot_deadlock() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        schedule = random_schedule(rng)
        agreed = layout(schedule, random_inputs(rng, schedule, 9, "int32"))
        plan = compile_schedule(agreed, tile_bytes=rng.choice([4, 1 << 18]))
        done = [0] * schedule.num_endpoints
        moved = True
        while moved:
            moved = False
            for endpoint, program in enumerate(plan.programs):
                while done[endpoint] < len(program.instructions) and all(
                    done[peer] >= count
                    for peer, count in program.instructions[done[endpoint]].waits
                ):
                    done[endpoint] += 1
                    moved = True
        assert done == [len(program.instructions) for program in plan.programs]
        for program in plan.programs:
            assert all(done[peer] >= count for peer, count in program.exits)
