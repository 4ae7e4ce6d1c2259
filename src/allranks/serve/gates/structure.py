"""Find what a screen reader stumbles over: a skipped level of headings, a picture without words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from bs4 import BeautifulSoup, Tag

from allranks.serve.gates.rules import Chapter, Finding

FEWEST_WORDS = 3
"""A sentence or a table has more."""
ELEMENT = re.compile(r"^chunk-")
NO_ALT = re.compile(
    r"^(?:\s*|.*\.(?:png|svg|jpe?g|gif|webp)|.*_build/.*|image|figure)$", re.IGNORECASE
)


def findings(chapter: Chapter) -> Iterator[Finding]:
    """Yield headings that skip a level and pictures without words, in the source of a page."""
    yield from headings(chapter)
    yield from pictures(chapter)


def headings(chapter: Chapter) -> Iterator[Finding]:
    """Yield a finding where the levels of the headings are not those of an outline."""
    found = [block for block in chapter.page.blocks if block.kind == "heading"]
    titles = [block for block in found if block.level == 1]
    if len(titles) != 1 or found[0].level != 1:
        line = titles[1].line if len(titles) > 1 else 1
        text = f"{len(titles)} headings of level 1; a page begins with one, its title"
        yield Finding(chapter.path, line, "heading", text)
    for earlier, later in pairwise(found):
        if later.level > earlier.level + 1:
            text = (
                f"{later.text!r} is of level {later.level} below one of level {earlier.level}; "
                "go down one level at a time"
            )
            yield Finding(chapter.path, later.line, "heading", text)


def pictures(chapter: Chapter) -> Iterator[Finding]:
    """Yield a finding for every picture and every figure of a page that nothing describes."""
    for line, target, alt in chapter.page.images:
        if NO_ALT.match(alt.strip()):
            text = f"the picture {target} has no words; write ![what it shows]({target})"
            yield Finding(chapter.path, line, "alt", text)
    for directive in chapter.page.directives:
        if directive.name in {"image", "figure"} and not directive.options.get("alt"):
            text = f"{directive.name} {directive.argument}: give it :alt:, what it shows in words"
            yield Finding(chapter.path, directive.line, "alt", text)
        if ELEMENT.match(directive.name) and directive.name != "chunk-quiz":
            caption = directive.body.strip()
            if not caption:
                text = f"{directive.name} has no caption; say in words what it shows"
                yield Finding(chapter.path, directive.line, "alt", text)


def built(path: str, html: str) -> Iterator[Finding]:
    """Yield what a built page shows without words: pictures, drawings and empty elements."""
    soup = BeautifulSoup(html, "html.parser")
    article = soup.select_one("article") or soup
    for tag in article.find_all("img"):
        alt = tag.get("alt")
        decorative = alt == "" and (tag.get("role") == "presentation" or _hidden(tag))
        if not decorative and NO_ALT.match(str(alt or "").strip()):
            text = f"<img src={str(tag.get('src'))[:60]!r}> has no words: give the picture an alt"
            yield Finding(path, tag.sourceline or 1, "alt", text)
    for tag in article.find_all("svg"):
        if not _hidden(tag) and not _named(tag):
            text = f"a drawing has no words: give <svg> role='img' and a label ({str(tag)[:60]!r})"
            yield Finding(path, tag.sourceline or 1, "alt", text)
    for tag in article.find_all(ELEMENT):
        data = {id(text) for each in tag.find_all(["script", "style"]) for text in each.strings}
        words = " ".join(text for text in tag.find_all(string=True) if id(text) not in data)
        if len(words.split()) < FEWEST_WORDS:
            text = f"<{tag.name}> is empty without scripts: put a table or sentences inside"
            yield Finding(path, tag.sourceline or 1, "alt", text)
    for tag in article.find_all(["canvas", "video", "audio", "object", "embed", "iframe"]):
        if not _named(tag) and not tag.get_text(strip=True):
            text = f"<{tag.name}> has no words: give it a label or text inside"
            yield Finding(path, tag.sourceline or 1, "alt", text)


def _hidden(tag: Tag) -> bool:
    return any(each.get("aria-hidden") == "true" for each in [tag, *tag.parents])


def _named(tag: Tag) -> bool:
    title = tag.find("title")
    return bool(
        tag.get("aria-label")
        or tag.get("aria-labelledby")
        or tag.get("title")
        or (title is not None and title.get_text(strip=True))
    )
