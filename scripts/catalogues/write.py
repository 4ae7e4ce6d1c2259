"""Write the catalogues of everything that a learner reads: `make catalogues`.

`_build/catalogues/` gets one template a part: items (questions, options, feedback), misconceptions,
exercises (titles, hints, reasons, feedback), figures (what the player says), messages (verifier,
runtime, command line), and one for each page of the book, which Sphinx writes. They are made from
the sources, so they are not kept in the repository. A sentence is whole, and its values are named
places; a translation must keep the names. `--no-pages` leaves the pages out, which need a build.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import javascript
import python
from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po
from sentences import Sentence

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "allranks"
FIGURES = SOURCES / "view" / "static"
MESSAGES = (
    *("errors", "units", "schedule", "collectives", "program", "simulate", "verify", "topology"),
    *("cost", "numerics", "algorithms", "runtime", "learn", "serve/build", "cli"),
)
TABLES = {"title", "hints", "why", "text"}


def items() -> Iterator[Sentence]:
    """Yield what the items say."""
    for path in [
        *sorted((SOURCES / "learn" / "items").glob("*.py")),
        SOURCES / "learn/templates.py",
    ]:
        yield from python.sentences(path, _name(path))


def misconceptions() -> Iterator[Sentence]:
    """Yield the sentences that answer misconceptions."""
    path = SOURCES / "learn" / "misconceptions.py"
    yield from python.sentences(path, _name(path))


def exercises() -> Iterator[Sentence]:
    """Yield titles, hints, reasons and feedback of the exercises."""
    path = ROOT / "exercises" / "exercises.toml"
    manifest = tomllib.loads(path.read_text(encoding="utf-8"))
    for number, text in enumerate(_texts(manifest["exercise"]), start=1):
        yield Sentence(" ".join(text.split()), _name(path), number)


def _texts(data: Any) -> Iterator[str]:  # noqa: ANN401 - whatever TOML holds
    if isinstance(data, list):
        for each in data:
            yield from _texts(each)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key not in TABLES:
                yield from _texts(value) if isinstance(value, list | dict) else ()
            elif isinstance(value, str):
                yield value
            else:
                yield from value


def figures() -> Iterator[Sentence]:
    """Yield what the figures say: the scripts of the page, and what Python writes for them."""
    for path in sorted(FIGURES.rglob("*.js")):
        yield from javascript.sentences(path, _name(path))
    for path in sorted((SOURCES / "view").glob("*.py")):
        if path.name not in {"values.py", "mathml.py", "bundle.py", "sphinx.py"}:
            yield from python.sentences(path, _name(path))


def messages() -> Iterator[Sentence]:
    """Yield what verifier, runtime and command line say."""
    others = {SOURCES / "learn" / "misconceptions.py", SOURCES / "learn" / "templates.py"}
    for name in MESSAGES:
        folder = SOURCES / name
        paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
        for path in paths:
            if path not in others and path.parent.name != "items":
                yield from python.sentences(path, _name(path))


PARTS = {
    "items": items,
    "misconceptions": misconceptions,
    "exercises": exercises,
    "figures": figures,
    "messages": messages,
}


def catalogue(sentences: Iterable[Sentence]) -> Catalog:
    """Return a template with these sentences, each with where it stands and what its places are."""
    made = Catalog(project="All Ranks", fuzzy=False)
    for each in sentences:
        notes = [f"{name}: {code}" for name, code in each.places.items()]
        flags = ["python-brace-format"] if each.places else []
        made.add(each.text, locations=[(each.file, each.line)], auto_comments=notes, flags=flags)
    return made


def write(folder: Path) -> dict[str, int]:
    """Write a template for each part; return how many sentences each has."""
    folder.mkdir(parents=True, exist_ok=True)
    counts = {}
    for name, sentences in PARTS.items():
        made = catalogue(sentences())
        with (folder / f"{name}.pot").open("wb") as file:
            write_po(file, made, width=100, sort_by_file=True, omit_header=False)
        counts[name] = len(made)
    return counts


def write_pages(folder: Path) -> None:
    """Let Sphinx write the templates of the pages, with the book's own configuration.

    The cells of the book have run in its last build; here their outputs come from its cache.
    """
    command = [
        *(sys.executable, "-c", "from jupyter_book.cli.main import main; main()"),
        *("build", str(ROOT), "--path-output", str(folder), "-W", "-n", "--keep-going"),
        *("--builder", "custom", "--custom-builder", "gettext"),
    ]
    environment = {**os.environ, "PYTHONUTF8": "1", "NO_COLOR": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)  # noqa: S603 - our own Python


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def main(arguments: list[str]) -> None:
    """Write everything, and say where; `--pages FOLDER` writes those of the pages alone, there."""
    if arguments[:1] == ["--pages"]:
        write_pages(Path(arguments[1]))
        return
    folder = ROOT / "_build" / "catalogues"
    for name, count in write(folder).items():
        sys.stdout.write(f"{folder.relative_to(ROOT)}/{name}.pot: {count} sentences\n")
    if "--no-pages" not in arguments:
        write_pages(folder / "pages")


if __name__ == "__main__":
    main(sys.argv[1:])
