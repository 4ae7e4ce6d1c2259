"""The build as a command: what it depends on, what it says, what it leaves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from allranks.serve import build as building
from allranks.serve.build import BuildFailed, build, project
from allranks.serve.digest import digest
from allranks.serve.pages import ICON_RULES, with_sections
from allranks.serve.sphinx import BuildRefused, runs_in

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one page, under the real configuration."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("1\n", encoding="utf-8")
    book = root / "book"
    book.mkdir()
    for folder in ("_static", "_templates"):
        shutil.copytree(ROOT / "book" / folder, book / folder)
    (book / "page.md").write_text("# Grüße\n\nα, β\n", encoding="utf-8")
    shutil.copy(ROOT / "_config.yml", root)
    shutil.copy(ROOT / "book" / "references.bib", book)
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/page\n", encoding="utf-8")
    monkeypatch.setattr(building, "project", lambda: root)
    return root


@pytest.mark.book
def test_a_build_happens_once_and_again_when_a_page_changes(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    first = build()
    assert first.fresh
    page = first.html / "book" / "page.html"
    assert "Grüße" in page.read_text(encoding="utf-8")
    assert "reading book/page" in capsys.readouterr().err
    assert not build(quiet=True).fresh
    assert capsys.readouterr().err == ""

    stale = first.html / "book" / "gone.html"
    stale.write_text("", encoding="utf-8")
    (tiny / "book" / "page.md").write_text("# Changed\n", encoding="utf-8")
    assert build(quiet=True).fresh
    assert "Changed" in page.read_text(encoding="utf-8")
    assert not stale.exists()


@pytest.mark.book
def test_a_broken_page_is_named_and_the_next_build_tries_again(tiny: Path) -> None:
    page = tiny / "book" / "page.md"
    page.write_text(
        '# T\n\n[x](nowhere.md)\n\nIt takes {engine}`steps("broadcast", "flat", n=2) / 0 | us`.\n',
        encoding="utf-8",
    )
    for _ in range(2):
        with pytest.raises(BuildFailed, match=r"book/page\.md.*ZeroDivisionError") as caught:
            build(quiet=True)
        assert "Traceback" not in caught.value.message
        assert caught.value.message.count("ZeroDivisionError") == 1
    page.write_text("# T\n\n[x](nowhere.md)\n", encoding="utf-8")
    with pytest.raises(BuildFailed, match=r"book/page\.md:3: WARNING: .*nowhere"):
        build(quiet=True)
    page.write_text("# T\n", encoding="utf-8")
    assert build(quiet=True).fresh


def test_where_no_book_is_the_build_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project() == ROOT
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(building, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    with pytest.raises(FileNotFoundError, match=r"no book here: .* go to a checkout"):
        project()
    monkeypatch.chdir(ROOT / "book")
    assert project() == ROOT


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "NEEDED", ("no_such_package_at_all",))
    with pytest.raises(ModuleNotFoundError) as caught:
        build(quiet=True)
    assert caught.value.name == "no_such_package_at_all"


def test_the_digest_follows_what_cells_can_reach(tmp_path: Path) -> None:
    for name in ("src", "exercises", "requirements"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("1", encoding="utf-8")
    seen = {digest(tmp_path)}
    for name in ("src", "exercises", "requirements"):
        (tmp_path / name / "file").write_text("2", encoding="utf-8")
        seen.add(digest(tmp_path))
    (tmp_path / "src" / "file").rename(tmp_path / "src" / "other")
    seen.add(digest(tmp_path))
    assert len(seen) == 5
    last = digest(tmp_path)
    (tmp_path / "src" / "__pycache__").mkdir()
    (tmp_path / "src" / "__pycache__" / "a.pyc").write_bytes(b"x")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "page.md").write_text("x", encoding="utf-8")
    assert digest(tmp_path) == last
    assert digest(tmp_path, ("book",)) != last


@pytest.mark.parametrize(
    "line",
    ["{", "{}", '{"schedule": "x", "label": "", "pids": [1]}', '{"schedule": "x", "label": "y"}'],
)
def test_a_line_that_is_no_run_is_refused(line: str, tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    good = {"schedule": "x", "label": "MEASURED: x", "pids": [1, 2]}
    log.write_text(json.dumps(good) + "\n", encoding="utf-8")
    assert [run["label"] for run in runs_in(log)] == ["MEASURED: x"]
    log.write_text(json.dumps(good) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(BuildRefused, match=r"runs\.jsonl:2: this line is no run"):
        list(runs_in(log))
    assert list(runs_in(tmp_path / "none")) == []


def test_sections_are_put_under_the_present_page_alone() -> None:
    pages = (
        '<ul><li><a href="a.html">A</a></li><li class="current active"><a href="#">B</a></li></ul>'
    )
    inner = '<ul><li><a href="#x">X</a><ul><li>deep</li></ul></li></ul>'
    toc = f'<ul><li><a href="#">B</a>{inner}</li></ul>'
    made = with_sections(pages, toc)
    assert made.count('aria-current="page"') == 1
    assert '<ul class="ar-sections"><li><a href="#x">X</a></li></ul></li></ul>' in made
    assert "deep" not in made
    assert with_sections("<ul></ul>", toc) == "<ul></ul>"


def test_icon_rules_are_found_and_others_are_left() -> None:
    css = "a{b:c}.fa-sun:before{content:x}.fas,.fa-solid{d:e}@font-face{src:x}.fancy{f:g}.fa{h:i}"
    assert ICON_RULES.sub("", css) == "a{b:c}.fancy{f:g}"
