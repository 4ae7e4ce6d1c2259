"""What all steps add up to: seconds, alphas, messages, and the bytes of every endpoint."""

from __future__ import annotations

import math

import numpy as np

from allranks.cost.alike import one_group
from allranks.cost.bounds import lower_bound
from allranks.cost.load import Machine, Messages
from allranks.cost.model import DATA_DRIVEN, LOCKSTEP, Cost
from allranks.cost.rates import busbw
from allranks.cost.sizes import INT, Floats, Whole, wide


class Tally:
    """Sums over the steps of one schedule on one machine, exact but for the seconds."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.steps = 0
        self.terms = 0
        self.crowded = False  # whether some port pays several alphas in one step
        self.messages = 0
        self.total = 0
        self._each = 0  # what every rank sends and receives, on top of the columns
        self._sent: Whole = np.zeros(machine.endpoints, dtype=np.int64)
        self._received: Whole = np.zeros(machine.endpoints, dtype=np.int64)
        self._seconds: list[float] = []

    def add(self, messages: Messages, *, steps: int, repeat: int = 1) -> None:
        """Add steps with their messages listed, so many times."""
        self._add_time_of(messages, steps, repeat)
        self.add_bytes(messages, repeat)
        self.messages += messages.src.size * repeat

    def _add_time_of(self, messages: Messages, steps: int, repeat: int) -> None:
        machine, network = self.machine, self.machine.topology.network
        parts: tuple[Messages, ...] = (messages,)
        if steps == 1 and network is not None and machine.topology.ports == 1:
            parts = one_group(messages, machine.world_size, network) or parts
        found = [machine.busiest(part, steps) for part in parts]
        seconds = np.maximum.reduce([lasts for lasts, _ in found])
        terms = np.maximum.reduce([most for _, most in found])
        self.crowded |= bool(terms.max(initial=0) > 1)
        self.add_time(seconds, int(terms.sum()), steps=steps, repeat=repeat)

    def add_time(self, seconds: Floats, terms: int, *, steps: int, repeat: int = 1) -> None:
        """Add the seconds and alphas of steps."""
        self.steps += steps * repeat
        self.terms += terms * repeat
        self._seconds.append(math.fsum(seconds.tolist()) * repeat)

    def add_bytes(self, messages: Messages, repeat: int | Whole = 1) -> None:
        """Add what endpoints send and receive, each message `repeat` times."""
        most = int(np.max(repeat, initial=1))
        units: Whole = wide(messages.units, most) * repeat
        self.total += int(wide(units).sum())
        if self.total > INT:
            self._sent, self._received = self._sent.astype(object), self._received.astype(object)
        np.add.at(self._sent, messages.src, units)
        np.add.at(self._received, messages.dst, units)

    def add_to_all(self, units: int, messages: int) -> None:
        """Add what every rank sends and receives alike, in so many messages each."""
        n = self.machine.world_size
        self._each += units
        self.total += n * units
        self.messages += n * messages

    def cost(self, collective: str, nbytes: float, data_driven: float | None = None) -> Cost:
        """Return the sums as a Cost, for S bytes; on another clock if its seconds are given."""
        machine, n = self.machine, self.machine.world_size
        duration = math.fsum(self._seconds) if data_driven is None else data_driven
        rates = busbw(collective, world_size=n, nbytes=nbytes, seconds=duration)
        nbytes_of = machine.sizes.nbytes
        return Cost(
            seconds=duration,
            steps=self.steps,
            latency_terms=self.terms,
            bytes_sent_max=nbytes_of(int(self._sent[:n].max()) + self._each),
            bytes_received_max=nbytes_of(int(self._received[:n].max()) + self._each),
            bytes_total=nbytes_of(self.total),
            messages=self.messages,
            algbw=rates.algbw,
            busbw=rates.busbw,
            switch_bytes_in=nbytes_of(sum(self._received[n:].tolist())),
            switch_bytes_out=nbytes_of(sum(self._sent[n:].tolist())),
            lower_bound=lower_bound(
                collective,
                n,
                nbytes,
                machine.topology,
                switches=machine.num_switches > 0,
                clock=DATA_DRIVEN if self.crowded or data_driven is not None else LOCKSTEP,
            ),
        )
