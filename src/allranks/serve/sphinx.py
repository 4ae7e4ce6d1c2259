"""The one extension of the book: cells that really run, gates that refuse, and the vocabulary.

- Outputs are cached in a folder named by what the cells can reach (sources, exercises, lock files,
  this Python), so a change there runs every cell again, also under a plain `jupyter-book build`.
- Every cell runs in the Python that builds the book, whatever kernels the machine knows.
- A page with cells must leave a run of `World` in the run log; a cell that is skipped, hidden or
  allowed to fail is refused, and so is a number that nothing computes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from myst_nb.core.config import NbParserConfig
from myst_nb.core.read import create_nb_reader
from sphinx.errors import SphinxError
from sphinx.util.logging import getLogger

from allranks.learn import sphinx as quizzes
from allranks.serve import pages
from allranks.serve.digest import digest
from allranks.serve.gates import numbers
from allranks.serve.gates.rules import FOLDER, Finding, chapter, listed, table
from allranks.view import bundle
from allranks.view import sphinx as figures

if TYPE_CHECKING:
    from docutils.nodes import document
    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment

CACHE = Path("_build") / "cells"
CELL_SECONDS = 300
KERNEL = "python3"
KEEP_CACHES = 3
REFUSED_TAGS = {
    "skip-execution": "it would not run",
    "raises-exception": "it may fail",
    "remove-cell": "nobody would see it",
    "remove-input": "nobody would see what ran",
    "remove-output": "nobody would see what came out",
}
REFUSED_METADATA = ("execution", "mystnb")
RUN_LOG, CHAPTER = "ALLRANKS_RUN_LOG", "ALLRANKS_CHAPTER"

log = getLogger(__name__)


class BuildRefused(SphinxError):
    """A page breaks a rule of the book; the build stops and names it."""

    category = "The book"


def configure(app: Sphinx, config: Config) -> None:
    """Set what no page and no command line may leave open."""
    root = Path(app.srcdir)
    cache = root / CACHE / digest(root)
    _kernel(cache)
    _forget_old_caches(cache)
    config.nb_execution_mode = "cache"
    config.nb_execution_cache_path = str(cache / "outputs")
    config.nb_execution_timeout = CELL_SECONDS
    config.nb_execution_raise_on_error = True
    config.nb_execution_allow_errors = False
    config.nb_execution_show_tb = True
    config.nb_execution_excludepatterns = []
    config.html_math_renderer = "mathml"
    scripts = cache / "static"
    scripts.mkdir(parents=True, exist_ok=True)
    bundle.write_style(scripts)
    config.html_static_path = [*config.html_static_path, str(scripts)]


def _kernel(cache: Path) -> None:
    """Describe this very Python as the kernel, before any other kernel of the machine.

    A user's own `python3` kernel would else come first and run the cells somewhere else.
    """
    folder = cache / "jupyter" / "kernels" / KERNEL
    folder.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Python 3", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    others = [
        path
        for path in os.environ.get("JUPYTER_PATH", "").split(os.pathsep)
        if path and CACHE.name not in Path(path).parts
    ]
    os.environ["JUPYTER_PATH"] = os.pathsep.join([str(cache / "jupyter"), *others])


def _forget_old_caches(cache: Path) -> None:
    """Keep the outputs of the last few states of the sources, for those who switch between them."""
    (cache / "used").touch()
    others = [each for each in cache.parent.iterdir() if each.is_dir() and each != cache]
    for old in sorted(others, key=_last_use, reverse=True)[KEEP_CACHES - 1 :]:
        shutil.rmtree(old)


def _last_use(cache: Path) -> float:
    stamp = cache / "used"
    return stamp.stat().st_mtime if stamp.exists() else 0.0


def check_numbers(app: Sphinx, env: BuildEnvironment, _docnames: list[str]) -> None:
    """Refuse the book, before any cell runs, if a page has numbers that nobody computes.

    Everything that is found on any page is said at once.
    """
    root = Path(app.srcdir)
    patterns = root / "book" / FOLDER / "numbers.toml"
    rules = table(patterns) if patterns.is_file() else {}
    found: list[Finding] = []
    for docname in sorted(env.found_docs):
        path = Path(env.doc2path(docname))
        if path.suffix == ".md" and root / "book" in path.parents:
            found += numbers.findings(chapter(root, path), rules)
    if found:
        message = f"{len(found)} numbers that nothing computes:\n{listed(found)}"
        raise BuildRefused(message)


def before_reading(app: Sphinx, docname: str, source: list[str]) -> None:
    """Check the cells of a page, and tell its kernel, which inherits, where to log its runs."""
    os.environ[CHAPTER] = docname
    os.environ.pop(RUN_LOG, None)
    page = app.env.doc2path(docname, base=False)
    notebook = _notebook(app, docname, source[0])
    if notebook is None:
        return
    _check_notebook(page, notebook)
    runs = _run_log(app, docname, notebook)
    runs.parent.mkdir(parents=True, exist_ok=True)
    os.environ[RUN_LOG] = str(runs)


def after_reading(app: Sphinx, doctree: document) -> None:
    """Refuse a page with cells that left no run behind."""
    os.environ.pop(CHAPTER, None)
    # The state of widgets is for a kernel; the HTML that they carry plays without.
    scripts = app.env.nb_metadata[app.env.docname].get("js_files", {})  # type: ignore[attr-defined]
    scripts.pop("ipywidgets_state", None)
    path = os.environ.pop(RUN_LOG, None)
    if path is None:
        return
    page = app.env.doc2path(app.env.docname, base=False)
    runs = list(runs_in(Path(path)))
    if not runs:
        message = (
            f"{page}: has code cells, but none of them ran a schedule on a World in this build; "
            "run one, or take the cells out"
        )
        raise BuildRefused(message)
    log.info("%s: %d runs on actors, %s", page, len(runs), ", ".join(_labels(runs)))
    del doctree


def runs_in(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the runs of a run log, each with a schedule, the actors' pids and a label.

    Raises:
        BuildRefused: a line that is no run.
    """
    if not path.is_file():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            run = json.loads(line)
            whole = run["schedule"] and run["label"] and run["pids"]
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            message = f"{path}:{number}: this line is no run; delete the file and build again"
            raise BuildRefused(message)
        yield run


def _labels(runs: list[Mapping[str, Any]]) -> list[str]:
    return sorted({str(run["label"]) for run in runs})


def _notebook(app: Sphinx, docname: str, text: str) -> NotebookNode | None:
    """Return the page as a notebook if it has code cells; refuse cells that would not run."""
    path = app.env.doc2path(docname)
    config: NbParserConfig = app.env.mystnb_config  # type: ignore[attr-defined]
    reader = create_nb_reader(path, app.env.myst_config, config, text)  # type: ignore[attr-defined]
    if reader is None:
        if "{code-cell}" in text:
            page = app.env.doc2path(docname, base=False)
            message = f"{page}: has a code-cell but no jupytext front matter, so it would not run"
            raise BuildRefused(message)
        return None
    notebook = reader.read(text)
    return notebook if _cells(notebook) else None


def _cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _check_notebook(page: str, notebook: NotebookNode) -> None:
    for key in REFUSED_METADATA:
        if key in notebook.metadata:
            message = f"{page}: its front matter sets {key!r}; the book decides how cells run"
            raise BuildRefused(message)
    kernel = notebook.metadata.get("kernelspec", {}).get("name", KERNEL)
    if kernel != KERNEL:
        message = f"{page}: asks for the kernel {kernel!r}; write {KERNEL!r}, which is this Python"
        raise BuildRefused(message)
    for number, cell in enumerate(_cells(notebook), start=1):
        for tag in cell.metadata.get("tags", ()):
            if tag in REFUSED_TAGS:
                message = f"{page}: cell {number} is tagged {tag!r}: {REFUSED_TAGS[tag]}"
                raise BuildRefused(message)


def _run_log(app: Sphinx, docname: str, notebook: NotebookNode) -> Path:
    """Return the log of exactly these cells: it stays true as long as their outputs do."""
    cells = json.dumps([cell.source for cell in _cells(notebook)])
    name = f"{docname.replace('/', '.')}-{hashlib.sha256(cells.encode()).hexdigest()[:16]}.jsonl"
    return Path(app.config.nb_execution_cache_path).parent / "runs" / name


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything that the book needs with Sphinx."""
    app.connect("config-inited", configure, priority=100)
    app.connect("env-before-read-docs", check_numbers)
    app.connect("source-read", before_reading, priority=900)
    app.connect("doctree-read", after_reading, priority=100)
    for part in (figures, quizzes, pages):
        part.setup(app)
    # Cells are told their page through the environment of this process, so pages are read in turn.
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
