"""Practice items of chapter 06: what an all-reduce moves, and why no plan moves less."""

from __future__ import annotations

from fractions import Fraction
from math import floor, log2

import numpy as np

from allranks.algorithms import build
from allranks.cost import Cost, bytes_per_rank
from allranks.errors import ScheduleError
from allranks.learn.items.priced import ALPHA, MACHINE, priced
from allranks.learn.templates import (
    ClashError,
    Data,
    Draw,
    Template,
    choice,
    keyed,
    listing,
    num,
    right,
    size,
    told,
    trap,
    us,
    wrong,
)
from allranks.schedule import Op, Schedule, Transfer, counted
from allranks.simulate import simulate
from allranks.topology import Topology
from allranks.verify import states, verify

MB = 1e6


def _price(algorithm: str, n: int, nbytes: float) -> Cost:
    return priced("all_reduce", algorithm, n=n, nbytes=nbytes)


def _ring(n: int) -> Schedule:
    return build("all_reduce", "ring", world_size=n)


def predict_total(draw: Draw) -> Data:
    """Ask what a star and a ring send in all, before the race shows it."""
    n, nbytes = draw.choice([5, 6, 8, 10]), draw.choice([24, 48, 80, 120]) * MB
    star, ring = _price("flat", n, nbytes), _price("ring", n, nbytes)
    if round(star.bytes_total) != round(ring.bytes_total):
        message = f"star and ring differ in all: {star}, {ring}"
        raise ValueError(message)
    return choice(
        draw,
        f"{n} ranks hold {size(nbytes)} each and all want the sum. In the star every rank sends "
        "its vector to rank 0, which adds them and sends the sum back to each. In the ring, chunks "
        "go around: first they are added up, then they are copied. Count the bytes that all "
        f"{n} ranks send together. Which is right?",
        [
            right(
                "Star and ring send equally many.",
                f"{size(ring.bytes_total)} both. But rank 0 of the star sends "
                f"{size(star.bytes_sent_max)} of them, and no rank of the ring more than "
                f"{size(ring.bytes_sent_max)}.",
            ),
            wrong(
                "The ring sends fewer: that is why it is used.",
                "M-RING-LESS-TOTAL",
                f"Here both send {size(ring.bytes_total)}.",
            ),
            wrong(
                "The ring sends more: every rank sends in every step.",
                "M-MESSAGES-ARE-BYTES",
                f"{ring.messages} messages of {size(nbytes / n)} are {star.messages} of "
                f"{size(nbytes)}.",
            ),
            wrong(
                f"The star sends fewer: {size(2 * nbytes)}, a vector in and a sum out.",
                "M-TOTAL-VS-BUSIEST",
                f"That is what passes between rank 0 and one other rank; there are {n - 1} others.",
            ),
        ],
    )


def steps(draw: Draw) -> Data:
    """Ask for the steps of one all-reduce."""
    n = draw.choice([5, 6, 7, 9, 10, 11, 12])
    algorithm = draw.choice(["ring", "ring", "flat", "binomial", "unchunked_ring"])
    key = _price(algorithm, n, n * MB).steps
    doublings = floor(log2(n))
    kinds = {
        "ring": (
            "a ring all-reduce",
            [
                trap(2 * n, "M-COUNT-N", f"Each half takes {n - 1} steps."),
                trap(2 * n - 1, "M-2N-STEPS", f"Here {2 * n - 1} calls, and {key} transfers."),
                trap(n - 1, "M-HALF-WAY", f"After {n - 1} steps the second half begins."),
            ],
            f"{n - 1} steps that add and {n - 1} that copy.",
            "A chunk visits the other ranks twice: once to be added up, once to be copied.",
        ),
        "flat": (
            "an all-reduce by a star (a flat reduce, then a flat broadcast)",
            [
                trap(2, "M-FLAT-IS-ONE-STEP", f"Here {n - 1} into it and {n - 1} out of it."),
                trap(2 * n, "M-COUNT-N", "Rank 0 does not send to itself."),
                trap(n - 1, "M-REDUCE-ONE-RANK", f"{n - 1} steps only bring the sum to rank 0."),
            ],
            f"{n - 1} vectors into rank 0, one after another, and {n - 1} out of it.",
            "One port at rank 0: count the vectors that pass through it.",
        ),
        "binomial": (
            "an all-reduce by a binomial reduce and a binomial broadcast",
            [
                trap(
                    2 * doublings,
                    "M-FLOOR-LG",
                    f"With n = {n}, {doublings} doublings reach only {2**doublings} ranks.",
                ),
                trap(key // 2, "M-REDUCE-ONE-RANK", f"{key // 2} steps bring it to rank 0 only."),
                trap(
                    2 * (n - 1),
                    "M-ONE-AT-A-TIME",
                    f"{2 * (n - 1)} steps are a star's; in a tree many ranks send at once.",
                ),
            ],
            f"{key // 2} steps up the tree and {key // 2} down: 2^{key // 2} reaches {n}.",
            "Twice the depth of the tree: up and down.",
        ),
        "unchunked_ring": (
            "a ring that passes whole vectors on, every rank adding what comes by,",
            [
                trap(
                    2 * (n - 1),
                    "M-UNCHUNKED-IS-RING",
                    f"{2 * (n - 1)} steps take the chunks; a whole vector goes around once.",
                ),
                trap(n, "M-COUNT-N", f"Here {n - 1} vectors have to come by."),
            ],
            f"{n - 1} other vectors come by, one in every step.",
            "How many vectors does a rank lack, and how many come in a step?",
        ),
    }
    name, traps, told_right, hint = kinds[algorithm]
    return num(
        f"How many steps does {name} take on {n} ranks?",
        key,
        traps,
        unit="steps",
        feedback_right=told_right,
        feedback_else=hint,
    )


def busiest_bytes(draw: Draw) -> Data:
    """Ask what one rank of a ring all-reduce sends."""
    n = draw.randint(4, 9)
    nbytes = n * draw.randint(2, 12) * MB
    price = _price("ring", n, nbytes)
    key = round(price.bytes_sent_max / MB)
    chunk = size(nbytes / n)
    return num(
        f"{n} ranks run a ring all-reduce on S = {size(nbytes)}. How much does each rank send?",
        key,
        [
            trap(
                round((n - 1) * nbytes / MB),
                "M-UNCHUNKED-IS-RING",
                f"You counted {n - 1} whole vectors; a chunk has {chunk}.",
            ),
            trap(key // 2, "M-HALF-WAY", f"Count {2 * (n - 1)} chunks of {chunk}, not {n - 1}."),
            trap(round(2 * nbytes / MB), "M-COUNT-N", f"2(n - 1) chunks are {2 * (n - 1)}."),
            trap(
                round(price.bytes_total / MB),
                "M-TOTAL-VS-BUSIEST",
                f"{size(price.bytes_total)} is what all {n} ranks send together.",
            ),
        ],
        unit="MB",
        feedback_right=f"{2 * (n - 1)} chunks of {chunk}: 2(n - 1)/n S.",
        feedback_else=f"A chunk has S/n = {chunk}; count the chunks that leave one rank.",
    )


def total_bytes(draw: Draw) -> Data:
    """Ask what all ranks of a ring send together, given what a star sends."""
    n = draw.randint(4, 9)
    nbytes = n * draw.randint(2, 12) * MB
    star, ring = _price("flat", n, nbytes), _price("ring", n, nbytes)
    whole = round(nbytes / MB)
    key = round(ring.bytes_total / MB)
    return num(
        f"{n} ranks hold {size(nbytes)} each. With a star (reduce to rank 0, broadcast from there) "
        f"rank 0 alone sends {size(star.bytes_sent_max)}. With a ring of {n} chunks, how much do "
        "all ranks send together?",
        key,
        [
            trap(
                round(ring.bytes_sent_max / MB),
                "M-RING-LESS-TOTAL",
                f"{size(ring.bytes_sent_max)} is the share of one rank; there are {n}.",
            ),
            trap(
                round(star.bytes_sent_max / MB),
                "M-RING-LESS-TOTAL",
                f"In all the star sends {size(star.bytes_total)}: as much comes into rank 0 as "
                "goes out of it.",
            ),
            trap(2 * n * whole, "M-COUNT-N", f"That is 2n S; it is 2(n - 1) S, {key} MB."),
            trap(
                n * (n - 1) * whole,
                "M-UNCHUNKED-IS-RING",
                f"{n * (n - 1)} whole vectors would be {n * (n - 1) * whole} MB.",
            ),
        ],
        unit="MB",
        feedback_right=f"2(n - 1) S, as the star: {n} ranks send {size(ring.bytes_sent_max)} each.",
        feedback_else=f"A rank sends {2 * (n - 1)} chunks of {size(nbytes / n)}; add up all {n}.",
    )


def messages(draw: Draw) -> Data:
    """Ask how many messages a ring or a star sends in all."""
    n = draw.randint(4, 9)
    ring, star = _price("ring", n, n * MB), _price("flat", n, n * MB)
    return num(
        f"A star all-reduce on {n} ranks sends {star.messages} messages of S bytes. How many "
        "messages of S/n bytes do all ranks of a ring send together?",
        ring.messages,
        [
            trap(
                ring.steps,
                "M-STEP-IS-MESSAGE",
                f"{ring.steps} steps with {n} messages each.",
            ),
            trap(
                n * (2 * n - 1),
                "M-2N-STEPS",
                f"That is {n} times {2 * n - 1}; each rank sends {ring.steps} times.",
            ),
            trap(2 * n * n, "M-COUNT-N", f"Each rank sends {ring.steps} times, not {2 * n}."),
            trap(n * (n - 1), "M-HALF-WAY", f"There are {ring.steps} steps, not {n - 1}."),
        ],
        unit="messages",
        feedback_right=f"{n} in each of {ring.steps} steps: n times as many, each 1/n as long.",
        feedback_else="All n ranks send in every step; how many steps are there?",
    )


def speed_up(draw: Draw) -> Data:
    """Ask how many times less a rank sends if the vector is cut into chunks."""
    n = draw.choice([4, 5, 6, 8, 10, 12, 16, 32])
    nbytes = n * MB
    whole, ring = _price("unchunked_ring", n, nbytes), _price("ring", n, nbytes)
    key = float(Fraction(round(whole.bytes_sent_max), round(ring.bytes_sent_max)))
    each = f"{n - 1} S against {ring.bytes_sent_max / nbytes:.4g} S"
    return num(
        f"One ring on {n} ranks passes whole vectors on, another one cuts them into {n} chunks. "
        "How many times as much does a rank of the first one send?",
        key,
        [
            trap(
                n,
                "M-HALF-WAY",
                f"The chunks go around twice, so it is {n}/2: {each}.",
            ),
            trap(1, "M-UNCHUNKED-IS-RING", f"With {n} ranks that is {each}."),
            trap(
                n - 1,
                "M-COUNT-N",
                f"The first one sends {n - 1} S, but the second one does not send S: {each}.",
            ),
        ],
        unit=None,
        tolerance=0.005,
        feedback_right=f"n/2: {each}. With two ranks there is no difference.",
        feedback_else="Divide (n - 1) S by 2(n - 1)/n S.",
    )


def state_after(draw: Draw) -> Data:
    """Ask what one rank holds after some steps of a ring all-reduce, in either half."""
    n = 4
    done = draw.choice([1, 2, 2, 4, 4, 5])
    asked = draw.randrange(n)
    schedule = _ring(n)
    every = list(states(schedule))
    arrived = {t.chunk: t for step in schedule.steps[:done] for t in step if t.dst == asked}
    cells = [
        {
            "rank": rank,
            "chunk": chunk,
            "given": rank != asked,
            "answer": sorted(every[done][rank][chunk].elements()),
        }
        for rank in range(n)
        for chunk in range(n)
    ]
    traps = []
    for chunk in range(n):
        held = sorted(every[done][asked][chunk].elements())
        came = arrived.get(chunk)
        if came is None:
            traps.append(
                _state_trap(
                    asked, chunk, [], "M-SEND-MOVES", f"In chunk {chunk} that is its own part."
                )
            )
        elif len(held) < n:
            others = [part for part in held if part != asked]
            traps.append(
                _state_trap(
                    asked,
                    chunk,
                    others,
                    "M-SWAP-IS-SUM",
                    f"Here the parts {listing(others)} were added to part {asked}."
                    if len(others) > 1
                    else f"Here part {others[0]} was added to part {asked}.",
                )
            )
            if done >= n:
                traps.append(
                    _state_trap(
                        asked,
                        chunk,
                        [],
                        "M-PARTIALS-CLEARED",
                        f"Chunk {chunk} still waits for it here.",
                    )
                )
        else:
            traps.append(
                _state_trap(
                    asked,
                    chunk,
                    [asked],
                    "M-ONLY-OWN-PART",
                    f"Here chunk {chunk} is complete by then.",
                )
            )
    half = "adding" if done < n else "copying"
    return keyed(
        "state",
        f"A ring all-reduce on {n} ranks has done {counted(done, 'step')} of {2 * (n - 1)}, so it "
        f"is {half}. Whose parts does rank {asked} hold? Fill in the four cells of its row.",
        {"world_size": n, "num_chunks": n, "cells": cells},
        traps,
        feedback_right="Partial sums stay where they are until the complete chunk replaces them.",
        feedback_else="Follow each chunk from the rank to the right of its owner, once around.",
        explanation=f"Chunk r is complete on rank r after {n - 1} steps, and then goes around.",
    )


def _state_trap(rank: int, chunk: int, parts: list[int], name: str, extra: str) -> Data:
    return {
        "rank": rank,
        "chunk": chunk,
        "parts": parts,
        "feedback": told(name, extra),
        "misconception": name,
    }


def next_transfer(draw: Draw) -> Data:
    """Ask what one rank sends around the border of the two phases."""
    n = draw.randint(4, 7)
    schedule = _ring(n)
    step, rank = draw.choice([n - 2, n - 1, n - 1, n]), draw.randrange(n)
    (key,) = [t for t in schedule.steps[step] if t.src == rank]
    before = list(states(schedule))[step]
    other = Op.COPY if key.op is Op.REDUCE else Op.REDUCE
    lost = f"Before the step rank {key.dst} holds its part {key.dst} of chunk {key.chunk}."
    twice = f"Chunk {key.chunk} is complete on rank {rank}; rank {key.dst} has a part of it too."
    early = key._replace(chunk=(key.chunk - 1) % n)
    has = before[rank][early.chunk].total()
    traps = [
        _next_trap(
            key._replace(op=other),
            "M-SWAP-IS-SUM" if key.op is Op.REDUCE else "M-DOUBLE-COUNT",
            lost if key.op is Op.REDUCE else twice,
        )
    ]
    if has < n:
        traps.append(
            _next_trap(
                early,
                "M-UNFINISHED-CHUNK",
                f"After {step} steps chunk {early.chunk} of rank {rank} has {counted(has, 'part')} "
                f"of {n}.",
            )
            if step >= n - 1
            else _next_trap(
                key._replace(chunk=rank),
                "M-UNFINISHED-CHUNK",
                f"Chunk {rank} ends its way on rank {rank}, and gets its last part there only in "
                "this step.",
            )
        )
    return keyed(
        "next",
        f"A ring all-reduce on {n} ranks leaves chunk r complete on rank r after {n - 1} steps. "
        f"Which transfer does rank {rank} make in step {step}? (The first step is step 0.)",
        {"world_size": n, "num_chunks": n, "answers": [_row(key)]},
        traps,
        feedback_right=f"Step {step} is the last one that adds."
        if step == n - 2
        else "The owner begins, and every later step passes on what came last.",
        feedback_else=f"Steps 0 to {n - 2} add chunk r - 1 - s; from step {n - 1} on, what is "
        "complete is copied.",
    )


def _next_trap(transfer: Transfer, name: str, extra: str) -> Data:
    return {"transfer": _row(transfer), "feedback": told(name, extra), "misconception": name}


def _row(t: Transfer) -> list[int | str]:
    return [t.src, t.dst, t.chunk, t.op.value]


LINES = (
    "for s in range(n - 1):",
    "    rank r sends chunk (r - 1 - s) mod n to rank r + 1, with REDUCE",
    "for s in range(n - 1):",
    "    rank r sends chunk (r - s) mod n to rank r + 1, with COPY",
)
FAULTS = {
    "copy": (1, "    rank r sends chunk (r - 1 - s) mod n to rank r + 1, with COPY"),
    "shift": (1, "    rank r sends chunk (r - s) mod n to rank r + 1, with REDUCE"),
    "add": (3, "    rank r sends chunk (r - s) mod n to rank r + 1, with REDUCE"),
    "early": (3, "    rank r sends chunk (r - 1 - s) mod n to rank r + 1, with COPY"),
    "long": (0, "for s in range(n):"),
    "short": (2, "for s in range(n - 2):"),
}


def spot_line(draw: Draw) -> Data:
    """Ask for the line of a ring all-reduce that was changed."""
    n = draw.choice([4, 5, 6])
    fault = draw.choice(sorted(FAULTS))
    answer, text = FAULTS[fault]
    lines = [*LINES[:answer], text, *LINES[answer + 1 :]]
    reasons = {
        0: ("M-COUNT-N", f"For n = {n} the first phase needs {n - 1} steps."),
        1: ("M-SWAP-IS-SUM", "The first phase has to add, and this line does."),
        2: ("M-HALF-WAY", f"For n = {n} the second phase needs {n - 1} steps."),
        3: ("M-UNFINISHED-CHUNK", "This line does that."),
    }
    if fault == "shift":
        # its second phase then starts from chunks that are not complete: that is not its fault
        reasons[3] = ("M-UNFINISHED-CHUNK", "This line would, if chunk r were complete there.")
    cure = {
        "copy": "COPY in the first phase loses the parts of the receivers.",
        "shift": "It leaves chunk r + 1 complete on rank r, and the second phase starts with r.",
        "add": "REDUCE in the second phase adds complete sums to what they contain already.",
        "early": "In step 0 of the second phase rank r holds chunk r complete, not r - 1.",
        "long": f"A step too many: in it, each chunk comes once more to the rank it left first. It "
        f"takes {n - 1}.",
        "short": f"One step too few: {n - 2} copies of each chunk, where {n - 1} ranks lack it.",
    }[fault]
    return keyed(
        "spot",
        f"A ring all-reduce for {n} ranks leaves chunk r complete on rank r between its two loops. "
        f"Here one line is changed, and the verifier says: {_complaint(n, fault)}. Which line is "
        "to blame?",
        {"lines": lines, "answer": answer},
        [
            {"line": line, "feedback": told(name, extra), "misconception": name}
            for line, (name, extra) in reasons.items()
            if line != answer
        ],
        feedback_right=cure,
        feedback_else="Ask after which step chunk r is complete, and on which rank.",
    )


def _complaint(n: int, fault: str) -> str:
    """Return what the verifier says of the ring with one fault, up to its advice."""
    first = n if fault == "long" else n - 1
    second = n - 2 if fault == "short" else n - 1
    shift = {"shift": 0}.get(fault, 1), {"early": 1}.get(fault, 0)
    ops = (
        Op.COPY if fault == "copy" else Op.REDUCE,
        Op.REDUCE if fault == "add" else Op.COPY,
    )
    steps = tuple(
        tuple(
            Transfer(rank, (rank + 1) % n, (rank - shift[phase] - s) % n, ops[phase])
            for rank in range(n)
        )
        for phase, count in enumerate((first, second))
        for s in range(count)
    )
    try:
        verify(Schedule("all_reduce", "changed", n, n, steps))
    except ScheduleError as error:
        return error.message.partition(";")[0]
    raise ClashError(fault)


def why_optimal(draw: Draw) -> Data:
    """Ask what "bandwidth-optimal" claims, and for which plans."""
    n = draw.choice([4, 6, 8, 16])
    ring = _price("ring", n, n * MB)
    share = f"{ring.bytes_sent_max / (n * MB):.4g} S"
    star = _price("flat", n, n * MB)
    return choice(
        draw,
        f"A ring all-reduce on {n} ranks is called bandwidth-optimal. What does that say?",
        [
            right(
                "Among plans of sends and receives, none has a busiest rank that sends less.",
                f"Each rank sends {share}, and so much per rank is the least.",
            ),
            wrong(
                "Fewer bytes travel in all than in any other plan.",
                "M-RING-LESS-TOTAL",
                f"A star sends {star.bytes_total / (n * MB):g} S in all too.",
            ),
            wrong(
                f"Every correct all-reduce sends {share} out of each rank, the ring too.",
                "M-ANY-ALGO-2N",
                f"In a star rank 0 sends {star.bytes_sent_max / (n * MB):g} S and the others S.",
            ),
            wrong(
                "Its time does not depend on the number of ranks.",
                "M-INDEPENDENT-OF-N",
                f"Here that is {ring.steps} αs.",
            ),
            wrong(
                "It needs the fewest steps.",
                "M-STEPS-NOT-TIME",
                f"The ring takes {ring.steps} steps, a binomial tree up and down "
                f"{_price('binomial', n, n * MB).steps}.",
            ),
        ],
    )


def more_ranks(draw: Draw) -> Data:
    """Ask what four times as many ranks do to the time of a small all-reduce."""
    n, nbytes = draw.choice([8, 16, 32]), draw.choice([16e3, 32e3, 64e3])
    before, after = _price("ring", n, nbytes), _price("ring", 4 * n, nbytes)
    ratio = after.seconds / before.seconds
    if not 3.6 < ratio < 4.4:  # noqa: PLR2004 - about four times
        raise ClashError(ratio)
    sent = [f"{price.bytes_sent_max / nbytes:.4g} S" for price in (before, after)]
    return choice(
        draw,
        f"A ring all-reduce of {size(nbytes)} takes {us(before.seconds)} on {n} ranks ({MACHINE}). "
        f"How long does it take on {4 * n}?",
        [
            right(
                f"About four times as long, {us(after.seconds)}.",
                f"{after.steps} αs for {before.steps}; the bytes per rank hardly count here.",
            ),
            wrong(
                "As long: a ring does not depend on the number of ranks.",
                "M-INDEPENDENT-OF-N",
                f"Here {after.steps} αs alone take {us(after.steps * ALPHA)}.",
            ),
            wrong(
                f"Hardly longer: a rank sends {sent[1]} instead of {sent[0]}.",
                "M-NO-ALPHA",
                f"There are {after.steps} messages in a row, of {us(ALPHA)} and more each.",
            ),
            wrong(
                "A quarter of it: the chunks are a quarter as long.",
                "M-MESSAGES-ARE-BYTES",
                f"And there are four times as many, each of which pays α: {us(after.seconds)}.",
            ),
        ],
    )


def terms_cross(draw: Draw) -> Data:
    """Ask for the size at which the αs of a ring cost as much as its bytes."""
    n = draw.choice([8, 16, 24, 32, 64, 128])
    alpha = draw.choice([2e-6, 4e-6, 5e-6])
    width = draw.choice([25e9, 50e9])
    key = n * alpha * width
    ring = build("all_reduce", "ring", world_size=n)
    topology = Topology.uniform(n, alpha=alpha, bandwidth=width)
    moved = bytes_per_rank(ring, key)[0].sent / width
    if not np.isclose(moved, len(ring.steps) * topology.alpha):
        message = f"n = {n}: {moved} s of bytes, {len(ring.steps)} times {topology.alpha} s"
        raise ValueError(message)
    return num(
        f"On {n} ranks (α = {us(alpha)}, {width / 1e9:g} GB/s per direction) a ring all-reduce of "
        "a small vector pays mostly α, one of a large vector mostly bytes. At which S do both cost "
        "the same?",
        key / MB,
        [
            trap(
                alpha * width / MB,
                "M-UNCHUNKED-IS-RING",
                f"In each step S/n bytes leave a rank, not S: α = S β/n, with n = {n}.",
            ),
            trap(
                8 * key / MB,
                "M-BITS-BYTES",
                f"{width / 1e9:g} GB/s are bytes already.",
            ),
        ],
        unit="MB",
        tolerance=0.01,
        feedback_right=f"S = nα/β: a chunk of {size(key / n)} takes {us(alpha)}, as long as α.",
        feedback_else="Compare inside one step: it pays one α and S/n bytes.",
    )


def uneven(draw: Draw) -> Data:
    """Ask how many elements one rank sends if n does not divide the length."""
    n = draw.randint(3, 5)
    count = n * draw.randint(2, 6) + draw.randint(1, n - 1)
    rank = draw.randrange(n)
    lengths = [len(each) for each in np.array_split(np.arange(count), n)]
    sent = [0] * n
    for _, t in _ring(n).transfers():
        sent[t.src] += lengths[t.chunk]
    key = sent[rank]
    own, beside = lengths[rank], lengths[(rank + 1) % n]
    if key != 2 * count - own - beside:
        message = f"{count} elements on {n} ranks: rank {rank} sends {key}"
        raise ValueError(message)
    return num(
        f"A vector of {count} elements is cut into chunks of {listing(lengths)} elements for a "
        f"ring all-reduce on {n} ranks. How many elements does rank {rank} send?",
        key,
        [
            trap(
                2 * (n - 1) * (count // n),
                "M-TAIL-LOST",
                f"{count} = {n} times {count // n}, and {count % n} more.",
            ),
            trap(
                2 * (n - 1) * count / n,
                "M-EVEN-SHARE",
                f"Rank {rank} leaves out {own} and {beside} elements of twice {count}.",
            ),
            trap(
                2 * count - 2 * own,
                "M-EVEN-SHARE",
                f"In the second phase it leaves out chunk {(rank + 1) % n}, not its own.",
            ),
            trap(sum(sent), "M-TOTAL-VS-BUSIEST", f"{sum(sent)} is what all {n} ranks send."),
        ],
        unit="elements",
        feedback_right=f"2 times {count} less its own chunk ({own}) and its right neighbor's "
        f"({beside}).",
        feedback_else="It sends every chunk twice, but for one chunk in each phase. Which?",
    )


def two_calls(draw: Draw) -> Data:
    """Ask how an all-reduce and two calls that do the same compare."""
    n, nbytes = draw.choice([6, 8, 16]), draw.choice([24, 48, 96]) * MB
    ring = _price("ring", n, nbytes)
    half = priced("reduce_scatter", "ring", n=n, nbytes=nbytes)
    other = priced("all_gather", "ring", n=n, nbytes=nbytes)
    both = half.bytes_sent_max + other.bytes_sent_max
    if round(both) != round(ring.bytes_sent_max):
        message = f"the halves send {both} B, the whole {ring.bytes_sent_max} B"
        raise ValueError(message)
    return choice(
        draw,
        f"You replace one `ncclAllReduce` of {size(nbytes)} on {n} GPUs by `ncclReduceScatter` and "
        "`ncclAllGather`, all with rings. What changes?",
        [
            right(
                "Two launches instead of one; each rank sends as many bytes as before.",
                f"{size(half.bytes_sent_max)} and {size(other.bytes_sent_max)} are "
                f"{size(ring.bytes_sent_max)}.",
            ),
            wrong(
                "Nothing: inside, an all-reduce is these two calls.",
                "M-AR-EQUALS-CALLS",
                "NCCL's ring goes over from one half to the other inside a single kernel.",
            ),
            wrong(
                "Each rank sends twice as many bytes.",
                "M-HALF-WAY",
                f"Each call sends {size(half.bytes_sent_max)} of {size(ring.bytes_sent_max)}.",
            ),
            wrong(
                "The sum is wrong, because partial sums are left in the buffers.",
                "M-PARTIALS-CLEARED",
                "The all-gather starts from complete blocks only.",
            ),
        ],
    )


def mean_of_batch(draw: Draw) -> Data:
    """Ask for the mean gradient of a batch whose shares differ."""
    first, second = draw.choice([(30, 10), (40, 10), (60, 20), (24, 8)])
    low, high = draw.choice([(1, 5), (2, 6), (3, 11), (2, 12)])
    sums = simulate(
        build("all_reduce", "ring", world_size=2),
        [np.array([first * low, first]), np.array([second * high, second])],
    )[0]
    if sums is None:
        message = "an all-reduce leaves a result on every rank"
        raise TypeError(message)
    key = float(sums[0] / sums[1])
    return num(
        f"Rank 0 has {first} samples and their mean gradient is {low}; rank 1 has {second} and its "
        f"mean is {high}. What is the mean over all {first + second} samples?",
        key,
        [
            trap(
                (low + high) / 2,
                "M-MEAN-OF-MEANS",
                f"An all-reduce with AVG gives {(low + high) / 2:g}, which counts a sample of rank "
                f"1 for {first // second} of rank 0.",
            ),
            trap(low + high, "M-MEAN-OF-MEANS", f"{low + high} is the sum of two means."),
        ],
        tolerance=0.005,
        feedback_right=f"({first} times {low} + {second} times {high}) / {first + second}.",
        feedback_else="Add the gradients of all samples, then divide by how many there are.",
    )


ITEMS: dict[str, Template] = {
    "06-predict-total": Template("choice", predict_total, predict=True),
    "06-steps": Template("num", steps),
    "06-speed-up": Template("num", speed_up),
    "06-state-after": Template("state", state_after),
    "06-next-transfer": Template("next", next_transfer),
    "06-spot-line": Template("spot", spot_line),
    "06-busiest-bytes": Template("num", busiest_bytes),
    "06-total-bytes": Template("num", total_bytes),
    "06-messages": Template("num", messages),
    "06-why-optimal": Template("choice", why_optimal),
    "06-more-ranks": Template("choice", more_ranks),
    "06-terms-cross": Template("num", terms_cross),
    "06-uneven": Template("num", uneven),
    "06-two-calls": Template("choice", two_calls),
    "06-mean-of-batch": Template("num", mean_of_batch),
}
