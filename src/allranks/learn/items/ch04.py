"""Practice items of chapter 04: what an all-gather must move, in which steps, at what price."""

from __future__ import annotations

from math import floor, log2

from allranks.algorithms import ALGORITHMS, build
from allranks.cost import Cost, cost
from allranks.learn.items.priced import ALPHA, BANDWIDTH, BENCH, MACHINE, priced
from allranks.learn.templates import (
    LETTERS,
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
    size,
    told,
    trap,
    us,
    wrong,
)
from allranks.schedule import Schedule, Transfer, counted
from allranks.topology import Topology
from allranks.verify import states


def _price(algorithm: str, n: int, nbytes: float) -> Cost:
    return priced("all_gather", algorithm, n=n, nbytes=nbytes)


def _gather(algorithm: str, n: int) -> Schedule:
    return build("all_gather", algorithm, world_size=n)


def _blocks_sent(schedule: Schedule) -> list[int]:
    """Return how many blocks rank 0 sends in each step."""
    return [sum(t.src == 0 for t in step) for step in schedule.steps]


def predict_double(draw: Draw) -> Data:
    """Ask what twice as many ranks cost if S stays, before the race shows it."""
    n, nbytes = draw.choice([8, 12, 16]), draw.choice([48e6, 96e6, 192e6])
    before, after = _price("ring", n, nbytes), _price("ring", 2 * n, nbytes)
    percent = 100 * (after.seconds / before.seconds - 1)
    most = 15
    if percent > most:
        raise ClashError(percent)
    sent = f"{size(before.bytes_sent_max)} and {size(after.bytes_sent_max)} out of each rank"
    times = f"{us(before.seconds)} become {us(after.seconds)}"
    return choice(
        draw,
        f"{n} ranks hold {size(nbytes)} together, and gather them on every rank with a ring "
        f"({MACHINE}). Now {2 * n} ranks hold the same {size(nbytes)}. What happens to the time?",
        [
            right(
                f"It grows, by less than {most} percent.",
                f"{times}: almost the same bytes, {sent}, in {after.steps} steps for "
                f"{before.steps}.",
            ),
            wrong(
                "It doubles: there are twice as many steps.",
                "M-GROWS-WITH-N",
                f"{after.steps} steps for {before.steps}, but each with half the bytes: {times}.",
            ),
            wrong(
                "It doubles: every rank gets twice as much.",
                "M-S-PER-RANK",
                f"Every rank ends with {size(nbytes)}, before and after.",
            ),
            wrong(
                "It halves: the block of a rank is half as long.",
                "M-OWN-BLOCK-ONLY",
                f"Here that is {sent}.",
            ),
        ],
    )


def bytes_of_blocks(draw: Draw) -> Data:
    """Ask how much a rank sends, given what each rank contributes."""
    n = draw.randint(3, 9)
    each = n * draw.randint(1, 6)
    price = _price("ring", n, n * each * 1e6)
    key = round(price.bytes_sent_max / 1e6)
    return num(
        f"Each of {n} ranks puts {each} MB into a ring all-gather. How much does one rank send?",
        key,
        [
            trap(
                (n - 1) * each // n,
                "M-S-PER-RANK",
                f"Here S is {n} times {each} MB, {n * each} MB.",
            ),
            trap(n * each, "M-COUNT-N", f"That is {n - 1} blocks of {each} MB, not {n}."),
            trap(
                round(price.bytes_total / 1e6),
                "M-TOTAL-VS-BUSIEST",
                f"{size(price.bytes_total)} is what all {n} ranks send together.",
            ),
            trap(each, "M-OWN-BLOCK-ONLY", f"Count all {n - 1} sends of a rank."),
        ],
        unit="MB",
        feedback_right=f"{n - 1} steps, one block of {each} MB in each: (n - 1)/n S.",
        feedback_else=f"Count the blocks that leave one rank; each has {each} MB.",
    )


def compared_with_broadcasts(draw: Draw) -> Data:
    """Ask how n broadcasts in turn compare with a ring."""
    n = draw.randint(4, 9)
    block = draw.choice([1, 2, 4, 8])
    ring = _price("ring", n, n * block * 1e6)
    one = priced("broadcast", "chain", n=n, nbytes=block * 1e6, k=1)
    times = f"{us(n * one.seconds)} against {us(ring.seconds)} of the ring"
    return choice(
        draw,
        f"{n} ranks with a block of {block} MB each call {n} broadcasts, one after another, each "
        f"down an uncut chain ({MACHINE}). A ring all-gather would give the same result. How do "
        "they compare?",
        [
            right(
                f"The broadcasts take {n} times as long.",
                f"{times}: {n * one.steps} steps for {ring.steps}, each as long. In the chain one "
                "rank sends at a time, in the ring all do.",
            ),
            wrong(
                "They take as long: the bytes are the same.",
                "M-AG-IS-N-BCASTS",
                f"Here that is {times}.",
            ),
            wrong(
                f"The broadcasts move {n} times the bytes.",
                "M-TOTAL-VS-BUSIEST",
                f"Both move {size(ring.bytes_total)} in all.",
            ),
            wrong(
                "The broadcasts are faster: a broadcast does not wait for the other ranks.",
                "M-BARRIER",
                f"But a chain is {n - 1} hops long, and the hops of a block wait for each other.",
            ),
        ],
    )


def next_ring(draw: Draw) -> Data:
    """Ask what one rank of a ring sends in one step."""
    n = draw.randint(4, 8)
    schedule = _gather("ring", n)
    step, rank = draw.randrange(1, n - 1), draw.randrange(n)
    (key,) = [t for t in schedule.steps[step] if t.src == rank]
    ahead = key._replace(chunk=(rank + step) % n)
    if ahead == key:
        raise ClashError(key)
    first = next(s for s, t in schedule.transfers() if (t.src, t.chunk) == (rank, rank))
    held = next(
        number
        for number, state in enumerate(states(schedule))
        if state[rank][ahead.chunk].total() > 0
    )
    traps = [
        _next_trap(
            key._replace(chunk=rank),
            "M-OWN-BLOCK-AGAIN",
            f"Step {step}: rank {key.dst} already has chunk {rank}, since step {first}.",
        ),
        _next_trap(
            ahead,
            "M-RING-AHEAD",
            f"Rank {rank} has chunk {ahead.chunk} only after {held} steps."
            if held > step
            else f"Rank {rank} passed chunk {ahead.chunk} on already, in step {held}.",
        ),
    ]
    return keyed(
        "next",
        f"A ring all-gather on {n} ranks sends to the right. Which transfer does rank {rank} make "
        f"in step {step}? (The first step is step 0.)",
        {"world_size": n, "num_chunks": n, "answers": [_row(key)]},
        traps,
        feedback_right=f"What left rank {key.chunk} in step 0 has come "
        f"{counted(step, 'place')} to the right.",
        feedback_else="With COPY, to the right: the chunk that set out s places to the left.",
    )


def _next_trap(transfer: Transfer, name: str, extra: str) -> Data:
    return {"transfer": _row(transfer), "feedback": told(name, extra), "misconception": name}


def _row(t: Transfer) -> list[int | str]:
    return [t.src, t.dst, t.chunk, t.op.value]


def state_after(draw: Draw) -> Data:
    """Ask which chunks one rank has after some steps of a ring."""
    n = draw.choice([4, 5])
    done, asked = draw.randint(1, n - 2), draw.randrange(n)
    schedule = _gather("ring", n)
    after = list(states(schedule))[done]
    arrives = {t.chunk: step for step, t in schedule.transfers() if t.dst == asked}
    cells = [
        {
            "rank": rank,
            "chunk": chunk,
            "given": rank != asked,
            "answer": sorted(after[rank][chunk].elements()),
        }
        for rank in range(n)
        for chunk in range(n)
    ]
    traps = [
        {
            "rank": asked,
            "chunk": chunk,
            "parts": [chunk],
            "misconception": "M-RING-AHEAD",
            "feedback": told(
                "M-RING-AHEAD",
                f"Chunk {chunk} comes to rank {asked} only after {arrives[chunk] + 1} steps.",
            ),
        }
        for chunk in range(n)
        if not after[asked][chunk]
    ]
    word = "step" if done == 1 else "steps"
    return keyed(
        "state",
        f"A ring all-gather on {n} ranks has done {done} {word}. Which chunks does rank {asked} "
        "hold? In each of its cells, choose the rank whose part is there, or leave it empty.",
        {"world_size": n, "num_chunks": n, "cells": cells},
        traps,
        feedback_right=f"Its own and {done} from the left: one more in every step.",
        feedback_else="Start at its own chunk and count to the left, one chunk for every step.",
        explanation="The matrix fills along diagonals, one of them per step.",
    )


def steps(draw: Draw) -> Data:
    """Ask for the number of steps of one all-gather."""
    n = draw.choice([5, 6, 7, 9, 11, 12, 13, 20])
    algorithm = draw.choice(["ring", "bruck", "bruck"])
    key = _price(algorithm, n, n * 1e6).steps
    doublings = floor(log2(n))
    other = _price("bruck" if algorithm == "ring" else "ring", n, n * 1e6).steps
    traps = [trap(n, "M-COUNT-N", f"Here {n - 1} blocks are missing on every rank.")]
    if algorithm == "bruck":
        traps += [
            trap(
                doublings,
                "M-FLOOR-LG",
                f"With n = {n}, {doublings} doublings reach only {2**doublings} ranks.",
            ),
            trap(other, "M-ONE-BLOCK", f"In {other} steps a ring does it, block by block."),
        ]
        name = "Bruck's all-gather"
        told_right = f"2^{key} = {2**key} is the first power of two that reaches {n}."
        hint = f"What a rank holds doubles in every step; when is it {n} blocks?"
    else:
        traps.append(
            trap(
                other,
                "M-RING-DOUBLES",
                f"{other} steps are Bruck's, where a rank sends on all it holds.",
            )
        )
        name = "a ring all-gather"
        told_right = f"{n - 1} blocks are missing on every rank, and each step brings one."
        hint = "Count the blocks that a rank lacks, and those that a step brings."
    return num(
        f"How many steps does {name} take on {n} ranks?",
        key,
        traps,
        unit="steps",
        feedback_right=told_right,
        feedback_else=hint,
    )


def small_gain(draw: Draw) -> Data:
    """Ask what makes a small all-gather faster."""
    n, nbytes = draw.choice([6, 7, 12, 24]), draw.choice([2e3, 6e3, 12e3])
    ring, bruck = _price("ring", n, nbytes), _price("bruck", n, nbytes)
    saved = f"{us(ring.seconds)} for the ring, {us(bruck.seconds)} for Bruck"
    wire = ring.bytes_sent_max / BANDWIDTH
    return choice(
        draw,
        f"{n} ranks gather S = {size(nbytes)} with a ring ({MACHINE}). What makes it clearly "
        "faster?",
        [
            right(
                "Bruck: fewer steps, each with a longer message.",
                f"{saved}: {bruck.steps} αs in place of {ring.steps}.",
            ),
            wrong(
                "Bruck: it sends fewer bytes.",
                "M-LOG-STEPS-LESS-BYTES",
                f"{bruck.steps} steps or {ring.steps}, the same {size(ring.bytes_sent_max)}.",
            ),
            wrong(
                "A ring in both directions at once.",
                "M-BIDIR-FREE",
                f"It takes {us(_price('bidirectional_ring', n, nbytes).seconds)}, and the ring "
                f"{us(ring.seconds)}.",
            ),
            wrong(
                "Links of twice the bandwidth.",
                "M-NO-ALPHA",
                f"All bytes together take {us(wire)} of {us(ring.seconds)}; the rest is α.",
            ),
        ],
    )


def large_gain(draw: Draw) -> Data:
    """Ask what fewer steps save where the bytes decide."""
    n, nbytes = draw.choice([6, 7, 8, 12]), draw.choice([48e6, 64e6, 120e6])
    ring, bruck = _price("ring", n, nbytes), _price("bruck", n, nbytes)
    share = 1 - bruck.seconds / ring.seconds
    by_steps = 1 - bruck.steps / ring.steps
    times = f"{us(ring.seconds)} become {us(bruck.seconds)}"
    return choice(
        draw,
        f"{n} ranks gather S = {size(nbytes)} ({MACHINE}). A ring takes {ring.steps} steps, Bruck "
        f"{bruck.steps}. How much time does Bruck save?",
        [
            right(
                f"About {100 * share:.2g} %.",
                f"{times}: {ring.steps - bruck.steps} αs less, and the same "
                f"{size(ring.bytes_sent_max)} out of every rank.",
            ),
            wrong(
                f"About {100 * by_steps:.0f} %.",
                "M-STEPS-NOT-TIME",
                f"That counts the steps; but {times}, because Bruck's steps are longer.",
            ),
            wrong(
                f"More than {100 * by_steps:.0f} %: fewer steps, and fewer bytes too.",
                "M-LOG-STEPS-LESS-BYTES",
                f"{bruck.steps} steps or {ring.steps}, the same {size(ring.bytes_sent_max)}.",
            ),
            wrong(
                "None at all: only bytes count.",
                "M-NO-ALPHA",
                f"Here {ring.steps - bruck.steps} αs are saved, "
                f"{us((ring.steps - bruck.steps) * ALPHA)}.",
            ),
        ],
    )


def which_run(draw: Draw) -> Data:
    """Ask which statements about a number of ranks that is no power of two are true."""
    n = draw.choice([6, 10, 12, 14, 20])
    refused = ALGORITHMS["all_gather", "recursive_doubling"].refuse(n)
    ring, bruck = _price("ring", n, n * 1e6), _price("bruck", n, n * 1e6)
    whole = 2**bruck.steps
    if not refused or ring.bytes_sent_max != bruck.bytes_sent_max:
        raise ClashError(n)
    last = 2 ** (bruck.steps - 1)
    return multi(
        draw,
        f"{n} ranks want to all-gather. Which of these are true?",
        [
            right(
                f"A ring takes {ring.steps} steps.",
                f"Every rank lacks n - 1 = {ring.steps} blocks, and a step brings one.",
            ),
            right(
                f"Bruck takes {bruck.steps} steps.",
                f"Its last message is cut to {n} - {last} = {n - last} blocks.",
            ),
            right(
                f"Ring and Bruck each send {ring.steps} blocks out of every rank.",
                "Fewer steps are not fewer bytes.",
            ),
            wrong(
                f"Bruck needs {whole} ranks to run in {bruck.steps} steps.",
                "M-BRUCK-POW2",
                f"{n} ranks run it in {bruck.steps} steps.",
            ),
            wrong(
                f"Recursive doubling takes {bruck.steps} steps.",
                "M-DOUBLING-ANY-N",
                f"At distance {last}, rank {last - 1} would swap with rank {last - 1 ^ last}, and "
                f"the last one is rank {n - 1}.",
            ),
        ],
    )


def bruck_last(draw: Draw) -> Data:
    """Ask how many blocks are in Bruck's last message."""
    n = draw.choice([5, 6, 7, 9, 10, 11, 13, 21])
    sent = _blocks_sent(_gather("bruck", n))
    full = 2 ** (len(sent) - 1)
    return num(
        f"Bruck's all-gather runs on {n} ranks. How many blocks does a rank send in the last step?",
        sent[-1],
        [
            trap(full, "M-BRUCK-LAST-FULL", f"Here n - 2^(L-1) = {n} - {full} = {sent[-1]}."),
            trap(
                full // 2,
                "M-FLOOR-LG",
                f"That is the step before; {full} blocks are held by then, and {n} are wanted.",
            ),
        ],
        unit="blocks",
        feedback_right=f"The messages have {listing(sent)} blocks, {n - 1} in all.",
        feedback_else=f"All messages of a rank together have {n - 1} blocks; the others double.",
    )


def spot_program(draw: Draw) -> Data:
    """Ask for the faulty line of Bruck's program on plain buffers."""
    n = draw.choice([3, 5, 6, 7])
    fault = draw.choice(["turn", "cut"])
    rank = draw.randrange(1, n)
    lines = [
        "held = [the own block]",
        "d = 1, 2, 4, ... while d < n:",
        "    to rank r - d: send held[:n - d]",
        "    from rank r + d: received; held = held + received",
        "return held[n - r:] + held[:n - r]",
    ]
    if fault == "turn":
        lines[4], answer = "return held", 4
    else:
        lines[2], answer = "    to rank r - d: send held", 2
    got = _play(n, cut=fault != "cut", turn=fault != "turn")[rank]
    if got == list(range(n)):
        raise ClashError(got)
    shown = " ".join(LETTERS[block] for block in got)
    reasons = {
        0: ("M-OWN-BLOCK-ONLY", "A rank starts with one block, so this line is right."),
        1: ("M-BRUCK-POW2", f"For n = {n} the distances are right as they are."),
        2: ("M-BRUCK-LAST-FULL", "held[:n - d] does that: all of it until the last step."),
        3: ("M-BRUCK-DIRECTION", "What comes from rank r + d continues the run: this is right."),
        4: ("M-ROTATION", "This line does that."),
    }
    traps = [
        {"line": line, "feedback": told(name, extra), "misconception": name}
        for line, (name, extra) in reasons.items()
        if line != answer
    ]
    cure = {
        "turn": f"Rank {rank} holds the blocks from its own on, and never turns them.",
        "cut": f"The last message is not cut, so {counted(len(got) - n, 'block')} too many arrive.",
    }[fault]
    return keyed(
        "spot",
        f"This is Bruck's all-gather on plain buffers, as each rank r of {n} runs it, with one "
        f"line changed. Rank {rank} ends with {shown}. Which line is to blame?",
        {"lines": lines, "answer": answer},
        traps,
        feedback_right=cure,
        feedback_else="Play two steps for one rank: which blocks does it hold, in which order?",
    )


def _play(n: int, *, cut: bool, turn: bool) -> list[list[int]]:
    """Return the buffers of all ranks after Bruck's program, with or without its last two cares."""
    held = [[rank] for rank in range(n)]
    d = 1
    while d < n:
        sent = [mine[: n - d] if cut else mine for mine in held]
        held = [mine + sent[(rank + d) % n] for rank, mine in enumerate(held)]
        d *= 2
    if not turn:
        return held
    return [mine[n - rank :] + mine[: n - rank] for rank, mine in enumerate(held)]


def both_directions(draw: Draw) -> Data:
    """Ask what a second direction gains on one port."""
    n, nbytes = draw.choice([6, 7, 8, 12]), draw.choice([12e6, 48e6, 64e6])
    ring, both = _price("ring", n, nbytes), _price("bidirectional_ring", n, nbytes)
    two = cost(
        _gather("bidirectional_ring", n),
        nbytes=nbytes,
        topology=Topology.uniform(n, alpha=ALPHA, bandwidth=BENCH.bandwidth, ports=2),
    )
    return choice(
        draw,
        f"{n} ranks gather {size(nbytes)} with a ring, in {us(ring.seconds)} ({MACHINE}). A ring "
        f"in both directions takes {both.steps} steps in place of {ring.steps}. How long does it "
        "take?",
        [
            right(
                f"{us(both.seconds)}, as before.",
                f"One port sends the same {n - 1} messages, one after the other.",
            ),
            wrong(
                f"{us(two.seconds)}: fewer steps, each as long.",
                "M-BIDIR-FREE",
                f"{us(two.seconds)} needs two ports with {BANDWIDTH / 1e9:g} GB/s each.",
            ),
            wrong(
                f"{us(ring.seconds - (ring.steps - both.steps) * ALPHA)}: the same bytes, fewer "
                "αs.",
                "M-NO-ALPHA",
                f"A step with two peers pays two of them, {both.latency_terms} in all.",
            ),
        ],
    )


def pat_sends(draw: Draw) -> Data:
    """Ask how many sends PAT makes, mostly where it is not ceil(lg n)."""
    n = draw.choice([5, 9, 17, 33, 6, 12])
    key = len(_gather("pat", n).steps)
    ceil_lg = (n - 1).bit_length()
    traps = [trap(n - 1, "M-ONE-BLOCK", f"Unaggregated it would be {n - 1} sends of one block.")]
    if key == ceil_lg:
        traps.append(
            trap(
                ceil_lg + 1,
                "M-PAT-CEIL",
                f"But {n} is not of that form, so it is ceil(lg n) = {ceil_lg}.",
            )
        )
        reason = f"ceil(lg {n}) = {key}; {n} is not 2^k + 1."
    else:
        traps.append(
            trap(
                ceil_lg,
                "M-PAT-CEIL",
                f"Here n = 2^{ceil_lg - 1} + 1, so it is {ceil_lg - 1} + 2 = {key}.",
            )
        )
        reason = f"{n} = 2^{ceil_lg - 1} + 1 takes {ceil_lg - 1} + 2 of them."
    return num(
        f"How many aggregated sends does NCCL's PAT make per rank in an all-gather on {n} ranks?",
        key,
        traps,
        unit="messages",
        feedback_right=reason,
        feedback_else="Nearly always ceil(lg n); look whether n is a power of two plus 1.",
    )


def nccl_all_gather(draw: Draw) -> Data:
    """Ask which algorithm NCCL's all-gather does not have."""
    n = draw.choice([16, 64, 256])
    log = _price("pat", n, n * 64e3).steps
    return choice(
        draw,
        f"{n} nodes with one GPU each gather 64 kB with NCCL v2.30.7. Which of its algorithms can "
        "take fewer network steps than the ring?",
        [
            right("PAT.", f"{log} sends in place of {n - 1}. It needs one GPU per node."),
            wrong("Tree.", "M-NCCL-AG-TREE", "PAT is the one with trees that gathers."),
            wrong(
                "None: all-gather is Ring only, as broadcast is.",
                "M-NCCL-AG-TREE",
                f"With {n} nodes, PAT takes {log} sends.",
            ),
            wrong(
                "None: every rank lacks n - 1 blocks, so it takes n - 1 steps.",
                "M-ONE-BLOCK",
                f"{n - 1} blocks fit into {log} messages.",
            ),
        ],
    )


ITEMS: dict[str, Template] = {
    "04-predict-double": Template("choice", predict_double, predict=True),
    "04-bytes-of-blocks": Template("num", bytes_of_blocks),
    "04-compared-with-broadcasts": Template("choice", compared_with_broadcasts),
    "04-next-ring": Template("next", next_ring),
    "04-state-after": Template("state", state_after),
    "04-which-run": Template("multi", which_run),
    "04-steps": Template("num", steps),
    "04-bruck-last": Template("num", bruck_last),
    "04-spot-program": Template("spot", spot_program),
    "04-small-gain": Template("choice", small_gain),
    "04-large-gain": Template("choice", large_gain),
    "04-both-directions": Template("choice", both_directions),
    "04-pat-sends": Template("num", pat_sends),
    "04-nccl-all-gather": Template("choice", nccl_all_gather),
}
