"""The exercises: what the manifest says about each, and where the learner's copy lies.

`exercises/exercises.toml` is the only list. A learner never edits a stub: `start` copies it into
the workspace, `work/` beside the course (or the folder that ALLRANKS_WORK names), which belongs to
the learner alone. Nothing here overwrites a file there.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from allranks.errors import unknown_name

MANIFEST = "exercises.toml"
SMALL_WORLD = 8
KINDS = ("schedule", "value", "ranks")
GOALS = ("targets", "contract")
STARTERS = ("empty", "wrong")
_ALGORITHMS = "allranks.algorithms"


class ExerciseError(ValueError):
    """An exercise does not exist, or a file of it cannot be read; says which and what to do."""


@dataclass(frozen=True)
class Feedback:
    """What one wrong solution is told: the first feedback whose condition holds speaks."""

    wrong: str
    when: str
    text: str
    misconception: str | None = None


@dataclass(frozen=True)
class Case:
    """One call of the learner's function: `arguments` stand in the order of the signature."""

    world_size: int
    arguments: Mapping[str, int]
    root: int | None

    def words(self) -> str:
        """Return the case as a person reads it.

        >>> Case(5, {"root": 2, "num_segments": 3}, 2).words()
        'n = 5, root 2, num_segments 3'
        """
        extra = [f"{name} {value}" for name, value in self.arguments.items()]
        return ", ".join([f"n = {self.world_size}", *extra])

    def facts(self) -> dict[str, Any]:
        """Return what a first wrong event says about the case."""
        return {"world_size": self.world_size, **self.arguments}


@dataclass(frozen=True)
class Exercise:
    """One entry of the manifest; its comments say what each field means."""

    slug: str
    title: str
    chapter: str
    kind: str
    entry: tuple[str, ...]
    hints: tuple[str, ...]
    why: str
    folder: Path
    seconds: float
    aliases: tuple[str, ...] = ()
    more_entries: tuple[str, ...] = ()
    collective: str = ""
    worlds: tuple[int, ...] = ()
    more_worlds: tuple[int, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    num_chunks: str = "1"
    num_switches: str = "0"
    goal: str = "targets"
    starter: str = "empty"
    lengths: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    own_memory: bool = False
    targets: Mapping[str, str] = field(default_factory=dict)
    may_refuse: str = ""
    judge: str = ""
    feedback: tuple[Feedback, ...] = ()

    @property
    def stub(self) -> Path:
        """Return the file that a learner starts from."""
        return self.folder / "stub.py"

    @property
    def solution(self) -> Path:
        """Return the file of the course's own solution."""
        return self.folder / "solution.py"

    def cases(self) -> Iterator[Case]:
        """Yield every call that is tried, small worlds first."""
        for n in sorted({*self.worlds, *self.more_worlds}):
            yield from _cases(n, dict(self.arguments), {})


def _cases(n: int, open_arguments: dict[str, Any], chosen: dict[str, int]) -> Iterator[Case]:
    if not open_arguments:
        yield Case(n, MappingProxyType(dict(chosen)), chosen.get("root"))
        return
    name, *rest = open_arguments
    values = roots(n) if open_arguments[name] == "every" else open_arguments[name]
    for value in values:
        remaining = {key: open_arguments[key] for key in rest}
        yield from _cases(n, remaining, {**chosen, name: value})


def roots(n: int) -> Sequence[int]:
    """Return the roots that are tried: all of a small world, a few of a large one.

    >>> list(roots(3)), list(roots(16))
    ([0, 1, 2], [0, 1, 8, 15])
    """
    return range(n) if n <= SMALL_WORLD else sorted({0, 1, n // 2, n - 1})


def exercises_folder() -> Path:
    """Return the folder of the manifest: in the package if it was installed, else in the checkout.

    Raises:
        ExerciseError: there is none.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "course" / "exercises", package.parents[1] / "exercises"):
        if (folder / MANIFEST).is_file():
            return folder
    message = f"{MANIFEST}: not found beside the package; install allranks again"
    raise ExerciseError(message)


def load_manifest(folder: Path | None = None) -> tuple[Exercise, ...]:
    """Return all exercises in the order of the course.

    Raises:
        ExerciseError: the manifest is missing, unreadable or contradicts itself.
    """
    return _load(exercises_folder() if folder is None else folder)


@cache
def _load(folder: Path) -> tuple[Exercise, ...]:
    path = folder / MANIFEST
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"{path.name}: cannot be read ({error}); install allranks again"
        raise ExerciseError(message) from error
    defaults = data.get("defaults", {})
    exercises = tuple(_exercise(folder, {**defaults, **row}) for row in data["exercise"])
    _check_unique([name for each in exercises for name in (each.slug, *each.aliases)])
    return exercises


def _exercise(folder: Path, row: dict[str, Any]) -> Exercise:
    feedback = tuple(
        Feedback(**{name: _line(value) for name, value in each.items()})
        for each in row.pop("feedback", ())
    )
    for name in (
        *("entry", "more_entries", "aliases", "hints", "worlds", "more_worlds"),
        *("lengths", "cuts", "dtypes"),
    ):
        row[name] = tuple(row.get(name, ()))
    row["why"] = _line(row["why"])
    try:
        exercise = Exercise(**row, feedback=feedback, folder=folder / row["slug"])
    except TypeError as error:
        message = f"{MANIFEST}: {row.get('slug')}: {error}; see the comments at its top"
        raise ExerciseError(message) from error
    if exercise.kind not in KINDS:
        message = f"{MANIFEST}: {exercise.slug}: kind is {exercise.kind!r}; use one of {KINDS}"
        raise ExerciseError(message)
    for name, known in (("goal", GOALS), ("starter", STARTERS)):
        if getattr(exercise, name) not in known:
            value = getattr(exercise, name)
            message = f"{MANIFEST}: {exercise.slug}: {name} is {value!r}; use {known}"
            raise ExerciseError(message)
    return exercise


def _line(text: str) -> str:
    return " ".join(text.split())


def _check_unique(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            message = f"{MANIFEST}: {name!r} stands there twice; every slug and alias is unique"
            raise ExerciseError(message)


def find_exercise(name: str) -> Exercise:
    """Return an exercise by slug, alias, function name, or slug without its number.

    Raises:
        ExerciseError: no such exercise; the message suggests the nearest name. Or the functions of
            several are called that.

    >>> find_exercise("binomial-tree-broadcast").slug
    '03_binomial_broadcast'
    """
    wanted = name.strip().lower().replace("-", "_").removesuffix(".py")
    for exercise in load_manifest():
        if wanted in _names(exercise):
            return exercise
    found = [each for each in load_manifest() if wanted in (*each.entry, *each.more_entries)]
    if len(found) == 1:
        return found[0]
    if found:
        message = (
            f"{name}: this is a function of {' and of '.join(each.slug for each in found)}; give "
            "the name of the exercise"
        )
        raise ExerciseError(message)
    raise ExerciseError(unknown_name("exercise", name, [each.slug for each in load_manifest()]))


def _names(exercise: Exercise) -> set[str]:
    bare = re.sub(r"^\d+_", "", exercise.slug)
    return {exercise.slug, bare, *exercise.aliases}


def workspace() -> Path:
    """Return the learner's folder: $ALLRANKS_WORK, or `work` beside the course or right here."""
    chosen = os.environ.get("ALLRANKS_WORK")
    if chosen:
        return Path(chosen).expanduser()
    checkout = exercises_folder().parent
    here = checkout if (checkout / "pyproject.toml").is_file() else Path.cwd()
    return here / "work"


def answer_path(exercise: Exercise) -> Path:
    """Return where the learner's file of an exercise lies, written or not."""
    return workspace() / f"{exercise.slug}.py"


def start(name: str) -> Path:
    """Copy the stub into the workspace, unless a file is there already; return the file.

    Raises:
        ExerciseError: no such exercise, or the workspace cannot be written.
    """
    exercise = find_exercise(name)
    path = answer_path(exercise)
    if path.exists():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(exercise.stub.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"{path}: cannot be written ({error.strerror}); set ALLRANKS_WORK to a folder"
        raise ExerciseError(message) from error
    return path


def reset(name: str) -> tuple[Path, Path | None]:
    """Start an exercise anew; return the fresh file and where the old one was kept, if any.

    Raises:
        ExerciseError: no such exercise, or the workspace cannot be written.
    """
    exercise = find_exercise(name)
    path = answer_path(exercise)
    if not path.exists():
        return start(name), None
    number = 1
    while (kept := path.with_name(f"{exercise.slug}.old{number}.py")).exists():
        number += 1
    try:
        path.rename(kept)
    except OSError as error:
        message = f"{path}: cannot be moved aside ({error.strerror}); rename it yourself"
        raise ExerciseError(message) from error
    return start(name), kept


def hint(name: str, number: int) -> str:
    """Return hint 1 (the idea), 2 (the structure) or 3 (nearly the code).

    Raises:
        ExerciseError: no such exercise or hint.
    """
    exercise = find_exercise(name)
    if not 1 <= number <= len(exercise.hints):
        message = f"hint {number}: {exercise.slug} has the hints 1 to {len(exercise.hints)}"
        raise ExerciseError(message)
    return exercise.hints[number - 1]


def solution(name: str) -> str:
    """Return the course's own solution as source text, followed by why it works.

    Where the solution is a function of the library, its source is shown too.

    Raises:
        ExerciseError: no such exercise.
    """
    exercise = find_exercise(name)
    text = exercise.solution.read_text(encoding="utf-8")
    return "\n".join([text, *_from_the_library(text), f"# Why: {exercise.why}\n"])


def _from_the_library(solution: str) -> Iterator[str]:
    """Yield the source of every function that a solution takes from the library's algorithms."""
    for node in ast.parse(solution).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_ALGORITHMS):
            module = importlib.import_module(node.module or "")
            for each in node.names:
                source = inspect.getsource(getattr(module, each.name))
                yield f"# {each.name} in {node.module}:\n\n{source}"
