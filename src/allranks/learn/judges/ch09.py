"""Chapter 09: the bytes of NVLS, and the model that explains what it gains."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from statistics import geometric_mean, harmonic_mean, mean, median
from typing import Any

from allranks.cost import Cost, price
from allranks.learn.judges.base import (
    Call,
    Facts,
    Judge,
    Refusal,
    near,
    read_number,
    read_numbers,
    shown,
)
from allranks.published import NVLS_ON_B200, NVLS_ON_H200, AllReducePoint
from allranks.topology import Topology
from allranks.units import format_bytes

WORDS_OF_A_SENTENCE = 3
ALIKE = 1e-9

# the bytes of NVLS

COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather")
NO_NVLS = ("broadcast", "reduce")
SIZES = ((6, 48_000_000), (8, 64_000_000), (2, 1_000_000), (3, 2**30), (16, 4096), (72, 7_200_000))
BYTES = "return the pair (out, in), two numbers of bytes"


def _bytes_cases() -> list[Call]:
    return [
        Call({"collective": collective, "world_size": n, "nbytes": nbytes})
        for n, nbytes in SIZES
        for collective in (*COLLECTIVES, *NO_NVLS[: 1 if n == SIZES[0][0] else 0])
    ] + [Call({"collective": "reduce", "world_size": 8, "nbytes": 64_000_000})]


@cache
def _priced(collective: str, algorithm: str, n: int, nbytes: int) -> Cost | None:
    """Return the cost of a collective, or None if the library has no such algorithm for it."""
    topology = Topology.uniform(n, alpha=0.0, bandwidth=1.0)
    try:
        return price(collective, algorithm, world_size=n, nbytes=nbytes, topology=topology)
    except ValueError:
        return None


def _bytes_facts(call: Call, answer: object) -> Facts:
    collective, n, nbytes = call.arguments.values()
    cost = _priced(collective, "nvls", n, nbytes)
    facts: dict[str, Any] = {"collective": collective, "n": n, "out": 0, "into": 0}
    facts |= dict.fromkeys(("refused", "no_own", "sends_all", "as_ring"), False)
    if isinstance(answer, Refusal):
        return _refusal_facts(facts, answer, cost)
    if cost is None:
        message = (
            f"there is no NVLS for {collective}; raise ValueError with a sentence that says so"
        )
        return {**facts, "right": False, "message": message}
    out, into = map(float, read_numbers(answer, 2, BYTES))
    due = cost.bytes_sent_max, cost.bytes_received_max
    own = nbytes / n
    right = near(out, due[0], ALIKE) and near(into, due[1], ALIKE)
    facts |= {"right": right, "out": _bytes(out), "into": _bytes(into)}
    facts["message"] = _more_or_less("out", out, due[0]) or _more_or_less("in", into, due[1])
    if not right:
        less_out, less_in = near(out, due[0] - own, ALIKE), near(into, due[1] - own, ALIKE)
        facts["no_own"] = (less_out or near(out, due[0], ALIKE)) and (
            less_in or near(into, due[1], ALIKE)
        )
        facts["sends_all"] = collective == "all_gather" and near(out, nbytes, ALIKE)
        ring = _priced(collective, "ring", n, nbytes)
        facts["as_ring"] = ring is not None and all(
            near(each, ring.bytes_sent_max, ALIKE) for each in (out, into)
        )
    return facts


def _refusal_facts(facts: dict[str, Any], answer: Refusal, cost: Cost | None) -> Facts:
    if cost is not None:
        message = "it raises ValueError, where NVLS exists and bytes were asked for"
        return {**facts, "refused": True, "right": False, "message": message}
    right = len(answer.sentence.split()) >= WORDS_OF_A_SENTENCE
    message = "it raises ValueError without a sentence; say which collective has no NVLS"
    return {**facts, "right": right, "message": message}


def _more_or_less(way: str, value: float, due: float) -> str:
    if near(value, due, ALIKE):
        return ""
    side = "more" if value > due else "less"
    where = "out of" if way == "out" else "into"
    return f"{_bytes(value)} {where} a GPU is {side} than NVLS moves"


def _bytes(value: float) -> str:
    return format_bytes(value) if value >= 0 else f"{shown(value)} B"


# one efficiency for all points

MODELS = {"nvls": "nvls", "tree": "sharp"}  # by the names of the library's algorithms
A_FIT = "return the pair (efficiency, spread), two numbers"
EFFICIENCY_WITHIN, SPREAD_WITHIN = 0.002, 0.01
MADE_UP = (0.9, (2, 3, 4, 8, 16, 32, 72))
RANGES = (
    (0.84, range(2, 17)),
    (0.72, range(2, 33)),
    (0.97, range(2, 9)),
    (0.61, range(2, 73)),
    (0.56, range(2, 73)),
    (0.84, (8, 16, 32, 72)),
    (0.45, range(2, 73)),
    (0.9, (2, 3)),
    (1.0, range(2, 9)),  # a tie at 3, where the bound is 1 exactly
)


def _ramp_cases() -> list[Call]:
    """Return fits of published and of made-up points to both models, then where NVLS begins."""
    h200, b200 = NVLS_ON_H200.with_nvls(), NVLS_ON_B200.with_nvls()
    sets = [_gains(h200), _gains(b200), _gains(h200[:3]), _gains(h200[1:]), _gains(b200[:2])]
    factor, worlds = MADE_UP
    sets += [[(n, factor * bound(n, model)) for n in worlds] for model in MODELS]
    fits = [Call({"points": points, "model": model}) for points in sets for model in MODELS]
    borders = [
        Call({"efficiency": efficiency, "n_range": list(worlds)}, "crossover")
        for efficiency, worlds in RANGES
    ]
    return [*fits, *borders]


def _gains(points: tuple[AllReducePoint, ...]) -> list[tuple[int, float]]:
    return [(point.world_size, point.gain) for point in points if point.gain is not None]


@cache
def bound(n: int, model: str) -> float:
    """Return the most that a model lets the in-network all-reduce gain on a ring of n ranks."""
    topology = Topology.uniform(n, alpha=0.0, bandwidth=1.0)
    ring, other = (
        Fraction(
            price("all_reduce", name, world_size=n, nbytes=n, topology=topology).bytes_sent_max
        )
        for name in ("ring", MODELS[model])
    )
    return float(ring / other)


def _ramp_facts(call: Call, answer: object) -> Facts:
    return (_border_facts if call.function == "crossover" else _fit_facts)(call, answer)


UNSAID = {
    **dict.fromkeys(("free", "only_mean", "slide", "tie"), False),
    "answer": None,
    "model": "",
    "n": 0,
}


def _fit_facts(call: Call, answer: Any) -> Facts:  # noqa: ANN401
    points, model = call.arguments.values()
    ratios = [gain / bound(n, model) for n, gain in points]
    facts = {**UNSAID, "model": model, "n": len(points), "right": False}
    if _is_free(answer):
        message = "it returned a factor for each point; one efficiency for all of them is asked for"
        return {**facts, "free": True, "message": message}
    if isinstance(answer, int | float | Fraction) and not isinstance(answer, bool):
        message = f"it returned {shown(answer)} alone; {A_FIT}"
        return {**facts, "only_mean": True, "message": message}
    efficiency, spread = map(float, read_numbers(answer, 2, A_FIT))
    means = _means(points, ratios, model)
    low, high = min(means) * (1 - EFFICIENCY_WITHIN), max(means) * (1 + EFFICIENCY_WITHIN)
    if not low <= efficiency <= high:
        off = 100 * abs(efficiency / mean(ratios) - 1)
        message = f"efficiency {efficiency:.6g} is {off:.3g} % off the mean of gain / bound"
        return {**facts, "message": message}
    due = (max(ratios) - min(ratios)) / efficiency
    right = abs(spread - due) <= SPREAD_WITHIN * due + ALIKE
    side = "more" if spread > due else "less"
    message = (
        f"spread {spread:.6g} is {side} than the largest ratio gain / bound minus the smallest, as "
        "a share of the efficiency"
    )
    return {**facts, "right": right, "message": message, "only_mean": not right and spread == 0}


def _is_free(answer: Any) -> bool:  # noqa: ANN401
    """Tell whether factors for single points were returned, alone or with a spread."""
    if isinstance(answer, Mapping):
        return True
    if not isinstance(answer, list | tuple) or not answer:
        return False
    return isinstance(answer[0], list | tuple | Mapping) or len(answer) > 2  # noqa: PLR2004


def _means(points: list[tuple[int, float]], ratios: list[float], model: str) -> list[float]:
    """Return the averages that somebody may take for the one factor: all of them pass."""
    bounds = [bound(n, model) for n, _ in points]
    squares = sum(b * gain for b, (_, gain) in zip(bounds, points, strict=True))
    return [
        mean(ratios),
        median(ratios),
        geometric_mean(ratios),
        harmonic_mean(ratios),
        (min(ratios) + max(ratios)) / 2,
        squares / sum(b * b for b in bounds),
        sum(gain for _, gain in points) / sum(bounds),
    ]


def _border_facts(call: Call, answer: object) -> Facts:
    efficiency, worlds = call.arguments.values()
    due = _first_above(efficiency, worlds, "nvls")
    n = answer if answer is None else read_number(answer, advice="return a number of GPUs, or None")
    right = n == due
    message = f"at n = {shown(n)} NVLS is no faster than the ring in this model"
    if n is None:
        message = "it returned None, but for some n in the range NVLS is faster than the ring"
    elif n not in worlds:
        message = f"it returned {shown(n)}, which is not in the range"
    elif due is not None and n > due:
        message = f"NVLS is faster than the ring below n = {shown(n)} already"
    slide = not right and n == _first_above(efficiency, worlds, "tree")
    tie = n in worlds and near(efficiency * bound(n, "nvls"), 1, ALIKE)
    return {**UNSAID, "right": right, "message": message, "slide": slide, "tie": tie, "answer": n}


def _first_above(efficiency: float, worlds: list[int], model: str) -> int | None:
    return next((n for n in worlds if efficiency * bound(n, model) > 1), None)


JUDGES = {
    "nvls_bytes": Judge(_bytes_cases, _bytes_facts, may_refuse=True),
    "ramp": Judge(_ramp_cases, _ramp_facts),
}
