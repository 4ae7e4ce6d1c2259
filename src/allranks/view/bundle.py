"""One script out of the modules in `static/`, made in Python: a reader's machine needs no Node.js.

Browsers refuse modules from file://, so a page gets one classic script; anywidget imports a module,
so a notebook gets the same code with a default export. Only what our own modules use is understood:
named imports from "./x.js", "./folder/x.js" or "../x.js", and exported functions, classes,
constants and one default expression. Anything else is an error, not a guess.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from importlib import resources
from pathlib import Path

PAGE_ENTRY = "main.js"
WIDGET_ENTRY = "widget.js"

_NAME = r"[A-Za-z_$][\w$]*"
_IMPORT = re.compile(
    r'^import\s*\{([^}]*)\}\s*from\s*"(\.{1,2}/[\w./-]+\.js)";[ \t]*$', re.MULTILINE
)
_DECLARED = re.compile(
    rf"^export\s+(?=(?:async\s+)?function\*?\s+({_NAME})|class\s+({_NAME})|const\s+({_NAME}))",
    re.MULTILINE,
)
_ELEMENT = re.compile(r"^export class (Chunk[A-Z]\w*) extends\b", re.MULTILINE)
_DEFAULT = re.compile(r"^export\s+default\s+", re.MULTILINE)
_LEFT_OVER = re.compile(r"^\s*(?:import|export)\b.*$", re.MULTILINE)
_COMMENT = re.compile(r"/\*\*.*?\*/[ \t]*\n?", re.DOTALL)
_COMMENT_OF_STYLE = re.compile(r"/\*.*?\*/", re.DOTALL)
_FOREIGN = re.compile(r"\bimport\s*\(|\beval\s*\(|\bfetch\s*\(|\bnew\s+Function\b")


def bundle(folder: Path, entry: str, text: str | None = None) -> str:
    """Return the modules that `entry` needs, in order, as the body of one function.

    The body ends with `return` and the exports of the entry. `text` is the entry's source where it
    is no file of the folder.

    Raises:
        ValueError: a module is missing, imports in a circle, imports what nobody exports, or uses
            a form that this function does not know; the message names the file.
    """
    texts = _needed(folder, entry, text)
    exports = {name: _exports(text) for name, text in texts.items()}
    for name, module in texts.items():
        for imported, source in _imports(module, name):
            absent = [each for each, _ in imported if each not in exports[source]]
            if absent:
                message = f"{name}: {source} does not export {', '.join(absent)}"
                raise ValueError(message)
    modules = [_module(name, text, exports[name]) for name, text in texts.items()]
    return _light('"use strict";\n' + "\n".join(modules) + f"\nreturn {_variable(entry)};\n")


def elements() -> list[str]:
    """Return the names of all custom elements; each is a module of its own name."""
    return sorted(path.stem for path in _static().glob("chunk-*.js") if _class_of(path))


def elements_in(page: str) -> tuple[str, ...]:
    """Return the custom elements of a page's HTML.

    >>> elements_in('<p><chunk-quiz class="ar-quiz"></chunk-quiz></p>')
    ('chunk-quiz',)
    """
    return tuple(name for name in elements() if re.search(rf"<{name}[\s>]", page))


def script_name(names: tuple[str, ...]) -> str:
    """Return the file name of the script that defines these elements.

    >>> script_name(("chunk-flow", "chunk-quiz"))
    'allranks-flow-quiz.js'
    """
    return "-".join(["allranks", *(name.removeprefix("chunk-") for name in names)]) + ".js"


@cache
def page_script(names: tuple[str, ...] | None = None) -> str:
    """Return the classic script that a page loads: it defines these elements, or all there are."""
    if names is None:
        return f"(function () {{\n{bundle(_static(), PAGE_ENTRY)}}})();\n"
    return f"(function () {{\n{bundle(_static(), PAGE_ENTRY, _entry(names))}}})();\n"


def _entry(names: tuple[str, ...]) -> str:
    """Return an entry that defines these elements and no other."""
    classes = {name: _class_of(_static() / f"{name}.js") for name in names}
    imports = [f'import {{ {each} }} from "./{name}.js";' for name, each in classes.items()]
    pairs = ", ".join(f'["{name}", {each}]' for name, each in classes.items())
    return "\n".join([*imports, 'import { start } from "./start.js";', f"start([{pairs}]);\n"])


def _class_of(module: Path) -> str | None:
    """Return the element that a module exports, if it exports one."""
    found = _ELEMENT.search(module.read_text(encoding="utf-8"))
    return found[1] if found else None


@cache
def widget_module() -> str:
    """Return the ES module that anywidget imports: its default export has `render`."""
    body = bundle(_static(), WIDGET_ENTRY)
    return f"const widget = (function () {{\n{body}}})();\nexport default widget.default;\n"


@cache
def stylesheet() -> str:
    """Return the style sheet of the figures and of the quiz, with the palette of the book."""
    return _light(
        _COMMENT_OF_STYLE.sub("", (_static() / "allranks.css").read_text(encoding="utf-8"))
    )


def write(folder: Path) -> None:
    """Write `allranks.js`, with all elements, and `allranks.css` into a folder that exists."""
    (folder / "allranks.js").write_text(page_script(), encoding="utf-8")
    write_style(folder)


def write_style(folder: Path) -> None:
    """Write `allranks.css` into a folder that exists."""
    (folder / "allranks.css").write_text(stylesheet(), encoding="utf-8")


def _light(text: str) -> str:
    """Return the text without indentation, empty lines and lines of comment: a reader loads it.

    No text of ours runs over several lines, so nothing that is shown loses its spaces.
    """
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def _static() -> Path:
    return Path(str(resources.files("allranks.view") / "static"))


def _needed(folder: Path, entry: str, given: str | None) -> dict[str, str]:
    """Return the text of every module that `entry` needs, each after those it needs itself."""
    texts: dict[str, str] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            message = f"{name}: imports itself through {' -> '.join(above)}; take a part out"
            raise ValueError(message)
        if name in texts:
            return
        text = given if given is not None and name == entry else _read(folder, name, above)
        for _, source in _imports(text, name):
            visit(source, (*above, name))
        texts[name] = text

    visit(entry, ())
    return texts


def _read(folder: Path, name: str, above: tuple[str, ...]) -> str:
    path = folder / name
    if name.startswith("..") or not path.is_file():
        by = f", imported by {above[-1]}" if above else ""
        message = f"{name}: no such module in {folder.name}{by}"
        raise ValueError(message)
    # what is between /** and */ are types for the developer's checker
    text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
    found = _FOREIGN.search(text)
    if found:
        message = f"{name}: {found.group()!r} is not allowed in a page that works from a folder"
        raise ValueError(message)
    return text


def _imports(text: str, name: str) -> list[tuple[list[tuple[str, str]], str]]:
    """Return, per import of a module, the pairs (exported name, local name) and the module."""
    found = []
    for match in _IMPORT.finditer(text):
        pairs = []
        for item in match.group(1).split(","):
            words = item.split()
            if words:
                pairs.append((words[0], words[-1]))
        source = posixpath.join(posixpath.dirname(name), match.group(2))
        found.append((pairs, posixpath.normpath(source)))
    return found


def _exports(text: str) -> list[str]:
    names = [next(filter(None, match.groups())) for match in _DECLARED.finditer(text)]
    return names + (["default"] if _DEFAULT.search(text) else [])


def _module(name: str, text: str, exports: list[str]) -> str:
    def bound(match: re.Match[str]) -> str:
        [(pairs, source)] = _imports(match.group(), name)
        inner = ", ".join(a if a == b else f"{a}: {b}" for a, b in pairs)
        return f"const {{ {inner} }} = {_variable(source)};"

    body = _IMPORT.sub(bound, text)
    body = _DECLARED.sub("", body)
    body = _DEFAULT.sub("const module_default = ", body)
    left = _LEFT_OVER.search(body)
    if left:
        message = f"{name}: cannot bundle {left.group().strip()!r}; use a form that bundle.py names"
        raise ValueError(message)
    pairs = ", ".join("default: module_default" if e == "default" else e for e in exports)
    return (
        f"// {name}\nconst {_variable(name)} = (function () {{\n{body}\n"
        f"return {{ {pairs} }};\n}})();"
    )


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))
