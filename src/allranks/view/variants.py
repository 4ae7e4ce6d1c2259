"""What the verifier says of every variant that a figure offers: a page cannot ask it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from allranks.algorithms import ALGORITHMS, build
from allranks.algorithms.variants import BUGS, vary
from allranks.errors import CollectiveError
from allranks.schedule import Schedule
from allranks.verify import verify

Data = dict[str, Any]

CONTROLS = ("start", "bugs", "reverse")
"""Controls of a `<chunk-flow>` that vary its schedule."""


def first_wrong_event(schedule: Schedule) -> Data | None:
    """Return the step and the sentence of the verifier, or None for a right schedule."""
    try:
        verify(schedule)
    except CollectiveError as error:
        return {"step": error.step, "message": error.message}
    return None


def verdicts(
    schedule: Schedule, controls: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[str, Data]:
    """Return the verifier's answers by algorithm, n and variants, as a page looks them up.

    A variant that a page can make and that is right has no entry.

    Raises:
        ValueError: the schedule has no such variant, or a planted fault breaks nothing.
    """
    offered = list(_offered(controls))
    if not offered:
        return {}
    found: dict[str, Data] = {}
    for algorithm, n in product(
        controls.get("algorithm", [schedule.algorithm]), _sizes(schedule, controls)
    ):
        if ALGORITHMS[schedule.collective, algorithm].refuse(n):
            continue
        made = build(schedule.collective, algorithm, world_size=n, **parameters)
        for names in offered:
            event = first_wrong_event(vary(made, *names))
            if event is not None:
                found[f"{algorithm} {n} {','.join(names)}"] = event
            elif set(names) & set(BUGS) and "shifted" not in names:
                message = (
                    f"{algorithm} on {n} ranks is right also with {', '.join(names)}; offer "
                    "faults that break it, as in `bugs=twice,dropped`"
                )
                raise ValueError(message)
    return found


def _offered(controls: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield every choice that the controls allow, the schedule as it is left out."""
    asked = controls.get("bugs")
    bugs = () if not asked else BUGS if asked is True else tuple(asked)
    ways: list[tuple[str, ...]] = [
        ("", *(("reversed",) if "reverse" in controls else ())),
        ("", *(("shifted",) if "start" in controls else ())),
        ("", *bugs),
    ]
    for choice in product(*ways):
        if any(choice):
            yield tuple(name for name in choice if name)


def _sizes(schedule: Schedule, controls: Mapping[str, Any]) -> range:
    low, high = controls.get("n", (schedule.world_size, schedule.world_size))
    return range(max(int(low), 2), int(high) + 1)
