"""The built book as files: no other host, no link that leads nowhere, no dead weight."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from book_pages import chapters
from bs4 import BeautifulSoup, Tag

from allranks.schedule import EMULATED, MEASURED_CPU, SIMULATED
from allranks.serve.build import build, project, write_zip
from allranks.serve.digest import digest
from allranks.serve.gates import structure
from allranks.serve.gates.rules import listed
from allranks.view.bundle import elements
from allranks.view.fit import PUBLISHED

pytestmark = pytest.mark.book

LOADING = {
    "script": "src", "img": "src", "source": "src", "iframe": "src", "video": "src",
    "audio": "src", "embed": "src", "object": "data", "link": "href",
}  # fmt: skip
UNWANTED = ("mathjax", "thebe", "require.js", "fontawesome", "html-manager", "binder", "colab")
CHAPTERS = [f"book/{page[:-3]}.html" for page in chapters()]


@pytest.fixture(scope="module")
def book() -> Path:
    return build(quiet=True).html


@pytest.fixture(scope="module")
def soups(book: Path) -> dict[str, BeautifulSoup]:
    return {
        path.relative_to(book).as_posix(): BeautifulSoup(
            path.read_text(encoding="utf-8"), "html.parser"
        )
        for path in sorted(book.rglob("*.html"))
    }


def loaded(soup: BeautifulSoup) -> Iterator[str]:
    for name, attribute in LOADING.items():
        for tag in soup.find_all(name):
            rel = set(tag.get("rel") or [])
            if tag.get(attribute) and (name != "link" or rel & {"stylesheet", "icon", "preload"}):
                yield str(tag[attribute])


def target_of(book: Path, page: str, link: str) -> Path:
    return (book / page).parent / unquote(urlsplit(link).path)


def test_every_resource_lies_beside_the_pages(book: Path, soups: dict[str, BeautifulSoup]) -> None:
    checked = 0
    for page, soup in soups.items():
        for link in loaded(soup):
            parts = urlsplit(link)
            assert not parts.netloc, (page, link)
            assert parts.scheme in {"", "data"}, (page, link)
            if not parts.scheme:
                assert target_of(book, page, link).is_file(), (page, link)
                checked += 1
    assert checked > 50


def test_style_sheets_load_from_the_book_alone(book: Path) -> None:
    for path in book.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        imported = re.findall(r"@import\s*['\"](.*?)['\"]", text)
        for link in imported + re.findall(r"url\(\s*['\"]?(.*?)['\"]?\s*\)", text):
            if not link.startswith(("data:", "#", "%23")):
                assert not urlsplit(link).netloc, (path, link)
                assert (path.parent / urlsplit(link).path).is_file(), (path, link)


def test_nothing_of_the_stock_look_is_left(book: Path, soups: dict[str, BeautifulSoup]) -> None:
    names = [path.relative_to(book).as_posix().lower() for path in book.rglob("*")]
    for page, soup in soups.items():
        names += [f"{page}: {link.lower()}" for link in loaded(soup)]
    assert [name for name in names if any(word in name for word in UNWANTED)] == []
    widget = "application/vnd.jupyter.widget"
    assert [page for page, soup in soups.items() if soup.select(f'script[type^="{widget}"]')] == []


def test_every_link_leads_somewhere(book: Path, soups: dict[str, BeautifulSoup]) -> None:
    checked = 0
    for page, soup in soups.items():
        for tag in soup.find_all("a", href=True):
            parts = urlsplit(str(tag["href"]))
            if parts.netloc or parts.scheme:
                continue
            target = target_of(book, page, parts.path) if parts.path else book / page
            assert target.is_file(), (page, tag["href"])
            anchor = unquote(parts.fragment)
            if anchor:
                there = soups[target.resolve().relative_to(book.resolve()).as_posix()]
                assert there.find(id=anchor) is not None, (page, tag["href"])
            checked += 1
    assert checked > 30


def test_every_button_of_a_page_does_something(soups: dict[str, BeautifulSoup]) -> None:
    """A button of the theme that the book has not looked at must not slip in."""
    known = {"sidebar-toggle", "theme-switch-button", "search-button__button"}
    for page, soup in soups.items():
        for button in soup.find_all("button"):
            assert known & set(button.get("class", [])), (page, str(button)[:200])
        assert not soup.select(".dropdown, .thebelab-button, [class*=launch]"), page


@pytest.mark.parametrize("page", CHAPTERS)
def test_every_cell_is_shown_with_its_code_and_ran_on_actors(
    page: str, soups: dict[str, BeautifulSoup]
) -> None:
    source = (project() / page).with_suffix(".md").read_text(encoding="utf-8")
    cells = soups[page].select("div.cell")
    assert len(cells) == source.count("```{code-cell}") > 3
    assert all(cell.select_one(".cell_input pre") for cell in cells)
    assert not soups[page].select(".output.traceback, .output.stderr")
    labels = {MEASURED_CPU, EMULATED}
    logs = (project() / "_build" / "cells" / digest(project()) / "runs").glob(
        f"book.{Path(page).stem}-*.jsonl"
    )
    runs = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    assert runs
    assert {run["label"] for run in runs} <= labels
    assert all(len(run["pids"]) >= 2 for run in runs)


@pytest.mark.parametrize("page", CHAPTERS)
def test_labels_come_from_traces(page: str) -> None:
    source = (project() / page).with_suffix(".md").read_text(encoding="utf-8")
    cells = re.findall(r"```\{code-cell\}.*?\n(.*?)```", source, re.DOTALL)
    for cell in cells:
        assert not re.search("MEASURED|EMULATED|SIMULATED", cell), cell
        assert all(label == "result.label" for label in re.findall(r"\blabel=([\w.\"']+)", cell))


@pytest.mark.parametrize("page", CHAPTERS)
def test_every_figure_has_a_label_a_table_and_a_caption(
    page: str, soups: dict[str, BeautifulSoup]
) -> None:
    figures = [tag for tag in soups[page].find_all(elements()) if tag.name != "chunk-quiz"]
    assert len(figures) >= 2
    for figure in figures:
        data = json.loads(str(figure.select_one("script").string))  # type: ignore[union-attr]
        assert data["label"] in {SIMULATED, EMULATED, MEASURED_CPU, PUBLISHED}
        assert (data["label"] == PUBLISHED) == (figure.name == "chunk-fit")
        assert figure.select_one(".ar-fallback table tbody tr") is not None
        played = figure.find_parent(class_="cell_output") is not None
        assert played or figure.select_one(".ar-caption p") is not None
        assert played == (data["label"] not in {SIMULATED, PUBLISHED})


def test_practice_items_are_numbered_through_the_page(soups: dict[str, BeautifulSoup]) -> None:
    for page in CHAPTERS:
        data = [json.loads(str(tag.string)) for tag in soups[page].select("chunk-quiz > script")]
        total = sum(len(quiz["items"]) for quiz in data)
        assert total >= 6
        assert [quiz["total"] for quiz in data] == [total] * len(data)
        firsts = [quiz["first"] for quiz in data]
        counts = [len(quiz["items"]) for quiz in data]
        assert firsts == [1 + sum(counts[:k]) for k in range(len(counts))]


def test_items_point_to_figures_of_their_page(soups: dict[str, BeautifulSoup]) -> None:
    for page in CHAPTERS:
        for tag in soups[page].select("chunk-quiz > script"):
            for item in json.loads(str(tag.string))["items"]:
                figure = item.get("figure")
                if figure:
                    assert soups[page].find(id=figure["target"]) is not None, (page, item["id"])


def test_a_first_visit_is_light(book: Path, soups: dict[str, BeautifulSoup]) -> None:
    for page in CHAPTERS:
        links = {urlsplit(link).path for link in loaded(soups[page])}
        files = {target_of(book, page, link).resolve() for link in links}
        files |= {path.resolve() for path in (book / "_static" / "fonts").glob("*latin*.woff2")}
        files |= {path.resolve() for path in (book / "_static" / "fonts").glob("ar-math.woff2")}
        weight = sum(path.stat().st_size for path in files)
        assert weight < 1_000_000, (page, weight)


def test_the_book_is_up_to_date_after_a_build(book: Path) -> None:
    again = build(quiet=True)
    assert again.html == book
    assert not again.fresh


def test_the_offline_zip_is_the_book_and_nothing_else(book: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.zip", tmp_path / "b.zip"
    write_zip(book, first)
    write_zip(book, second)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
    assert "all-ranks/index.html" in names
    assert all(name.startswith("all-ranks/") and ".." not in name for name in names)
    assert not any("/." in name for name in names)


def test_every_picture_and_every_figure_has_words(soups: dict[str, BeautifulSoup]) -> None:
    found = [each for page, soup in soups.items() for each in structure.built(page, str(soup))]
    assert not found, listed(found)


def test_headings_go_down_one_level_at_a_time(soups: dict[str, BeautifulSoup]) -> None:
    for page, soup in soups.items():
        article = soup.select_one("article")
        if article is None:
            continue
        levels = [int(tag.name[1]) for tag in article.find_all(re.compile(r"^h[1-6]$"))]
        assert levels[:1] == [1], page
        assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
        assert isinstance(soup.html, Tag)
        assert soup.html.get("lang") == "en"
