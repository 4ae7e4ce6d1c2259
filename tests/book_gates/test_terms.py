"""The gate of terms: nothing is used before the book, or the page itself, has introduced it."""

from __future__ import annotations

from gate_pages import page as page_of
from gate_pages import places

from allranks.serve.gates import terms
from allranks.serve.gates.rules import Chapter

RULES = {
    "term": [
        {"name": "port", "chapter": "03"},
        {"name": "all-gather", "chapter": "04", "forms": ["all-gathered"]},
    ]
}
INTRODUCES = "# T\n\n## A\n\nA **port** is a door. One port.\n"


def found(*pages: Chapter) -> list[tuple[str, int, str]]:
    return [
        (each.page.removeprefix("book/"), each.line, each.gate)
        for each in sorted(terms.findings(pages, RULES))
    ]


def page(name: str, text: str, **allowed: dict[str, str]) -> Chapter:
    return page_of(text, name, **allowed)


GATHER = page("04-x", "# All-gather\n\n## A\n\nAn **all-gather** it is.\n")


def test_a_term_that_is_introduced_first_may_be_used_from_there_on() -> None:
    pages = page("03-x", INTRODUCES), GATHER, page("05-x", "# T\n\n## A\n\nPorts all-gathered.\n")
    assert found(*pages) == []


def test_a_use_in_an_earlier_chapter_is_found() -> None:
    pages = page("02-x", "# T\n\n## A\n\na\nb\nOne port.\n"), page("03-x", INTRODUCES), GATHER
    assert found(*pages) == [("02-x.md", 7, "term")]


def test_an_earlier_chapter_may_introduce_the_term_itself() -> None:
    early = "# T\n\n## A\n\nA **port** is a door.\n"
    assert found(page("02-x", early), page("03-x", INTRODUCES), GATHER) == []
    table = "# T\n\n## A\n\n| word | meaning |\n|---|---|\n| port | a door |\n\nA port.\n"
    assert found(page("02-x", table), page("03-x", INTRODUCES), GATHER) == []
    italic = early.replace("**", "*")
    assert found(page("02-x", italic), page("03-x", INTRODUCES), GATHER) == []
    other = table.replace("| word |", "| plan |")
    assert found(page("02-x", other), page("03-x", INTRODUCES), GATHER) == [("02-x.md", 7, "term")]


def test_a_use_before_the_introduction_of_the_own_chapter_is_found() -> None:
    late = "# T\n\n## A\n\nA port.\n\n## B\n\nA **port** is a door.\n"
    assert found(page("03-x", late), GATHER) == [("03-x.md", 5, "term")]


def test_the_promise_of_a_page_its_headings_its_links_and_its_code_are_no_uses() -> None:
    text = (
        "# Ports\n\nYou learn what a port is.\n\n- ports\n\n## Of ports\n\n"
        "See [ports](03-x.md), `port`, $port$, reporting, import-port.\n"
    )
    assert found(page("02-x", text), page("03-x", INTRODUCES), GATHER) == []


def test_a_chapter_must_introduce_its_own_words() -> None:
    assert found(page("03-x", "# T\n\n## A\n\nNothing.\n"), GATHER) == [("03-x.md", 1, "term")]


def test_a_missing_chapter_forbids_its_words_to_the_earlier_ones_alone() -> None:
    text = "# T\n\n## A\n\nOne port.\n"
    assert found(page("02-x", text)) == [("02-x.md", 5, "term")]
    assert found(page("05-x", text)) == []


def test_a_page_may_use_a_word_for_which_its_list_gives_a_reason() -> None:
    early = page("02-x", "# T\n\n## A\n\nOne port.\n", term={"port": "the port of a ship"})
    assert found(early, page("03-x", INTRODUCES), GATHER) == []
    unused = page("02-x", "# T\n\n## A\n\nOne.\n", term={"port": "the port of a ship"})
    assert found(unused, page("03-x", INTRODUCES), GATHER) == [("_gates/02-x.toml", 1, "allowed")]


def test_plurals_and_other_forms_are_the_same_term() -> None:
    port, gather = terms.terms(RULES)
    assert all(port.pattern.search(word) for word in ("port", "Ports", "its port."))
    assert not any(port.pattern.search(word) for word in ("report", "portal", "port-like"))
    assert gather.pattern.search("It is all-gathered")
    assert places([]) == []
