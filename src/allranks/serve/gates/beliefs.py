"""Find misconceptions that a chapter names and does not answer in its prose.

Every wrong answer of an item and every known wrong solution belongs to an id. Its card leads to the
sentence of the prose that answers it, marked `{mis}`words <M-COUNT-N>``, in the chapter or before.
`beliefs.toml` says which ids a chapter must ask about at least.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from allranks.learn import items
from allranks.learn.exercises import load_manifest
from allranks.learn.misconceptions import MISCONCEPTIONS
from allranks.learn.quiz import item_ids, practice
from allranks.serve.gates.rules import Chapter, Finding

SEEDS = 200


def findings(chapters: Sequence[Chapter], plan: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """Yield ids without an anchor, anchors without an id, and ids that nothing asks about."""
    answered: set[str] = set()
    for chapter in chapters:
        anchors = {
            name: piece.line
            for _, piece in chapter.page.pieces("mis")
            for name in piece.target.split()
        }
        for name, line in anchors.items():
            if name not in MISCONCEPTIONS:
                text = f"no misconception {name!r}; its id stands in learn/misconceptions.py"
                yield Finding(chapter.path, line, "misconception", text)
        answered |= set(anchors)
        number = number_of(chapter)
        if number is None:
            continue
        asked = {**asked_by_exercises(number), **asked_by_items(number)}
        for name, source in sorted(asked.items()):
            if name not in answered:
                text = (
                    f"{source} names {name}, and no sentence up to here answers it; mark the one "
                    f"that does: {{mis}}`words <{name}>`"
                )
                yield Finding(chapter.path, 1, "misconception", text)
        for name in sorted(written_in_items(number) - set(asked)):
            text = f"items/ch{number}.py names {name}, and no item does within {SEEDS} seeds"
            yield Finding(chapter.path, 1, "misconception", text)
        for name in plan.get(number, ()):
            if name in MISCONCEPTIONS and name not in asked:
                text = f"{name} belongs to this chapter, and no wrong answer of it names it"
                yield Finding(chapter.path, 1, "misconception", text)


def number_of(chapter: Chapter) -> str | None:
    """Return the number of a chapter, such as "03", or None for other pages."""
    found = re.match(r"(\d\d)-", chapter.name.rpartition("/")[2])
    return found[1] if found else None


@cache
def asked_by_items(number: str) -> Mapping[str, str]:
    """Return the ids that the items of a chapter name, each with an item that does.

    The items are drawn seed after seed until every id that their source names has come up.
    """
    wanted = written_in_items(number)
    asked: dict[str, str] = {}
    for seed in range(SEEDS):
        for item_id in item_ids(number):
            for name in named(practice(item_id, seed=seed)):
                asked.setdefault(name, f"item {item_id}")
        if wanted <= set(asked):
            break
    return asked


def written_in_items(number: str) -> set[str]:
    """Return the ids that stand in the source of a chapter's items."""
    source = Path(items.__file__).with_name(f"ch{number}.py")
    if not source.is_file():
        return set()
    return set(re.findall(r"\"(M-[A-Z0-9-]+)\"", source.read_text(encoding="utf-8")))


def named(data: Any) -> Iterator[str]:  # noqa: ANN401 - an item is plain data
    """Yield every misconception that an item names."""
    if isinstance(data, Mapping):
        name = data.get("misconception")
        if isinstance(name, str):
            yield name
        for value in data.values():
            yield from named(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from named(value)


@cache
def asked_by_exercises(number: str) -> Mapping[str, str]:
    """Return the ids that the feedback on wrong solutions of a chapter names."""
    return {
        rule.misconception: f"exercise {exercise.slug}"
        for exercise in load_manifest()
        if exercise.chapter == number
        for rule in exercise.feedback
        if rule.misconception
    }
