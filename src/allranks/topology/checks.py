"""Numbers that a topology is made of, refused with a sentence where they are none."""

from __future__ import annotations

import math
import operator
from numbers import Integral, Real

from allranks.errors import shown


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


def whole(name: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """Return a whole number of at least `least`, and at most `most`.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        message = f"{name} is {shown(value)}; it must be a whole number of at least {least}"
        raise ValueError(message)
    if most is not None and operator.index(value) > most:
        message = f"{name} is {shown(value)}; it may be {most:,} at most, give a smaller one"
        raise ValueError(message)
    return operator.index(value)
