"""Chapter 03: how many segments a chain cuts the vector into."""

from __future__ import annotations

import math
import random

from allranks.cost import best_num_chunks, price
from allranks.learn.judges.base import Call, Facts, Judge, read_number
from allranks.topology import Topology
from allranks.units import format_bytes

TOLERANCE = 1.005
NUM_CASES = 200


def _segment_cases() -> list[Call]:
    """Return the standard case, two ranks, then tiny to huge vectors."""
    draw = random.Random(48)  # noqa: S311 - a fixed list of cases, the same for everybody

    def between(least: float, most: float) -> float:
        return math.exp(draw.uniform(math.log(least), math.log(most)))

    cases = [_call(6, 48_000_000, 4e-6, 1 / 25e9), _call(2, 1e9, 4e-6, 1 / 25e9)]
    while len(cases) < NUM_CASES:
        n = draw.choice([2, 3, 4, 5, 6, 8, 12, 33, 64])
        size = round(between(1, 1e9))
        cases.append(_call(n, size, between(5e-7, 5e-5), 1 / between(1e9, 9e11)))
    return cases


def _call(n: int, nbytes: float, alpha: float, beta: float) -> Call:
    return Call({"world_size": n, "nbytes": nbytes, "alpha": alpha, "beta": beta})


def chain_seconds(n: int, nbytes: float, alpha: float, beta: float, k: int) -> float:
    """Return the time of a chain broadcast of k segments on a uniform machine, in seconds."""
    topology = Topology.uniform(n, alpha=alpha, bandwidth=1 / beta)
    priced = price(
        "broadcast", "chain", world_size=n, nbytes=nbytes, num_chunks=k, topology=topology
    )
    return priced.seconds


def _segment_facts(call: Call, answer: object) -> Facts:
    n, nbytes, alpha, beta = call.arguments.values()
    k = read_number(answer, advice="return the number of segments, a whole number")
    best = best_num_chunks(n, nbytes, alpha, beta)
    facts = {"n": n, "size": format_bytes(nbytes), "answer": k, "best": best}
    facts["excess"] = 0.0
    facts["k_with_n"] = best_num_chunks(n + 2, nbytes, alpha, beta)
    if k < 1 or k != int(k):
        message = f"k = {float(k):g}; the number of segments is whole and at least 1"
        return {**facts, "right": False, "message": message}
    least = chain_seconds(n, nbytes, alpha, beta, best)
    percent = 100 * (chain_seconds(n, nbytes, alpha, beta, int(k)) / least - 1)
    message = f"k = {float(k):g} takes {percent:.3g} % longer than the best k; 0.5 % is allowed"
    right = percent <= 100 * (TOLERANCE - 1)
    return {**facts, "excess": percent, "right": right, "message": message}


JUDGES = {"segments": Judge(_segment_cases, _segment_facts)}
