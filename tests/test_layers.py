"""The house: a room imports only what its row allows, and nothing below runtime needs Ray."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "allranks"


class Row(NamedTuple):
    """What a room may import: rooms of ours, and packages beside the standard library."""

    rooms: str
    outside: str = ""


ENGINE = "errors units schedule collectives topology algorithms verify cost"
# Lowest first. A row says less than "every room above it" where a room must not know one.
HOUSE = {
    "errors": Row(""),
    "units": Row("errors"),
    "published": Row(""),
    "schedule": Row("errors", "numpy"),
    "collectives": Row("errors schedule"),
    "topology": Row("errors units", "numpy"),
    "algorithms": Row("errors schedule", "numpy"),
    "verify": Row("errors schedule collectives algorithms", "numpy"),
    "cost": Row("errors schedule collectives topology algorithms", "numpy"),
    "simulate": Row("errors schedule collectives verify", "numpy ml_dtypes"),
    "numerics": Row("errors schedule collectives verify simulate", "numpy ml_dtypes"),
    "program": Row("errors schedule collectives", "numpy ml_dtypes"),
    "runtime": Row(f"{ENGINE} simulate program", "numpy ml_dtypes ray"),
    "view": Row(
        f"{ENGINE} published simulate",
        "numpy anywidget ipywidgets traitlets IPython docutils sphinx latex2mathml",
    ),
    "learn": Row(f"{ENGINE} published simulate program view", "numpy docutils sphinx"),
    "serve": Row(
        f"{ENGINE} published simulate program runtime view learn",
        "numpy docutils sphinx nbformat nbclient myst_nb myst_parser markdown_it jupyter_book "
        "jupyter_cache bs4 yaml",
    ),
    "cli": Row(
        f"{ENGINE} published simulate program runtime view learn serve", "numpy typer rich click"
    ),
}
# These two stand above the house: the public names, loaded on first use, and `python -m allranks`.
ROOF = {"__init__", "__main__"}
A_ROOM_IN_A_STRING = re.compile(rf"allranks\.({'|'.join(HOUSE)})(\.\w+)*")


def imported(source: str, package: str) -> set[str]:
    """Return the dotted names that `source`, a module in `package`, imports or names for import."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom():
                parts = package.split(".")
                start = parts[: len(parts) - node.level + 1] if node.level else []
                home = ".".join([*start, *filter(None, [node.module])])
                # `from allranks import cost` names a room, or a public name of any room at all.
                names |= {f"{home}.{a.name}" for a in node.names} if home == "allranks" else {home}
            case ast.Constant(value=str(text)) if A_ROOM_IN_A_STRING.fullmatch(text):
                names.add(text)
            case ast.Call(
                func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(text)), *_]
            ):
                names.add(f"allranks{text}" if text.startswith(".") else text)
    return names


def trespasses(package: Path) -> list[str]:
    """Return one sentence for every import that the table does not allow."""
    found = []
    for path in sorted(package.rglob("*.py")):
        where = path.relative_to(package)
        room = where.parts[0].removesuffix(".py")
        if room in ROOF:
            continue
        if room not in HOUSE:
            found.append(f"{where}: the room {room} is not in the table")
            continue
        row = HOUSE[room]
        ours = {room, "__version__", *row.rooms.split()}
        others = set(row.outside.split()) | sys.stdlib_module_names
        for name in imported(path.read_text("utf-8"), ".".join(["allranks", *where.parts[:-1]])):
            top, _, rest = name.partition(".")
            if top == "allranks" and rest.split(".")[0] not in ours:
                found.append(f"{where}: {room} may not import {name}")
            elif top != "allranks" and top not in others:
                found.append(f"{where}: {room} may not use {name}")
    return found


def test_every_room_imports_only_what_its_row_allows():
    assert trespasses(PACKAGE) == []


def test_a_row_names_only_rooms_before_it():
    rooms = list(HOUSE)
    for index, row in enumerate(HOUSE.values()):
        assert set(row.rooms.split()) <= set(rooms[:index])


def test_no_room_but_runtime_may_use_ray():
    assert [room for room, row in HOUSE.items() if "ray" in row.outside.split()] == ["runtime"]


PLANTED = {
    "import": "import allranks.runtime.world",
    "import as": "import allranks.runtime as anything",
    "from module": "from allranks.runtime.world import World",
    "from package": "from allranks import runtime",
    "a public name of another room": "from allranks import World",
    "the package itself": "import allranks",
    "relative": "from .runtime import World",
    "relative to the package": "from . import runtime",
    "inside a function": "def f():\n    from allranks.runtime import World",
    "for types alone": "from typing import TYPE_CHECKING\n"
    "if TYPE_CHECKING:\n    import allranks.runtime",
    "importlib": "import importlib\nimportlib.import_module('allranks.runtime.world')",
    "importlib, relative": "import importlib\nimportlib.import_module('.runtime', 'allranks')",
    "a name in a table": "HOMES = {'World': 'allranks.runtime.world'}",
    "Ray": "import ray",
    "Ray in a function": "def f():\n    from ray.util import placement_group",
}


@pytest.mark.parametrize("source", PLANTED.values(), ids=PLANTED)
def test_an_upward_import_is_caught(source: str, tmp_path: Path):
    (tmp_path / "cost.py").write_text("import math\nfrom allranks.schedule import Op\n", "utf-8")
    assert trespasses(tmp_path) == []
    (tmp_path / "verify").mkdir()
    (tmp_path / "verify" / "play.py").write_text("from ..schedule import Op\n", "utf-8")
    assert trespasses(tmp_path) == []
    (tmp_path / "cost.py").write_text(source, "utf-8")
    (sentence,) = trespasses(tmp_path)
    assert sentence.startswith("cost.py: cost may not ")


def test_an_upward_relative_import_out_of_a_folder_is_caught(tmp_path: Path):
    (tmp_path / "algorithms").mkdir()
    (tmp_path / "algorithms" / "ring.py").write_text("from ..cost import price\n", "utf-8")
    where = str(Path("algorithms", "ring.py"))
    assert trespasses(tmp_path) == [f"{where}: algorithms may not import allranks.cost"]


def test_a_room_that_is_not_in_the_table_is_caught(tmp_path: Path):
    (tmp_path / "helpers.py").write_text("", "utf-8")
    assert trespasses(tmp_path) == ["helpers.py: the room helpers is not in the table"]


def run_without(blocked: str, program: str) -> subprocess.CompletedProcess[str]:
    """Run `program` in a new Python in which the `blocked` packages cannot be imported."""
    blocker = f"""
    import sys
    class Blocker:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in {blocked.split()}:
                raise ModuleNotFoundError(f"No module named {{name!r}} (blocked)", name=name)
    sys.meta_path.insert(0, Blocker())
    """
    source = textwrap.dedent(blocker) + textwrap.dedent(program)
    return subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=120, check=False
    )


WITHOUT_RAY = {
    "prove": "ar.verify(s); assert ar.final_state(s)[0][0].total() == 4",
    "price": "assert ar.cost(s, nbytes=4e6, topology=bench).steps == 6",
    "simulate": "import numpy as np\n"
    "out = ar.simulate(s, [np.arange(8) + rank for rank in range(4)])\n"
    "assert [int(x) for x in out[3]] == [4 * i + 6 for i in range(8)]",
    "draw": "from allranks.view.frames import flow\n"
    "assert flow(s, nbytes=4e6, topology=bench)['format'] == 'allranks.flow/1'",
    "show": "html = ar.show(s)._repr_mimebundle_()[0]['text/html']\nassert '<chunk-flow' in html",
    "ask": "from allranks.learn import quiz, items\nassert quiz.__name__ and items.__name__",
    "be graded": "import allranks.learn.exercises, allranks.learn.grader, allranks.learn.sphinx",
}


@pytest.mark.parametrize("program", WITHOUT_RAY.values(), ids=WITHOUT_RAY)
def test_a_schedule_can_do_this_without_ray(program: str):
    start = "import allranks as ar\ns = ar.schedule('all_reduce', 'ring', world_size=4)\n"
    start += "bench = ar.Topology.preset('bench', 4)\n"
    done = run_without("ray", start + program + "\nassert 'ray' not in sys.modules")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_world_without_ray_says_what_to_do():
    done = run_without(
        "ray",
        """
        import allranks as ar
        try:
            ar.World(2)
        except ar.TransportUnavailable as error:
            assert "ar.simulate" in str(error), error
        else:
            raise SystemExit("World started")
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_allranks_loads_nothing_heavy():
    done = run_without("ray numpy anywidget ipywidgets sphinx typer", "import allranks")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_blocker_of_these_tests_blocks():
    done = run_without("ray", "import ray")
    assert done.returncode == 1
    assert "blocked" in done.stderr
