"""The role `{figure}`: a phrase that leads to a figure of another page, and sets its state there.

{figure}`the ring at n = 8 <06-all-reduce#fig-ring?n=8&step=3>` names the page as it lies below
book/, the figure, and a state as `{show}` writes it, or none. A page, figure or state that does not
exist fails the build.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxRole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_LINK = re.compile(
    r"(?s)(?P<words>.+?)\s*<(?P<page>[\w/.-]+)#(?P<figure>[A-Za-z][\w.-]*)(?:\?(?P<state>[^<>]*))?>"
)


class ElsewhereNode(nodes.Inline, nodes.TextElement):
    """Stands for the link until all pages are read."""


class FigureRole(SphinxRole):
    """A phrase that leads to a figure of another page."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the phrase, with the page, the figure and the state it leads to."""
        found = _LINK.fullmatch(self.text)
        if found is None:
            text = f"figure: {self.text!r}: write `words <06-all-reduce#fig-ring?step=2>`"
            return [], [self.inliner.reporter.error(text, line=self.lineno)]
        node = ElsewhereNode(self.rawtext, found["words"], **found.groupdict(""))
        self.set_source_info(node)
        return [node], []


def figures_of(env: BuildEnvironment) -> dict[str, dict[str, str]]:
    """Return, for every page that was read, its figures: id and element."""
    if not hasattr(env, "allranks_figures"):
        env.allranks_figures = {}  # type: ignore[attr-defined]
    return env.allranks_figures  # type: ignore[attr-defined,no-any-return]


def forget(_app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Forget the figures of a page that is read again, or gone."""
    figures_of(env).pop(docname, None)


def fault_of_state(state: str, element: str, allowed: set[str]) -> str:
    """Return what is wrong with the state that a phrase sets; empty if nothing is.

    >>> fault_of_state("n=5&stp=2", "chunk-flow", {"n", "step"})
    "'stp=2' sets nothing in a chunk-flow; known: n, step"
    """
    for part in state.split("&"):
        name, _, value = part.partition("=")
        if name not in allowed or not value:
            return f"{part!r} sets nothing in a {element}; known: {', '.join(sorted(allowed))}"
    return ""


def resolver(
    states: Mapping[str, set[str]], wrong: Callable[[str], Exception]
) -> Callable[[Sphinx, nodes.document, str], None]:
    """Return what turns the phrases of a page into links, and refuses those that lead nowhere."""

    def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
        for node in list(doctree.findall(ElsewhereNode)):
            place = f"{app.env.doc2path(docname, base=False)}:{node.line or '?'}: figure"
            page = f"book/{node['page']}"
            known = figures_of(app.env).get(page)
            if known is None or node["figure"] not in known:
                raise wrong(
                    f"{place}: no figure {node['figure']!r} on {page}; "
                    f"known: {', '.join(known or ()) or 'none'}"
                )
            element = known[node["figure"]]
            fault = fault_of_state(node["state"], element, states[element]) if node["state"] else ""
            if fault:
                raise wrong(f"{place}: {fault}")
            query = f"?{node['state']}" if node["state"] else ""
            target = app.builder.get_relative_uri(docname, page)
            link = nodes.reference("", node.astext(), internal=True, classes=["ar-elsewhere"])
            link["refuri"] = f"{target}{query}#{node['figure']}"
            node.replace_self(link)

    return resolve


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role with Sphinx; the resolver is connected by `view.sphinx`."""
    app.add_node(ElsewhereNode)
    app.add_role("figure", FigureRole())
    app.connect("env-purge-doc", forget)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
