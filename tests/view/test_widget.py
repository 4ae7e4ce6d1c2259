from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from allranks.algorithms import ALGORITHMS, build
from allranks.schedule import MEASURED_CPU, Trace, TransferRecord
from allranks.topology import Topology
from allranks.view.widget import PAGE_HAS_PLAYER, Figure, race, show

RING = build("all_reduce", "ring", world_size=3)


def run_of(schedule):
    records = tuple(
        TransferRecord(step, *transfer, 0.0, 1e-3, 16, "shm", "cpu")
        for step, transfer in schedule.transfers()
    )
    return Trace(schedule, records, {"label": MEASURED_CPU})


def test_a_schedule_a_trace_and_a_result_can_be_shown():
    assert show(RING).data["label"] == "SIMULATED"
    assert show(run_of(RING)).data["label"] == MEASURED_CPU
    result = SimpleNamespace(trace=run_of(RING), outputs=[])
    assert show(result).data["clock"] == "measured"


def test_a_machine_may_be_given_by_its_name():
    for name in ("island", "dgx-h100"):
        topology = Topology.preset(name, 3)
        assert show(RING, topology=name).data == show(RING, topology=topology).data
    raced = race([RING], topology=Topology.preset("island", 3))
    assert race([RING], topology="island").data == raced.data


def test_what_cannot_be_shown_is_named():
    with pytest.raises(ValueError, match="unknown machine 'dgx-h10'; did you mean 'dgx-h100'"):
        show(RING, topology="dgx-h10")
    for draw, what in ((show, RING), (race, [RING])):
        with pytest.raises(TypeError, match="topology is 8; give the name of a preset or a Top"):
            draw(what, topology=8)
    with pytest.raises(TypeError, match="got str"):
        show("ring")
    with pytest.raises(ValueError, match="measured times"):
        show(run_of(RING), nbytes=5)
    with pytest.raises(ValueError, match="at least 1 byte"):
        show(RING, nbytes=0)


def test_the_bundle_plays_with_a_kernel_without_one_and_as_text():
    figure = show(RING, nbytes=64, topology=Topology.preset("bench", 3))
    bundle, _ = figure._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "<chunk-flow" in bundle["text/html"]
    assert "customElements.define" in bundle["text/html"]
    assert bundle["text/plain"] == "<Ring all-reduce on 3 ranks, 3 chunks [SIMULATED]>"


def test_in_the_book_the_page_has_the_script_already(monkeypatch):
    monkeypatch.setenv(PAGE_HAS_PLAYER, "03-broadcast")
    text = show(RING).html()
    assert "<chunk-flow" in text
    assert "customElements.define" not in text


def test_the_state_lives_in_python():
    figure = show(RING)
    figure.step = 2
    assert figure.get_state(["step", "element"]) == {"step": 2, "element": "chunk-flow"}
    assert isinstance(figure, Figure)


def test_schedules_race():
    figure = race([RING, build("all_reduce", "sharp", world_size=3)], nbytes=1e6)
    assert figure.element == "chunk-race"
    assert "<chunk-race" in figure.html()


def test_the_package_loads_no_widget_and_no_ray_until_it_is_asked():
    code = (
        "import sys, allranks as ar\n"
        "heavy = {'anywidget', 'ipywidgets', 'ray'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "sys.modules['ray'] = None\n"
        "ar.show(ar.schedule('broadcast', 'flat', world_size=3))\n"
        "assert 'anywidget' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("collective", "name"), ALGORITHMS)
def test_every_algorithm_of_the_library_can_be_shown(collective, name):
    for n in (1, 2, 8):
        try:
            made = build(collective, name, world_size=n)
        except ValueError:
            assert name == "unchunked_ring"
            continue
        assert show(made).data["error"] is None
