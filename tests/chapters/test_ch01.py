"""Chapter 01 agrees with the engine: its splits, contracts, errors, and the schedule it runs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from book_pages import assert_says, fences, source

import allranks as ar
from allranks.view.compose import EXAMPLES, json_text
from allranks.view.values import NumberError, evaluate

PAGE = "01-ranks-chunks-schedules.md"
SAYS = "3|48 MB|8 MB|0 MB"


def failure(name: str) -> ar.ScheduleError:
    with pytest.raises(ar.ScheduleError) as caught:
        ar.verify(EXAMPLES[name][1])
    return caught.value


def test_the_page_says_every_number_of_its_plan() -> None:
    assert_says(PAGE, SAYS)


@pytest.mark.parametrize(
    ("count", "n", "lengths"),
    [(11, 4, "3, 3, 3, 2"), (3, 5, "1, 1, 1, 0, 0"), (8, 4, "2, 2, 2, 2")],
)
def test_elements_split_as_the_course_says(count: int, n: int, lengths: str) -> None:
    role = f'chunk_lengths("all_reduce", "ring", n={n}, count={count}) | text'
    assert evaluate(role) == lengths
    assert [len(piece) for piece in np.array_split(np.arange(count), n)] == [
        int(length) for length in lengths.split(", ")
    ]
    if count != 8:
        assert f"`{role}`" in source(PAGE)


def test_three_elements_on_five_ranks_are_a_legal_collective() -> None:
    plan = ar.schedule("all_reduce", "ring", world_size=5)
    outputs = ar.simulate(plan, [np.arange(3) + 10 * rank for rank in range(5)])
    assert all(np.array_equal(output, [100, 105, 110]) for output in outputs)


def test_nccl_rounds_a_chunk_of_floats_up_to_16_bytes() -> None:
    left, chunks = 11, []
    for ranks_left in range(4, 0, -1):
        most = -(-left // ranks_left)
        chunk = min(left, -(-most * 4 // 16) * 4)
        chunks.append(chunk)
        left -= chunk
    assert chunks == [4, 4, 3, 0]
    assert "{given}`4, 4, 3, 0`" in source(PAGE)


# Contracts at n = 6, S = 48 MB: MB that rank 1 starts with, and that are promised to it; root 0.
KNOWN = {
    "broadcast": (0, 48),
    "reduce": (48, 0),
    "gather": (8, 0),
    "scatter": (0, 8),
    "all_gather": (8, 48),
    "reduce_scatter": (48, 8),
    "all_reduce": (48, 48),
    "all_to_all": (48, 48),
}


@pytest.mark.parametrize("collective", KNOWN)
def test_a_contract_has_the_sizes_of_the_course(collective: str) -> None:
    root = ", root=0" if collective in {"broadcast", "reduce", "gather", "scatter"} else ""
    for when, megabytes in zip(("start", "end"), KNOWN[collective], strict=True):
        role = f'contract_bytes("{collective}", "{when}", n=6, S=48e6, rank=1{root}) | MB'
        assert evaluate(role) == f"{megabytes}\N{NO-BREAK SPACE}MB"


def test_a_contract_has_two_ends_only() -> None:
    with pytest.raises(NumberError, match='give "start" or "end"'):
        evaluate('contract_bytes("all_gather", "middle", n=6, S=48e6, rank=1) | MB')


def test_four_ranks_are_reached_in_two_steps_and_not_in_one() -> None:
    topology = ar.Topology.uniform(4, alpha=1, bandwidth=1e9)
    messages = {
        name: ar.cost(EXAMPLES[name][1], nbytes=64, topology=topology).latency_terms
        for name in ("two-step-broadcast", "one-after-another", "all-at-once")
    }
    assert messages == {"two-step-broadcast": 2, "one-after-another": 3, "all-at-once": 3}
    assert [len(EXAMPLES[name][1].steps) for name in messages] == [2, 3, 1]


def test_the_page_runs_the_text_of_the_figure() -> None:
    (cell,) = [body for _, _, body in fences(PAGE) if "from_json" in body]
    text = re.findall(r'"""\n(.*?)\n"""', cell, re.DOTALL)[0]
    assert text == json_text(EXAMPLES["two-step-broadcast"][1])
    assert "example=two-step-broadcast" in source(PAGE)


def test_the_examples_fail_as_the_page_says() -> None:
    assert failure("send-too-early").kind == "not_held"
    assert failure("two-writers").kind == "write_conflict"
    double = failure("double-count")
    assert (double.kind, double.step, double.dst) == ("double_count", 1, 0)
    astray = failure("root-forgotten")
    assert (astray.kind, astray.rank, astray.peer) == ("wrong_owner", 2, 0)
    swapped = [row[0] for row in ar.final_state(EXAMPLES["swap-two-ranks"][1])]
    assert [dict(parts) for parts in swapped] == [{1: 1}, {0: 1}]
    in_turn = [row[0] for row in ar.final_state(EXAMPLES["copy-in-turn"][1])]
    assert [dict(parts) for parts in in_turn] == [{0: 1}, {0: 1}]


def test_the_kinds_of_the_table_are_those_of_the_verifier() -> None:
    kinds = set(re.findall(r"^\| ([a-z_, ]+_[a-z_, ]+|missing) \|", source(PAGE), re.MULTILINE))
    named = {kind.strip() for row in kinds for kind in row.split(",")}
    wanted = "not_held write_conflict self_send unknown_endpoint unknown_chunk double_count"
    assert named == {*wanted.split(), "missing", "wrong_owner"}


def test_the_table_of_names_has_eleven_rows_with_the_names_of_the_libraries() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in source(PAGE)
        .partition("## The names elsewhere")[2]
        .partition(":::")[0]
        .splitlines()
        if line.startswith("|")
    ][2:]
    assert [row[0] for row in rows] == [
        *("broadcast", "reduce", "gather", "scatter", "all-gather", "reduce-scatter"),
        *("all-reduce", "all-to-all", "barrier", "transfer", "group"),
    ]
    table = {row[0]: [cell.replace("`", "") for cell in row[1:]] for row in rows}
    assert table["all-reduce"] == ["Allreduce", "ncclAllReduce", "all_reduce", "psum"]
    assert table["reduce-scatter"] == [
        *("Reduce_scatter (_block)", "ncclReduceScatter", "reduce_scatter_tensor", "psum_scatter")
    ]
    assert table["all-gather"][2:] == ["all_gather_into_tensor", "all_gather"]
    for name, (mpi, nccl, _torch, _jax) in table.items():
        plain = name.replace("-", "")
        assert nccl == "–" or nccl.startswith("nccl"), name
        if name not in {"broadcast", "reduce-scatter", "transfer", "group"}:
            assert mpi.lower() == plain
            assert nccl.lower() in {f"nccl{plain}", "–"}
