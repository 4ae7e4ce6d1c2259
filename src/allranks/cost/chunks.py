"""Into how many chunks a pipeline is cut best."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Unpack

from allranks.algorithms import Parameters, plan_of
from allranks.collectives import contract
from allranks.cost.checks import check_seconds, check_topology, check_whole, exact_bytes
from allranks.cost.fold import price
from allranks.topology import Topology

# Pipelines that take as many steps as a chain of so many ranks: n - 2 + k for k chunks.
_AS_A_CHAIN: dict[tuple[str, str], Callable[[int], int]] = {
    ("broadcast", "chain"): lambda n: n,
    ("reduce", "chain"): lambda n: n,
    ("all_reduce", "sharp"): lambda _n: 3,
}
_MOST_CHUNKS = 1 << 40
_GUESSES = 12


def best_num_chunks(world_size: int, nbytes: float, alpha: float, beta: float) -> int:
    """Return the k that makes a chain of n ranks, cut into k chunks, fastest: exactly.

    T(k) = (n-2+k)(alpha + S beta/k) = (n-2) alpha + S beta + k alpha + (n-2) S beta/k. One chunk
    more pays an alpha more and saves (n-2) S beta / (k(k+1)), so the best k is the first with
    k(k+1) >= (n-2) S beta/alpha. The real-valued optimum is sqrt((n-2) S beta/alpha), where
    T = (sqrt((n-2) alpha) + sqrt(S beta))^2. Of two equal ones the smaller is returned; no chunk is
    smaller than a byte.

    Raises:
        ValueError: n below 1, a negative size, alpha or beta.

    >>> best_num_chunks(6, 48_000_000, alpha=4e-6, beta=4e-11)
    44
    """
    check_whole("world_size", world_size)
    whole = exact_bytes(nbytes)
    alpha, beta = check_seconds("alpha", alpha), check_seconds("beta", beta)
    most = max(1, math.floor(whole))
    saved = max(world_size - 2, 0) * whole * Fraction(beta)
    if saved == 0:
        return 1
    if alpha == 0:
        return most
    ratio = saved / Fraction(alpha)
    k = max(1, math.isqrt(math.floor(ratio)))
    while k > 1 and (k - 1) * k >= ratio:
        k -= 1
    while k * (k + 1) < ratio:
        k += 1
    return min(k, most)


def best_chunks_of(
    collective: str,
    algorithm: str,
    *,
    world_size: int,
    nbytes: float,
    topology: Topology,
    **parameters: Unpack[Parameters],
) -> int | None:
    """Return the number of chunks with which a pipelined algorithm is fastest; None if it has none.

    A chain of n ranks takes n - 2 + k steps and a switch k + 1, as a chain of three ranks does, so
    in a uniform network `best_num_chunks` is exact. Otherwise prices are searched. As soon as all
    messages of a pipeline overlap, a step costs the largest of some a + b/k and there are k + c
    steps; such a sum bends upwards only, so what no neighbor beats is the least. While messages do
    not all overlap (few chunks) the price may bend otherwise, and a better number may be missed.

    Raises:
        ValueError: as `price`.
    """
    contract(collective)
    check_topology(topology, world_size)
    asked = {name: value for name, value in parameters.items() if name != "num_chunks"}
    plan = plan_of(collective, algorithm, world_size, asked, priced=True)
    if "num_chunks" not in plan.entry.parameters:
        return None
    hops = _AS_A_CHAIN.get((collective, algorithm))
    if hops and topology.is_uniform and plan.num_switches <= 1:
        # a chain adds what every hop brings; a switch adds all of S, however it is cut
        added = topology.gamma if (collective, algorithm) == ("reduce", "chain") else 0.0
        beta = topology.beta + added
        return best_num_chunks(hops(world_size), nbytes, topology.alpha, beta)
    usual = plan.num_chunks
    options = plan.parameters | {"num_chunks": usual + 1}
    multiple = usual if plan.entry.refuse(world_size, **options) else 1
    known: dict[int, float] = {}

    def seconds(k: int) -> float:
        if k not in known:
            options = {**asked, "num_chunks": k * multiple}
            known[k] = price(
                collective,
                algorithm,
                world_size=world_size,
                nbytes=nbytes,
                topology=topology,
                **options,  # type: ignore[arg-type]
            ).seconds
        return known[k]

    most = min(_MOST_CHUNKS, math.floor(exact_bytes(nbytes))) // multiple
    return _least(seconds, max(1, most)) * multiple


def _least(seconds: Callable[[int], float], most: int) -> int:
    """Return the k in 1 .. most with the least price, if the price only bends upwards.

    While every step of a pipeline has the same bottleneck, the price is A + B k + C/k, so three
    prices tell where the least must lie. That guess is improved until it stands still, and kept if
    both its neighbors cost more; otherwise the interval around it is narrowed down.
    """
    known = {k: seconds(k) for k in {1, min(8, most), min(64, most)}}
    for _ in range(_GUESSES):
        best = min(known, key=lambda k: (known[k], k))
        near = sorted(known, key=lambda k: abs(math.log(k / best)))[:3]
        guess = max(1, best // 8, min(_bottom(known, near), 8 * best, most))
        if guess in known:
            break
        known[guess] = seconds(guess)
    best = min(known, key=lambda k: (known[k], k))
    for k in (best - 1, best + 1):
        if 1 <= k <= most:
            known[k] = seconds(k)
    low = max((k for k in known if k < best and known[k] >= known[best]), default=1)
    high = min((k for k in known if k > best and known[k] > known[best]), default=most)
    while high - low > 2:  # noqa: PLR2004 - three are compared below
        third = (high - low) // 3
        left, right = low + third, high - third
        if seconds(left) <= seconds(right):
            high = right
        else:
            low = left
    return min(range(low, high + 1), key=seconds)


def _bottom(known: Mapping[int, float], near: Sequence[int]) -> int:
    """Return where A + B k + C/k through three known prices is least; 0 or huge if nowhere."""
    if len(near) < 3:  # noqa: PLR2004 - three unknowns
        return near[0]
    (k, at), (left, at_left), (right, at_right) = ((k, known[k]) for k in near)
    # each difference to the first is B (x - k) + C (1/x - 1/k) = (x - k) (B - C / (k x))
    slopes = [(at_left - at) / (left - k), (at_right - at) / (right - k)]
    rise = (slopes[1] - slopes[0]) / (1 / (k * left) - 1 / (k * right))
    line = slopes[0] + rise / (k * left)
    if rise <= 0:
        return 0
    return round(math.sqrt(rise / line)) if line > 0 else _MOST_CHUNKS
