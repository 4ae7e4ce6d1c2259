"""Build the book: every cell runs, every warning is an error, and what is wrong is said plainly."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from allranks.errors import CollectiveError
from allranks.serve.digest import EXECUTED, WRITTEN, digest

SOURCES = ("_config.yml", "_toc.yml", "book")
NEEDED = ("jupyter_book", "myst_nb", "latex2mathml")
ZIP_FOLDER = "all-ranks"
ZIP_DATE = (2026, 1, 1, 0, 0, 0)
MOST_PROBLEMS = 12

_READING = re.compile(r"reading sources\.\.\. \[\s*\d+%\] (\S+)")
_WRITING = re.compile(r"writing output\.\.\. \[\s*\d+%\] (\S+)")
_RUN = re.compile(r"(\S+\.md): Executing notebook")
_RAN = re.compile(r"(\S+\.md): (\d+ runs on actors, .*)")
_PROBLEM = re.compile(r"\b(?:WARNING|ERROR|CRITICAL|SEVERE): ")
_HEADING = re.compile(r"^(?:The book|(?:Extension|Theme|Configuration|Sphinx)\w* error).*:$")
_CAUSE = re.compile(
    r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Deadlock|Mismatch|Died|Timeout)\b: \S"
)
_FINDING = re.compile(r"^\s+\S+\.(?:md|toml):\d+: \w+: ")
"""One of many findings of a gate: they are said together, and shown together."""
_COLOR = re.compile(r"\x1b\[[\d;]*m")


class BuildFailed(CollectiveError):
    """The book could not be built; the message says which pages are wrong."""


@dataclass(frozen=True)
class BuildResult:
    """Where the book is. `fresh` says whether this call built it or found it up to date."""

    html: Path
    fresh: bool
    seconds: float
    offline_zip: Path | None = None


def build(
    *, out: Path | None = None, quiet: bool = False, offline_zip: Path | None = None
) -> BuildResult:
    """Build the book unless it is up to date; return the folder of its pages.

    The pages are written to `out/_build/html`; `out` is the project's own folder by default.
    Progress goes to standard error unless `quiet`. With `offline_zip`, the pages are also written
    into one file that works from a folder, without a network and without a server.

    Raises:
        FileNotFoundError: there are no sources of the book here.
        ModuleNotFoundError: a package that builds the book is missing.
        BuildFailed: a cell raised, a warning, a rule of the book was broken.
    """
    started = time.perf_counter()
    root = project()
    for package in NEEDED:
        if find_spec(package) is None:
            raise ModuleNotFoundError(name=package)
    place = (out or root).resolve()
    html = place / "_build" / "html"
    with _alone(place / "_build", quiet=quiet):
        wanted = digest(root, (*EXECUTED, *WRITTEN))
        stamp = place / "_build" / "built.json"
        fresh = not _is_built(stamp, wanted, html)
        if fresh:
            stamp.unlink(missing_ok=True)
            # A page that is no longer in the book must not stay in its folder.
            shutil.rmtree(html, ignore_errors=True)
            _say("building the book: every code cell runs on Ray actors", quiet=quiet)
            _run(root, place, quiet=quiet)
            stamp.write_text(json.dumps({"digest": wanted}), encoding="utf-8")
            _say(f"the book is built, {time.perf_counter() - started:.0f} s", quiet=quiet)
        if offline_zip is not None:
            write_zip(html, offline_zip)
    return BuildResult(html, fresh, time.perf_counter() - started, offline_zip)


def project() -> Path:
    """Return the folder with the book's sources: the checkout of this package, or the folder here.

    Raises:
        FileNotFoundError: neither has them.
    """
    here = Path.cwd()
    for folder in (Path(__file__).resolve().parents[3], here, *here.parents):
        if all((folder / name).exists() for name in SOURCES):
            return folder
    message = (
        f"no book here: {here} has no {', '.join(SOURCES)}; "
        "go to a checkout of the course and run the command there"
    )
    raise FileNotFoundError(message)


def write_zip(html: Path, target: Path) -> None:
    """Write the pages into a zip, all inside one folder; the same pages give the same bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(target.name + ".part")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(html.rglob("*")):
            inside = path.relative_to(html)
            if path.is_file() and not any(part.startswith(".") for part in inside.parts):
                entry = zipfile.ZipInfo(f"{ZIP_FOLDER}/{inside.as_posix()}", ZIP_DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, path.read_bytes())
    unfinished.replace(target)


def _is_built(stamp: Path, wanted: str, html: Path) -> bool:
    if not stamp.is_file() or not (html / "index.html").is_file():
        return False
    try:
        made = json.loads(stamp.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return isinstance(made, dict) and made.get("digest") == wanted


@contextmanager
def _alone(folder: Path, *, quiet: bool) -> Iterator[None]:
    """Let one build at a time write into a folder; a second one waits."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another build is at work in this folder; waiting for it", quiet=quiet)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(root: Path, place: Path, *, quiet: bool) -> None:
    """Run Jupyter Book in a process of its own; keep all that it says in a file."""
    command = [
        *(sys.executable, "-c", "from jupyter_book.cli.main import main; main()"),
        *("build", str(root), "--path-output", str(place), "-W", "-n", "--keep-going"),
    ]
    environment = {**os.environ, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    record = place / "_build" / "build.log"
    lines: list[str] = []
    with (
        record.open("w", encoding="utf-8") as kept,
        subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            command,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as child,
    ):
        try:
            for raw in child.stdout or ():
                line = _COLOR.sub("", raw.rstrip("\n"))
                kept.write(line + "\n")
                lines.append(line)
                _show(line, quiet=quiet)
        except BaseException:
            child.terminate()
            raise
    if child.returncode:
        raise BuildFailed(_reason(lines, root, record))


def _show(line: str, *, quiet: bool) -> None:
    for pattern, words in (
        (_READING, "reading {}"),
        (_RUN, "running the cells of {}"),
        (_RAN, "{1}"),
        (_WRITING, "writing {}"),
    ):
        found = pattern.search(line)
        if found:
            _say("  " + words.format(*found.groups()), quiet=quiet)
            return


def _reason(lines: list[str], root: Path, record: Path) -> str:
    """Return what was wrong: every page's own problem, and the last line of a cell's traceback."""
    problems: list[str] = []
    findings = [line.strip() for line in lines if _FINDING.match(line)]
    for above, line in pairwise(["", *lines]):
        text = line.strip().replace(f"{root}/", "")
        told = _HEADING.match(above) or _PROBLEM.search(line) or _CAUSE.match(text)
        said = text.partition(": ")[2] or text  # without the name of the class or the place
        if told and text and not any(each in text or said in each for each in problems):
            problems.append(text)
    if not problems:
        problems = [line for line in lines if line.strip()][-MOST_PROBLEMS:]
    more = len(problems) - MOST_PROBLEMS
    shown = problems[:MOST_PROBLEMS] + ([f"and {more} more"] if more > 0 else []) + findings
    return "the book was not built:\n" + "\n".join(
        [*(f"  {each}" for each in shown), f"all that was said stands in {record}"]
    )


def _say(text: str, *, quiet: bool) -> None:
    if not quiet:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
