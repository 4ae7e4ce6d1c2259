"""Everything that a learner reads is spelled as in the United States, in the words of the field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pytest
import spelling
from spelling import Text


@pytest.mark.parametrize("read", [spelling.pages, spelling.items, spelling.exercises])
def test_every_word_is_known(read: Callable[[], Iterable[Text]]) -> None:
    found = spelling.unknown(read())
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("They recieve it.", ["recieve"]),
        ("The color of a neighbor, in behavior.", []),
        ("The colour of a neighbour, in behaviour.", ["colour", "neighbour", "behaviour"]),
        ("We analyse the centre.", ["analyse", "centre"]),
        ("Begin, the rank's own, the ranks' own, it’s.", []),
        ("All-reduce, all-gather, non-blocking.", []),
        ("`recieve`, https://recieve.org, src/recieve.cc, {recieve}, re_cieve, recieve7", []),
        ("NCCL uses NVLink between GPUs; Nvlink is none.", ["Nvlink"]),
        ("Rezeive and recieve.", ["Rezeive", "recieve"]),
        ("first line\nsecond lien\nthird linne", ["linne"]),
    ],
)
def test_what_is_misspelled_is_found(text: str, words: list[str]) -> None:
    assert [each.word for each in spelling.unknown([Text("x", 1, text)])] == words


def test_a_finding_says_where_it_is_and_what_is_near() -> None:
    (found,) = spelling.unknown([Text("book/x.md", 3, "first line\nthey recieve")])
    assert re.match(r"book/x\.md:4: recieve: no word of the dictionaries; .*receive", str(found))


def test_texts_of_every_kind_are_read() -> None:
    places = {each.place.split()[0] for each in [*spelling.items("00"), *spelling.exercises()]}
    assert places == {"item", "exercise", "misconception"}
    assert any("doubles in every step" in each.text for each in spelling.pages(["index"]))
    said = " ".join(each.text for each in spelling.items("00"))
    assert "Collective Communications Library" in said, "options"
    assert "Element by element" in said or "element by element" in said, "feedback"


def test_the_dictionary_of_the_field_is_sorted_and_holds_what_english_lacks() -> None:
    words = spelling.FIELD.read_text(encoding="utf-8").splitlines()
    assert words == sorted(set(words), key=lambda word: (word.casefold(), word))
    assert [word for word in words if spelling.english().lookup(word)] == []
