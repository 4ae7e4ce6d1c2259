"""What a figure shows, as plain JSON: the schedule, the size, the machine, and one honest label.

The drawing computes times and contents from these with the same rules as `allranks.cost` and
`allranks.verify` (tests compare the two). A label comes from a trace's header; a flow that no run
stands behind is SIMULATED and cannot be called anything else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from allranks.algorithms import ALGORITHMS, ROOTED, algorithms, build
from allranks.cost import best_num_chunks, cost, price
from allranks.errors import CollectiveError
from allranks.schedule import SIMULATED, Schedule, Trace
from allranks.topology import PRESETS, Topology
from allranks.verify import verify

FLOW_FORMAT = "allranks.flow/1"
RACE_FORMAT = "allranks.race/1"
CURVE_FORMAT = "allranks.curve/1"
CLOCKS = ("steps", "lockstep", "data_driven")
DEFAULT_NBYTES = 48_000_000
_RANGES = ("n", "chunks", "nbytes", "alpha")
_CONTROLS = {
    "chunk-flow": ("n", "root", "algorithm", "chunks", "nbytes", "machine"),
    "chunk-race": ("n", "root", "nbytes", "k", "machine", "count"),
    "chunk-curve": ("alpha", "n", "nbytes"),
}

Data = dict[str, Any]


def flow(  # noqa: PLR0913 - what a figure can be asked for
    schedule: Schedule,
    *,
    nbytes: float = DEFAULT_NBYTES,
    topology: Topology | None = None,
    clock: str = "lockstep",
    elements: int | None = None,
    controls: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Data:
    """Return the data of a `<chunk-flow>` for a schedule that has not been run.

    `nbytes` is S, the whole vector, and at least 1. `topology` defaults to the bench machine.
    `elements` is how many elements of the vector are named in the picture (a0, a1, ...); by default
    two per chunk, or 8 for one or two chunks. A schedule that breaks its contract is drawn with its
    faults, and its first wrong event stands beside it. `controls` is what `parse_controls` returns.

    Raises:
        ValueError: a size below 1 byte, an unknown clock, a topology of another world size.
    """
    _check_size(nbytes)
    _check_name("clock", clock, CLOCKS)
    machine = topology or Topology.preset("bench", schedule.world_size)
    if machine.world_size != schedule.world_size:
        message = (
            f"topology has {machine.world_size} ranks and the schedule {schedule.world_size}; "
            "make both for the same number"
        )
        raise ValueError(message)
    return {
        "format": FLOW_FORMAT,
        "title": title or title_of(schedule),
        "label": SIMULATED,
        "schedule": schedule.to_dict(),
        "nbytes": nbytes,
        "machine": machine.name,
        "machines": _machines(machine),
        "clock": clock,
        "elements": elements,
        "records": None,
        "measured": "",
        "error": _first_wrong_event(schedule),
        "controls": dict(controls or {}),
    }


def flow_of_trace(trace: Trace, *, title: str | None = None) -> Data:
    """Return the data of a `<chunk-flow>` that replays a run with its measured times.

    The label is that of the trace's header, and the header's devices, versions and date stand under
    the title. The bytes are those that the records count.
    """
    schedule = trace.schedule
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
        "nbytes": _whole_nbytes(trace),
        "machine": machine.name,
        "machines": _machines(machine),
        "clock": "measured",
        "elements": None,
        "records": [[*record[:4], record.op.value, *record[5:]] for record in trace.records],
        "measured": ", ".join(dict.fromkeys(fact for fact in facts if fact)),
        "error": _first_wrong_event(schedule),
        "controls": {},
    }


def race(  # noqa: PLR0913 - what a figure can be asked for
    entrants: Sequence[str],
    *,
    collective: str,
    world_size: int,
    nbytes: float = DEFAULT_NBYTES,
    root: int | None = None,
    topology: Topology | None = None,
    count: str = "time",
    controls: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Data:
    """Return the data of a `<chunk-race>`: algorithms by name on one time axis.

    An entrant is a name, or a name with a number of chunks: `chain:8`; `chain:k` takes the best
    number for the size, and follows the control k.

    Raises:
        ValueError: unknown names, a size below 1 byte, a root that is no rank.
    """
    _check_size(nbytes)
    _check_name("count", count, ("steps", "time"))
    machine = topology or Topology.preset("bench", world_size)
    if collective in ROOTED and root is None:
        root = 0
    lanes = []
    rows = []
    for entrant in entrants:
        name, _, chunks = entrant.partition(":")
        _check_algorithm(collective, name)
        piped = chunks == "k"
        number = _best(machine, nbytes) if piped else int(chunks or 1)
        schedule = build(
            collective,
            name,
            world_size=world_size,
            root=root,
            num_chunks=number if chunks else None,
        )
        paid = cost(schedule, nbytes=nbytes, topology=machine)
        lanes.append({"algorithm": name, "chunks": "auto" if piped else number, "piped": piped})
        rows.append(
            {
                "title": f"{words(name)}, {_plural(number, 'chunk')}" if chunks else words(name),
                "steps": paid.steps,
                "seconds": paid.seconds,
                "bytes_sent_max": paid.bytes_sent_max,
            }
        )
    return {
        "format": RACE_FORMAT,
        "title": title or f"{words(collective).capitalize()}: {len(lanes)} algorithms, one clock",
        "label": SIMULATED,
        "collective": collective,
        "entrants": lanes,
        "lanes": rows,
        "n": world_size,
        "root": root,
        "nbytes": nbytes,
        "machine": machine.name,
        "machines": _machines(machine),
        "count": count,
        "controls": dict(controls or {}),
    }


def race_of(
    schedules: Iterable[Schedule], *, nbytes: float, topology: Topology | None = None
) -> Data:
    """Return the data of a `<chunk-race>` between schedules that the library has made.

    Raises:
        ValueError: none given, different collectives, sizes or roots, or a schedule that is not
            what its algorithm's generator yields (such a one cannot be made again in the page).
    """
    runners = list(schedules)
    if not runners:
        message = "race: no schedules; give at least one"
        raise ValueError(message)
    first = runners[0]
    entrants = []
    for runner in runners:
        if (runner.collective, runner.world_size, runner.root) != (
            first.collective,
            first.world_size,
            first.root,
        ):
            message = (
                "race: schedules must share collective, world_size and root; "
                f"got {title_of(first)!r} and {title_of(runner)!r}"
            )
            raise ValueError(message)
        _check_algorithm(runner.collective, runner.algorithm)
        known = ALGORITHMS[runner.collective, runner.algorithm]
        open_ = "num_chunks" in known.parameters
        chunks = runner.num_chunks if open_ else None
        made = build(
            runner.collective,
            runner.algorithm,
            world_size=runner.world_size,
            root=runner.root,
            num_chunks=chunks,
        )
        if made != runner:
            message = f"race: {title_of(runner)!r} is not what the library makes; use show() for it"
            raise ValueError(message)
        entrants.append(runner.algorithm + (f":{chunks}" if open_ and chunks != 1 else ""))
    return race(
        entrants,
        collective=first.collective,
        world_size=first.world_size,
        root=first.root,
        nbytes=nbytes,
        topology=topology,
    )


def curve(  # noqa: PLR0913 - what a figure can be asked for
    *,
    collective: str = "broadcast",
    world_size: int,
    nbytes: float = DEFAULT_NBYTES,
    topology: Topology | None = None,
    controls: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Data:
    """Return the data of a `<chunk-curve>`: the time of a chain against its number of chunks.

    Raises:
        ValueError: a collective without a chain, a size below 1 byte, n below 1.
    """
    _check_size(nbytes)
    _check_algorithm(collective, "chain")
    machine = topology or Topology.preset("bench", world_size)
    best = _best(machine, nbytes)
    points = [
        {
            "chunks": chunks,
            "seconds": price(
                collective,
                "chain",
                world_size=world_size,
                nbytes=nbytes,
                num_chunks=chunks,
                topology=machine,
            ).seconds,
        }
        for chunks in sorted({1, 4, 16, 64, 256, 1024, best})
    ]
    return {
        "format": CURVE_FORMAT,
        "title": title or f"Chain {words(collective)}: time against the number of chunks",
        "label": SIMULATED,
        "collective": collective,
        "n": world_size,
        "nbytes": nbytes,
        "machine": machine.name,
        "costs": _machine(machine),
        "best": best,
        "points": points,
        "controls": dict(controls or {}),
    }


def parse_controls(text: str, *, element: str = "chunk-flow") -> Data:
    """Read what a chapter writes: `n=2-8 root algorithm=flat,chain nbytes=1-1e9 machine`.

    Raises:
        ValueError: an unknown control for this element, or a range that is none.

    >>> parse_controls("n=2-8 root algorithm=flat,chain")
    {'n': [2, 8], 'root': True, 'algorithm': ['flat', 'chain']}
    """
    controls: Data = {}
    for word in text.split():
        name, _, value = word.partition("=")
        _check_name("control", name, _CONTROLS[element])
        if name == "algorithm":
            controls[name] = [each for each in value.split(",") if each]
        elif name in _RANGES and value:
            controls[name] = _range(word, value, whole=name in {"n", "chunks"})
        else:
            controls[name] = True
    return controls


def title_of(schedule: Schedule) -> str:
    """Return the heading of a schedule's figure.

    >>> title_of(build("broadcast", "chain", world_size=6, num_chunks=4))
    'Chain broadcast on 6 ranks, root 0, 4 chunks'
    """
    name = f"{words(schedule.algorithm)} {words(schedule.collective)}"
    root = f", root {schedule.root}" if schedule.collective in ROOTED else ""
    chunks = "" if schedule.num_chunks == 1 else f", {schedule.num_chunks} chunks"
    ranks = _plural(schedule.world_size, "rank")
    return f"{name[:1].upper()}{name[1:]} on {ranks}{root}{chunks}"


def words(name: str) -> str:
    """Return a name as prose writes it.

    >>> words("all_reduce"), words("scatter_all_gather")
    ('all-reduce', 'scatter + all-gather')
    """
    known = {
        "scatter_all_gather": "scatter + all-gather",
        "all_to_all": "all-to-all",
        "all_gather": "all-gather",
        "all_reduce": "all-reduce",
        "reduce_scatter": "reduce-scatter",
        "sharp": "SHARP",
    }
    return known.get(name, name.replace("_", " "))


def _best(machine: Topology, nbytes: float) -> int:
    """Return the best number of chunks of a chain over all ranks of a machine."""
    return best_num_chunks(machine.world_size, nbytes, machine.alpha, machine.beta)


def _first_wrong_event(schedule: Schedule) -> Data | None:
    try:
        verify(schedule)
    except CollectiveError as error:
        return {"step": error.step, "message": error.message}
    return None


def _whole_nbytes(trace: Trace) -> int:
    """Return S: the bytes of one copy of every chunk that the run moved."""
    sizes = {record.chunk: record.nbytes for record in trace.records}
    counted = trace.header.get("nbytes")
    return int(counted) if isinstance(counted, int) else sum(sizes.values())


def _machines(used: Topology) -> dict[str, Data]:
    presets = {name: Topology.preset(name, used.world_size) for name in PRESETS}
    return {
        **{name: _machine(preset) for name, preset in presets.items()},
        used.name: _machine(used),
    }


def _machine(topology: Topology) -> Data:
    """Return a machine as JSON: an infinite bandwidth is null, which JSON can write."""
    finite = math.isfinite(topology.bandwidth)
    return {
        "alpha": topology.alpha,
        "bandwidth": topology.bandwidth if finite else None,
        "gamma": topology.gamma,
        "ports": topology.ports,
        "in_flight": topology.in_flight,
    }


def _check_size(nbytes: float) -> None:
    if isinstance(nbytes, bool) or not 1 <= nbytes < math.inf:
        message = f"nbytes is {nbytes!r}; a figure needs a size of at least 1 byte"
        raise ValueError(message)


def _check_name(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        message = f"unknown {what} {name!r}; known: {', '.join(known)}"
        raise ValueError(message)


def _check_algorithm(collective: str, name: str) -> None:
    _check_name(f"algorithm of {collective}", name, list(algorithms(collective)))


def _range(word: str, value: str, *, whole: bool) -> list[float]:
    low, _, high = re.sub(r"(?<![eE])-", " ", value, count=1).partition(" ")
    try:
        ends: list[float] = [int(low), int(high)] if whole else [float(low), float(high)]
    except ValueError:
        message = f"control {word!r}: write a range such as n=2-8"
        raise ValueError(message) from None
    least = 1 if whole else 0
    if not least <= ends[0] < ends[1]:
        message = f"control {word!r}: the range must rise and begin at {least} or more"
        raise ValueError(message)
    return ends


def _plural(count: int, one: str) -> str:
    return f"{count} {one}" if count == 1 else f"{count} {one}s"
