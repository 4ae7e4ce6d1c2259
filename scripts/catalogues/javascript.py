"""What the figures say: every string and template of a module that a reader sees or hears.

That is a child of an element that `h` or `s` makes, the value of an attribute that is read aloud,
the text that `say` marks, and any text of several words that is no part of the machinery.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tree_sitter_javascript
from sentences import LETTERS, Sentence, is_sentence, place_name
from tree_sitter import Language, Node, Parser

READ = {"aria-label", "aria-description", "alt", "placeholder", "title", "text", "why", "note"}
READ |= {"needs"}
UNREAD = {
    "class",
    "className",
    "d",
    "fill",
    "href",
    "id",
    "kind",
    "mode",
    "points",
    "role",
    "style",
}
UNREAD |= {"tabindex", "transform", "type", "viewBox", "for"}
MACHINERY = {
    *("addEventListener", "closest", "createElement", "createElementNS", "get", "getAttribute"),
    *("has", "hasAttribute", "matches", "querySelector", "querySelectorAll", "removeAttribute"),
    *("removeEventListener", "setProperty", "toggle", "define", "dispatchEvent", "getElementById"),
    *("Error", "TypeError", "RangeError", "RegExp", "CustomEvent", "split", "includes"),
    *("matchMedia", "fetch", "replace", "startsWith", "endsWith", "join"),
    "verbatim",
}
ATTRIBUTES = 1
"""Where `h` and `s` take the attributes of an element; its children follow."""
LABELS = {"segmented": 0, "pick": 1, "slide": 1, "count": 1, "button": 1}
"""What makes a control, and where it takes its label."""
COMPARED = {"===", "!==", "==", "!=", "in"}


def sentences(path: Path, file: str) -> Iterator[Sentence]:
    """Yield what the module at `path` says."""
    for node in literals(path.read_bytes()):
        text, places = _sentence(node)
        yield Sentence(text, file, node.start_point.row + 1, places)


def literals(source: bytes) -> list[Node]:
    """Return the strings and templates of a module that a reader sees, outermost first."""
    tree = Parser(Language(tree_sitter_javascript.language())).parse(source)
    return [node for node in _all(tree.root_node) if _is_visible(node)]


def _all(node: Node) -> Iterator[Node]:
    if node.type in {"string", "template_string"}:
        yield node
    for child in node.children:
        yield from _all(child)


def own_text(node: Node) -> str:
    """Return the letters of a literal itself, without the values in it."""
    parts = [part for part in node.named_children if part.type != "template_substitution"]
    return " ".join(_text(part) for part in parts)


def _sentence(node: Node) -> tuple[str, dict[str, str]]:
    places: dict[str, str] = {}
    shown = []
    for part in node.named_children:
        if part.type == "template_substitution":
            value = part.named_children[0]
            name = place_name(_text(value), places, called=value.type == "call_expression")
            shown.append(f"{{{name}}}")
        elif part.type == "escape_sequence":
            shown.append(_text(part).encode().decode("unicode_escape"))
        else:
            shown.append(_text(part))
    return "".join(shown), places


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8")


def _is_visible(node: Node) -> bool:
    own = own_text(node)
    if not LETTERS.search(own):
        return False
    spoken, read = is_sentence(own), False
    at = node
    while at.parent is not None:
        up = at.parent
        if up.type == "arguments" and _is_attributes(up, at):
            return read
        verdict = _verdict(up, at)
        if verdict is not None:
            if not verdict or up.type != "pair":
                return verdict
            spoken = read = True
        if up.type.endswith("_statement") or up.type in {"arrow_function", "statement_block"}:
            break
        at = up
    return spoken


def _verdict(up: Node, at: Node) -> bool | None:
    """Say whether this parent makes a literal visible, or hides it; None if it does not matter."""
    match up.type:
        case "import_statement" | "export_clause" | "subscript_expression" | "switch_case":
            return False if up.type != "subscript_expression" or up.children[0] != at else None
        case "binary_expression":
            operator = up.child_by_field_name("operator")
            return False if operator is not None and _text(operator) in COMPARED else None
        case "pair":
            key = up.child_by_field_name("key")
            if key == at or key is None:
                return False
            name = _text(key).strip("\"'")
            return True if name in READ else False if name in UNREAD else None
        case "arguments":
            return _as_argument(up, at)
        case _:
            return None


def _is_attributes(arguments: Node, at: Node) -> bool:
    """Return whether these are the attributes that `h` or `s` takes."""
    target = arguments.parent.child_by_field_name("function") if arguments.parent else None
    made = target is not None and _text(target) in {"h", "s"}
    return made and arguments.named_children.index(at) == ATTRIBUTES


def _as_argument(arguments: Node, at: Node) -> bool | None:
    call = arguments.parent
    target = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    name = _text(target).rpartition(".")[2] if target is not None else ""
    place = arguments.named_children.index(at)
    if name in MACHINERY:
        return False
    if name == "say":
        return place == 0
    if name == "setAttribute":
        return place == 1 and _text(arguments.named_children[0]).strip("\"'") in READ
    if name in {"h", "s"}:
        return place > ATTRIBUTES
    if name in LABELS and place == LABELS[name]:
        return True
    return True if name == "plural" and place > 0 else None
