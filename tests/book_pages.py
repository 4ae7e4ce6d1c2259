"""The pages of the book as their authors wrote them: which there are, and what stands on them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from allranks.view.values import NO_BREAK, evaluate

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
FENCE = re.compile(r"^(```+|:::+)\{?([\w-]*)\}?([^\n]*)\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)


def pages() -> list[str]:
    """Return every page of the table of contents, in its order, as paths below book/."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [each["file"] for part in toc["parts"] for each in part["chapters"]]
    return [f"{Path(each).relative_to('book').as_posix()}.md" for each in [toc["root"], *chapters]]


def chapters() -> list[str]:
    """Return the pages that are numbered chapters."""
    return [page for page in pages() if page[:2].isdigit()]


def source(page: str) -> str:
    """Return a page's text."""
    return (BOOK / page).read_text(encoding="utf-8")


def fences(page: str) -> list[tuple[str, str, str]]:
    """Return (directive, argument, body) of every fence that is not inside another."""
    found = FENCE.findall(source(page))
    return [(name, argument.strip(), body) for _, name, argument, body in found]


def prose(page: str) -> str:
    """Return the text a reader reads as sentences: no front matter, cells, listings or options."""
    text = re.sub(r"\A---\n.*?\n---\n", "", source(page), flags=re.DOTALL)

    def keep_captions_and_boxes(match: re.Match[str]) -> str:
        name, body = match[2], match[4]
        if name in {"nccl", "takeaway"}:
            return body
        if name.startswith("chunk-") and name != "chunk-quiz":
            return "\n".join(line for line in body.splitlines() if not line.startswith(":"))
        return ""

    return FENCE.sub(keep_captions_and_boxes, text)


def options(body: str) -> dict[str, str]:
    """Return the options of a directive by name."""
    return dict(re.findall(r"^:([\w-]+):[ \t]*(.*)$", body, re.MULTILINE))


def quantity(text: str) -> tuple[float, str]:
    """Return a formatted value as (number, unit)."""
    number, _, unit = text.replace(",", "").partition(NO_BREAK)
    return float(number), unit


def assert_says(page: str, wanted: str) -> None:
    """Assert that the page, once evaluated, says every value: "1620 us|40 MB|5", by |."""
    roles = re.findall(r"\{engine\}`(?!chunk_lengths)([^`]*)`", source(page))
    values = [evaluate(role.replace(r"\|", "|")) for role in roles]
    said = {quantity(value) for value in values if re.match(r"[-\d]", value)}
    for each in wanted.split("|"):
        value, unit = quantity(each.replace(" ", NO_BREAK))
        assert any(unit == u and v == pytest.approx(value, rel=5e-5) for v, u in said), each
