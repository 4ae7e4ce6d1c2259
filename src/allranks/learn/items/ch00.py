"""Practice items of chapter 00: what an all-reduce does, what is counted, what a run proves."""

from __future__ import annotations

from typing import Any

import numpy as np

from allranks.algorithms import build
from allranks.errors import ScheduleError
from allranks.learn.items.priced import priced
from allranks.learn.templates import (
    ClashError,
    Data,
    Draw,
    Template,
    choice,
    keyed,
    listing,
    multi,
    num,
    right,
    told,
    trap,
    wrong,
)
from allranks.schedule import Op, Schedule, Transfer
from allranks.simulate import simulate
from allranks.verify import states, verify


def predict(draw: Draw) -> Data:
    """Ask what four ranks hold after an all-reduce, before the figure shows it."""
    n, count = 4, 8
    filled = [100 * (rank + 1) + np.arange(count) for rank in range(n)]
    total = sum_of_ranks(filled)
    return choice(
        draw,
        "Four ranks hold the vectors a, b, c and d, of 8 elements each. After an all-reduce with "
        "SUM, who holds what?",
        [
            right(
                "Every rank holds a + b + c + d, 8 elements.",
                f"Element by element: with a0 = 100, b0 = 200 and so on, element 0 is {total[0]} "
                "on every rank.",
            ),
            wrong(
                "Every rank holds one number, the sum of all elements.",
                "M-SCALAR",
                f"Here it is {total[0]}, {total[1]}, {total[2]}, ..., and not {total.sum()}.",
            ),
            wrong(
                "Rank 0 holds a + b + c + d; the others keep what they had.", "M-REDUCE-ONE-RANK"
            ),
            wrong(
                "Every rank holds a, b, c and d one after another, 32 elements.",
                "M-ALLREDUCE-CONCAT",
                f"Here each rank ends with {count} elements, not with {n * count}.",
            ),
        ],
    )


def sum_of_ranks(filled: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Return what rank 0 holds after a ring all-reduce of these vectors, by the engine."""
    result = simulate(build("all_reduce", "ring", world_size=len(filled)), filled)[0]
    if result is None:
        message = "an all-reduce leaves a result on every rank"
        raise TypeError(message)
    return result


def who_calls(draw: Draw) -> Data:
    """Ask which ranks call a collective."""
    n = draw.randint(3, 8)
    other = draw.randint(1, n - 1)
    return choice(
        draw,
        f"{n} ranks each hold a part of a sum, and only rank {other} is going to print it. Which "
        "ranks "
        "call `all_reduce`?",
        [
            right(
                f"All {n}, with the same operation, size and type.",
                f"Each of the {n} ranks has a part that the others need, so each one takes part.",
            ),
            wrong(
                f"Rank {other}: it asks the others for their parts.",
                "M-ONLY-SENDER-CALLS",
                f"If rank {other} calls alone, it waits for the other {n - 1} for ever.",
            ),
            wrong(
                f"The {n - 1} ranks that have something to send to rank {other}.",
                "M-ONLY-SENDER-CALLS",
                f"Rank {other} has to receive, so it calls too.",
            ),
            wrong(
                f"All {n}, and no byte moves before the last of them has called.",
                "M-BARRIER",
                "Ranks that are there already exchange what they have.",
            ),
        ],
    )


def state_after_step(draw: Draw) -> Data:
    """Ask whose parts the chunks hold that step 1 of a ring wrote."""
    n = draw.randint(3, 5)
    schedule = build("reduce_scatter", "ring", world_size=n)
    before, after = list(states(schedule))[1:3]
    written = {(t.dst, t.chunk): t for t in schedule.steps[1]}
    cells, traps = [], []
    for rank in range(n):
        for chunk in range(n):
            parts = sorted(after[rank][chunk].elements())
            asked = (rank, chunk) in written
            cells.append({"rank": rank, "chunk": chunk, "given": not asked, "answer": parts})
            if not asked:
                continue
            source = written[rank, chunk].src
            arrived = sorted(before[source][chunk].elements())
            lists = listing(arrived)
            traps += [
                {
                    "rank": rank,
                    "chunk": chunk,
                    "parts": arrived,
                    "misconception": "M-SWAP-IS-SUM",
                    "feedback": told(
                        "M-SWAP-IS-SUM",
                        f"Rank {rank} adds the parts {lists} to its own part {rank} of chunk "
                        f"{chunk}.",
                    ),
                },
                {
                    "rank": rank,
                    "chunk": chunk,
                    "parts": [source, rank] if source < rank else [rank, source],
                    "misconception": "M-ONLY-OWN-PART",
                    "feedback": told(
                        "M-ONLY-OWN-PART",
                        f"After step 0, chunk {chunk} of rank {source} holds the parts {lists}; "
                        "both travel.",
                    ),
                },
            ]
    return keyed(
        "state",
        f"A ring reduce-scatter on {n} ranks has done step 0. In step 1 every rank sends one "
        "chunk to "
        "its right, with REDUCE. Whose parts do the written chunks hold afterwards?",
        {"world_size": n, "num_chunks": n, "cells": cells},
        traps,
        feedback_right=f"Each written chunk now holds the parts of 3 of the {n} ranks.",
        feedback_else="Add what the left neighbor held before the step to what was there.",
        explanation="A sum grows by one part per step: after step s it holds s + 2 parts.",
    )


def sum_element(draw: Draw) -> Data:
    """Ask for one element of the sum of vectors filled at random."""
    n, count = draw.randint(3, 6), draw.choice([4, 6, 8])
    scale, index = draw.choice([10, 100, 1000]), draw.randrange(count)
    filled = [scale * (rank + 1) + np.arange(count) for rank in range(n)]
    total = sum_of_ranks(filled)
    key = int(total[index])
    return num(
        f"On {n} ranks, rank r holds {count} numbers: element i is {scale}(r + 1) + i. After an "
        f"all-reduce with SUM, what is element {index} on rank {draw.randrange(n)}?",
        key,
        [
            trap(
                int(total.sum()),
                "M-SCALAR",
                f"The result is {listing(total)}; you added all {count} of them.",
            ),
            trap(
                key + int(filled[0][index]),
                "M-DOUBLE-COUNT",
                f"The part of rank 0, {filled[0][index]}, is in your sum twice.",
            ),
            trap(
                int(filled[n - 1][index]),
                "M-SWAP-IS-SUM",
                f"That is the part of rank {n - 1} alone.",
            ),
        ],
        feedback_right=f"{' + '.join(str(part[index]) for part in filled)} = {key}.",
        feedback_else=f"Add element {index} of all {n} ranks; no other element enters.",
    )


def what_is_nccl(draw: Draw) -> Data:
    """Ask what NCCL is."""
    return choice(
        draw,
        "What is NCCL?",
        [
            right(
                "The NVIDIA Collective Communications Library: one implementation of collectives.",
                "MPI libraries and gloo implement the same operations.",
            ),
            wrong(
                "The common name of all-reduce, broadcast and the other operations.",
                "M-NCCL-IS-COLLECTIVES",
                "The operations are older than NCCL; MPI had them in 1994.",
            ),
            wrong(
                "The protocol that GPUs speak on an NVLink cable.",
                "M-NCCL-IS-COLLECTIVES",
                "NCCL is software that uses NVLink, PCIe and networks.",
            ),
            wrong(
                "The service that starts the processes of a job on a cluster.",
                "M-NCCL-IS-COLLECTIVES",
                "Processes are started by others, here by Ray; NCCL moves their data.",
            ),
        ],
    )


def cpu_run_proves(draw: Draw) -> Data:
    """Ask what a run on CPU processes says about GPUs."""
    n = draw.choice([4, 6, 8])
    steps = priced("all_reduce", "ring", n=n, nbytes=n * 8e6).steps
    return multi(
        draw,
        f"You run a ring all-reduce of integers on {n} CPU processes, once. What does this run "
        f"show about {n} GPUs that play the same schedule?",
        [
            right(
                "From these inputs every GPU gets the same sums.",
                "The schedule decides what is added.",
            ),
            right(f"It takes {steps} steps.", "Steps belong to the schedule."),
            right(
                "How many bytes each GPU sends.",
                "Bytes belong to the schedule and to the size of the input, not to the machine.",
            ),
            wrong(
                "From all inputs every GPU gets the right sums.",
                "M-ONE-RUN-IS-PROOF",
                "`verify` gives that proof.",
            ),
            wrong("How many seconds it takes.", "M-CPU-IS-GPU"),
            wrong(
                "Which of two algorithms is faster.",
                "M-CPU-IS-GPU",
                "The faster one depends on α and β, which differ between machines.",
            ),
        ],
    )


def spot_twice(draw: Draw) -> Data:
    """Ask for the line that makes the verifier say "added twice"."""
    n = draw.choice([3, 4])
    chunk = draw.randrange(n)
    good = build("all_reduce", "ring", world_size=n)
    route = [(number, t) for number, t in good.transfers() if t.chunk == chunk]
    copies = [place for place, (_, t) in enumerate(route) if t.op is Op.COPY]
    bad = draw.choice(copies)
    bad_step, original = route[bad]
    changed = original._replace(op=Op.REDUCE)
    steps = [
        tuple(changed if (number, t) == (bad_step, original) else t for t in step)
        for number, step in enumerate(good.steps)
    ]
    error = _error_of(Schedule("all_reduce", "changed", n, n, tuple(steps)))
    route[bad] = (bad_step, changed)
    answer = next(place for place, (number, _) in enumerate(route) if number == error.step)
    traps = [
        _line_trap(place, number, transfer, answer)
        for place, (number, transfer) in enumerate(route)
        if place != answer
    ]
    return keyed(
        "spot",
        f"This is the way of chunk {chunk} through a ring all-reduce on {n} ranks, with one word "
        "changed. "
        "The verifier says that a part is added twice. Which line is behind it?",
        {"lines": [_line(number, t) for number, t in route], "answer": answer},
        traps,
        feedback_right=(
            f"Rank {changed.src} sends the complete sum of {n} parts; rank {changed.dst} must "
            "copy it. Added "
            "to what is there, its parts count twice."
        ),
        feedback_else="Look for the first line that adds a sum to something it already contains.",
    )


def _error_of(schedule: Schedule) -> ScheduleError:
    try:
        verify(schedule)
    except ScheduleError as error:
        return error
    raise ClashError(schedule)


def _line(step: int, t: Transfer) -> str:
    return f"step {step}: rank {t.src} -> rank {t.dst}, chunk {t.chunk}, {t.op.name}"


def _line_trap(place: int, step: int, t: Transfer, answer: int) -> Data:
    if place > answer:
        name, extra = (
            "M-WHERE-NOTICED",
            f"In step {step} rank {t.src} only passes on what it was left with.",
        )
    else:
        name = "M-DOUBLE-COUNT"
        extra = (
            f"Step {step} adds the part of rank {t.dst} for the first time."
            if t.op is Op.REDUCE
            else f"Step {step} copies, and a copy adds nothing."
        )
    return {"line": place, "feedback": told(name, extra), "misconception": name}


def steps(draw: Draw) -> Data:
    """Ask for the number of steps of a ring all-reduce."""
    n = draw.randint(3, 12)
    key = priced("all_reduce", "ring", n=n, nbytes=n * 1e6).steps
    return num(
        f"How many steps does a ring all-reduce take on {n} ranks?",
        key,
        [
            trap(2 * n, "M-COUNT-N", f"Both halves are one step shorter than {n}."),
            trap(
                n - 1,
                "M-HALF-WAY",
                f"After {n - 1} steps each rank owns one complete chunk of {n}.",
            ),
            trap(n, "M-COUNT-N", f"And there are two halves, of {n - 1} steps each."),
        ],
        unit="steps",
        feedback_right=f"{n - 1} steps of reduce-scatter, {n - 1} of all-gather.",
        feedback_else=f"Count the two halves: a chunk visits the other {n - 1} ranks in each.",
    )


def bytes_per_rank(draw: Draw) -> Data:
    """Ask how many bytes one rank sends in a ring all-reduce."""
    n = draw.randint(3, 8)
    count = n * draw.randint(2, 9)
    nbytes = 8 * count
    price = priced("all_reduce", "ring", n=n, nbytes=nbytes)
    key = round(price.bytes_sent_max)
    block = nbytes // n
    return num(
        f"{n} ranks run a ring all-reduce on {count} int64 numbers each, so S = {nbytes} B. How "
        "many bytes "
        "does each rank send?",
        key,
        [
            trap(
                round(price.bytes_total),
                "M-TOTAL-VS-BUSIEST",
                f"{round(price.bytes_total)} B is what all {n} ranks send together.",
            ),
            trap(
                2 * nbytes, "M-COUNT-N", f"It sends {2 * (n - 1)} chunks of {block} B, not {2 * n}."
            ),
            trap(key // 2, "M-HALF-WAY", f"You counted {n - 1} of {2 * (n - 1)} chunks."),
        ],
        unit="B",
        feedback_right=f"{2 * (n - 1)} chunks of {block} B: 2(n - 1)/n S.",
        feedback_else=f"A chunk has S/n = {block} B; count the chunks that one rank sends.",
    )


ITEMS: dict[str, Template] = {
    "00-predict": Template("choice", predict, predict=True),
    "00-who-calls": Template("choice", who_calls),
    "00-state-after-step": Template("state", state_after_step),
    "00-sum-element": Template("num", sum_element),
    "00-steps": Template("num", steps),
    "00-bytes-per-rank": Template("num", bytes_per_rank),
    "00-spot-twice": Template("spot", spot_twice),
    "00-what-is-nccl": Template("choice", what_is_nccl),
    "00-cpu-run-proves": Template("multi", cpu_run_proves),
}
