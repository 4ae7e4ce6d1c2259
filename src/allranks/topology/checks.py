"""Numbers that a topology is made of, refused with a sentence where they are none."""

from __future__ import annotations

import math
import operator
from numbers import Integral, Real

_SHOWN = 40  # characters of a wrong value that a message quotes


def number(name: str, value: object) -> float:
    """Return a number as a float; infinity is one.

    Raises:
        ValueError: not a number, NaN, or too large for a float.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        message = f"{name} is {shown(value)}; it must be a number"
        raise ValueError(message)  # noqa: TRY004 - a wrong number, like the others here
    try:
        made = float(value)
    except OverflowError:
        message = f"{name} is {shown(value)}; it is too large, give a number below 1e308"
        raise ValueError(message) from None
    if math.isnan(made):
        message = f"{name} is {shown(value)}; it must be a number"
        raise ValueError(message)
    return made


def seconds(name: str, value: object) -> float:
    """Return a finite time of 0 seconds or more.

    Raises:
        ValueError: anything else.
    """
    made = number(name, value)
    if not 0 <= made < math.inf:
        message = f"{name} is {shown(value)}; it must be a time of 0 seconds or more"
        raise ValueError(message)
    return made


def rate(name: str, value: object) -> float:
    """Return a bandwidth above 0, in bytes per second; it may be infinite.

    Raises:
        ValueError: anything else.
    """
    made = number(name, value)
    if not made > 0:
        message = f"{name} is {shown(value)}; it must be above 0 bytes per second, such as 25e9"
        raise ValueError(message)
    return made


def whole(name: str, value: object, *, least: int = 1) -> int:
    """Return a whole number of at least `least`.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        message = f"{name} is {shown(value)}; it must be a whole number of at least {least}"
        raise ValueError(message)
    return operator.index(value)


def shown(value: object) -> str:
    """Return a value as a message quotes it.

    >>> shown(25e9), shown(10**4000)
    ('25000000000.0', 'a number of about 4000 digits')
    """
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _SHOWN * 4:
        return f"a number of about {round(value.bit_length() * 0.30103)} digits"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
