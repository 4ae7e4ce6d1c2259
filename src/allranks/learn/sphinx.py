"""The book's directive `{chunk-quiz}`: practice items by id, numbered through the page.

```{chunk-quiz} 00-who-calls 00-sum-element
:seed: 3
```

Ids stand in the argument, in the content, or in both. An unknown id, or one that the page has
already, is a warning of the build, which the book turns into a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from allranks.learn.quiz import practice
from allranks.view.html import quiz_html

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SOURCES = sorted(Path(__file__).parent.glob("**/*.py"))


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
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
