"""Where a learner's files lie: found by many names, copied once, never overwritten."""

from __future__ import annotations

import pytest

from allranks.learn import exercises
from allranks.learn.exercises import (
    ExerciseError,
    answer_path,
    find_exercise,
    hint,
    load_manifest,
    reset,
    roots,
    solution,
    start,
)
from allranks.learn.grader import check


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("ALLRANKS_WORK", str(tmp_path / "my work"))
    return tmp_path / "my work"


@pytest.mark.parametrize(
    "name",
    [
        "03_binomial_broadcast",
        "binomial_broadcast",
        "binomial_tree_broadcast",
        "binomial-tree-broadcast",
        "03_binomial_broadcast.py",
        " 03_Binomial_Broadcast ",
    ],
)
def test_an_exercise_is_found_by_each_of_its_names(name):
    assert find_exercise(name).slug == "03_binomial_broadcast"


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(ExerciseError, match="did you mean '03_pipelined_chain'"):
        find_exercise("03_pipelind_chain")


def test_the_stub_is_copied_once_and_what_was_written_stays(work):
    path = start("00_hello_collective")
    assert path == work / "00_hello_collective.py"
    stub = find_exercise("00_hello_collective").stub
    assert path.read_text(encoding="utf-8") == stub.read_text(encoding="utf-8")
    path.write_text("mine", encoding="utf-8")
    assert start("00_hello_collective").read_text(encoding="utf-8") == "mine"


def test_a_first_check_copies_the_stub_and_says_that_nothing_is_written(work):
    (verdict,) = check("00_hello_collective")
    assert verdict.message.startswith("Not written yet")
    assert (work / "00_hello_collective.py").is_file()


def test_reset_keeps_every_earlier_file_beside_the_fresh_one(work):
    path = start("00_hello_collective")
    for text in ("first", "second"):
        path.write_text(text, encoding="utf-8")
        fresh, kept = reset("00_hello_collective")
        assert kept.read_text(encoding="utf-8") == text
        assert "NotImplementedError" in fresh.read_text(encoding="utf-8")
    assert len(list(work.iterdir())) == 3


def test_reset_of_what_was_never_begun_begins_it(work):
    fresh, kept = reset("00_hello_collective")
    assert (fresh, kept) == (work / "00_hello_collective.py", None)


def test_a_workspace_that_cannot_be_written_is_refused_in_a_sentence(work):
    work.write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(ExerciseError, match="set ALLRANKS_WORK to a folder"):
        start("00_hello_collective")


def test_without_a_choice_the_workspace_lies_beside_the_course_or_right_here(monkeypatch, tmp_path):
    monkeypatch.delenv("ALLRANKS_WORK")
    checkout = exercises.exercises_folder().parent
    monkeypatch.chdir(tmp_path)
    here = checkout if (checkout / "pyproject.toml").is_file() else tmp_path
    assert (
        answer_path(find_exercise("00_hello_collective"))
        == here / "work" / "00_hello_collective.py"
    )


def test_hints_come_in_three_and_a_fourth_is_refused():
    hints = [hint("03_pipelined_chain", number) for number in (1, 2, 3)]
    assert len(set(hints)) == 3
    for number in (0, 4):
        with pytest.raises(ExerciseError, match="has the hints 1 to 3"):
            hint("03_pipelined_chain", number)


def test_a_solution_comes_with_the_reason_why_it_works():
    text = solution("03_binomial_broadcast")
    assert "from allranks.algorithms.tree import binomial_broadcast" in text
    assert find_exercise("03_binomial_broadcast").why in text


def test_every_root_of_a_small_world_is_tried():
    cases = list(find_exercise("03_binomial_broadcast").cases())
    tried = {n: [case.root for case in cases if case.world_size == n] for n in (1, 5, 8, 16)}
    assert tried == {1: [0], 5: [*range(5)], 8: [*range(8)], 16: [0, 1, 8, 15]}
    assert {1, 2, 3, 4, 5, 7, 8, 16} <= {case.world_size for case in cases}
    assert list(roots(2)) == [0, 1]


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("[[exercise]\n", "cannot be read"),
        ("[[exercise]]\nslug='a'\nwhy=''\nsurprise=1\n", "surprise"),
        (
            "[[exercise]]\nslug='a'\nwhy=''\nkind='poem'\ntitle=''\nchapter=''\nseconds=1\n",
            "kind is 'poem'",
        ),
        (
            "[[exercise]]\nslug='a'\nwhy=''\nkind='value'\ntitle=''\nchapter=''\nseconds=1\n" * 2,
            "'a' stands there twice",
        ),
    ],
)
def test_a_broken_manifest_is_named_in_a_sentence(tmp_path, manifest, said):
    (tmp_path / "exercises.toml").write_text(manifest, encoding="utf-8")
    with pytest.raises(ExerciseError, match=r"exercises\.toml") as caught:
        load_manifest(tmp_path)
    assert said in str(caught.value)


def test_a_rule_for_passing_that_is_none_is_named(tmp_path):
    manifest = (
        "[[exercise]]\nslug='a'\nwhy=''\nkind='value'\ntitle=''\nchapter=''\nseconds=1\n"
        "goal='luck'\n"
    )
    (tmp_path / "exercises.toml").write_text(manifest, encoding="utf-8")
    with pytest.raises(ExerciseError, match="goal is 'luck'"):
        load_manifest(tmp_path)


def test_a_solution_that_is_a_function_of_the_library_shows_it():
    text = solution("01_gather_to_root")
    assert "def flat_gather(" in text
    assert text.index("def flat_gather(") < text.index("# Why: ")
