"""What `<chunk-fit>` shows, as plain JSON: published gains of NVLS, and two models of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from allranks.cost import price
from allranks.published import NVLS_ON_B200, NVLS_ON_H200, Measurement
from allranks.topology import Topology

FIT_FORMAT = "allranks.fit/1"
PUBLISHED = "PUBLISHED"
MACHINES = {"H200": NVLS_ON_H200, "B200": NVLS_ON_B200}

Data = dict[str, Any]


class Model(NamedTuple):
    """What one count of bytes says of the gain over the ring on an ideal machine.

    `algorithm` is the schedule whose bytes it counts; `name` is how a link of the text calls it.
    """

    name: str
    title: str
    says: str
    algorithm: str

    def ratio(self, n: int) -> float:
        """Return the bytes through the busiest port of a ring over those of this algorithm."""
        machine = Topology.preset("bench", n)

        def busiest(algorithm: str) -> float:
            paid = price(
                "all_reduce", algorithm, world_size=n, nbytes=n * n * 1000, topology=machine
            )
            return max(paid.bytes_sent_max, paid.bytes_received_max)

        return busiest("ring") / busiest(self.algorithm)


HEAD = Model("head", "2(n−1)/(n+1)", "every GPU sends and receives S + S/n", "nvls")
SLIDE = Model("slide", "2(n−1)/n", "every GPU sends and receives S", "sharp")
MODELS = {model.name: model for model in (HEAD, SLIDE)}


class Fit(NamedTuple):
    """One efficiency for all points: the least squares of the gains, and how far off it is.

    `rms` is the root mean square of the shares by which the model is off; `needed` holds the
    efficiency that each point asks for, `spread` how far apart these are, as a share of their mean.
    """

    efficiency: float
    rms: float
    needed: tuple[float, ...]

    @property
    def spread(self) -> float:
        """Return the largest efficiency less the smallest, over their mean."""
        return (max(self.needed) - min(self.needed)) * len(self.needed) / sum(self.needed)


def best_fit(machine: str, model: str) -> Fit:
    """Return the least-squares fit of a model to the published points of a machine.

    >>> [round(best_fit("H200", model).efficiency, 3) for model in MODELS]
    [0.839, 0.726]
    """
    ratios, gains = _points(MACHINES[machine], MODELS[model])
    products = sum(r * g for r, g in zip(ratios, gains, strict=True))
    efficiency = products / sum(r * r for r in ratios)
    off = [efficiency * r / g - 1 for r, g in zip(ratios, gains, strict=True)]
    rms = math.sqrt(sum(each * each for each in off) / len(off))
    return Fit(efficiency, rms, tuple(g / r for r, g in zip(ratios, gains, strict=True)))


def _points(measurement: Measurement, model: Model) -> tuple[list[float], list[float]]:
    used = [point for point in measurement.points if point.gain is not None]
    return [model.ratio(p.world_size) for p in used], [p.gain for p in used if p.gain is not None]


def fit(
    *,
    machine: str = "H200",
    efficiency: float = 1.0,
    controls: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Data:
    """Return the data of a `<chunk-fit>`; the page draws the curves and finds the best fits.

    Raises:
        ValueError: an unknown machine, or an efficiency outside 0.5 to 1, the ends of the slider.
    """
    if machine not in MACHINES:
        message = f"machine {machine!r}: nothing is published for it; known: {', '.join(MACHINES)}"
        raise ValueError(message)
    if not 0.5 <= efficiency <= 1:  # noqa: PLR2004 - the ends of the slider
        message = f"efficiency is {efficiency!r}; the slider goes from 0.5 to 1"
        raise ValueError(message)
    return {
        "format": FIT_FORMAT,
        "title": title or "One efficiency, two models, and what was measured",
        "label": PUBLISHED,
        "efficiency": efficiency,
        "machine": machine,
        "machines": [_machine(name, each) for name, each in MACHINES.items()],
        "models": [
            {"name": model.name, "title": model.title, "says": model.says, "ratio": model.name}
            for model in MODELS.values()
        ],
        "range": [2, 8],
        "controls": dict(controls or {}),
    }


def _machine(name: str, measurement: Measurement) -> Data:
    return {
        "name": name,
        "machine": measurement.machine,
        "what": f"all-reduce of {measurement.nbytes // 2**30} GiB, {measurement.tool}",
        "source": measurement.source,
        "read": measurement.read,
        "note": measurement.note,
        "points": [
            {
                "n": point.world_size,
                "chosen": point.chosen,
                "free": point.free,
                "ring": point.ring,
                "gain": point.gain,
            }
            for point in measurement.points
        ],
    }


def fit_rows(data: Mapping[str, Any]) -> Sequence[tuple[object, ...]]:
    """Return the points of the figure's machine for a table: n, gain, and what each point needs."""
    (shown,) = [each for each in data["machines"] if each["name"] == data["machine"]]
    return [
        (
            point["n"],
            f"{point['chosen']} taken" if point["gain"] is None else f"{point['gain']:.3f}",
            *(
                "–" if point["gain"] is None else f"{point['gain'] / model.ratio(point['n']):.3f}"
                for model in MODELS.values()
            ),
        )
        for point in shown["points"]
    ]
