"""The actors of one world: started together, replaced when dead, killed when stalled."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from allranks.errors import StepTimeout, TransportUnavailable
from allranks.runtime import cluster as ray_cluster
from allranks.runtime.cluster import Cluster
from allranks.runtime.discover import available_memory
from allranks.runtime.worker import Order, Report

START_SECONDS = 60.0
START_SECONDS_PER_RANK = 3.0
BYTES_PER_PROCESS = 80 << 20
_GONE_SECONDS = 3.0


@dataclass
class _Actor:
    handle: Any
    pid: int = 0
    call: Any = None  # what it is working on; None between runs


@dataclass(frozen=True)
class Death:
    """An endpoint's process ended; `detail` is what Ray says about it."""

    pid: int
    detail: str


class Group:
    """One actor per endpoint. Knows Ray and processes, neither schedules nor buffers."""

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._actors: dict[int, _Actor] = {}

    @property
    def cluster(self) -> Cluster:
        """Return the connection to Ray, made when it is first needed.

        Raises:
            TransportUnavailable: see `cluster.connect`.
        """
        if self._cluster is None or not self._cluster.connected():
            self._cluster = ray_cluster.connect()
            self._actors.clear()
        return self._cluster

    def ensure(self, endpoints: int, name: Sequence[str]) -> list[int]:
        """Start what is missing of the first `endpoints` actors; return those started.

        `name[e]` is what a person calls endpoint e.

        Raises:
            TransportUnavailable: not enough memory for so many processes, or one fails to start.
            StepTimeout: an actor did not start in time; it is named, and none is left behind.
        """
        cluster = self.cluster
        for endpoint, actor in list(self._actors.items()):
            if actor.call is not None:
                self.kill(endpoint)  # an interrupted run left it working
        missing = [e for e in range(endpoints) if e not in self._actors]
        if not missing:
            return []
        check_memory(len(missing))
        actor_class = ray_cluster.actor_class(cluster)
        paths = ray_cluster.import_paths()
        for endpoint in missing:
            self._actors[endpoint] = _Actor(actor_class.remote(paths))
        try:
            self._await_start(missing, name)
        except BaseException:
            for endpoint in missing:
                self.kill(endpoint)
            raise
        return missing

    def _await_start(self, missing: Sequence[int], name: Sequence[str]) -> None:
        ray = self.cluster.ray
        calls = {self._actors[e].handle.hello.remote(): e for e in missing}
        seconds = START_SECONDS + START_SECONDS_PER_RANK * len(missing)
        deadline = time.monotonic() + seconds
        waiting = list(calls)
        while waiting:
            left = deadline - time.monotonic()
            if left <= 0:
                late = sorted(calls[call] for call in waiting)
                names = ", ".join(name[e] for e in late)
                message = (
                    f"{names}: the process did not start within {seconds:.0f} s; close other "
                    "programs or use fewer ranks, and look at Ray's logs (ray_session/logs)"
                )
                raise StepTimeout(message, rank=late[0])
            # Short slices: Ctrl-C is noticed between them.
            done, waiting = ray.wait(waiting, num_returns=1, timeout=min(left, 0.5))
            for call in done:
                endpoint = calls[call]
                try:
                    self._actors[endpoint].pid = ray.get(call)
                except ray.exceptions.RayError as error:
                    message = (
                        f"{name[endpoint]}: its process does not start ({_reason(error)}); check "
                        "that the Ray cluster runs the same Python environment as this program"
                    )
                    raise TransportUnavailable(message, rank=endpoint) from error

    def pids(self, endpoints: int) -> list[int]:
        """Return the process numbers of the first `endpoints` actors."""
        return [self._actors[e].pid for e in range(endpoints)]

    def submit(self, orders: Sequence[Order]) -> None:
        """Call every actor once."""
        for order in orders:
            actor = self._actors[order.endpoint]
            actor.call = actor.handle.run.remote(order)

    @property
    def pending(self) -> list[int]:
        """Return the endpoints that have not answered yet."""
        return sorted(e for e, actor in self._actors.items() if actor.call is not None)

    def answers(self, seconds: float) -> dict[int, Report | Death]:
        """Wait until at least one pending endpoint answers, or for so long; return the answers."""
        ray = self.cluster.ray
        calls = {self._actors[e].call: e for e in self.pending}
        if not calls:
            return {}
        done, _ = ray.wait(list(calls), num_returns=1, timeout=seconds)
        if done:
            done, _ = ray.wait(list(calls), num_returns=len(calls), timeout=0)
        answers: dict[int, Report | Death] = {}
        for call in done:
            endpoint = calls[call]
            try:
                answers[endpoint] = ray.get(call)
                self._actors[endpoint].call = None
            except ray.exceptions.RayError as error:
                answers[endpoint] = Death(self._actors[endpoint].pid, _reason(error))
                self.kill(endpoint)
        return answers

    def kill(self, endpoint: int) -> None:
        """End an endpoint's process, even a stopped one; `ensure` replaces it."""
        actor = self._actors.pop(endpoint, None)
        if actor is None:
            return
        if actor.pid:
            with suppress(ProcessLookupError):
                os.kill(actor.pid, signal.SIGKILL)
        if self._cluster is not None and self._cluster.connected():
            self._cluster.ray.kill(actor.handle, no_restart=True)

    def close(self) -> None:
        """End all processes and return when they are gone."""
        actors, self._actors = list(self._actors.values()), {}
        if self._cluster is not None and self._cluster.connected():
            for actor in actors:
                self._cluster.ray.kill(actor.handle, no_restart=True)
        pids = [actor.pid for actor in actors if actor.pid]
        _await_end(pids, _GONE_SECONDS / 2)
        for pid in pids:
            if _alive(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        _await_end(pids, _GONE_SECONDS / 2)


def check_memory(processes: int) -> None:
    """Refuse more new processes than this machine has memory for.

    Raises:
        TransportUnavailable: there is not enough; the message says how much.
    """
    room = available_memory()
    need = processes * BYTES_PER_PROCESS
    if room is not None and need > room:
        message = (
            f"World: {processes} more processes need about {need / 2**30:.1f} GiB and this machine "
            f"has {room / 2**30:.1f} GiB available; use fewer ranks here, or ar.simulate and "
            "ar.price, which need no process per rank"
        )
        raise TransportUnavailable(message)


def _await_end(pids: Sequence[int], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False  # the number went to somebody else's process
    return True


def _reason(error: BaseException) -> str:
    """Return the last line of what Ray says: the cause, without its traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
