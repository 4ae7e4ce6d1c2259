"""The topology that all prices are asked of: ports at the ranks, and a network between them.

A topology knows nobody's schedule. Units are SI: seconds, bytes, bytes per second and per
direction. A rank has full-duplex ports: each sends and receives at `bandwidth` at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from allranks.errors import unknown_name
from allranks.topology import checks

if TYPE_CHECKING:
    from allranks.topology.graph import Link
    from allranks.topology.network import Network
    from allranks.topology.tiers import Tier


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Endpoints, and what the ways between them do to a message.

    `alpha` is the time of a message without its bytes (s), `bandwidth` what one port carries each
    way (bytes/s), `gamma` the time to reduce one byte (s). A rank has `ports` ports, and at each
    of them the alphas of `in_flight` messages overlap; the bytes of all of them share the wire. A
    switch has one such port for every endpoint attached to it.

    Without a `network` every rank reaches every other in the same way, and any switch that a
    schedule asks for is there, unless `reduces` is false. With one, `alpha` and `bandwidth` are
    those of the nearest pair, messages on one link share it, and it says which switches add and
    how (`Tier.reduces` says it for each tier); `reduces` is then not asked.

    Make one with `Topology.uniform`, `Topology.tiers`, `Topology.graph` or `Topology.preset`.
    """

    world_size: int
    alpha: float
    bandwidth: float
    gamma: float = 0.0
    ports: int = 1
    in_flight: int = 1
    name: str = "uniform"
    network: Network | None = None
    reduces: bool = True

    def __post_init__(self) -> None:
        for field in ("world_size", "ports", "in_flight"):
            object.__setattr__(self, field, checks.whole(field, getattr(self, field)))
        for field in ("alpha", "gamma"):
            checks.seconds(field, getattr(self, field))
        checks.rate("bandwidth", self.bandwidth)

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
    def tiers(  # noqa: PLR0913 - the parameters of the model
        cls,
        world_size: int,
        tiers: Sequence[Tier],
        *,
        gamma: float = 0.0,
        ports: int = 1,
        in_flight: int = 1,
        name: str = "tiers",
    ) -> Topology:
        """Return a machine of nested tiers, the innermost first, for any number of ranks.

        The first tier's `bandwidth` is that of a rank's port.

        Raises:
            ValueError: more ranks than the tiers have endpoints, ranks that nothing joins, or a
                number that cannot be; the message says in which tier.

        >>> from allranks.topology import Tier
        >>> node = Tier(name="node", size=4, alpha=2e-6, bandwidth=200e9)
        >>> leaf = Tier(name="leaf", alpha=6e-6, bandwidth=25e9)
        >>> Topology.tiers(8, [node, leaf]).alpha
        2e-06
        """
        from allranks.topology.tiers import make_tiers  # noqa: PLC0415 - it needs NumPy

        world_size = checks.whole("world_size", world_size)
        network = make_tiers(tiers, world_size, name)
        return cls(
            world_size=world_size,
            alpha=network.tiers[0].alpha,
            bandwidth=network.tiers[0].bandwidth,
            gamma=gamma,
            ports=ports,
            in_flight=in_flight,
            name=name,
            network=network,
        )

    @classmethod
    def graph(  # noqa: PLR0913 - the parameters of the model
        cls,
        world_size: int,
        links: Iterable[Link],
        *,
        switches: int = 0,
        gamma: float = 0.0,
        ports: int = 1,
        in_flight: int = 1,
        name: str = "graph",
    ) -> Topology:
        """Return a network given link by link, with routes fixed beforehand.

        Vertices 0 .. n-1 are ranks, the next `switches` numbers are switches that add, and any name
        in quotes is a switch that only passes on.

        Raises:
            ValueError: an endpoint that another cannot reach, an end that does not exist, or a
                number that cannot be; the message says in which link.

        >>> from allranks.topology import Link
        >>> star = [Link(rank, "hub", alpha=1e-6, bandwidth=10e9) for rank in range(4)]
        >>> Topology.graph(4, star).bandwidth
        10000000000.0
        """
        from allranks.topology.graph import make_graph  # noqa: PLC0415 - it needs NumPy

        world_size = checks.whole("world_size", world_size)
        network = make_graph(world_size, links, switches)
        return cls(
            world_size=world_size,
            alpha=min((link.alpha for link in network.links), default=0.0),
            bandwidth=max((link.bandwidth for link in network.links), default=float("inf")),
            gamma=gamma,
            ports=ports,
            in_flight=in_flight,
            name=name,
            network=network,
        )

    @classmethod
    def preset(cls, name: str, world_size: int) -> Topology:
        """Return a known machine with n ranks; `allranks.topology.PRESETS` tells what each one is.

        Raises:
            ValueError: no such machine (the nearest name is suggested), n below 1, or more ranks
                than the machine can hold.

        >>> Topology.preset("bench", 6).alpha
        4e-06
        """
        from allranks.topology.presets import PRESETS  # noqa: PLC0415 - presets make topologies

        if name not in PRESETS:
            raise ValueError(unknown_name("machine", name, PRESETS))
        return PRESETS[name].make(checks.whole("world_size", world_size))

    @property
    def is_uniform(self) -> bool:
        """Return whether every rank reaches every other in the same way."""
        return self.network is None

    @property
    def node_size(self) -> int | None:
        """Return how many ranks a node holds; None where there is one node or none."""
        tiers: tuple[Tier, ...] = getattr(self.network, "tiers", ())
        return tiers[0].size if len(tiers) > 1 else None

    @property
    def beta(self) -> float:
        """Return the time of one byte on a port, in seconds: 1 / bandwidth."""
        return 1 / self.bandwidth

    def port_seconds(self, messages: int, nbytes: float, reduced_nbytes: float = 0) -> float:
        """Return how long one port is busy with so many messages at once, one way.

        ceil(messages / in_flight) alpha + nbytes beta + reduced_nbytes gamma: the reduced bytes are
        those that arrive to be added to what is there. For a uniform network.
        """
        terms = self.alpha_terms(messages)
        return terms * self.alpha + nbytes / self.bandwidth + reduced_nbytes * self.gamma

    def alpha_terms(self, messages: int) -> int:
        """Return how many alphas one port pays for so many messages at once."""
        return -(-messages // self.in_flight)
