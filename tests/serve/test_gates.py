"""The gates of the book, each seen to refuse a planted fault and to pass a page without it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FRONT = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

"""
CELL = "```{code-cell}\n%s\n```\n"
# What World does for the log, without starting actors: the gate reads the log, not the actors.
LOG_A_RUN = """import json, os
line = {"schedule": "x", "label": "TEST", "pids": [1], "chapter": os.environ["ALLRANKS_CHAPTER"]}
with open(os.environ["ALLRANKS_RUN_LOG"], "a", encoding="utf-8") as log:
    _ = log.write(json.dumps(line) + "\\n")"""
RING = "```{chunk-flow} all_reduce ring\n:id: fig\n:n: 4\n:nbytes: 64\nCaption.\n```\n"


class Case(NamedTuple):
    """A page, and the words with which the build must refuse it (None: it must pass)."""

    page: str
    refused: str | None


CASES = {
    "good": Case(
        FRONT
        + "# Good\n\n"
        + CELL % LOG_A_RUN
        + CELL % "import sys\nprint('python', sys.executable)"
        + RING
        + '\n{engine}`steps("all_reduce", "ring", n=4) | int` steps, {given}`64 B`, '
        + "{show}`the end <fig?step=end>`, $2\\frac{n-1}{n}$.\n\n"
        + '| a | b |\n|---|---|\n| x | {engine}`steps("broadcast", "binomial", n=6) | int` |\n\n'
        + "$$\n\\sqrt{\\alpha S\\beta}\n$$ (label)\n\nSee {eq}`label`.\n\n"
        + ":::{nccl} NCCL v2.30.7, read 2026-11\nIt is {given}`25 GB/s`. Source: `x.cc`.\n:::\n\n"
        + ":::{takeaway}\nRemember.\n:::\n",
        None,
    ),
    "raises": Case(FRONT + "# R\n\n" + CELL % "1/0", "book/page.md.*ZeroDivisionError"),
    "skipped": Case(
        FRONT + "# S\n\n" + CELL % ':tags: ["skip-execution"]\n1 + 1', "cell 1 is tagged 'skip-"
    ),
    "may_raise": Case(
        FRONT + "# S\n\n" + CELL % ':tags: ["raises-exception"]\n1/0', "tagged 'raises-exception'"
    ),
    "hidden": Case(FRONT + "# S\n\n" + CELL % ':tags: ["remove-cell"]\n1', "tagged 'remove-cell'"),
    "no_run": Case(FRONT + "# N\n\n" + CELL % "1 + 1", "book/page.md: has code cells, but none"),
    "no_front_matter": Case("# N\n\n" + CELL % "1 + 1", "no jupytext front matter"),
    "errors_allowed": Case(
        FRONT.replace("kernelspec", "execution:\n  allow_errors: true\nkernelspec")
        + "# E\n\n"
        + CELL % "1/0",
        "front matter sets 'execution'",
    ),
    "not_executed": Case(
        FRONT.replace("kernelspec", "mystnb:\n  execution_mode: 'off'\nkernelspec")
        + "# E\n\n"
        + CELL % "1/0",
        "front matter sets 'mystnb'",
    ),
    "other_kernel": Case(
        FRONT.replace("name: python3", "name: julia") + "# K\n\n" + CELL % "1", "kernel 'julia'"
    ),
    "typed_number": Case(
        "# T\n\nIt takes 12 us.\n\nAnd $0.84$.\n",
        "page.md:3: number: '12 us'.*page.md:5: number: '0.84'",
    ),
    "given_number": Case("# G\n\nIt has {given}`77` of them.\n", "page.md:3: given: .*'77'"),
    "typed_engine": Case(
        "# T\n\n{engine}`6 * 7 | int`\n", "page.md:3: engine.*no call of the engine"
    ),
    "unknown_engine_name": Case("# T\n\n{engine}`nonsense(1) | us`\n", "page.md:3: engine.*nonsen"),
    "unknown_format": Case(
        '# T\n\n{engine}`steps("broadcast", "flat", n=6) | furlongs`\n',
        "furlongs.*end with a format",
    ),
    "not_whole": Case(
        '# T\n\n{engine}`steps("broadcast", "flat", n=6) / 2 | int`\n', "not a whole number"
    ),
    "unknown_algorithm": Case(
        "# T\n\n" + RING.replace("ring", "rung"), "page.md:3: chunk-flow.*ru"
    ),
    "two_figures_of_one_name": Case("# T\n\n" + RING + "\n" + RING, "two figures have the id fig"),
    "show_without_figure": Case(
        "# T\n\n{show}`x <fig?step=1>`\n", "page.md:3: show: no figure 'fi"
    ),
    "show_unknown_state": Case(
        "# T\n\n" + RING + "\n{show}`x <fig?stp=1>`\n", "'stp=1' sets nothing"
    ),
    "unknown_control": Case(
        "# T\n\n" + RING.replace(":n: 4", ":n: 4\n:controls: speeed"), "unknown control 'speeed'"
    ),
    "math_unknown": Case("# T\n\n$\\nonsense{x}$\n", "nonsense is not a command"),
    "math_incomplete": Case("# T\n\n$$\n\\frac{1}\n$$\n", "formula"),
    "nccl_without_date": Case("# T\n\n:::{nccl}\nText.\n:::\n", "name version and date"),
    "quiz_unknown": Case("# T\n\n```{chunk-quiz} no-such-item\n```\n", "no-such-item"),
    "broken_link": Case("# T\n\n[x](nowhere.md)\n", "nowhere"),
}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, object]]]:
    """Every case as a book of one page under the real configuration, built in one process."""
    base = tmp_path_factory.mktemp("gates") / "books"
    for name, case in CASES.items():
        book = base / name / "book"
        book.mkdir(parents=True)
        (book / "page.md").write_text(case.page, encoding="utf-8")
        for each in ("_gates", "_static", "_templates", "references.bib"):
            (book / each).symlink_to(ROOT / "book" / each)
        config = (ROOT / "_config.yml").read_text(encoding="utf-8")
        (base / name / "_config.yml").write_text(config, encoding="utf-8")
        toc = "format: jb-book\nroot: book/page\n"
        (base / name / "_toc.yml").write_text(toc, encoding="utf-8")
    # A user's own kernel of the same name leads elsewhere; the book must not follow it.
    home = tmp_path_factory.mktemp("home")
    kernel = home / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    false = {"argv": ["/nowhere/python", "-f", "{connection_file}"], "display_name": "x"}
    (kernel / "kernel.json").write_text(json.dumps({**false, "language": "python"}))
    worker = Path(__file__).with_name("build_pages.py")
    subprocess.run(
        [sys.executable, str(worker), str(base), "-W", "-n", "--keep-going"],
        check=True,
        timeout=600,
        env={**os.environ, "JUPYTER_DATA_DIR": str(home / "jupyter"), "PYTHONUTF8": "1"},
    )
    return base, json.loads(base.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.mark.book
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.refused])
def test_the_build_refuses(name: str, built: tuple[Path, dict[str, dict[str, object]]]) -> None:
    result = built[1][name]
    assert result["code"] != 0, result["said"]
    refused = CASES[name].refused
    assert refused is not None
    assert re.search(refused, str(result["said"]), re.DOTALL), result["said"]


@pytest.mark.book
def test_a_good_page_is_built(built: tuple[Path, dict[str, dict[str, object]]]) -> None:
    base, results = built
    assert results["good"]["code"] == 0, results["good"]["said"]
    page = (base / "good" / "_build" / "html" / "book" / "page.html").read_text(encoding="utf-8")
    assert f"python {sys.executable}" in page
    assert '<span class="ar-value">6</span> steps' in page
    assert '<td><p><span class="ar-value">3</span></p></td>' in page
    assert 'data-show="fig?step=end"' in page
    assert page.count("<math") == 2
    assert '<span class="eqno">(1)' in page
    assert "<chunk-flow" in page
    assert 'class="ar-box ar-box-nccl"' in page
    assert 'class="ar-box ar-box-takeaway"' in page
