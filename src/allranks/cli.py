"""The command line: arguments to calls, results to text or JSON. It has no rule of its own.

Exit status of every command: 0 = fine, 1 = the thing checked is wrong, 2 = usage or unreadable
input, 3 = something is missing on this machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from allranks.cost import Cost
    from allranks.schedule import Schedule
    from allranks.topology import Topology

FINE, WRONG, USAGE, MISSING = 0, 1, 2, 3

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="All Ranks: collectives that can be proved, priced, played, run and graded.",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON in base units (bytes, seconds).")]
Ranks = Annotated[int, typer.Option("-n", "--world-size", help="Number of ranks.")]
Root = Annotated[int | None, typer.Option(help="The root, for collectives that have one.")]
Chunks = Annotated[int | None, typer.Option(help="Pieces, for algorithms that leave it open.")]
Size = Annotated[str, typer.Option(help="Bytes of the whole vector: 16MiB = 2^24, 16MB = 16e6.")]
Collective = Annotated[str, typer.Argument(help="broadcast, all_gather, all_reduce, ...")]


def main() -> None:
    """Run the command line: one sentence for what the user can mend, never a traceback for it."""
    from allranks.errors import (  # noqa: PLC0415 - keep `--help` fast
        CollectiveError,
        ScheduleError,
        TransportUnavailable,
    )

    _speak_utf8()
    try:
        app(standalone_mode=True)
    except TransportUnavailable as error:
        _fail(MISSING, str(error))
    except ScheduleError as error:
        _fail(USAGE if error.kind == "format" else WRONG, str(error))
    except CollectiveError as error:
        _fail(WRONG, str(error))
    except (ValueError, OSError) as error:
        _fail(USAGE, _sentence(error))
    except ModuleNotFoundError as error:
        _fail(MISSING, f"{error.name} is not installed here; run `make setup`, or pip install it")
    except MemoryError:
        _fail(MISSING, "not enough memory for this size; try fewer ranks or bytes")
    except KeyboardInterrupt:
        _fail(130, "stopped")


@app.command("open")
def open_course(
    port: Annotated[int, typer.Option(help="First port to try; the next free one is used.")] = 8000,
    *,
    browser: Annotated[bool, typer.Option("--browser/--no-browser")] = True,
) -> None:
    """Open the course: build the book if needed, serve it on this machine, open the browser."""
    from allranks.serve.build import build as build_book  # noqa: PLC0415
    from allranks.serve.site import serve_book  # noqa: PLC0415

    built = build_book()
    serve_book(built.html, port=port, open_browser=browser)


@app.command("build")
def build_course(
    offline_zip: Annotated[
        Path | None, typer.Option(help="Also write one zip that works without a network.")
    ] = None,
) -> None:
    """Build the book: every code cell runs on Ray actors; a cell that fails stops the build."""
    from allranks.serve.build import build as build_book  # noqa: PLC0415

    built = build_book(offline_zip=offline_zip)
    typer.echo(f"The book is in {built.html}")
    if offline_zip is not None:
        typer.echo(f"The offline copy is {offline_zip}")


@app.command()
def schedule(  # noqa: PLR0913 - one parameter per option
    collective: Collective,
    algorithm: Annotated[str, typer.Argument(help="ring, binomial, chain, ...")],
    world_size: Ranks,
    root: Root = None,
    chunks: Chunks = None,
    form: Annotated[str, typer.Option("--format", help="json or text.")] = "json",
    *,
    json_output: Json = False,
) -> None:
    """Print a schedule: who sends which chunk to whom, in which step."""
    from allranks.algorithms import build  # noqa: PLC0415
    from allranks.errors import unknown_name  # noqa: PLC0415

    forms: dict[str, Callable[[Schedule], str]] = {
        "json": lambda s: s.to_json(),
        "text": lambda s: s.to_text(),
    }
    if form not in forms:
        raise ValueError(unknown_name("format", form, forms))
    made = build(collective, algorithm, world_size=world_size, root=root, num_chunks=chunks)
    typer.echo(forms["json" if json_output else form](made))


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A schedule as JSON; - reads standard input.")],
    *,
    json_output: Json = False,
) -> None:
    """Prove a schedule, or name the first wrong event: step, ranks, chunk and what it means."""
    from allranks.errors import ScheduleError  # noqa: PLC0415
    from allranks.schedule import Schedule, counted  # noqa: PLC0415
    from allranks.verify import verify as prove  # noqa: PLC0415

    try:
        try:
            text = _read(file)
        except (OSError, ValueError) as error:
            raise ScheduleError(_sentence(error), kind="format") from error
        read = Schedule.from_json(text)
        prove(read)
    except ScheduleError as error:
        status = USAGE if error.kind == "format" else WRONG
        if json_output:
            _print_json({"ok": False, "error": error.to_dict()})
        else:
            where = "" if str(file) in str(error) else f"{file}: "
            _complain(f"{where}{error}" if status == USAGE else f"wrong: {error}")
        raise typer.Exit(status) from error
    facts = {
        "ok": True,
        "collective": read.collective,
        "world_size": read.world_size,
        "num_chunks": read.num_chunks,
        "steps": len(read.steps),
        "transfers": read.num_transfers,
    }
    if json_output:
        _print_json(facts)
        return
    typer.echo(
        f"proved: {read.collective} on {counted(read.world_size, 'rank')}, "
        f"{counted(read.num_chunks, 'chunk')}, {counted(len(read.steps), 'step')}, "
        f"{counted(read.num_transfers, 'transfer')}"
    )


@app.command()
def price(  # noqa: PLR0913 - one parameter per option
    collective: Collective,
    world_size: Ranks,
    size: Size,
    algorithm: Annotated[str, typer.Option(help="A name, or all.")] = "all",
    alpha: Annotated[str | None, typer.Option(help="Seconds per message, as in 5us.")] = None,
    bandwidth: Annotated[str | None, typer.Option(help="Per direction, as in 50GB/s.")] = None,
    preset: Annotated[str | None, typer.Option(help="A machine by name, as in bench.")] = None,
    root: Root = None,
    chunks: Chunks = None,
    *,
    json_output: Json = False,
) -> None:
    """Price a collective: seconds, steps and bytes of each algorithm, and the lower bound."""
    from allranks.cost import lower_bound  # noqa: PLC0415
    from allranks.cost import price as price_of  # noqa: PLC0415
    from allranks.units import parse_bytes  # noqa: PLC0415

    nbytes = parse_bytes(size)
    topology = _topology(world_size, alpha=alpha, bandwidth=bandwidth, preset=preset)
    bound = lower_bound(collective, world_size, nbytes, topology)
    rows = []
    for name, pieces in _entrants(collective, algorithm, chunks, nbytes, topology):
        priced = price_of(
            collective,
            name,
            world_size=world_size,
            nbytes=nbytes,
            topology=topology,
            root=root,
            num_chunks=pieces,
        )
        facts = {"collective": collective, "algorithm": name, "num_chunks": pieces}
        size_of = {"world_size": world_size, "nbytes": nbytes}
        rows.append({**facts, **size_of, **_fields(priced), "lower_bound_seconds": bound})
    if json_output:
        _print_json(rows)
        return
    _print_prices(rows)


@app.command()
def busbw(
    collective: Collective,
    world_size: Ranks,
    size: Size,
    time: Annotated[str, typer.Option(help="Time of one collective, as in 127997us.")],
    *,
    json_output: Json = False,
) -> None:
    """Turn size and time into algbw and busbw, as nccl-tests defines them."""
    from allranks.cost import busbw as busbw_of  # noqa: PLC0415
    from allranks.units import format_bandwidth, parse_bytes, parse_seconds  # noqa: PLC0415

    rate = busbw_of(
        collective, world_size=world_size, nbytes=parse_bytes(size), seconds=parse_seconds(time)
    )
    if json_output:
        _print_json(rate._asdict())
        return
    for name, value in rate._asdict().items():
        typer.echo(f"{name}  {'not defined' if value is None else format_bandwidth(value)}")
    typer.echo(
        "busbw scales algbw by the collective's factor; it is the speed of a wire only while ranks "
        "send to ranks, not where switches reduce."
    )


@app.command()
def run(  # noqa: PLR0913 - one parameter per option
    collective: Collective,
    world_size: Ranks,
    size: Size,
    algorithm: Annotated[str | None, typer.Option(help="A name; left out: a usual one.")] = None,
    root: Root = None,
    chunks: Chunks = None,
    dtype: Annotated[str, typer.Option(help="A NumPy dtype.")] = "float32",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    trace: Annotated[Path | None, typer.Option(help="Write what moved when to this file.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds before a rank counts as lost.")] = 30.0,
    *,
    json_output: Json = False,
) -> None:
    """Run a collective on Ray actors, check the result, and say how long it took."""
    from allranks.algorithms import build, usual_algorithm  # noqa: PLC0415
    from allranks.runtime.world import World  # noqa: PLC0415
    from allranks.schedule import counted  # noqa: PLC0415
    from allranks.simulate import example_inputs, simulate  # noqa: PLC0415
    from allranks.units import (  # noqa: PLC0415
        format_bandwidth,
        format_bytes,
        format_seconds,
        parse_bytes,
    )

    nbytes = parse_bytes(size)
    name = algorithm or usual_algorithm(collective)
    made = build(collective, name, world_size=world_size, root=root, num_chunks=chunks)
    inputs = example_inputs(made, nbytes=nbytes, dtype=dtype)
    if trace is not None:
        trace.touch()  # a path that cannot be written is refused before the run, not after it
    expected = simulate(made, inputs)
    # Ray shows its own notices on standard output; there stands our answer and nothing else.
    with (
        contextlib.redirect_stdout(sys.stderr),
        World(world_size, device=device, timeout=timeout) as world,
    ):
        world.run(made, inputs)  # the first run maps and touches memory
        result = world.run(made, inputs)
    wrong = [
        f"rank {rank}"
        for rank, (got, right) in enumerate(zip(result.outputs, expected, strict=True))
        if not _same(got, right)
    ]
    if trace is not None:
        trace.write_text(result.trace.to_json() + "\n", encoding="utf-8")
    facts = {
        "ok": not wrong,
        "label": result.label,
        "collective": collective,
        "algorithm": name,
        "world_size": world_size,
        "nbytes": nbytes,
        "seconds": result.seconds,
        "algbw": result.algbw,
        "busbw": result.busbw,
        "transports": sorted({record.transport for record in result.trace.records}),
    }
    if json_output:
        _print_json(facts)
    else:
        what = f"{collective} by {name}, {counted(world_size, 'rank')}"
        typer.echo(f"{result.label}: {what}, {format_bytes(nbytes)} of {dtype}")
        typer.echo(f"time   {format_seconds(result.seconds)}")
        for rate, value in (("algbw", result.algbw), ("busbw", result.busbw)):
            typer.echo(f"{rate}  {'not defined' if value is None else format_bandwidth(value)}")
        typer.echo(f"result WRONG on {', '.join(wrong)}" if wrong else "result right on every rank")
    if wrong:
        raise typer.Exit(WRONG)


@app.command()
def check(
    slug: Annotated[str | None, typer.Argument(help="An exercise; left out: all.")] = None,
    file: Annotated[Path | None, typer.Option(help="The file to check, if not the usual.")] = None,
    *,
    json_output: Json = False,
) -> None:
    """Check your exercises: contract, bytes and steps, and the first wrong event in words."""
    from allranks.learn import grader  # noqa: PLC0415

    verdicts = grader.check(slug, file=file)
    if json_output:
        _print_json({"exercises": [verdict.to_dict() for verdict in verdicts]})
    else:
        for verdict in verdicts:
            typer.echo(grader.render(verdict))
    if any(verdict.status != "pass" for verdict in verdicts):
        raise typer.Exit(WRONG)


@app.command()
def hint(
    slug: Annotated[str, typer.Argument(help="An exercise.")],
    number: Annotated[int, typer.Option(help="1 = the idea, 2 = structure, 3 = nearly code.")] = 1,
) -> None:
    """Print a hint for an exercise: each number tells more."""
    from allranks.learn.exercises import hint as hint_of  # noqa: PLC0415

    typer.echo(hint_of(slug, number))


@app.command()
def solution(slug: Annotated[str, typer.Argument(help="An exercise.")]) -> None:
    """Print the course's own solution of an exercise."""
    from allranks.learn.exercises import solution as solution_of  # noqa: PLC0415

    typer.echo(solution_of(slug))


@app.command()
def reset(slug: Annotated[str, typer.Argument(help="An exercise.")]) -> None:
    """Start an exercise afresh; what you wrote is kept beside it under another name."""
    from allranks.learn.exercises import reset as start_afresh  # noqa: PLC0415

    fresh, kept = start_afresh(slug)
    if kept is not None:
        typer.echo(f"your file is now {kept}")
    typer.echo(f"{fresh} is ready to be written")


@app.command()
def doctor(*, json_output: Json = False) -> None:
    """Say what this machine has, what each transport will do and why, and what to install."""
    from allranks.runtime.doctor import diagnose  # noqa: PLC0415

    findings = diagnose()
    if json_output:
        _print_json({"findings": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            mark = {"ok": "ok     ", "note": "note   ", "missing": "missing"}[finding.status]
            typer.echo(f"{mark}  {finding.what}: {finding.detail}")
    if any(finding.status == "missing" for finding in findings):
        raise typer.Exit(MISSING)


def _topology(
    world_size: int, *, alpha: str | None, bandwidth: str | None, preset: str | None
) -> Topology:
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


def _entrants(
    collective: str, algorithm: str, chunks: int | None, nbytes: int, topology: Topology
) -> list[tuple[str, int | None]]:
    """Return what to price: (algorithm, num_chunks); a pipelined one also at its best number."""
    from allranks.algorithms import ALGORITHMS, algorithms  # noqa: PLC0415
    from allranks.cost import best_chunks_of  # noqa: PLC0415

    if algorithm != "all":
        return [(algorithm, chunks)]
    entrants: list[tuple[str, int | None]] = []
    for name in algorithms(collective):
        if "num_chunks" not in ALGORITHMS[collective, name].parameters:
            entrants.append((name, None))
        elif chunks is not None:
            entrants.append((name, chunks))
        else:
            n = topology.world_size
            best = best_chunks_of(collective, name, world_size=n, nbytes=nbytes, topology=topology)
            entrants += [(name, pieces) for pieces in sorted({1, best or 1})]
    return entrants


def _fields(priced: Cost) -> dict[str, Any]:
    names = (
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
    return {name: getattr(priced, name) for name in names}


def _print_prices(rows: Sequence[dict[str, Any]]) -> None:
    from allranks.schedule import counted  # noqa: PLC0415
    from allranks.units import format_bytes, format_seconds  # noqa: PLC0415

    first = rows[0]
    typer.echo(
        f"{first['collective']}, {counted(first['world_size'], 'rank')}, "
        f"{format_bytes(first['nbytes'])}, lock-step price"
    )
    fastest = min(row["seconds"] for row in rows)
    table = [("algorithm", "time", "steps", "busiest rank sends", "receives", "messages", "")]
    table += [
        (
            row["algorithm"] + (f", k={row['num_chunks']}" if row["num_chunks"] else ""),
            format_seconds(row["seconds"]),
            f"{row['steps']:,}",
            format_bytes(row["bytes_sent_max"]),
            format_bytes(row["bytes_received_max"]),
            f"{row['messages']:,}",
            "fastest" if len(rows) > 1 and row["seconds"] == fastest else "",
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:6], widths[1:6], strict=True)]
        typer.echo("  ".join([*cells, line[6]]).rstrip())
    typer.echo(
        f"lower bound for sends and receives: {format_seconds(first['lower_bound_seconds'])}"
    )


def _same(got: np.ndarray | None, right: np.ndarray | None) -> bool:
    import numpy as np  # noqa: PLC0415

    if got is None or right is None:
        return got is right
    return got.dtype == right.dtype and np.array_equal(got, right)


def _read(file: Path) -> str:
    if str(file) == "-":
        return sys.stdin.read() if sys.stdin else ""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        message = f"{file} is not a text file; a schedule is one JSON object"
        raise ValueError(message) from None


def _print_json(data: object) -> None:
    typer.echo(json.dumps(data, ensure_ascii=False))


def _complain(message: str) -> None:
    typer.echo(message, err=True)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _fail(status: int, message: str) -> NoReturn:
    sys.stdout.flush()
    _complain(message)
    sys.exit(status)


def _speak_utf8() -> None:
    """Read arguments and print text as UTF-8, whatever the locale says."""
    sys.argv = [os.fsencode(argument).decode("utf-8", "replace") for argument in sys.argv]
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
