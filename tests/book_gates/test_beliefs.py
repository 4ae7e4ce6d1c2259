"""The gate of misconceptions: what a wrong answer names, the prose answers."""

from __future__ import annotations

import pytest
from gate_pages import GATES, page

from allranks.learn.misconceptions import MISCONCEPTIONS
from allranks.serve.gates import beliefs
from allranks.serve.gates.rules import Chapter, table


def found(*pages: Chapter, plan: dict[str, list[str]] | None = None) -> list[tuple[str, str]]:
    return [
        (each.page.removeprefix("book/"), each.text) for each in beliefs.findings(pages, plan or {})
    ]


def marks(names: list[str]) -> str:
    return "\n\n".join(f"{{mis}}`words <{name}>`" for name in names)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    items = {"03": {"M-COUNT-N": "item 03-a"}, "04": {"M-COUNT-N": "item 04-a"}}
    exercises = {"04": {"M-SCALAR": "exercise 04_a"}}
    monkeypatch.setattr(beliefs, "asked_by_items", lambda number: items.get(number, {}))
    monkeypatch.setattr(beliefs, "written_in_items", lambda number: set(items.get(number, ())))
    monkeypatch.setattr(beliefs, "asked_by_exercises", lambda number: exercises.get(number, {}))


@pytest.mark.usefixtures("asked")
def test_an_id_that_no_sentence_answers_is_found() -> None:
    (missing,) = found(page("No words.", "03-x"))
    assert missing[1].startswith("item 03-a names M-COUNT-N, and no sentence up to here answers it")


@pytest.mark.usefixtures("asked")
def test_an_id_may_be_answered_in_an_earlier_chapter_but_not_in_a_later_one() -> None:
    first, second = page(marks(["M-COUNT-N"]), "03-x"), page(marks(["M-SCALAR"]), "04-x")
    assert found(first, second) == []
    late = page("No words.", "03-x"), page(marks(["M-SCALAR", "M-COUNT-N"]), "04-x")
    assert [name for name, _ in found(*late)] == ["03-x.md"]


@pytest.mark.usefixtures("asked")
def test_a_mark_of_a_whole_paragraph_and_of_several_ids_counts() -> None:
    assert found(page("Words. {mis}`M-COUNT-N M-SCALAR`", "04-x")) == []
    assert found(page("{mis}`words <M-COUNT-N M-SCALAR>`", "04-x")) == []


@pytest.mark.usefixtures("asked")
def test_a_mark_without_an_id_is_found() -> None:
    chapter = page("# T\n\n{mis}`words <M-COUNT-N>` {mis}`words <M-NONSENSE>`", "03-x")
    ((_, text),) = found(chapter)
    assert text.startswith("no misconception 'M-NONSENSE'")


@pytest.mark.usefixtures("asked")
def test_an_id_that_a_chapter_must_ask_about_is_found_if_it_does_not() -> None:
    chapter = page(marks(["M-COUNT-N"]), "03-x")
    assert found(chapter, plan={"03": ["M-COUNT-N"]}) == []
    ((_, text),) = found(chapter, plan={"03": ["M-SCALAR"]})
    assert text == "M-SCALAR belongs to this chapter, and no wrong answer of it names it"


@pytest.mark.usefixtures("asked")
def test_an_id_that_the_items_never_draw_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beliefs, "written_in_items", lambda _number: {"M-COUNT-N", "M-GIB"})
    ((_, text),) = found(page(marks(["M-COUNT-N"]), "03-x"))
    assert text == "items/ch03.py names M-GIB, and no item does within 200 seeds"


def test_every_name_in_an_item_is_seen_and_every_exercise_is_read() -> None:
    item = {"options": [{"misconception": "A"}, {"misconception": None}], "num": {"x": [1, "B"]}}
    assert list(beliefs.named(item)) == ["A"]
    asked = beliefs.asked_by_exercises("00")
    assert asked == {
        "M-SWAP-IS-SUM": "exercise 00_hello_collective",
        "M-DOUBLE-COUNT": "exercise 00_hello_collective",
    } | dict(asked)
    assert "M-NCCL-IS-COLLECTIVES" in beliefs.asked_by_items("00")


def test_the_plan_names_chapters_by_number_and_ids_by_name() -> None:
    plan = table(GATES / "beliefs.toml")["chapters"]
    assert all(len(number) == 2 and number.isdecimal() for number in plan)
    for names in plan.values():
        assert len(names) == len(set(names))
        assert all(name.startswith("M-") for name in names)
    assert {name for number in ("00", "03", "04") for name in plan[number]} <= set(MISCONCEPTIONS)
