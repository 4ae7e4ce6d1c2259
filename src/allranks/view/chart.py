"""Measured against predicted: one small panel per series, dots on a line, both axes logarithmic."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

WIDTH, HEIGHT = 200, 170
LEFT, RIGHT, TOP, BOTTOM = 46, 8, 24, 30
MAX_TICKS = 3
_SPREAD = "bar: from the shortest run to the longest, "


class Point(NamedTuple):
    """One size in bytes with its measured and its predicted seconds, and how far runs spread."""

    nbytes: float
    measured_s: float
    predicted_s: float
    least_s: float | None = None
    most_s: float | None = None

    @property
    def numbers(self) -> list[float]:
        """Return what the axes must hold."""
        return [value for value in self if value is not None]


@dataclass(frozen=True)
class Panels:
    """A drawing for a notebook or a page: it shows itself as HTML and needs no script."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        """Return the same numbers as a table of text."""
        return self.text


def measured_against_model(
    series: Mapping[str, Iterable[tuple[float, ...]]], *, label: str
) -> Panels:
    """Draw one panel per name: a line for the model, a dot for each measurement.

    `series` maps a name to (bytes, measured seconds, predicted seconds), all above 0. Two numbers
    more, the shortest and the longest run in seconds, draw a bar through the dot. `label` is the
    label of the trace that was measured and is always shown.

    Raises:
        ValueError: nothing to draw, or a value that a logarithmic axis cannot hold.
    """
    panels = {name: sorted(Point(*point) for point in points) for name, points in series.items()}
    points = [point for panel in panels.values() for point in panel]
    if not points:
        message = "measured_against_model: no points; give at least one name with one point"
        raise ValueError(message)
    for name, panel in panels.items():
        for point in panel:
            if not all(0 < value < math.inf for value in point.numbers):
                message = f"measured_against_model: {name!r} has {tuple(point)}; needs values > 0"
                raise ValueError(message)
    across = _Axis.over([point.nbytes for point in points], LEFT, WIDTH - RIGHT)
    seconds = [value for point in points for value in point.numbers[1:]]
    spread = any(point.most_s is not None for point in points)
    up = _Axis.over(seconds, HEIGHT - BOTTOM, TOP)
    drawings = "".join(_panel(name, panel, across, up) for name, panel in panels.items())
    measured = " ar-measured" if label.startswith("MEASURED") else ""
    badge = f'<span class="ar-badge{measured}">{html.escape(label)}</span>'
    return Panels(
        html=(
            '<figure class="ar-chart" style="margin:1em 0;font-family:var(--ar-sans,sans-serif);'
            'font-size:12px;color:var(--ar-ink,currentColor)">'
            '<div style="display:flex;flex-wrap:wrap;gap:6px">'
            f'{drawings}</div><figcaption style="text-align:left;color:inherit">{badge} '
            '<span style="color:var(--ar-good,#1a7347)">&#9679;</span> measured, '
            f"{_SPREAD if spread else ''}line: model. Time upward, bytes to the right, both axes "
            "logarithmic."
            "</figcaption></figure>"
        ),
        text=_table(panels, label),
    )


class _Axis(NamedTuple):
    """A logarithmic axis: `low` and `high` are decades, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> _Axis:
        low, high = math.log10(min(values)), math.log10(max(values))
        margin = max(0.05 * (high - low), 0.2)
        return cls(low - margin, high + margin, start, end)

    def place(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        decades = range(math.ceil(self.low), math.floor(self.high) + 1)
        step = 1 if len(decades) <= MAX_TICKS else 2
        return [10.0**decade for decade in decades[::step]]


def _panel(name: str, points: Sequence[Point], across: _Axis, up: _Axis) -> str:
    spoken = "; ".join(
        f"{_bytes(p.nbytes)}: measured {_seconds(p.measured_s)}, model {_seconds(p.predicted_s)}"
        for p in points
    )
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    style = 'font-weight="600" fill="currentColor" font-size="12"'
    parts = [
        f'<svg {size} role="img" aria-label="{html.escape(f"{name}. {spoken}")}">',
        f'<text x="{LEFT}" y="14" {style}>{html.escape(name)}</text>',
    ]
    for tick in up.ticks():
        y = up.place(tick)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="var(--ar-line,#d9d6cd)"/>'
            f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end" font-size="11" '
            f'fill="var(--ar-soft,currentColor)">{_seconds(tick)}</text>'
        )
    for tick in across.ticks():
        x = across.place(tick)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" '
            'stroke="var(--ar-line,#d9d6cd)"/>'
            f'<text x="{x:.1f}" y="{HEIGHT - 12}" text-anchor="middle" font-size="11" '
            f'fill="var(--ar-soft,currentColor)">{_bytes(tick)}</text>'
        )
    line = " ".join(f"{across.place(p.nbytes):.1f},{up.place(p.predicted_s):.1f}" for p in points)
    parts.append(
        f'<polyline points="{line}" fill="none" stroke-width="1.5" '
        'stroke="var(--ar-soft,#565f6d)"/>'
    )
    parts += [
        f'<line x1="{across.place(p.nbytes):.1f}" x2="{across.place(p.nbytes):.1f}" '
        f'y1="{up.place(p.least_s):.1f}" y2="{up.place(p.most_s):.1f}" stroke-width="2" '
        'stroke="var(--ar-good,#1a7347)" stroke-opacity="0.45"/>'
        for p in points
        if p.least_s is not None and p.most_s is not None
    ]
    parts += [
        f'<circle cx="{across.place(p.nbytes):.1f}" cy="{up.place(p.measured_s):.1f}" r="4" '
        'fill="var(--ar-good,#1a7347)"/>'
        for p in points
    ]
    return "".join([*parts, "</svg>"])


def _table(panels: Mapping[str, Sequence[Point]], label: str) -> str:
    width = max(len(name) for name in panels)
    rows = [
        f"{name:{width}}  {_bytes(p.nbytes):>7}  measured {_seconds(p.measured_s):>8}"
        f"  model {_seconds(p.predicted_s):>8}"
        for name, points in panels.items()
        for p in points
    ]
    return "\n".join([label, *rows])


def _seconds(value: float) -> str:
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if value * factor < 999.5:  # noqa: PLR2004 - from here on the next unit is shorter
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def _bytes(value: float) -> str:
    for factor, unit in ((1, "B"), (1e3, "kB"), (1e6, "MB")):
        if value / factor < 999.5:  # noqa: PLR2004 - from here on the next unit is shorter
            return f"{value / factor:.3g} {unit}"
    return f"{value / 1e9:.3g} GB"
