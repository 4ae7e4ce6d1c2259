"""One parser for what people type, one formatter for what they read."""

from __future__ import annotations

from fractions import Fraction

import pytest

from allranks.units import (
    format_bandwidth,
    format_bytes,
    format_seconds,
    parse_bandwidth,
    parse_bytes,
    parse_number,
    parse_quantity,
    parse_seconds,
)


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("16MiB", 2**24),
        ("16MB", 16_000_000),
        ("16 MiB", 2**24),
        ("1GiB", 2**30),
        ("48e6", 48_000_000),
        ("3kB", 3000),
        ("3KB", 3000),
        ("1,5 KiB", 1536),
        ("0", 0),
        ("65536", 65536),
        ("2\N{NO-BREAK SPACE}TB", 2 * 10**12),
        ("1/2 MiB", 2**19),
    ],
)
def test_a_size_is_read_in_bytes(text, nbytes):
    assert parse_bytes(text) == nbytes
    assert type(parse_bytes(text)) is int


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5us", 5e-6),
        ("5 \N{MICRO SIGN}s", 5e-6),
        ("5\N{GREEK SMALL LETTER MU}s", 5e-6),
        ("127997us", 0.127997),
        ("1,5ms", 1.5e-3),
        ("20 ns", 2e-8),
        ("2", 2.0),
    ],
)
def test_a_time_is_read_in_seconds(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(
    ("text", "bandwidth"),
    [
        ("50GB/s", 50e9),
        ("400Gb/s", 50e9),
        ("400 Gbit/s", 50e9),
        ("400Gbps", 50e9),
        ("1GiB/s", 2.0**30),
        ("25e9", 25e9),
    ],
)
def test_a_bandwidth_is_read_in_bytes_per_second(text, bandwidth):
    assert parse_bandwidth(text) == bandwidth


def test_400_gigabits_are_50_gigabytes_and_46_57_gibibytes_per_second():
    assert parse_bandwidth("400Gb/s") == parse_bandwidth("50GB/s")
    assert parse_bandwidth("400Gb/s") / 2**30 == pytest.approx(46.57, abs=0.005)


@pytest.mark.parametrize("text", ["1,5", " 1,5 ", "1.5", "3/2", "150 %", "15e-1", "+1.5"])
def test_a_number_may_be_written_in_any_usual_form(text):
    assert parse_number(text) == Fraction(3, 2)


@pytest.mark.parametrize(
    ("text", "value"), [("-0,25", -0.25), ("1,5e3", 1500), (".5", 0.5), ("\N{MINUS SIGN}2", -2)]
)
def test_signs_exponents_and_bare_points_are_read(text, value):
    assert float(parse_number(text)) == value


def test_a_quantity_says_what_it_measures():
    assert parse_quantity("1.5 GB/s").kind == "bytes_per_second"
    assert parse_quantity("12 us") == (Fraction(12, 10**6), "seconds", "us")
    assert parse_quantity("8 Gb").kind == "bits"


@pytest.mark.parametrize(
    ("read", "text", "says"),
    [
        (parse_bytes, "", "no number"),
        (parse_bytes, "many", "no number"),
        (parse_bytes, "nan", "no number"),
        (parse_bytes, "1e999", "no number"),
        (parse_bytes, "9" * 5000, "no number"),
        (parse_bytes, "1.5", "whole number of bytes"),
        (parse_bytes, "-3", "negative"),
        (parse_bytes, "16Mb", "bits"),
        (parse_bytes, "16mb", "did you mean MB or Mb"),
        (parse_bytes, "5us", "not a size"),
        (parse_bytes, "50 %", "not a size"),
        (parse_bytes, "1,000,000", "more than one decimal mark"),
        (parse_bytes, "1.000,5", "more than one decimal mark"),
        (parse_seconds, "5 parsecs", "unknown unit"),
        (parse_seconds, "50GB/s", "not a time"),
        (parse_bandwidth, "50GB", "not a bandwidth"),
        (parse_number, "1/0", "divides by zero"),
        (parse_number, "5us", "not a number"),
    ],
)
def test_what_is_not_understood_is_refused_with_advice(read, text, says):
    with pytest.raises(ValueError, match=says) as caught:
        read(text)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (96, "96 B"),
        (3000, "3 kB"),
        (2**20, "1 MiB"),
        (128 * 2**10, "128 KiB"),
        (48_000_000, "48 MB"),
        (2048 * 2**21, "4 GiB"),
        (999.96, "1 kB"),
        (80_000_000.5, "80 MB"),
    ],
)
def test_a_size_is_shown_with_the_unit_it_was_meant_in(nbytes, text):
    assert format_bytes(nbytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 µs"), (20e-9, "20 ns"), (12.36e-6, "12.36 µs"), (9.62e-3, "9.62 ms"), (1.5, "1.5 s")],
)
def test_a_time_is_shown_with_its_unit(seconds, text):
    assert format_seconds(seconds) == text


def test_a_time_that_is_shown_can_be_typed_again():
    for seconds in (0.0, 20e-9, 12.36e-6, 9.62e-3, 1.5):
        assert parse_seconds(format_seconds(seconds)) == pytest.approx(seconds)


def test_a_bandwidth_is_shown_in_decimal_bytes_per_second():
    assert format_bandwidth(50e9) == "50 GB/s"
    assert format_bandwidth(1.25e9) == "1.25 GB/s"


@pytest.mark.parametrize("text", ["16 MiB", "48 MB", "96 B", "5 GiB"])
def test_what_is_shown_can_be_typed_again(text):
    assert format_bytes(parse_bytes(text)) == text
