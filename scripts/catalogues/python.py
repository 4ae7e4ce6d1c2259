"""What Python says to a learner: strings and f-strings of several words, with named places.

Docstrings explain the code, so they are left out; those of commands are the help of the command
line, so they are not. Patterns, markup and what is compared are no sentences.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from sentences import LETTERS, Sentence, is_sentence, place_name

OPTIONS = {"right", "wrong"}
PATTERNS = {"compile", "search", "match", "fullmatch", "sub", "findall", "finditer"}
TAG = re.compile(r"<[^>]*>|&\w+;")


def sentences(path: Path, file: str) -> Iterator[Sentence]:
    """Yield what the module at `path` says."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden, options = set(_hidden(tree)), _options(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _is_command(node):
            text = " ".join((ast.get_docstring(node) or "").split())
            yield Sentence(text, file, node.lineno)
        if not isinstance(node, ast.JoinedStr | ast.Constant) or id(node) in hidden:
            continue
        text, own, places = _sentence(node)
        if LETTERS.search(own) and (is_sentence(own) or id(node) in options):
            yield Sentence(text, file, node.lineno, places)


def _sentence(node: ast.JoinedStr | ast.Constant) -> tuple[str, str, dict[str, str]]:
    """Return the text with its places, its own words, and what the places stand for."""
    places: dict[str, str] = {}
    if isinstance(node, ast.Constant):
        text = node.value if isinstance(node.value, str) else ""
        return text, TAG.sub(" ", text), places
    shown, own = [], []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            code = ast.unparse(part.value)
            name = place_name(code, places, called=isinstance(part.value, ast.Call))
            shown.append(f"{{{name}}}")
            own.append(" ")
        elif isinstance(part, ast.Constant):
            shown.append(str(part.value))
            own.append(str(part.value))
    return "".join(shown), TAG.sub(" ", "".join(own)), places


def _hidden(tree: ast.AST) -> Iterator[int]:
    """Yield the nodes that are no sentences: docstrings, patterns, keys, parts of f-strings."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as text):
                yield id(text)
            case ast.JoinedStr():
                yield from (id(each) for each in ast.walk(node) if each is not node)
            case ast.Compare():
                yield from (id(each) for each in ast.walk(node))
            case ast.Subscript(slice=index):
                yield from (id(each) for each in ast.walk(index))
            case ast.Dict(keys=keys):
                yield from (id(key) for key in keys)
            case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in PATTERNS:
                yield from (id(each) for each in ast.walk(first))
            case _:
                pass


def _options(tree: ast.AST) -> set[int]:
    """Return the texts of options, which may be a single word."""
    return {
        id(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in OPTIONS
        and node.args
    }


def _is_command(node: ast.FunctionDef) -> bool:
    return any(".command" in ast.unparse(each) for each in node.decorator_list)
