"""Any small network: a list of links between ranks, switches that add and switches that pass on.

Every message takes the one route that is fixed beforehand: the least sum of alphas, then the fewest
links, then the links named first. It takes the sum of its links' alphas and shares each of them
with the other messages of its step. A rank on the way passes on what is not for it, as the network
card of a torus does.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from allranks.errors import shown
from allranks.topology.checks import rate, seconds, whole
from allranks.topology.network import Array, Cut, Floats, Passage, Routes

MOST_VERTICES = 2048
_MANY = 10**18  # from here on nobody reads the digits


class Link(NamedTuple):
    """A cable between two ends; each is a rank, a switch that adds, or the name of another switch.

    `alpha` in seconds, `bandwidth` in bytes per second and direction. A link carries both ways at
    once, or only from `a` to `b` if `both_ways` is false.
    """

    a: int | str
    b: int | str
    alpha: float
    bandwidth: float
    both_ways: bool = True


class _Wire(NamedTuple):
    """One direction of a link, between numbered vertices."""

    start: int
    end: int
    alpha: float
    bandwidth: float


@dataclass(frozen=True)
class Graph:
    """A network given link by link. `switches` vertices behind the ranks are switches that add.

    Raises:
        ValueError: an end that is no rank, switch or name, a link to itself, a wrong number, or an
            endpoint that another cannot reach; the message says which.
    """

    world_size: int
    links: tuple[Link, ...]
    switches: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "links", tuple(Link(*link) for link in self.links))
        whole("switches", self.switches, least=0)
        self._check_size(self.world_size + self.switches)
        for number, link in enumerate(self.links):
            self._check(f"link {number} ({link.a}, {link.b})", link)
        self._check_size(len(self._vertices))
        self._check_reach()

    def _check_size(self, vertices: int) -> None:
        if vertices > MOST_VERTICES:
            many = f"{vertices:,} endpoints and switches" if vertices < _MANY else shown(vertices)
            message = (
                f"a graph of {many} is too large, it may have {MOST_VERTICES:,}; Topology.tiers "
                "holds any number"
            )
            raise ValueError(message)

    def _check(self, where: str, link: Link) -> None:
        last = self.world_size + self.switches - 1
        ends: tuple[object, object] = (link.a, link.b)
        for end in ends:
            known = isinstance(end, str) or (
                isinstance(end, int) and not isinstance(end, bool) and 0 <= end <= last
            )
            if not known:
                message = (
                    f"{where}: {shown(end)} is neither a rank, a switch that adds (together 0 to "
                    f"{last}), nor the name of another switch in quotes"
                )
                raise ValueError(message)
        if link.a == link.b:
            message = f"{where}: both ends are the same; leave the link out"
            raise ValueError(message)
        seconds(f"{where}: alpha", link.alpha)
        rate(f"{where}: bandwidth", link.bandwidth)

    def _check_reach(self) -> None:
        """Refuse endpoints that the first rank cannot reach, or that cannot reach it."""
        endpoints = self.world_size + self.switches
        for forward in (True, False):
            out: dict[int, list[int]] = {}
            for wire in self._wires:
                start, end = (wire.start, wire.end) if forward else (wire.end, wire.start)
                out.setdefault(start, []).append(end)
            seen, ahead = {0}, [0]
            while ahead:
                new = set(out.get(ahead.pop(), ())) - seen
                seen |= new
                ahead += new
            if lost := sorted(set(range(endpoints)) - seen):
                name = self._name(lost[0])
                way = f"rank 0 cannot reach {name}" if forward else f"{name} cannot reach rank 0"
                message = f"{way}: no links lead there; add a link, or leave the endpoint out"
                raise ValueError(message)

    @cached_property
    def _vertices(self) -> dict[int | str, int]:
        """Number the vertices: ranks, switches that add, then the names in order."""
        endpoints = self.world_size + self.switches
        names = {end for link in self.links for end in link[:2] if isinstance(end, str)}
        known: dict[int | str, int] = {end: end for end in range(endpoints)}
        return known | {name: endpoints + i for i, name in enumerate(sorted(names))}

    @cached_property
    def _wires(self) -> list[_Wire]:
        wires = []
        for link in self.links:
            a, b = self._vertices[link.a], self._vertices[link.b]
            wires.append(_Wire(a, b, float(link.alpha), float(link.bandwidth)))
            if link.both_ways:
                wires.append(_Wire(b, a, float(link.alpha), float(link.bandwidth)))
        return wires

    @cached_property
    def _out(self) -> dict[int, list[int]]:
        """Return the wires that leave each vertex."""
        out: dict[int, list[int]] = {}
        for number, wire in enumerate(self._wires):
            out.setdefault(wire.start, []).append(number)
        return out

    @cached_property
    def _known(self) -> dict[int, tuple[dict[int, float], dict[int, int]]]:
        """Return what has been asked so far: for a source, what `_from` returned."""
        return {}

    def _from(self, source: int) -> tuple[dict[int, float], dict[int, int]]:
        """Return the alpha to every vertex, and its last wire (Dijkstra's algorithm)."""
        if source not in self._known:
            best = {source: (0.0, 0)}
            last: dict[int, int] = {}
            ahead = [(0.0, 0, source)]
            while ahead:
                alpha, hops, vertex = heapq.heappop(ahead)
                if (alpha, hops) > best[vertex]:
                    continue
                for number in self._out.get(vertex, ()):
                    wire = self._wires[number]
                    found = alpha + wire.alpha, hops + 1
                    if wire.end not in best or found < best[wire.end]:
                        best[wire.end], last[wire.end] = found, number
                        heapq.heappush(ahead, (*found, wire.end))
            self._known[source] = {end: alpha for end, (alpha, _) in best.items()}, last
        return self._known[source]

    def _way(self, source: int, end: int) -> tuple[float, list[int]]:
        """Return the alpha of a route and its wires in order."""
        alphas, last = self._from(source)
        alpha, passed = alphas[end], []
        while end in last:
            passed.append(last[end])
            end = self._wires[last[end]].start
        return alpha, passed[::-1]

    def _name(self, vertex: int) -> str:
        if vertex < self.world_size:
            return f"rank {vertex}"
        return f"switch {vertex - self.world_size}"

    def place(
        self,
        n: int,  # noqa: ARG002 - as every network
        num_switches: int,
        src: Array,  # noqa: ARG002 - as every network
        dst: Array,  # noqa: ARG002 - as every network
        kind: str = "",  # noqa: ARG002 - as every network
    ) -> Array:
        """Return the vertices of a schedule's switches: those after the ranks, in order.

        Raises:
            ValueError: the schedule has more switches than add here.
        """
        if num_switches > self.switches:
            message = (
                f"switch {self.switches} of the schedule does not exist: switches that add here: "
                f"{self.switches}; make the graph with switches={num_switches}, or choose an "
                "algorithm without switches"
            )
            raise ValueError(message)
        return self.world_size + np.arange(num_switches)

    def routes(self, n: int, places: Array, src: Array, dst: Array) -> Routes:
        """Return the ways of messages, each found once."""
        ends = np.concatenate([np.arange(n), places])
        vertices = self.world_size + self.switches
        pairs, which = np.unique(ends[src] * vertices + ends[dst], return_inverse=True)
        ways = [self._way(pair // vertices, pair % vertices) for pair in pairs.tolist()]
        rates = np.array([*(wire.bandwidth for wire in self._wires), np.inf])
        alpha = np.array([alpha for alpha, _ in ways])
        first, last = (
            rates[[wires[place] if wires else -1 for _, wires in ways]] for place in (0, -1)
        )
        passed = np.array([wire for _, wires in ways for wire in wires], dtype=np.int64)
        hops = np.array([len(wires) for _, wires in ways], dtype=np.int64)
        begin = (np.cumsum(hops) - hops)[which]
        rows = np.repeat(np.arange(which.size), hops[which])
        hop = np.arange(rows.size) - np.repeat(np.cumsum(hops[which]) - hops[which], hops[which])
        link = passed[begin[rows] + hop]
        return Routes(
            alpha=alpha[which],
            out=first[which],
            into=last[which],
            passages=(Passage(rows, link, rates[link], "any"),),
        )

    def period(self, n: int) -> int:
        """Return n: nothing is known about the symmetry of a graph."""
        return n

    def alike(self, n: int, shift: Array) -> Array:  # noqa: ARG002
        """Return the distances themselves."""
        return shift

    def cuts(self, n: int) -> list[Cut]:
        """Return the ranks one by one: what leaves or enters a rank passes its own links.

        A rank that passes on what is not for it has as much capacity as its links together.
        """
        capacity: Floats = np.zeros((2, n))
        for wire in self._wires:
            if wire.start < n:
                capacity[0, wire.start] += wire.bandwidth
            if wire.end < n:
                capacity[1, wire.end] += wire.bandwidth
        alpha = min((wire.alpha for wire in self._wires), default=0.0)
        return [Cut(np.ones(n, dtype=np.int64), capacity.max(axis=0), alpha)] if n > 1 else []

    def link_name(self, link: int) -> str:
        """Return both ends of a wire: "rank 0 to leaf"."""
        names = {number: name for name, number in self._vertices.items() if isinstance(name, str)}
        wire = self._wires[link]
        start, end = (names.get(vertex) or self._name(vertex) for vertex in wire[:2])
        return f"{start} to {end}"


def make_graph(world_size: int, links: Iterable[Link], switches: int) -> Graph:
    """Return the network of these links.

    Raises:
        ValueError: as Graph, or a link that is not (a, b, alpha, bandwidth).
    """
    made = []
    given: object = links
    if not isinstance(given, Iterable) or isinstance(given, str):
        message = f"links is {shown(given)}; it must be a list of Link(a, b, alpha, bandwidth)"
        raise ValueError(message)  # noqa: TRY004 - a wrong topology, like the others here
    whole("switches", switches, least=0)
    for number, link in enumerate(links):
        try:
            made.append(Link(*link))
        except TypeError:
            message = f"link {number} is {shown(link)}; make it with Link(a, b, alpha, bandwidth)"
            raise ValueError(message) from None
    return Graph(world_size, tuple(made), switches)
