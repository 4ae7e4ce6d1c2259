"""Chapter 02: alpha and beta from measured times, and the price of a schedule."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from statistics import median
from typing import Any

from allranks.algorithms import build
from allranks.cost import cost
from allranks.learn.judges.base import Call, Facts, Judge, near, read_number, read_numbers
from allranks.schedule import Op, Schedule, Step, Transfer
from allranks.topology import Topology
from allranks.units import format_bytes

ALPHA_WITHIN, BETA_WITHIN = 0.1, 0.03
A_PAIR = "return the pair (alpha, beta), two numbers"
SIZES = [2**power for power in range(8, 27)]  # 256 B to 64 MiB
NOISE = 0.01
# alpha, bandwidth, which of the sizes is disturbed, and how many times as long it took
MACHINES = (
    (4e-6, 25e9, 9, 8.0),
    (2e-6, 370e9, 14, 10.0),
    (6e-6, 50e9, 3, 9.0),
    (30e-6, 5e9, -1, 8.0),
    (9e-6, 12e9, 0, 9.0),
    (50e-6, 2e9, 11, 8.0),
    (1.5e-6, 100e9, -1, 10.0),
    (12e-6, 1e9, 6, 9.0),
    (4e-6, 25e9, 0, 8.0),
    (20e-6, 40e9, 16, 12.0),
)
# how near a time is to a line, and a line to the one that the disturbed time bends
CLOSE, BENT_WITHIN = 0.1, 0.03
SHARE_FITS = 30
EXACT = 1e-12
ALIKE = 1e-9


# alpha and beta


def _fit_cases() -> list[Call]:
    """Return the noisy times of ten machines, on each of which one time was disturbed."""
    draw = random.Random(2)  # noqa: S311 - a fixed list of cases, the same for everybody
    cases = []
    for alpha, bandwidth, disturbed, factor in MACHINES:
        topology = Topology.uniform(2, alpha=alpha, bandwidth=bandwidth)
        seconds = [
            _message_seconds(size, topology) * draw.uniform(1 - NOISE, 1 + NOISE) for size in SIZES
        ]
        seconds[disturbed] *= factor
        facts = {"alpha": alpha, "beta": topology.beta, "disturbed": disturbed}
        cases.append(Call({"sizes": SIZES, "seconds": seconds}, facts=facts))
    return cases


def _message_seconds(nbytes: int, topology: Topology) -> float:
    one = Schedule("broadcast", "one message", 2, 1, ((Transfer(0, 1, 0, Op.COPY),),), root=0)
    return cost(one, nbytes=nbytes, topology=topology).seconds


def _fit_facts(call: Call, answer: object) -> Facts:
    sizes, seconds = call.arguments.values()
    alpha, beta = map(float, read_numbers(answer, 2, A_PAIR))
    true_alpha, true_beta = call.facts["alpha"], call.facts["beta"]
    off_alpha, off_beta = alpha / true_alpha - 1, beta / true_beta - 1
    good_alpha, good_beta = abs(off_alpha) <= ALPHA_WITHIN, abs(off_beta) <= BETA_WITHIN
    disturbed = call.facts["disturbed"] % len(sizes)
    others = [index for index in range(len(sizes)) if index != disturbed]
    plain = [
        _least_squares(sizes, seconds),
        _least_squares([sizes[i] for i in others], [seconds[i] for i in others]),
    ]
    swapped = near(beta, true_alpha, ALPHA_WITHIN) and near(alpha, true_beta, BETA_WITHIN)
    return {
        "alpha": alpha,
        "beta": beta,
        "right": good_alpha and good_beta,
        "message": "the two numbers are exchanged: alpha comes first, then beta"
        if swapped
        else _off("alpha", off_alpha, ALPHA_WITHIN)
        if not good_alpha
        else _off("beta", off_beta, BETA_WITHIN),
        "one_size": near(beta, seconds[-1] / sizes[-1], 1e-6) and alpha < true_alpha / 2,
        "unweighted": any(near(alpha, a, 1e-3) and near(beta, b, 1e-3) for a, b in plain),
        "small": format_bytes(sizes[0]),
        "residual": 100 * abs((alpha + beta * sizes[0]) / seconds[0] - 1),
        "rate": beta > 1,
        "drawn": _drawn((alpha, beta), sizes, seconds, disturbed),
        "odd_size": format_bytes(sizes[disturbed]),
    }


def _drawn(
    line: tuple[float, float], sizes: list[int], seconds: list[float], disturbed: int
) -> bool:
    """Tell whether a line comes near the disturbed time and not near the others, or is bent by it.

    A fit of shares that keeps the disturbed time ends between it and the others; any other line
    that is off has a fault of its own.
    """
    alpha, beta = line
    shares = [(alpha + beta * size) / time for size, time in zip(sizes, seconds, strict=True)]
    off = [abs(share - 1) for index, share in enumerate(shares) if index != disturbed]
    if abs(shares[disturbed] - 1) <= CLOSE:
        return median(off) > CLOSE
    bent = _least_shares(sizes, seconds)
    return all(near(*pair, BENT_WITHIN) for pair in zip(line, bent, strict=True))


def _off(name: str, share: float, allowed: float) -> str:
    """Return the sentence on an estimate; how far it is off, but not what is right."""
    if share < -1:
        return f"{name} is negative; a time cannot be"
    percent = 100 * abs(share)
    amount = f"{percent:.3g} %" if percent < 1000 else f"{abs(share) + 1:.3g} times"  # noqa: PLR2004
    side = "too large" if share > 0 else "too small"
    return f"{name} is {amount} {side}; {100 * allowed:.0f} % is allowed"


def _least_squares(
    sizes: list[int], seconds: list[float], weights: list[float] | None = None
) -> tuple[float, float]:
    """Return alpha and beta of the line with the least squares of seconds, weighted or not."""
    points = list(zip(weights or [1.0] * len(sizes), sizes, seconds, strict=True))
    total = sum(weight for weight, _, _ in points)
    mean_size = sum(weight * size for weight, size, _ in points) / total
    mean_time = sum(weight * time for weight, _, time in points) / total
    above = sum(weight * (size - mean_size) * (time - mean_time) for weight, size, time in points)
    beta = above / sum(weight * (size - mean_size) ** 2 for weight, size, _ in points)
    return mean_time - beta * mean_size, beta


def _least_shares(sizes: list[int], seconds: list[float]) -> tuple[float, float]:
    """Return alpha and beta where errors count as shares of the line, the disturbed one too."""
    weights = [time**-2 for time in seconds]
    for _ in range(SHARE_FITS):
        alpha, beta = _least_squares(sizes, seconds, weights)
        weights = [(alpha + beta * size) ** -2 for size in sizes]
    return alpha, beta


# the price of a schedule


def _by_hand() -> Iterator[Schedule]:
    copy = Op.COPY
    for n, chunks, steps in (
        # two messages side by side, then one
        (4, 1, [[(0, 1), (2, 3)], [(1, 2)]]),
        # two ranks into one port, and one rank out of one port
        (4, 1, [[(0, 3), (1, 3)], [(0, 1), (0, 2)]]),
        # a rank sends and receives at once
        (3, 1, [[(0, 1), (1, 2)], [(1, 2), (2, 0)]]),
    ):
        made = tuple(tuple(Transfer(*ends, 0, copy) for ends in step) for step in steps)
        yield Schedule("all_reduce", "by hand", n, chunks, made)
    # three short messages through one port against one long message through another
    many = tuple(Transfer(0, dst, 0, copy) for dst in (1, 2, 3))
    long = tuple(Transfer(4, 5, chunk, copy) for chunk in range(5))
    yield Schedule("all_reduce", "by hand", 6, 5, ((*many, *long), long, many))
    yield Schedule("all_reduce", "nothing to do", 1, 1, ())


LIBRARY = (
    ("broadcast", "flat", 4, 0, None),
    ("broadcast", "binomial", 6, 2, None),
    ("broadcast", "chain", 4, 0, 3),
    ("broadcast", "scatter_all_gather", 5, 1, None),
    ("gather", "binomial", 8, 0, None),
    ("all_gather", "ring", 6, None, None),
    ("all_gather", "bruck", 7, None, None),
    ("all_gather", "direct", 4, None, None),
    ("all_reduce", "ring", 5, None, None),
    ("all_reduce", "rabenseifner", 8, None, None),
    ("reduce_scatter", "direct", 4, None, None),
)
PRICES = ((48_000, 4e-6, 1 / 25e9), (1_000, 6e-6, 1 / 50e9), (8_000_000, 2e-6, 1 / 370e9))


def _price_cases() -> list[Call]:
    """Return schedules worked by hand and of the library, on three machines."""
    made = [
        build(collective, algorithm, world_size=n, root=root, num_chunks=chunks)
        for collective, algorithm, n, root, chunks in LIBRARY
    ]
    return [
        Call({"schedule": schedule, "chunk_bytes": nbytes, "alpha": alpha, "beta": beta})
        for schedule in (*_by_hand(), *made)
        for nbytes, alpha, beta in PRICES
    ]


def _price_facts(call: Call, answer: object) -> Facts:
    schedule, nbytes, alpha, beta = call.arguments.values()
    price = float(read_number(answer, advice="return the price, a number of seconds"))
    wanted = _seconds(schedule, nbytes, alpha, beta)
    right = near(price, wanted, EXACT)

    def seconds(messages: float, chunks: float) -> float:
        return float(messages * alpha + chunks * nbytes * beta)

    facts: dict[str, Any] = {"right": right, "message": _too(price, wanted)}
    for name, mistake in MISTAKES.items():
        mistaken = mistake(schedule, seconds)
        # where a mistake makes no difference it was not made
        differs = not near(mistaken, wanted, 2 * ALIKE)
        facts[name] = differs and near(price, mistaken, ALIKE)
    facts["steps"] = len(schedule.steps)
    facts["together"] = max((len(_messages(step)) for step in schedule.steps), default=0)
    return facts


@cache
def _seconds(schedule: Schedule, nbytes: int, alpha: float, beta: float) -> float:
    topology = Topology.uniform(schedule.world_size, alpha=alpha, bandwidth=1 / beta)
    return cost(schedule, nbytes=nbytes * schedule.num_chunks, topology=topology).seconds


def _too(price: float, wanted: float) -> str:
    if wanted == 0:
        return f"{price:.6g} s, but there is nothing to wait for"
    side = "more" if price > wanted else "less"
    return f"{price:.6g} s is {100 * abs(price / wanted - 1):.3g} % {side} than it takes"


# Mistakes in the price of a step: what its ports are thought to pass, and what that adds up to.

Seconds = Callable[[float, float], float]


def _messages(step: Step) -> dict[tuple[int, int], int]:
    """Return how many chunks go from one rank to another, for each pair."""
    found: dict[tuple[int, int], int] = {}
    for src, dst, *_ in step:
        found[src, dst] = found.get((src, dst), 0) + 1
    return found


def _ports(step: Step, *, duplex: bool = True) -> list[tuple[int, int]]:
    """Return messages and chunks through every port; one for both ways if not `duplex`."""
    ports: dict[tuple[str, int], tuple[int, int]] = {}
    for (src, dst), chunks in _messages(step).items():
        for port in (("out", src), ("in", dst)) if duplex else (("", src), ("", dst)):
            messages, passed = ports.get(port, (0, 0))
            ports[port] = messages + 1, passed + chunks
    return list(ports.values())


def _step(step: Step, seconds: Seconds) -> float:
    return max((seconds(*port) for port in _ports(step)), default=0.0)


def _all_messages(schedule: Schedule, seconds: Seconds) -> float:
    return sum(seconds(1, chunks) for step in schedule.steps for chunks in _messages(step).values())


def _all_transfers(schedule: Schedule, seconds: Seconds) -> float:
    return schedule.num_transfers * seconds(1, 1)


def _longest_step(schedule: Schedule, seconds: Seconds) -> float:
    return max((_step(step, seconds) for step in schedule.steps), default=0.0)


def _both_ways(schedule: Schedule, seconds: Seconds) -> float:
    return sum(
        max((seconds(*port) for port in _ports(step, duplex=False)), default=0.0)
        for step in schedule.steps
    )


def _one_alpha(schedule: Schedule, seconds: Seconds) -> float:
    return sum(
        max((seconds(1, chunks) for _, chunks in _ports(step)), default=0.0)
        for step in schedule.steps
    )


def _alpha_per_chunk(schedule: Schedule, seconds: Seconds) -> float:
    return sum(
        max((seconds(chunks, chunks) for _, chunks in _ports(step)), default=0.0)
        for step in schedule.steps
    )


MISTAKES: dict[str, Callable[[Schedule, Seconds], float]] = {
    "all_messages": _all_messages,
    "all_transfers": _all_transfers,
    "longest_step": _longest_step,
    "both_ways": _both_ways,
    "one_alpha": _one_alpha,
    "alpha_per_chunk": _alpha_per_chunk,
}

JUDGES = {
    "fit": Judge(_fit_cases, _fit_facts),
    "price": Judge(_price_cases, _price_facts),
}
