"""`make setup` on machines that lack something, twice, and after a change."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCK = "typer==1.0 --hash=sha256:00\n"

# Answers as the real Python does, but makes no environment and installs nothing: it writes down
# what it was asked for.
PYTHON = """#!/bin/sh
case "$1 $2" in
"-m venv")
  echo "venv $3" >>{log}
  mkdir -p "$3/bin"
  cp "$0" "$3/bin/python"
  ;;
"-m pip")
  shift 2
  echo "pip $*" >>{log}
  exit {pip_status}
  ;;
*) exec {python} "$@" ;;
esac
"""


@dataclass
class Machine:
    """A copy of what set-up reads, with tools of its own on PATH."""

    folder: Path
    tools: Path

    def tool(self, name: str, text: str) -> Path:
        path = self.tools / name
        path.write_text(text, "utf-8")
        path.chmod(0o755)
        return path

    def python(self, name: str = "python3", pip_status: int = 0) -> Path:
        return self.tool(
            name, PYTHON.format(log=self.log, python=sys.executable, pip_status=pip_status)
        )

    @property
    def log(self) -> Path:
        return self.tools / "log"

    def asked(self) -> list[str]:
        """Return what the fake Python was asked for since the last look."""
        lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        self.log.write_text("", "utf-8")
        return lines

    def set_up(self, kind: str = "course", **variables: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(self.tools), "/usr/bin", "/bin"])
        return subprocess.run(
            ["/bin/sh", str(self.folder / "scripts" / "setup.sh"), kind],
            env={"PATH": path, "HOME": str(self.tools), **variables},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    folder = tmp_path / "course with a space"
    (folder / "requirements").mkdir(parents=True)
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    for name in ("course", "dev"):
        (folder / "requirements" / f"{name}.txt").write_text(LOCK, "utf-8")
    (folder / "pyproject.toml").write_text("[project]\n", "utf-8")
    tools = tmp_path / "tools"
    tools.mkdir()
    machine = Machine(folder, tools)
    old = "#!/bin/sh\nexit 1\n"
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        machine.tool(name, old)
    return machine


def test_the_first_run_installs_with_hashes_and_the_second_does_nothing(machine: Machine):
    machine.python()
    first = machine.set_up()
    assert (first.returncode, first.stderr) == (0, "")
    assert "set-up: ready" in first.stdout
    made, packages, package = machine.asked()
    assert made == "venv .venv"
    assert "--require-hashes" in packages
    assert packages.endswith("--requirement requirements/course.txt")
    assert package.endswith("--editable .")
    for option in ("--no-index", "--no-deps", "--no-build-isolation"):
        assert option in package
    second = machine.set_up()
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert machine.asked() == []


@pytest.mark.parametrize("changed", ["requirements/course.txt", "pyproject.toml"])
def test_a_change_of_what_is_installed_installs_again(machine: Machine, changed: str):
    machine.python()
    machine.set_up()
    machine.asked()
    with (machine.folder / changed).open("a", encoding="utf-8") as file:
        file.write("# another\n")
    machine.set_up()
    assert [line.split()[0] for line in machine.asked()] == ["pip", "pip"]


def test_the_environment_of_the_tests_serves_the_course_too(machine: Machine):
    machine.python()
    machine.set_up("dev")
    assert "requirements/dev.txt" in machine.asked()[1]
    machine.set_up("course")
    assert machine.asked() == []


def test_an_environment_that_was_moved_is_made_anew(machine: Machine):
    machine.python()
    machine.set_up()
    machine.asked()
    machine.folder = machine.folder.rename(machine.folder.with_name("elsewhere"))
    done = machine.set_up()
    assert "making it anew" in done.stdout
    assert machine.asked()[0] == "venv .venv"


def test_a_failed_installation_is_not_taken_for_a_finished_one(machine: Machine):
    machine.python(pip_status=1)
    done = machine.set_up()
    assert done.returncode == 3
    assert done.stderr.startswith("set-up: the packages could not be installed; ")
    assert len(machine.asked()) == 2
    machine.set_up()
    assert [line.split()[0] for line in machine.asked()] == ["pip"]


@pytest.mark.parametrize("name", ["python3.11", "python3.12", "python3.13"])
def test_a_python_in_range_is_found_where_python3_is_not(machine: Machine, name: str):
    machine.python(name)
    assert machine.set_up().returncode == 0


def test_no_python_in_range_is_said_with_what_was_found(machine: Machine):
    machine.tool(
        "python3", '#!/bin/sh\ncase "$2" in *platform*) echo python3 is 3.9.18;; *) exit 1;; esac\n'
    )
    done = machine.set_up()
    assert done.returncode == 3
    assert "needs Python 3.11, 3.12 or 3.13, and here python3 is 3.9.18; install" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (machine.folder / ".venv").exists()


def test_no_python_at_all_is_said(machine: Machine):
    assert "and here there is no python3; install" in machine.set_up().stderr


def test_a_named_python_out_of_range_is_refused_even_if_another_would_do(machine: Machine):
    machine.python()
    done = machine.set_up(PYTHON="/bin/false")
    assert done.returncode == 3
    assert "PYTHON=/bin/false is not a Python 3.11, 3.12 or 3.13" in done.stderr
    assert machine.asked() == []


def test_a_python_without_venv_is_told_the_package(machine: Machine):
    text = PYTHON.format(log=machine.log, python=sys.executable, pip_status=0)
    machine.tool("python3", text.replace("*) exec", '*"import ensurepip"*) exit 1 ;;\n*) exec'))
    done = machine.set_up()
    assert done.returncode == 3
    assert "apt install python3-venv" in done.stderr


def test_a_full_disk_is_said_before_anything_is_installed(machine: Machine):
    machine.python()
    machine.tool("df", "#!/bin/sh\necho Filesystem\necho disk 9999999 9000000 102400 99% /\n")
    done = machine.set_up()
    assert done.returncode == 3
    assert done.stderr.startswith("set-up: 100 MB are free in ")
    assert not any(line.startswith("pip") for line in machine.asked())
