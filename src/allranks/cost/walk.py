"""The price of a schedule by adding up its transfers, millions of them in a second."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from allranks.cost.checks import check_clock, check_schedule, check_topology
from allranks.cost.clock import data_driven, timeline_events
from allranks.cost.groups import Groups
from allranks.cost.load import Machine, Messages
from allranks.cost.model import DATA_DRIVEN, LOCKSTEP, Cost, Event, LinkTraffic, Traffic
from allranks.cost.sizes import INT, Array, Sizes, sizes_of
from allranks.cost.tally import Tally
from allranks.errors import ScheduleError
from allranks.schedule import Columns, Schedule
from allranks.topology import Topology

IN_NETWORK = ("nvls", "sharp")  # algorithms that say in which way a switch must add
BLOCK = 1 << 18  # transfers that are added up at a time, so that memory stays small


def cost(  # noqa: PLR0913 - the size in two forms
    schedule: Schedule,
    *,
    topology: Topology,
    nbytes: float | None = None,
    count: int | None = None,
    itemsize: int | None = None,
    clock: str = LOCKSTEP,
) -> Cost:
    """Return what a schedule costs, for S = `nbytes`, or for `count` elements of `itemsize` bytes.

    S and `count` are of the whole vector: the output for all_gather, the input for reduce_scatter,
    one rank's send buffer for all_to_all. `clock` is "lockstep", where a step begins when the one
    before has ended everywhere, or "data_driven", where a rank goes on when it has what it sends.
    A topology for more ranks is used in part: ranks 0 to n - 1 of it. Takes time in proportion to
    the transfers; `price` answers without writing a schedule out. The schedule is not proved here.

    Raises:
        ValueError: not exactly one size, a negative size, an unknown clock, or a topology for
            fewer ranks or without the schedule's switches.
        ScheduleError: a transfer from or to an endpoint that does not exist.

    >>> from allranks.algorithms import build
    >>> ring = build("all_reduce", "ring", world_size=6)
    >>> cost(ring, nbytes=48_000_000, topology=Topology.preset("bench", 6)).bytes_sent_max
    80000000
    """
    check_schedule(schedule)
    sizes = sizes_of(schedule, nbytes=nbytes, count=count, itemsize=itemsize)
    check_clock(clock)
    check_topology(topology, schedule.world_size)
    machine = machine_of(schedule, sizes, topology)
    tally = Tally(machine)
    for steps, messages in blocks(schedule, sizes):
        tally.add(messages, steps=steps)
    seconds = None
    if clock == DATA_DRIVEN:
        seconds = max((event.end_s for event in data_driven(schedule, machine)), default=0.0)
    whole = nbytes if nbytes is not None else (count or 0) * (itemsize or 0)
    return tally.cost(schedule.collective, whole, seconds)


def timeline(
    schedule: Schedule, *, nbytes: float, topology: Topology, clock: str = LOCKSTEP
) -> list[Event]:
    """Return every message with its start and end, step by step; the last end is cost's seconds.

    In lock-step every message of a step starts with it, the messages of one port share it and end
    together, and a message ends when the busiest of its ports and links is done.

    Raises:
        ValueError: as `cost`.
        ScheduleError: a transfer from or to an endpoint that does not exist.
    """
    check_schedule(schedule)
    sizes = sizes_of(schedule, nbytes=nbytes)
    check_clock(clock)
    check_topology(topology, schedule.world_size)
    machine = machine_of(schedule, sizes, topology)
    walk = data_driven if clock == DATA_DRIVEN else timeline_events
    return list(walk(schedule, machine))


def bytes_per_rank(schedule: Schedule, nbytes: float) -> list[Traffic]:
    """Return the bytes that every endpoint sends and receives: the ranks in order, then switches.

    Raises:
        ValueError: a negative size.
        ScheduleError: a transfer from or to an endpoint that does not exist.
    """
    check_schedule(schedule)
    sizes = sizes_of(schedule, nbytes=nbytes)
    check_endpoints(schedule)
    columns = schedule.columns()
    sent, received = (np.zeros(schedule.num_endpoints, dtype=np.int64) for _ in range(2))
    units = sizes.units(columns.chunk)
    np.add.at(sent, columns.src, units)
    np.add.at(received, columns.dst, units)
    return [
        Traffic(sizes.nbytes(out), sizes.nbytes(into))
        for out, into in zip(sent.tolist(), received.tolist(), strict=True)
    ]


def bytes_per_link(schedule: Schedule, *, nbytes: float, topology: Topology) -> list[LinkTraffic]:
    """Return the bytes that pass each shared link in the whole schedule, the busiest first.

    A uniform network has no shared links. `seconds` is how long the link needs for the bytes alone.

    Raises:
        ValueError: as `cost`.
        ScheduleError: a transfer from or to an endpoint that does not exist.
    """
    check_schedule(schedule)
    sizes = sizes_of(schedule, nbytes=nbytes)
    check_topology(topology, schedule.world_size)
    machine = machine_of(schedule, sizes, topology)
    network = topology.network
    if network is None:
        return []
    units: dict[int, int] = {}
    rates: dict[int, float] = {}
    for _, messages in blocks(schedule, sizes):
        routes = network.routes(machine.world_size, machine.places, messages.src, messages.dst)
        for passage in routes.passages:
            groups = Groups.of(passage.link)
            links = groups.first(passage.link).tolist()
            rates |= zip(links, groups.first(passage.bandwidth).tolist(), strict=True)
            passed = groups.sum(messages.units[passage.rows]).tolist()
            for link, more in zip(links, passed, strict=True):
                units[link] = units.get(link, 0) + more
    passed_bytes = {link: sizes.nbytes(passed) for link, passed in units.items()}
    found = [
        LinkTraffic(network.link_name(link), nbytes, nbytes / rates[link])
        for link, nbytes in passed_bytes.items()
    ]
    return sorted(found, key=lambda traffic: -traffic.seconds)


def machine_of(schedule: Schedule, sizes: Sizes, topology: Topology) -> Machine:
    """Return the topology as this schedule uses it.

    Raises:
        ValueError: the topology lacks a switch of the schedule.
        ScheduleError: a transfer from or to an endpoint that does not exist.
    """
    check_endpoints(schedule)
    n, switches = schedule.world_size, schedule.num_switches
    src = dst = np.empty(0, dtype=np.int64)
    if switches and topology.network is not None:
        columns = schedule.columns()
        to_switch = np.flatnonzero((columns.src >= n) | (columns.dst >= n))
        src, dst = (c[to_switch].astype(np.int64) for c in (columns.src, columns.dst))
    return placed(topology, n, switches, sizes, src, dst, schedule.algorithm)


def placed(  # noqa: PLR0913, PLR0917 - the parts of a machine
    topology: Topology,
    n: int,
    switches: int,
    sizes: Sizes,
    src: Array,
    dst: Array,
    algorithm: str,
) -> Machine:
    """Return a machine whose switches stand where messages between these endpoints want them.

    Raises:
        ValueError: the topology lacks such a switch.
    """
    places = np.empty(0, dtype=np.int64)
    if topology.network is None and switches and not topology.reduces:
        message = (
            f"topology {topology.name!r} has no switch that adds; choose an algorithm without "
            "switches, or a topology that has them"
        )
        raise ValueError(message)
    if topology.network is not None:
        kind = algorithm if algorithm in IN_NETWORK else ""
        try:
            places = topology.network.place(n, switches, src, dst, kind)
        except ValueError as error:
            message = f"topology {topology.name!r}: {error}"
            raise ValueError(message) from None
    return Machine(topology, n, switches, sizes, places)


def check_endpoints(schedule: Schedule) -> None:
    """Refuse transfers from or to endpoints that do not exist.

    Raises:
        ScheduleError: the first of them, kind "unknown_endpoint".
    """
    columns, endpoints = schedule.columns(), schedule.num_endpoints
    wrong = (columns.src < 0) | (columns.src >= endpoints)
    wrong |= (columns.dst < 0) | (columns.dst >= endpoints)
    if not wrong.any():
        return
    row = int(np.argmax(wrong))
    step = int(np.searchsorted(columns.bounds, row, side="right")) - 1
    src, dst, chunk = (int(c[row]) for c in (columns.src, columns.dst, columns.chunk))
    message = (
        f"step {step}: {src} -> {dst}, but the endpoints are 0 to {endpoints - 1}; "
        "verify the schedule first"
    )
    raise ScheduleError(message, kind="unknown_endpoint", step=step, src=src, dst=dst, chunk=chunk)


def blocks(schedule: Schedule, sizes: Sizes) -> Iterator[tuple[int, Messages]]:
    """Yield numbers of steps in a row with their messages, some at a time."""
    columns = schedule.columns()
    bounds, steps, first = columns.bounds, len(columns), 0
    most = INT // max(1, schedule.num_endpoints) ** 2
    while first < steps:
        last = int(np.searchsorted(bounds, bounds[first] + BLOCK, side="right")) - 1
        last = max(first + 1, min(last, first + most, steps))
        yield last - first, _messages(columns, first, last, sizes, schedule.num_endpoints)
        first = last


def _messages(columns: Columns, first: int, last: int, sizes: Sizes, endpoints: int) -> Messages:
    """Return the messages of some steps: the chunks for one peer joined, empty ones left out."""
    bounds = columns.bounds[first : last + 1]
    rows = slice(int(bounds[0]), int(bounds[-1]))
    step = np.repeat(np.arange(last - first), np.diff(bounds))
    src, dst = columns.src[rows].astype(np.int64), columns.dst[rows].astype(np.int64)
    units = sizes.units(columns.chunk[rows])
    reduced = np.where(columns.reduce[rows], units, 0)
    if not units.all():
        full = units > 0
        step, src, dst, units, reduced = (c[full] for c in (step, src, dst, units, reduced))
    return joined(Messages(step, src, dst, units, reduced), endpoints)


def joined(messages: Messages, endpoints: int) -> Messages:
    """Return one message for all that an endpoint sends to another in a step."""
    step, src, dst, units, reduced = messages[:5]
    groups = Groups.of((step * endpoints + src) * endpoints + dst)
    if groups.order is None:
        return messages
    step, src, dst = (groups.first(column) for column in (step, src, dst))
    return Messages(step, src, dst, groups.sum(units), groups.sum(reduced))
