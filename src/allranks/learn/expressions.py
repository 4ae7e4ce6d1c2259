"""The small language of the manifest: arithmetic and comparisons over named facts.

A target such as `ceil_lg(n) * S` and a condition such as `kind == "not_held" and root != 0` stand
in exercises.toml as text. They are Python expressions without attributes, indexing and statements.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


def ceil_lg(n: int) -> int:
    """Return the smallest L with 2^L >= n: the doublings that reach n ranks.

    >>> [ceil_lg(n) for n in (1, 2, 3, 8, 9)]
    [0, 1, 2, 3, 4]
    """
    return (n - 1).bit_length()


def count(number: int, word: str) -> str:
    """Return a number with its word in the right form.

    >>> count(1, "step"), count(3, "step")
    ('1 step', '3 steps')
    """
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "ceil_lg": ceil_lg,
    "count": count,
    "floor": math.floor,
    "max": max,
    "min": min,
    "round": round,
}


class ExpressionError(ValueError):
    """An expression of the manifest is not in the small language, or names an unknown fact."""


def evaluate(text: str, facts: Mapping[str, Any]) -> Any:  # noqa: ANN401 - numbers, text or truth
    """Return the value of an expression over named facts.

    Raises:
        ExpressionError: a syntax error, an unknown name, or something outside the language.

    >>> evaluate("ceil_lg(n) * S if n > 1 else 0", {"n": 6, "S": 10})
    30
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        message = f"{text!r}: not an expression ({error.msg}); correct exercises.toml"
        raise ExpressionError(message) from error
    return _value(tree.body, text, facts)


def fill(template: str, facts: Mapping[str, Any]) -> str:
    """Return the template with every `{expression}` replaced by its value, as a person writes it.

    >>> fill("{k * (n - 1)} steps, {x} % more", {"k": 4, "n": 3, "x": 12.345})
    '8 steps, 12.3 % more'
    """
    return re.sub(r"\{([^{}]+)\}", lambda found: _shown(evaluate(found[1], facts)), template)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1e4 else f"{value:.0f}"  # noqa: PLR2004
    return str(value)


def _value(node: ast.expr, text: str, facts: Mapping[str, Any]) -> Any:  # noqa: ANN401, C901, PLR0911
    def inner(child: ast.expr) -> Any:  # noqa: ANN401
        return _value(child, text, facts)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            if name not in facts:
                message = f"{text!r}: unknown name {name!r}; known: {', '.join(sorted(facts))}"
                raise ExpressionError(message)
            return facts[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return BINARY[type(op)](inner(left), inner(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -inner(operand)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not inner(operand)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(inner(value) for value in values)
        case ast.BoolOp(values=values):
            return any(inner(value) for value in values)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
            return COMPARE[type(op)](inner(left), inner(right))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return inner(body) if inner(test) else inner(orelse)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*map(inner, args))
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return [inner(element) for element in elements]
    message = f"{text!r}: {ast.unparse(node)!r} is outside the language of exercises.toml"
    raise ExpressionError(message)
