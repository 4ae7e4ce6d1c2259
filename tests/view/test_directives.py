"""What the book's directives make of their options; the pages themselves are tested in serve."""

from __future__ import annotations

import pytest

from allranks.algorithms import build
from allranks.view.sphinx import ChunkFlow, ChunkRace


def figure(directive, *arguments, **options):
    made = directive.__new__(directive)
    made.arguments = list(arguments)
    made.options = {
        name: directive.option_spec[name](str(value)) for name, value in options.items()
    }
    return made


@pytest.mark.parametrize(
    ("algorithm", "options", "chunks", "wanted"),
    [
        (
            "hierarchical",
            {"node_size": "4", "outer": "rabenseifner"},
            None,
            {"node_size": 4, "outer": "rabenseifner"},
        ),
        ("hierarchical", {"node_size": "3,3,2"}, None, {"node_size": (3, 3, 2)}),
        ("sharp", {"radix": 2, "chunks": 4}, 4, {"radix": 2}),
    ],
)
def test_a_figure_is_made_with_the_parameters_of_its_algorithm(algorithm, options, chunks, wanted):
    data = figure(ChunkFlow, "all_reduce", algorithm, n=8, **options).data()
    made = build("all_reduce", algorithm, world_size=8, num_chunks=chunks, **wanted)
    assert data["schedule"] == made.to_dict()
    plain = {name: list(v) if isinstance(v, tuple) else v for name, v in wanted.items()}
    assert data["parameters"] == plain


def test_a_figure_takes_a_machine_that_only_python_prices():
    data = figure(ChunkFlow, "all_reduce", "ring", n=16, machine="dgx-h100").data()
    assert data["machine"] == "dgx-h100"
    assert data["priced"]["lockstep"]


def test_a_race_takes_entrants_with_parameters():
    data = figure(
        ChunkRace, collective="all_reduce", algorithms="ring, sharp:4:radix=4", n=8
    ).data()
    assert [lane["algorithm"] for lane in data["entrants"]] == ["ring", "sharp"]
    with pytest.raises(ValueError, match="give the option :collective:"):
        figure(ChunkRace, algorithms="ring").data()


def test_what_an_algorithm_does_not_take_is_refused():
    with pytest.raises(ValueError, match="no such parameter"):
        figure(ChunkFlow, "all_reduce", "ring", n=8, radix=2).data()
    with pytest.raises(ValueError, match="write 4, or 3,3,2"):
        figure(ChunkFlow, "all_reduce", "hierarchical", n=8, node_size="four").data()


def test_a_figure_gives_its_machine_another_number_of_ports_and_keeps_the_first_beside_it():
    data = figure(
        ChunkRace,
        collective="all_gather",
        algorithms="ring, bidirectional_ring",
        n=6,
        nbytes="48e6",
        ports=2,
    ).data()
    assert data["machine"] == "bench-2-ports"
    assert data["machines"]["bench-2-ports"]["ports"] == 2
    assert data["machines"]["bench"]["ports"] == 1
    assert [lane["seconds"] * 1e6 for lane in data["lanes"]] == pytest.approx([1620, 972])
    flow = figure(ChunkFlow, "all_gather", "ring", n=4, ports=2).data()
    assert flow["machine"] == "bench-2-ports"
