"""What the figures that compare show, as plain JSON: a race of algorithms, a curve of chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from allranks.algorithms import ALGORITHMS, ROOTED, build
from allranks.cost import best_num_chunks, cost, price
from allranks.schedule import SIMULATED, Schedule
from allranks.topology import Topology
from allranks.view.asked import check_algorithm, check_name, read_entrant
from allranks.view.frames import DEFAULT_NBYTES, Data, check_machines, check_size
from allranks.view.machines import machine_data, machines_data
from allranks.view.names import entrant_title, title_of, words

RACE_FORMAT = "allranks.race/1"
CURVE_FORMAT = "allranks.curve/1"


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
    meter: str = "bytes",
) -> Data:
    """Return the data of a `<chunk-race>`: algorithms by name on one time axis.

    An entrant is a name with what is decided beside it after colons: a number of chunks, as in
    `chain:8`, or parameters, as in `hierarchical:node_size=4:outer=rabenseifner`. `chain:k` takes
    the best number of chunks for the size, and follows the control k. `unchunked_ring` can run for
    any number of ranks (see `asked.STAND_INS`). `meter` "S" counts what the busiest rank and all
    ranks send in vectors of S bytes, "bytes" what the busiest rank sends in bytes.

    Raises:
        ValueError: unknown names, a size below 1 byte, a root that is no rank, a machine that is
            not uniform (the page could not price it).
    """
    check_size(nbytes)
    check_name("count", count, ("steps", "time"))
    check_name("meter", meter, ("bytes", "S"))
    machine = topology or Topology.preset("bench", world_size)
    _check_uniform("race", machine)
    if collective in ROOTED and root is None:
        root = 0
    lanes = []
    rows = []
    for text in entrants:
        entrant = read_entrant(collective, text)
        number = _best(machine, nbytes) if entrant["piped"] else entrant["chunks"]
        stands_in = entrant.get("stands_in")
        played, algorithm = stands_in or (collective, entrant["algorithm"])
        schedule = build(
            played,
            algorithm,
            world_size=world_size,
            root=root,
            num_chunks=number,
            **entrant["parameters"],
        )
        whole = nbytes * world_size if stands_in else nbytes
        paid = cost(schedule, nbytes=whole, topology=machine)
        lanes.append(entrant)
        rows.append(
            {
                "title": entrant_title(entrant, number),
                "steps": paid.steps,
                "seconds": paid.seconds,
                "bytes_sent_max": paid.bytes_sent_max,
                "bytes_total": paid.bytes_total,
            }
        )
    offered = machines_data(machine)
    check_machines(controls, offered)
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
        "machines": offered,
        "count": count,
        "meter": meter,
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
        check_algorithm(runner.collective, runner.algorithm)
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
        usual = known.default_chunks(runner.world_size)
        entrants.append(runner.algorithm + (f":{chunks}" if open_ and chunks != usual else ""))
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
    check_size(nbytes)
    check_algorithm(collective, "chain")
    machine = topology or Topology.preset("bench", world_size)
    _check_uniform("curve", machine)
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
        "costs": machine_data(machine),
        "best": best,
        "points": points,
        "controls": dict(controls or {}),
    }


def _best(machine: Topology, nbytes: float) -> int:
    """Return the best number of chunks of a chain over all ranks of a machine."""
    return best_num_chunks(machine.world_size, nbytes, machine.alpha, machine.beta)


def _check_uniform(figure: str, machine: Topology) -> None:
    if not machine.is_uniform:
        message = (
            f"{figure}: a page prices uniform machines only, and {machine.name!r} is not one; "
            "choose one that is, or show() a schedule on it"
        )
        raise ValueError(message)
