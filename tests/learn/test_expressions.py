"""The small language of the manifest, and what it refuses."""

from __future__ import annotations

import pytest

from allranks.learn.expressions import ExpressionError, evaluate, fill


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ceil_lg(n) * S", 30),
        ("n - 2 + k if n > 1 else 0", 7),
        ("-n % 4", 2),
        ("kind == 'missing' and not right", True),
        ("kind in ('a', 'missing') or 1 / 0", True),
        ("root is None", True),
        ("max(n, k) // 2", 3),
        ("ops == ['copy']", True),
    ],
)
def test_an_expression_has_the_value_python_gives_it(text, value):
    facts = {
        "n": 6,
        "S": 10,
        "k": 3,
        "kind": "missing",
        "right": False,
        "root": None,
        "ops": ["copy"],
    }
    assert evaluate(text, facts) == value


@pytest.mark.parametrize(
    "text",
    [
        "n.real",
        "n[0]",
        "open('x')",
        "(lambda: 1)()",
        "[x for x in n]",
        "f'{n}'",
        "n :=",
        "m",
        "n = 1",
    ],
)
def test_anything_else_is_refused_and_quoted(text):
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, {"n": 6})
    assert repr(text) in str(caught.value)


def test_a_template_is_filled_with_values_as_people_write_them():
    assert fill("{n} ranks, {x} %, {y} B", {"n": 5, "x": 12.3456, "y": 48e6}) == (
        "5 ranks, 12.3 %, 48000000 B"
    )
