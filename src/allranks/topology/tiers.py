"""Regular nested machines: ranks in nodes, nodes under leaf switches, leaves under a spine.

**A tier** joins `size` children by a switch that never blocks. The children of the first tier are
ranks, those of the next one are whole groups of the tier before. A child hangs on its switch by
`links` full-duplex links; a rank inside the child uses the link of its position. A message climbs
from its sender to the lowest switch above both ends and down again. It takes that tier's `alpha`,
and it shares every link on the way with the other messages of its step.

All is arithmetic on the numbers of ranks, so any number of routes is found at once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from allranks.errors import shown
from allranks.topology.checks import rate, seconds, whole
from allranks.topology.network import Array, Cut, Floats, Passage, Routes

MOST_RANKS = 1 << 40
IN_NETWORK = ("nvls", "sharp")  # the ways in which a switch can add
# Of each endpoint: its tier (0 for a rank), a rank below it, and its rail if a tier has any.
_Ends: TypeAlias = tuple[Array, Array, Array]


@dataclass(frozen=True, kw_only=True)
class Tier:
    """One level of a nested machine.

    `size` children are joined (None: as many as there are, for the last tier). `alpha` is the time
    of a message that turns round here (s), `bandwidth` what each of a child's `links` carries each
    way (bytes/s). With `rails`, link i of every child leads to switch i of several, and only ranks
    on the same rail meet here; the tier above joins the rails. `backplane` is what all messages
    that turn round in one switch share, both ways together (bytes/s).

    `reduces` says whether the switches here can add, and how: False for not at all, "nvls" for
    NVSwitches, which give a sum to the GPU that reads it, "sharp" for switches that send it on to
    all, True for both. In a topology made of tiers this alone decides; `Topology.reduces`, a yes or
    no, is for networks without tiers or links.

    Raises:
        ValueError: a number that cannot be, or a `reduces` that is none of the four.
    """

    name: str
    alpha: float
    bandwidth: float
    size: int | None = None
    links: int = 1
    rails: bool = False
    backplane: float = math.inf
    reduces: bool | str = False

    def __post_init__(self) -> None:
        where = f"tier {self.name!r}: "
        seconds(where + "alpha", self.alpha)
        rate(where + "bandwidth", self.bandwidth)
        rate(where + "backplane", self.backplane)
        whole(where + "links", self.links)
        if self.size is not None:
            whole(where + "size", self.size)
        if not isinstance(self.reduces, bool) and self.reduces not in IN_NETWORK:
            ways = ", ".join(map(repr, (True, False, *IN_NETWORK)))
            message = f"{where}reduces is {shown(self.reduces)}; it must be one of {ways}"
            raise ValueError(message)


@dataclass(frozen=True)
class Tiers:
    """A network of nested tiers, the innermost first.

    Raises:
        ValueError: no tier, a size left open below the last tier, several links for one rank, or
            rails that nothing joins.
    """

    tiers: tuple[Tier, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tiers", tuple(self.tiers))
        if not self.tiers:
            message = "tiers: there is none; give at least one Tier"
            raise ValueError(message)
        for tier, above in itertools.zip_longest(self.tiers, self.tiers[1:]):
            if tier.size is None and above is not None:
                message = f"tier {tier.name!r}: size is open; only the last tier's may be"
                raise ValueError(message)
            if tier.rails and (above is None or above.rails):
                message = (
                    f"tier {tier.name!r}: its rails are never joined, so ranks on different rails "
                    "cannot reach each other; add a tier above it without rails"
                )
                raise ValueError(message)
        if self.tiers[0].links != 1 or self.tiers[0].rails:
            message = f"tier {self.tiers[0].name!r}: a rank has one link here; set ports instead"
            raise ValueError(message)

    @property
    def spans(self) -> tuple[int, ...]:
        """Return how many ranks a child of each tier holds, and last what the whole can hold."""
        sizes = [MOST_RANKS if tier.size is None else tier.size for tier in self.tiers]
        return tuple(itertools.accumulate(sizes, lambda a, b: min(a * b, MOST_RANKS), initial=1))

    def place(self, n: int, num_switches: int, src: Array, dst: Array, kind: str = "") -> Array:
        """Return (tier, a rank below, rail) of every switch: the lowest that all its peers share.

        Switches whose peers are ranks stand first, then those above them, and so on.

        Raises:
            ValueError: no switch that adds joins them all.
        """
        places = np.full((num_switches, 3), -1, dtype=np.int64)
        here, there = np.concatenate([src, dst]), np.concatenate([dst, src])
        key = np.sort((here * (n + num_switches) + there)[here >= n])
        key = key[np.diff(key, prepend=-1) != 0]
        switch, peer = key // (n + num_switches) - n, key % (n + num_switches)
        while True:
            known = np.concatenate([np.ones(n, dtype=bool), places[:, 0] >= 0])
            ready = np.flatnonzero(known[peer] & ~known[n + switch])
            if not ready.size:
                return places  # nobody talks to what is left
            self._place(n, places, switch[ready], peer[ready], kind)

    def _place(self, n: int, places: Array, switch: Array, peer: Array, kind: str) -> None:
        """Place switches whose peers are known, given pairs of a switch and a peer, in order."""
        ends = level, rank, rail = self._ends(n, places, peer)
        starts = np.flatnonzero(np.diff(switch, prepend=-1))
        first = np.repeat(starts, np.diff(starts, append=switch.size))
        top = np.maximum.reduceat(level, starts)[np.cumsum(np.diff(switch, prepend=-1) != 0) - 1]
        meets = self._meeting(top, (level[first], rank[first], rail[first]), ends)
        meets = np.maximum.reduceat(meets, starts)
        tiers = np.array(
            [0, *(self._adding(number, kind) for number in range(1, len(self.tiers) + 1))]
        )
        where = tiers[meets]
        if not where.all():
            self._refuse_switch(int(np.argmin(where)), switch[starts], meets, kind)
        places[switch[starts], 0] = where
        places[switch[starts], 1] = rank[starts]
        for number in set(where.tolist()):
            here = starts[where == number]
            places[switch[here], 2] = self._rail(number, level[here], rank[here], rail[here])

    def _adding(self, number: int, kind: str) -> int:
        """Return the lowest tier from this one upwards whose switches add so; 0 if none does."""
        higher = range(number, len(self.tiers) + 1)
        return next((above for above in higher if _adds(self.tiers[above - 1], kind)), 0)

    def _refuse_switch(self, which: int, switches: Array, meets: Array, kind: str) -> None:
        as_asked = f" as {kind} needs it" if kind else ""
        where = self.tiers[meets[which] - 1].name
        if able := self._that_add(kind):
            message = (
                f"the ranks of switch {switches[which]} meet at tier {where!r}, and neither there "
                f"nor above does a switch add{as_asked}, only at tier {able}; choose an algorithm "
                "without switches, a hierarchical one, or fewer ranks"
            )
            raise ValueError(message)
        others = [(way, self._that_add(way)) for way in IN_NETWORK]
        instead = "".join(f" (tier {names} adds for {way})" for way, names in others if names)
        also = "".join(f", {way}" for way, names in others if names)
        message = (
            f"no switch adds{as_asked}{instead}; choose an algorithm without switches{also}, or a "
            "topology that has such switches"
        )
        raise ValueError(message)

    def _that_add(self, kind: str) -> str:
        return " or ".join(repr(tier.name) for tier in self.tiers if _adds(tier, kind))

    def _ends(self, n: int, places: Array, ends: Array) -> _Ends:
        """Return the tier of each endpoint (0: a rank), a rank below it, and its rail."""
        if not places.size:
            return np.broadcast_to(np.int64(0), ends.shape), ends, ends
        level, rank, rail = np.zeros_like(ends), ends.copy(), np.full_like(ends, -1)
        switches = np.flatnonzero(ends >= n)
        level[switches], rank[switches], rail[switches] = places[ends[switches] - n].T
        return level, rank, rail

    def _rail(self, number: int, level: Array, rank: Array, rail: Array) -> Array:
        """Return the rail of endpoints in a tier (counted from 1); 0 where it has none."""
        tier, span = self.tiers[number - 1], self.spans[number - 1]
        if not tier.rails:
            return np.zeros_like(rank)
        return np.where(level == number, rail, rank % span * tier.links // span)

    def _meeting(self, top: Array, a: _Ends, b: _Ends) -> Array:
        """Return the lowest tier from `top` upwards at which two endpoints hang on one switch."""
        meets = np.maximum(top, 1)
        (_, a_rank, _), (_, b_rank, _) = a, b
        for number, span in enumerate(self.spans[1:-1], 1):  # the last tier joins everybody
            apart = a_rank // span != b_rank // span
            if self.tiers[number - 1].rails:
                apart |= self._rail(number, *a) != self._rail(number, *b)
            meets += (meets == number) & apart
        return meets

    def routes(self, n: int, places: Array, src: Array, dst: Array) -> Routes:
        """Return the ways of messages: up to the switch where they turn round, and down."""
        a, b = self._ends(n, places, src), self._ends(n, places, dst)
        meets = self._meeting(np.maximum(a[0], b[0]), a, b)
        alphas = np.array([tier.alpha for tier in self.tiers])
        rates = np.array([tier.bandwidth for tier in self.tiers])
        passages = [
            self._passage(number, ends, meets, side)
            for number in range(2, len(self.tiers) + 1)
            for side, ends in (("out", a), ("in", b))
        ]
        if any(tier.backplane < math.inf for tier in self.tiers):
            passages.append(self._backplanes(meets, a))
        return Routes(
            alpha=alphas[meets - 1],
            out=self._port(rates, a[0], meets),
            into=self._port(rates, b[0], meets),
            passages=tuple(passage for passage in passages if passage.rows.size),
        )

    def _port(self, rates: Floats, level: Array, meets: Array) -> Floats:
        """Return the bandwidth of a port: of the link that leads on from an endpoint."""
        if not level.any():
            return np.broadcast_to(rates[0], level.shape)
        return np.asarray(rates[np.where(meets > level, level, level - 1)])

    def _passage(self, number: int, ends: _Ends, meets: Array, side: str) -> Passage:
        """Return which messages pass the links from the ends' groups into a tier."""
        rows = np.flatnonzero((ends[0] < number) & (meets >= number))
        level, rank, rail = (column[rows] for column in ends)
        tier, below, span = self.tiers[number - 1], self.tiers[number - 2], self.spans[number - 1]
        child, place, places = rank // span, rank % span, span
        if below.rails:
            child = child * below.links + self._rail(number - 1, level, rank, rail)
            inner = self.spans[number - 2]
            place, places = place // inner, span // inner
        index = (child * tier.links + place * tier.links // places) * len(self.tiers) + number - 1
        bandwidth = np.broadcast_to(tier.bandwidth, rows.shape)
        return Passage(rows, 2 * index + (side == "in"), bandwidth, side)

    def _backplanes(self, meets: Array, ends: _Ends) -> Passage:
        """Return which messages turn round in a backplane that is shared."""
        limits = np.array([tier.backplane for tier in self.tiers])[meets - 1]
        rows = np.flatnonzero(limits < math.inf)
        spans = np.array(self.spans)[meets[rows]]
        index = ends[1][rows] // spans * len(self.tiers) + meets[rows] - 1
        return Passage(rows, -1 - index, limits[rows], "in")

    def period(self, n: int) -> int:
        """Return the ranks of one child of the last tier that n ranks need, if these are full."""
        top = next(number for number, span in enumerate(self.spans) if span >= n)
        rails = [number for number, tier in enumerate(self.tiers, 1) if tier.rails]
        crossed = [number + 1 for number in rails if n > self.spans[number - 1]]
        top = max([1, top, *crossed])
        span = self.spans[top - 1]
        limited = any(tier.backplane < math.inf for tier in self.tiers[top - 1 :])
        return n if n % span or limited else span

    def alike(self, n: int, shift: Array) -> Array:
        """Return for each distance the least that loads a group's own links just so.

        Beyond the neighboring groups all messages leave the group and climb to the last tier, so
        the group's own links see no difference.
        """
        span = self.period(n)
        far = (shift >= span) & (shift <= n - span)
        return np.where(far, span, shift)

    def cuts(self, n: int) -> list[Cut]:
        """Return for each tier the groups that are its children, with the links they hang on."""
        found = []
        for number, tier in enumerate(self.tiers, 1):
            span = self.spans[number - 1]
            if n <= span:
                break
            sizes = np.minimum(span, n - np.arange(0, n, span))
            links = tier.links
            if number > 1 and self.tiers[number - 2].rails:
                links *= self.tiers[number - 2].links
            capacity = np.full(sizes.size, links * tier.bandwidth)
            least = min(higher.alpha for higher in self.tiers[number - 1 :])
            found.append(Cut(sizes, capacity, least))
        return found

    def link_name(self, link: int) -> str:
        """Return the name of a link: its child, its number among the child's links, its way."""
        if link < 0:
            index, number = divmod(-1 - link, len(self.tiers))
            return f"{self.tiers[number].name} {index}, backplane"
        index, number = divmod(link // 2, len(self.tiers))
        tier, below = self.tiers[number], self.tiers[number - 1]
        child, place = divmod(index, tier.links)
        name = f"{below.name} {child}"
        if below.rails:
            name = f"{below.name} {child // below.links}, rail {child % below.links}"
        which = f", link {place}" if tier.links > 1 else ""
        return f"{name}{which}, {'in' if link % 2 else 'out'}"


def make_tiers(tiers: Sequence[Tier], n: int, name: str) -> Tiers:
    """Return the network after checking that it holds n ranks.

    Raises:
        ValueError: as Tiers, or more ranks than it has endpoints.
    """
    given: object = tiers
    if not isinstance(given, Sequence) or isinstance(given, str):
        message = f"tiers is {shown(given)}; it must be a list of allranks.topology.Tier(...)"
        raise ValueError(message)  # noqa: TRY004 - a wrong topology, like the others here
    for tier in list[object](tiers):
        if not isinstance(tier, Tier):
            message = f"tiers: {tier!r} is no Tier; make each with allranks.topology.Tier(...)"
            raise ValueError(message)  # noqa: TRY004 - a wrong topology, like the others here
    made = Tiers(tuple(tiers))
    if n > made.spans[-1]:
        message = f"topology {name!r} has {made.spans[-1]:,} endpoints, too few for {n:,} ranks"
        raise ValueError(message)
    return made


def _adds(tier: Tier, kind: str) -> bool:
    """Return whether the switches of a tier add as this kind of schedule wants; "" is any kind."""
    return tier.reduces is True or (tier.reduces == kind if kind else bool(tier.reduces))
