"""The plane and the trees: the page's closed forms against the engine, and what their data hold."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from allranks.algorithms import build
from allranks.algorithms.double_tree import double_tree, num_steps_down
from allranks.cost import bytes_per_rank, lower_bound
from allranks.topology import Topology
from allranks.view.asked import parse_controls
from allranks.view.html import plane_html, trees_html
from allranks.view.machines import machine_data
from allranks.view.planes import (
    MOST_RANKS,
    NAMES,
    best_tree_chunks,
    ideal_double_tree,
    least_alphas,
    plane,
    point,
    sent_in_trees,
    tree_bytes,
    trees,
)
from allranks.view.sphinx import ChunkPlane, ChunkTrees

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="Node.js is not installed; it is a development tool"
)
SIZES = (1, 999, 8e3, 188_235, 17.6e6, 1e9)


def bench(n: int) -> Topology:
    return Topology.preset("bench", n)


def machines(n: int) -> list[Topology]:
    return [
        bench(n),
        Topology.uniform(n, alpha=2e-6, bandwidth=370e9, in_flight=max(n - 1, 1)),
        Topology.uniform(n, alpha=1e-5, bandwidth=1e9, in_flight=3),
    ]


def plane_case(n: int, nbytes: float, machine: Topology) -> dict[str, Any]:
    data = plane(world_size=n, nbytes=nbytes, topology=machine)
    return {
        "n": n,
        "nbytes": nbytes,
        "costs": machine_data(machine),
        "points": data["points"],
        "limits": data["bounds"],
        "chunks": best_tree_chunks(n, nbytes, machine),
    }


def tree_case(n: int) -> dict[str, Any]:
    return {"n": n, "parents": double_tree(n), "sent": sent_in_trees(n)}


def compare(planes: list[dict[str, Any]], forests: list[dict[str, Any]]) -> dict[str, Any]:
    assert NODE is not None
    cases = {"planes": planes, "trees": forests, "names": list(NAMES.items())}
    done = subprocess.run(
        [NODE, str(Path(__file__).with_name("plane.mjs"))],
        input=json.dumps(cases, allow_nan=False),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@needs_node
def test_the_page_places_every_all_reduce_where_the_engine_prices_it() -> None:
    sizes = [*range(2, 18), 31, 32, 33, 100, 1024]
    cases = [
        plane_case(n, nbytes, machine) for n in sizes for nbytes in SIZES for machine in machines(n)
    ]
    report = compare(cases, [tree_case(n) for n in range(2, 33)])
    assert report["found"] == []
    assert report["compared"] > 40 * len(cases)


@needs_node
@pytest.mark.parametrize("field", ["alphas", "bytes", "sent", "seconds"])
def test_a_point_that_is_moved_is_found(field: str) -> None:
    case = plane_case(6, 8e3, bench(6))
    case["points"][2] = {**case["points"][2], field: case["points"][2][field] * 1.001}
    assert compare([case], [])["count"] == 1


@needs_node
def test_trees_that_are_changed_are_found() -> None:
    case = tree_case(7)
    case["sent"][0] += 0.5
    assert compare([], [case])["count"] == 1


@pytest.mark.parametrize("n", [2, 3, 6, 8, 13])
def test_a_point_is_what_its_schedule_pays(n: int) -> None:
    """The time of every point is its alphas and its bytes, and none lies below the bounds."""
    data = plane(world_size=n, nbytes=1e6)
    for each in data["points"]:
        assert each["seconds"] == pytest.approx(each["alphas"] * 4e-6 + each["bytes"] * 1e6 / 25e9)
        assert each["alphas"] >= data["bounds"]["alphas"]
        assert each["bytes"] >= data["bounds"]["bytes"] * (1 - 1e-12)
        assert each["sent"] <= each["bytes"] * (1 + 1e-12)
    assert data["bounds"]["seconds"] == lower_bound("all_reduce", n, 1e6, bench(n))


@pytest.mark.parametrize("n", [2, 3, 5, 6, 8, 16, 100])
@pytest.mark.parametrize("nbytes", SIZES)
def test_no_other_number_of_chunks_is_better_for_the_double_tree(n: int, nbytes: float) -> None:
    def lasts(chunks: int) -> float:
        return 2 * num_steps_down(n, chunks) * (4e-6 + nbytes / 25e9 / chunks)

    best = best_tree_chunks(n, nbytes, bench(n))
    assert best % 2 == 0
    others = [k for k in range(2, 400, 2) if k <= max(nbytes, 2)]
    assert lasts(best) <= min(map(lasts, others)) * (1 + 1e-12)


def test_the_double_tree_sends_what_its_schedule_sends() -> None:
    for n in range(2, 33):
        made = build("all_reduce", "double_binary_tree", world_size=n, num_chunks=4)
        sent = [each.sent for each in bytes_per_rank(made, 8)]
        assert [8 * each for each in sent_in_trees(n)] == pytest.approx(sent)
        assert max(sent_in_trees(n)) == tree_bytes(n)
        assert sum(sent_in_trees(n)) == 2 * (n - 1)


def test_the_largest_world_of_the_plane_is_priced() -> None:
    machine = bench(MOST_RANKS)
    for key in ("ring", "rabenseifner", "recursive_doubling", "ideal"):
        assert point(key, MOST_RANKS, 1e9, machine)["seconds"] > 0
    assert point("rabenseifner", MOST_RANKS, 1e9, machine)["alphas"] == 34
    assert least_alphas(MOST_RANKS, machine) == 17


def test_many_messages_at_once_lower_the_bound_on_alphas() -> None:
    assert least_alphas(8, bench(8)) == 3
    assert least_alphas(8, Topology.preset("island", 8)) == 1


def test_the_ideal_double_tree_is_the_formula() -> None:
    assert ideal_double_tree(16, 64e6, bench(16)) * 1e6 == pytest.approx(5152)
    assert ideal_double_tree(16, 8e3, bench(16)) * 1e6 == pytest.approx(32.64)


def test_what_the_plane_cannot_hold_is_refused() -> None:
    for bad in (1, MOST_RANKS + 1):
        with pytest.raises(ValueError, match="plane: n is"):
            plane(world_size=bad)
    for change in ({"ports": 2}, {"gamma": 1e-10}, {"bandwidth": float("inf")}):
        with pytest.raises(ValueError, match="two coordinates cannot hold"):
            plane(world_size=4, topology=replace(bench(4), **change))
    with pytest.raises(ValueError, match="two coordinates cannot hold"):
        plane(world_size=16, topology=Topology.preset("dgx-h100", 16))
    for bad in (1, 33):
        with pytest.raises(ValueError, match="trees: n is"):
            trees(world_size=bad)


def figure(directive: Any, **options: Any) -> dict[str, Any]:
    made = directive.__new__(directive)
    made.arguments = []
    made.options = {
        name: directive.option_spec[name](str(value)) for name, value in options.items()
    }
    data: dict[str, Any] = made.data()
    return data


def test_the_directives_hand_their_options_on() -> None:
    data = figure(ChunkPlane, n=16, nbytes="8e3", controls="n=2-131072 nbytes=1-1e9 machine")
    assert (data["n"], data["nbytes"], data["machine"]) == (16, 8000, "bench")
    assert data["controls"] == {"n": [2, 131072], "nbytes": [1.0, 1e9], "machine": True}
    assert set(data["machines"]) >= {"bench", "island"}
    forest = figure(ChunkTrees, n=7, controls="n=2-32", title="Two trees")
    assert (forest["title"], forest["controls"]) == ("Two trees", {"n": [2, 32]})
    with pytest.raises(ValueError, match="unknown control 'root'"):
        parse_controls("root", element="chunk-plane")


def test_without_scripts_the_figures_are_tables() -> None:
    page = plane_html(plane(world_size=16, nbytes=8e3), id="fig-p")
    for cell in ("<td>ring</td><td>30</td><td>1.875 S</td><td>120.6 µs</td>", "the bounds"):
        assert cell in page
    assert page.count("<tr>") == len(NAMES) + 2
    rows = trees_html(trees(world_size=6), id="fig-t")
    assert "<td>3</td><td>2</td><td>1</td><td>2 S</td>" in rows
    assert "<td>0</td><td>none</td><td>1</td><td>1 S</td>" in rows
