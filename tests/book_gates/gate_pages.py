"""Pages with planted faults, as the gates read them."""

from __future__ import annotations

from pathlib import Path

from allranks.serve.gates.reading import read
from allranks.serve.gates.rules import Allowed, Chapter, Finding, table

ROOT = Path(__file__).resolve().parents[2]
GATES = ROOT / "book" / "_gates"
NUMBERS = table(GATES / "numbers.toml")
WORDS = table(GATES / "words.toml")


def page(text: str, name: str = "05-page", **allowed: dict[str, str]) -> Chapter:
    """Return a page of this text; `allowed` maps a kind to its texts, each with its reason."""
    entries = {
        kind: [{"text": each, "why": why} for each, why in rows.items()]
        for kind, rows in allowed.items()
    }
    path = f"book/{name}.md"
    return Chapter(name, path, read(text, name), Allowed(f"book/_gates/{name}.toml", entries))


def places(findings: list[Finding]) -> list[tuple[int, str]]:
    """Return (line, gate) of findings, in order."""
    return [(each.line, each.gate) for each in sorted(findings)]
