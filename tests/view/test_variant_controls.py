"""The controls that vary a figure, and the badges of its owners, in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from allranks.algorithms import build
from allranks.view import frames
from allranks.view.asked import parse_controls
from allranks.view.bundle import write
from allranks.view.html import flow_html

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>test</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<link rel="stylesheet" href="allranks.css"><script src="allranks.js" defer></script>
<style>body {{ background: var(--ar-paper); color: var(--ar-ink); }}</style></head>
<body><main><h1>Test</h1>{}</main></body></html>"""

pytestmark = pytest.mark.browser


def flow(collective: str, controls: str) -> dict[str, object]:
    made = build(collective, "ring", world_size=4)
    return frames.flow(made, controls=parse_controls(controls), owners=True)


@pytest.fixture
def open_page(browser, tmp_path):
    """Return a function that opens the two figures and hears every complaint."""
    write(tmp_path)
    ring = flow_html(flow("reduce_scatter", "n=2-9 start bugs"), id="fig-ring")
    film = flow_html(flow("all_gather", "n=2-9 reverse"), id="fig-film")
    (tmp_path / "page.html").write_text(PAGE.format(ring + film), encoding="utf-8")
    complaints, contexts = [], []

    def start(**options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


def to_the_end(figure):
    figure.get_by_role("button", name="To the end").click()


def test_the_start_selector_turns_every_badge_red_with_words(open_page):
    figure = open_page().locator("#fig-ring")
    to_the_end(figure)
    expect(figure.locator(".ar-owner-kept")).to_have_count(4)
    expect(figure.locator(".ar-note")).to_be_hidden()
    figure.get_by_role("radio", name="r", exact=True).check()
    expect(figure.locator(".ar-note")).to_contain_text("start one chunk earlier")
    expect(figure.locator("strong").first).to_contain_text("rank r starts with chunk r")
    to_the_end(figure)
    expect(figure.locator(".ar-owner-astray")).to_have_count(4)
    expect(figure.locator(".ar-owner-astray").first).to_contain_text("on 3, not 0")
    expect(figure.locator(".ar-say")).to_contain_text(
        "Chunk 0 is complete on rank 3, but rank 0 must own it"
    )


def test_each_bug_has_its_mark_and_the_sentence_of_the_verifier_and_goes_away(open_page):
    figure = open_page().locator("#fig-ring")
    marks = {
        "one transfer twice": (".ar-times-text", "the same transfer stands twice"),
        "one left out": (".ar-missing-text", "add the transfer that brings them there"),
        "wrong owner": (".ar-owner-astray", "start one chunk later"),
    }
    for name, (mark, said) in marks.items():
        figure.get_by_role("radio", name=name).check()
        expect(figure.locator(".ar-note")).to_contain_text(said)
        to_the_end(figure)
        expect(figure.locator(mark).first).to_be_visible()
        expect(figure.locator(".ar-say")).to_contain_text("The promise is broken")
    figure.get_by_label("ranks n").select_option("7")
    expect(figure.get_by_role("radio", name="wrong owner")).to_be_checked()
    expect(figure.locator(".ar-note")).to_contain_text("complete on rank 1")
    figure.get_by_role("radio", name="none").check()
    expect(figure.locator(".ar-note")).to_be_hidden()
    to_the_end(figure)
    expect(figure.locator(".ar-say")).to_contain_text("Finished")


def test_the_film_turned_round_stays_where_it_is(open_page):
    page = open_page()
    figure = page.locator("#fig-film")
    figure.get_by_role("button", name="Forward one step").click()
    figure.get_by_role("radio", name="backwards").check()
    expect(figure.locator("strong").first).to_contain_text("backwards: a reduce-scatter")
    assert page.evaluate("document.getElementById('fig-film').stop") == 2
    to_the_end(figure)
    expect(figure.locator(".ar-say")).to_contain_text("which added it (now a+b+c+d)")
    expect(figure.locator(".ar-owner-kept")).to_have_count(4)
    figure.get_by_role("radio", name="forwards").check()
    assert page.evaluate("document.getElementById('fig-film').stop") == 0
    expect(figure.locator(".ar-owner")).to_have_count(0)


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("n", ["4", "9"])
def test_controls_are_named_and_nothing_is_wider_than_the_page(open_page, width, n):
    page = open_page(viewport={"width": width, "height": 900})
    figure = page.locator("#fig-ring")
    figure.get_by_label("ranks n").select_option(n)
    figure.get_by_role("radio", name="one transfer twice").check()
    to_the_end(figure)
    for group in ("Rank r starts with chunk", "Plant a bug"):
        expect(figure.get_by_role("group", name=group)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.add_script_tag(path=AXE)
    found = page.evaluate(
        "axe.run({preload: false}).then((r) => r.violations.map((v) => v.id + ': ' + v.help))"
    )
    assert found == []
