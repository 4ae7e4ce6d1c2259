"""What the repository as a whole promises: pins, hashes, no foreign hosts, nothing missing."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ROOT / "requirements"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

# Written in pieces, so that this file does not name what it forbids.
REGISTRIES = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "registry.npm" + "js.org",
    "registry.yarn" + "pkg.com",
    "anaconda" + ".org",
    "deb.deb" + "ian.org",
]
OTHER_HOSTS = [
    "jsde" + "livr.net",
    "unp" + "kg.com",
    "cdn" + "js.cloudflare.com",
    "fonts.google" + "apis.com",
    "fonts.gsta" + "tic.com",
    "mybin" + "der.org",
    "esm" + ".sh",
]
# A path of somebody's machine: a home, or a folder of the workplace that made this.
MACHINE_PATH = re.compile(r"(?<![\w./~-])/(?:work|farm|opt|root|home|Users)/[\w.]")
# Programs on a Mac, and where a reader's own file may be.
SHARED_PATHS = ["/opt/homebrew", "/home/you/"]


def files() -> list[Path]:
    """Return the files of the project: what git tracks or would track, else what an sdist holds."""
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        listed = subprocess.run(
            [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        found = [ROOT / name for name in listed.decode().split("\0") if name]
    else:
        left_out = {".venv", "node_modules", "_build", "__pycache__"}
        found = [p for p in ROOT.rglob("*") if not left_out & set(p.relative_to(ROOT).parts)]
    return [path for path in found if path.is_file()]


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name and text of every text file of the project."""
    for path in files():
        try:
            yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
        except UnicodeDecodeError:
            assert path.suffix in {".png", ".woff2", ".ico", ".jpg"}, f"{path} is not UTF-8"


def registries_in(text: str) -> list[str]:
    return [host for host in REGISTRIES if host in text]


def machine_paths_in(text: str) -> list[str]:
    found = [match.group() for match in MACHINE_PATH.finditer(text)]
    return [
        path
        for path, match in zip(found, MACHINE_PATH.finditer(text), strict=True)
        if not text.startswith(tuple(SHARED_PATHS), match.start())
    ]


def test_no_file_names_a_registry():
    assert {name: hosts for name, text in texts() if (hosts := registries_in(text))} == {}


def test_no_file_names_a_path_of_a_machine():
    assert {name: paths for name, text in texts() if (paths := machine_paths_in(text))} == {}


def test_what_readers_get_names_no_host_of_other_peoples_scripts_and_fonts():
    shipped = ("src/", "book/", "_config.yml", "exercises/")
    assert {
        name: [host for host in OTHER_HOSTS if host in text]
        for name, text in texts()
        if name.startswith(shipped) and any(host in text for host in OTHER_HOSTS)
    } == {}


@pytest.mark.parametrize(
    "text", ["cd /" + "work/main", '"/' + "root/.cache", "(/" + "home/ann/x)", "=/" + "opt/wheels"]
)
def test_a_planted_path_is_found(text: str):
    assert machine_paths_in(text)


@pytest.mark.parametrize("text", ["../work/x", "a/home/b", "/opt/homebrew/bin", "network/farm/y"])
def test_a_path_that_is_nobodys_is_not_found(text: str):
    assert machine_paths_in(text) == []


def test_a_planted_registry_is_found():
    assert registries_in(f"--index-url https://{REGISTRIES[0]}/simple") == [REGISTRIES[0]]


BOOK = "jupyter" + "-book"
# Version 2 reads neither _config.yml nor _toc.yml.

INSTALLS = re.compile(
    r"(?:pip3?|uv|pipx|conda|mamba)\b[^\n`]*\b(?:install|add|run)\b[^\n`]*\bjupyter-book\b[^\n`]*"
)
DECLARES = re.compile(r"^[\s\"'-]*jupyter-book\b(?![\w-])[^\n]*", re.MULTILINE)
PINNED = re.compile(r"jupyter-book\s*(?:==\s*1\.|[^\n]*<\s*2)")


def unpinned_books(name: str, text: str) -> list[str]:
    """Return the lines that would install some other jupyter-book than version 1."""
    lines = INSTALLS.findall(text)
    if name.startswith("requirements/") or name.endswith((".toml", ".cfg")):
        lines += DECLARES.findall(text)
    return [line for line in lines if not PINNED.search(line)]


def test_every_line_that_installs_jupyter_book_says_version_1():
    assert {name: bad for name, text in texts() if (bad := unpinned_books(name, text))} == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", f"pip install {BOOK}"),
        ("book/x.md", f"run `python -m pip install -U {BOOK} matplotlib`"),
        ("requirements/course.in", f"numpy\n{BOOK}\n"),
        ("pyproject.toml", f'book = [\n  "{BOOK}>=1.0",\n]'),
    ],
)
def test_an_unpinned_jupyter_book_is_found(name: str, text: str):
    assert len(unpinned_books(name, text)) == 1


# The locks.


def locked(name: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return package -> (versions, hashes) of a lock; the same package may stand there twice."""
    text = (REQUIREMENTS / f"{name}.txt").read_text("utf-8").replace("\\\n", " ")
    packages: dict[str, tuple[list[str], list[str]]] = {}
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = re.fullmatch(
            r"([a-z0-9-]+)==(\S+)(?: ; [^#]*?)?((?: +--hash=sha256:[0-9a-f]{64})+) *", line
        )
        assert match, f"{name}.txt: not a pinned, hashed package: {line[:80]}"
        versions, hashes = packages.setdefault(match[1], ([], []))
        versions.append(match[2])
        hashes += match[3].split()
    return packages


def declared(lines: list[str]) -> set[str]:
    """Return the names of the packages that requirement lines ask for."""
    matches = [re.match(r"[A-Za-z0-9][A-Za-z0-9_.-]*", line.strip()) for line in lines]
    return {match[0].lower().replace("_", "-") for match in matches if match}


def test_the_course_lock_holds_what_pyproject_declares():
    project = PROJECT["project"]
    wanted = declared(project["dependencies"] + project["optional-dependencies"]["book"])
    asked = declared((REQUIREMENTS / "course.in").read_text("utf-8").splitlines())
    assert asked - wanted == {"editables", "hatchling"}
    assert wanted <= asked
    assert asked <= set(locked("course"))


def test_the_lock_of_the_tests_is_the_course_and_more():
    course, dev = locked("course"), locked("dev")
    assert {name: dev.get(name) for name in course} == course
    asked = declared((REQUIREMENTS / "dev.in").read_text("utf-8").splitlines())
    assert asked <= set(dev)


def test_nothing_brings_torch():
    assert not [name for name in locked("dev") if name.startswith(("torch", "nvidia", "triton"))]


def test_the_lock_of_the_javascript_tools_has_hashes_and_no_addresses():
    lock = json.loads((ROOT / "package-lock.json").read_text("utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert {"node_modules/typescript", "node_modules/axe-core"} <= set(packages)
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
        assert package["dev"], name


# Sources.

DISTRIBUTION = {"bs4": "beautifulsoup4", "markdown_it": "markdown-it-py", "yaml": "pyyaml"}


def sources() -> list[Path]:
    return [p for p in files() if p.suffix == ".py" and (ROOT / "src") in p.parents]


def test_every_package_that_the_sources_import_is_declared():
    project = PROJECT["project"]
    known = declared(project["dependencies"] + project["optional-dependencies"]["book"])
    # IPython is what runs ipywidgets; these come with it.
    known |= {"ipython"}
    undeclared = set()
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names = [node.module]
            tops = {name.partition(".")[0] for name in names}
            for top in tops - sys.stdlib_module_names - {"allranks"}:
                if DISTRIBUTION.get(top, top).lower().replace("_", "-") not in known:
                    undeclared.add((path.relative_to(ROOT).as_posix(), top))
    assert undeclared == set()


def opened_without_encoding(source: str) -> list[int]:
    """Return the lines that read or write text in whatever encoding the machine has."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or any(k.arg == "encoding" for k in node.keywords):
            continue
        match node.func:
            case ast.Attribute(attr="read_text"):
                bare = not node.args
            case ast.Attribute(attr="write_text"):
                bare = len(node.args) < 2
            case ast.Name(id="open") | ast.Attribute(attr="open", value=ast.Call() | ast.Name()):
                named = isinstance(node.func, ast.Attribute)
                mode = node.args[0 if named else 1 :][:1]
                mode += [k.value for k in node.keywords if k.arg == "mode"]
                binary = any(isinstance(m, ast.Constant) and "b" in str(m.value) for m in mode)
                other = named and isinstance(node.func.value, ast.Name)
                bare = not binary and not (other and node.func.value.id in {"os", "webbrowser"})
            case _:
                bare = False
        if bare:
            lines.append(node.lineno)
    return lines


def test_the_sources_read_and_write_text_as_utf_8():
    found = {p.name: opened_without_encoding(p.read_text("utf-8")) for p in sources()}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    ["open('a')", "open('a', 'w')", "Path('a').open()", "p.read_text()", "p.write_text('x')"],
)
def test_a_text_file_opened_as_the_machine_likes_is_found(source: str):
    assert opened_without_encoding(source) == [1]


@pytest.mark.parametrize(
    "source",
    ["open('a', 'rb')", "p.open('rb')", "p.read_text('utf-8')", "p.write_text('x', 'utf-8')"],
)
def test_a_file_opened_as_it_should_be_is_not_found(source: str):
    assert opened_without_encoding(source) == []


def test_the_wheel_carries_every_file_of_the_package(tmp_path: Path):
    """Styles, scripts and schemas too; and nothing from beside the package."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        about = archive.read(metadata).decode()
    package = ROOT / "src"
    assert names == {p.relative_to(package).as_posix() for p in files() if package in p.parents}
    assert re.search(r"^Requires-Dist: jupyter-book<2,>=1.*extra == 'book'$", about, re.MULTILINE)
    assert "License-File: LICENSE-CONTENT" in about
