"""What a learner reads is in the catalogues: whole sentences, each value a named place."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from allranks.learn.exercises import load_manifest
from allranks.learn.misconceptions import MISCONCEPTIONS
from allranks.learn.quiz import ITEMS, practice

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "scripts" / "catalogues"
sys.path.insert(0, str(TOOLS))

import write  # noqa: E402 - a tool, not a package


@pytest.fixture(scope="session")
def catalogues(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Catalog]:
    folder = tmp_path_factory.mktemp("catalogues")
    counts = write.write(folder)
    assert all(count > 20 for count in counts.values()), counts
    read = {}
    for name in counts:
        with (folder / f"{name}.pot").open("rb") as file:
            read[name] = read_po(file)
    return read


def as_pattern(message: str) -> re.Pattern[str]:
    """Return what a sentence of a catalogue looks like once its places are filled."""
    parts = re.split(r"\{\w+\}", message)
    return re.compile("(?s)" + ".+?".join(map(re.escape, parts)))


def test_a_figure_says_what_is_in_its_catalogue(catalogues: dict[str, Catalog]) -> None:
    figures = catalogues["figures"]
    for text in (
        "Try again",
        "Not yet.",
        "Read where the text answers this",
        "To the start",
        "Finished: every promised chunk is in place, each part once.",
        "At {seconds}, finished: {all}.",
        "rank {rank} lacks {list} in chunk {chunk}",
    ):
        assert text in figures, text
    places = figures["rank {rank} lacks {list} in chunk {chunk}"]
    assert "python-brace-format" in places.flags
    assert "list: list(lost)" in places.auto_comments
    assert places.locations[0][0] == "src/allranks/view/static/telling.js"


@pytest.mark.parametrize("item_id", ITEMS)
def test_what_an_item_says_is_made_of_sentences_of_the_catalogue(
    item_id: str, catalogues: dict[str, Catalog]
) -> None:
    patterns = [as_pattern(each.id) for each in catalogues["items"] if each.id]
    for seed in range(5):
        item = practice(item_id, seed=seed)
        spoken = [item["stem"], *(each["text"] for each in item.get("options", ()))]
        key = item.get(item["type"], {})
        spoken += [key[name] for name in ("feedback_right", "feedback_else") if name in key]
        for text in spoken:
            if len(re.findall(r"[^\W\d_]{2,}", text)) > 3:
                assert any(each.search(text) for each in patterns), text


def test_every_answer_to_a_misconception_is_there(catalogues: dict[str, Catalog]) -> None:
    assert set(MISCONCEPTIONS.values()) <= {each.id for each in catalogues["misconceptions"]}


def test_every_hint_and_every_feedback_of_an_exercise_is_there(
    catalogues: dict[str, Catalog],
) -> None:
    ids = {each.id for each in catalogues["exercises"]}
    for exercise in load_manifest():
        said = [exercise.title, exercise.why, *exercise.hints]
        said += [rule.text for rule in exercise.feedback]
        assert {" ".join(text.split()) for text in said} <= ids, exercise.slug


def test_the_verifier_and_the_command_line_are_there(catalogues: dict[str, Catalog]) -> None:
    files = {place for each in catalogues["messages"] for place, _ in each.locations}
    assert {"src/allranks/verify/blame.py", "src/allranks/cli/app.py"} <= files
    assert any("would be added twice" in each.id for each in catalogues["messages"] if each.id)


def test_every_value_in_a_sentence_is_a_named_place_that_is_explained(
    catalogues: dict[str, Catalog],
) -> None:
    seen = 0
    for catalogue in catalogues.values():
        for each in catalogue:
            explained = {note.partition(":")[0] for note in each.auto_comments}
            if explained:
                assert set(re.findall(r"\{([A-Za-z_]\w*)\}", each.id)) == explained, each.id
                seen += 1
    assert seen > 200


@pytest.mark.book
def test_the_pages_build_as_catalogues_without_a_warning(tmp_path: Path) -> None:
    from allranks.serve.build import build

    html = build(quiet=True).html
    subprocess.run(
        [sys.executable, str(TOOLS / "write.py"), "--pages", str(tmp_path)],
        check=True,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    templates = {path.stem: path for path in tmp_path.rglob("*.pot")}
    assert "book" in templates
    text = templates["book"].read_text(encoding="utf-8")
    said = " ".join(re.findall(r'"(.*)"', text))
    assert "Rows are ranks, columns are chunks of two elements." in said, "a caption"
    assert "Returning is not finishing." in said, "a box"
    assert (html / "index.html").is_file(), "the pages are left as they were"
