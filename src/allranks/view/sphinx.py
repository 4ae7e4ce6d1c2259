"""The book's own directives and roles: figures, engine numbers, boxes, and formulas as MathML.

Figures: `{chunk-flow}`, `{chunk-race}`, `{chunk-curve}`, `{chunk-message}`, `{chunk-compose}`,
`{chunk-plane}`, `{chunk-trees}`, `{chunk-ports}`, `{chunk-fit}`. Roles: `{engine}` computes a
number, `{given}` is a number by definition, `{show}` sets the state of a figure of the same page.
Boxes: `{nccl}` and `{takeaway}`. A mistake in any of them fails the build and names the page and
line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.errors import SphinxError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.math import get_node_equation_number

from allranks.algorithms import build
from allranks.topology import Topology
from allranks.view import cheatsheet, compose, elsewhere, frames, messages, planes, races
from allranks.view.asked import parse_controls
from allranks.view.fit import FIT_FORMAT, fit
from allranks.view.html import figure_html
from allranks.view.mathml import MathError, mathml
from allranks.view.names import PARAMETERS
from allranks.view.ports import ports
from allranks.view.values import NumberError, evaluate

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

_CAPTION = "<!-- caption -->"
_SHOW = re.compile(r"(?P<words>.+?)\s*<(?P<figure>[A-Za-z][\w.-]*)\?(?P<state>[^<>]*)>", re.DOTALL)
_ENGINE_IN_TABLE = re.compile(r"\{engine\}`[^`]*`")
_BAR = re.compile(r"(?<!\\)\|")
_STATE = {
    "chunk-flow": {
        *("n", "root", "algorithm", "chunks", "k", "nbytes", "S", "machine", "clock"),
        *("step", "cell", "play", "variant"),
        *PARAMETERS,
    },
    "chunk-race": {"n", "nbytes", "S", "root", "machine", "count", "k", "t", "play"},
    "chunk-curve": {"alpha", "n", "nbytes", "S"},
    "chunk-ports": {"n", "nbytes", "S", "k", "t", "play"},
    "chunk-fit": {"e", "machine"},
    "chunk-message": {"alpha", "bandwidth", "nbytes", "S"},
    "chunk-plane": {"n", "nbytes", "S", "machine", "point"},
    "chunk-trees": {"n", "rank"},
    "chunk-compose": {"example", "contract", "n", "root", "chunks", "step", "check"},
}


class AuthorError(SphinxError):
    """A page of the book says something that the engine or a figure cannot do."""

    category = "The book"


class FigureNode(nodes.General, nodes.Element):
    """One interactive figure; its children are the caption."""


class BoxNode(nodes.General, nodes.Element):
    """A box beside the story: what a library really does, or the takeaway."""


class ShowNode(nodes.General, nodes.Inline, nodes.TextElement):
    """A phrase that sets the state of a figure."""


class _Figure(SphinxDirective):
    """What the figures share: an id, numbers such as 48e6, a caption in Markdown."""

    has_content = True
    element: ClassVar[str]

    def run(self) -> list[nodes.Node]:
        """Return the figure with its data computed and its caption parsed."""
        if "id" not in self.options:
            self.fail("give it an id, as in `:id: fig-ring`")
        try:
            data = self.data()
        except (ValueError, TypeError) as error:
            self.fail(str(error))
        figure = FigureNode(
            element=self.element, name=self.options["id"], data=data, predict=self.gate()
        )
        self.set_source_info(figure)
        self.state.nested_parse(self.content, self.content_offset, figure)
        return [figure]

    def data(self) -> dict[str, Any]:
        """Return the plain JSON that the figure plays."""
        raise NotImplementedError

    def gate(self) -> str | None:
        """Return the id of the quiz item that must be answered first."""
        return self.options.get("predict")

    def fail(self, message: str) -> None:
        """Stop the build with the place of the mistake."""
        where = f"{self.env.doc2path(self.env.docname, base=False)}:{self.lineno}"
        text = f"{where}: {self.name}: {message}"
        raise AuthorError(text)

    @property
    def n(self) -> int:
        """Return the number of ranks."""
        return int(self.options.get("n", 4))

    @property
    def nbytes(self) -> float:
        """Return S, as a whole number where it is one."""
        value = float(self.options.get("nbytes", frames.DEFAULT_NBYTES))
        return int(value) if value.is_integer() else value

    @property
    def machine(self) -> Topology:
        """Return the house machine with n ranks; `:ports: 2` makes another of it, bench-2-ports."""
        made = Topology.preset(self.options.get("machine", "bench"), self.n)
        ports = self.options.get("ports")
        return (
            made if ports is None else replace(made, ports=ports, name=f"{made.name}-{ports}-ports")
        )

    @property
    def controls(self) -> dict[str, Any]:
        """Return what a reader can change."""
        return parse_controls(self.options.get("controls", ""), element=self.element)


_KINDS: dict[str, Callable[[str], Any]] = {
    "id": directives.unchanged_required,
    "n": directives.positive_int,
    "root": directives.nonnegative_int,
    "chunks": directives.positive_int,
    "node_size": directives.unchanged_required,
    "radix": directives.positive_int,
    "inner": directives.unchanged_required,
    "outer": directives.unchanged_required,
    "nbytes": directives.unchanged_required,
    "machine": directives.unchanged_required,
    "ports": directives.positive_int,
    "phases": directives.flag,
    "controls": directives.unchanged,
    "predict": directives.unchanged_required,
    "clock": directives.unchanged_required,
    "elements": directives.positive_int,
    "owners": directives.flag,
    "title": directives.unchanged_required,
    "collective": directives.unchanged_required,
    "algorithms": directives.unchanged_required,
    "count": directives.unchanged_required,
    "meter": directives.unchanged_required,
    "efficiency": directives.unchanged_required,
}
"""How each option of a figure is read."""


def _options(*names: str) -> dict[str, Callable[[str], Any]]:
    """Return the options of a figure: these, and those that every figure has."""
    return {name: _KINDS[name] for name in ("id", "title", *names)}


class ChunkFlow(_Figure):
    """The player of one schedule: `{chunk-flow} broadcast binomial`."""

    element = "chunk-flow"
    required_arguments = 2
    option_spec = _options(
        "controls",
        "n",
        "root",
        "chunks",
        "node_size",
        "radix",
        "inner",
        "outer",
        "nbytes",
        "machine",
        "ports",
        "phases",
        "predict",
        "clock",
        "elements",
        "owners",
    )

    def data(self) -> dict[str, Any]:
        """Return the schedule with the size and the machine."""
        collective, algorithm = self.arguments
        parameters = {key: self.options[key] for key in PARAMETERS if key in self.options}
        if "node_size" in parameters:
            parameters["node_size"] = _node_size(parameters["node_size"])
        made = build(
            collective,
            algorithm,
            world_size=self.n,
            root=self.options.get("root"),
            num_chunks=self.options.get("chunks"),
            **parameters,
        )
        return frames.flow(
            made,
            nbytes=self.nbytes,
            topology=self.machine,
            clock=self.options.get("clock", "lockstep"),
            phases="phases" in self.options,
            elements=self.options.get("elements"),
            controls=self.controls,
            title=self.options.get("title"),
            parameters=parameters,
            owners="owners" in self.options,
        )


def _node_size(text: str) -> int | tuple[int, ...]:
    """Read `4`, or `3,3,2` for nodes that are not equal."""
    sizes = tuple(int(size) for size in text.split(",") if size.strip().isdecimal())
    if len(sizes) != len(text.split(",")):
        message = f"node_size {text!r}: write 4, or 3,3,2 for nodes that differ"
        raise ValueError(message)
    return sizes if len(sizes) > 1 else sizes[0]


class ChunkRace(_Figure):
    """Several algorithms on one clock."""

    element = "chunk-race"
    option_spec = _options(
        "controls",
        "collective",
        "algorithms",
        "n",
        "root",
        "nbytes",
        "machine",
        "ports",
        "predict",
        "count",
        "meter",
    )

    def data(self) -> dict[str, Any]:
        """Return the entrants with the size and the machine."""
        for needed in ("collective", "algorithms"):
            if needed not in self.options:
                message = f"give the option :{needed}:"
                raise ValueError(message)
        return races.race(
            [name.strip() for name in self.options["algorithms"].split(",")],
            collective=self.options["collective"],
            world_size=self.n,
            nbytes=self.nbytes,
            root=self.options.get("root"),
            topology=self.machine,
            count=self.options.get("count", "time"),
            controls=self.controls,
            title=self.options.get("title"),
            meter=self.options.get("meter", "bytes"),
        )


class ChunkCurve(_Figure):
    """Time of a chain against its number of segments: `{chunk-curve} chain-segments`."""

    element = "chunk-curve"
    required_arguments = 1
    option_spec = _options("controls", "n", "nbytes", "machine")

    def data(self) -> dict[str, Any]:
        """Return the machine and the size; the page draws the curve."""
        if self.arguments[0] != "chain-segments":
            message = f"unknown curve {self.arguments[0]!r}; known: chain-segments"
            raise ValueError(message)
        return races.curve(
            world_size=self.n,
            nbytes=self.nbytes,
            topology=self.machine,
            controls=self.controls,
            title=self.options.get("title"),
        )


class ChunkMessage(_Figure):
    """One message between two ranks: `{chunk-message}`."""

    element = "chunk-message"
    option_spec = _options("controls", "nbytes", "machine", "predict")

    def data(self) -> dict[str, Any]:
        """Return the size and the machine; the page draws the message."""
        return messages.message(
            nbytes=self.nbytes,
            topology=Topology.preset(self.options.get("machine", "bench"), 2),
            controls=self.controls,
            title=self.options.get("title"),
        )


class ChunkPlane(_Figure):
    """Every all-reduce by its alphas and its bytes."""

    element = "chunk-plane"
    option_spec = _options("controls", "n", "nbytes", "machine")

    def data(self) -> dict[str, Any]:
        """Return the points as the engine prices them; the page moves them."""
        return planes.plane(
            world_size=self.n,
            nbytes=self.nbytes,
            topology=self.machine,
            controls=self.controls,
            title=self.options.get("title"),
        )


class ChunkTrees(_Figure):
    """Both trees of the double binary tree over one row of ranks."""

    element = "chunk-trees"
    option_spec = _options("controls", "n")

    def data(self) -> dict[str, Any]:
        """Return the parents and the bytes of every rank."""
        return planes.trees(
            world_size=self.n, controls=self.controls, title=self.options.get("title")
        )


class ChunkCompose(_Figure):
    """The schedule composer: `{chunk-compose} unfinished-broadcast`."""

    element = "chunk-compose"
    required_arguments = 1
    option_spec = _options("predict")

    def data(self) -> dict[str, Any]:
        """Return the examples by name; the page plays what a reader composes."""
        return compose.compose(self.arguments[0], title=self.options.get("title"))


class ChunkPorts(_Figure):
    """A ring, a switch that adds and NVLS on one clock, with a counter at every port."""

    element = "chunk-ports"
    option_spec = _options("controls", "n", "nbytes", "chunks", "machine", "predict")

    def data(self) -> dict[str, Any]:
        """Return the three plans, priced."""
        return ports(
            world_size=self.n,
            nbytes=self.nbytes,
            pieces=self.options.get("chunks"),
            topology=self.machine,
            controls=self.controls,
            title=self.options.get("title"),
        )


class ChunkFit(_Figure):
    """Two models of the gain of NVLS, one efficiency, and published points: `{chunk-fit} H200`."""

    element = "chunk-fit"
    required_arguments = 1
    option_spec = _options("efficiency")

    def data(self) -> dict[str, Any]:
        """Return the points with their source; the page draws the curves."""
        return fit(
            machine=self.arguments[0],
            efficiency=float(self.options.get("efficiency", 1)),
            title=self.options.get("title"),
        )


class _Box(SphinxDirective):
    """A titled box with Markdown inside."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    title: ClassVar[str]

    def run(self) -> list[nodes.Node]:
        """Return the box; the argument stands beside the title."""
        self.assert_has_content()
        box = BoxNode(kind=self.name, title=self.title, note=" ".join(self.arguments))
        self.set_source_info(box)
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


class NcclBox(_Box):
    """What a library really does: a statement with version, date and source."""

    title = "What NCCL really does"

    def run(self) -> list[nodes.Node]:
        """Return the box, if it says what was read and when."""
        if not re.search(r"v?\d+\.\d+.*\bread \d{4}-\d{2}", " ".join(self.arguments)):
            message = "nccl: name version and date, as in {nccl} NCCL v2.30.7, read 2026-11"
            raise self.error(message)
        return super().run()


class TakeawayBox(_Box):
    """What to remember."""

    title = "Takeaway"


class CheatSheet(SphinxDirective):
    """A table that the engine writes: `{cheat-sheet} algorithms`, `busbw` or `fastest`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, parsed as if it stood on the page."""
        try:
            lines = cheatsheet.table(self.arguments[0]).splitlines()
        except ValueError as error:
            raise self.error(str(error)) from error
        sheet = nodes.container(classes=["ar-sheet", f"ar-sheet-{self.arguments[0]}"])
        self.state.nested_parse(StringList(lines), self.content_offset, sheet)
        return [sheet]


class EngineRole(SphinxRole):
    """A number that the engine computes now."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number as it stands in the text."""
        try:
            value = evaluate(self.text)
        except NumberError as error:
            raise AuthorError(_place(self, f"engine: {error}")) from error
        return [nodes.inline(self.rawtext, value, classes=["ar-value"])], []


class GivenRole(SphinxRole):
    """A number that is given by definition."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the text, kept together with its unit."""
        return [nodes.inline(self.rawtext, self.text, classes=["ar-value"])], []


class ShowRole(SphinxRole):
    """A phrase that sets a figure: {show}`after three steps <fig-ring?step=3>`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the phrase with the state it sets."""
        found = _SHOW.fullmatch(self.text)
        if found is None:
            raise AuthorError(_place(self, f"show: {self.text!r}: write `words <figure?step=2>`"))
        node = ShowNode(
            self.rawtext,
            found["words"],
            figure=found["figure"],
            state=found["state"],
            place=_place(self, "show"),
        )
        return [node], []


def _place(role: SphinxRole, message: str) -> str:
    source, line = role.get_source_info(role.lineno)
    page = role.env.doc2path(role.env.docname, base=False) if role.env.docname else source
    return f"{page}:{line}: {message}"


def allow_bars_in_tables(_app: Sphinx, _docname: str, source: list[str]) -> None:
    """Let `{engine}` be written in a table as elsewhere, though a bar there divides cells."""
    source[0] = escape_bars(source[0])


def escape_bars(page: str) -> str:
    r"""Return the page with every bar of an `{engine}` in a table escaped.

    >>> print(escape_bars("| {engine}`x | us` |"))
    | {engine}`x \| us` |
    """

    def escape(role: re.Match[str]) -> str:
        return _BAR.sub(r"\\|", role.group())

    return "\n".join(
        _ENGINE_IN_TABLE.sub(escape, line) if line.lstrip().startswith("|") else line
        for line in page.split("\n")
    )


def _fault_of_example(state: str) -> str:
    """Return what is wrong with the name of a composer's example; empty if nothing is."""
    for name, _, value in (part.partition("=") for part in state.split("&")):
        if name == "example":
            try:
                compose.check_example(value)
            except ValueError as error:
                return str(error)
    return ""


def check_references(app: Sphinx, doctree: nodes.document) -> None:
    """Refuse two figures of one name, a phrase without its figure, and an unknown state."""
    page = app.env.doc2path(app.env.docname, base=False)
    figures: dict[str, str] = {}
    for figure in doctree.findall(FigureNode):
        if figure["name"] in figures:
            message = f"{page}: two figures have the id {figure['name']}; rename one"
            raise AuthorError(message)
        figures[figure["name"]] = figure["element"]
    elsewhere.figures_of(app.env)[app.env.docname] = figures
    for show in doctree.findall(ShowNode):
        if show["figure"] not in figures:
            known = ", ".join(figures) or "none"
            message = f"{show['place']}: no figure {show['figure']!r} on this page; known: {known}"
            raise AuthorError(message)
        element = figures[show["figure"]]
        fault = elsewhere.fault_of_state(show["state"], element, _STATE[element])
        if not fault:
            fault = _fault_of_example(show["state"])
        if fault:
            message = f"{show['place']}: {fault}"
            raise AuthorError(message)


class PlainFigures(SphinxPostTransform):
    """Write figures and boxes as plain text where the output is not HTML."""

    default_priority = 300

    def run(self, **_kwargs: object) -> None:
        """Replace what only a browser can show."""
        if self.app.builder.format == "html":
            return
        for figure in list(self.document.findall(FigureNode)):
            figure.replace_self(_plain_figure(figure))
        for box in list(self.document.findall(BoxNode)):
            title = f"{box['title']}: {box['note']}" if box["note"] else box["title"]
            heading = nodes.paragraph("", "", nodes.strong("", title))
            box.replace_self(nodes.block_quote("", heading, *box.children))
        for show in list(self.document.findall(ShowNode)):
            show.replace_self(nodes.inline("", show.astext()))


def _plain_figure(figure: FigureNode) -> list[nodes.Node]:
    data = figure["data"]
    head = nodes.paragraph("", f"[{data['label']}] {data['title']}")
    rows = [nodes.list_item("", nodes.paragraph("", text)) for text in _plain_rows(data)]
    return [head, nodes.bullet_list("", *rows), *figure.children]


def _plain_rows(data: dict[str, Any]) -> Iterator[str]:
    for lane in data.get("lanes", ()):
        yield f"{lane['title']}: {lane['steps']} steps, {lane['seconds'] * 1e6:.5g} µs"
    for plan in data.get("plans", ()):
        yield (
            f"{plan['title']}: {plan['seconds'] * 1e6:.5g} µs, {plan['out']:.0f} B out of a rank"
        )
    for machine in data.get("machines", ()) if data["format"] == FIT_FORMAT else ():
        for point in machine["points"]:
            gain = point["gain"] or point["free"] / point["ring"]
            yield f"{machine['name']}, {point['n']} GPUs: {point['chosen']}, gain {gain:.3f}"
    for point in data.get("points", ()):
        yield f"{_plain_point(point)}: {point['seconds'] * 1e6:.5g} µs"
    for tree, parents in enumerate(data.get("parents", ())):
        above = ", ".join("none" if up < 0 else str(up) for up in parents)
        yield f"tree {tree}, parents of ranks 0 to {len(parents) - 1}: {above}"
    schedule = data.get("schedule") or data.get("examples", {}).get(data.get("example"), {}).get(
        "schedule", {}
    )
    for number, step in enumerate(schedule.get("steps", ())):
        sends = "; ".join(f"{src} to {dst}: chunk {c}, {op}" for src, dst, c, op in step)
        yield f"step {number}: {sends}"


def _plain_point(point: dict[str, Any]) -> str:
    if "title" in point:
        return str(point["title"])
    return f"{point['chunks']} segments" if "chunks" in point else f"{point['nbytes']:g} bytes"


def visit_figure(self: HTML5Translator, node: FigureNode) -> None:
    """Write the element up to its caption."""
    whole = figure_html(
        node["element"],
        node["data"],
        id=node["name"],
        predict=node["predict"],
        caption_html=_CAPTION,
    )
    opening, _, closing = whole.partition(_CAPTION)
    self.body.append(opening)
    node["closing"] = closing


def depart_figure(self: HTML5Translator, node: FigureNode) -> None:
    """Write what follows the caption."""
    self.body.append(node["closing"] + "\n")


def visit_box(self: HTML5Translator, node: BoxNode) -> None:
    """Open a box with its title."""
    note = f' <span class="ar-box-note">{self.encode(node["note"])}</span>' if node["note"] else ""
    self.body.append(
        f'<div class="ar-box ar-box-{node["kind"]}" role="note">'
        f'<p class="ar-box-title">{self.encode(node["title"])}{note}</p>\n'
    )


def depart_box(self: HTML5Translator, _node: BoxNode) -> None:
    """Close the box."""
    self.body.append("</div>\n")


def visit_show(self: HTML5Translator, node: ShowNode) -> None:
    """Open a link that leads to the figure, and sets it where scripts run."""
    target = self.attval(f"{node['figure']}?{node['state']}")
    self.body.append(
        f'<a class="ar-show" href="#{self.attval(node["figure"])}" data-show="{target}">'
    )


def depart_show(self: HTML5Translator, _node: ShowNode) -> None:
    """Close the link."""
    self.body.append("</a>")


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write an inline formula."""
    self.body.append(_formula(node, display=False))
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a displayed formula, with its number if it has a label."""
    self.body.append(self.starttag(node, "div", CLASS="ar-math"))
    self.body.append(_formula(node, display=True))
    if node.get("number"):
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def _formula(node: nodes.Element, *, display: bool) -> str:
    try:
        return mathml(node.astext().strip(), display=display)
    except MathError as error:
        message = f"{node.source}:{node.line or '?'}: {error}"
        raise AuthorError(message) from error


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the vocabulary with Sphinx."""
    app.add_node(FigureNode, html=(visit_figure, depart_figure))
    app.add_node(BoxNode, html=(visit_box, depart_box))
    app.add_node(ShowNode, html=(visit_show, depart_show))
    figures_ = (
        ChunkFlow,
        ChunkRace,
        ChunkCurve,
        ChunkMessage,
        ChunkCompose,
        ChunkPlane,
        ChunkTrees,
        ChunkPorts,
        ChunkFit,
    )
    for directive in figures_:
        app.add_directive(directive.element, directive)
    app.add_directive("nccl", NcclBox)
    app.add_directive("takeaway", TakeawayBox)
    app.add_directive("cheat-sheet", CheatSheet)
    app.add_role("engine", EngineRole())
    app.add_role("given", GivenRole())
    app.add_role("show", ShowRole())
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_math, None), block_renderers=(visit_math_block, None)
    )
    app.add_post_transform(PlainFigures)
    app.connect("source-read", allow_bars_in_tables)
    app.connect("doctree-read", check_references)
    elsewhere.setup(app)
    app.connect("doctree-resolved", elsewhere.resolver(_STATE, AuthorError))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
