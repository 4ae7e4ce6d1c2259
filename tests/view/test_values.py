"""Numbers of the text and formulas: what is written, and what is refused."""

from __future__ import annotations

import pytest

from allranks.view.mathml import MathError, mathml
from allranks.view.values import NAMES, NumberError, crossover, evaluate, written

NB = "\u00a0"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('cost("broadcast", "flat", n=6, S=48e6).seconds | us', f"9620{NB}µs"),
        ('cost("broadcast", "flat", n=6, S=48e6).seconds | ms', f"9.62{NB}ms"),
        ('price("broadcast", "chain", n=6, S=48e6, chunks=44).seconds | us', f"2286.5{NB}µs"),
        ('bytes_out("broadcast", "flat", n=6, S=48e6, rank="busiest") | MB', f"240{NB}MB"),
        ('bytes_out("broadcast", "flat", n=6, S=48e6, rank=1) | B', f"0{NB}B"),
        ('bytes_out("broadcast", "flat", n=6, S=48e6, root=2, rank=2) | MB', f"240{NB}MB"),
        ('1 / machine("bench").beta | GBps', f"25{NB}GB/s"),
        ('best_k(6, 48e6, "bench") | int', "44"),
        ('lower_bound("broadcast", n=6, S=48e6) | us', f"1932{NB}µs"),
        ('crossover("broadcast", "binomial", "scatter_all_gather", n=6) | KB', f"375{NB}kB"),
        ('crossover("broadcast", "scatter_all_gather", "chain", n=6) | MB', f"2.25{NB}MB"),
        (
            'cost("all_gather", "bidirectional_ring", n=6, S=48e6, ports=2).seconds | us',
            f"972{NB}µs",
        ),
        ('filled("all_reduce", "ring", n=4, count=8)[3] | int', "1012"),
        ('filled("reduce_scatter", "ring", n=4, count=4, rank=2) | text', "[1008]"),
        ('bandwidth("400 Gb/s") | GBps', f"50{NB}GB/s"),
        ('1 - steps("broadcast", "flat", n=6) / 10 | f1', "0.5"),
        ('-steps("broadcast", "flat", n=6) + 1 | int', "-4"),
        ('sqrt(4 * 48e6 * machine("bench").beta / machine("bench").alpha) | f1', "43.8"),
        ('max(steps("broadcast", "flat", n=6), 7) | int', "7"),
    ],
)
def test_a_value_is_written_as_asked(text: str, shown: str) -> None:
    assert evaluate(text) == shown


@pytest.mark.parametrize(
    ("value", "name", "shown"),
    [
        (0.184, "pct", f"18.4{NB}%"),
        (5 / 3, "x", "1.67×"),
        (2 / 3, "f2", "0.67"),
        (123456, "int", "123,456"),
        (12345.6e-6, "us", f"12,346{NB}µs"),
        ("as text", "text", "as text"),
    ],
)
def test_a_format_writes_its_values(value: float | str, name: str, shown: str) -> None:
    assert written(value, name) == shown


@pytest.mark.parametrize(
    ("value", "name", "why"),
    [
        (3 / 2, "int", "not a whole number"),
        (True, "int", "no finite number"),
        (1e999, "us", "no finite number"),
        ("x", "us", "no finite number"),
    ],
)
def test_a_format_refuses_what_it_cannot_write(value: float | str, name: str, why: str) -> None:
    with pytest.raises(NumberError, match=why):
        written(value, name)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("42 | int", "'42' has no call of the engine"),
        ("1 + 1 / 2 | f1", "has no call of the engine"),
        ("max(1, 2) | int", "has no call of the engine"),
        ("ceil(log2(6)) | int", "has no call of the engine"),
        ('"twelve" | text', "has no call of the engine"),
        ("pi | f2", "has no call of the engine"),
        ('steps("broadcast", "flat", n=6) * 0 + 42 | int', "'42' has no call"),
        ('schedule("broadcast", "flat", n=6).__class__ | text', "is more than a call"),
        ('machine("bench").alpha.hex() | text', "is more than a call"),
        ('6 * 7 + steps("broadcast", "flat", n=6) | int', "'6 \\* 7' has no call"),
        ('0 * steps("broadcast", "flat", n=6) + 6 * 7 | int', "'6 \\* 7' has no call"),
        ('(42 if steps("broadcast", "flat", n=6) else 0) | int', "more than a call"),
        ('(steps("broadcast", "flat", n=6), 42)[1] | int', "'42' has no call"),
        ('[steps("broadcast", "flat", n=k) for k in (2, 3)] | text', "more than a call"),
        ('(lambda: steps("broadcast", "flat", n=6))() | int', "more than a call"),
        ("f\"{steps('broadcast', 'flat', n=6)} and 42\" | text", "more than a call"),
    ],
)
def test_a_number_that_nothing_computes_is_refused(text: str, why: str) -> None:
    with pytest.raises(NumberError, match=why):
        evaluate(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 + 1", "end with a format"),
        ("1 | furlongs", "end with a format"),
        ('steps("broadcast", "flat", n=6) / 0 | us', "ZeroDivisionError"),
        ('nonsense(steps("broadcast", "flat", n=6)) | us', "NameError"),
        ("open('x') | text", "NameError"),
        ("1 + | int", "SyntaxError"),
        ('steps("broadcast", "flat", n=6) / 2 | int', "5.*not a whole number"),
        ('steps("broadcast", "ring", n=6) | int', "ring"),
        ('steps("broadcast", "flat", n=0) | int', "world_size"),
        ('bytes_out("broadcast", "flat", n=6, S=1, rank=6) | B', "rank is 6"),
        ('crossover("broadcast", "chain", "flat", n=6) | B', "never overtakes"),
    ],
)
def test_a_number_that_nobody_can_compute_is_refused(text: str, why: str) -> None:
    with pytest.raises(NumberError, match=why):
        evaluate(text)


def test_at_the_border_both_cost_the_same() -> None:
    border = crossover("broadcast", "binomial", "scatter_all_gather", n=6)
    for size, faster in ((border * 0.99, "binomial"), (border * 1.01, "scatter_all_gather")):
        times = {
            name: NAMES["price"]("broadcast", name, n=6, S=size).seconds
            for name in ("binomial", "scatter_all_gather")
        }
        assert min(times, key=times.__getitem__) == faster


@pytest.mark.parametrize(
    ("latex", "piece"),
    [
        (r"2\frac{n-1}{n}", "<mfrac><mrow><mi>n</mi><mo>−</mo><mn>1</mn></mrow>"),
        (r"\sqrt{S\beta}", "<msqrt>"),
        (r"\Longrightarrow", "<mo>⟹</mo>"),
        (r"\lg n", '<mi>lg</mi><mspace width="0.1667em" /><mi>n</mi>'),
        (r"\log_2 n", '<msub><mi>log</mi><mn>2</mn></msub><mspace width="0.1667em" /><mi>n</mi>'),
        (r"\bigl(x\bigr)^2", '<msup><mrow><mo stretchy="true" fence="true" form="prefix">('),
        ("a<b", "&lt;"),
    ],
)
def test_a_formula_is_typeset(latex: str, piece: str) -> None:
    assert piece in mathml(latex)
    assert 'display="block"' in mathml(latex, display=True)


@pytest.mark.parametrize("latex", [r"\nonsense{x}", r"\frac{1}", r"\frac{1", r"\sqrt{", r"\left(x"])
def test_a_formula_that_cannot_be_typeset_is_refused(latex: str) -> None:
    with pytest.raises(MathError, match="formula"):
        mathml(latex)
