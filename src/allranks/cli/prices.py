"""Tables of prices: every algorithm that can do it here, its distance from the bound, the fastest.

The winner is marked for each size. Algorithms that a switch helps are marked on their own, since
on most machines no switch adds. A pipelined algorithm is shown uncut and at its best number of
pieces, k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from allranks.cost import Cost
    from allranks.topology import Topology

_STEP = 4  # from one size of a span to the next
_COSTS = (
    "seconds",
    "steps",
    "latency_terms",
    "messages",
    "bytes_sent_max",
    "bytes_received_max",
    "bytes_total",
    "switch_bytes_in",
    "switch_bytes_out",
    "algbw",
    "busbw",
)
Row = dict[str, Any]


def machine(
    world_size: int, *, alpha: str | None, bandwidth: str | None, preset: str | None
) -> Topology:
    """Return the machine that the options name."""
    from allranks.topology import Topology  # noqa: PLC0415
    from allranks.units import parse_bandwidth, parse_seconds  # noqa: PLC0415

    if preset is not None and alpha is None and bandwidth is None:
        return Topology.preset(preset, world_size)
    if preset is None and alpha is not None and bandwidth is not None:
        return Topology.uniform(
            world_size, alpha=parse_seconds(alpha), bandwidth=parse_bandwidth(bandwidth)
        )
    message = "which machine? give "
    message += "either " if preset is not None else ""
    message += "--alpha and --bandwidth, as in --alpha 5us --bandwidth 50GB/s, or --preset bench "
    message += "(`allranks machines` lists them)"
    raise ValueError(message)


def sizes(texts: Sequence[str]) -> list[int]:
    """Return the sizes that were asked for, in bytes; A..B stands for A, 4A, 16A, ... up to B.

    >>> sizes(["1KiB..64KiB", "1MB"])
    [1024, 4096, 16384, 65536, 1000000]
    """
    from allranks.units import parse_bytes  # noqa: PLC0415

    found: list[int] = []
    for text in texts:
        first, span, last = text.partition("..")
        low = parse_bytes(first)
        high = parse_bytes(last) if span else low
        if high < low or (span and low == 0):
            message = f"size is {text!r}; a span goes from a size above 0 up, as in 1KiB..1GiB"
            raise ValueError(message)
        while low <= high:
            found.append(low)
            low *= _STEP
            if not span:
                break
    return list(dict.fromkeys(found))


def price_all(
    collective: str, topology: Topology, nbytes: int, asked: Mapping[str, Any]
) -> tuple[list[Row], dict[str, str]]:
    """Return the prices of all algorithms of a collective, and why others cannot do it here."""
    from allranks.algorithms import ALGORITHMS, algorithms  # noqa: PLC0415

    names = algorithms(collective)
    accepted = {name: ALGORITHMS[collective, name].parameters for name in names}
    for key in asked:
        if not any(key in parameters for parameters in accepted.values()):
            message = f"{key} is {asked[key]}; no algorithm of {collective} takes it, leave it out"
            raise ValueError(message)
    rows: list[Row] = []
    absent: dict[str, str] = {}
    for name in names:
        given = {key: value for key, value in asked.items() if key in accepted[name]}
        try:
            rows += price_both(collective, name, topology, nbytes, given)
        except ValueError as error:
            absent[name] = str(error)
    if not rows:
        raise ValueError("; ".join(dict.fromkeys(absent.values())))
    return rows, absent


def price_both(
    collective: str, name: str, topology: Topology, nbytes: int, asked: Mapping[str, Any]
) -> list[Row]:
    """Return the prices of one algorithm: a pipelined one with its usual and its best pieces."""
    from allranks.algorithms import ALGORITHMS  # noqa: PLC0415

    options = dict(asked)
    entry = ALGORITHMS.get((collective, name))  # `price` says what is wrong with the name
    if entry and "node_size" in entry.parameters and topology.node_size:
        options.setdefault("node_size", topology.node_size)
    return [
        _price_one(collective, name, topology, nbytes, {**options, **pieces})
        for pieces in _pieces(collective, name, topology, nbytes, options)
    ]


def _price_one(
    collective: str, name: str, topology: Topology, nbytes: int, asked: Mapping[str, Any]
) -> Row:
    from allranks.cost import price  # noqa: PLC0415

    n = topology.world_size
    priced: Cost = price(
        collective, name, world_size=n, nbytes=nbytes, topology=topology, **dict(asked)
    )
    return {
        "collective": collective,
        "algorithm": name,
        "num_chunks": asked.get("num_chunks"),
        "node_size": asked.get("node_size"),
        "world_size": n,
        "nbytes": nbytes,
        "machine": topology.name,
        **{field: getattr(priced, field) for field in _COSTS},
        "lower_bound_seconds": priced.lower_bound,
    }


def _pieces(
    collective: str, name: str, topology: Topology, nbytes: int, given: Mapping[str, Any]
) -> list[dict[str, int]]:
    """Return the numbers of chunks to price: for a pipelined algorithm, the usual and the best."""
    from allranks.algorithms import ALGORITHMS, plan_of  # noqa: PLC0415
    from allranks.cost import best_chunks_of  # noqa: PLC0415

    n = topology.world_size
    entry = ALGORITHMS.get((collective, name))
    if entry is None or "num_chunks" not in entry.parameters or "num_chunks" in given:
        return [{}]
    usual = plan_of(collective, name, n, given).num_chunks
    best = best_chunks_of(
        collective, name, world_size=n, nbytes=nbytes, topology=topology, **dict(given)
    )
    return [{"num_chunks": pieces} for pieces in sorted({usual, best or usual})]


def print_prices(rows: Sequence[Row], absent: Mapping[str, str], topology: Topology) -> None:
    """Print one size in full, or several as times alone."""
    from allranks.schedule import counted  # noqa: PLC0415
    from allranks.topology import PRESETS  # noqa: PLC0415
    from allranks.units import format_bytes  # noqa: PLC0415

    asked = list(dict.fromkeys(row["nbytes"] for row in rows))
    what = f"{rows[0]['collective']}, {counted(topology.world_size, 'rank')}"
    if len(asked) == 1:
        typer.echo(f"{what}, {format_bytes(asked[0])}, lock-step price on {topology.name}")
        _print_one_size(rows)
    else:
        typer.echo(f"{what}, lock-step price on {topology.name}")
        _print_sizes(rows, asked)
    if topology.name in PRESETS:
        summary = PRESETS[topology.name].summary
        typer.echo(f"{topology.name}: {summary} (`allranks machines {topology.name}` says more)")
    for name, reason in absent.items():
        typer.echo(f"left out: {name} ({reason})")


def _label(row: Row) -> str:
    """Return an algorithm's name with its pieces and its nodes.

    >>> _label({"algorithm": "chain", "num_chunks": 44, "node_size": None})
    'chain, k=44'
    """
    parts = [row["algorithm"]]
    if row["num_chunks"]:
        parts.append(f"k={row['num_chunks']}")
    if row["node_size"]:
        nodes = row["node_size"]
        sizes_of = f"{nodes}" if isinstance(nodes, int) else "+".join(map(str, nodes))
        parts.append(f"nodes of {sizes_of}")
    return ", ".join(parts)


def _print_one_size(rows: Sequence[Row]) -> None:
    from allranks.units import format_bandwidth, format_bytes, format_seconds  # noqa: PLC0415

    marks = _marks(rows)
    table = [("algorithm", "time", "of bound", "busbw", "steps", "busiest rank sends", "gets", "")]
    for index in sorted(range(len(rows)), key=lambda i: rows[i]["seconds"]):
        row = rows[index]
        bound = row["lower_bound_seconds"]
        table.append(
            (
                _label(row),
                format_seconds(row["seconds"]),
                f"{row['seconds'] / bound:.2f} x" if bound else "",
                "" if row["busbw"] is None else format_bandwidth(row["busbw"]),
                f"{row['steps']:,}",
                format_bytes(row["bytes_sent_max"], like=row["nbytes"]),
                format_bytes(row["bytes_received_max"], like=row["nbytes"]),
                marks.get(index, ""),
            )
        )
    _print_table(table)
    bounds = _bounds(rows)
    usual = max(bounds, key=lambda bound: len(bounds[bound]))
    others = [
        f"; for {', '.join(bounds[bound])} {format_seconds(bound)}"
        for bound in bounds
        if bound != usual
    ]
    typer.echo(f"lower bound {format_seconds(usual)}{''.join(others)}")
    if any(row["num_chunks"] for row in rows):
        typer.echo("k = pieces of the vector that follow one another")
    if any(_helped(row) for row in rows):
        typer.echo("where a switch adds, busbw is not the speed of a wire")


def _bounds(rows: Sequence[Row]) -> dict[float, list[str]]:
    """Return each lower bound with the algorithms that it holds for.

    It depends on whether switches add, and on whether a port may pay several alphas in a step.
    """
    found: dict[float, list[str]] = {}
    for row in rows:
        names = found.setdefault(row["lower_bound_seconds"], [])
        if row["algorithm"] not in names:
            names.append(row["algorithm"])
    return found


def _print_sizes(rows: Sequence[Row], asked: Sequence[int]) -> None:
    from allranks.units import format_bytes, format_seconds  # noqa: PLC0415

    names = list(dict.fromkeys(row["algorithm"] for row in rows))
    columns = []
    for size in asked:
        here: dict[str, float] = {}
        for row in rows:
            if row["nbytes"] == size:
                known = here.get(row["algorithm"], row["seconds"])
                here[row["algorithm"]] = min(known, row["seconds"])
        fastest = min(here.values()) if len(names) > 1 else None
        columns.append(
            {
                name: format_seconds(seconds) + ("*" if seconds == fastest else " ")
                for name, seconds in here.items()
            }
        )
    table = [("algorithm", *(f"{format_bytes(size)} " for size in asked), "")]
    table += [(name, *(column.get(name, "- ") for column in columns), "") for name in names]
    _print_table(table)
    if len(names) > 1:
        typer.echo("* = the fastest for this size; a pipeline is at its best number of pieces")


def _marks(rows: Sequence[Row]) -> dict[int, str]:
    """Return what stands beside the fastest row, and beside the fastest that no switch helps."""
    best = min(row["seconds"] for row in rows)
    if len({row["algorithm"] for row in rows}) == 1 or best == 0:
        return {}
    marks = {i: "fastest" for i, row in enumerate(rows) if row["seconds"] == best}
    plain = [i for i, row in enumerate(rows) if not _helped(row)]
    if plain and not marks.keys() & set(plain):
        best = min(rows[i]["seconds"] for i in plain)
        marks |= {
            i: "fastest without a switch that adds" for i in plain if rows[i]["seconds"] == best
        }
    return marks


def _helped(row: Row) -> bool:
    """Return whether switches add in what a row prices."""
    return bool(row["switch_bytes_in"])


def _print_table(table: Sequence[tuple[str, ...]]) -> None:
    """Print a table: the first column to the left, the others to the right, the last as it is."""
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:-1], strict=True)]
        typer.echo("  ".join([*cells, line[-1]]).rstrip())
