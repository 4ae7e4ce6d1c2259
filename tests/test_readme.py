"""README and CONTRIBUTING say what is there: files, commands, and an example that runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
README = (ROOT / "README.md").read_text("utf-8")
# What a learner or a command makes, and the form of a name.
NOT_FILES = re.compile(r"^work/|NN|<|\*|^tests/js/$|^tests/browser/$")
COMMANDS = re.findall(r"^allranks [^\n]*?(?=\s{2,}|$)", README, re.MULTILINE)
SHOWN_ELSEWHERE = ("open", "build", "run", "check", "doctor")


def names_in(text: str) -> set[str]:
    """Return what looks like a file or a folder of the project."""
    quoted = re.findall(r"`([\w.*<>-]+(?:/[\w.*<>-]*)+|[\w-]+\.(?:toml|yml|py|md|json))`", text)
    linked = re.findall(r"\]\(([^)#:]+)\)", text)
    return {name for name in quoted + linked if not NOT_FILES.search(name)}


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_is_there(page: str):
    text = (ROOT / page).read_text("utf-8")
    places = [ROOT, ROOT / "src" / "allranks", ROOT / "requirements", ROOT / "exercises"]
    missing = {n for n in names_in(text) if not any((place / n).exists() for place in places)}
    assert missing <= {"course.txt", "dev.txt", "solution.py"}


def test_a_file_that_is_not_there_is_found():
    assert names_in("see `src/allranks/nowhere.py` and [this](missing.md)") == {
        "src/allranks/nowhere.py",
        "missing.md",
    }


def test_every_target_that_a_page_names_is_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {
        name
        for page in PAGES
        for name in re.findall(
            r"(?:^|`)make ([a-z-]+)", (ROOT / page).read_text("utf-8"), re.MULTILINE
        )
    }
    assert {"course", "test", "quick", "setup-dev"} <= named <= targets


def test_the_python_that_the_readme_names_is_what_set_up_takes():
    assert "Python 3.11, 3.12 or 3.13" in README
    assert "(3, 11) <= sys.version_info[:2] <= (3, 13)" in (ROOT / "scripts/setup.sh").read_text(
        "utf-8"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands run one after another: the second reads the file of the first."""
    return tmp_path_factory.mktemp("readme")


def allranks(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "allranks", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_readme_is_one(command: str, folder: Path):
    command, _, kept = command.partition(" > ")
    words = shlex.split(command)[1:]
    options = [word for word in words if word.startswith("-")]
    help_page = allranks(folder, words[0], "--help")
    assert help_page.returncode == 0
    assert all(re.search(rf"{option}\b", help_page.stdout) for option in options), help_page.stdout
    if words[0] in SHOWN_ELSEWHERE:
        return
    if words[0] == "verify":
        made = allranks(folder, "schedule", "all_reduce", "ring", "-n", "4", "--format", "json")
        (folder / words[1]).write_text(made.stdout, "utf-8")
    done = allranks(folder, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    if kept:
        (folder / kept).write_text(done.stdout, "utf-8")


def test_the_readme_shows_the_commands_that_matter():
    assert {shlex.split(command)[1] for command in COMMANDS} >= {
        *("open", "build", "schedule", "verify", "price", "busbw", "run", "check", "doctor")
    }


@pytest.mark.ray
def test_the_example_of_the_readme_runs(folder: Path):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    price, answer = done.stdout.splitlines()
    assert price.startswith("Cost(seconds=0.002904, steps=6, ")
    assert answer == "[ 6. 10. 14. 18. 22. 26. 30. 34.] MEASURED: CPU processes"
