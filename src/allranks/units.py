"""Sizes, times and bandwidths as people type and read them; inside, everything is SI.

k, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024. A capital B is a byte and a small b a bit:
`400Gb/s` is `50GB/s`. A decimal comma is a decimal point, and nothing separates thousands.
"""

from __future__ import annotations

import difflib
import re
from fractions import Fraction
from typing import NamedTuple

_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}


def _units() -> dict[str, tuple[str, Fraction]]:
    """Return unit -> (kind, SI units in one of it)."""
    units = {
        name: ("seconds", factor)
        for name, factor in {
            "s": Fraction(1),
            "ms": Fraction(1, 10**3),
            "us": Fraction(1, 10**6),
            "\N{MICRO SIGN}s": Fraction(1, 10**6),
            "\N{GREEK SMALL LETTER MU}s": Fraction(1, 10**6),
            "ns": Fraction(1, 10**9),
        }.items()
    }
    for prefix, factor in {**_DECIMAL, **_BINARY}.items():
        units[f"{prefix}B"] = ("bytes", Fraction(factor))
        units |= dict.fromkeys(
            (f"{prefix}B/s", f"{prefix}Bps"), ("bytes_per_second", Fraction(factor))
        )
        units |= dict.fromkeys((f"{prefix}b", f"{prefix}bit"), ("bits", Fraction(factor)))
        units |= dict.fromkeys(
            (f"{prefix}b/s", f"{prefix}bps", f"{prefix}bit/s"),
            ("bytes_per_second", Fraction(factor, 8)),
        )
    return units | {"%": ("number", Fraction(1, 100)), "": ("number", Fraction(1))}


_UNITS = _units()
_NAMES = {
    "bytes": "a size such as 16MiB, 48MB or 1024",
    "seconds": "a time such as 5us or 1.5ms",
    "bytes_per_second": "a bandwidth such as 50GB/s or 400Gb/s",
    "number": "a number such as 1.5, 1,5, 7/4 or 2e6",
}
_PLAIN = r"(?:\d{1,30}(?:[.,]\d{0,30})?|[.,]\d{1,30})(?:[eE][+-]?\d{1,2})?"
_TEXT = re.compile(rf"([+-]?)({_PLAIN})(?:\s?/\s?({_PLAIN}))?\s?(\D*)")


# unit, how many make a second, and the time from which the next unit is used
_SHOWN_TIMES = (("ns", 1e9, 1e-6), ("µs", 1e6, 1e-3), ("ms", 1e3, 1.0))
_THOUSAND = 1000


class Quantity(NamedTuple):
    """A number with a unit: `value` in SI, `kind` what it measures, `unit` as it was typed.

    `kind` is number, bytes, bits, seconds or bytes_per_second.
    """

    value: Fraction
    kind: str
    unit: str


def parse_quantity(text: str) -> Quantity:
    """Read a number with or without a unit, exactly.

    Raises:
        ValueError: no number, a unit nobody knows (the nearest is suggested), a thousands
            separator, or a division by zero.

    >>> parse_quantity("1,5 GB/s")
    Quantity(value=Fraction(1500000000, 1), kind='bytes_per_second', unit='GB/s')
    >>> parse_quantity("175 %").value
    Fraction(7, 4)
    """
    plain = " ".join(text.split()).replace("\N{MINUS SIGN}", "-")
    if re.search(r"\d[.,]\d+[.,]\d", plain):
        message = f"{_shown(text)} has more than one decimal mark; write thousands without any"
        raise ValueError(message)
    match = _TEXT.fullmatch(plain)
    if match is None:
        message = f"{_shown(text)} is no number; write {_NAMES['number']}, with or without a unit"
        raise ValueError(message)
    sign, number, divisor, unit = match.groups()
    if unit not in _UNITS:
        near = difflib.get_close_matches(unit.lower(), [u.lower() for u in _UNITS if u], n=1)
        meant = [known for known in _UNITS if near and known.lower() == near[0]]
        hint = f"did you mean {' or '.join(meant)}?" if meant else "known are B, MB, MiB, us, GB/s"
        message = f"{_shown(text)}: unknown unit {_shown(unit)}; {hint}"
        raise ValueError(message)
    value = _exact(number)
    if divisor is not None:
        if _exact(divisor) == 0:
            message = f"{_shown(text)} divides by zero; write {_NAMES['number']}"
            raise ValueError(message)
        value /= _exact(divisor)
    kind, factor = _UNITS[unit]
    return Quantity(-value * factor if sign == "-" else value * factor, kind, unit)


def parse_number(text: str) -> Fraction:
    """Read a number without a unit: 1.5, 1,5, 7/4, 2e6 or 175 %.

    Raises:
        ValueError: as `parse_quantity`, and for a unit.
    """
    return _read(text, "number")


def parse_bytes(text: str) -> int:
    """Read a size: 16MiB is 2^24 bytes, 16MB is 16,000,000, and 16 alone is 16.

    Raises:
        ValueError: not a size, negative, not a whole number of bytes, or given in bits.

    >>> parse_bytes("16MiB"), parse_bytes("1,5 kB")
    (16777216, 1500)
    """
    value = _read(text, "bytes")
    if value.denominator != 1:
        message = f"{_shown(text)} is not a whole number of bytes; write {_NAMES['bytes']}"
        raise ValueError(message)
    return int(value)


def parse_seconds(text: str) -> float:
    """Read a time: 5us, 1.5ms; a number alone is in seconds.

    Raises:
        ValueError: not a time, or negative.

    >>> parse_seconds("5us")
    5e-06
    """
    return float(_read(text, "seconds"))


def parse_bandwidth(text: str) -> float:
    """Read a bandwidth in bytes per second: 50GB/s, or 400Gb/s, which is the same.

    Raises:
        ValueError: not a bandwidth, or negative.

    >>> parse_bandwidth("400Gb/s")
    50000000000.0
    """
    return float(_read(text, "bytes_per_second"))


def format_bytes(nbytes: float, *, like: float | None = None) -> str:
    """Return a size as people read it: in MiB where it is a short whole number, else in MB.

    Beside another size, `like`, that is shown in KiB, MiB, ..., in the same unit.

    >>> format_bytes(16 * 2**20), format_bytes(48_000_000), format_bytes(96)
    ('16 MiB', '48 MB', '96 B')
    >>> format_bytes(28 * 2**20 + 100, like=16 * 2**20), format_bytes(5, like=16)
    ('28 MiB', '5 B')
    """
    prefix = _binary_prefix(nbytes if like is None else like)
    if prefix:
        return f"{_significant(nbytes / _BINARY[prefix])} {prefix}B"
    return _scaled(nbytes, "B")


def _binary_prefix(nbytes: float) -> str:
    """Return Ki, Mi, ... if a size is a short whole number of it, "" if it is none."""
    if nbytes and nbytes % 2**10 == 0 and nbytes % _THOUSAND:
        prefix, factor = max(
            ((p, f) for p, f in _BINARY.items() if nbytes % f == 0), key=lambda pair: pair[1]
        )
        if nbytes < 10 * _THOUSAND * factor:
            return prefix
    return ""


def format_seconds(seconds: float) -> str:
    """Return a time with four digits, in ns, µs, ms or s.

    >>> format_seconds(0.0022868), format_seconds(9.62e-3), format_seconds(0)
    ('2.287 ms', '9.62 ms', '0 µs')
    """
    for unit, per_second, below in _SHOWN_TIMES:
        if abs(seconds) < below and seconds:
            return f"{_significant(seconds * per_second)} {unit}"
    return f"{_significant(seconds)} s" if seconds else "0 µs"


def format_bandwidth(bytes_per_second: float) -> str:
    """Return a bandwidth with four digits, in B/s to PB/s (GB = 1e9 bytes).

    >>> format_bandwidth(1.25e9)
    '1.25 GB/s'
    """
    return f"{_scaled(bytes_per_second, 'B')}/s"


def _exact(number: str) -> Fraction:
    return Fraction(number.replace(",", "."))


def _read(text: str, kind: str) -> Fraction:
    quantity = parse_quantity(text)
    if quantity.kind == "bits":
        message = f"{_shown(text)}: a small b means bits; write {_NAMES[kind]}"
        raise ValueError(message)
    if quantity.kind != kind and quantity.unit:
        message = f"{_shown(text)} is not {_NAMES[kind]}"
        raise ValueError(message)
    if quantity.value < 0 and kind != "number":
        message = f"{_shown(text)} is negative; write {_NAMES[kind]}"
        raise ValueError(message)
    return quantity.value


def _shown(text: str, most: int = 40) -> str:
    return repr(text if len(text) <= most else text[:most] + "...")


def _scaled(value: float, unit: str) -> str:
    prefixes = ["", "k", "M", "G", "T", "P"]
    # the rounded value decides: 999.96 B read as 1 kB, not as 1000 B
    while len(prefixes) > 1 and abs(float(f"{value:.4g}")) >= _THOUSAND:
        value /= _THOUSAND
        prefixes.pop(0)
    return f"{_significant(value)} {prefixes[0]}{unit}"


def _significant(value: float) -> str:
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10 * _THOUSAND else f"{rounded:.12g}"
