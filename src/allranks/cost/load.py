"""How long messages keep ports and links busy: the price of steps in lock-step.

A port that passes messages of b bytes in all one way, r bytes of which are added to what the
receiver has, is busy for its alphas + b / bandwidth + r gamma. `in_flight` messages share one
alpha, the largest of theirs, the longest with the longest. A shared link is busy for the largest
alpha of its messages + b / bandwidth: alphas overlap in a network, bytes do not.

Everything works on columns with one entry per message; a step lasts as long as what is busiest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from allranks.cost.groups import Groups
from allranks.cost.sizes import Array, Floats, Sizes
from allranks.topology import Topology
from allranks.topology.network import Passage, Routes


class Messages(NamedTuple):
    """Messages of steps 0, 1, ..., in order of their steps; none twice from src to dst in a step.

    `units` and `reduced` are sizes in the units of `Sizes`. An entry of weight w stands for w
    messages from src to w peers, or to dst from w peers, that load the ports and links asked about
    alike. `sides` are those asked about: sending ports and the links near them, or receiving ones.
    """

    step: Array
    src: Array
    dst: Array
    units: Array
    reduced: Array
    weight: Array | None = None
    sides: tuple[str, ...] = ("out", "in")


class Busy(NamedTuple):
    """Ports or links in rising steps: how long each is busy, and how many alphas a port pays.

    `groups` gathers the messages that pass each; entry i of these is the message `rows[i]`.
    """

    step: Array
    seconds: Floats
    terms: Array
    groups: Groups
    rows: Array


@dataclass(frozen=True)
class Machine:
    """A topology as one schedule uses it, with its switches placed, and the sizes of its chunks."""

    topology: Topology
    world_size: int
    num_switches: int
    sizes: Sizes
    places: Array

    @property
    def endpoints(self) -> int:
        """Return the number of ranks and switches."""
        return self.world_size + self.num_switches

    def busiest(self, messages: Messages, steps: int) -> tuple[Floats, Array]:
        """Return for each step how long it lasts and the most alphas that one port pays."""
        if steps == 1 and self._one_each(messages):
            return self._alike(messages), np.ones(1, dtype=np.int64)
        seconds, terms = np.zeros(steps), np.zeros(steps, dtype=np.int64)
        for busy in self.busy(messages):
            if steps == 1 and busy.step.size:
                seconds = np.maximum(seconds, busy.seconds.max())
                terms = np.maximum(terms, busy.terms.max())
            elif busy.step.size:
                first = np.flatnonzero(np.diff(busy.step, prepend=-1))
                here = busy.step[first]
                for most, column in ((seconds, busy.seconds), (terms, busy.terms)):
                    most[here] = np.maximum(most[here], np.maximum.reduceat(column, first))
        return seconds, terms

    def _one_each(self, messages: Messages) -> bool:
        """Return whether no endpoint of a uniform network has two peers one way."""
        return (
            self.topology.network is None
            and messages.weight is None
            and messages.src.size > 0
            and int(np.bincount(messages.src).max()) == 1
            and int(np.bincount(messages.dst).max()) == 1
        )

    def _alike(self, messages: Messages) -> Floats:
        """Return how long a step lasts in which every port passes one message at most."""
        units, gamma = messages.units.max(keepdims=True), self.topology.gamma
        seconds: Floats = self.topology.alpha + self.sizes.floats(units) / self.topology.bandwidth
        if not gamma or not messages.reduced.any():
            return seconds
        added = self.topology.alpha + self.sizes.floats(messages.units) / self.topology.bandwidth
        added += self.sizes.floats(messages.reduced) * gamma
        return np.asarray(np.maximum(seconds, added.max()))

    def until(self, messages: Messages) -> Floats:
        """Return for each message when the last of its ports and links is done with its step."""
        ends = np.zeros(messages.step.size)
        for busy in self.busy(messages):
            np.maximum.at(ends, busy.rows, busy.groups.spread(busy.seconds))
        return ends

    def busy(self, messages: Messages) -> list[Busy]:
        """Return the loads of sending ports, of receiving ports, and of shared links."""
        routes = self.routes(messages)
        found = [self.side(messages, side, routes) for side in messages.sides]
        if routes is not None:
            found += [
                self._links(messages, routes, passage)
                for passage in routes.passages
                if passage.side in messages.sides or len(messages.sides) > 1
            ]
        return found

    def routes(self, messages: Messages) -> Routes | None:
        """Return the ways of messages through the network; None where it is uniform."""
        if self.topology.network is None:
            return None
        return self.topology.network.routes(
            self.world_size, self.places, messages.src, messages.dst
        )

    def ports(self, messages: Messages, side: str) -> Array:
        """Return the number of the port that each message leaves by, or arrives at.

        The peers of a rank are dealt over its ports in order of their numbers; a switch has a port
        for every endpoint.
        """
        here, there = messages.src, messages.dst
        if side == "in":
            here, there = there, here
        n, ports = self.world_size, self.topology.ports
        port = here
        if ports > 1:
            port = here * ports + _turn(messages.step, here, there) % ports
        if self.num_switches:
            own = n * ports + (here - n) * self.endpoints + there
            port = np.where(here >= n, own, port)
        return port

    def side(self, messages: Messages, side: str, routes: Routes | None = None) -> Busy:
        """Return the loads of sending or of receiving ports."""
        if routes is None:
            routes = self.routes(messages)
        space = self.world_size * self.topology.ports + self.num_switches * self.endpoints
        key = messages.step * space + self.ports(messages, side)
        in_flight, alpha, rate = self.topology.in_flight, None, None
        if routes is not None:
            alpha, rate = routes.alpha, routes.out if side == "out" else routes.into
        groups = Groups.of(key, messages.weight, alpha if in_flight > 1 else None)
        step = groups.first(messages.step)
        terms = np.broadcast_to(-(-groups.count() // in_flight), step.shape)
        if alpha is None:
            seconds = terms * self.topology.alpha
        else:
            seconds = groups.sum_ordered(groups.leaders(in_flight) * groups.arranged(alpha))
        seconds = seconds + self._bytes(groups, messages.units, rate)
        if side == "in" and self.topology.gamma and messages.reduced.any():
            added = self.sizes.floats(groups.sum(messages.reduced))
            seconds += added * self.topology.gamma
        return Busy(step, seconds, terms, groups, np.arange(key.size))

    def _bytes(self, groups: Groups, units: Array, rate: Floats | None) -> Floats:
        """Return the seconds that the bytes of each group take."""
        if rate is None:
            return self.sizes.floats(groups.sum(units)) / self.topology.bandwidth
        if rate.size and (rate == rate[0]).all():
            return self.sizes.floats(groups.sum(units)) / float(rate[0])
        weighted = units if groups.weight is None else units * groups.weight
        return groups.sum_ordered(groups.arranged(self.sizes.floats(weighted) / rate))

    def _links(self, messages: Messages, routes: Routes, passage: Passage) -> Busy:
        rows, link = passage.rows, passage.link
        low = link.min(initial=0)
        step = messages.step[rows]
        busy = self.link_seconds(
            step * (link.max(initial=0) - low + 1) + link - low,
            alpha=routes.alpha[rows],
            units=messages.units[rows],
            rate=passage.bandwidth,
            weight=None if messages.weight is None else messages.weight[rows],
        )
        return busy._replace(step=busy.groups.first(step), rows=rows)

    def link_seconds(
        self, key: Array, *, alpha: Floats, units: Array, rate: Floats, weight: Array | None = None
    ) -> Busy:
        """Return how long links are busy, given which link in which step each message passes."""
        groups = Groups.of(key, weight)
        seconds = groups.largest(alpha) + self.sizes.floats(groups.sum(units)) / groups.first(rate)
        step = groups.first(key)
        return Busy(step, seconds, np.zeros_like(step), groups, np.arange(key.size))


def _turn(step: Array, here: Array, there: Array) -> Array:
    """Return which of its peers in a step each message's peer is, counted from 0."""
    order = np.lexsort((there, here, step))
    new = np.ones(order.size, dtype=bool)
    new[1:] = (np.diff(here[order]) != 0) | (np.diff(step[order]) != 0)
    position = np.arange(order.size)
    turn = np.empty(order.size, dtype=np.int64)
    turn[order] = position - np.maximum.accumulate(np.where(new, position, 0))
    return turn
