"""<chunk-plane> and <chunk-trees> in a real Chromium, on a page opened from a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from allranks.algorithms import build
from allranks.view.asked import parse_controls
from allranks.view.bundle import write
from allranks.view.html import plane_html, trees_html
from allranks.view.planes import plane, trees

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>test</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<link rel="stylesheet" href="allranks.css"><script src="allranks.js" defer></script>
<style>body {{ background: var(--ar-paper); color: var(--ar-ink); }}</style></head>
<body><main><h1>Test</h1>{}</main></body></html>"""
LINKS = """<p><button class="ar-show" data-show="fig-plane?n=8&amp;nbytes=8e3&amp;machine=island">
island</button> <button class="ar-show" data-show="fig-trees?n=7&amp;rank=0">odd</button></p>"""

pytestmark = pytest.mark.browser


@pytest.fixture
def open_page(browser, tmp_path):
    """Return a function that opens both figures and watches console and requests."""
    write(tmp_path)
    plane_controls = parse_controls("n=2-131072 nbytes=1-1e9 machine", element="chunk-plane")
    body = [
        LINKS,
        plane_html(plane(world_size=16, nbytes=8e3, controls=plane_controls), id="fig-plane"),
        trees_html(
            trees(world_size=6, controls=parse_controls("n=2-32", element="chunk-trees")),
            id="fig-trees",
        ),
    ]
    (tmp_path / "page.html").write_text(PAGE.format("\n".join(body)), encoding="utf-8")
    contexts = []
    complaints = []

    def start(**options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda m: complaints.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


def said(page, name):
    return page.locator(f"#{name} .ar-say")


def told(page, name):
    return page.locator(f"#{name} .ar-detail")


def test_the_winner_changes_with_the_size_and_with_the_machine(open_page):
    page = open_page()
    expect(said(page, "fig-plane")).to_contain_text("recursive doubling with 4 α and 4 S")
    expect(told(page, "fig-plane")).to_contain_text("Recursive doubling: 4 α")
    size = page.get_by_role("slider", name="size S")
    for _ in range(8):
        size.press("PageUp")
    expect(said(page, "fig-plane")).to_contain_text("Rabenseifner with 8 α and 1.875 S")
    page.get_by_role("button", name="island").click()
    expect(said(page, "fig-plane")).to_contain_text("8 ranks, S = 8 kB, island")
    expect(said(page, "fig-plane")).to_contain_text("one-shot all-pairs with 1 α and 7 S")


def test_a_machine_that_holds_few_ranks_bounds_the_plane(open_page):
    page = open_page()
    page.locator("#fig-plane select").select_option("island")
    expect(page.locator("#fig-plane .ar-sub")).to_contain_text("8 ranks")
    ranks = page.locator("#fig-plane").get_by_role("slider", name="ranks n")
    ranks.press("End")
    expect(page.locator("#fig-plane .ar-sub")).to_contain_text("8 ranks")
    page.locator("#fig-plane").get_by_role("button", name="Reset").click()
    expect(page.locator("#fig-plane .ar-sub")).to_contain_text("16 ranks")


def test_the_arrow_keys_go_from_point_to_point_and_from_rank_to_rank(open_page):
    page = open_page()
    page.locator("#fig-plane .ar-point.ar-chosen").focus()
    page.keyboard.press("ArrowRight")
    expect(told(page, "fig-plane")).to_contain_text("Rabenseifner: 8 α and 1.875 S")
    page.keyboard.press("ArrowRight")
    expect(told(page, "fig-plane")).to_contain_text("A formula for chunks that come down")
    assert page.locator("#fig-plane .ar-point[tabindex='0']").count() == 1
    page.locator("#fig-trees .ar-member.ar-chosen").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(told(page, "fig-trees")).to_have_text(
        "Rank 3 sends 2 S. In tree 0 it is a leaf, and its parent is 2. In tree 1 its parent is 1, "
        "with 2 and 4 below it."
    )


def test_a_readers_own_schedule_is_proved_and_placed(open_page):
    page = open_page()
    page.get_by_text("Put your own schedule on the plane").click()
    box = page.locator("#fig-plane textarea")
    verdict = page.locator("#fig-plane .ar-verdict")
    made = build("all_reduce", "ring", world_size=4)
    broken = json.loads(made.to_json())
    broken["steps"].pop()
    for text, wanted in (
        ("{", "This is no JSON"),
        (json.dumps(broken), "After the last step rank"),
    ):
        box.fill(text)
        page.get_by_role("button", name="Check it and place it").click()
        expect(verdict).to_contain_text(wanted)
        assert page.locator("#fig-plane .ar-own").count() == 0
    box.fill(made.to_json())
    page.get_by_role("button", name="Check it and place it").click()
    expect(verdict).to_contain_text("It keeps its promise on 4 ranks")
    expect(page.locator("#fig-plane .ar-sub")).to_contain_text("4 ranks")
    expect(told(page, "fig-plane")).to_contain_text("Yours: 6 α and 1.5 S")
    assert page.locator("#fig-plane .ar-own").count() == 1
    page.get_by_role("button", name="Take it away").click()
    assert page.locator("#fig-plane .ar-own").count() == 0


def test_every_name_has_a_place_and_none_lies_on_another(open_page):
    page = open_page()
    boxes = page.evaluate(
        """() => [...document.querySelectorAll("#fig-plane .ar-point-name")].map((each) => {
            const { left, right, top, bottom } = each.getBoundingClientRect();
            return [left, right, top, bottom];
        })"""
    )
    assert len(boxes) == page.locator("#fig-plane .ar-point").count()
    for at, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[at + 1 :]:
            assert (
                right <= other[0]
                or other[1] <= left
                or bottom - 2 <= other[2]
                or (other[3] - 2 <= top)
            )


def test_rank_0_is_marked_in_words_for_odd_numbers_alone(open_page):
    page = open_page()
    assert page.locator("#fig-trees .ar-twice").count() == 0
    page.get_by_role("button", name="odd").click()
    expect(page.locator("#fig-trees .ar-twice")).to_have_text("rank 0: inner in both")
    expect(said(page, "fig-trees")).to_contain_text("all together 12 S")
    expect(told(page, "fig-trees")).to_contain_text("Rank 0 sends 1.5 S")
    page.get_by_text("The trees as lists").click()
    expect(
        page.get_by_text("Tree 0, parents of ranks 0 to 6: none, 2, 4, 2, 0, 6, 4.")
    ).to_be_visible()


@pytest.mark.parametrize("n", [2, 6, 32])
def test_a_phone_has_room_for_both(open_page, n):
    page = open_page(viewport={"width": 390, "height": 800})
    page.evaluate(
        "n => { for (const id of ['fig-plane', 'fig-trees'])"
        " document.getElementById(id).apply(new URLSearchParams({ n })); }",
        str(n),
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_plane_and_the_trees(open_page, scheme):
    page = open_page(color_scheme=scheme)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for summary in page.locator("summary").all():
        summary.click()
    found = page.evaluate(
        "axe.run(document, { preload: false }).then((report) => report.violations)"
    )
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
