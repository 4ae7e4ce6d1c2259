"""Practice items of chapter 01: the words, the contracts, and how to read and write a schedule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from allranks.algorithms import build
from allranks.collectives import CONTRACTS, split_lengths
from allranks.errors import ScheduleError
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
    wrong,
)
from allranks.schedule import Op, Schedule, Transfer
from allranks.simulate import simulate
from allranks.verify import final_state, states, verify


def _prose(collective: str) -> str:
    return collective.replace("_", "-")


def predict(draw: Draw) -> Data:
    """Ask in how few steps one rank can tell three others, before the board opens."""
    n, root = 4, 0
    key = len(build("broadcast", "binomial", world_size=n, root=root).steps)
    flat = len(build("broadcast", "flat", world_size=n, root=root).steps)
    return choice(
        draw,
        f"There are {n} ranks. Rank {root} has a vector that all of them need. In one step, a rank "
        "can send to one other rank, and receive from one. How many steps does it take at least, "
        "until all have it?",
        [
            right(
                f"{key} steps",
                f"After the first step two ranks have it, and both send in the second: {n}.",
            ),
            wrong(
                f"{flat} steps",
                "M-ONE-AT-A-TIME",
                f"In {flat} steps rank {root} alone sends; the ranks that have it can help.",
            ),
            wrong(
                "1 step",
                "M-FLAT-IS-ONE-STEP",
                f"Rank {root} would have to send to {n - 1} ranks at once.",
            ),
            wrong(
                f"{n} steps",
                "M-COUNT-ROOT",
                f"Only {n - 1} ranks lack it, and two of them can get it in the same step.",
            ),
        ],
    )


def rank_and_node(draw: Draw) -> Data:
    """Ask which node a rank lives on."""
    nodes, each = draw.choice([2, 3, 4]), draw.choice([4, 8])
    rank = draw.randrange(each, nodes * each)
    node, local = divmod(rank, each)
    if local in {node, 0}:
        raise ClashError(rank)
    return num(
        f"A job has {nodes} nodes with {each} GPUs each, and one rank for each GPU. The ranks fill "
        f"node 0 first, then node 1, and so on; all counts begin at 0. On which node is rank "
        f"{rank}?",
        node,
        [
            trap(
                local,
                "M-LOCAL-RANK",
                f"{local} is the local rank of rank {rank}, its place among the {each} of node "
                f"{node}.",
            ),
            trap(rank, "M-RANK-IS-NODE", f"There are {nodes} nodes and {nodes * each} ranks."),
        ],
        feedback_right=f"Node {node} has the ranks {node * each} to {node * each + each - 1}.",
        feedback_else=f"Node 0 has the ranks 0 to {each - 1}; count on from there.",
    )


def chunk_sizes(draw: Draw) -> Data:
    """Ask how long one chunk of an uneven split is."""
    n = draw.choice([4, 5, 6, 7])
    count = draw.randint(2 * n + 1, 5 * n)
    lengths = split_lengths(count, n)
    least, over = divmod(count, n)
    if over in {0, 1, n - 1}:
        raise ClashError(count)
    asked = draw.choice([over - 1, n - 1])
    key = lengths[asked]
    split = f"{count} = {' + '.join(map(str, lengths))}."
    if asked == n - 1:
        traps = [
            trap(least + over, "M-REST-AT-END", f"Here that is {split}"),
            trap(least + 1, "M-TAIL-LOST", f"{over} chunks are longer, the other {n - over} not."),
        ]
    else:
        traps = [trap(least, "M-TAIL-LOST", f"Here that is {split}")]
    return num(
        f"A vector of {count} elements is cut into {n} chunks, as evenly as it goes. How many "
        f"elements has chunk {asked}? (The first chunk is chunk 0.)",
        key,
        traps,
        unit="elements",
        feedback_right=split,
        feedback_else=f"{count} divided by {n} is {least}, and {over} are left over.",
    )


def op_or_reduce_op(draw: Draw) -> Data:
    """Ask what a REDUCE leaves when the arithmetic is not the sum."""
    name = draw.choice(["max", "min", "prod"])
    own = [draw.randint(2, 9) for _ in range(3)]
    came = [draw.randint(2, 9) for _ in range(3)]
    plan = Schedule("reduce", "one", 2, 1, ((Transfer(1, 0, 0, Op.REDUCE),),), root=0)
    result = simulate(plan, [np.array(own), np.array(came)], reduce_op=name)[0]
    key = [] if result is None else [int(each) for each in result]
    added = [a + b for a, b in zip(own, came, strict=True)]
    if len({tuple(each) for each in (key, added, own, came)}) < 4:  # noqa: PLR2004
        raise ClashError(key)
    word = name.upper()
    return choice(
        draw,
        f"Rank 0 holds the numbers {listing(own)}; rank 1 holds {listing(came)}. The transfer is "
        f"rank 1 -> rank 0, chunk 0, REDUCE, in a call with reduce_op {word}. What does rank 0 "
        "hold afterwards?",
        [
            right(
                f"{listing(key)}",
                f"REDUCE combines element by element, here with {word}.",
            ),
            wrong(
                f"{listing(added)}",
                "M-OP-CONFUSED",
                f"Here it says {word}; {listing(added)} would be SUM.",
            ),
            wrong(
                f"{listing(came)}",
                "M-SWAP-IS-SUM",
                f"A COPY would leave {listing(came)}; here it is a REDUCE.",
            ),
            wrong(
                f"{listing(own)}, and rank 1 holds nothing any more",
                "M-SEND-MOVES",
                f"Rank 1 still holds {listing(came)}, and rank 0 has combined them with its own.",
            ),
        ],
    )


def state_after(draw: Draw) -> Data:
    """Ask what every rank holds after one step of three transfers."""
    n = draw.randint(3, 6)
    schedule = _three_transfers(draw, n)
    before, after = states(schedule)
    chain = [
        (first, second)
        for first in schedule.steps[0]
        for second in schedule.steps[0]
        if first.dst == second.src
    ]
    if not chain:
        raise ClashError(schedule)
    cells = [
        {"rank": rank, "chunk": 0, "given": False, "answer": sorted(row[0].elements())}
        for rank, row in enumerate(after[:n])
    ]
    traps = [
        *_hasty_traps(schedule, chain),
        *_op_traps(schedule, [sorted(row[0].elements()) for row in before]),
    ]
    good = {rank: cell["answer"] for rank, cell in enumerate(cells)}
    kept = {
        (each["rank"], *each["parts"]): each
        for each in reversed(traps)
        if each["parts"] != good[each["rank"]]
    }
    rows = "; ".join(f"rank {t.src} -> rank {t.dst} {t.op.name}" for t in sorted(schedule.steps[0]))
    return keyed(
        "state",
        f"Each of {n} ranks holds its own part: rank 0 holds a, rank 1 holds b, and so on. Now one "
        f"step happens: {rows}. Whose parts does each rank hold after it?",
        {"world_size": n, "num_chunks": 1, "cells": cells},
        list(kept.values()),
        feedback_right="All three read what was there before the step.",
        feedback_else="Write down the old state first, and read only from it.",
        explanation="COPY replaces, REDUCE adds, and a sender keeps what it sends.",
    )


def _three_transfers(draw: Draw, n: int) -> Schedule:
    """Return one step of three transfers to three ranks, in which no part is added twice."""
    targets = draw.sample(range(n), 3)
    step = tuple(
        Transfer(
            draw.choice([rank for rank in range(n) if rank != dst]), dst, 0, draw.choice(list(Op))
        )
        for dst in targets
    )
    return Schedule("all_reduce", "drawn", n, 1, (step,))


def _hasty_traps(schedule: Schedule, chain: Iterable[tuple[Transfer, Transfer]]) -> list[Data]:
    """Return what a rank would hold if the second of two transfers saw what the first one wrote."""
    found = []
    for first, second in chain:
        steps = ((first,), (second,))
        late = final_state(Schedule("all_reduce", "late", schedule.world_size, 1, steps))
        parts = sorted(late[second.dst][0])
        found.append(
            _state_trap(
                second.dst,
                parts,
                "M-SEQUENTIAL-STEP",
                f"Rank {second.src} sends rank {second.dst} what it held before: "
                f"{LETTERS[second.src]}.",
            )
        )
    return found


def _op_traps(schedule: Schedule, before: Sequence[list[int]]) -> list[Data]:
    """Return what a receiver would hold with the other op."""
    found = []
    for t in schedule.steps[0]:
        if t.op is Op.REDUCE:
            what = f"Rank {t.dst} adds {LETTERS[t.src]} and keeps {LETTERS[t.dst]}."
            parts = before[t.src]
        else:
            what = f"Rank {t.dst} had {LETTERS[t.dst]}, and the COPY replaces it."
            parts = sorted({*before[t.src], *before[t.dst]})
        found.append(_state_trap(t.dst, parts, "M-SWAP-IS-SUM", what))
    return found


def _state_trap(rank: int, parts: list[int], name: str, extra: str) -> Data:
    return {
        "rank": rank,
        "chunk": 0,
        "parts": parts,
        "misconception": name,
        "feedback": told(name, extra),
    }


def next_broadcast(draw: Draw) -> Data:
    """Ask for a transfer that completes a broadcast."""
    n = draw.choice([4, 5])
    root = draw.randrange(n)
    good = build("broadcast", "binomial", world_size=n, root=root)
    *steps, last = good.steps
    left_out = draw.choice(last)
    rest = tuple(t for t in last if t != left_out)
    done = [*steps, rest] if rest else steps
    number = len(steps)
    answers = []
    for src in range(n):
        for op in Op:
            new = Transfer(src, left_out.dst, 0, op)
            trial = (*steps, (*rest, new))
            if src != left_out.dst and _is_proved(Schedule("broadcast", "x", n, 1, trial, root)):
                answers.append(_row(new))
    holders = sorted({root, *(t.dst for step in steps for t in step)})
    empty = [rank for rank in range(n) if rank not in holders and rank != left_out.dst]
    traps = [
        _next_trap(
            Transfer(left_out.dst, root, 0, Op.COPY),
            "M-SEND-BACK",
            f"Rank {left_out.dst} is the one that lacks it, and rank {root}, the root, has it.",
        ),
        *(
            _next_trap(
                Transfer(src, left_out.dst, 0, Op.COPY),
                "M-SEND-BEFORE-HAVE",
                f"Rank {src} gets it only in step {number} itself.",
            )
            for src in empty
        ),
        *(
            _next_trap(
                Transfer(root, dst, 0, Op.COPY),
                "M-COUNT-ROOT",
                f"Rank {dst} has it already; rank {left_out.dst} still lacks it.",
            )
            for dst in holders
            if dst != root
        ),
    ]
    said = "; ".join(
        f"step {place}: {', '.join(f'{t.src} -> {t.dst}' for t in step)}"
        for place, step in enumerate(done)
    )
    return keyed(
        "next",
        f"{n} ranks broadcast one chunk from rank {root}. So far the schedule is {said} (all "
        f"COPY). One transfer is missing in step {number}. Which one completes the broadcast?",
        {"world_size": n, "num_chunks": 1, "answers": answers},
        traps,
        feedback_right=f"Rank {left_out.dst} was the last that lacked it.",
        feedback_else="Who lacks the chunk, and who holds it before this step?",
    )


def _is_proved(schedule: Schedule) -> bool:
    try:
        verify(schedule)
    except ScheduleError:
        return False
    return True


def _row(t: Transfer) -> list[int | str]:
    return [t.src, t.dst, t.chunk, t.op.value]


def _next_trap(transfer: Transfer, name: str, extra: str) -> Data:
    return {"transfer": _row(transfer), "feedback": told(name, extra), "misconception": name}


def spot_double(draw: Draw) -> Data:
    """Ask for the transfer that adds a part a second time."""
    n = draw.choice([4, 5])
    root = draw.randrange(n)
    good = build("reduce", "binomial", world_size=n, root=root)
    early = [t for t in good.steps[0] if t.dst != root]
    if not early:
        raise ClashError(good)
    first = draw.choice(early)
    again = Transfer(first.src, root, 0, Op.REDUCE)
    place = draw.randrange(1, len(good.steps) + 1)
    steps = [*good.steps[:place], (again,), *good.steps[place:]]
    schedule = Schedule("reduce", "again", n, 1, steps, root)
    error = _error_of(schedule)
    if error.kind != "double_count":
        raise ClashError(schedule)
    rows = list(schedule.transfers())
    answer = next(
        place
        for place, (step, t) in enumerate(rows)
        if (step, t.src, t.dst) == (error.step, error.src, error.dst)
    )
    part = LETTERS[first.src]
    traps = [
        {
            "line": place,
            "misconception": "M-DOUBLE-COUNT",
            "feedback": told(
                "M-DOUBLE-COUNT",
                f"Step {step} brings rank {t.dst} what it lacks, from rank {t.src}.",
            ),
        }
        for place, (step, t) in enumerate(rows)
        if place != answer
    ]
    return keyed(
        "spot",
        f"{n} ranks reduce one chunk to rank {root} with SUM. In this schedule one transfer makes "
        "a part count twice. Which line does the verifier name?",
        {"lines": [_line(step, t) for step, t in rows], "answer": answer},
        traps,
        feedback_right=f"{error.message[0].upper()}{error.message[1:]}.",
        feedback_else=f"Follow the part {part}: where does it arrive for the second time?",
    )


def _line(step: int, t: Transfer) -> str:
    return f"step {step}: rank {t.src} -> rank {t.dst}, chunk {t.chunk}, {t.op.name}"


def _error_of(schedule: Schedule) -> ScheduleError:
    try:
        verify(schedule)
    except ScheduleError as error:
        return error
    raise ClashError(schedule)


def contract_of(draw: Draw) -> Data:
    """Ask which collective takes ranks from one picture to another."""
    n = 3
    root = draw.randrange(n)
    name = draw.choice(["scatter", "gather", "all_gather", "all_reduce", "reduce"])
    before, after = _pictures(name, n, root)
    texts = {
        "scatter": (
            "scatter",
            "M-SCATTER-IS-BROADCAST",
            "After a scatter rank r has the r-th block of the root, and nothing else.",
        ),
        "broadcast": (
            "broadcast",
            "M-SCATTER-IS-BROADCAST",
            "After a broadcast every rank has all that the root had.",
        ),
        "gather": (
            "gather",
            "M-GATHER-IS-SCATTER",
            f"After a gather rank {root} has the blocks of all ranks, side by side.",
        ),
        "all_gather": (
            "all-gather",
            "M-ALLREDUCE-CONCAT",
            f"After an all-gather every rank has {n} blocks, side by side, nothing added.",
        ),
        "all_reduce": (
            "all-reduce",
            "M-ALLREDUCE-CONCAT",
            "After an all-reduce every rank has one vector, the sum of all.",
        ),
        "reduce": (
            "reduce",
            "M-REDUCE-ONE-RANK",
            f"After a reduce the sum is on rank {root}; nothing is promised elsewhere.",
        ),
    }
    rivals = {
        "scatter": ["broadcast", "gather", "all_gather"],
        "gather": ["scatter", "all_gather", "reduce"],
        "all_gather": ["all_reduce", "gather", "broadcast"],
        "all_reduce": ["all_gather", "reduce", "broadcast"],
        "reduce": ["all_reduce", "gather", "scatter"],
    }[name]
    return choice(
        draw,
        f"Before: {before}. After: {after}. Which collective is this? (A dot stands for what is "
        "not promised, or not there.)",
        [
            right(texts[name][0], texts[name][2]),
            *(wrong(*texts[rival]) for rival in rivals),
        ],
    )


def _pictures(name: str, n: int, root: int) -> tuple[str, str]:
    """Return what every rank holds before and must hold after, from the contract."""
    promise = CONTRACTS[name]
    chunks = n if promise.pieces(n) == n else 1
    numbers = promise.size(n, chunks, root if promise.rooted else None)
    start, end = [], []
    for rank in range(n):
        rows = [
            (promise.starts(rank, chunk, numbers), promise.ends(rank, chunk, numbers))
            for chunk in range(chunks)
        ]
        start.append(" ".join(_held(parts, c, chunks) for c, (parts, _) in enumerate(rows)))
        end.append(" ".join(_held(parts or (), c, chunks) for c, (_, parts) in enumerate(rows)))
    return tuple(
        ", ".join(f"rank {rank} `{text}`" for rank, text in enumerate(texts))
        for texts in (start, end)
    )  # type: ignore[return-value]


def _held(parts: Iterable[int], chunk: int, chunks: int) -> str:
    words = [LETTERS[part] + (str(chunk) if chunks > 1 else "") for part in parts]
    return "+".join(words) or "."


def which_have_a_root(draw: Draw) -> Data:
    """Ask which collectives have a root."""
    rooted = draw.sample([name for name, one in CONTRACTS.items() if one.rooted], 2)
    free = draw.sample([name for name, one in CONTRACTS.items() if not one.rooted], 3)
    says = {
        "all_gather": "every rank ends with all blocks",
        "reduce_scatter": "rank r ends with block r of the sum",
        "all_reduce": "every rank ends with the sum",
        "all_to_all": "every rank sends one block to every rank",
        "broadcast": "it has what all others get",
        "reduce": "it alone gets the sum",
        "gather": "it alone gets the blocks",
        "scatter": "it has the blocks that the others get",
    }
    return multi(
        draw,
        "Which of these collectives have a root?",
        [
            *(
                right(_prose(name), f"In a {_prose(name)} the root is special: {says[name]}.")
                for name in rooted
            ),
            *(
                wrong(
                    _prose(name),
                    "M-ROOT-EVERYWHERE",
                    f"In this one no rank is special: {says[name]}.",
                )
                for name in free
            ),
        ],
    )


def bytes_in_out(draw: Draw) -> Data:
    """Ask how many bytes a rank has after, or before, a collective of a given S."""
    n = draw.choice([4, 5, 6, 8])
    nbytes = n * draw.choice([2, 6, 8, 12]) * 1e6
    name = draw.choice(["all_gather", "reduce_scatter"])
    promise = CONTRACTS[name]
    numbers = promise.size(n, n)
    rank = draw.randrange(n)
    each = nbytes / n
    if name == "all_gather":
        key = each * sum(bool(list(promise.starts(rank, c, numbers))) for c in range(n))
        when, other = "bring", "Afterwards"
    else:
        key = each * sum(promise.ends(rank, c, numbers) is not None for c in range(n))
        when, other = "end with", "Before it"
    return num(
        f"{n} ranks call {_prose(name)}, and S, the whole vector, has {size(nbytes)}. How much "
        f"does rank {rank} {when}?",
        key / 1e6,
        [
            trap(nbytes / 1e6, "M-S-PER-RANK", f"{other} it has {size(nbytes)}, the whole."),
            trap(
                n * nbytes / 1e6,
                "M-ALLREDUCE-CONCAT",
                f"S is the larger side already: {size(nbytes)}, and not {size(n * nbytes)}.",
            ),
        ],
        unit="MB",
        feedback_right=f"One block of {n}: S/n.",
        feedback_else="S is the whole vector; a block is one n-th of it.",
    )


def must_agree(draw: Draw) -> Data:
    """Ask what has to be the same on all ranks."""
    root = draw.randrange(4)
    agree = draw.sample(
        [
            right("which collective is called", "One rank in a broadcast cannot help a reduce."),
            right("the number of elements", "Nobody compares them for you in NCCL."),
            right("the type of the elements", "A float32 sum of float64 data is nonsense."),
            right("the root", f"If one rank says {root} and another does not, nobody is root."),
            right("the order of the calls", "The first call of one meets the first of the others."),
        ],
        3,
    )
    return multi(
        draw,
        "Several ranks make a call together, for example a broadcast. What must be the same on all "
        "of them?",
        [
            *agree,
            wrong(
                "the values in their vectors",
                "M-EVERYTHING-AGREES",
                "Different values are what a collective is for.",
            ),
            wrong(
                "the moment at which they call",
                "M-BARRIER",
                "Who comes early waits only for the data that it needs.",
            ),
            wrong(
                "nothing: the rank that has the data calls, and the others receive",
                "M-ONLY-SENDER-CALLS",
                "A rank that does not call cannot receive.",
            ),
        ],
    )


def root_in_a_group(draw: Draw) -> Data:
    """Ask for the root of a group that is part of a job."""
    first, count = draw.choice([4, 8, 12]), 4
    place = draw.randrange(1, count)
    members = list(range(first, first + count))
    if draw.random() < 1 / 2:
        members.reverse()
    key = members[place]
    if place in members:
        raise ClashError(place)
    return num(
        f"A job has 16 ranks. A communicator is made of four of them, in this order: "
        f"{listing(members)}. A broadcast in this communicator has root {place}. Which rank of the "
        "job is the root?",
        key,
        [
            trap(
                place,
                "M-ROOT-IS-GLOBAL",
                f"Rank {place} of the job is not even a member here.",
            ),
            trap(
                members[0],
                "M-ROOT-ZERO",
                f"Rank {members[0]} of the job is rank 0 of this group; the call says {place}.",
            ),
        ],
        feedback_right=f"Counted from 0, place {place} in the group is rank {key} of the job.",
        feedback_else="Number the members in their order, from 0.",
    )


ITEMS: dict[str, Template] = {
    "01-predict": Template("choice", predict, predict=True),
    "01-rank-and-node": Template("num", rank_and_node),
    "01-chunk-sizes": Template("num", chunk_sizes),
    "01-op-or-reduce-op": Template("choice", op_or_reduce_op),
    "01-state-after": Template("state", state_after),
    "01-next-broadcast": Template("next", next_broadcast),
    "01-contract": Template("choice", contract_of),
    "01-which-have-a-root": Template("multi", which_have_a_root),
    "01-bytes-in-out": Template("num", bytes_in_out),
    "01-spot-double": Template("spot", spot_double),
    "01-must-agree": Template("multi", must_agree),
    "01-root-in-a-group": Template("num", root_in_a_group),
}
