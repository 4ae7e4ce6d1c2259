"""Numbers that prose quotes from the engine: `expression | format`, evaluated when the book is built.

A chapter writes {engine}`cost("broadcast", "chain", n=6, S=48e6).seconds | us` and the page says
"9620 us". The expressions are Python with the functions of this file; they are the authors' own
text, as trusted as the code cells beside them. A name that is wrong fails the build.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from allranks.algorithms import ALGORITHMS, build
from allranks.cost import Cost, best_num_chunks, bytes_per_rank
from allranks.cost import cost as cost_of
from allranks.cost import lower_bound as bound_of
from allranks.cost import price as price_of
from allranks.errors import unknown_name
from allranks.schedule import Schedule
from allranks.topology import Topology

_SMALLEST_S, _LARGEST_S = 1.0, 1e12


def quote(text: str) -> str:
    """Return what the page says for `expression | format`.

    Raises:
        ValueError: an expression that cannot be evaluated, or an unknown format.

    >>> quote('steps("broadcast", "binomial", n=6) | int')
    '3'
    >>> quote('cost("broadcast", "chain", n=6, S=48e6).seconds | us')
    '9620 us'
    """
    expression, bar, form = text.rpartition("|")
    form = form.strip()
    if not bar or form not in FORMATS:
        message = unknown_name("format", form, FORMATS)
        raise ValueError(f"{text!r}: {message}; write: expression | format")
    try:
        value = eval(expression, {"__builtins__": {}}, dict(NAMES))  # noqa: S307 - authors' text
    except Exception as error:
        message = f"{expression.strip()!r} cannot be evaluated: {error}"
        raise ValueError(message) from error
    return FORMATS[form](value)


def machine(name: str, n: int = 2) -> Topology:
    """Return a machine by name: `machine("bench").alpha`."""
    return Topology.preset(name, n)


def schedule(
    collective: str,
    algorithm: str,
    *,
    n: int,
    root: int | None = None,
    chunks: int | None = None,
) -> Schedule:
    """Return the schedule of an algorithm on n ranks."""
    return build(collective, algorithm, world_size=n, root=root, num_chunks=chunks)


def cost(  # noqa: PLR0913 - what prose may ask for
    collective: str,
    algorithm: str,
    *,
    n: int,
    S: float,  # noqa: N803 - the book's own symbol
    root: int | None = None,
    chunks: int | None = None,
    machine: str = "bench",
    clock: str = "lockstep",
) -> Cost:
    """Return the price of an algorithm for a vector of S bytes."""
    made = schedule(collective, algorithm, n=n, root=root, chunks=chunks)
    return cost_of(made, nbytes=S, topology=Topology.preset(machine, n), clock=clock)


def steps(
    collective: str,
    algorithm: str,
    *,
    n: int,
    root: int | None = None,
    chunks: int | None = None,
) -> int:
    """Return the number of steps."""
    return len(schedule(collective, algorithm, n=n, root=root, chunks=chunks).steps)


def bytes_out(  # noqa: PLR0913 - what prose may ask for
    collective: str,
    algorithm: str,
    *,
    n: int,
    S: float,  # noqa: N803
    rank: int | str = "busiest",
    root: int | None = None,
    chunks: int | None = None,
) -> float:
    """Return the bytes that a rank sends; by default those of the rank that sends most."""
    made = schedule(collective, algorithm, n=n, root=root, chunks=chunks)
    sent = [traffic[0] for traffic in bytes_per_rank(made, S)]
    return max(sent) if isinstance(rank, str) else sent[rank]


def best_k(n: int, S: float, machine: str = "bench") -> int:  # noqa: N803
    """Return the best number of chunks of a pipelined chain."""
    topology = Topology.preset(machine, n)
    return best_num_chunks(n, S, topology.alpha, topology.beta)


def lower_bound(collective: str, *, n: int, S: float, machine: str = "bench") -> float:  # noqa: N803
    """Return the seconds that no algorithm of sends and receives can beat."""
    return bound_of(collective, n, S, Topology.preset(machine, n))


def crossover(  # noqa: PLR0913 - what prose may ask for
    collective: str,
    small: str,
    large: str,
    *,
    n: int,
    machine: str = "bench",
    above: float = _SMALLEST_S,
) -> float:
    """Return the S in bytes at which `large` becomes as fast as `small`, which wins below it.

    A chain that may choose uses its best number of chunks at every size; `chain:1` does not choose.
    Only sizes from `above` on are searched: two curves may meet more than once.

    Raises:
        ValueError: the two do not change places exactly as said.
    """
    topology = Topology.preset(machine, n)

    def ahead(nbytes: float) -> float:
        first, second = (
            _fastest(collective, name, n, nbytes, topology) for name in (small, large)
        )
        return second - first

    low, high = above, _LARGEST_S
    if not ahead(low) > 0 > ahead(high):
        message = f"{small} and {large} do not change places between {low:g} and {high:g} bytes"
        raise ValueError(message)
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if ahead(middle) > 0 else (low, middle)
    return high


def _fastest(collective: str, name: str, n: int, nbytes: float, topology: Topology) -> float:
    algorithm, _, number = name.partition(":")
    chunks = int(number) if number else None
    if not number and "num_chunks" in ALGORITHMS[collective, algorithm].parameters:
        chunks = best_num_chunks(n, nbytes, topology.alpha, topology.beta)
    return price_of(
        collective,
        algorithm,
        world_size=n,
        nbytes=nbytes,
        topology=topology,
        num_chunks=chunks,
    ).seconds


def _number(value: float, digits: int) -> str:
    """Return a number with at most so many decimals, thousands apart, no trailing zeros.

    >>> _number(2286.5, 1), _number(9620.0, 1), _number(131072.0, 1)
    ('2286.5', '9620', '131,072')
    """
    text = f"{value:,.{digits}f}" if abs(value) >= 1e4 else f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _unit(scale: float, unit: str, digits: int) -> Callable[[float], str]:
    return lambda value: f"{_number(value / scale, digits)} {unit}"


def _whole(value: float) -> str:
    if value != int(value):
        message = f"{value!r} is not a whole number"
        raise ValueError(message)
    return f"{int(value):,}"


FORMATS: Mapping[str, Callable[[Any], str]] = {
    "us": _unit(1e-6, "us", 2),
    "ms": _unit(1e-3, "ms", 3),
    "s": _unit(1, "s", 3),
    "B": _unit(1, "B", 0),
    "KB": _unit(1e3, "kB", 1),
    "MB": _unit(1e6, "MB", 2),
    "GBps": _unit(1e9, "GB/s", 2),
    "int": _whole,
    "f1": lambda value: f"{value:.1f}",
    "f2": lambda value: f"{value:.2f}",
    "pct": lambda value: f"{_number(100 * value, 1)} %",
    "x": lambda value: f"{_number(value, 2)}x",
    "text": str,
}

NAMES: Mapping[str, Any] = {
    "machine": machine,
    "schedule": schedule,
    "cost": cost,
    "price": cost,
    "steps": steps,
    "bytes_out": bytes_out,
    "best_k": best_k,
    "lower_bound": lower_bound,
    "crossover": crossover,
    "sqrt": math.sqrt,
    "log2": math.log2,
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
    "sum": sum,
    "range": range,
}
