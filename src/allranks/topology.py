"""What a machine's network does to a message: alpha, bandwidth, gamma, and how many ports.

A topology knows nobody's schedule. Units are SI: seconds, bytes, bytes per second and per
direction. A rank has full-duplex ports: each sends and receives at `bandwidth` at the same time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from allranks.errors import unknown_name


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A network in which every rank reaches every other in the same way.

    `alpha` is the time of a message without its bytes (s), `bandwidth` what one port carries each
    way (bytes/s), `gamma` the time to reduce one byte (s). A rank has `ports` ports, and at each
    of them the alphas of `in_flight` messages overlap; the bytes of all of them share the wire. A
    switch has one such port for every endpoint attached to it.

    Make one with `Topology.uniform` or `Topology.preset`.
    """

    world_size: int
    alpha: float
    bandwidth: float
    gamma: float = 0.0
    ports: int = 1
    in_flight: int = 1
    name: str = "uniform"

    def __post_init__(self) -> None:
        for field in ("world_size", "ports", "in_flight"):
            _check_count(field, getattr(self, field))
        for field in ("alpha", "gamma"):
            _check_seconds(field, getattr(self, field))
        bandwidth = _number("bandwidth", self.bandwidth)
        if not bandwidth > 0:
            message = (
                f"bandwidth is {self.bandwidth}; it must be above 0 bytes per second, such as 25e9"
            )
            raise ValueError(message)

    @classmethod
    def uniform(  # noqa: PLR0913 - the parameters of the model
        cls,
        world_size: int,
        *,
        alpha: float,
        bandwidth: float,
        gamma: float = 0.0,
        ports: int = 1,
        in_flight: int = 1,
    ) -> Topology:
        """Return a network of n ranks whose links are all alike.

        Raises:
            ValueError: n, ports or in_flight below 1, a negative alpha or gamma, a bandwidth of 0
                or less, or anything that is not a finite number (bandwidth may be infinite).

        >>> Topology.uniform(8, alpha=5e-6, bandwidth=50e9).beta
        2e-11
        """
        return cls(
            world_size=world_size,
            alpha=alpha,
            bandwidth=bandwidth,
            gamma=gamma,
            ports=ports,
            in_flight=in_flight,
        )

    @classmethod
    def preset(cls, name: str, world_size: int) -> Topology:
        """Return one of the course's own machines with n ranks; `PRESETS` lists them.

        Raises:
            ValueError: no such machine (the nearest name is suggested), or n below 1.

        >>> Topology.preset("bench", 6).alpha
        4e-06
        """
        if name not in PRESETS:
            raise ValueError(unknown_name("machine", name, PRESETS))
        alpha, bandwidth = PRESETS[name]
        return cls(world_size=world_size, alpha=alpha, bandwidth=bandwidth, name=name)

    @property
    def beta(self) -> float:
        """Return the time of one byte on a port, in seconds: 1 / bandwidth."""
        return 1 / self.bandwidth

    def port_seconds(self, messages: int, nbytes: float, reduced_nbytes: float = 0) -> float:
        """Return how long one port is busy with so many messages at once, one way.

        ceil(messages / in_flight) alpha + nbytes beta + reduced_nbytes gamma: the reduced bytes are
        those that arrive to be added to what is there.
        """
        terms = self.alpha_terms(messages)
        return terms * self.alpha + nbytes / self.bandwidth + reduced_nbytes * self.gamma

    def alpha_terms(self, messages: int) -> int:
        """Return how many alphas one port pays for so many messages at once."""
        return -(-messages // self.in_flight)


PRESETS: dict[str, tuple[float, float]] = {
    # name: alpha in seconds, bandwidth in bytes per second and direction
    "bench": (4e-6, 25e9),
}


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(float(value)):
        message = f"{name} is {value!r}; it must be a number"
        raise ValueError(message)
    return float(value)


def _check_seconds(name: str, value: object) -> None:
    if not 0 <= _number(name, value) < math.inf:
        message = f"{name} is {value}; it must be a time of 0 seconds or more"
        raise ValueError(message)


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        message = f"{name} is {value!r}; it must be a whole number of at least 1"
        raise ValueError(message)
