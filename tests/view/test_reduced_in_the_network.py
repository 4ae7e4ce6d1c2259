"""The figures of in-network reduction: what passes every port, and models against measurements."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from allranks.algorithms import build
from allranks.cost import cost
from allranks.topology import Topology
from allranks.view.asked import parse_controls
from allranks.view.fit import HEAD, MACHINES, MODELS, SLIDE, best_fit, fit
from allranks.view.html import fit_html, ports_html
from allranks.view.ports import best_pieces, plan_price, ports

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="Node.js is not installed; it is a development tool"
)
BENCH = Topology.preset("bench", 6)


def in_the_page(**figures: list[Any]) -> dict[str, list[Any]]:
    script = Path(__file__).with_name("reduced.mjs")
    asked = json.dumps({"ports": [], "fits": [], **figures})
    done = subprocess.run(
        [str(NODE), str(script)],
        input=asked,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


@needs_node
def test_the_page_counts_the_bytes_and_seconds_of_the_schedules() -> None:
    figures = [
        ports(world_size=n, nbytes=nbytes, pieces=pieces, topology=Topology.preset(machine, n))
        for n, machine in [(2, "bench"), (3, "bench"), (6, "bench"), (8, "island"), (72, "bench")]
        for nbytes in (1e3, 48e6)
        for pieces in (None, 1, 2, 3, 4, 22)
    ]
    for figure, shown in zip(figures, in_the_page(ports=figures)["ports"], strict=True):
        for plan, drawn in zip(figure["plans"], shown, strict=True):
            assert (drawn["title"], drawn["steps"]) == (plan["title"], plan["steps"])
            assert drawn["seconds"] == pytest.approx(plan["seconds"], rel=1e-12)
            got = [drawn[name] for name in ("out", "into", "switchIn", "switchOut")]
            wanted = [plan[name] for name in ("out", "into", "switch_in", "switch_out")]
            assert got == pytest.approx(wanted, rel=1e-12)


def test_the_numbers_are_those_of_the_written_out_schedules() -> None:
    for n in (2, 3, 5):
        machine = Topology.preset("bench", n)
        for name, pieces, chunks in [("sharp", 4, 4), ("nvls", 4, 4 * n)]:
            made = build("all_reduce", name, world_size=n, num_chunks=chunks)
            assert plan_price(name, pieces, 6e6, machine) == cost(
                made, nbytes=6e6, topology=machine
            )


@pytest.mark.parametrize("name", ["sharp", "nvls"])
@pytest.mark.parametrize("nbytes", [10, 3e3, 375e3, 48e6])
def test_no_other_number_of_pieces_is_faster(name: str, nbytes: float) -> None:
    most = int(nbytes // 6 if name == "nvls" else nbytes)
    best = best_pieces(name, nbytes, BENCH)
    times = [plan_price(name, k, nbytes, BENCH).seconds for k in range(1, min(most, 90) + 1)]
    assert plan_price(name, best, nbytes, BENCH).seconds == pytest.approx(min(times), rel=1e-12)


def test_without_alpha_every_byte_is_a_piece() -> None:
    free = Topology.uniform(4, alpha=0, bandwidth=1e9)
    assert best_pieces("sharp", 12, free) == 12


def test_figures_that_a_page_would_count_differently_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 ranks"):
        ports(world_size=1)
    with pytest.raises(ValueError, match="at least 2 ranks and 1 piece"):
        ports(world_size=4, pieces=0)
    for machine in (
        Topology.uniform(4, alpha=1e-6, bandwidth=1e9, gamma=1e-10),
        Topology.uniform(4, alpha=1e-6, bandwidth=1e9, ports=2),
    ):
        with pytest.raises(ValueError, match="one port per rank"):
            ports(world_size=4, topology=machine)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 72])
def test_both_models_count_the_bytes_of_a_schedule(n: int) -> None:
    assert HEAD.ratio(n) == pytest.approx(2 * (n - 1) / (n + 1), rel=1e-12)
    assert SLIDE.ratio(n) == pytest.approx(2 * (n - 1) / n, rel=1e-12)


@needs_node
def test_the_page_finds_the_least_squares_that_python_finds() -> None:
    (*shown,) = in_the_page(fits=[fit(machine=name) for name in MACHINES])["fits"]
    for name, models in zip(MACHINES, shown, strict=True):
        for model, drawn in zip(MODELS, models, strict=True):
            best = best_fit(name, model)
            got = [drawn["efficiency"], drawn["rms"], drawn["spread"]]
            assert got == pytest.approx([best.efficiency, best.rms, best.spread], rel=1e-9)


def test_the_least_squares_are_least() -> None:
    for machine, measurement in MACHINES.items():
        for name, model in MODELS.items():
            used = [(p.world_size, p.gain) for p in measurement.points if p.gain is not None]

            def missed(e: float, model: Any = model, used: Any = used) -> float:
                return sum((e * model.ratio(n) - gain) ** 2 for n, gain in used)

            best = best_fit(machine, name).efficiency
            assert missed(best) <= min(missed(best - 1e-4), missed(best + 1e-4))


def test_a_figure_of_measurements_names_its_source_and_says_that_it_is_published() -> None:
    figure = fit()
    assert figure["label"] == "PUBLISHED"
    for machine in figure["machines"]:
        assert machine["source"]
        assert machine["read"]
    with pytest.raises(ValueError, match="known: H200, B200"):
        fit(machine="H100")
    with pytest.raises(ValueError, match=r"0\.5 to 1"):
        fit(efficiency=1.2)


def test_without_scripts_both_figures_are_tables() -> None:
    counted = ports_html(ports(world_size=6), id="fig-ports", predict="09-q", caption_html="<p>c")
    assert "<td>288 MB</td>" in counted
    assert 'predict="09-q"' in counted
    measured = fit_html(fit(), id="fig-fit")
    assert "Ring taken" in measured
    assert "<td>0.852</td>" in measured
    assert "<td>0.710</td>" in measured


def test_their_controls_are_known() -> None:
    asked = parse_controls("n=2-72 nbytes=1e3-1e9 k", element="chunk-ports")
    assert asked == {"n": [2, 72], "nbytes": [1e3, 1e9], "k": True}
    with pytest.raises(ValueError, match="unknown control"):
        parse_controls("n=2-8", element="chunk-fit")
