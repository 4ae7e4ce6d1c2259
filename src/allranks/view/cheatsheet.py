"""The cheat sheet: what each algorithm costs, as formulas that the tests hold against the engine.

A formula is one expression in n (ranks), L (ceil lg n), k (chunks), N and g (nodes, ranks in each).
What is printed and what is tested is the same text: `latex` typesets it, `value` computes it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import NamedTuple

from allranks.algorithms import ALGORITHMS
from allranks.cost import best_num_chunks, price
from allranks.topology import Topology
from allranks.view.names import words

ANY, EVEN, POWER = "any", "even", "2^m"


class Row(NamedTuple):
    """One algorithm: steps, alphas paid on one port, then bytes and time in units of S and S beta.

    `busiest` is the most that a rank sends or receives. `ranks` says for which n the algorithm
    exists, `formula_ranks` for which n these formulas hold; `note` is what the table adds.
    """

    collective: str
    algorithm: str
    steps: str
    busiest: str
    alphas: str
    betas: str
    ranks: str = ANY
    formula_ranks: str = ANY
    note: str = ""


RING = ("(n-1)/n", "n-1", "(n-1)/n")
FOLD = "formulas for $2^m$; other $n$: $\\lfloor\\lg n\\rfloor+2$ steps"
FOLD_TWICE = "formulas for $2^m$; other $n$: $2\\lfloor\\lg n\\rfloor+2$ steps"
SLICED = "in $k \\ge 3$ slices; the switch adds"
ROWS = (
    Row("broadcast", "flat", "n-1", "n-1", "n-1", "n-1"),
    Row("broadcast", "chain", "n-2+k", "1", "n-2+k", "(n-2+k)/k", note="in k segments"),
    Row("broadcast", "binomial", "L", "L", "L", "L"),
    Row("broadcast", "scatter_all_gather", "L+n-1", "2*(n-1)/n", "L+n-1", "2*(n-1)/n"),
    Row("reduce", "flat", "n-1", "n-1", "n-1", "n-1"),
    Row("reduce", "chain", "n-2+k", "1", "n-2+k", "(n-2+k)/k", note="in k segments"),
    Row("reduce", "binomial", "L", "L", "L", "L"),
    Row("scatter", "flat", "n-1", *RING),
    Row("scatter", "binomial", "L", "(n-1)/n", "L", "(n-1)/n"),
    Row("gather", "flat", "n-1", *RING),
    Row("gather", "binomial", "L", "(n-1)/n", "L", "(n-1)/n"),
    Row("all_gather", "ring", "n-1", *RING),
    Row("all_gather", "neighbor_exchange", "n/2", "(n-1)/n", "n/2", "(n-1)/n", EVEN, EVEN),
    Row("all_gather", "recursive_doubling", "L", "(n-1)/n", "L", "(n-1)/n", POWER, POWER),
    Row("all_gather", "bruck", "L", "(n-1)/n", "L", "(n-1)/n"),
    Row(
        "all_gather",
        "pat",
        "L",
        "(n-1)/n",
        "L",
        "(n-1)/n",
        ANY,
        POWER,
        "$L+1$ for $n = 2^m+1$, $m \\ge 2$",
    ),
    Row("all_gather", "direct", "1", *RING),
    Row("reduce_scatter", "ring", "n-1", *RING),
    Row("reduce_scatter", "recursive_halving", "L", "(n-1)/n", "L", "(n-1)/n", ANY, POWER, FOLD),
    Row(
        "reduce_scatter",
        "pat",
        "L",
        "(n-1)/n",
        "L",
        "(n-1)/n",
        ANY,
        POWER,
        "$L+1$ for $n = 2^m+1$, $m \\ge 2$",
    ),
    Row("reduce_scatter", "direct", "1", *RING),
    Row("all_reduce", "flat", "2*(n-1)", "n-1", "2*(n-1)", "2*(n-1)"),
    Row("all_reduce", "unchunked_ring", "n-1", "n-1", "n-1", "n-1"),
    Row("all_reduce", "ring", "2*(n-1)", "2*(n-1)/n", "2*(n-1)", "2*(n-1)/n"),
    Row("all_reduce", "binomial", "2*L", "L", "2*L", "2*L"),
    Row("all_reduce", "recursive_doubling", "L", "L", "L", "L", ANY, POWER, FOLD),
    Row(
        *("all_reduce", "rabenseifner", "2*L", "2*(n-1)/n", "2*L", "2*(n-1)/n"),
        *(ANY, POWER, FOLD_TWICE),
    ),
    Row("all_reduce", "direct", "2", "2*(n-1)/n", "2*(n-1)", "2*(n-1)/n"),
    Row("all_reduce", "one_shot", "1", "n-1", "n-1", "n-1"),
    Row("all_reduce", "sharp", "k+1", "1", "k+1", "(k+1)/k", note="in k pieces; one switch adds"),
    Row(
        *("all_reduce", "nvls", "k+3", "1+1/n", "k+3", "(k+3)/k+(k-1)/(n*k)"),
        note=SLICED,
    ),
    Row("all_to_all", "pairwise", "n-1", *RING),
    Row("all_to_all", "bruck", "L", "L/2", "L", "L/2", ANY, POWER, "formulas for $2^m$"),
)
"""The algorithms of the sheet. What is only useful on special machines is left to the chapters."""

BUSBW = {
    "all_reduce": "2*(n-1)/n",
    "all_gather": "(n-1)/n",
    "reduce_scatter": "(n-1)/n",
    "all_to_all": "(n-1)/n",
    "gather": "(n-1)/n",
    "scatter": "(n-1)/n",
    "broadcast": "1",
    "reduce": "1",
}
"""bus bandwidth = size / time times this, as nccl-tests prints it."""

CHART_RANKS = (6, 64)
CHART_SIZES = (1e3, 1e5, 1e7, 1e9)
SPECIAL = {"nvls", "sharp", "hierarchical", "unchunked_ring"}


def value(formula: str, *, n: int, k: int = 1) -> float:
    """Return what a formula is worth.

    >>> value("2*(n-1)/n", n=4)
    1.5
    """
    names = {"n": n, "L": math.ceil(math.log2(n)), "k": k}
    return _number(ast.parse(formula, mode="eval").body, names)


def _number(node: ast.expr, names: dict[str, int]) -> float:
    match node:
        case ast.Name(id=name):
            return names[name]
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _number(left, names) + _number(right, names)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _number(left, names) - _number(right, names)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _number(left, names) * _number(right, names)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _number(left, names) / _number(right, names)
    message = f"formula {ast.unparse(node)!r}: only + - * / of names and whole numbers"
    raise ValueError(message)


def latex(formula: str, unit: str = "") -> str:
    r"""Return a formula as LaTeX, times a unit if one is given.

    >>> latex("2*(n-1)/n", "S")
    '2\\frac{n-1}{n}S'
    >>> latex("n-2+k", r"\alpha"), latex("1", "S")
    ('(n-2+k)\\alpha', 'S')
    """
    tree = ast.parse(formula, mode="eval").body
    if unit and isinstance(tree, ast.Constant) and tree.value == 1:
        return unit
    typeset = _typeset(tree)
    is_sum = isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add | ast.Sub)
    return f"({typeset}){unit}" if unit and is_sum else f"{typeset}{unit}"


def _typeset(node: ast.expr) -> str:
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mult):
                return rf"{_typeset(left.left)}\frac{{{_typeset(left.right)}}}{{{_typeset(right)}}}"
            return rf"\frac{{{_typeset(left)}}}{{{_typeset(right)}}}"
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            inner = _typeset(right)
            return (
                f"{_typeset(left)}({inner})"
                if isinstance(right, ast.BinOp)
                else (f"{_typeset(left)}{inner}")
            )
        case ast.BinOp(left=left, op=op, right=right):
            return f"{_typeset(left)}{'+' if isinstance(op, ast.Add) else '-'}{_typeset(right)}"
    return ast.unparse(node)


def table(name: str) -> str:
    """Return a table of the sheet in Markdown: "algorithms", "busbw" or "fastest".

    Raises:
        ValueError: there is no such table.
    """
    tables = {"algorithms": _algorithms, "busbw": _busbw, "fastest": _fastest}
    if name not in tables:
        message = f"cheat-sheet: unknown table {name!r}; known: {', '.join(tables)}"
        raise ValueError(message)
    return "\n".join(tables[name]())


def _algorithms() -> Iterator[str]:
    yield "| collective | algorithm | steps | busiest rank | time | which n |"
    yield "|---|---|---|---|---|---|"
    before = ""
    for row in ROWS:
        alphas, betas = latex(row.alphas, r"\alpha"), latex(row.betas, r"S\beta")
        which = {ANY: "any", EVEN: "even", POWER: "$2^m$"}[row.ranks]
        remark = f"{which}; {row.note}" if row.note else which
        shown = words(row.collective) if row.collective != before else ""
        before = row.collective
        yield (
            f"| {shown} | {words(row.algorithm)} | ${latex(row.steps)}$ "
            f"| ${latex(row.busiest, 'S')}$ | ${alphas} + {betas}$ | {remark} |"
        )


def _busbw() -> Iterator[str]:
    yield "| collective | bus bandwidth is size / time times |"
    yield "|---|---|"
    for collective, factor in BUSBW.items():
        yield f"| {words(collective)} | ${latex(factor)}$ |"


def _fastest() -> Iterator[str]:
    heads = [f"n = {n}, {_size(size)}" for n in CHART_RANKS for size in CHART_SIZES]
    yield "| collective | " + " | ".join(heads) + " |"
    yield "|---" * (len(heads) + 1) + "|"
    for collective in dict.fromkeys(row.collective for row in ROWS):
        cells = [fastest(collective, n, size) for n in CHART_RANKS for size in CHART_SIZES]
        yield f"| {words(collective)} | " + " | ".join(words(cell) for cell in cells) + " |"


def fastest(collective: str, n: int, nbytes: float, machine: str = "bench") -> str:
    """Return the first algorithm of the sheet that none is faster than on a machine.

    Chains take their best number of chunks; plans that need switches that add are left out. Of
    several that are equally fast, one that exists for any n goes first.
    """
    topology = Topology.preset(machine, n)
    times = {}
    for row in sorted(ROWS, key=lambda row: row.ranks != ANY):
        if row.collective != collective or row.algorithm in SPECIAL:
            continue
        if ALGORITHMS[collective, row.algorithm].refuse(n):
            continue
        k = best_num_chunks(n, nbytes, topology.alpha, topology.beta)
        times[row.algorithm] = price(
            collective,
            row.algorithm,
            world_size=n,
            nbytes=nbytes,
            num_chunks=k if row.algorithm == "chain" else None,
            topology=topology,
        ).seconds
    least = min(times.values())
    return next(name for name, seconds in times.items() if seconds <= least * (1 + 1e-9))


def _size(nbytes: float) -> str:
    for factor, unit in ((1e9, "GB"), (1e6, "MB")):
        if nbytes >= factor:
            return f"{nbytes / factor:g} {unit}"
    return f"{nbytes / 1e3:g} kB"
