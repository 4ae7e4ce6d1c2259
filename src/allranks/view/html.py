"""Static HTML of the custom elements, with the data inside and a reading that needs no script.

Every function returns a fragment. The page that holds it loads `allranks.css` and `allranks.js`
(see `allranks.view.bundle`); `self_contained` adds both for places that load nothing, such as an
exported notebook. All text is escaped; only `caption_html` is taken as it is.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from allranks.units import format_bytes, format_seconds
from allranks.view.bundle import page_script, stylesheet
from allranks.view.compose import json_text
from allranks.view.fit import fit_rows

Data = Mapping[str, Any]

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_MAX_FALLBACK_ROWS = 400
_LAST_US = 1e-2


def figure_html(
    element: str,
    data: Data,
    *,
    id: str,  # noqa: A002 - the attribute's own name
    predict: str | None = None,
    caption_html: str = "",
) -> str:
    """Return a figure: its element with the data, and what a reader sees without scripts.

    `data` is what the figure's module in `view` returns: `frames.flow`, `races.race`, ... `predict`
    is the id of a quiz item of the same page that must be answered or skipped before it moves.

    Raises:
        ValueError: the element is none of ours, or the id is none for HTML.
    """
    if element not in READINGS:
        message = f"unknown figure {element!r}; known: {', '.join(READINGS)}"
        raise ValueError(message)
    if not _ID.fullmatch(id):
        message = f"figure id {id!r}: use letters, digits, '-', '_', '.', a letter first"
        raise ValueError(message)
    gate = f' predict="{_attribute(predict)}"' if predict else ""
    head = f'<p><span class="ar-badge">{_text(data["label"])}</span> {_text(data["title"])}</p>'
    caption = f'<div class="ar-caption">{caption_html}</div>' if caption_html else ""
    return (
        f'<{element} id="{id}" class="ar-figure"{gate}>{_json(data)}'
        f'<div class="ar-fallback">{head}{READINGS[element](data)}</div>{caption}</{element}>'
    )


def _flow(flow: Data) -> str:
    schedule = flow["schedule"]
    rows = [
        (number, name(schedule, src), name(schedule, dst), chunk, op)
        for number, src, dst, chunk, op in _transfers(schedule)
    ]
    return _table(("step", "from", "to", "chunk", "op"), rows)


def _race(race: Data) -> str:
    rows = [
        (lane["title"], lane["steps"], _time(lane["seconds"]), _race_bytes(race, lane))
        for lane in race["lanes"]
    ]
    return _table(("algorithm", "steps", "time", "bytes sent by the busiest rank"), rows)


def _race_bytes(race: Data, lane: Data) -> str:
    """Return what the busiest rank sends and, if the race asks for vectors, what all send."""
    if race["meter"] == "bytes":
        return format_bytes(lane["bytes_sent_max"])
    most, total = (
        f"{format_bytes(nbytes)} ({nbytes / race['nbytes']:.3g} S)"
        for nbytes in (lane["bytes_sent_max"], lane["bytes_total"])
    )
    return f"{most}; all ranks {total}"


def _curve(curve: Data) -> str:
    rows = [(point["chunks"], _time(point["seconds"])) for point in curve["points"]]
    return _table(("chunks", "time"), rows)


def _message(message: Data) -> str:
    rows = [(format_bytes(each["nbytes"]), _time(each["seconds"])) for each in message["points"]]
    return _table(("size", "time"), rows)


def _compose(data: Data) -> str:
    """Return the schedule that the composer starts with, as a table and as text."""
    schedule = data["examples"][data["example"]]["schedule"]
    text = f'<pre class="ar-text">{_text(json_text(schedule))}</pre>'
    return _table(("step", "src", "dst", "chunk", "op"), _transfers(schedule)) + text


def _plane(plane: Data) -> str:
    rows = [
        (each["title"], each["alphas"], f"{each['bytes']:.4g} S", _time(each["seconds"]))
        for each in plane["points"]
    ]
    limit = plane["bounds"]
    rows.append(("the bounds", limit["alphas"], f"{limit['bytes']:.4g} S", _time(limit["seconds"])))
    return _table(("all-reduce", "α paid", "bytes, one after another", "time"), rows)


def _trees(trees: Data) -> str:
    first, second = trees["parents"]
    rows = [
        (rank, *("none" if up < 0 else up for up in ups), f"{sent:g} S")
        for rank, (*ups, sent) in enumerate(zip(first, second, trees["bytes"], strict=True))
    ]
    return _table(("rank", "parent in tree 0", "parent in tree 1", "sends"), rows)


def _ports(ports: Data) -> str:
    rows = [
        (
            plan["title"],
            plan["steps"],
            _time(plan["seconds"]),
            *(format_bytes(plan[name]) for name in ("out", "into", "switch_in", "switch_out")),
        )
        for plan in ports["plans"]
    ]
    titles = ("plan", "steps", "time", "rank out", "rank in", "switch in", "switch out")
    return _table(titles, rows)


def _fit(data: Data) -> str:
    titles = ("n", "published gain", *(f"e for {model['title']}" for model in data["models"]))
    return _table(titles, fit_rows(data))


READINGS: dict[str, Callable[[Data], str]] = {
    "chunk-flow": _flow,
    "chunk-race": _race,
    "chunk-curve": _curve,
    "chunk-message": _message,
    "chunk-compose": _compose,
    "chunk-plane": _plane,
    "chunk-trees": _trees,
    "chunk-ports": _ports,
    "chunk-fit": _fit,
}
"""What each figure tells without scripts, below its label and title."""

flow_html = partial(figure_html, "chunk-flow")
race_html = partial(figure_html, "chunk-race")
curve_html = partial(figure_html, "chunk-curve")
message_html = partial(figure_html, "chunk-message")
compose_html = partial(figure_html, "chunk-compose")
plane_html = partial(figure_html, "chunk-plane")
trees_html = partial(figure_html, "chunk-trees")
ports_html = partial(figure_html, "chunk-ports")
fit_html = partial(figure_html, "chunk-fit")


def quiz_html(items: Sequence[Data], *, first: int = 1, total: int | None = None) -> str:
    """Return a `<chunk-quiz>` with one card per practice item.

    An item has `id`, `type`, `stem`, and by type:

    - choice, multi: `options` of `{"id", "text", "right", "feedback"}`;
    - num: `num` of `{"value", "unit", "tolerance" (relative), "exact", "distractors",
      "feedback_right", "feedback_else"}`, where a distractor is `{"value", "feedback"}`;
    - order: `order` of `{"entries": [{"id", "text"}], "answers": [[id, ...], ...], "distractors":
      [{"answer": [...], "feedback"}], "feedback_right", "feedback_else"}`;
    - state: `state` of `{"world_size", "num_chunks", "cells": [{"rank", "chunk", "given"?,
      "answer": [part, ...]}], "distractors": [{"rank", "chunk", "parts", "feedback"}], ...}`;
    - next: `next` of `{"world_size", "num_chunks", "answers": [[src, dst, chunk, op], ...],
      "distractors": [{"transfer": [...], "feedback"}], ...}`;
    - spot: `spot` of `{"lines": [text, ...], "answer": index, "distractors": [{"line",
      "feedback"}], ...}`.

    Optional: `predict` (true: may be skipped, and opens a figure), `figure` of `{"target",
    "state"}`, `explanation`. The cards are numbered `first` onward of `total`. Without scripts the
    reader sees each question with its options, and the answers folded away.
    """
    count = total if total is not None else first - 1 + len(items)
    data = {"format": "allranks.quiz/1", "first": first, "total": count, "items": list(items)}
    cards = "".join(_card(item, first + i, count) for i, item in enumerate(items))
    return (
        f'<chunk-quiz class="ar-quiz">{_json(data)}'
        f'<div class="ar-fallback">{cards}</div></chunk-quiz>'
    )


def self_contained(fragment: str) -> str:
    """Return the fragment with the style sheet and the script inside: it plays anywhere."""
    script = page_script().replace("</script", "<\\/script")
    return f"<style>{stylesheet()}</style>{fragment}<script>{script}</script>"


def typeset(text: str) -> str:
    """Escape text, then set the spans between backticks as code.

    >>> typeset("`a<b` & c")
    '<code>a&lt;b</code> &amp; c'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))


def name(schedule: Data, endpoint: int) -> str:
    """Return "rank 3", or "switch 0" for the endpoints from `world_size` on."""
    ranks = int(schedule["world_size"])
    return f"rank {endpoint}" if endpoint < ranks else f"switch {endpoint - ranks}"


def _transfers(schedule: Data) -> list[tuple[int, int, int, int, str]]:
    return [
        (number, *transfer) for number, step in enumerate(schedule["steps"]) for transfer in step
    ]


def _card(item: Data, number: int, count: int) -> str:
    right: list[str] = []
    options = ""
    for option in item.get("options", ()):
        options += f"<li>{typeset(option['text'])}</li>"
        if option.get("right"):
            right.append(typeset(option["text"]))
    if item["type"] == "num":
        key = item["num"]
        right.append(f"{_text(key['value'])} {_text(key.get('unit') or '')}".strip())
    if item.get("explanation"):
        right.append(typeset(item["explanation"]))
    answer = (
        f"<details><summary>Answer</summary><p>{' '.join(right)}</p></details>" if right else ""
    )
    listing = f"<ul>{options}</ul>" if options else ""
    heading = "Predict first," if item.get("predict") else "Practice"
    return (
        f'<div class="ar-card" id="quiz-{_attribute(item["id"])}">'
        f'<p class="ar-number">{heading} {number} of {count}</p>'
        f"<p>{typeset(item['stem'])}</p>{listing}{answer}</div>"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    shown = rows[:_MAX_FALLBACK_ROWS]
    body = "".join("<tr>" + "".join(f"<td>{_text(v)}</td>" for v in row) + "</tr>" for row in shown)
    columns = "".join(f'<th scope="col">{_text(title)}</th>' for title in head)
    more = len(rows) - len(shown)
    note = f"<p>{more} more rows are not shown.</p>" if more else ""
    return (
        f'<div class="ar-table"><table><thead><tr>{columns}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{note}"
    )


def _json(data: Data) -> str:
    """Return a script element that no text inside it can close."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return f'<script type="application/json">{text.replace("<", chr(92) + "u003c")}</script>'


def _time(seconds: float) -> str:
    """Return a time as the figures and the prose beside them write it: in µs up to 10 ms."""
    return f"{seconds * 1e6:.5g} µs" if 0 < seconds < _LAST_US else format_seconds(seconds)


def _text(value: object) -> str:
    return html.escape(str(value), quote=False)


def _attribute(value: object) -> str:
    return html.escape(str(value), quote=True)
