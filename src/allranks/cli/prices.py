"""Tables of prices: every algorithm that can do it here, its distance from the bound, the fastest.

The winner is marked for each size. Algorithms that a switch helps are marked on their own, since
on most machines no switch adds.
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
    message = "which machine? give --alpha and --bandwidth, as in --alpha 5us --bandwidth 50GB/s, "
    message += "or --preset bench"
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

    rows: list[Row] = []
    absent: dict[str, str] = {}
    for name in algorithms(collective):
        accepted = ALGORITHMS[collective, name].parameters
        given = {key: value for key, value in asked.items() if key in accepted}
        try:
            rows += [
                price_one(collective, name, topology, nbytes, {**given, **pieces})
                for pieces in _pieces(collective, name, topology, nbytes, given)
            ]
        except ValueError as error:
            absent[name] = str(error)
    if not rows:
        raise ValueError("; ".join(absent.values()))
    return rows, absent


def price_one(
    collective: str, name: str, topology: Topology, nbytes: int, asked: Mapping[str, Any]
) -> Row:
    """Return one price as a row, with the bound for sends and receives beside it."""
    from allranks.cost import lower_bound, price  # noqa: PLC0415

    n = topology.world_size
    priced: Cost = price(
        collective, name, world_size=n, nbytes=nbytes, topology=topology, **dict(asked)
    )
    return {
        "collective": collective,
        "algorithm": name,
        "num_chunks": asked.get("num_chunks"),
        "world_size": n,
        "nbytes": nbytes,
        **{field: getattr(priced, field) for field in _COSTS},
        "lower_bound_seconds": lower_bound(collective, n, nbytes, topology),
    }


def _pieces(
    collective: str, name: str, topology: Topology, nbytes: int, given: Mapping[str, Any]
) -> list[dict[str, int]]:
    """Return the numbers of chunks to price: for a pipelined algorithm, the usual and the best."""
    from allranks.algorithms import ALGORITHMS, plan_of  # noqa: PLC0415
    from allranks.cost import best_chunks_of  # noqa: PLC0415

    n = topology.world_size
    if "num_chunks" not in ALGORITHMS[collective, name].parameters or "num_chunks" in given:
        return [{}]
    usual = plan_of(collective, name, n, given).num_chunks
    best = best_chunks_of(
        collective, name, world_size=n, nbytes=nbytes, topology=topology, **dict(given)
    )
    return [{"num_chunks": pieces} for pieces in sorted({usual, best or usual})]


def print_prices(rows: Sequence[Row], absent: Mapping[str, str], topology: Topology) -> None:
    """Print one size in full, or several as times alone."""
    from allranks.schedule import counted  # noqa: PLC0415
    from allranks.units import format_bytes  # noqa: PLC0415

    asked = list(dict.fromkeys(row["nbytes"] for row in rows))
    what = f"{rows[0]['collective']}, {counted(topology.world_size, 'rank')}"
    if len(asked) == 1:
        typer.echo(f"{what}, {format_bytes(asked[0])}, lock-step price on {topology.name}")
        _print_one_size(rows)
        _print_machine(topology.name)
    else:
        typer.echo(f"{what}, lock-step price on {topology.name}, pipelines at their best k")
        _print_sizes(rows, asked)
    for name, reason in absent.items():
        typer.echo(f"left out: {name} ({reason})")


def _print_one_size(rows: Sequence[Row]) -> None:
    from allranks.units import format_bytes, format_seconds  # noqa: PLC0415

    marks = _marks(rows)
    bound = rows[0]["lower_bound_seconds"]
    table = [("algorithm", "time", "of bound", "steps", "busiest rank sends", "receives", "")]
    for index in sorted(range(len(rows)), key=lambda i: rows[i]["seconds"]):
        row = rows[index]
        table.append(
            (
                row["algorithm"] + (f", k={row['num_chunks']}" if row["num_chunks"] else ""),
                format_seconds(row["seconds"]),
                f"{row['seconds'] / bound:.2f} x" if bound else "",
                f"{row['steps']:,}",
                format_bytes(row["bytes_sent_max"]),
                format_bytes(row["bytes_received_max"]),
                marks.get(index, ""),
            )
        )
    _print_table(table)
    typer.echo(f"lower bound for sends and receives: {format_seconds(bound)}")


def _print_machine(name: str) -> None:
    """Say where the numbers of a known machine come from."""
    from allranks.topology import PRESETS  # noqa: PLC0415

    if name in PRESETS:
        known = PRESETS[name]
        typer.echo(f"{name}: {known.summary}; {known.attainable} per direction (peak {known.peak})")
        typer.echo(f"  source, read {known.read}: {known.source}")
        typer.echo(f"  assumed: {known.assumed}")


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
        fastest = min(here.values())
        columns.append(
            {
                name: format_seconds(seconds) + ("*" if seconds == fastest else " ")
                for name, seconds in here.items()
            }
        )
    table = [("algorithm", *(f"{format_bytes(size)} " for size in asked), "")]
    table += [(name, *(column.get(name, "- ") for column in columns), "") for name in names]
    _print_table(table)
    typer.echo("* = the fastest for this size")


def _marks(rows: Sequence[Row]) -> dict[int, str]:
    """Return what stands beside the fastest row, and beside the fastest that no switch helps."""
    from allranks.algorithms import ALGORITHMS  # noqa: PLC0415

    if len(rows) == 1:
        return {}
    best = min(row["seconds"] for row in rows)
    marks = {i: "fastest" for i, row in enumerate(rows) if row["seconds"] == best}
    plain = [
        i
        for i, row in enumerate(rows)
        if not ALGORITHMS[row["collective"], row["algorithm"]].num_switches(2)
    ]
    if plain and not marks.keys() & set(plain):
        best = min(rows[i]["seconds"] for i in plain)
        marks |= {
            i: "fastest without a switch that adds" for i in plain if rows[i]["seconds"] == best
        }
    return marks


def _print_table(table: Sequence[tuple[str, ...]]) -> None:
    """Print a table: the first column to the left, the others to the right, the last as it is."""
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:-1], strict=True)]
        typer.echo("  ".join([*cells, line[-1]]).rstrip())
