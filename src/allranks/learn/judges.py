"""What a value exercise is asked, and what a right answer is. The engine decides, not a formula."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from allranks.cost import best_num_chunks, price
from allranks.topology import Topology
from allranks.units import format_bandwidth, format_bytes, format_seconds

TOLERANCE = 1.005
NUM_CASES = 200


@dataclass(frozen=True)
class Judge:
    """`cases()` are the argument tuples; `facts(values, answer)` says what the answer is worth.

    The facts name every argument as the manifest's texts do, `right`, and `message`.
    """

    cases: Callable[[], list[tuple[float, ...]]]
    facts: Callable[[tuple[float, ...], float], Mapping[str, Any]]


def _segment_cases() -> list[tuple[float, ...]]:
    """Return (n, S, alpha, beta): the standard case, two ranks, then tiny to huge vectors."""
    draw = random.Random(48)  # noqa: S311 - a fixed list of cases, the same for everybody

    def between(least: float, most: float) -> float:
        return math.exp(draw.uniform(math.log(least), math.log(most)))

    cases: list[tuple[float, ...]] = [(6, 48_000_000, 4e-6, 1 / 25e9), (2, 1e9, 4e-6, 1 / 25e9)]
    while len(cases) < NUM_CASES:
        n = draw.choice([2, 3, 4, 5, 6, 8, 12, 33, 64])
        cases.append((n, round(between(1, 1e9)), between(5e-7, 5e-5), 1 / between(1e9, 9e11)))
    return cases


def chain_seconds(n: int, nbytes: float, alpha: float, beta: float, k: int) -> float:
    """Return the time of a chain broadcast of k segments on a uniform machine, in seconds."""
    topology = Topology.uniform(n, alpha=alpha, bandwidth=1 / beta)
    priced = price(
        "broadcast", "chain", world_size=n, nbytes=nbytes, num_chunks=k, topology=topology
    )
    return priced.seconds


def _segment_facts(values: tuple[float, ...], answer: float) -> Mapping[str, Any]:
    n, nbytes, alpha, beta = int(values[0]), values[1], values[2], values[3]
    best = best_num_chunks(n, nbytes, alpha, beta)
    facts: dict[str, Any] = {"n": n, "size": format_bytes(nbytes), "answer": answer, "best": best}
    facts["excess"] = 0.0
    facts["k_with_n"] = best_num_chunks(n + 2, nbytes, alpha, beta)
    case = (
        f"n = {n}, S = {format_bytes(nbytes)}, alpha = {format_seconds(alpha)}, "
        f"1/beta = {format_bandwidth(1 / beta)}"
    )
    if not math.isfinite(answer) or answer < 1 or answer != int(answer):
        message = f"{case}: k = {answer:g}; the number of segments is whole and at least 1"
        return {**facts, "right": False, "message": message}
    least = chain_seconds(n, nbytes, alpha, beta, best)
    ratio = chain_seconds(n, nbytes, alpha, beta, int(answer)) / least
    percent = 100 * (ratio - 1)
    message = (
        f"{case}: k = {answer:g} takes {percent:.3g} % longer than the best k; at most 0.5 % is "
        "asked"
    )
    return {**facts, "excess": percent, "right": ratio <= TOLERANCE, "message": message}


JUDGES: dict[str, Judge] = {"segments": Judge(_segment_cases, _segment_facts)}
