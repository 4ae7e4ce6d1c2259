"""What the figures say can be translated: in a language that nobody speaks, no English is left.

Names stay, and what the page itself gives the figures, which is translated with the page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from allranks.view import bundle

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "catalogues"))

from pseudo import pseudo  # noqa: E402 - a tool, not a package

STATIC = Path(bundle.__file__).parent / "static"
# What a figure draws by itself: its data are the captions, the table without scripts, and JSON.
SAID = """() => [...document.querySelectorAll("chunk-flow, chunk-race, chunk-curve, chunk-quiz")]
  .flatMap((element) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const parent = walker.currentNode.parentElement;
      if (!parent.closest("script, style, .ar-caption, .ar-fallback, code, .ar-stem, .ar-option")) {
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
    *("COPY", "REDUCE", "SIMULATED", "MEASURED", "CPU", "GPU", "bench", "direct", "pat", "PAT"),
}


@pytest.fixture
def strange(
    browser: Browser, bases: dict[str, str], tmp_path: Path
) -> Iterator[Callable[..., Page]]:
    pseudo(STATIC, tmp_path / "static")
    script = f"(function () {{\n{bundle.bundle(tmp_path / 'static', bundle.PAGE_ENTRY)}}})();\n"
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def opened(path: str) -> Page:
        page = context.new_page()
        page.route(
            "**/_static/allranks.js*",
            lambda route: route.fulfill(content_type="text/javascript; charset=utf-8", body=script),
        )
        page.goto(bases["server"] + path)
        page.wait_for_load_state("networkidle")
        return page

    yield opened
    context.close()


def words_of(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield from re.findall(r"[A-Za-z]+", data)
    elif isinstance(data, dict):
        for value in data.values():
            yield from words_of(value)
    elif isinstance(data, list):
        for value in data:
            yield from words_of(value)


@pytest.mark.parametrize("path", ["book/00-quickstart.html", "book/03-broadcast.html"])
def test_no_english_is_left_in_the_figures(path: str, strange: Callable[..., Page]) -> None:
    page = strange(path)
    scripts = page.locator("chunk-flow > script, chunk-race > script, chunk-quiz > script")
    given = {word for text in scripts.all_text_contents() for word in words_of(json.loads(text))}
    said = [text for text in page.evaluate(SAID) if text]
    assert len(said) > 100
    assert any("Chéçk" in text for text in said), "the strings are in place"
    left = {
        text
        for text in said
        for word in ENGLISH.findall(text)
        if word not in given and word not in NAMES
    }
    assert left == set()
