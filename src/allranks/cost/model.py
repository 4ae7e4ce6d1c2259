"""What a price consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

LOCKSTEP = "lockstep"
DATA_DRIVEN = "data_driven"


class Bandwidth(NamedTuple):
    """Bandwidths in bytes per second as nccl-tests defines them; None where time is 0.

    `note` says why a number is 0 or missing; "" where nothing needs saying.
    """

    algbw: float | None
    busbw: float | None
    note: str = ""


class Traffic(NamedTuple):
    """Bytes that one endpoint sent and received."""

    sent: float
    received: float


class LinkTraffic(NamedTuple):
    """Bytes that pass one shared link one way in a whole schedule, and the seconds they take."""

    link: str
    nbytes: float
    seconds: float


class Event(NamedTuple):
    """One message on the clock: from its start until its last byte is received and added."""

    step: int
    src: int
    dst: int
    chunks: tuple[int, ...]
    start_s: float
    end_s: float
    nbytes: float


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a schedule costs for one size on one topology.

    `steps` are those of the schedule. `latency_terms` are the alphas at the port that pays most of
    them in each step, added over the steps, whatever the clock. `bytes_sent_max` and
    `bytes_received_max` are maxima over the ranks; the ports of all switches together take in
    `switch_bytes_in` and put out `switch_bytes_out`. `bytes_total` counts every message, also to
    and from switches. Bytes are whole numbers (int) where they are whole.
    `algbw` and `busbw` are in bytes per second and None where the collective takes no time.
    `lower_bound` are the seconds of `allranks.lower_bound`, with switches that add if the schedule
    uses some, and with bytes that hide alphas if some port pays several alphas in one step.
    """

    seconds: float
    steps: int
    latency_terms: int
    bytes_sent_max: float
    bytes_received_max: float
    bytes_total: float
    messages: int
    algbw: float | None
    busbw: float | None
    switch_bytes_in: float = 0
    switch_bytes_out: float = 0
    lower_bound: float = 0.0

    @property
    def distance(self) -> float | None:
        """Return seconds / lower bound: 1.0 is as good as can be; None if the bound is 0."""
        return self.seconds / self.lower_bound if self.lower_bound else None
