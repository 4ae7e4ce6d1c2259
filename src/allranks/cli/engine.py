"""What the engine answers: a schedule written out, proved, priced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allranks.cli.app import (
    USAGE,
    WRONG,
    Chunks,
    Collective,
    Inner,
    Json,
    NodeSize,
    Outer,
    Radix,
    Ranks,
    Root,
    Size,
    app,
    complain,
    parameters,
    print_json,
    read,
    sentence,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from allranks.schedule import Schedule


@app.command()
def schedule(  # noqa: PLR0913 - one parameter per option
    collective: Collective,
    algorithm: Annotated[str, typer.Argument(help="ring, binomial, chain, ...")],
    world_size: Ranks,
    root: Root = None,
    chunks: Chunks = None,
    node_size: NodeSize = None,
    inner: Inner = None,
    outer: Outer = None,
    radix: Radix = None,
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
    made = build(
        collective,
        algorithm,
        world_size=world_size,
        **parameters(root, chunks, node_size, inner, outer, radix),
    )
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
    from allranks.verify import verify as prove_it  # noqa: PLC0415

    try:
        try:
            text = read(file)
        except (OSError, ValueError) as error:
            raise ScheduleError(sentence(error), kind="format") from error
        shown = Schedule.from_json(text)
        prove_it(shown)
    except ScheduleError as error:
        status = USAGE if error.kind == "format" else WRONG
        if json_output:
            print_json({"ok": False, "error": error.to_dict()})
        else:
            where = "" if str(file) in str(error) else f"{file}: "
            complain(f"{where}{error}" if status == USAGE else f"wrong: {error}")
        raise typer.Exit(status) from error
    facts = {
        "ok": True,
        "collective": shown.collective,
        "world_size": shown.world_size,
        "num_chunks": shown.num_chunks,
        "steps": len(shown.steps),
        "transfers": shown.num_transfers,
    }
    if json_output:
        print_json(facts)
        return
    typer.echo(
        f"proved: {shown.collective} on {counted(shown.world_size, 'rank')}, "
        f"{counted(shown.num_chunks, 'chunk')}, {counted(len(shown.steps), 'step')}, "
        f"{counted(shown.num_transfers, 'transfer')}"
    )


@app.command()
def prove(  # noqa: PLR0913 - one parameter per option
    collective: Collective,
    algorithm: Annotated[str, typer.Argument(help="ring, binomial, chain, ...")],
    world_size: Ranks,
    root: Root = None,
    chunks: Chunks = None,
    node_size: NodeSize = None,
    inner: Inner = None,
    outer: Outer = None,
    radix: Radix = None,
    *,
    json_output: Json = False,
) -> None:
    """Prove an algorithm for so many ranks, by its symmetry where it has one: also for 131,072."""
    from allranks.verify import prove as proof_of  # noqa: PLC0415

    proof = proof_of(
        collective,
        algorithm,
        world_size=world_size,
        **parameters(root, chunks, node_size, inner, outer, radix),
    )
    if json_output:
        print_json({"ok": True, **proof.to_dict()})
        return
    typer.echo(str(proof))


@app.command()
def price(  # noqa: PLR0913 - one parameter per option
    collective: Collective,
    world_size: Ranks,
    size: Annotated[
        list[str],
        typer.Option(help="Bytes of the whole vector, or a span: 16MiB, 1KiB..1GiB. Repeatable."),
    ],
    algorithm: Annotated[str, typer.Option(help="A name, or all.")] = "all",
    alpha: Annotated[str | None, typer.Option(help="Seconds per message, as in 5us.")] = None,
    bandwidth: Annotated[str | None, typer.Option(help="Per direction, as in 50GB/s.")] = None,
    preset: Annotated[
        str | None, typer.Option(help="A machine by name, as in dgx-h100: see `allranks machines`.")
    ] = None,
    root: Root = None,
    chunks: Chunks = None,
    node_size: NodeSize = None,
    inner: Inner = None,
    outer: Outer = None,
    radix: Radix = None,
    *,
    json_output: Json = False,
) -> None:
    """Price a collective: seconds, steps and bytes of each algorithm, and the lower bound."""
    from allranks.cli.prices import (  # noqa: PLC0415
        machine,
        price_all,
        price_both,
        print_prices,
        sizes,
    )

    topology = machine(world_size, alpha=alpha, bandwidth=bandwidth, preset=preset)
    asked = parameters(root, chunks, node_size, inner, outer, radix)
    rows = []
    absent: dict[str, str] = {}
    for nbytes in sizes(size):
        if algorithm == "all":
            more, reasons = price_all(collective, topology, nbytes, asked)
            rows += more
            absent |= reasons
        else:
            rows += price_both(collective, algorithm, topology, nbytes, asked)
    if json_output:
        print_json(rows)
        return
    print_prices(rows, absent, topology)


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
        print_json(rate._asdict())
        return
    for name in ("algbw", "busbw"):
        value = getattr(rate, name)
        typer.echo(f"{name}  {'not defined' if value is None else format_bandwidth(value)}")
    typer.echo(
        rate.note
        or "busbw scales algbw by the collective's factor; it is the speed of a wire only while "
        "ranks send to ranks, not where switches reduce."
    )


@app.command()
def algorithms(
    collective: Annotated[str | None, typer.Argument(help="A collective; left out: all.")] = None,
    *,
    json_output: Json = False,
) -> None:
    """List the algorithms by name, with what each needs."""
    from allranks.algorithms import algorithms as named  # noqa: PLC0415
    from allranks.collectives import CONTRACTS  # noqa: PLC0415

    table = {name: named(name) for name in ([collective] if collective else CONTRACTS)}
    if json_output:
        print_json(table)
        return
    for of, names in table.items():
        typer.echo(of)
        for name, restriction in names.items():
            typer.echo(f"  {name:<20}{restriction}".rstrip())


@app.command()
def machines(
    name: Annotated[str | None, typer.Argument(help="A machine; left out: all.")] = None,
    *,
    json_output: Json = False,
) -> None:
    """List the machines that `price --preset` knows, or say where the numbers of one come from."""
    from dataclasses import asdict  # noqa: PLC0415

    from allranks.errors import unknown_name  # noqa: PLC0415
    from allranks.topology import PRESETS  # noqa: PLC0415

    if name is not None and name not in PRESETS:
        raise ValueError(unknown_name("machine", name, PRESETS))
    chosen = {key: preset for key, preset in PRESETS.items() if name in (None, key)}
    if json_output:
        facts = {key: asdict(preset) for key, preset in chosen.items()}
        for fields in facts.values():
            del fields["make"]
        print_json(facts)
        return
    for key, preset in chosen.items():
        typer.echo(f"{key:<18}{preset.summary}")
        if name is not None:
            typer.echo(f"  per direction   {preset.attainable}")
            typer.echo(f"  peak            {preset.peak}")
            typer.echo(f"  source          {preset.source} (read {preset.read})")
            typer.echo(f"  assumed         {preset.assumed}")
