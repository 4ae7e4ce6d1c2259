"""What a wrong name is answered with."""

from __future__ import annotations

import pytest

from allranks import algorithms, schedule
from allranks.algorithms import ALGORITHMS
from allranks.collectives import CONTRACTS
from allranks.errors import ELSEWHERE, unknown_name
from allranks.numerics import dtype_named


@pytest.mark.parametrize(
    ("collective", "theirs", "ours"),
    [
        ("all_reduce", "two_shot", "'direct'"),
        ("all_reduce", "two-shot", "'direct'"),
        ("all_reduce", "halving_doubling", "'rabenseifner'"),
        ("all_reduce", "recursive_halving_doubling", "'rabenseifner'"),
        ("all_reduce", "star", "'flat'"),
        ("broadcast", "star", "'flat'"),
        ("broadcast", "tree", "'binomial'"),
        ("all_reduce", "tree", "'binomial' or 'double_binary_tree'"),
        ("all_reduce", "double_tree", "'double_binary_tree'"),
        ("all_reduce", "DBTree", "'double_binary_tree'"),
        ("all_reduce", "CollNet", "'sharp'"),
    ],
)
def test_what_others_call_it_is_a_hint_and_no_second_name(collective, theirs, ours):
    with pytest.raises(ValueError, match=f"did you mean {ours}[?] .* what others call ") as caught:
        schedule(collective, theirs, world_size=4)
    assert str(caught.value).startswith(f"unknown algorithm of {collective} {theirs!r}; ")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("allreduce", "all_reduce"),
        ("all-reduce", "all_reduce"),
        ("AllReduce", "all_reduce"),
        ("All Reduce", "all_reduce"),
        ("reduce-scatter", "reduce_scatter"),
        ("reducescatter", "reduce_scatter"),
        ("ReduceScatter", "reduce_scatter"),
        ("allgather", "all_gather"),
        ("alltoall", "all_to_all"),
        ("all2all", "all_to_all"),
    ],
)
def test_another_spelling_of_a_collective_gets_ours(theirs, ours):
    with pytest.raises(ValueError, match=f"did you mean '{ours}'"):
        algorithms(theirs)


def test_names_of_number_formats_that_people_type():
    for name in ("fp16", "bf16", "fp32"):
        assert dtype_named(name).itemsize in (2, 4)
    with pytest.raises(ValueError, match="did you mean 'float8_e4m3fn'"):
        dtype_named("fp8")


def test_no_hint_points_to_a_name_that_does_not_exist_or_hides_one_that_does():
    ours = {name for _, name in ALGORITHMS}
    for theirs, meant in ELSEWHERE.items():
        assert theirs not in ours | set(CONTRACTS)
        assert all(name in ours or dtype_named(name).name == name for name in meant)


def test_a_hint_names_only_what_is_known_here():
    assert unknown_name("algorithm", "tree", ["binomial", "flat"]) == (
        "unknown algorithm 'tree'; did you mean 'binomial'? It is what others call tree. "
        "Known: binomial, flat"
    )
    assert unknown_name("thing", "collnet", ["x"]) == "unknown thing 'collnet'; Known: x"
