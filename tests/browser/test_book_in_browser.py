"""The course as a reader meets it: in a real browser, from a server and from a folder."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from book_pages import pages
from playwright.sync_api import Browser, Page, expect

from allranks.serve.build import build

Visit = Callable[..., Page]

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
FIRST, BROADCAST = "book/00-quickstart.html", "book/03-broadcast.html"
GATHER = "book/04-all-gather.html"
PAGES = ["index.html", *(f"book/{page[:-3]}.html" for page in pages()), "search.html"]
BOTH = pytest.mark.parametrize("base", ["server", "folder"])
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


def skip_predictions(page: Page) -> None:
    for button in page.get_by_role("button", name="Skip", exact=True).all():
        if button.is_visible():
            button.click()


def scrubbed(page: Page, figure: str) -> int:
    return int(page.locator(f"#{figure} .ar-scrub").input_value())


def wait_for_scrub(page: Page, figure: str, holds: Callable[[int], bool]) -> int:
    """Wait up to ten seconds for the figure's time; the page's policy forbids strings as code."""
    for _ in range(200):
        if holds(scrubbed(page, figure)):
            return scrubbed(page, figure)
        page.wait_for_timeout(50)
    pytest.fail(f"{figure} stays at {scrubbed(page, figure)}")


def items(page: Page) -> list[dict[str, object]]:
    """Return the practice items of a page from the data that it carries."""
    texts = page.locator("chunk-quiz > script").all_inner_texts() or page.evaluate(
        "[...document.querySelectorAll('chunk-quiz > script')].map((s) => s.textContent)"
    )
    return [item for text in texts for item in json.loads(text)["items"]]


def read_to_the_end(page: Page) -> None:
    page.evaluate(
        """async () => {
          for (let y = 0; y < document.documentElement.scrollHeight; y += 600) {
            window.scrollTo(0, y);
            await new Promise((done) => requestAnimationFrame(done));
          }
        }"""
    )


def test_no_page_is_left_out(book: Path) -> None:
    assert {str(path.relative_to(book)) for path in book.rglob("*.html")} == set(PAGES)


@BOTH
@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens_and_nothing_complains(path: str, base: str, visit: Visit) -> None:
    page = visit(path, base=base)
    read_to_the_end(page)
    if path != "index.html":
        expect(page.locator("h1")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("path", PAGES)
def test_a_phone_never_scrolls_sideways(path: str, visit: Visit) -> None:
    page = visit(path, width=390, is_mobile=True, has_touch=True)
    read_to_the_end(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@BOTH
def test_the_figure_plays_steps_and_listens_to_the_keyboard(base: str, visit: Visit) -> None:
    page = visit(FIRST, base=base)
    figure = page.locator("#fig-ring")
    play = figure.get_by_role("button", name="Play", exact=True)
    expect(play).to_be_disabled()
    skip_predictions(page)
    assert scrubbed(page, "fig-ring") == 0
    play.click()
    wait_for_scrub(page, "fig-ring", lambda time: time > 0)
    figure.get_by_role("button", name="Pause", exact=True).click()
    stopped = scrubbed(page, "fig-ring")
    page.wait_for_timeout(300)
    assert scrubbed(page, "fig-ring") == stopped

    figure.get_by_role("button", name="To the start").click()
    assert scrubbed(page, "fig-ring") == 0
    scrub = figure.locator(".ar-frame")
    scrub.focus()
    page.keyboard.press("ArrowRight")
    wait_for_scrub(page, "fig-ring", lambda time: time > 0)
    one = scrubbed(page, "fig-ring")
    page.keyboard.press("ArrowRight")
    wait_for_scrub(page, "fig-ring", lambda time: time > one)
    page.keyboard.press("ArrowLeft")
    wait_for_scrub(page, "fig-ring", lambda time: time <= one)
    assert figure.locator(".ar-say").inner_text()
    figure.locator("summary").first.click()
    assert figure.locator("details[open] tbody tr").count() > 0


@BOTH
def test_a_phrase_of_the_text_sets_the_figure(base: str, visit: Visit) -> None:
    page = visit(FIRST, base=base)
    skip_predictions(page)
    phrase = page.locator("a.ar-show", has_text="After three steps")
    phrase.click()
    half = scrubbed(page, "fig-ring")
    page.locator("a.ar-show", has_text="At the end").click()
    assert 0 < half < scrubbed(page, "fig-ring")
    expect(page.locator("#fig-ring")).to_be_in_viewport()


@BOTH
def test_a_wrong_answer_teaches_and_a_right_one_is_confirmed(base: str, visit: Visit) -> None:
    page = visit(FIRST, base=base)
    choice = next(item for item in items(page) if item["type"] == "choice")
    options = choice["options"]
    assert isinstance(options, list)
    card = page.locator(f"#quiz-{choice['id']}")
    wrong = next(option for option in options if not option["right"])
    right = next(option for option in options if option["right"])
    card.get_by_label(wrong["text"].replace("`", ""), exact=False).first.check()
    expect(card.locator(".ar-feedback")).to_have_class(re.compile("ar-wrong"))
    said = card.locator(".ar-feedback").inner_text()
    assert wrong["feedback"].replace("`", "")[:40] in said
    again = card.get_by_role("button", name="Try again")
    if again.is_visible():
        again.click()
    card.get_by_label(right["text"].replace("`", ""), exact=False).first.check()
    expect(card.locator(".ar-feedback")).to_have_class(re.compile("ar-right"))


def test_a_number_is_judged(visit: Visit) -> None:
    page = visit(BROADCAST)
    number = next(item for item in items(page) if item["type"] == "num")
    key = number["num"]
    assert isinstance(key, dict)
    card = page.locator(f"#quiz-{number['id']}")
    card.locator("input").first.fill("999999")
    card.get_by_role("button", name="Check").click()
    expect(card.locator(".ar-feedback")).to_have_class(re.compile("ar-wrong"))
    again = card.get_by_role("button", name="Try again")
    if again.is_visible():
        again.click()
    card.locator("input").first.fill(str(key["value"]))
    card.get_by_role("button", name="Check").click()
    expect(card.locator(".ar-feedback")).to_have_class(re.compile("ar-right"))


@BOTH
def test_with_reduced_motion_nothing_moves_by_itself(base: str, visit: Visit) -> None:
    page = visit(FIRST, base=base, reduced_motion="reduce")
    skip_predictions(page)
    for figure in page.locator("chunk-flow").all():
        figure.scroll_into_view_if_needed()
        before = figure.screenshot(animations="allow")
        page.wait_for_timeout(400)
        assert figure.screenshot(animations="allow") == before
    running = "document.getAnimations().filter((a) => a.playState === 'running').length"
    assert page.evaluate(running) == 0


def test_no_figure_starts_by_itself_with_motion_allowed_either(visit: Visit) -> None:
    page = visit(BROADCAST)
    skip_predictions(page)
    read_to_the_end(page)
    page.wait_for_timeout(300)
    assert set(
        page.locator("chunk-flow .ar-scrub").evaluate_all("all => all.map(e => e.value)")
    ) == {"0"}


@BOTH
def test_formulas_are_typeset(base: str, visit: Visit) -> None:
    page = visit(BROADCAST, base=base)
    assert page.locator("math").count() > 20
    assert page.locator("math msqrt").count() > 0
    assert page.locator("script[src*='athJax' i], mjx-container").count() == 0
    gaps = page.evaluate(
        """() => [...document.querySelectorAll("math mfrac")].map((fraction) => {
          const [above, below] = [...fraction.children].map((e) => e.getBoundingClientRect());
          return below.top - above.bottom;
        })"""
    )
    assert gaps
    assert all(0 < gap < 24 for gap in gaps)
    roots = page.evaluate(
        """() => [...document.querySelectorAll("math msqrt")].map((root) => {
          const inside = root.firstElementChild.getBoundingClientRect();
          return inside.left - root.getBoundingClientRect().left;
        })"""
    )
    assert all(sign > 6 for sign in roots)
    assert not re.search(r"\\(?:frac|sqrt|alpha|beta)|\$\$", page.locator("article").inner_text())


def test_the_fonts_are_those_of_the_book(visit: Visit) -> None:
    page = visit(BROADCAST)
    page.evaluate("document.fonts.ready")
    faces = page.evaluate(
        """[...document.fonts].filter((face) => face.status === "loaded")
        .map((face) => face.family.replaceAll('"', ""))"""
    )
    assert {"Source Serif 4", "Inter", "JetBrains Mono", "AR Math"} <= set(faces)
    assert page.evaluate("[...document.fonts].filter((f) => f.status === 'error').length") == 0


@BOTH
def test_the_search_finds_a_word(base: str, visit: Visit) -> None:
    page = visit(FIRST, base=base)
    page.locator(".bd-sidebar-primary .search-button__button").click()
    page.locator("#pst-search-dialog input").fill("binomial")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=binomial")
    result = page.locator("#search-results a", has_text="Broadcast").first
    expect(result).to_be_visible()
    result.click()
    expect(page.locator("h1")).to_contain_text("Broadcast")


@pytest.mark.parametrize("width", [1280, 390])
def test_there_is_one_way_to_the_search_at_a_time(width: int, visit: Visit) -> None:
    page = visit(FIRST, width=width)
    shown = [
        button for button in page.locator(".search-button__button").all() if button.is_visible()
    ]
    assert len(shown) == 1


def test_the_colors_follow_the_system_and_the_switch(visit: Visit) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light = visit(FIRST, color_scheme="light").evaluate(paper)
    page = visit(FIRST, color_scheme="dark")
    dark = page.evaluate(paper)
    assert light != dark
    switch = page.get_by_role("button", name="Color mode")
    seen = set()
    for _ in range(3):
        switch.click()
        seen.add(page.evaluate(paper))
    assert seen == {light, dark}
    page.evaluate("localStorage.setItem('mode', 'light'); localStorage.setItem('theme', 'light')")
    page.reload()
    assert page.evaluate(paper) == light


@SCHEMES
def test_axe_finds_nothing_serious(scheme: str, visit: Visit) -> None:
    page = visit(FIRST, color_scheme=scheme)
    page.evaluate(AXE.read_text(encoding="utf-8"))

    def serious() -> list[object]:
        found: list[object] = page.evaluate(
            """async () => (await axe.run(document, { preload: false })).violations
            .filter((v) => v.impact === "serious" || v.impact === "critical")
            .map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 160))])"""
        )
        return found

    assert serious() == []
    choice = next(
        item for item in items(page) if item["type"] == "choice" and "predict" not in item
    )
    card = page.locator(f"#quiz-{choice['id']}")
    options = choice["options"]
    assert isinstance(options, list)
    wrong = next(index for index, option in enumerate(options) if not option["right"])
    right = next(index for index, option in enumerate(options) if option["right"])
    skip_predictions(page)
    card.locator("input").nth(wrong).check()
    assert serious() == []
    again = card.get_by_role("button", name="Try again")
    if again.is_visible():
        again.click()
    card.locator("input").nth(right).check()
    page.locator("#fig-ring").get_by_role("button", name="Play", exact=True).click()
    wait_for_scrub(page, "fig-ring", lambda time: time > 100)
    page.locator("#fig-ring").get_by_role("button", name="Pause", exact=True).click()
    assert serious() == []


@SCHEMES
@pytest.mark.parametrize("path", [path for path in PAGES if path not in {"index.html", FIRST}])
def test_axe_finds_nothing_serious_on_the_other_pages(path: str, scheme: str, visit: Visit) -> None:
    page = visit(path, color_scheme=scheme)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert (
        page.evaluate(
            """async () => (await axe.run(document, { preload: false })).violations
        .filter((v) => v.impact === "serious" || v.impact === "critical")
        .map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 160))])"""
        )
        == []
    )


def test_a_plan_that_so_many_ranks_cannot_run_is_grey_and_says_why(visit: Visit) -> None:
    page = visit(GATHER)
    figure = page.locator("#fig-double")
    doubling = figure.locator("option[value=recursive_doubling]")
    expect(doubling).to_have_text("recursive doubling")
    figure.get_by_label("algorithm").select_option("bruck")
    figure.get_by_label("ranks n").select_option("6")
    expect(doubling).to_be_disabled()
    expect(doubling).to_have_text("recursive doubling: needs a power of two")
    figure.get_by_label("ranks n").select_option("8")
    expect(doubling).to_be_enabled()
    expect(doubling).to_have_text("recursive doubling")


def test_the_keyboard_begins_with_a_way_past_the_navigation(visit: Visit) -> None:
    page = visit(FIRST)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").strip() == "Skip to main content"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main-content"


def test_the_navigation_opens_on_a_phone(visit: Visit) -> None:
    page = visit(FIRST, width=390)
    page.locator("button.primary-toggle").click()
    link = page.locator(".ar-navigation a", has_text="Broadcast")
    expect(link).to_be_visible()
    link.click()
    page.wait_for_url("**/03-broadcast.html")


def test_the_sections_of_the_page_stand_in_the_navigation(visit: Visit) -> None:
    page = visit(FIRST)
    assert page.locator(".ar-sections a").count() == page.locator("article h2").count()
    page.locator(".ar-sections a", has_text="Repair it").click()
    expect(page.locator(".ar-sections a", has_text="Repair it")).to_have_attribute(
        "aria-current", "true"
    )


def test_without_scripts_the_page_can_still_be_read(visit: Visit) -> None:
    page = visit(FIRST, java_script_enabled=False)
    assert page.locator("#fig-ring table tbody tr").count() == 24
    expect(page.locator("#fig-ring table").first).to_be_visible()
    assert page.locator("chunk-quiz li").count() > 4
    expect(page.locator("math").first).to_be_visible()
    expect(page.get_by_text("Four equal vectors")).to_be_visible()


def test_the_offline_zip_works_from_a_folder(
    book: Path, tmp_path: Path, browser: Browser, visit: Visit
) -> None:
    target = tmp_path / "offline" / "course.zip"
    assert build(quiet=True, offline_zip=target).html == book
    with zipfile.ZipFile(target) as archive:
        archive.extractall(tmp_path)
    context = browser.new_context(offline=True)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("requestfailed", lambda request: said.append(request.url))
    page.goto((tmp_path / "all-ranks" / "index.html").as_uri())
    page.get_by_role("link", name="00 First collective").click()
    page.wait_for_url("**/00-quickstart.html")
    page.wait_for_load_state("networkidle")
    skip_predictions(page)
    page.locator("#fig-ring").get_by_role("button", name="Play", exact=True).click()
    wait_for_scrub(page, "fig-ring", lambda time: time > 0)
    context.close()
    assert said == []
    assert visit(FIRST).title()


def test_the_cheat_sheet_prints_on_one_page_with_its_title(visit: Visit) -> None:
    page = visit("book/appendix/cheatsheet.html")
    pdf = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", level=1)).to_be_visible()


@BOTH
def test_a_link_from_another_page_sets_the_figure_that_it_names(base: str, visit: Visit) -> None:
    page = visit("book/appendix/faq.html", base=base)
    page.get_by_role("link", name="the ring with the other clock").click()
    page.wait_for_url("**/04-all-gather.html?clock=data_driven#fig-ring")
    figure = page.locator("#fig-ring")
    expect(figure.get_by_role("radio", name="time, data-driven")).to_be_checked()
    expect(figure.locator(".ar-frame")).to_be_in_viewport()
