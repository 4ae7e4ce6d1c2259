"""The numbers in the text: an expression over the engine, and how its value is written.

`{engine}`cost("broadcast", "binomial", n=6, S=48e6).seconds | us`` is evaluated when the book is
built. An unknown name, a wrong argument or a value that its format cannot show is an error, so a
sentence cannot disagree with the engine.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from allranks.algorithms import build
from allranks.collectives import contract
from allranks.cost import LOCKSTEP, Bandwidth, Cost, best_num_chunks, bytes_per_rank
from allranks.cost import busbw as busbw_of
from allranks.cost import cost as cost_of
from allranks.cost import lower_bound as bound_of
from allranks.cost import price as price_of
from allranks.errors import CollectiveError
from allranks.published import AllReducePoint
from allranks.schedule import Schedule
from allranks.simulate import layout, simulate
from allranks.topology import Topology
from allranks.units import parse_bandwidth, parse_bytes
from allranks.view.fit import MACHINES, best_fit
from allranks.view.ports import best_pieces as best_pieces_of
from allranks.view.ports import plan_price

NO_BREAK = "\u00a0"
LARGEST_S = 1e12
GROUPED = 10_000


class NumberError(ValueError):
    """A number of the text cannot be computed or cannot be written as asked."""


def evaluate(text: str) -> str:
    r"""Return what stands in the text for `expression | format`.

    Raises:
        NumberError: no format, an unknown one, an expression that fails, or a value that does not
            suit the format; the message names the expression.

    >>> evaluate('steps("broadcast", "binomial", n=6) | int')
    '3'
    >>> evaluate('cost("broadcast", "chain", n=6, S=48e6, chunks=44).seconds | us')
    '2286.5\xa0µs'
    """
    expression, bar, name = text.rpartition("|")
    expression, name = expression.strip(), name.strip()
    if not bar or name not in FORMATS:
        message = f"{text!r}: end with a format, one of {', '.join(FORMATS)}, as in `... | us`"
        raise NumberError(message)
    _check_is_computed(expression)
    try:
        # The expression is part of the book's own source, as its code cells are.
        value = eval(expression, {"__builtins__": {}, **NAMES})  # noqa: S307
    except (ArithmeticError, AttributeError, LookupError, NameError, SyntaxError) as error:
        message = f"{expression!r}: {type(error).__name__}: {error}"
        raise NumberError(message) from error
    except (CollectiveError, TypeError, ValueError) as error:
        message = f"{expression!r}: {error}"
        raise NumberError(message) from error
    try:
        return written(value, name)
    except NumberError as error:
        message = f"{expression!r}: {error}"
        raise NumberError(message) from error


def written(value: Any, name: str) -> str:  # noqa: ANN401 - whatever an expression gives
    r"""Return a value as the format of this name writes it.

    Raises:
        NumberError: the value does not suit the format.

    >>> written(0.184, "pct")
    '18.4\xa0%'
    """
    if name == "text":
        if not isinstance(value, str | int | float | list | tuple):
            message = f"is {value!r}, which is neither text nor a number"
            raise NumberError(message)
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        message = f"is {value!r}, which is no finite number; write `| text`"
        raise NumberError(message)
    return FORMATS[name](value)


def _check_is_computed(expression: str) -> None:
    """Refuse an expression that the engine has no part in, whole or in one of its operands.

    `cost(...).seconds / 2` is computed; `42`, `1 + 1 / 2` and `steps(...) + 6 * 7` are typed.
    """
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        message = f"{expression!r}: {type(error).__name__}: {error}"
        raise NumberError(message) from error
    for node in ast.walk(tree):
        private = isinstance(node, ast.Attribute) and node.attr.startswith("_")
        indirect = isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)
        if not isinstance(node, COMPUTING) or private or indirect:
            message = (
                f"{expression!r}: {ast.unparse(node)!r} is more than a call of the engine with "
                "arithmetic; compute it in the engine, or in a cell"
            )
            raise NumberError(message)
    typed = next(_typed(tree), None)
    if typed is not None:
        message = (
            f"{expression!r}: {ast.unparse(typed)!r} has no call of the engine in it, so nothing "
            f"computes it; call one of {', '.join(sorted(set(NAMES) - ARITHMETIC))}, or mark what "
            "is true by definition with {given}"
        )
        raise NumberError(message)


def _typed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of an expression that only write down what was known before.

    A number beside a computed one scales it (`2 * steps(...)`), and 1 turns a ratio into a share
    (`1 - a / b`); a term of numbers alone is a result worked out by hand.
    """
    if not _asks_the_engine(node):
        yield node
        return
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            parts: list[ast.AST] = [left, right]
            yield from (
                each for each in parts if isinstance(each, ast.Constant) and each.value != 1
            )
        case ast.BinOp(left=left, right=right):
            parts = [each for each in (left, right) if _asks_the_engine(each)]
        case ast.UnaryOp(operand=operand):
            parts = [operand]
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            yield from (each for each in elements if not _asks_the_engine(each))
            parts = list(elements)
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            parts = [value]
        case _:
            parts = []
    for part in parts:
        if not isinstance(part, ast.Constant):
            yield from _typed(part)


def _asks_the_engine(node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.Call)
        and isinstance(each.func, ast.Name)
        and each.func.id not in ARITHMETIC
        for each in ast.walk(node)
    )


def schedule(
    collective: str, algorithm: str, *, n: int, root: int | None = None, chunks: int | None = None
) -> Schedule:
    """Return the schedule that the other functions price."""
    return build(collective, algorithm, world_size=n, root=root, num_chunks=chunks)


def cost(  # noqa: PLR0913 - what a price depends on
    collective: str,
    algorithm: str,
    *,
    n: int,
    S: float,  # noqa: N803 - the book's symbol
    root: int | None = None,
    chunks: int | None = None,
    machine: str = "bench",
    clock: str = LOCKSTEP,
    ports: int | None = None,
) -> Cost:
    """Return the cost of S bytes on n ranks of a house machine, with its ports or as many."""
    made = schedule(collective, algorithm, n=n, root=root, chunks=chunks)
    return cost_of(made, nbytes=S, topology=_with_ports(machine, n, ports), clock=clock)


def _with_ports(machine: str, n: int, ports: int | None) -> Topology:
    made = Topology.preset(machine, n)
    return made if ports is None else replace(made, ports=ports)


def price(  # noqa: PLR0913 - what a price depends on
    collective: str,
    algorithm: str,
    *,
    n: int,
    S: float,  # noqa: N803 - the book's symbol
    root: int | None = None,
    chunks: int | None = None,
    machine: str = "bench",
) -> Cost:
    """Return the same as `cost` by the closed form, for any n."""
    return price_of(
        collective,
        algorithm,
        world_size=n,
        nbytes=S,
        root=root,
        num_chunks=chunks,
        topology=Topology.preset(machine, n),
    )


def steps(collective: str, algorithm: str, *, n: int, chunks: int | None = None) -> int:
    """Return the number of steps of a schedule."""
    return len(schedule(collective, algorithm, n=n, chunks=chunks).steps)


def bytes_out(  # noqa: PLR0913 - what the bytes depend on
    collective: str,
    algorithm: str,
    *,
    n: int,
    S: float,  # noqa: N803 - the book's symbol
    rank: int | str,
    root: int | None = None,
    chunks: int | None = None,
) -> float:
    """Return the bytes that one rank sends, or with rank="busiest" the most that any sends."""
    made = schedule(collective, algorithm, n=n, root=root, chunks=chunks)
    sent = [traffic.sent for traffic in bytes_per_rank(made, S)[:n]]
    if rank == "busiest":
        return max(sent)
    if not isinstance(rank, int) or not 0 <= rank < n:
        message = f'rank is {rank!r}; give 0 to {n - 1} or "busiest"'
        raise ValueError(message)
    return sent[rank]


def chunk_lengths(collective: str, algorithm: str, *, n: int, count: int) -> str:
    """Return how many elements each chunk of so many gets: "2, 2, 2, 1, 1"."""
    plan = layout(schedule(collective, algorithm, n=n), [np.zeros(count, dtype=int)] * n)
    spans = [plan.chunk(number) for number in range(plan.schedule.num_chunks)]
    return ", ".join(str(span.stop - span.start) for span in spans)


def contract_bytes(  # noqa: PLR0913 - what a promise depends on
    collective: str,
    when: str,
    *,
    n: int,
    S: float,  # noqa: N803 - the book's symbol
    rank: int,
    root: int | None = None,
) -> float:
    """Return the bytes that a rank has at the "start", or that are promised to it at the "end"."""
    promise = contract(collective)
    chunks = promise.pieces(n)
    size = promise.size(n, chunks, root)
    if when == "start":
        held = [bool(list(promise.starts(rank, chunk, size))) for chunk in range(chunks)]
    elif when == "end":
        held = [promise.ends(rank, chunk, size) is not None for chunk in range(chunks)]
    else:
        message = f'when is {when!r}; give "start" or "end"'
        raise ValueError(message)
    # in an all-to-all S is one rank's send buffer, and every rank has one
    whole = n * S if collective == "all_to_all" else S
    return sum(held) * whole / chunks


def lower_bound(collective: str, *, n: int, S: float, machine: str = "bench") -> float:  # noqa: N803
    """Return the seconds that no schedule of sends and receives can beat."""
    return bound_of(collective, n, S, Topology.preset(machine, n))


def filled(
    collective: str,
    algorithm: str,
    *,
    n: int,
    count: int,
    rank: int = 0,
) -> list[int]:
    """Return what a rank ends with if rank r brings 100(r + 1) + i at index i, as in figures."""
    made = schedule(collective, algorithm, n=n)
    inputs = [100 * (each + 1) + np.arange(count) for each in range(n)]
    result = simulate(made, inputs)[rank]
    return [] if result is None else [int(each) for each in result.ravel()]


def machine(name: str) -> Topology:
    """Return a house machine: its alpha, beta, bandwidth."""
    return Topology.preset(name, 1)


def nbytes(text: str) -> int:
    """Return a size as people write it, such as "1 GiB", in bytes."""
    return parse_bytes(text)


def bandwidth(text: str) -> float:
    """Return a bandwidth as people write it, such as "400 Gb/s", in bytes per second."""
    return parse_bandwidth(text)


def best_k(n: int, S: float, machine: str = "bench") -> int:  # noqa: N803 - the book's symbol
    """Return the number of segments with which a chain of n ranks is fastest."""
    made = Topology.preset(machine, n)
    return best_num_chunks(n, S, made.alpha, made.beta)


def best_pieces(algorithm: str, *, n: int, S: float, machine: str = "bench") -> int:  # noqa: N803
    """Return the number of pieces with which a plan with a switch, sharp or nvls, is fastest."""
    return best_pieces_of(algorithm, S, Topology.preset(machine, n))


def plan(
    algorithm: str,
    *,
    n: int,
    S: float,  # noqa: N803 - the book's symbol
    k: int | None = None,
    machine: str = "bench",
) -> Cost:
    """Return the price of an all-reduce by ring, sharp or nvls, in k pieces: of None, the best."""
    made = Topology.preset(machine, n)
    pieces = None if algorithm == "ring" else k or best_pieces_of(algorithm, S, made)
    return plan_price(algorithm, pieces, S, made)


def gain(n: int, algorithm: str = "nvls", collective: str = "all_reduce") -> float:
    """Return how many times less passes the busiest port of a rank than in a ring."""

    def busiest(name: str) -> float:
        paid = price(collective, name, n=n, S=1e6 * n)
        return max(paid.bytes_sent_max, paid.bytes_received_max)

    return busiest("ring") / busiest(algorithm)


def published(machine: str, n: int) -> AllReducePoint:
    """Return what was published for n GPUs of a machine, H200 or B200: its busbw, with its gain."""
    return MACHINES[machine].point(n)


def busbw(collective: str, *, n: int, S: float, seconds: float) -> Bandwidth:  # noqa: N803
    """Return algbw and busbw as nccl-tests define them."""
    return busbw_of(collective, world_size=n, nbytes=S, seconds=seconds)


def crossover(  # noqa: PLR0913 - what the border depends on
    collective: str,
    first: str,
    second: str,
    *,
    n: int,
    machine: str = "bench",
    above: float = 1.0,
) -> float:
    """Return the smallest S above `above` from which `second` is faster than `first`.

    A chain takes its best number of segments at every size.

    Raises:
        ValueError: `second` does not overtake `first` between `above` and a terabyte.
    """

    def lead(nbytes: float) -> float:
        return _fastest(collective, second, n, nbytes, machine) - _fastest(
            collective, first, n, nbytes, machine
        )

    low = above
    for high in _sizes(above):
        if lead(low) >= 0 > lead(high):
            return _border(lead, low, high)
        low = high
    message = f"{second} never overtakes {first} above {above:g} bytes on {n} ranks"
    raise ValueError(message)


def _fastest(collective: str, algorithm: str, n: int, nbytes: float, name: str) -> float:
    chunks = best_k(n, nbytes, name) if algorithm == "chain" else None
    return price(collective, algorithm, n=n, S=nbytes, chunks=chunks, machine=name).seconds


def _sizes(above: float) -> Iterator[float]:
    size = above
    while size < LARGEST_S:
        size *= 2 ** (1 / 4)
        yield size


def _border(lead: Callable[[float], float], low: float, high: float) -> float:
    """Halve the interval until its ends agree in ten digits."""
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        if lead(middle) >= 0:
            low = middle
        else:
            high = middle
    return high


def _digits(value: float, most: int = 5) -> str:
    """Return up to five significant digits, without trailing zeros, grouped from 10,000 on."""
    rounded = float(f"{value:.{most}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= GROUPED else f"{rounded:.12g}"


def _in(unit: str, size: float) -> Callable[[float], str]:
    return lambda value: f"{_digits(value / size)}{NO_BREAK}{unit}"


def _whole(value: float) -> str:
    if abs(value - round(value)) > 1e-9 * max(1, abs(value)):
        message = f"{value!r} is not a whole number; write `| f1`"
        raise NumberError(message)
    return f"{round(value):,}" if abs(value) >= GROUPED else str(round(value))


ARITHMETIC = frozenset(
    (
        "abs",
        "ceil",
        "exp",
        "floor",
        "len",
        "log",
        "log2",
        "max",
        "min",
        "pi",
        "round",
        "sqrt",
        "sum",
    )
)
"""What a page may do to the numbers that the engine computes; every other name is the engine's."""
COMPUTING = (
    *(ast.Attribute, ast.BinOp, ast.Call, ast.Constant, ast.List, ast.Name, ast.Slice),
    *(ast.Subscript, ast.Tuple, ast.UnaryOp),
    *(ast.keyword, ast.operator, ast.unaryop, ast.expr_context),
)
"""The parts of which an expression may be made."""

FORMATS: dict[str, Callable[[float], str]] = {
    "us": _in("µs", 1e-6),
    "ms": _in("ms", 1e-3),
    "s": _in("s", 1),
    "MB": _in("MB", 1e6),
    "KB": _in("kB", 1e3),
    "B": lambda value: f"{_whole(value)}{NO_BREAK}B",
    "GBps": _in("GB/s", 1e9),
    "GiBps": _in("GiB/s", 2**30),
    "int": _whole,
    "f1": lambda value: f"{value:.1f}",
    "f2": lambda value: f"{value:.2f}",
    "f3": lambda value: f"{value:.3f}",
    "pct": lambda value: f"{_digits(100 * value, 3)}{NO_BREAK}%",
    "x": lambda value: f"{_digits(value, 3)}×",
    "text": str,
}

NAMES: dict[str, Any] = {
    "bandwidth": bandwidth,
    "best_fit": best_fit,
    "best_k": best_k,
    "best_pieces": best_pieces,
    "busbw": busbw,
    "bytes_out": bytes_out,
    "chunk_lengths": chunk_lengths,
    "contract_bytes": contract_bytes,
    "cost": cost,
    "crossover": crossover,
    "filled": filled,
    "gain": gain,
    "lower_bound": lower_bound,
    "machine": machine,
    "nbytes": nbytes,
    "plan": plan,
    "price": price,
    "published": published,
    "schedule": schedule,
    "steps": steps,
    "abs": abs,
    "len": len,
    "max": max,
    "min": min,
    "round": round,
    "sum": sum,
    **{name: getattr(math, name) for name in ("ceil", "exp", "floor", "log", "log2", "pi", "sqrt")},
}
