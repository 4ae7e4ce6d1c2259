"""The gate of the exercises: every stub fails, every solution passes, every mistake is named."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from allranks.learn.exercises import Exercise, exercises_folder, load_manifest
from allranks.learn.grader import check_solution, feedback_for, grade, read_source
from allranks.learn.misconceptions import MISCONCEPTIONS

WRONG = Path(__file__).parent / "learn" / "wrong"
EXERCISES = load_manifest()
MISTAKES = [(each, feedback.wrong) for each in EXERCISES for feedback in each.feedback]


def by_slug(exercise: Exercise) -> str:
    return exercise.slug


def mistake_name(value: object) -> str:
    return value.slug if isinstance(value, Exercise) else str(value)


@pytest.mark.parametrize("exercise", EXERCISES, ids=by_slug)
def test_a_stub_fails_and_says_that_nothing_is_written_yet_or_what_to_repair(exercise):
    verdict = grade(exercise, read_source(exercise.stub), "stub.py")
    assert verdict.status == "fail"
    assert verdict.criteria["contract"] == 0
    if exercise.starter == "wrong":
        assert verdict.misconception in {each.misconception for each in exercise.feedback}
    else:
        assert verdict.message.startswith("Not written yet: line ")


@pytest.mark.parametrize("exercise", EXERCISES, ids=by_slug)
def test_a_solution_passes_with_full_points(exercise):
    verdict = check_solution(exercise)
    assert verdict.status == "pass", verdict.message
    assert all(value in (None, 60, 25, 15) for value in verdict.criteria.values())
    assert verdict.criteria["contract"] == 60
    assert verdict.note == exercise.why


@pytest.mark.parametrize(("exercise", "name"), MISTAKES, ids=mistake_name)
def test_a_known_mistake_gets_the_feedback_with_its_name(exercise, name):
    verdict = grade(exercise, read_source(WRONG / exercise.slug / f"{name}.py"), f"{name}.py")
    feedback = feedback_for(exercise, name)
    assert verdict.status == "fail"
    assert verdict.misconception == feedback.misconception
    said = verdict.message.splitlines()[-1]
    fixed = [piece.split("}")[-1] for piece in feedback.text.split("{")]
    assert all(piece in said for piece in fixed)
    assert "{" not in said


def test_every_file_of_a_mistake_is_in_the_manifest_and_the_other_way_round():
    files = {(path.parent.name, path.stem) for path in WRONG.glob("*/*.py")}
    assert files == {(exercise.slug, name) for exercise, name in MISTAKES}


def test_every_folder_is_in_the_manifest_and_holds_a_stub_and_a_solution_only():
    folder = exercises_folder()
    here = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    expected = {f"{each.slug}/{name}.py" for each in EXERCISES for name in ("stub", "solution")}
    assert here == {"exercises.toml", *expected}


@pytest.mark.parametrize("exercise", EXERCISES, ids=by_slug)
def test_an_exercise_has_three_hints_two_mistakes_and_a_reason(exercise):
    assert len(exercise.hints) == 3
    assert len(exercise.feedback) >= 2
    assert exercise.why
    assert exercise.slug.startswith(f"{exercise.chapter}_")
    assert {each.misconception for each in exercise.feedback} <= set(MISCONCEPTIONS)


@pytest.mark.parametrize("exercise", EXERCISES, ids=by_slug)
def test_a_stub_names_its_entries_each_with_its_target_and_one_thing_to_do(exercise):
    source = exercise.stub.read_text(encoding="utf-8")
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    assert [each.name for each in functions] == [exercise.entry[0], *exercise.more_entries]
    assert all("Target" in (ast.get_docstring(each) or "") for each in functions)
    assert source.count("TODO") == len(functions)


def test_the_forgotten_root_is_named_in_the_words_of_the_course():
    exercise = next(each for each in EXERCISES if each.slug == "03_binomial_broadcast")
    source = read_source(WRONG / exercise.slug / "root_ignored.py")
    verdict = grade(exercise, source, "root_ignored.py")
    assert verdict.first_wrong_event["world_size"] == 2
    assert verdict.first_wrong_event["root"] == 1
    assert verdict.first_wrong_event["kind"] == "not_held"
    assert "Root 1: rank 0 sends data it does not have at step 0." in verdict.message
