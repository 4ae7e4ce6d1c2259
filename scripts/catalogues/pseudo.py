"""The figures in a language that nobody speaks, to see what a translation would miss.

`pseudo(folder)` writes the modules of the figures with accents on every letter of what they say.
Text that a reader still sees without accents is in no catalogue.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import javascript

ACCENTS = str.maketrans("aeioucnsyAEIOUCNSY", "áéíóúçñšýÁÉÍÓÚÇÑŠÝ")


def pseudo(static: Path, folder: Path) -> None:
    """Copy the modules in `static` to `folder`, every visible literal with accents."""
    shutil.copytree(static, folder)
    for path in folder.rglob("*.js"):
        source = path.read_bytes()
        spans = [
            (part.start_byte, part.end_byte)
            for literal in javascript.literals(source)
            for part in literal.named_children
            if part.type == "string_fragment"
        ]
        for start, end in sorted(spans, reverse=True):
            strange = source[start:end].decode("utf-8").translate(ACCENTS).encode("utf-8")
            source = source[:start] + strange + source[end:]
        path.write_bytes(source)
