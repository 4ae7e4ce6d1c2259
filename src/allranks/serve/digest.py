"""What the outputs in the book depend on, as one short name."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

EXECUTED = ("src", "exercises", "requirements")
"""What a code cell can reach: if any of it changes, every cell runs again."""
WRITTEN = ("book", "_config.yml", "_toc.yml", "pyproject.toml")
"""What else the pages are made of."""
IGNORED = {"__pycache__", "_build", ".ipynb_checkpoints"}


def digest(root: Path, parts: Iterable[str] = EXECUTED) -> str:
    """Return a name for the content of these files and folders and for this Python.

    Paths count relative to `root`, so a copy of the project elsewhere has the same name.
    """
    total = hashlib.sha256(f"{platform.python_implementation()} {sys.version}\n".encode())
    for path in sorted(_files(root, parts)):
        total.update(path.relative_to(root).as_posix().encode() + b"\0")
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def _files(root: Path, parts: Iterable[str]) -> Iterator[Path]:
    for part in parts:
        path = root / part
        if path.is_file():
            yield path
        for each in path.rglob("*"):
            inside = each.relative_to(root).parts
            if each.is_file() and not IGNORED.intersection(inside) and each.suffix != ".pyc":
                yield each
