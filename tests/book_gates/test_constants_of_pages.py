"""Numbers that a page gives because the judge defines them are those of the judge."""

from __future__ import annotations

from gate_pages import ROOT

from allranks.learn import judging
from allranks.learn.judges import ch03
from allranks.learn.verdict import FULL
from allranks.serve.gates.reading import Page, read


def given(name: str) -> list[str]:
    page: Page = read((ROOT / "book" / f"{name}.md").read_text(encoding="utf-8"), name)
    return [piece.text for _, piece in page.pieces("given")]


def test_the_points_of_chapter_00_are_those_of_the_grader() -> None:
    points = [str(FULL[each]) for each in ("contract", "bandwidth", "latency")]
    assert given("00-quickstart")[1:] == points


def test_the_limits_of_chapter_03_are_those_of_the_judges() -> None:
    texts = given("03-broadcast")
    assert f"{judging.NEAR:g}" in texts
    assert str(ch03.NUM_CASES) in texts
    assert f"{100 * (ch03.TOLERANCE - 1):.3g} %" in texts
