"""Numbers of the text and formulas: what is written, and what is refused."""

from __future__ import annotations

import pytest

from allranks.view.mathml import MathError, mathml
from allranks.view.values import NAMES, NumberError, crossover, evaluate

NB = "\u00a0"


@pytest.mark.parametrize(
    ("text", "written"),
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
        ("0.184 | pct", f"18.4{NB}%"),
        ("5 / 3 | x", "1.67×"),
        ("2 / 3 | f2", "0.67"),
        ("123456 | int", "123,456"),
        ("12345.6e-6 | us", f"12,346{NB}µs"),
        ('"as text" | text', "as text"),
        ("max(1, 2) | int", "2"),
    ],
)
def test_a_value_is_written_as_asked(text: str, written: str) -> None:
    assert evaluate(text) == written


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 + 1", "end with a format"),
        ("1 | furlongs", "end with a format"),
        ("1 / 0 | us", "ZeroDivisionError"),
        ("nonsense | us", "NameError"),
        ("open('x') | text", "NameError"),
        ("1 + | int", "SyntaxError"),
        ("3 / 2 | int", "not a whole number"),
        ("True | int", "no finite number"),
        ("1e999 | us", "no finite number"),
        ('"x" | us', "no finite number"),
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
