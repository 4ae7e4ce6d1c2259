"""The pages of the book pass every gate, and what is let pass has its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from allranks.serve.gates.check import PROSE, check
from allranks.serve.gates.rules import RulesError, allowances, chapters, listed

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("gate", PROSE)
def test_the_book_passes_the_gate_of(gate: str) -> None:
    found = check(ROOT, gates={gate: PROSE[gate]})
    assert not found, f"{len(found)} findings:\n{listed(found)}"


def test_one_page_can_be_checked_by_the_beginning_of_its_name() -> None:
    pages = [page.name for page in chapters(ROOT)]
    assert pages[0] == "index"
    assert "00-quickstart" in pages
    check(ROOT, ["00"], gates={"structure": PROSE["structure"]})
    with pytest.raises(ValueError, match="no page begins with nonsense"):
        check(ROOT, ["nonsense"])


def test_every_list_belongs_to_a_page_and_every_entry_has_a_reason(tmp_path: Path) -> None:
    names = {page.name.replace("/", ".") for page in chapters(ROOT)}
    shared = {"numbers", "words", "terms", "beliefs"}
    for path in (ROOT / "book" / "_gates").glob("*.toml"):
        assert path.stem in names | shared, path.name
        if path.stem in names:
            allowances(path.parent, path.stem)
    for bad in ('[[number]]\ntext = "7"\n', '[[number]]\ntext = "7"\nwhy = ""\n', "[[x]]\n", "["):
        folder = tmp_path / str(len(bad)) / "_gates"
        folder.mkdir(parents=True)
        (folder / "05-x.toml").write_text(bad, encoding="utf-8")
        with pytest.raises(RulesError, match=r"05-x\.toml"):
            allowances(folder, "05-x")
