"""What a figure shows, as plain JSON: the schedule, the size, the machine, and one honest label.

The drawing computes times and contents from these with the same rules as `allranks.cost` and
`allranks.verify` (tests compare the two). A label comes from a trace's header; a flow that no run
stands behind is SIMULATED and cannot be called anything else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from allranks.cost import cost, lower_bound, timeline
from allranks.schedule import SIMULATED, Schedule, Trace
from allranks.topology import PRESETS, Topology
from allranks.view.asked import check_name
from allranks.view.machines import MAX_RANKS, machine_data, machines_data
from allranks.view.names import title_of
from allranks.view.variants import first_wrong_event, verdicts

FLOW_FORMAT = "allranks.flow/1"
CLOCKS = ("steps", "lockstep", "data_driven")
DEFAULT_NBYTES = 48_000_000
MAX_TRANSFERS = 50_000

Data = dict[str, Any]


def flow(  # noqa: PLR0913 - what a figure can be asked for
    schedule: Schedule,
    *,
    nbytes: float = DEFAULT_NBYTES,
    topology: Topology | None = None,
    clock: str = "lockstep",
    phases: bool = False,
    elements: int | None = None,
    controls: Mapping[str, Any] | None = None,
    title: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    owners: bool = False,
) -> Data:
    """Return the data of a `<chunk-flow>` for a schedule that has not been run.

    `nbytes` is S, the whole vector, and at least 1. `topology` defaults to the bench machine.
    `phases` marks the two halves of an all-reduce that first adds and then copies.
    `elements` is how many elements of the vector are named in the picture (a0, a1, ...); by default
    two per chunk, or 8 for one or two chunks. A schedule that breaks its contract is drawn with its
    faults, and its first wrong event stands beside it. `controls` is what `parse_controls` returns,
    `parameters` what the schedule was made with (names of PARAMETERS), so that the page can make it
    again for other numbers. `owners` draws under the matrix who must end with which chunk. The page
    prices uniform machines itself; the times of any other come along, and then nothing but the
    clock can be changed.

    Raises:
        ValueError: a size below 1 byte, an unknown clock, a topology of another world size, or a
            schedule too large to draw.
    """
    check_size(nbytes)
    check_name("clock", clock, CLOCKS)
    machine = topology or Topology.preset("bench", schedule.world_size)
    if machine.world_size != schedule.world_size:
        message = (
            f"topology has {machine.world_size} ranks and the schedule {schedule.world_size}; "
            "make both for the same number"
        )
        raise ValueError(message)
    _check_drawable(schedule)
    if schedule.num_switches and not machine.reduces:
        cost(schedule, nbytes=nbytes, topology=machine)  # says what is wrong
    given = {key: value for key, value in (parameters or {}).items() if value is not None}
    offered = (
        machines_data(machine) if machine.is_uniform else {machine.name: machine_data(machine)}
    )
    check_machines(controls, offered)
    return {
        "format": FLOW_FORMAT,
        "title": title or title_of(schedule, given),
        "label": SIMULATED,
        "schedule": schedule.to_dict(),
        "parameters": {
            key: list(value) if isinstance(value, tuple) else value for key, value in given.items()
        },
        "nbytes": nbytes,
        "machine": machine.name,
        "machines": offered,
        "clock": clock,
        "phases": phases,
        "elements": elements,
        "records": None,
        "priced": None if machine.is_uniform else _priced(schedule, nbytes, machine),
        "measured": "",
        "error": first_wrong_event(schedule),
        "controls": dict(controls or {}),
        "owners": owners,
        "verdicts": verdicts(schedule, controls or {}, given),
    }


def flow_of_trace(trace: Trace, *, title: str | None = None) -> Data:
    """Return the data of a `<chunk-flow>` that replays a run with its measured times.

    The label is that of the trace's header, and the header's devices, versions and date stand under
    the title. The bytes are those that the records count.
    """
    schedule = trace.schedule
    _check_drawable(schedule)
    header = trace.header
    versions = header.get("versions") or {}
    facts = [
        *(str(device) for device in header.get("devices") or ()),
        *(f"{name} {version}" for name, version in sorted(versions.items())),
        str(header.get("date") or "")[:10],
    ]
    machine = Topology.preset("bench", schedule.world_size)
    return {
        "format": FLOW_FORMAT,
        "title": title or title_of(schedule),
        "label": trace.label,
        "schedule": schedule.to_dict(),
        "parameters": {},
        "nbytes": _whole_nbytes(trace),
        "machine": machine.name,
        "machines": {machine.name: machine_data(machine)},
        "clock": "measured",
        "elements": None,
        "priced": None,
        "records": [[*record[:4], record.op.value, *record[5:]] for record in trace.records],
        "measured": ", ".join(dict.fromkeys(fact for fact in facts if fact)),
        "error": first_wrong_event(schedule),
        "controls": {},
    }


def _whole_nbytes(trace: Trace) -> int:
    """Return S: the bytes of one copy of every chunk that the run moved."""
    sizes = {record.chunk: record.nbytes for record in trace.records}
    counted = trace.header.get("nbytes")
    return int(counted) if isinstance(counted, int) else sum(sizes.values())


def _priced(schedule: Schedule, nbytes: float, machine: Topology) -> Data:
    """Return the times of every message on a machine that a page cannot price."""
    lock, free = (
        [
            [*event[:3], list(event.chunks), *event[4:]]
            for event in timeline(schedule, nbytes=nbytes, topology=machine, clock=clock)
        ]
        for clock in ("lockstep", "data_driven")
    )
    known = PRESETS.get(machine.name)
    begun: dict[Any, Any] = {event[0]: event[4] for event in reversed(lock)}
    whole = cost(schedule, nbytes=nbytes, topology=machine).seconds
    bound = lower_bound(schedule.collective, schedule.world_size, nbytes, machine)
    return {
        "note": known.summary if known else "",
        "step_ends": [*(begun[step] for step in sorted(begun)[1:]), whole],
        "lockstep": lock,
        "data_driven": free,
        "bound": None if schedule.num_switches else bound,
    }


def _check_drawable(schedule: Schedule) -> None:
    if schedule.num_endpoints > MAX_RANKS or schedule.num_transfers > MAX_TRANSFERS:
        message = (
            f"{title_of(schedule)}: {schedule.num_endpoints:,} ranks and switches with "
            f"{schedule.num_transfers:,} transfers cannot be drawn; at most {MAX_RANKS} and "
            f"{MAX_TRANSFERS:,}: show a smaller world"
        )
        raise ValueError(message)


def check_machines(controls: Mapping[str, Any] | None, offered: Mapping[str, Data]) -> None:
    """Refuse a control that would offer one machine only."""
    if controls and "machine" in controls and len(offered) == 1:
        message = (
            f"control 'machine': there is only {next(iter(offered))!r} to choose; leave it out"
        )
        raise ValueError(message)


def check_size(nbytes: float) -> None:
    """Refuse a size that no figure can show."""
    if isinstance(nbytes, bool) or not 1 <= nbytes < math.inf:
        message = f"nbytes is {nbytes!r}; a figure needs a size of at least 1 byte"
        raise ValueError(message)
