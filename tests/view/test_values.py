"""The numbers of the prose: computed by the engine, or the build stops with the expression."""

from __future__ import annotations

import pytest

from allranks.view.values import NumberError, crossover, evaluate


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('cost("broadcast", "chain", n=6, S=48e6, chunks=44).seconds | us', "2286.5\u00a0µs"),
        ('bytes_out("broadcast", "binomial", n=6, S=48e6, rank="busiest") | MB', "144\u00a0MB"),
        ('best_k(6, 48e6, "bench") | int', "44"),
        ('chunk_lengths("all_reduce", "ring", n=5, count=8) | text', "2, 2, 2, 1, 1"),
        ("1924 / 1600 - 1 | pct", "20.2\u00a0%"),
    ],
)
def test_an_expression_is_written_as_its_format_says(text, shown):
    assert evaluate(text) == shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 + 1", "end with a format"),
        ("1 + 1 | furlongs", "end with a format"),
        ("no_such_thing | int", "NameError"),
        ('steps("broadcast", "binomal", n=6) | int', "did you mean"),
        ("2 / 3 | int", "no whole number|not a whole number"),
        ('"three" | int', "no finite number"),
        ('open("x") | text', "NameError"),
    ],
)
def test_what_cannot_be_shown_names_its_expression(text, said):
    with pytest.raises(NumberError, match=said) as caught:
        evaluate(text)
    assert text.partition(" |")[0].strip() in str(caught.value) or "whole" in str(caught.value)


def test_a_border_between_two_broadcasts_is_where_they_take_the_same_time():
    assert crossover("broadcast", "binomial", "scatter_all_gather", n=6) == pytest.approx(375e3)
    border = crossover("broadcast", "scatter_all_gather", "chain", n=6, above=375e3)
    assert border == pytest.approx(2.25e6, rel=1e-3)


def test_only_sizes_above_the_given_one_are_searched():
    with pytest.raises(ValueError, match="never overtakes"):
        crossover("broadcast", "binomial", "scatter_all_gather", n=6, above=1e6)
