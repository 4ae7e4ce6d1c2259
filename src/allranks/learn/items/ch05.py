"""Practice items of chapter 05: who owns which sum, what is added when, what a wrong sum tells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from allranks.algorithms import build
from allranks.algorithms.variants import vary
from allranks.cost import Cost
from allranks.errors import CollectiveError, ScheduleError
from allranks.learn.items.priced import MACHINE, priced
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
from allranks.schedule import Op, Schedule, Transfer, counted
from allranks.simulate import simulate
from allranks.verify import final_state, states, verify


def _ring(n: int) -> Schedule:
    return build("reduce_scatter", "ring", world_size=n)


def _price(algorithm: str, n: int, nbytes: float) -> Cost:
    return priced("reduce_scatter", algorithm, n=n, nbytes=nbytes)


def _sum(n: int, index: int) -> str:
    """Return "a2+b2+c2": one element of the sum."""
    return "+".join(f"{LETTERS[part]}{index}" for part in range(n))


def predict_owner(draw: Draw) -> Data:
    """Ask what a rank has after a reduce-scatter, before the figure shows it."""
    n, rank = 4, draw.randrange(4)
    block, after = 2 * rank, 2 * ((rank + 1) % n)
    whole = f"{_sum(n, 0)}, {_sum(n, 1)}, … {_sum(n, 7)}"
    own = "+".join(f"{LETTERS[rank]}{index}" for index in range(8))
    return choice(
        draw,
        f"Four ranks hold eight elements each: a0 to a7 on rank 0, b0 to b7 on rank 1, and so on. "
        f"After a reduce-scatter with SUM, what does rank {rank} own?",
        [
            right(
                f"{_sum(n, block)} and {_sum(n, block + 1)}",
                f"Block {rank} of the sum, elements {block} and {block + 1}, for rank {rank}.",
            ),
            wrong(
                f"{_sum(n, after)} and {_sum(n, after + 1)}",
                "M-OWNER-SHIFT",
                f"Elements {after} and {after + 1} are block {after // 2}.",
            ),
            wrong(
                f"All eight: {whole}",
                "M-RS-IS-AR-SLICE",
                f"Rank {rank} owns one block, two elements.",
            ),
            wrong(
                f"One number: {own}",
                "M-SCALAR",
                "Elements of one vector are never added to each other.",
            ),
            wrong(
                "Nothing, unless it is the root.",
                "M-RS-ROOTED",
                f"Rank {rank} owns block {rank}.",
            ),
        ],
    )


def via_root(draw: Draw) -> Data:
    """Ask how a reduce followed by a scatter compares with a ring."""
    n, nbytes = draw.choice([4, 6, 8, 12]), draw.choice([24e6, 48e6, 96e6])
    ring = _price("ring", n, nbytes)
    reduce = priced("reduce", "chain", n=n, nbytes=nbytes, k=64)
    scatter = priced("scatter", "binomial", n=n, nbytes=nbytes)
    detour = reduce.seconds + scatter.seconds
    share = size(ring.bytes_sent_max)
    times = f"{us(detour)} against {us(ring.seconds)}"
    return choice(
        draw,
        f"{n} ranks want a reduce-scatter of {size(nbytes)}. One plan reduces everything to rank 0 "
        f"(a chain in 64 segments) and then scatters the blocks; the other is a ring ({MACHINE}). "
        "How do they compare?",
        [
            right(
                f"The detour takes about {detour / ring.seconds:.1f} times as long.",
                f"{times}. Rank 0 takes in {size(nbytes)}, and only then sends out {share}; in the "
                f"ring every port sends and takes in {share} at the same time.",
            ),
            wrong(
                "They are equal: a reduce-scatter is a reduce and then a scatter.",
                "M-RS-ROOTED",
                f"Here that is {times}.",
            ),
            wrong(
                "The ring is slower: all its ranks together send more.",
                "M-TOTAL-VS-BUSIEST",
                f"{size(ring.bytes_total)} in all, but {share} through the busiest port.",
            ),
            wrong(
                "The ring takes twice as long: it brings the whole sum to everybody.",
                "M-RS-IS-AR-SLICE",
                "In this ring no rank ever has the whole sum.",
            ),
        ],
    )


def order_backwards(draw: Draw) -> Data:
    """Ask for the transfers of one chunk in a reduce-scatter that is an all-gather backwards."""
    n = draw.choice([4, 5])
    gather = build("all_gather", "ring", world_size=n)
    chunk = draw.randrange(n)
    forward = [t for _, t in gather.transfers() if t.chunk == chunk]
    back = [t for _, t in vary(gather, "reversed").transfers() if t.chunk == chunk]
    texts = [_arrow(t) for t in back]
    places = list(range(len(texts)))
    draw.shuffle(places)
    letter = {place: LETTERS[shown] for shown, place in enumerate(places)}
    answer = [letter[place] for place in range(len(texts))]
    if answer == sorted(answer) or answer == sorted(answer, reverse=True):
        raise ClashError(answer)
    first = forward[0]
    return keyed(
        "order",
        f"In an all-gather on {n} ranks, chunk {chunk} goes {', '.join(map(_arrow, forward))}. "
        "Played backwards it is a reduce-scatter. Put the transfers of the chunk in their order.",
        {
            "entries": [{"id": letter[place], "text": texts[place]} for place in places],
            "answers": [answer],
        },
        [
            {
                "answer": answer[::-1],
                "feedback": told(
                    "M-FILM-FORWARD",
                    f"The film began with {_arrow(first)}, so it ends with {_arrow(back[-1])}.",
                ),
                "misconception": "M-FILM-FORWARD",
            }
        ],
        feedback_right=f"All parts come together on rank {chunk}, where the copies had set out.",
        feedback_else=f"The chunk must end on rank {chunk}; what was last comes first.",
    )


def _arrow(t: Transfer) -> str:
    return f"{t.src} > {t.dst}"


def next_ring(draw: Draw) -> Data:
    """Ask what one rank of a ring sends in one step."""
    n = draw.randint(4, 8)
    schedule = _ring(n)
    step, rank = draw.randrange(n - 1), draw.randrange(n)
    (key,) = [t for t in schedule.steps[step] if t.src == rank]
    shifted = key._replace(chunk=(key.chunk + 1) % n)
    copied = key._replace(op=Op.COPY)
    held = list(states(schedule))[step][rank][key.chunk]
    parts = listing(LETTERS[part] for part in sorted(held))
    traps = [
        _next_trap(
            shifted,
            "M-OWNER-SHIFT",
            f"So in step {step} it is chunk {rank} - 1 - {step}, modulo {n}: {key.chunk}.",
        ),
        _next_trap(
            copied, "M-SWAP-IS-SUM", f"Part {LETTERS[key.dst]} of rank {key.dst} would be lost."
        ),
    ]
    return keyed(
        "next",
        f"A ring reduce-scatter on {n} ranks sends to the right, and block r must end on rank r. "
        f"Which transfer does rank {rank} make in step {step}? (The first step is step 0.)",
        {"world_size": n, "num_chunks": n, "answers": [_row(key)]},
        traps,
        feedback_right=f"It holds {counted(len(held), 'part')} of that chunk: {parts}.",
        feedback_else="With REDUCE, to the right: chunk r - 1 in step 0, one lower in every step.",
    )


def _next_trap(transfer: Transfer, name: str, extra: str) -> Data:
    return {"transfer": _row(transfer), "feedback": told(name, extra), "misconception": name}


def _row(t: Transfer) -> list[int | str]:
    return [t.src, t.dst, t.chunk, t.op.value]


def state_after(draw: Draw) -> Data:
    """Ask which parts one rank holds after some steps of a ring, or at its end."""
    n = draw.choice([3, 4])
    done, asked = draw.randint(1, n - 1), draw.randrange(n)
    schedule = _ring(n)
    after = list(states(schedule))[done]
    turned = list(states(vary(schedule, "shifted")))[done]
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
    traps = []
    for chunk in range(n):
        other = sorted(turned[asked][chunk].elements())
        if other != sorted(after[asked][chunk].elements()):
            traps.append(
                {
                    "rank": asked,
                    "chunk": chunk,
                    "parts": other,
                    "misconception": "M-OWNER-SHIFT",
                    "feedback": told(
                        "M-OWNER-SHIFT",
                        f"Chunk {chunk} sets out on rank {(chunk + 1) % n}, with its part alone.",
                    ),
                }
            )
    sent = [t.chunk for _, t in schedule.transfers() if t.src == asked][:done]
    traps += [
        {
            "rank": asked,
            "chunk": chunk,
            "parts": [],
            "misconception": "M-PARTIALS-CLEARED",
            "feedback": told(
                "M-PARTIALS-CLEARED",
                f"Rank {asked} has sent chunk {chunk} on, and still holds what it sent.",
            ),
        }
        for chunk in sent
    ]
    return keyed(
        "state",
        f"A ring reduce-scatter on {n} ranks has done {counted(done, 'step')}. Which parts does "
        f"rank {asked} hold of each chunk?",
        {"world_size": n, "num_chunks": n, "cells": cells},
        traps,
        feedback_right="What has arrived was added; what was sent on is still there.",
        feedback_else="Chunk c sets out on rank c + 1 and collects one part in every step.",
        explanation="A rank adds to what arrives, and keeps a copy of what it sends.",
    )


def partials(draw: Draw) -> Data:
    """Ask what becomes of the partial sums that a ring leaves behind."""
    n = draw.choice([4, 5, 6])
    rank = draw.randrange(n)
    chunk = (rank + 1) % n
    held = final_state(_ring(n))[rank][chunk]
    parts = "+".join(LETTERS[part] for part in sorted(held))
    return choice(
        draw,
        f"After a ring reduce-scatter on {n} ranks, rank {rank} still holds {parts} of chunk "
        f"{chunk}. What must be done about it?",
        [
            right(
                "Nothing.",
                f"It owns block {rank}; what else lies there is promised to nobody.",
            ),
            wrong(
                "It must be erased, or the next sum is wrong.",
                "M-PARTIALS-CLEARED",
                "The next call begins with new inputs.",
            ),
            wrong(
                f"It must be sent to rank {chunk}, which still lacks it.",
                "M-DOUBLE-COUNT",
                f"The sum on rank {chunk} has these parts already.",
            ),
            wrong(
                "It is a bug: only complete sums may be left.",
                "M-RS-IS-AR-SLICE",
                "Complete sums everywhere are what an all-reduce promises.",
            ),
        ],
    )


def owner_table(draw: Draw) -> Data:
    """Ask for the table of owners; the rotated one gets a note."""
    n = draw.choice([3, 4, 5])
    plan = _ring(n)
    held = final_state(plan)
    full = [next(rank for rank in range(n) if held[rank][chunk].total() == n) for chunk in range(n)]
    owners = [full.index(rank) for rank in range(n)]

    def table(blocks: list[int]) -> str:
        return ", ".join(f"rank {rank}: block {block}" for rank, block in enumerate(blocks))

    later = [(rank + 1) % n for rank in range(n)]
    earlier = [(rank - 1) % n for rank in range(n)]
    return choice(
        draw,
        f"A ring reduce-scatter on {n} ranks: rank r first sends chunk r - 1 to rank r + 1. Who "
        "owns which block of the sum in the end?",
        [
            right(table(owners), "The contract wants it so, whatever the plan."),
            wrong(
                table(later),
                "M-OWNER-SHIFT",
                "This is where a ring ends that starts with chunk r; the contract refuses it.",
            ),
            wrong(
                table(earlier),
                "M-COUNT-N",
                f"After {n - 1} hops chunk 0, which left rank 1, is on rank 0.",
            ),
            wrong(
                f"rank 0: all {n} blocks",
                "M-RS-ROOTED",
                "Each rank ends with one block.",
            ),
        ],
    )


def spot_bug(draw: Draw) -> Data:
    """Ask for the step of a ring that was corrupted: a transfer lost, doubled, or copied."""
    n = draw.choice([4, 5])
    good = _ring(n)
    step, place = draw.randrange(n - 1), draw.randrange(n)
    bug = draw.choice(["drop", "twice", "copy"])
    row = list(good.steps[step])
    one = row[place]
    changed = {
        "drop": [t for t in row if t != one],
        "twice": [*row, one],
        "copy": [t._replace(op=Op.COPY) if t == one else t for t in row],
    }[bug]
    steps = [tuple(changed) if s == step else tuple(old) for s, old in enumerate(good.steps)]
    broken = replace(good, steps=tuple(steps))
    error = _error_of(broken)
    if error.step != step:
        raise ClashError(error)
    parts = final_state(broken)[one.chunk][one.chunk]
    shown = "+".join(
        f"{'' if count == 1 else count}{LETTERS[part]}" for part, count in sorted(parts.items())
    )
    name = {"drop": "M-LOST-PART", "twice": "M-DOUBLE-COUNT", "copy": "M-SWAP-IS-SUM"}[bug]
    lines = [f"step {s}: " + "; ".join(_line(t) for t in each) for s, each in enumerate(steps)]
    cure = {
        "drop": f"{_line(one)} is missing",
        "twice": f"{_line(one)} stands there twice",
        "copy": f"rank {one.dst} copies where it should add",
    }[bug]
    traps = [
        {
            "line": line,
            "feedback": told(
                name, f"In step {line} every rank sends one chunk, and every receiver adds it."
            ),
            "misconception": name,
        }
        for line in range(n - 1)
        if line != step
    ]
    return keyed(
        "spot",
        f"A ring reduce-scatter on {n} ranks was changed in one step. Rank {one.chunk} now ends "
        f"with {shown} of chunk {one.chunk}. Which step is to blame?",
        {"lines": lines, "answer": step},
        traps,
        feedback_right=f"In step {step}, {cure}.",
        feedback_else="Every step of the right plan has one REDUCE from every rank; "
        "look for the line that does not fit.",
    )


def _line(t: Transfer) -> str:
    return f"{t.src} > {t.dst} chunk {t.chunk}{' COPY' if t.op is Op.COPY else ''}"


def _error_of(schedule: Schedule) -> ScheduleError:
    try:
        verify(schedule)
    except ScheduleError as error:
        return error
    except CollectiveError as error:
        raise ClashError(error) from error
    raise ClashError(schedule)


def bytes_(draw: Draw) -> Data:
    """Ask how much a rank sends, given the block that a call names."""
    n = draw.choice([4, 5, 6, 8])
    each = n * draw.randint(1, 4)
    nbytes = n * each * 1e6
    price = _price("ring", n, nbytes)
    whole = priced("all_reduce", "ring", n=n, nbytes=nbytes)
    return num(
        f"{n} ranks call ncclReduceScatter; recvcount is {each} MB worth of elements, and it runs "
        "on a ring. How much does one rank send?",
        round(price.bytes_sent_max / 1e6),
        [
            trap(
                round(whole.bytes_sent_max / 1e6),
                "M-RS-IS-AR-SLICE",
                f"{size(whole.bytes_sent_max)} instead of {size(price.bytes_sent_max)}: you moved "
                "an all-reduce.",
            ),
            trap(n * each, "M-COUNT-N", f"A rank keeps its own block, so {n - 1} blocks leave it."),
            trap(
                round(price.bytes_total / 1e6),
                "M-TOTAL-VS-BUSIEST",
                f"{size(price.bytes_total)} is what all {n} ranks send together.",
            ),
            trap(
                (n - 1) * each // n,
                "M-S-PER-RANK",
                f"recvcount is one block; S is {n} times {each} MB, {size(nbytes)}.",
            ),
        ],
        unit="MB",
        feedback_right=f"{n - 1} steps, one block of {each} MB in each: (n - 1)/n S.",
        feedback_else=f"Count the blocks that leave one rank; each has {each} MB.",
    )


def halving_bytes(draw: Draw) -> Data:
    """Ask how long the message of one step of recursive halving is."""
    n = draw.choice([8, 16, 32])
    nbytes = n * draw.randint(1, 4) * 1e6
    plan = build("reduce_scatter", "recursive_halving", world_size=n)
    step = draw.randrange(len(plan.steps))
    sent = [sum(t.src == 0 for t in each) * nbytes / n / 1e6 for each in plan.steps]
    (near,) = {abs(t.dst - t.src) for t in plan.steps[step] if t.src == 0}
    traps = [
        trap(
            sent[-1 - step],
            "M-NEAR-FIRST",
            f"In step {step} the partner is {counted(near, 'place')} away.",
        ),
        trap(
            n * sent[step],
            "M-TOTAL-VS-BUSIEST",
            f"{n * sent[step]:g} MB is what all {n} ranks send in that step.",
        ),
    ]
    if sent[-1 - step] == sent[step]:
        raise ClashError(sent)
    return num(
        f"Recursive halving reduce-scatters {size(nbytes)} on {n} ranks. How much does a rank send "
        f"in step {step}? (The first step is step 0.)",
        sent[step],
        traps,
        unit="MB",
        feedback_right=f"The messages have {listing(f'{each:g}' for each in sent)} MB.",
        feedback_else="The first message is half of the vector, and each is half the one before.",
    )


def uneven(draw: Draw) -> Data:
    """Ask how many elements one rank sends when the blocks differ."""
    n = draw.choice([4, 5, 6])
    count = n * draw.randint(3, 20) + draw.randint(1, n - 1)
    rank = draw.randrange(n)
    lengths = [len(each) for each in np.array_split(np.arange(count), n)]
    key = sum(lengths[t.chunk] for _, t in _ring(n).transfers() if t.src == rank)
    total = sum(lengths[t.chunk] for _, t in _ring(n).transfers())
    after = (rank + 1) % n
    if lengths[after] == lengths[rank]:
        raise ClashError(lengths)
    return num(
        f"A ring reduce-scatter cuts {count} elements over {n} ranks, as numpy.array_split does: "
        f"{listing(lengths)}. How many elements does rank {rank} send in all?",
        key,
        [
            trap(
                count,
                "M-COUNT-N",
                f"It keeps its own block of {lengths[rank]}, and sends the {n - 1} others.",
            ),
            trap(
                count - lengths[after],
                "M-OWNER-SHIFT",
                f"Rank {rank} keeps block {rank}, which has {counted(lengths[rank], 'element')}.",
            ),
            trap(
                total,
                "M-TOTAL-VS-BUSIEST",
                f"{total} elements are what all {n} ranks send together.",
            ),
            trap(
                2 * count - lengths[rank] - lengths[after],
                "M-RS-IS-AR-SLICE",
                f"Here {key} elements leave the rank, each once.",
            ),
        ],
        unit="elements",
        feedback_right=f"All but its own block: {count} - {lengths[rank]}.",
        feedback_else="A rank sends every block once, except the one that it keeps.",
    )


def order_of_additions(draw: Draw) -> Data:
    """Ask in which order the parts of one chunk are added."""
    n = draw.choice([4, 5, 6])
    chunk = draw.randrange(1, n - 1)
    way = [t for _, t in _ring(n).transfers() if t.chunk == chunk]
    key = [t.src for t in way] + [way[-1].dst]

    def words(order: list[int]) -> str:
        return ", ".join(map(str, order))

    rising = list(range(n))
    own_first = [(chunk + place) % n for place in range(n)]
    return choice(
        draw,
        f"A ring reduce-scatter on {n} ranks leaves block r on rank r. In which order of ranks are "
        f"the parts of chunk {chunk} added?",
        [
            right(words(key), f"It sets out on rank {key[0]}, and rank {chunk} adds last."),
            wrong(
                words(rising),
                "M-RANK-ORDER",
                f"Only chunk {n - 1} is added from rank 0 to rank {n - 1}.",
            ),
            wrong(
                words(own_first),
                "M-OWNER-SHIFT",
                f"In this order it would end on rank {own_first[-1]}.",
            ),
            wrong(
                words(key[::-1]),
                "M-FILM-FORWARD",
                f"But the ring sends to the right: rank {key[0]} to rank {key[1]} first.",
            ),
        ],
    )


def legal_ops(draw: Draw) -> Data:
    """Ask which operations a reduce-scatter may use, and what subtraction would give."""
    n = draw.choice([3, 4])
    values = [draw.randint(1, 9) for _ in range(n)]
    results = []
    for owner in range(n):
        row = [values[(owner + 1 + place) % n] for place in range(n)]
        total = row[0]
        for value in row[1:]:
            total = value - total
        results.append(total)
    if len(set(results)) == 1:
        raise ClashError(results)
    return multi(
        draw,
        f"{n} ranks hold the numbers {listing(values)}, in every element. Which operations give "
        "every block the same value, whichever way the plan adds?",
        [
            right("sum", f"The sum is {sum(values)} in every order."),
            right("maximum", f"The maximum is {max(values)} in every order."),
            right("product", f"The product is {int(np.prod(values))} in every order."),
            wrong(
                "difference (own value minus what arrives)",
                "M-ANY-OP",
                f"In a ring the blocks would get {listing(results)}.",
            ),
            wrong(
                "the mean of own value and what arrives, at every hop",
                "M-ANY-OP",
                f"Whoever adds last would weigh 1/2, the first 1/{2 ** (n - 1)}, not the same.",
            ),
        ],
    )


def element(draw: Draw) -> Data:
    """Ask for one element of one output under SUM, AVG or MAX."""
    n, rank = draw.choice([3, 4, 5]), draw.randrange(3)
    op = draw.choice(["sum", "avg", "max"])
    inputs = [100.0 * (each + 1) + np.arange(2 * n) for each in range(n)]
    plan = _ring(n)
    outputs = simulate(plan, inputs, op)
    sums = simulate(plan, inputs, "sum")
    mine, after = outputs[rank], outputs[(rank + 1) % n]
    added = sums[rank]
    if mine is None or after is None or added is None:
        raise ClashError(rank)
    key = round(float(mine[0]), 6)
    joined = float(mine.max()) if op == "max" else float(mine.sum())
    traps = [
        trap(float(after[0]), "M-OWNER-SHIFT", f"That is block {(rank + 1) % n}."),
        trap(joined, "M-SCALAR", "The two elements of the block stay apart."),
    ]
    if op == "avg":
        traps += [
            trap(float(added[0]), "M-AVG-SUM", f"{added[0]:g} is the sum; divide it by {n}."),
            trap(
                float(added[0]) / (2 * n),
                "M-AVG-BY-LEN",
                f"Divide by {n}, not by the {2 * n} elements.",
            ),
        ]
    return num(
        f"Rank r of {n} holds {2 * n} elements: element i is 100 (r + 1) + i. After a "
        f"reduce-scatter with {op.upper()}, what is the first element on rank {rank}?",
        key,
        traps,
        feedback_right=f"Block {rank} begins with element {2 * rank}.",
        feedback_else=f"Find element {2 * rank} on every rank, and combine these {n} numbers.",
    )


def divide(draw: Draw) -> Data:
    """Ask when to divide for an average in fp16."""
    n = draw.choice([8, 16, 32])
    large = draw.random() < 0.5  # noqa: PLR2004 - a coin
    value = draw.choice([12_000.0, 20_000.0]) if large else draw.choice([6e-8, 1.2e-7])
    inputs = [np.full(n, value, dtype=np.float16)] * n
    with np.errstate(all="ignore"):
        first = np.float16(0)
        last = np.float16(0)
        for each in inputs:
            first = np.float16(first + np.float16(each[0] / np.float16(n)))
            last = np.float16(last + each[0])
        last = np.float16(last / np.float16(n))
    if np.isfinite(last) == large or (first > 0) != large:
        raise ClashError(value)
    before, after = ("about right", "inf") if large else ("0", "about right")
    told_ = f"Divide first: {before}; divide last: {after}."
    return choice(
        draw,
        f"{n} ranks hold {value:g} in fp16 and want the mean with a reduce-scatter that adds in "
        "fp16. When should they divide?",
        [
            right(
                "Before adding." if large else "After adding.",
                f"{told_} The mean itself fits in fp16; what lies between does not always.",
            ),
            wrong(
                "After adding." if large else "Before adding.",
                "M-PREDIVIDE-SAFE",
                f"Here the answer would be {after if large else before}.",
            ),
            wrong(
                "It makes no difference.",
                "M-PREDIVIDE-SAFE",
                told_,
            ),
            wrong(
                "Not at all: AVG and SUM agree if all ranks hold the same.",
                "M-AVG-SUM",
                f"The sum of {n} equal numbers is {n} times each of them.",
            ),
        ],
    )


def nccl_avg(draw: Draw) -> Data:
    """Ask what NCCL does for an average."""
    n = draw.choice([8, 16, 64])
    dtype = draw.choice(["fp32", "bf16", "fp16"])
    return choice(
        draw,
        f"{n} nodes with one GPU each call ncclReduceScatter with ncclAvg on {dtype} (NCCL "
        "v2.30.7, ordinary buffers). What happens?",
        [
            right(
                f"Every input is multiplied by 1/{n}, then they are added, without PAT.",
                "PreMulSum, which PAT does not serve.",
            ),
            wrong(
                f"The inputs are added, and the sum is divided by {n}.",
                "M-NCCL-AVG",
                f"{dtype} is a floating-point type.",
            ),
            wrong(
                "The sum is divided by recvcount.",
                "M-AVG-BY-LEN",
                f"Here the divisor is {n}.",
            ),
            wrong(
                "The inputs are added; the caller divides.",
                "M-AVG-SUM",
                "ncclSum would leave that to the caller.",
            ),
        ],
    )


ITEMS: dict[str, Template] = {
    "05-predict-owner": Template("choice", predict_owner, predict=True),
    "05-via-root": Template("choice", via_root),
    "05-order-backwards": Template("order", order_backwards),
    "05-next-ring": Template("next", next_ring),
    "05-state-after": Template("state", state_after),
    "05-partials": Template("choice", partials),
    "05-owner-table": Template("choice", owner_table),
    "05-spot-bug": Template("spot", spot_bug),
    "05-bytes": Template("num", bytes_),
    "05-halving-bytes": Template("num", halving_bytes),
    "05-uneven": Template("num", uneven),
    "05-order-of-additions": Template("choice", order_of_additions),
    "05-legal-ops": Template("multi", legal_ops),
    "05-element": Template("num", element),
    "05-divide": Template("choice", divide),
    "05-nccl-avg": Template("choice", nccl_avg),
}
