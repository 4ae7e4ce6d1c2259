"""A verdict: what became of one exercise, as fields for a program and as sentences for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from allranks.schedule import Schedule

FULL = {"contract": 60, "bandwidth": 25, "latency": 15}
WORDS = {
    "pass": "PASS",
    "fail": "NOT YET",
    "error": "ERROR",
    "ungraded": "NOT GRADED",
}


def points(contract: float, bandwidth: float, latency: float) -> dict[str, float | None]:
    """Return the points of the three criteria from the share of each that was earned.

    >>> points(1, 0.5, 1)
    {'contract': 60, 'bandwidth': 12.5, 'latency': 15}
    """
    shares = {"contract": contract, "bandwidth": bandwidth, "latency": latency}
    return {name: _short(FULL[name] * share) for name, share in shares.items()}


def _short(value: float) -> float:
    return int(value) if value == int(value) else value


@dataclass(frozen=True)
class Verdict:
    """What became of one exercise.

    `status` is pass, fail (it ran, but is wrong or off target), error (it could not be run to its
    end) or ungraded (the check itself failed; never counts against anybody). `criteria` are points
    out of 60, 25 and 15; None where a criterion does not apply or nothing was graded.
    `first_wrong_event` has the fields of a schedule error and those of the case; `schedule` is the
    one it happened in. `file` is the learner's, `output` what it printed.
    """

    slug: str
    status: str
    message: str
    criteria: Mapping[str, float | None] = field(default_factory=lambda: dict.fromkeys(FULL, None))
    first_wrong_event: Mapping[str, Any] | None = None
    misconception: str | None = None
    title: str = ""
    file: str = ""
    note: str = ""
    output: str = ""
    schedule: Schedule | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as `allranks check --json` prints it."""
        return {
            "slug": self.slug,
            "status": self.status,
            "criteria": dict(self.criteria),
            "first_wrong_event": self.first_wrong_event and dict(self.first_wrong_event),
            "misconception": self.misconception,
            "message": self.message,
        }


def report(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return what `allranks check --json` prints for several exercises."""
    return {"exercises": [verdict.to_dict() for verdict in verdicts]}


def render(verdict: Verdict) -> str:
    """Return the verdict as the plain sentences that a person reads in a terminal."""
    lines = [f"{WORDS[verdict.status]}  {verdict.slug}  {verdict.title}".rstrip()]
    if verdict.file:
        lines.append(f"  File: {verdict.file}")
    lines += [f"  {line}" for line in verdict.message.splitlines()]
    given = {name: value for name, value in verdict.criteria.items() if value is not None}
    if given and verdict.status != "error":
        most = sum(FULL[name] for name in given)
        parts = ", ".join(f"{name} {value:g}/{FULL[name]}" for name, value in given.items())
        lines.append(f"  Points: {sum(given.values()):g} of {most} ({parts}).")
    if verdict.note:
        lines.append(f"  {verdict.note}")
    if verdict.output.strip():
        lines.append("  Your file printed:")
        lines += [f"  | {line}" for line in verdict.output.rstrip().splitlines()]
    return "\n".join(lines)
