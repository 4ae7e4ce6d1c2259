"""Static HTML of the custom elements, with the data inside and a reading that needs no script.

Every function returns a fragment. The page that holds it loads `allranks.css` and `allranks.js`
(see `allranks.view.bundle`); `self_contained` adds both for places that load nothing, such as an
exported notebook. All text is escaped; only `caption_html` is taken as it is.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from allranks.units import format_bytes, format_seconds
from allranks.view.bundle import page_script, stylesheet
from allranks.view.compose import json_text
from allranks.view.fit import fit_rows

Data = Mapping[str, Any]

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_MAX_FALLBACK_ROWS = 400
_LAST_US = 1e-2


def flow_html(
    flow: Data,
    *,
    id: str,  # noqa: A002 - the attribute's own name
    predict: str | None = None,
    caption_html: str = "",
) -> str:
    """Return a `<chunk-flow>`: the player of one schedule or one measured run.

    `flow` comes from `frames.flow` or `frames.flow_of_trace`. `predict` is the id of a quiz item of
    the same page that must be answered or skipped before the figure moves. Without scripts the
    reader sees the transfers as a table.
    """
    schedule = flow["schedule"]
    rows = [
        (number, name(schedule, src), name(schedule, dst), chunk, op)
        for number, step in enumerate(schedule["steps"])
        for src, dst, chunk, op in step
    ]
    fallback = (
        f'<p><span class="ar-badge">{_text(flow["label"])}</span> {_text(flow["title"])}</p>'
        + _table(("step", "from", "to", "chunk", "op"), rows)
    )
    return _element(
        "chunk-flow",
        id,
        flow,
        fallback=fallback,
        caption_html=caption_html,
        attributes=_gate(predict),
    )


def race_html(
    race: Data,
    *,
    id: str,  # noqa: A002 - the attribute's own name
    predict: str | None = None,
    caption_html: str = "",
) -> str:
    """Return a `<chunk-race>`: several algorithms on one time axis. `race` is `races.race`'s."""
    rows = [
        (lane["title"], lane["steps"], _time(lane["seconds"]), _race_bytes(race, lane))
        for lane in race["lanes"]
    ]
    head = f'<p><span class="ar-badge">{_text(race["label"])}</span> {_text(race["title"])}</p>'
    fallback = head + _table(("algorithm", "steps", "time", "bytes sent by the busiest rank"), rows)
    return _element(
        "chunk-race",
        id,
        race,
        fallback=fallback,
        caption_html=caption_html,
        attributes=_gate(predict),
    )


def _race_bytes(race: Data, lane: Data) -> str:
    """Return what the busiest rank sends and, if the race asks for vectors, what all send."""
    if race["meter"] == "bytes":
        return format_bytes(lane["bytes_sent_max"])
    most, total = (
        f"{format_bytes(nbytes)} ({nbytes / race['nbytes']:.3g} S)"
        for nbytes in (lane["bytes_sent_max"], lane["bytes_total"])
    )
    return f"{most}; all ranks {total}"


def curve_html(
    curve: Data,
    *,
    id: str,  # noqa: A002 - the attribute's own name
    caption_html: str = "",
) -> str:
    """Return a `<chunk-curve>`: time against the number of chunks. `curve` is `races.curve`'s."""
    rows = [(point["chunks"], _time(point["seconds"])) for point in curve["points"]]
    head = f'<p><span class="ar-badge">{_text(curve["label"])}</span> {_text(curve["title"])}</p>'
    fallback = head + _table(("chunks", "time"), rows)
    return _element("chunk-curve", id, curve, fallback=fallback, caption_html=caption_html)


def message_html(
    message: Data,
    *,
    id: str,  # noqa: A002 - the attribute's own name
    predict: str | None = None,
    caption_html: str = "",
) -> str:
    """Return a `<chunk-message>`: one message on one link. `message` is `messages.message`'s."""
    rows = [(format_bytes(each["nbytes"]), _time(each["seconds"])) for each in message["points"]]
    badge = f'<span class="ar-badge">{_text(message["label"])}</span>'
    fallback = f"<p>{badge} {_text(message['title'])}</p>" + _table(("size", "time"), rows)
    return _element(
        "chunk-message",
        id,
        message,
        fallback=fallback,
        caption_html=caption_html,
        attributes=_gate(predict),
    )


def compose_html(
    data: Data,
    *,
    id: str,  # noqa: A002 - the attribute's own name
    predict: str | None = None,
    caption_html: str = "",
) -> str:
    """Return a `<chunk-compose>`: the schedule composer. `data` is `compose.compose`'s.

    Without scripts the reader sees the schedule it starts with, as a table and as text.
    """
    schedule = data["examples"][data["example"]]["schedule"]
    head = f'<p><span class="ar-badge">{_text(data["label"])}</span> {_text(data["title"])}</p>'
    text = f'<pre class="ar-text">{_text(json_text(schedule))}</pre>'
    fallback = head + _table(("step", "src", "dst", "chunk", "op"), _transfers(schedule)) + text
    return _element(
        "chunk-compose",
        id,
        data,
        fallback=fallback,
        caption_html=caption_html,
        attributes=_gate(predict),
    )


def plane_html(
    plane: Data,
    *,
    id: str,  # noqa: A002 - the attribute's own name
    caption_html: str = "",
) -> str:
    """Return a `<chunk-plane>`: all-reduces by alphas and bytes. `plane` is `planes.plane`'s."""
    rows = [
        (each["title"], each["alphas"], f"{each['bytes']:.4g} S", _time(each["seconds"]))
        for each in plane["points"]
    ]
    limit = plane["bounds"]
    rows.append(("the bounds", limit["alphas"], f"{limit['bytes']:.4g} S", _time(limit["seconds"])))
    head = f'<p><span class="ar-badge">{_text(plane["label"])}</span> {_text(plane["title"])}</p>'
    fallback = head + _table(("all-reduce", "α paid", "bytes, one after another", "time"), rows)
    return _element("chunk-plane", id, plane, fallback=fallback, caption_html=caption_html)


def trees_html(
    trees: Data,
    *,
    id: str,  # noqa: A002 - the attribute's own name
    caption_html: str = "",
) -> str:
    """Return a `<chunk-trees>`: the double binary tree. `trees` is `planes.trees`'s."""
    first, second = trees["parents"]
    rows = [
        (rank, *("none" if up < 0 else up for up in ups), f"{sent:g} S")
        for rank, (*ups, sent) in enumerate(zip(first, second, trees["bytes"], strict=True))
    ]
    head = f'<p><span class="ar-badge">{_text(trees["label"])}</span> {_text(trees["title"])}</p>'
    fallback = head + _table(("rank", "parent in tree 0", "parent in tree 1", "sends"), rows)
    return _element("chunk-trees", id, trees, fallback=fallback, caption_html=caption_html)


def ports_html(
    ports: Data,
    *,
    id: str,  # noqa: A002 - the attribute's own name
    predict: str | None = None,
    caption_html: str = "",
) -> str:
    """Return a `<chunk-ports>`: what passes every port. `ports` is `view.ports.ports`'s."""
    rows = [
        (
            plan["title"],
            plan["steps"],
            _time(plan["seconds"]),
            *(format_bytes(plan[name]) for name in ("out", "into", "switch_in", "switch_out")),
        )
        for plan in ports["plans"]
    ]
    head = f'<p><span class="ar-badge">{_text(ports["label"])}</span> {_text(ports["title"])}</p>'
    titles = ("plan", "steps", "time", "rank out", "rank in", "switch in", "switch out")
    gate = f' predict="{_attribute(predict)}"' if predict else ""
    return _element(
        "chunk-ports",
        id,
        ports,
        fallback=head + _table(titles, rows),
        caption_html=caption_html,
        attributes=gate,
    )


def fit_html(
    data: Data,
    *,
    id: str,  # noqa: A002 - the attribute's own name
    caption_html: str = "",
) -> str:
    """Return a `<chunk-fit>`: two models against published points. `data` is `view.fit.fit`'s."""
    titles = ("n", "published gain", *(f"e for {model['title']}" for model in data["models"]))
    head = f'<p><span class="ar-badge">{_text(data["label"])}</span> {_text(data["title"])}</p>'
    fallback = head + _table(titles, fit_rows(data))
    return _element("chunk-fit", id, data, fallback=fallback, caption_html=caption_html)


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


def _gate(predict: str | None) -> str:
    return f' predict="{_attribute(predict)}"' if predict else ""


def _transfers(schedule: Data) -> list[tuple[object, ...]]:
    return [
        (number, *transfer) for number, step in enumerate(schedule["steps"]) for transfer in step
    ]


def _element(  # noqa: PLR0913 - the parts of one tag
    tag: str,
    figure_id: str,
    data: Data,
    *,
    fallback: str,
    caption_html: str,
    attributes: str = "",
) -> str:
    if not _ID.fullmatch(figure_id):
        message = f"figure id {figure_id!r}: use letters, digits, '-', '_', '.', a letter first"
        raise ValueError(message)
    caption = f'<div class="ar-caption">{caption_html}</div>' if caption_html else ""
    return (
        f'<{tag} id="{figure_id}" class="ar-figure"{attributes}>{_json(data)}'
        f'<div class="ar-fallback">{fallback}</div>{caption}</{tag}>'
    )


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
