"""Arguments of the prices, refused with a sentence where they cannot be."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Rational, Real

from allranks.cost.model import DATA_DRIVEN, LOCKSTEP
from allranks.errors import shown, unknown_name
from allranks.schedule import Schedule
from allranks.topology import Topology
from allranks.topology.checks import whole


def exact_bytes(nbytes: object) -> Fraction:
    """Return a size exactly.

    Raises:
        ValueError: not a finite number of 0 or more.
    """
    if isinstance(nbytes, bool) or not isinstance(nbytes, Real) or not _finite(nbytes):
        message = f"nbytes is {shown(nbytes)}; it must be a number of bytes, 0 or more"
        raise ValueError(message)
    return Fraction(nbytes if isinstance(nbytes, Rational) else float(nbytes))


def _finite(value: Real) -> bool:
    try:
        return 0 <= float(value) < math.inf
    except OverflowError:
        return False


def check_seconds(name: str, value: object) -> float:
    """Return a finite time of 0 or more.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not _finite(value):
        message = f"{name} is {shown(value)}; it must be a time of 0 seconds or more"
        raise ValueError(message)
    return float(value)


def check_whole(name: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """Return a whole number of at least `least`, and at most `most`.

    Raises:
        ValueError: anything else.
    """
    return whole(name, value, least=least, most=most)


def check_clock(clock: object) -> None:
    """Refuse a clock that does not exist.

    Raises:
        ValueError: the name is none of the two.
    """
    if clock not in (LOCKSTEP, DATA_DRIVEN):
        raise ValueError(unknown_name("clock", clock, (LOCKSTEP, DATA_DRIVEN)))


def check_schedule(schedule: object) -> None:
    """Refuse what is no schedule.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(schedule, Schedule):
        message = (
            f"schedule is {shown(schedule)}; make one with allranks.schedule(collective, "
            "algorithm, world_size=...)"
        )
        raise ValueError(message)  # noqa: TRY004 - a wrong argument, like the others here


def check_topology(topology: object, world_size: int) -> None:
    """Refuse a topology for fewer ranks.

    Raises:
        ValueError: no topology, or one for fewer ranks.
    """
    if not isinstance(topology, Topology):
        message = (
            f"topology is {shown(topology)}; make one with Topology.preset(name, n) or "
            "Topology.uniform(n, alpha=..., bandwidth=...)"
        )
        raise ValueError(message)  # noqa: TRY004 - a wrong argument, like the others here
    if topology.world_size < world_size:
        message = (
            f"topology has {topology.world_size} ranks, the collective {world_size}; make one "
            f"with at least {world_size}"
        )
        raise ValueError(message)
