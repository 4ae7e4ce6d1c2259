"""How a page of the book is put together: what it loads, its navigation, what stays out."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bs4 import BeautifulSoup

from allranks.view import bundle

if TYPE_CHECKING:
    from docutils.nodes import document
    from sphinx.application import Sphinx

UNUSED = ("scripts/fontawesome.js*", "vendor", "locales", "images/logo_*", "*webpack-macros.html")
"""What the theme copies into the book's _static and no page loads."""
ICON_RULES = re.compile(r"(?<=[}{/])\s*(?:\.fa[bsrl]?(?=[-.,:>\s{])[^{}]*|@font-face\s*)\{[^{}]*\}")
"""The theme's rules for an icon font that the book does not have."""

TERMINAL_COLORS = re.compile(r"div\.highlight \.-Color\[[^{}]*\{[^{}]*\}\s*")
"""What colors the output of a terminal in 256 colors; no cell of the book prints any."""


def load(app: Sphinx) -> None:
    """Make every page load the palette and the book's own style."""
    app.add_css_file("allranks.css", priority=810)
    app.add_css_file("book.css", priority=820)
    app.add_js_file("book.js", priority=200)


def add_script(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: document | None
) -> None:
    """Give a page the script of the figures and questions that stand on it, and of no others."""
    names = bundle.elements_in(str(context.get("body") or ""))
    if not names:
        return
    name = bundle.script_name(names)
    path = Path(app.outdir) / "_static" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(bundle.page_script(names), encoding="utf-8")
    app.add_js_file(name, priority=810, loading_method="defer")


def add_navigation(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: document | None
) -> None:
    """Offer the templates a list of pages in which the present one shows its sections."""

    def navigation() -> str:
        tree: Callable[..., Any] = context["generate_toctree_html"]
        whole = tree(
            kind="sidebar",
            startdepth=0,
            show_nav_level=1,
            maxdepth=2,
            collapse=True,
            includehidden=True,
            titles_only=True,
        )
        return with_sections(str(whole), str(context.get("toc") or ""))

    context["ar_navigation"] = navigation


def with_sections(pages: str, sections: str) -> str:
    """Put the sections of a page, as a nested list, under its entry in the list of pages.

    >>> sections = '<ul><li><a href="#">A</a><ul><li>B</li></ul></li></ul>'
    >>> with_sections('<li class="current active">A</li>', sections)
    '<li class="current active">A<ul class="ar-sections"><li>B</li></ul></li>'
    """
    soup = BeautifulSoup(pages, "html.parser")
    here = soup.select("li.current.active")
    if not here:
        return str(soup)
    entry = here[-1]
    if entry.a is not None:
        entry.a["aria-current"] = "page"
    inner = BeautifulSoup(sections, "html.parser").select_one("ul ul")
    if inner is not None:
        for deeper in inner.select("ul"):
            deeper.decompose()
        inner["class"] = "ar-sections"
        entry.append(inner)
    return str(soup)


def write_entrance(app: Sphinx, error: Exception | None) -> None:
    """Write the page at the root of the site: it leads to the book's first page."""
    if error is not None or app.builder.format != "html":
        return
    first = f"{app.config.root_doc}.html"
    title = html.escape(app.config.html_title)
    (Path(app.outdir) / "index.html").write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<link rel="icon" href="data:,">\n'
        f'<meta http-equiv="refresh" content="0; url={first}"></head>\n'
        f'<body><p><a href="{first}">{title}</a></p></body></html>\n',
        encoding="utf-8",
    )


def remove_unused(app: Sphinx, error: Exception | None) -> None:
    """Remove what no page loads: most of the theme's weight."""
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for path in [found for pattern in UNUSED for found in static.glob(pattern)]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    for path in static.rglob("*.map"):
        path.unlink()
    _rewrite(static / "styles" / "pydata-sphinx-theme.css", lambda text: ICON_RULES.sub("", text))
    _rewrite(static / "scripts" / "pydata-sphinx-theme.js", _quiet)
    for path in static.glob("mystnb.*.css"):
        _rewrite(path, lambda text: TERMINAL_COLORS.sub("", text))


def _rewrite(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def _quiet(script: str) -> str:
    """Take out what the theme's script says about itself: an empty console shows every fault."""
    return script.replace("console.log(", "void(")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    # Jupyter Book sets it for an extension that the book does without.
    app.add_config_value("comments_config", {}, "")
    app.connect("builder-inited", load)
    app.connect("html-page-context", add_navigation, priority=100)
    app.connect("html-page-context", add_script)
    app.connect("build-finished", remove_unused)
    # After the extension of the table of contents, which leaves a bare redirect.
    app.connect("build-finished", write_entrance, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
