"""Judges exercises from what the learner's processes really sent: transfers, numbers or arrays.

An exercise passes if its promise holds in every case and the targets for bytes and latency are met
at least within 1.3 times; where the manifest says `goal = "contract"`, the promise is enough.
The promise is worth 60 points, all or nothing; bytes 25 and latency 15: all at the target, half
within 1.3 times, else none. Any schedule that keeps the promise at that price passes, whatever it
looks like; the kinds stand in `schedules`, `values` and `ranks`. A fault of ours is ungraded, never
a zero.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allranks.learn import process
from allranks.learn.answers import Asked
from allranks.learn.exercises import (
    Exercise,
    ExerciseError,
    Feedback,
    answer_path,
    find_exercise,
    load_manifest,
    start,
)
from allranks.learn.ranks import judge_ranks
from allranks.learn.schedules import ScheduleJudging
from allranks.learn.values import ValueJudging
from allranks.learn.verdict import Verdict, render

SOURCE_LIMIT = 2**20


def check(
    name: str | None = None, *, file: str | Path | None = None, seconds: float | None = None
) -> list[Verdict]:
    """Grade one exercise, or all of them, each in a process of its own.

    Without `file`, the learner's copy in the workspace is graded; it is made from the stub if it is
    not there yet. `seconds` replaces the computing time that the manifest allows.

    Raises:
        ExerciseError: no such exercise, a file that cannot be read, or a file without a name.
    """
    if name is None:
        if file is not None:
            message = (
                "--file: say which exercise it answers, as in: check 00_hello_collective --file x"
            )
            raise ExerciseError(message)
        return [_check(exercise, start(exercise.slug), seconds) for exercise in load_manifest()]
    exercise = find_exercise(name)
    path = start(exercise.slug) if file is None else Path(file)
    return [_check(exercise, path, seconds)]


def _check(exercise: Exercise, path: Path, seconds: float | None) -> Verdict:
    return grade(exercise, read_source(path), str(path), seconds=seconds)


def check_solution(exercise: Exercise) -> Verdict:
    """Grade the course's own solution, the one file that may import the library (for our gates)."""
    source = read_source(exercise.solution)
    return _grade(exercise, source, str(exercise.solution), exercise.seconds, library=True)


def read_source(path: Path) -> str:
    """Return the text of a Python file.

    Raises:
        ExerciseError: missing, no regular file, unreadable, too long or not UTF-8; says which.
    """
    try:
        # asked before it is opened: opening a pipe waits for somebody to write
        if not stat.S_ISREG(path.stat().st_mode):
            message = (
                f"{path}: cannot be read (not a regular file); give the path of your Python file"
            )
            raise ExerciseError(message)
        with path.open("rb") as file:
            data = file.read(SOURCE_LIMIT + 1)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}); give the path of your Python file"
        raise ExerciseError(message) from error
    if len(data) > SOURCE_LIMIT:
        message = f"{path}: more than 1 MiB; an answer is a Python file of at most 1 MiB"
        raise ExerciseError(message)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8 text"
        raise ExerciseError(message) from error


def grade(
    exercise: Exercise, source: str, filename: str, *, seconds: float | None = None
) -> Verdict:
    """Return the verdict on a file's text; `filename` is what messages call it."""
    return _grade(exercise, source, filename, seconds or exercise.seconds, library=False)


def _grade(
    exercise: Exercise, source: str, filename: str, seconds: float, *, library: bool
) -> Verdict:
    request = {
        "source": source,
        "filename": filename,
        "entry": list(exercise.entry),
        "more_entries": list(exercise.more_entries),
        "kind": exercise.kind,
        "collective": exercise.collective,
        "library": library,
    }
    try:
        return _judged(exercise, request, seconds)
    except process.InfrastructureError as error:
        message = f"Not graded: {error}. This does not count; try again."
        return Verdict(exercise.slug, "ungraded", message, title=exercise.title)
    except Exception as error:  # noqa: BLE001 - a fault of the checker must never become a zero
        message = (
            f"Not graded: a fault of the checker ({type(error).__name__}: {error}). This does not "
            "count; please report it."
        )
        return Verdict(exercise.slug, "ungraded", message, title=exercise.title)


def _judged(exercise: Exercise, request: Mapping[str, Any], seconds: float) -> Verdict:
    if exercise.kind == "ranks":
        return judge_ranks(exercise, request, seconds=seconds)
    asked = Asked.of(exercise)
    run = process.run({**request, "cases": asked.requests}, seconds=seconds)
    kind = ValueJudging if exercise.kind == "value" else ScheduleJudging
    return kind(exercise, asked, run, filename=request["filename"], seconds=seconds).verdict()


def feedback_for(exercise: Exercise, wrong: str) -> Feedback:
    """Return the feedback of the manifest for one named wrong solution."""
    return next(each for each in exercise.feedback if each.wrong == wrong)


__all__ = [
    "answer_path",
    "check",
    "check_solution",
    "feedback_for",
    "grade",
    "read_source",
    "render",
]
