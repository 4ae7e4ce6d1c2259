"""Lower bounds: seconds that no schedule can beat, whatever it does."""

from __future__ import annotations

import numpy as np

from allranks.collectives import contract
from allranks.cost.checks import check_clock, check_topology, check_whole, exact_bytes
from allranks.cost.model import DATA_DRIVEN, LOCKSTEP
from allranks.cost.sizes import Floats
from allranks.topology import Topology
from allranks.topology.network import Cut


def lower_bound(  # noqa: PLR0913 - what a bound depends on
    collective: str,
    world_size: int,
    nbytes: float,
    topology: Topology,
    *,
    switches: bool = False,
    clock: str = LOCKSTEP,
) -> float:
    """Return seconds that no schedule of sends and receives can beat in lock-step.

    **Latency.** In one alpha a rank passes data to `ports * in_flight` others, so what one rank
    knows reaches at most (1 + ports in_flight)^t ranks in t alphas: ceil(log2 n) alphas on the
    usual machine. Read backwards, the same holds for what must come together on one rank.

    **Bandwidth.** The bytes that must cross some rank's ports one way, over their joint bandwidth:

    - broadcast: S into every rank but the root; reduce: S into the root
    - scatter: (n-1)/n S out of the root; gather: (n-1)/n S into it
    - all_gather and all_to_all: (n-1)/n S into every rank, which has only its own part
    - reduce_scatter: (n-1)/n S out of every rank, whose parts of the others' blocks must leave it
    - all_reduce: 2(n-1)/n S. An element needs n - 1 transfers before one rank has the whole sum and
      n - 1 more before all have it; so 2(n-1)S bytes in all, and some rank receives the mean.

    **Reduction.** n parts take n - 1 additions, (n-1) S bytes in all, so some rank adds the mean,
    (n-1)/n S. For reduce this may be another rank than the root, so the larger of the two counts.

    **Groups.** In a network of tiers, the ranks of a node, or of a leaf, are one rank with the
    node's links for ports: of m groups, g ranks each, the same bytes must cross the border, with m
    for n, and (n-g)/n for (n-1)/n (all_to_all: g times that). The slowest border counts.

    Where every port pays at most one alpha in a step, that is, ranks talk to at most `ports *
    in_flight` peers each way, a step takes an alpha and then its bytes, so the terms add up. If
    some pay several, one port's bytes may hide another's alphas, all but one, and so may they on
    the data-driven clock: there (`clock="data_driven"`) the larger of the two counts.

    **Switches that add** lie outside, unless `switches` is true: then two alphas reach everybody,
    and an all_reduce moves only S into and out of every rank, and adds for nothing.

    Raises:
        ValueError: an unknown collective or clock, n below 1, a negative size, a topology for
            fewer ranks.

    >>> round(lower_bound("broadcast", 6, 48_000_000, Topology.preset("bench", 6)), 9)
    0.001932
    """
    n = check_whole("world_size", world_size)
    name = contract(collective).name
    check_topology(topology, n)
    check_clock(clock)
    whole = float(exact_bytes(nbytes))
    if n == 1 or whole == 0:
        return 0.0
    cuts = _cuts(topology, n)
    least = min(cut.alpha for cut in cuts)
    terms = _alphas(1, n, topology)
    terms = min(terms, 2) if switches else terms
    bound = 0.0
    for cut in cuts:
        crossings = _alphas(int(cut.sizes.max()), cut.sizes.size, topology)
        crossings = 1 if switches else min(crossings, terms)
        latency = crossings * cut.alpha + (terms - crossings) * least
        if clock == DATA_DRIVEN:  # near messages may travel beside far ones
            latency = max(crossings * cut.alpha, terms * least)
        once = (1 if clock == DATA_DRIVEN else terms) * least + (cut.alpha - least)
        bound = max(bound, latency, once + _crossing(name, cut, n, whole, switches=switches))
    gamma = 0.0 if switches else topology.gamma
    if gamma and contract(name).reduces:
        once = (1 if clock == DATA_DRIVEN else terms) * least
        bound = max(bound, once + _added(name, cuts[0], n, whole, topology))
    return bound


def _cuts(topology: Topology, n: int) -> list[Cut]:
    """Return the borders that count, that of every single rank first."""
    ports = topology.ports
    if topology.network is None:
        capacity = np.full(n, topology.bandwidth * ports)
        return [Cut(np.ones(n, dtype=np.int64), capacity, topology.alpha)]
    ranks, *groups = topology.network.cuts(n)
    return [ranks._replace(capacity=ranks.capacity * ports), *groups]


def _alphas(size: int, groups: int, topology: Topology) -> int:
    """Return the alphas after which all groups can know something, if all of a group tell it."""
    terms, reach = 0, 1
    while reach < groups:
        terms, reach = terms + 1, reach * (1 + size * topology.ports * topology.in_flight)
    return terms


def _crossing(name: str, cut: Cut, n: int, whole: float, *, switches: bool) -> float:
    """Return the seconds that bytes need which must cross the border of some group one way."""
    inside = cut.sizes / n
    forced: Floats = np.full(cut.sizes.size, whole)
    if name == "all_to_all":
        forced = cut.sizes * (1 - inside) * whole
    elif name not in ("broadcast", "reduce", "all_reduce"):
        forced = (1 - inside) * whole
    seconds = forced / cut.capacity
    if name in ("scatter", "gather"):
        return float(seconds.min())  # whichever group has the root
    groups = cut.sizes.size
    if name == "all_reduce" and not switches:
        mean = 2 * (groups - 1) * whole / float(cut.capacity.sum())
        return max(mean, float(seconds.max()))
    return float(seconds.max())


def _added(name: str, ranks: Cut, n: int, whole: float, topology: Topology) -> float:
    """Return the seconds in which some rank receives its mean share and adds what it must."""
    share = (n - 1) * whole / n
    moved = 2 * share if name == "all_reduce" else share
    mean = float(ranks.capacity.mean())
    return moved / mean + share * topology.gamma / topology.ports
