"""What the figures say can be translated: in a language that nobody speaks, no English is left.

Names stay, and what the page itself gives the figures, which is translated with the page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from book_pages import chapters
from playwright.sync_api import Browser, Page

from allranks.view import bundle

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "catalogues"))

from pseudo import pseudo  # noqa: E402 - a tool, not a package

STATIC = Path(bundle.__file__).parent / "static"
# What a figure draws by itself: its data are the captions, the table without scripts, and JSON.
SAID = """() => [...document.querySelectorAll("article *")]
  .filter((element) => element.localName.startsWith("chunk-"))
  .flatMap((element) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const parent = walker.currentNode.parentElement;
      const given = "script, style, pre, code, .ar-caption, .ar-fallback, .ar-stem, .ar-option";
      if (!parent.closest(given)) {
        found.push(walker.currentNode.data.trim());
      }
    }
    for (const each of element.querySelectorAll("[aria-label], [title]")) {
      found.push(each.getAttribute("aria-label") ?? each.getAttribute("title"));
    }
    return found;
  })"""
ENGLISH = re.compile(r"\b(?=[A-Za-z]*[aeioucnsyAEIOUCNSY])[A-Za-z]{3,}\b")
# Names: of algorithms, operations, labels and units. They are the same in every language.
NAMES = {
    *("copy", "reduce", "binomial", "chain", "flat", "ring", "scatter", "all", "gather", "bruck"),
    *("Ring", "Star", "Bruck", "Rabenseifner", "src", "dst", "root", "Broadcast"),
    *("island", "fabric", "pcie", "workstation"),
    *("COPY", "REDUCE", "SIMULATED", "MEASURED", "CPU", "GPU", "bench", "direct", "pat", "PAT"),
}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The script of the pages: as it is, and with strange letters in all that it says."""
    static = tmp_path_factory.mktemp("pseudo") / "static"
    pseudo(STATIC, static)
    body = bundle.bundle(static, bundle.PAGE_ENTRY)
    return {"English": bundle.page_script(), "strange": f"(function () {{\n{body}}})();\n"}


def words_of(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield from re.findall(r"[A-Za-z]+", data)
    elif isinstance(data, dict):
        for value in data.values():
            yield from words_of(value)
    elif isinstance(data, list):
        for value in data:
            yield from words_of(value)


def english(page: Page, url: str, script: str) -> tuple[list[str], set[str]]:
    """Return what the figures of a page say with this script, and what of it is English."""
    page.route(
        "**/_static/allranks*.js*",
        lambda route: route.fulfill(content_type="text/javascript; charset=utf-8", body=script),
    )
    page.goto(url)
    page.wait_for_load_state("networkidle")
    data = page.locator("article script[type='application/json']").all_text_contents()
    given = {word for text in data for word in words_of(json.loads(text))}
    said = [text for text in page.evaluate(SAID) if text]
    left = {
        text
        for text in said
        for word in ENGLISH.findall(text)
        if word not in given and word not in NAMES
    }
    return said, left


@pytest.mark.parametrize("name", chapters())
def test_no_english_is_left_in_the_figures_of(
    name: str, browser: Browser, bases: dict[str, str], scripts: dict[str, str]
) -> None:
    url = f"{bases['server']}book/{name[:-3]}.html"
    with closing(browser.new_context(viewport={"width": 1280, "height": 900})) as context:
        said, left = english(context.new_page(), url, scripts["strange"])
        assert len(said) > 100
        assert left == set()


def test_english_would_be_seen(
    browser: Browser, bases: dict[str, str], scripts: dict[str, str]
) -> None:
    url = f"{bases['server']}book/00-quickstart.html"
    with closing(browser.new_context(viewport={"width": 1280, "height": 900})) as context:
        _, left = english(context.new_page(), url, scripts["English"])
        assert {"Check", "Skip", "To the start"} <= left
