"""What happens on this machine: a run on Ray actors, and what the machine can do."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allranks.cli.app import (
    MISSING,
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
)

if TYPE_CHECKING:
    import numpy as np


@app.command()
def run(  # noqa: PLR0913 - one parameter per option
    collective: Collective,
    world_size: Ranks,
    size: Size,
    algorithm: Annotated[str | None, typer.Option(help="A name; left out: a usual one.")] = None,
    root: Root = None,
    chunks: Chunks = None,
    node_size: NodeSize = None,
    inner: Inner = None,
    outer: Outer = None,
    radix: Radix = None,
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
    made = build(
        collective,
        name,
        world_size=world_size,
        **parameters(root, chunks, node_size, inner, outer, radix),
    )
    inputs = example_inputs(made, nbytes=nbytes, dtype=dtype)
    if trace is not None:
        trace.touch()  # a path that cannot be written is refused before the run, not after it
    expected = simulate(made, inputs)
    if not json_output:
        complain(f"starting Ray and {counted(world_size, 'rank')} ...")
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
        print_json(facts)
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
def doctor(*, json_output: Json = False) -> None:
    """Say what this machine has, what each transport will do and why, and what to install."""
    from allranks.runtime.doctor import diagnose  # noqa: PLC0415

    findings = diagnose()
    if json_output:
        print_json({"findings": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            mark = {"ok": "ok     ", "note": "note   ", "missing": "missing"}[finding.status]
            typer.echo(f"{mark}  {finding.what}: {finding.detail}")
    if any(finding.status == "missing" for finding in findings):
        raise typer.Exit(MISSING)


def _same(got: np.ndarray | None, right: np.ndarray | None) -> bool:
    import numpy as np  # noqa: PLC0415

    if got is None or right is None:
        return got is right
    return got.dtype == right.dtype and np.array_equal(got, right)
