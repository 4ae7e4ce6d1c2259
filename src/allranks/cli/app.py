"""The application that every command joins, the options they share, and how they print."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

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
NodeSize = Annotated[
    str | None, typer.Option(help="Ranks per node, as in 8; for unequal nodes 8,8,4.")
]
Inner = Annotated[str | None, typer.Option(help="What runs inside nodes, as in ring.")]
Outer = Annotated[str | None, typer.Option(help="What runs between nodes, as in ring.")]
Radix = Annotated[int | None, typer.Option(help="Ports of a switch that lead down.")]
Size = Annotated[str, typer.Option(help="Bytes of the whole vector: 16MiB = 2^24, 16MB = 16e6.")]
Collective = Annotated[str, typer.Argument(help="broadcast, all_gather, all_reduce, ...")]


def ranks_per_node(text: str | None) -> int | tuple[int, ...] | None:
    """Return --node-size: one number, or one per node.

    >>> ranks_per_node("8"), ranks_per_node("8,8,4")
    (8, (8, 8, 4))
    """
    if text is None:
        return None
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        message = f"node size is {text!r}; it must be a number, or one per node as in 8,8,4"
        raise ValueError(message) from None
    return sizes[0] if len(sizes) == 1 else sizes


def parameters(  # noqa: PLR0913 - the options that every algorithm's commands share
    root: int | None,
    chunks: int | None,
    node_size: str | None,
    inner: str | None,
    outer: str | None,
    radix: int | None,
) -> dict[str, Any]:
    """Return the parameters of an algorithm that the options decide, as `allranks.schedule` takes.

    >>> parameters(None, 4, "8,8,4", None, "ring", None)
    {'num_chunks': 4, 'node_size': (8, 8, 4), 'outer': 'ring'}
    """
    options = {
        "root": root,
        "num_chunks": chunks,
        "node_size": ranks_per_node(node_size),
        "inner": inner,
        "outer": outer,
        "radix": radix,
    }
    return {name: value for name, value in options.items() if value is not None}


def read(file: Path) -> str:
    """Return the text of a file, or of standard input for `-`."""
    if str(file) == "-":
        return sys.stdin.read() if sys.stdin else ""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        message = f"{file} is not a text file; a schedule is one JSON object"
        raise ValueError(message) from None


def print_json(data: object) -> None:
    """Print one line of JSON."""
    typer.echo(json.dumps(data, ensure_ascii=False))


def complain(message: str) -> None:
    """Print a sentence on standard error."""
    typer.echo(message, err=True)


def sentence(error: Exception) -> str:
    """Return what an error says to a person."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
