"""The book's directive `{chunk-quiz}`: practice items by id, numbered through the page.

```{chunk-quiz} 00-who-calls 00-sum-element
:seed: 3
```

Ids stand in the argument, in the content, or in both. An unknown id, or one that the page has
already, is a warning of the build, which the book turns into a failure.

The role `{mis}` marks where the prose answers a misconception; the feedback of an item leads there:
{mis}`only the other n - 1 ranks lack it <M-COUNT-ROOT>` marks the words, {mis}`M-COUNT-ROOT` the
whole paragraph in which it stands. Several ids are separated by spaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.logging import getLogger

from allranks.learn.misconceptions import MISCONCEPTIONS, meaning
from allranks.learn.quiz import practice
from allranks.view.html import quiz_html

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

log = getLogger(__name__)
SOURCES = sorted(Path(__file__).parent.glob("**/*.py"))
WORDS_AND_IDS = re.compile(r"(?s)(?:(?P<words>.+?)\s*<(?P<of_words>[^<>]+)>|(?P<ids>[^<>]+))")


class QuizNode(nodes.General, nodes.Element):
    """Stands for some items until the page is read and their numbers are known."""


class ChunkQuiz(SphinxDirective):
    """Puts practice items on the page, each on a card of its own."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {"seed": directives.nonnegative_int}

    def run(self) -> list[nodes.Node]:
        """Return one node with the data of all items that are named."""
        ids = " ".join([*self.arguments, *self.content]).split()
        if not ids:
            message = "chunk-quiz: no item is named; write its id, as in {chunk-quiz} 00-who-calls"
            raise self.error(message)
        for source in SOURCES:
            self.env.note_dependency(str(source))
        taken = self.env.temp_data.setdefault("allranks_quiz_ids", set())
        node = QuizNode()
        node["items"] = [self._item(item_id, taken) for item_id in ids]
        self.set_source_info(node)
        return [node]

    def _item(self, item_id: str, taken: set[str]) -> dict[str, Any]:
        if item_id in taken:
            message = f"chunk-quiz: {item_id} stands on this page already; use it once"
            raise self.error(message)
        try:
            item = practice(item_id, seed=self.options.get("seed", 0))
        except ValueError as error:
            message = f"chunk-quiz: {error}"
            raise self.error(message) from error
        taken.add(item_id)
        return item


class MisNode(nodes.Inline, nodes.TextElement):
    """Marks what the paragraph around it answers; replaced once the page is read."""


class MisRole(SphinxRole):
    """Marks the words, or the paragraph, that answer a misconception."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return a node with the ids of the anchors, and the words if there are any."""
        found = WORDS_AND_IDS.fullmatch(self.text)
        names = (found["of_words"] or found["ids"]).split() if found else []
        try:
            for name in names or [self.text]:
                meaning(name)
        except ValueError as error:
            message = self.inliner.reporter.error(f"mis: {error}", line=self.lineno)
            return [], [message]
        words = found["words"] or "" if found else ""
        node = MisNode(self.rawtext, words, misconceptions=names)
        self.set_source_info(node)
        return [node], []


def place_anchors(app: Sphinx, doctree: nodes.document) -> None:
    """Give the marked words and paragraphs their ids, and note them for the other pages."""
    here = _anchors(app.env).setdefault(app.env.docname, {})
    for node in list(doctree.findall(MisNode)):
        for name in node["misconceptions"]:
            if name in here:
                log.warning(
                    "mis: %s is answered twice on this page; mark one place", name, location=node
                )
            here[name] = f"answers-{name.lower()}"
        ids = [here[name] for name in node["misconceptions"]]
        if node.astext():
            node.replace_self(nodes.inline("", node.astext(), ids=ids, classes=["ar-answer"]))
        else:
            node.parent["ids"].extend(ids)
            node.parent["classes"].append("ar-answer")
            node.parent.remove(node)


def _anchors(env: BuildEnvironment) -> dict[str, dict[str, str]]:
    """Return, by page, the misconceptions that it answers and the ids of the places."""
    if not hasattr(env, "allranks_anchors"):
        env.allranks_anchors = {}  # type: ignore[attr-defined]
    return env.allranks_anchors  # type: ignore[attr-defined,no-any-return]


def forget_anchors(_app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Forget the anchors of a page that is read again, or gone."""
    _anchors(env).pop(docname, None)


def lead_to_answers(
    app: Sphinx, page: str, _template: str, _context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell the cards of a page where each misconception is answered: here, else where first."""
    if doctree is None:
        return
    known = _anchors(app.env)
    links: dict[str, str] = {}
    for name in MISCONCEPTIONS:
        where = next((each for each in [page, *sorted(known)] if name in known.get(each, {})), None)
        if where is not None:
            target = "" if where == page else app.builder.get_relative_uri(page, where)
            links[name] = f"{target}#{known[where][name]}"
    app.add_js_file(None, body=json.dumps(links), type="application/json", id="ar-anchors")


def number_items(_app: Sphinx, doctree: nodes.document) -> None:
    """Replace every quiz of a page by its HTML, its cards numbered through the page."""
    found = list(_quizzes(doctree))
    total = sum(len(node["items"]) for node in found)
    first = 1
    for node in found:
        fragment = quiz_html(node["items"], first=first, total=total)
        first += len(node["items"])
        node.replace_self(nodes.raw("", fragment, format="html"))


def _quizzes(doctree: nodes.document) -> Iterator[QuizNode]:
    yield from doctree.findall(QuizNode)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive with Sphinx."""
    app.add_node(QuizNode)
    app.add_directive("chunk-quiz", ChunkQuiz)
    app.connect("doctree-read", number_items)
    app.add_node(MisNode)
    app.add_role("mis", MisRole())
    app.connect("doctree-read", place_anchors)
    app.connect("env-purge-doc", forget_anchors)
    app.connect("html-page-context", lead_to_answers)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
