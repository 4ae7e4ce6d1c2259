"""The player as a notebook widget, which is also static HTML: the same page without a kernel plays.

The state lives in Python (`data`, `step`); the drawing is the script that the book uses.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from typing import Any

import anywidget
import traitlets

from allranks.errors import shown
from allranks.schedule import Schedule, Trace
from allranks.topology import Topology
from allranks.view import frames, races
from allranks.view.bundle import stylesheet, widget_module
from allranks.view.html import figure_html, self_contained

PAGE_HAS_PLAYER = "ALLRANKS_CHAPTER"
"""Set while the book runs its cells: its pages load the script, so outputs need not carry it."""


class Figure(anywidget.AnyWidget):
    """A figure in a notebook: `step` is how many stops have been played, read and set from Python.

    `data` is the figure's plain JSON; assigning other data draws it afresh.
    """

    _esm = widget_module()
    _css = stylesheet()
    element = traitlets.Unicode("chunk-flow").tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    def html(self) -> str:
        """Return the figure as HTML that plays without a kernel and without other files."""
        fragment = figure_html(self.element, self.data, id=f"figure-{uuid.uuid4().hex[:12]}")
        return fragment if os.environ.get(PAGE_HAS_PLAYER) else self_contained(fragment)

    def __repr__(self) -> str:
        """Return the title and the label, for places that show only text."""
        return f"<{self.data.get('title')} [{self.data.get('label')}]>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:  # noqa: ANN401 - IPython's protocol
        made = super()._repr_mimebundle_(**kwargs)
        bundle, metadata = made if isinstance(made, tuple) else (made, {})
        return {**(bundle or {}), "text/html": self.html(), "text/plain": repr(self)}, metadata


def show(
    what: object,
    *,
    nbytes: float | None = None,
    topology: Topology | str | None = None,
    clock: str = "lockstep",
    title: str | None = None,
) -> Figure:
    """Play a schedule, or replay what a run really did.

    `what` is a Schedule, a Trace, or the result of `World.run` (anything with a `trace`). For a
    schedule, `nbytes` is S in bytes (48 MB unless given) and `topology` the machine, or the name of
    a preset such as "dgx-h100" (bench unless given). A trace has its own times, so it takes
    neither.

    Raises:
        TypeError: something that is neither.
        ValueError: a size or topology that does not fit, or one given for a trace.
    """
    trace = what if isinstance(what, Trace) else getattr(what, "trace", None)
    if isinstance(trace, Trace):
        if nbytes is not None or topology is not None:
            message = "show: a trace has measured times; leave nbytes and topology out"
            raise ValueError(message)
        return Figure(element="chunk-flow", data=frames.flow_of_trace(trace, title=title))
    if not isinstance(what, Schedule):
        message = (
            f"show: got {type(what).__name__}; give a Schedule, a Trace or the result of World.run"
        )
        raise TypeError(message)
    size = frames.DEFAULT_NBYTES if nbytes is None else nbytes
    machine = _machine("show", topology, what.world_size)
    data = frames.flow(what, nbytes=size, topology=machine, clock=clock, title=title)
    return Figure(element="chunk-flow", data=data)


def race(
    schedules: Iterable[Schedule],
    *,
    nbytes: float = frames.DEFAULT_NBYTES,
    topology: Topology | str | None = None,
) -> Figure:
    """Let schedules of one collective run against one clock, for S = `nbytes`.

    `topology` is the machine, or the name of a preset (bench unless given).

    Raises:
        TypeError: a topology that is neither.
        ValueError: see `allranks.view.races.race_of`.
    """
    entrants = list(schedules)
    ranks = max((each.world_size for each in entrants), default=1)
    machine = _machine("race", topology, ranks)
    data = races.race_of(entrants, nbytes=nbytes, topology=machine)
    data["controls"] = {"nbytes": [1, 1e9], "count": True}
    return Figure(element="chunk-race", data=data)


def _machine(caller: str, topology: object, world_size: int) -> Topology | None:
    """Return the machine that is meant: a topology, a preset by its name, or None for the usual."""
    if isinstance(topology, str):
        return Topology.preset(topology, world_size)
    if topology is None or isinstance(topology, Topology):
        return topology
    message = (
        f"{caller}: topology is {shown(topology)}; give the name of a preset or a Topology, "
        "as Topology.preset(name, n) makes it"
    )
    raise TypeError(message)
