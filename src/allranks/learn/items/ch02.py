"""Practice items of chapter 02: alpha and beta, ports and steps, units, and what a fit needs."""

from __future__ import annotations

from math import isclose

from allranks.cost import Cost, cost, price
from allranks.learn.items.priced import ALPHA, BANDWIDTH, LINK
from allranks.learn.templates import (
    ClashError,
    Data,
    Draw,
    Template,
    choice,
    keyed,
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

GIGABIT = 1e9 / 8


def _link(alpha: float, bandwidth: float, n: int = 2) -> Topology:
    return Topology.uniform(n, alpha=alpha, bandwidth=bandwidth)


def _message(nbytes: float, link: Topology) -> float:
    """Return the seconds of one message: a broadcast between two ranks."""
    return price("broadcast", "chain", world_size=2, nbytes=nbytes, topology=link).seconds


def _step(n: int, pairs: list[tuple[int, int]], nbytes: float, link: Topology) -> Cost:
    """Return the price of one step in which every pair (src, dst) moves nbytes."""
    step = [Transfer(src, dst, 0, Op.REDUCE) for src, dst in pairs]
    return cost(Schedule("all_reduce", "drawn", n, 1, (tuple(step),)), nbytes=nbytes, topology=link)


def predict_tenfold(draw: Draw) -> Data:
    """Ask what ten times the bytes cost where alpha decides, before the figure shows it."""
    nbytes = draw.choice([500, 1000, 1500])
    link = _link(ALPHA, BANDWIDTH)
    before, after = _message(nbytes, link), _message(10 * nbytes, link)
    if after > 1.2 * before:
        raise ClashError(after / before)
    times = f"{us(before)} become {us(after)}"
    return choice(
        draw,
        f"On a link with {LINK}, a message of {size(nbytes)} takes {us(before)}. How long does "
        f"one of {size(10 * nbytes)} take?",
        [
            right(
                "Hardly longer: less than a fifth more.",
                f"{times}. Both pay α, and the bytes add {us(10 * nbytes / BANDWIDTH)} at most.",
            ),
            wrong("About ten times as long.", "M-NO-ALPHA", f"Here α is most of it: {times}."),
            wrong(
                "Exactly as long: it is still one message.",
                "M-ALL-ALPHA",
                f"Here {10 * nbytes:,} bytes take {us(10 * nbytes / BANDWIDTH)} of the time.",
            ),
        ],
    )


def message_time(draw: Draw) -> Data:
    """Ask for alpha plus the bytes."""
    alpha, bandwidth = draw.choice([2, 3, 5, 6]) * 1e-6, draw.choice([10, 20, 40, 50]) * 1e9
    nbytes = draw.choice([50e3, 100e3, 200e3, 400e3])
    link = _link(alpha, bandwidth)
    key, wire = _message(nbytes, link), nbytes / bandwidth
    if not 0.2 < wire / key < 0.9:  # noqa: PLR2004 - both parts must be seen
        raise ClashError(wire / key)
    return num(
        f"A link has α = {us(alpha)} and {bandwidth / 1e9:g} GB/s per direction. How long does a "
        f"message of {size(nbytes)} take?",
        key * 1e6,
        [
            trap(wire * 1e6, "M-NO-ALPHA", f"Here α adds {us(alpha)} to {us(wire)}."),
            trap(alpha * 1e6, "M-ALL-ALPHA", f"Here the bytes add {us(wire)} to α."),
            trap(
                (alpha + 8 * wire) * 1e6,
                "M-BITS-BYTES",
                f"{bandwidth / 1e9:g} GB/s are bytes already: {us(wire)} for the bytes.",
            ),
        ],
        unit="µs",
        tolerance=0.01,
        feedback_right=f"{us(alpha)} and {us(wire)} for the bytes: {us(key)}.",
        feedback_else="α plus the bytes divided by the bandwidth.",
    )


def half_size(draw: Draw) -> Data:
    """Ask for the size at which alpha takes half of the time."""
    alpha, bandwidth = draw.choice([2, 4, 8]) * 1e-6, draw.choice([40, 80, 200, 400]) * 1e9
    link = _link(alpha, bandwidth)
    key = alpha / link.beta
    if not isclose(_message(key, link), 2 * alpha):
        raise ClashError(key)
    return num(
        f"A link has α = {us(alpha)} and {bandwidth / 1e9:g} GB/s per direction. Which size of a "
        "message reaches half of that bandwidth?",
        key / 1e3,
        [
            trap(
                2 * key / 1e3,
                "M-DUPLEX",
                "A message travels in one direction, so its bytes count once against α.",
            ),
            trap(
                key / 8e3,
                "M-BITS-BYTES",
                f"{bandwidth / 1e9:g} GB/s are bytes already; nothing is divided by 8.",
            ),
        ],
        unit="kB",
        tolerance=0.01,
        feedback_right=f"α/β = {us(alpha)} times {bandwidth / 1e9:g} GB/s: {size(key)}.",
        feedback_else="Half of the bandwidth is reached where Sβ is as large as α: S = α/β.",
    )


def bound_by(draw: Draw) -> Data:
    """Ask which of the two numbers decides."""
    alpha, bandwidth = draw.choice([2, 4, 6]) * 1e-6, draw.choice([25, 50, 300]) * 1e9
    link = _link(alpha, bandwidth)
    half = alpha / link.beta
    small = draw.random() < 0.5  # noqa: PLR2004 - a coin
    sizes = (2e3, 10e3, 64e3, 1e6, 8e6, 64e6)
    fits = [each for each in sizes if (each < half / 8 if small else each > half * 8)]
    nbytes = draw.choice(fits or [half / 10 if small else half * 10])
    share = alpha / _message(nbytes, link)
    part = f"α is {100 * share:.3g} % of {us(_message(nbytes, link))}; n½ is {size(half)}"
    key = "Halve α." if small else "Double the bandwidth."
    other = "Double the bandwidth." if small else "Halve α."
    return choice(
        draw,
        f"A program sends messages of {size(nbytes)}, one at a time, on a link with α = "
        f"{us(alpha)} and {bandwidth / 1e9:g} GB/s per direction. Which change makes them faster?",
        [
            right(key, f"Here {part}."),
            wrong(
                other,
                "M-NO-ALPHA" if small else "M-ALL-ALPHA",
                f"Here {part}.",
            ),
            wrong(
                "Either: both make every message faster by about as much.",
                "M-LATENCY-IS-BANDWIDTH",
                f"Here {part}.",
            ),
        ],
    )


def what_helps(draw: Draw) -> Data:
    """Ask what makes many small messages faster."""
    count, each = draw.choice([50, 100, 200]), draw.choice([1e3, 2e3, 4e3])
    link = _link(ALPHA, BANDWIDTH)
    apart, joined = count * _message(each, link), _message(count * each, link)
    double = count * _message(each, _link(ALPHA, 2 * BANDWIDTH))
    halves = 2 * count * _message(each / 2, link)
    return choice(
        draw,
        f"A rank sends {count} messages of {size(each)} to the same peer, one after another "
        f"({LINK}): {us(apart)}. What helps most?",
        [
            right(
                "Join them into one message.",
                f"One α in place of {count}: {us(joined)} for {us(apart)}.",
            ),
            wrong(
                "A link of twice the bandwidth.",
                "M-LATENCY-IS-BANDWIDTH",
                f"Then they take {us(double)}: nearly all of the time is α.",
            ),
            wrong(
                "Cut each in two: smaller messages are faster.",
                "M-NO-ALPHA",
                f"Then α is paid {2 * count} times: {us(halves)}.",
            ),
            wrong(
                "Use both directions of the link.",
                "M-DUPLEX",
                "All these messages go one way; the other direction carries nothing of them.",
            ),
        ],
    )


def fan_in(draw: Draw) -> Data:
    """Ask what a step costs in which several ranks send to one."""
    n = draw.randint(4, 9)
    nbytes = draw.choice([100e3, 250e3, 500e3, 1e6])
    link = _link(ALPHA, BANDWIDTH, n)
    price_ = _step(n, [(src, 0) for src in range(1, n)], nbytes, link)
    wire = nbytes / BANDWIDTH
    return num(
        f"{n} ranks on the machine bench ({LINK}, one port per rank). In one step, each of the "
        f"ranks 1 to {n - 1} sends {size(nbytes)} to rank 0. How long does the step last?",
        price_.seconds * 1e6,
        [
            trap(
                (ALPHA + wire) * 1e6,
                "M-PORT-IN-TURN",
                f"Here {n - 1} messages pass through the port of rank 0.",
            ),
            trap(
                (ALPHA + (n - 1) * wire) * 1e6,
                "M-NO-ALPHA",
                f"Here {n - 1} messages, so {n - 1} times {us(ALPHA)}.",
            ),
            trap(
                n * (ALPHA + wire) * 1e6,
                "M-COUNT-N",
                f"Rank 0 does not send to itself: {n - 1} messages.",
            ),
        ],
        unit="µs",
        tolerance=0.01,
        feedback_right=f"{n - 1} times {us(ALPHA + wire)}: one port, one message at a time.",
        feedback_else="Count the messages at the busiest port, and what each of them takes.",
    )


def neighbors(draw: Draw) -> Data:
    """Ask what a step costs in which every rank sends to its neighbor."""
    n = draw.randint(4, 9)
    nbytes = draw.choice([250e3, 500e3, 1e6, 2e6])
    link = _link(ALPHA, BANDWIDTH, n)
    price_ = _step(n, [(rank, (rank + 1) % n) for rank in range(n)], nbytes, link)
    each = price_.seconds
    return num(
        f"{n} ranks on the machine bench ({LINK}, one port per rank). In one step, every rank "
        f"sends {size(nbytes)} to its right neighbor. How long does the step last?",
        each * 1e6,
        [
            trap(
                n * each * 1e6,
                "M-TOTAL-VS-BUSIEST",
                f"{n} messages, {size(price_.bytes_total)} in all, but one at each port.",
            ),
            trap(
                2 * each * 1e6,
                "M-HALF-DUPLEX",
                f"Here one message out and one in, both in {us(each)}.",
            ),
            trap(
                nbytes / BANDWIDTH * 1e6,
                "M-NO-ALPHA",
                f"Here α adds {us(ALPHA)}.",
            ),
        ],
        unit="µs",
        tolerance=0.001,
        feedback_right="One message out and one in at every port, all at the same time.",
        feedback_else="Look at one port: what goes out, what comes in, and is it at the same time?",
    )


def price_steps(draw: Draw) -> Data:
    """Ask for the price of a schedule of three steps that is written out."""
    n, each = 4, draw.choice([100e3, 250e3, 500e3])
    sizes = [draw.randint(1, 4) for _ in range(5)]
    steps = [
        [(0, 1, sizes[0])],
        [(0, 2, sizes[1]), (1, 3, sizes[2])],
        [(2, 0, sizes[3]), (3, 0, sizes[4])],
    ]
    if sizes[1] == sizes[2]:
        raise ClashError(sizes)
    chunks = max(sizes)
    plan = Schedule(
        "all_reduce",
        "drawn",
        n,
        chunks,
        tuple(
            tuple(
                Transfer(src, dst, chunk, Op.REDUCE)
                for src, dst, many in step
                for chunk in range(many)
            )
            for step in steps
        ),
    )
    price_ = cost(plan, nbytes=each * chunks, topology=_link(ALPHA, BANDWIDTH, n))
    wires = [[many * each / BANDWIDTH for _, _, many in step] for step in steps]
    apart = sum(ALPHA + wire for step in wires for wire in step)
    alone = 3 * ALPHA + sum(max(step) for step in wires)
    text = "; ".join(
        f"step {number}: "
        + ", ".join(f"{src} to {dst} {size(many * each)}" for src, dst, many in step)
        for number, step in enumerate(steps)
    )
    last = us(2 * ALPHA + sum(wires[2]))
    return num(
        f"Ranks 0 to 3 on the machine bench ({LINK}, one port per rank). {text}. How long does "
        "the schedule take in lock-step?",
        price_.seconds * 1e6,
        [
            trap(
                apart * 1e6,
                "M-TOTAL-VS-BUSIEST",
                "Here the two messages of step 1 have ports of their own and run side by side.",
            ),
            trap(
                alone * 1e6,
                "M-PORT-IN-TURN",
                f"Here both messages of step 2 go into rank 0: {last}.",
            ),
            trap(
                (price_.seconds - price_.latency_terms * ALPHA) * 1e6,
                "M-NO-ALPHA",
                f"Here α is paid {price_.latency_terms} times.",
            ),
        ],
        unit="µs",
        tolerance=0.005,
        feedback_right=f"The last step takes {last}: two messages into one port.",
        feedback_else="For each step, take the busiest port: α for each peer, β for each byte.",
    )


def fewer_steps(draw: Draw) -> Data:
    """Ask which of two plans is faster: fewer long steps, or more short ones."""
    n = draw.choice([6, 7, 8])
    nbytes = draw.choice([24e6, 48e6, 96e6])
    link = _link(ALPHA, BANDWIDTH, n)
    few = price("broadcast", "binomial", world_size=n, nbytes=nbytes, topology=link)
    many = price("broadcast", "scatter_all_gather", world_size=n, nbytes=nbytes, topology=link)
    short = draw.choice([600, 1200])
    swift = price("broadcast", "binomial", world_size=n, nbytes=short, topology=link)
    slow = price("broadcast", "scatter_all_gather", world_size=n, nbytes=short, topology=link)
    if not (few.steps < many.steps and many.seconds < few.seconds and swift.seconds < slow.seconds):
        raise ClashError(n)
    return choice(
        draw,
        f"{n} ranks, {LINK}. Plan A brings {size(nbytes)} to all in {few.steps} steps, plan B "
        f"in {many.steps}. Through the busiest port pass {size(few.bytes_sent_max)} with A and "
        f"{size(many.bytes_sent_max)} with B. Which is faster?",
        [
            right(
                "B, for this size; A for a very small one.",
                f"{us(many.seconds)} against {us(few.seconds)}. At {short} B it is "
                f"{us(slow.seconds)} against {us(swift.seconds)}.",
            ),
            wrong(
                "A: it has fewer steps.",
                "M-STEPS-NOT-TIME",
                f"Here that is {us(few.seconds)} against {us(many.seconds)}.",
            ),
            wrong(
                "B, for every size: it moves fewer bytes through one port.",
                "M-NO-ALPHA",
                f"At {short} B, B takes {us(slow.seconds)} and A {us(swift.seconds)}.",
            ),
        ],
    )


def link_units(draw: Draw) -> Data:
    """Ask for the best time of some bytes on a link that is sold in Gb/s."""
    gigabits = draw.choice([100, 200, 400, 800])
    gigabytes = draw.choice([2, 4, 6, 10])
    link = _link(0.0, gigabits * GIGABIT)
    key = _message(gigabytes * 1e9, link)
    return num(
        f"A network adapter is sold with {gigabits} Gb/s per direction. What is the shortest time "
        f"in which it can send {gigabytes} GB? (α does not matter here.)",
        key * 1e3,
        [
            trap(
                key / 8 * 1e3,
                "M-BITS-BYTES",
                f"{gigabits} Gb/s are {gigabits / 8:g} GB/s.",
            ),
            trap(
                key * 1.073741824 * 1e3,
                "M-GIB",
                f"{gigabytes} GB are {gigabytes} times 10^9 bytes.",
            ),
            trap(
                key / 2 * 1e3,
                "M-DUPLEX",
                f"All {gigabytes} GB go out, so only one direction counts.",
            ),
        ],
        unit="ms",
        tolerance=0.01,
        feedback_right=f"{gigabits} Gb/s are {gigabits / 8:g} GB/s in this direction.",
        feedback_else="Eight bits are one byte; then divide bytes by bytes per second.",
    )


def two_sizes(draw: Draw) -> Data:
    """Ask for the bandwidth that two measured sizes show."""
    alpha, bandwidth = draw.choice([10, 20, 40]) * 1e-6, draw.choice([5, 8, 10, 20]) * 1e9
    small, large = draw.choice([20e3, 40e3, 80e3]), draw.choice([200e3, 400e3, 800e3])
    link = _link(alpha, bandwidth)
    first, second = _message(small, link), _message(large, link)
    return num(
        f"Between two ranks, messages of {size(small)} take {first * 1e6:.4g} µs and messages of "
        f"{size(large)} take {second * 1e6:.4g} µs. What is the bandwidth of the link, if α + Sβ "
        "holds?",
        (large - small) / (second - first) / 1e9,
        [
            trap(
                large / second / 1e9,
                "M-FIT-ONE-POINT",
                f"In {second * 1e6:.4g} µs there are {us(alpha)} of α.",
            ),
            trap(
                small / first / 1e9,
                "M-FIT-ONE-POINT",
                f"In {first * 1e6:.4g} µs there are {us(alpha)} of α.",
            ),
            trap(
                2 * (large - small) / (second - first) / 1e9,
                "M-DUPLEX",
                "All these bytes go one way.",
            ),
        ],
        unit="GB/s",
        tolerance=0.02,
        feedback_right="The difference of the two times has no α in it: more bytes by more time.",
        feedback_else="Both times have the same α; what is left if you subtract them?",
    )


def spot_fit(draw: Draw) -> Data:
    """Ask for the line that spoils a fit."""
    alpha, bandwidth = draw.choice([4, 6, 9]) * 1e-6, draw.choice([5, 10, 20]) * 1e9
    largest = draw.choice([100e3, 200e3, 400e3])
    link = _link(alpha, bandwidth)
    faulty = largest / _message(largest, link)
    lines = [
        "β = seconds[-1] / sizes[-1]",
        "α = seconds[0] - β * sizes[0]",
        "half_size = α / β",
        "predicted = α + β * size",
    ]
    reasons = {
        1: (
            "M-NO-ALPHA",
            "With the right β, what is left of the smallest time is α: this line is right.",
        ),
        2: ("M-LATENCY-IS-BANDWIDTH", "Their quotient is n½; this line is right."),
        3: ("M-NO-ALPHA", "That is the model itself."),
    }
    traps = [
        {"line": line, "feedback": told(name, extra), "misconception": name}
        for line, (name, extra) in reasons.items()
    ]
    return keyed(
        "spot",
        "`sizes` go from 1 kB up to "
        f"{size(largest)}, `seconds` are medians of many runs. The link has {bandwidth / 1e9:g} "
        f"GB/s, and this program finds {faulty / 1e9:.3g} GB/s. Which line is to blame?",
        {"lines": lines, "answer": 0},
        traps,
        feedback_right=(
            f"One point gives no slope: of the largest time, {alpha / _message(largest, link):.0%} "
            "is α. Take the difference of two sizes, or fit a line."
        ),
        feedback_else="Which line mixes α into a number that should not have it?",
    )


ITEMS: dict[str, Template] = {
    "02-predict-tenfold": Template("choice", predict_tenfold, predict=True),
    "02-message-time": Template("num", message_time),
    "02-half-size": Template("num", half_size),
    "02-bound-by": Template("choice", bound_by),
    "02-what-helps": Template("choice", what_helps),
    "02-fan-in": Template("num", fan_in),
    "02-neighbors": Template("num", neighbors),
    "02-price-steps": Template("num", price_steps),
    "02-fewer-steps": Template("choice", fewer_steps),
    "02-link-units": Template("num", link_units),
    "02-two-sizes": Template("num", two_sizes),
    "02-spot-fit": Template("spot", spot_fit),
}
