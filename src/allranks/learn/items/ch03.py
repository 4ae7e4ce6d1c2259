"""Practice items of chapter 03: who sends what in a broadcast, when, and which way is fastest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations
from math import floor, isclose, log2, sqrt

from allranks.algorithms import build
from allranks.cost import Cost, best_num_chunks, timeline
from allranks.errors import ScheduleError
from allranks.learn.items.priced import ALPHA, BANDWIDTH, LINK, Lane, lanes, priced
from allranks.learn.judges.ch03 import chain_seconds
from allranks.learn.templates import (
    LETTERS,
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
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Topology
from allranks.verify import verify

CLEARLY = 1.1


def _race(draw: Draw, n: int, nbytes: float, stem: str, *, winner: str | None = None) -> Data:
    """Return a choice among the broadcasts of the race; the engine says who wins."""
    field = lanes(n, nbytes)
    by_time = sorted(field, key=lambda key: field[key].cost.seconds)
    best, second = by_time[:2]
    if winner not in (None, best):
        raise ClashError(by_time)
    if field[second].cost.seconds < CLEARLY * field[best].cost.seconds:
        raise ClashError(by_time)
    first = field[best].cost
    options = [right(field[best].name, f"{us(first.seconds)}: {_where_time_goes(best, first)}.")]
    options += [_slower(field, key, best, nbytes) for key in by_time[1:]]
    return choice(draw, stem, options)


def _slower(field: Mapping[str, Lane], key: str, best: str, nbytes: float) -> Data:
    lane = field[key]
    # what an uncut chain lacks is what the winner has
    cure = {"pipe": "M-STORE-AND-FORWARD", "binomial": "M-ONE-AT-A-TIME"}
    names = {
        "flat": "M-FLAT-IS-ONE-STEP",
        "chain": cure.get(best, "M-OTHER-REGION"),
        "binomial": "M-TREE-ALWAYS-BEST",
        "pipe": "M-MORE-SEGMENTS-BETTER",
        "scatter_all_gather": "M-OTHER-REGION",
    }
    ratio = lane.cost.seconds / field[best].cost.seconds
    extra = (
        f"{size(nbytes)} take {us(lane.cost.seconds)} this way, {ratio:.3g} times the best: "
        f"{_where_time_goes(key, lane.cost)}."
    )
    return wrong(lane.name, names[key], extra)


def _where_time_goes(key: str, cost: Cost) -> str:
    """Return the parts of a lock-step time, which must add up to it."""
    if key == "scatter_all_gather":
        messages, data = cost.latency_terms * ALPHA, cost.bytes_sent_max / BANDWIDTH
        if not isclose(messages + data, cost.seconds, rel_tol=1e-6):
            message = f"{cost}: its time is not the messages and the bytes of one port"
            raise ValueError(message)
        return (
            f"{cost.latency_terms} α are {us(messages)}, and {size(cost.bytes_sent_max)} leave the "
            f"root in {us(data)}"
        )
    each = us(cost.seconds / cost.steps)
    return f"{cost.steps} steps of {each}, one after the other"


def predict_race(draw: Draw) -> Data:
    """Ask for the fastest of five broadcasts of a large vector, before the race is shown."""
    return _race(
        draw,
        6,
        48e6,
        f"Which of these broadcasts brings 48 MB to 6 ranks first? ({LINK}; each rank has one "
        "port)",
    )


def predict_small(draw: Draw) -> Data:
    """Ask for the fastest of the broadcasts of a small vector, before the race is shown."""
    return _race(draw, 6, 3e3, f"And for 3 kB to 6 ranks? ({LINK}; each rank has one port)")


def winner(draw: Draw) -> Data:
    """Ask which broadcast wins at a size drawn from all three regions."""
    n = draw.choice([6, 8, 12, 16])
    nbytes = draw.choice([2e3, 16e3, 100e3, 1e6, 1.5e6, 8e6, 100e6, 1e9])
    return _race(
        draw,
        n,
        nbytes,
        f"{size(nbytes)} go to {n} ranks ({LINK}; each rank has one port). Which broadcast is "
        "fastest?",
    )


def small_message(draw: Draw) -> Data:
    """Ask for the best broadcast of a few kB to many ranks."""
    n, nbytes = draw.choice([32, 64, 100]), draw.choice([2e3, 4e3, 8e3])
    stem = (
        f"A rank has {size(nbytes)} for {n} ranks ({LINK}; each rank has one port). How should "
        "they travel?"
    )
    data = _race(draw, n, nbytes, stem, winner="binomial")
    k = 64
    seconds = priced("broadcast", "chain", n=n, nbytes=nbytes, k=k)
    cut = wrong(
        f"chain, cut into {k} segments",
        "M-MORE-SEGMENTS-BETTER",
        f"Here that is {n} - 2 + {k} = {seconds.latency_terms} times {us(ALPHA)}, of "
        f"{us(seconds.seconds)} in all.",
    )
    kept = [{**each} for each in data["options"] if not each["text"].startswith("chain, cut")]
    for each in kept:
        del each["id"]
    return choice(draw, stem, [*kept, cut])


def large_message(draw: Draw) -> Data:
    """Ask for the best broadcast of very much data to many ranks."""
    n, nbytes = draw.choice([32, 64, 100]), draw.choice([1e9, 2e9, 4e9])
    stem = (
        f"A rank has {size(nbytes)} for {n} ranks ({LINK}; each rank has one port). How should "
        "they travel?"
    )
    return _race(draw, n, nbytes, stem, winner="pipe")


def steps(draw: Draw) -> Data:
    """Ask for the number of steps of a broadcast."""
    n = draw.choice([3, 5, 6, 7, 11, 13])
    algorithm = draw.choice(["binomial", "binomial", "flat", "chain"])
    key = priced("broadcast", algorithm, n=n, nbytes=1e6).latency_terms
    stem = f"How many steps does a {algorithm} broadcast of one chunk take on {n} ranks?"
    if algorithm == "binomial":
        doublings = floor(log2(n))
        return num(
            stem,
            key,
            [
                trap(
                    doublings,
                    "M-FLOOR-LG",
                    f"With n = {n}, {doublings} doublings reach only {2**doublings} ranks.",
                ),
                trap(
                    n - 1,
                    "M-ONE-AT-A-TIME",
                    f"In {n - 1} steps only one rank at a time would send.",
                ),
                trap(
                    n,
                    "M-COUNT-ROOT",
                    f"And all that have it can tell others: {key} steps reach {n}.",
                ),
            ],
            unit="steps",
            feedback_right=f"2^{key} = {2**key} is the first power of two that reaches {n}.",
            feedback_else=f"Double 1 until it reaches {n}; count the doublings.",
        )
    traps = [trap(n, "M-COUNT-ROOT", f"Here that is {n - 1}, and each step serves one of them.")]
    if algorithm == "flat":
        traps.append(
            trap(1, "M-FLAT-IS-ONE-STEP", f"{n - 1} sends in turn, {n - 1} S out of the root.")
        )
    else:
        traps.append(
            trap(
                priced("broadcast", "binomial", n=n, nbytes=1e6).latency_terms,
                "M-CHAIN-DOUBLES",
                "That is the binomial tree, where all that know tell somebody.",
            )
        )
    return num(
        stem,
        key,
        traps,
        unit="steps",
        feedback_right=f"{n - 1} ranks lack the chunk, and each step serves one of them.",
        feedback_else="Ask how many ranks still lack the chunk, and how many get it in one step.",
    )


def busiest_bytes(draw: Draw) -> Data:
    """Ask how much the busiest rank of a binomial broadcast sends."""
    n, nbytes = draw.choice([5, 6, 7, 11, 13]), draw.randint(2, 90) * 1e6
    price = priced("broadcast", "binomial", n=n, nbytes=nbytes)
    doublings = floor(log2(n))
    return num(
        f"A binomial tree broadcasts S = {size(nbytes)} to {n} ranks. How much does the busiest "
        "rank send?",
        price.bytes_sent_max / 1e6,
        [
            trap(
                price.bytes_total / 1e6,
                "M-TOTAL-VS-BUSIEST",
                f"Here {size(price.bytes_total)} travel in all; the busiest rank sends "
                f"{size(price.bytes_sent_max)}.",
            ),
            trap(
                doublings * nbytes / 1e6,
                "M-FLOOR-LG",
                f"With n = {n}, {doublings} doublings reach only {2**doublings} ranks.",
            ),
            trap(
                nbytes / 1e6,
                "M-TREE-ALWAYS-BEST",
                f"Here the root sends in all {price.steps} steps, each time {size(nbytes)}.",
            ),
        ],
        unit="MB",
        feedback_right=f"The root sends S in each of the {price.steps} steps.",
        feedback_else=f"The root is the busiest rank; count its sends of {size(nbytes)}.",
    )


def best_k(draw: Draw) -> Data:
    """Ask for k*, the best number of segments; one more or less is accepted."""
    n, nbytes = draw.choice([4, 5, 6, 7]), draw.choice([12e6, 24e6, 48e6, 96e6, 200e6])
    alpha = draw.choice([2e-6, 4e-6, 8e-6])
    beta = 1 / BANDWIDTH
    key = best_num_chunks(n, nbytes, alpha, beta)
    with_n = best_num_chunks(n + 2, nbytes, alpha, beta)
    with_bits = best_num_chunks(n, nbytes, alpha, 8 * beta)
    best = chain_seconds(n, nbytes, alpha, beta, key)

    def above(k: int) -> str:
        share = 100 * (chain_seconds(n, nbytes, alpha, beta, k) / best - 1)
        return f"k = {k} takes {share:.2g} % longer than k = {key}."

    return num(
        f"A chain broadcasts {size(nbytes)} to {n} ranks (α = {us(alpha)}, "
        f"{BANDWIDTH / 1e9:g} GB/s). What is k*, the number of segments with the least time, "
        "rounded?",
        key,
        [
            trap(
                with_n,
                "M-PIPE-LENGTH",
                f"Under the root stands n - 2 = {n - 2}, not {n}. {above(with_n)}",
            ),
            trap(with_bits, "M-BITS-BYTES", f"You took GB/s for Gb/s. {above(with_bits)}"),
            trap(
                8 * key,
                "M-MORE-SEGMENTS-BETTER",
                f"With k = {8 * key} that is {n - 2 + 8 * key} times. {above(8 * key)}",
            ),
        ],
        unit="segments",
        tolerance=1 / key,
        feedback_right=(f"k* = √((n - 2) S β / α) = {sqrt((n - 2) * nbytes * beta / alpha):.3g}."),
        feedback_else=("k* = √((n - 2) S β / α), rounded; one more or less is accepted."),
    )


def chain_time(draw: Draw) -> Data:
    """Ask for the time of a chain that is cut into segments."""
    n, k = draw.choice([4, 5, 6, 8]), draw.choice([2, 4, 8, 16])
    nbytes = draw.choice([1e6, 2e6, 4e6, 12e6])
    key = priced("broadcast", "chain", n=n, nbytes=nbytes, k=k)
    uncut = priced("broadcast", "chain", n=n, nbytes=nbytes, k=1)
    step = key.seconds / key.steps
    return num(
        f"A chain broadcasts {size(nbytes)} to {n} ranks, cut into {k} segments ({LINK}). How "
        "long "
        "does it take in lock-step?",
        key.seconds * 1e6,
        [
            trap(uncut.seconds * 1e6, "M-CHAIN-SLOW", f"Uncut it takes {us(uncut.seconds)}."),
            trap(
                (key.seconds - key.steps * ALPHA) * 1e6,
                "M-NO-ALPHA",
                f"{key.steps} steps pay {us(key.steps * ALPHA)}.",
            ),
            trap(
                (n + k) * step * 1e6,
                "M-PIPE-LENGTH",
                f"Here that is {key.steps}, not {n + k}.",
            ),
        ],
        unit="µs",
        tolerance=0.01,
        feedback_right=f"{key.steps} steps of {us(step)} each.",
        feedback_else=(
            f"Count the steps, n - 2 + k, and price one: α + β times {size(nbytes / k)}."
        ),
    )


def root_finishes(draw: Draw) -> Data:
    """Ask when the root of an uncut chain has done its part."""
    n, nbytes = draw.choice([4, 5, 6, 8]), draw.choice([1e6, 2e6, 5e6, 10e6])
    schedule = build("broadcast", "chain", world_size=n, root=0)
    topology = Topology.preset("bench", n)
    events = timeline(schedule, nbytes=nbytes, topology=topology, clock="data_driven")
    root = max(event.end_s for event in events if event.src == 0)
    last = max(event.end_s for event in events)
    return num(
        f"A chain broadcasts {size(nbytes)} uncut to {n} ranks ({LINK}). All call at time 0. "
        "When has "
        "the root done its part and may return?",
        root * 1e6,
        [
            trap(
                last * 1e6,
                "M-BARRIER",
                f"At {us(last)} the last rank has the data; the root sent its only message long "
                "before.",
            ),
            trap(
                (root - ALPHA) * 1e6,
                "M-NO-ALPHA",
                f"The root's one message costs {us(ALPHA)} more.",
            ),
        ],
        unit="µs",
        tolerance=0.001,
        feedback_right=f"It sends one message. The last rank has the data at {us(last)}.",
        feedback_else="The root sends one message; nothing else keeps it.",
    )


def order_binomial(draw: Draw) -> Data:
    """Ask for the order of the steps of a binomial tree with any root."""
    n = draw.randint(5, 9)
    root = draw.randrange(1, n)
    schedule = build("broadcast", "binomial", world_size=n, root=root)
    texts = [listing(f"{t.src} > {t.dst}" for t in step) for step in schedule.steps]
    places = list(range(len(texts)))
    draw.shuffle(places)
    letter = {place: LETTERS[shown] for shown, place in enumerate(places)}
    answers = [[letter[place] for place in order] for order in _orders(schedule)]
    answer = answers[0]
    swapped = [answer[1], answer[0], *answer[2:]]
    if sorted(answer) in answers:
        raise ClashError(answers)
    if swapped in answers or answer[::-1] in answers:
        message = f"{schedule}: its first two steps can be exchanged"
        raise ValueError(message)
    second = schedule.steps[1][-1]
    early = (
        f"Rank {second.src} has nothing to send before {schedule.steps[0][0].src} > "
        f"{schedule.steps[0][0].dst} has happened."
    )
    return keyed(
        "order",
        f"A binomial tree broadcasts from rank {root} on {n} ranks. Put its steps in an "
        "order in which every sender has the data.",
        {
            "entries": [{"id": letter[place], "text": texts[place]} for place in places],
            "answers": answers,
        },
        [
            {
                "answer": wrong_order,
                "feedback": told("M-SEND-BEFORE-HAVE", early),
                "misconception": "M-SEND-BEFORE-HAVE",
            }
            for wrong_order in (answer[::-1], swapped)
        ],
        feedback_right=(
            "Every rank that sends has the data by then"
            + ("." if len(answers) == 1 else f". {len(answers)} orders do that, and each is right.")
        ),
        feedback_else=f"Only rank {root} has the data at first; who has it after each step?",
    )


def _orders(schedule: Schedule) -> list[tuple[int, ...]]:
    """Return every order of the steps that keeps the promise, the generator's own first."""
    return [
        order
        for order in permutations(range(len(schedule.steps)))
        if _holds(replace(schedule, steps=tuple(schedule.steps[place] for place in order)))
    ]


def _holds(schedule: Schedule) -> bool:
    try:
        verify(schedule)
    except ScheduleError:
        return False
    return True


def next_chain(draw: Draw) -> Data:
    """Ask for the transfer that is missing from one step of a pipelined chain."""
    n, k, root = draw.randint(4, 6), draw.randint(3, 5), draw.randrange(6)
    root %= n
    schedule = build("broadcast", "chain", world_size=n, root=root, num_chunks=k)
    step = draw.randrange(1, len(schedule.steps) - 1)
    missing = draw.choice(schedule.steps[step])
    others = [t for t in schedule.steps[step] if t != missing]
    hop = (missing.src - root) % n
    if not others or root == 0:
        raise ClashError(step)
    candidates = [
        (
            missing._replace(chunk=missing.chunk + 1),
            "M-WINDOW-OFF-BY-ONE",
            f"Here s = {step} and v = {hop}, so the segment is {missing.chunk}.",
        ),
        (
            missing._replace(chunk=missing.chunk - 1),
            "M-WINDOW-OFF-BY-ONE",
            f"Segment {missing.chunk - 1} made this hop one step earlier.",
        ),
        (
            missing._replace(src=hop, dst=(hop + 1) % n),
            "M-ROOT-ZERO",
            f"Hop {hop} of a chain from rank {root} leaves rank {missing.src}.",
        ),
    ]
    traps = [
        {"transfer": _row(t), "feedback": told(name, extra), "misconception": name}
        for t, name, extra in candidates
        if 0 <= t.chunk < k and t not in schedule.steps[step]
    ]
    given = listing(f"{t.src} > {t.dst} with chunk {t.chunk}" for t in others)
    return keyed(
        "next",
        f"A chain of {n} ranks broadcasts {k} chunks from rank {root}, each as early as possible. "
        f"Step {step} "
        f"(the first is step 0) has {given}, and one more transfer. Which?",
        {"world_size": n, "num_chunks": k, "answers": [_row(missing)]},
        traps,
        feedback_right=(
            f"Hop {hop} carries segment {step} - {hop} = {missing.chunk} in step {step}."
        ),
        feedback_else="In step s, hop v (counted from the root) carries segment s - v, with COPY.",
    )


def _row(t: Transfer) -> list[int | str]:
    return [t.src, t.dst, t.chunk, t.op.value]


def spot_root(draw: Draw) -> Data:
    """Ask for the line of a tree in which the root was forgotten."""
    n = draw.randint(5, 7)
    root = draw.randrange(1, n)
    good = build("broadcast", "binomial", world_size=n, root=root)
    rows = list(good.transfers())
    place = draw.randrange(1, len(rows))
    step, original = rows[place]
    changed = Transfer((original.src - root) % n, (original.dst - root) % n, 0, Op.COPY)
    rows[place] = (step, changed)
    steps_ = [tuple(t for number, t in rows if number == which) for which in range(len(good.steps))]
    error = _error_of(Schedule("broadcast", "changed", n, 1, tuple(steps_), root=root))
    if error.kind != "not_held" or (error.step, error.src, error.dst) != (step, *changed[:2]):
        raise ClashError(error)
    lines = [f"step {number}: rank {t.src} -> rank {t.dst}" for number, t in rows]
    traps = [
        {
            "line": line,
            "feedback": told("M-ROOT-ZERO", _counted_from(root, n, number, t)),
            "misconception": "M-ROOT-ZERO",
        }
        for line, (number, t) in enumerate(rows)
        if line != place
    ]
    return keyed(
        "spot",
        f"A binomial tree broadcasts from rank {root} on {n} ranks; in one line somebody forgot "
        "the root. "
        "Which one?",
        {"lines": lines, "answer": place},
        traps,
        feedback_right=(
            f"Rank {changed.src} has nothing to send in step {step}; the line should be rank "
            f"{original.src} -> "
            f"rank {original.dst}."
        ),
        feedback_else="For each line, ask whether its sender has the data by then.",
    )


def _counted_from(root: int, n: int, step: int, t: Transfer) -> str:
    v, w = (t.src - root) % n, (t.dst - root) % n
    return (
        f"Counted from root {root}, this line is {v} > {w}: distance {w - v} in step {step}, as "
        "it should be."
    )


def _error_of(schedule: Schedule) -> ScheduleError:
    try:
        verify(schedule)
    except ScheduleError as error:
        return error
    raise ClashError(schedule)


def which_hangs(draw: Draw) -> Data:
    """Ask which call pattern hangs."""
    n = draw.randint(3, 8)
    root, late = draw.randrange(1, n), draw.randrange(1, n)
    return choice(
        draw,
        f"{n} ranks run one of these programs, each rank with its own `rank`. Which program hangs?",
        [
            right(
                f"`if rank != {root}: broadcast(x, root={root})`",
                f"Rank {root} has the data and never calls, so the other {n - 1} wait for ever.",
            ),
            wrong(
                f"`broadcast(x, root={root})` on all ranks, though only rank {root} has data in "
                "`x`",
                "M-ONLY-SENDER-CALLS",
                f"Here all {n} do, and the other {n - 1} give the place where the data arrive.",
            ),
            wrong(
                f"`broadcast(x, root={root})` on all ranks, but rank {late} calls a second later",
                "M-BARRIER",
                f"Those that need rank {late} wait for it, then all is well.",
            ),
            wrong(
                f"`broadcast(x, root={n - 1})` on all ranks, rank 0 too",
                "M-ROOT-ZERO",
                f"Rank {n - 1} is as good a root as rank 0.",
            ),
        ],
    )


def scatter_or_broadcast(draw: Draw) -> Data:
    """Ask what a rank holds after a broadcast of a vector made of blocks."""
    n = draw.randint(3, 8)
    each = draw.randint(2, 9)
    rank = draw.randrange(1, n)
    total = n * each
    return choice(
        draw,
        f"Rank 0 of {n} ranks has a vector of {n} blocks of {each} MB. After a broadcast from "
        "rank 0, what "
        f"does rank {rank} have?",
        [
            right(f"All {n} blocks, {total} MB.", f"Every rank receives the whole {total} MB."),
            wrong(
                f"Block {rank}, {each} MB.",
                "M-SCATTER-IS-BROADCAST",
                f"{each} MB on each rank is a scatter.",
            ),
            wrong(
                f"Its own {total} MB with those of rank 0 added.",
                "M-BROADCAST-ADDS",
                f"What rank {rank} had before is replaced.",
            ),
            wrong(
                "Nothing, unless rank 0 is its neighbor.",
                "M-ONLY-SENDER-CALLS",
                f"Rank {rank} calls as well, and receives from whoever has the data.",
            ),
        ],
    )


def nccl_broadcast(draw: Draw) -> Data:
    """Ask how NCCL broadcasts."""
    n = draw.choice([8, 16, 64])
    tree = priced("broadcast", "binomial", n=n, nbytes=1e9)
    return choice(
        draw,
        f"How does NCCL v2.30.7 broadcast a large vector to {n} GPUs?",
        [
            right(
                "Around a ring, in segments: a pipelined chain from the root.",
                "No rank sends more than S; the last one only receives.",
            ),
            wrong(
                "Down a binomial tree.",
                "M-NCCL-BCAST-TREE",
                f"A tree's root would send {tree.bytes_sent_max / 1e9:g} S to reach {n} ranks.",
            ),
            wrong(
                "Down two binary trees at once, as for all-reduce.",
                "M-NCCL-BCAST-TREE",
                "The double tree serves all-reduce only.",
            ),
            wrong(
                "From the root to every GPU at once.",
                "M-FLAT-IS-ONE-STEP",
                f"{n - 1} S would leave the root.",
            ),
        ],
    )


def reduce_root(draw: Draw) -> Data:
    """Ask how much the root of a reduce sends."""
    n, nbytes = draw.randint(3, 9), draw.randint(2, 60) * 1e6
    schedule = build("reduce", "binomial", world_size=n, root=0)
    sent = [0.0] * n
    for _, t in schedule.transfers():
        sent[t.src] += nbytes / schedule.num_chunks
    mirrored = priced("broadcast", "binomial", n=n, nbytes=nbytes).bytes_sent_max
    return num(
        f"A binomial tree reduces vectors of {size(nbytes)} from {n} ranks to rank 0. How much "
        "does rank 0 send?",
        sent[0] / 1e6,
        [
            trap(
                max(sent) / 1e6,
                "M-REDUCE-ROOT-SENDS",
                f"{size(max(sent))} is what each of the other {n - 1} ranks sends.",
            ),
            trap(
                mirrored / 1e6,
                "M-REDUCE-ROOT-SENDS",
                f"{size(mirrored)} leave the root of a broadcast; in a reduce they arrive there.",
            ),
        ],
        unit="MB",
        feedback_right=f"It only receives: {size(mirrored)}, in {len(schedule.steps)} steps.",
        feedback_else=(
            "A reduce is the broadcast played backwards: which way do the root's arrows point?"
        ),
    )


ITEMS: dict[str, Template] = {
    "03-predict-race": Template("choice", predict_race, predict=True),
    "03-predict-small": Template("choice", predict_small, predict=True),
    "03-scatter-or-broadcast": Template("choice", scatter_or_broadcast),
    "03-which-hangs": Template("choice", which_hangs),
    "03-steps": Template("num", steps),
    "03-busiest-bytes": Template("num", busiest_bytes),
    "03-order-binomial": Template("order", order_binomial),
    "03-spot-root": Template("spot", spot_root),
    "03-next-chain": Template("next", next_chain),
    "03-chain-time": Template("num", chain_time),
    "03-best-k": Template("num", best_k),
    "03-winner": Template("choice", winner),
    "03-small-message": Template("choice", small_message),
    "03-large-message": Template("choice", large_message),
    "03-root-finishes": Template("num", root_finishes),
    "03-reduce-root": Template("num", reduce_root),
    "03-nccl-broadcast": Template("choice", nccl_broadcast),
}
