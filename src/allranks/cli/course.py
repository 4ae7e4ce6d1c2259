"""The course: opening and building the book, checking exercises."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allranks.cli.app import (
    WRONG,
    Json,
    app,
    print_json,
)


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
        print_json({"exercises": [verdict.to_dict() for verdict in verdicts]})
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
    from allranks.learn.exercises import find_exercise  # noqa: PLC0415
    from allranks.learn.exercises import hint as hint_of  # noqa: PLC0415

    typer.echo(hint_of(slug, number))
    if number < len(find_exercise(slug).hints):
        typer.echo(f"(more: allranks hint {slug} --number {number + 1})")


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
