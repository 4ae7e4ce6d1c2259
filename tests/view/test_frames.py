from __future__ import annotations

import json

import pytest

from allranks.algorithms import build
from allranks.cost import cost
from allranks.schedule import MEASURED_CPU, Op, Schedule, Trace, TransferRecord
from allranks.topology import PRESETS, Topology
from allranks.view import frames, races
from allranks.view.asked import parse_controls
from allranks.view.machines import MAX_RANKS, machine_data, machines_data


def trace_of(schedule, label=MEASURED_CPU, **header):
    records = tuple(
        TransferRecord(step, *transfer, step * 1e-3, (step + 1) * 1e-3, 16, "shm", "cpu")
        for step, transfer in schedule.transfers()
    )
    return Trace(schedule, records, {"label": label, **header})


def broken_ring():
    ring = build("all_reduce", "ring", world_size=4)
    steps = [list(step) for step in ring.steps]
    steps[3] = [steps[3][0]._replace(op=Op.REDUCE), *steps[3][1:]]
    return Schedule("all_reduce", "custom", 4, 4, tuple(map(tuple, steps)))


def test_a_flow_is_plain_json_and_is_simulated():
    flow = frames.flow(build("all_reduce", "ring", world_size=4))
    assert json.loads(json.dumps(flow, allow_nan=False)) == flow
    assert flow["label"] == "SIMULATED"
    assert flow["error"] is None
    assert flow["title"] == "Ring all-reduce on 4 ranks, 4 chunks"


def test_a_label_comes_from_the_header_of_a_trace_and_from_nowhere_else():
    ring = build("all_reduce", "ring", world_size=3)
    flow = frames.flow_of_trace(trace_of(ring, "MEASURED: NVIDIA H200"))
    assert flow["label"] == "MEASURED: NVIDIA H200"
    assert "label" not in frames.flow.__annotations__
    with pytest.raises(KeyError):
        frames.flow_of_trace(Trace(ring, (), {}))


def test_a_replayed_trace_keeps_its_times_and_says_what_was_measured():
    ring = build("all_reduce", "ring", world_size=3)
    header = {
        "devices": ["cpu0", "cpu0"],
        "versions": {"ray": "2.60", "numpy": "2.4"},
        "date": "2026-11-30",
    }
    flow = frames.flow_of_trace(trace_of(ring, **header))
    assert flow["clock"] == "measured"
    assert flow["records"][0] == [0, 0, 1, 2, "reduce", 0.0, 1e-3, 16, "shm", "cpu"]
    assert flow["measured"] == "cpu0, numpy 2.4, ray 2.60, 2026-11-30"
    assert flow["nbytes"] == 48


def test_a_wrong_schedule_is_drawn_with_its_first_wrong_event():
    flow = frames.flow(broken_ring())
    assert flow["error"]["step"] == 3
    assert "twice" in flow["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"nbytes": 0}, "at least 1 byte"),
        ({"nbytes": -1}, "at least 1 byte"),
        ({"nbytes": float("nan")}, "at least 1 byte"),
        ({"clock": "wall"}, "unknown clock"),
        ({"topology": Topology.preset("bench", 5)}, "make both for the same number"),
    ],
)
def test_a_flow_refuses_what_it_cannot_draw(arguments, what):
    with pytest.raises(ValueError, match=what):
        frames.flow(build("all_reduce", "ring", world_size=4), **arguments)


def test_an_infinite_bandwidth_is_written_as_null():
    free = Topology.uniform(2, alpha=1e-6, bandwidth=float("inf"))
    flow = frames.flow(build("broadcast", "flat", world_size=2), topology=free)
    assert flow["machines"]["uniform"]["bandwidth"] is None
    json.dumps(flow, allow_nan=False)


def test_a_race_has_the_numbers_of_chapter_3():
    names = ["flat", "chain", "binomial", "chain:k", "scatter_all_gather"]
    race = races.race(names, collective="broadcast", world_size=6)
    assert [round(lane["seconds"] * 1e6, 1) for lane in race["lanes"]] == [
        9620.0,
        9620.0,
        5772.0,
        2286.5,
        3232.0,
    ]
    assert race["entrants"][3] == {
        "algorithm": "chain",
        "chunks": None,
        "piped": True,
        "parameters": {},
    }
    assert race["lanes"][3]["title"] == "chain, 44 chunks"


def test_a_race_of_schedules_takes_what_the_library_makes_and_refuses_the_rest():
    chain = build("broadcast", "chain", world_size=6, num_chunks=8)
    tree = build("broadcast", "binomial", world_size=6)
    race = races.race_of([chain, tree], nbytes=48e6)
    assert [lane["chunks"] for lane in race["entrants"]] == [8, None]
    with pytest.raises(ValueError, match="at least one"):
        races.race_of([], nbytes=1)
    with pytest.raises(ValueError, match="share collective"):
        races.race_of([tree, build("broadcast", "binomial", world_size=5)], nbytes=1)
    with pytest.raises(ValueError, match="unknown algorithm"):
        races.race_of([broken_ring()], nbytes=1)
    short = Schedule("broadcast", "binomial", 6, 1, tree.steps[:1], root=0)
    with pytest.raises(ValueError, match="not what the library makes"):
        races.race_of([short], nbytes=1)


def test_a_curve_marks_the_best_number_of_chunks():
    curve = races.curve(world_size=6)
    assert curve["best"] == 44
    least = min(curve["points"], key=lambda point: point["seconds"])
    assert least["chunks"] == 44
    with pytest.raises(ValueError, match="unknown algorithm"):
        races.curve(collective="all_reduce", world_size=6)


@pytest.mark.parametrize(
    ("text", "element", "wanted"),
    [
        ("n=2-8 root", "chunk-flow", {"n": [2, 8], "root": True}),
        ("algorithm=flat,chain", "chunk-flow", {"algorithm": ["flat", "chain"]}),
        ("nbytes=1-1e9 k machine count", "chunk-race", None),
        ("alpha", "chunk-curve", {"alpha": True}),
        ("alpha=1e-7-1e-4", "chunk-curve", {"alpha": [1e-7, 1e-4]}),
        ("count=steps,time", "chunk-race", {"count": True}),
        ("", "chunk-flow", {}),
        (
            "node_size=2-8 inner=ring,direct outer=ring radix=2-4",
            "chunk-flow",
            {"node_size": [2, 8], "inner": ["ring", "direct"], "outer": ["ring"], "radix": [2, 4]},
        ),
    ],
)
def test_controls_are_read_as_chapters_write_them(text, element, wanted):
    controls = parse_controls(text, element=element)
    if wanted is None:
        wanted = {"nbytes": [1.0, 1e9], "k": True, "machine": True, "count": True}
    assert controls == wanted


@pytest.mark.parametrize("text", ["speed", "n=8-2", "n=a-b", "n=0-4", "alpha=1-2"])
def test_a_control_that_is_none_fails_the_build(text):
    with pytest.raises(ValueError, match="control"):
        parse_controls(text)


def test_a_race_takes_parameters_behind_colons():
    names = ["hierarchical:node_size=4:outer=rabenseifner", "sharp:4:radix=2", "nvls"]
    race = races.race(names, collective="all_reduce", world_size=8)
    assert [lane["title"] for lane in race["lanes"]] == [
        "hierarchical, nodes of 4, Rabenseifner between nodes",
        "SHARP, 4 chunks, 2 ports down a switch",
        "NVLS",
    ]
    assert race["entrants"][0]["parameters"] == {"node_size": 4, "outer": "rabenseifner"}


@pytest.mark.parametrize(
    ("entrant", "what"),
    [
        ("sharp:k", "only a chain"),
        ("hierarchical:size=4", "unknown parameter 'size'"),
        ("hierarchical:node_size=two", "no whole number"),
        ("sharp:two", "no whole number"),
        ("no_such:2", "unknown algorithm"),
    ],
)
def test_a_race_refuses_an_entrant_that_it_cannot_read(entrant, what):
    with pytest.raises(ValueError, match=what):
        races.race([entrant], collective="all_reduce", world_size=8)


def test_a_page_is_offered_machines_that_it_prices_rightly_and_no_others():
    offered = machines_data(Topology.preset("bench", 6))
    assert set(offered) >= {"bench", "island"}
    for name, machine in offered.items():
        most = machine["most"] or MAX_RANKS
        for n in {1, 2, 3, most // 2, most}:
            made = Topology.preset(name, n)
            assert made.is_uniform
            again = machine_data(made)
            if machine["in_flight"] is None:
                assert again["in_flight"] == max(n - 1, 1)
            assert {**again, "in_flight": 0, "most": 0} == {**machine, "in_flight": 0, "most": 0}
        if machine["most"]:
            with pytest.raises(ValueError, match="at most"):
                Topology.preset(name, most + 1)
    assert not set(offered) & {name for name in PRESETS if not Topology.preset(name, 2).is_uniform}


def test_a_machine_of_ones_own_stands_beside_those_of_the_course():
    mine = Topology.uniform(4, alpha=1e-6, bandwidth=1e9)
    offered = machines_data(mine)
    assert offered["uniform"] == machine_data(mine)
    assert len(offered) > 1


def test_what_a_page_cannot_price_comes_with_its_times():
    ring = build("all_reduce", "ring", world_size=16)
    machine = Topology.preset("fabric", 16)
    flow = frames.flow(ring, topology=machine, nbytes=48e6)
    priced = flow["priced"]
    paid = cost(ring, nbytes=48e6, topology=machine)
    assert priced["step_ends"][-1] == paid.seconds
    assert len(priced["step_ends"]) == len(ring.steps)
    assert sorted(priced["step_ends"]) == priced["step_ends"]
    assert len(priced["lockstep"]) == paid.messages
    assert list(flow["machines"]) == ["fabric"]
    assert json.loads(json.dumps(flow, allow_nan=False)) == flow
    assert frames.flow(ring)["priced"] is None
    with pytest.raises(ValueError, match="uniform"):
        races.race(["ring"], collective="all_reduce", world_size=16, topology=machine)
    with pytest.raises(ValueError, match="uniform"):
        races.curve(world_size=16, topology=machine)


def test_a_control_without_a_choice_fails_the_build():
    ring = build("all_reduce", "ring", world_size=16)
    machine = Topology.preset("fabric", 16)
    with pytest.raises(ValueError, match="control 'machine'"):
        frames.flow(ring, topology=machine, controls={"machine": True})


def test_a_schedule_too_large_to_draw_is_refused():
    for n in (MAX_RANKS + 1, 200):
        with pytest.raises(ValueError, match="cannot be drawn"):
            frames.flow(build("all_reduce", "ring", world_size=n))


def test_a_switch_that_cannot_add_is_refused():
    sharp = build("all_reduce", "sharp", world_size=4)
    with pytest.raises(ValueError, match="switch"):
        frames.flow(sharp, topology=Topology.preset("pcie-workstation", 4))


def test_a_title_says_what_a_schedule_was_made_with():
    made = build("all_reduce", "hierarchical", world_size=8, node_size=(3, 3, 2), inner="direct")
    flow = frames.flow(made, parameters={"node_size": (3, 3, 2), "inner": "direct"})
    assert flow["title"].endswith("chunks, nodes of 3, 3 and 2, direct inside nodes")
