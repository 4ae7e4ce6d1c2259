"""What holds for every algorithm: its contract, its table entry, and how to ask for it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import replace

import pytest
from algorithm_facts import WORLDS, every_case, possible

from allranks.algorithms import (
    ALGORITHMS,
    USUAL,
    algorithms,
    build,
    plan_of,
    usual_algorithm,
)
from allranks.collectives import CONTRACTS
from allranks.verify import verify

KEYS = sorted(ALGORITHMS)
# Where a rank may talk to several others in one step; switches have a port for each anyway.
SEVERAL_PEERS = {"bidirectional_ring", "direct", "one_shot", "double_binary_tree"}


def cases(collective, algorithm):
    for n in WORLDS:
        yield from every_case(collective, algorithm, n)


@pytest.mark.parametrize(("collective", "algorithm"), KEYS)
def test_every_algorithm_keeps_its_promise_for_any_root_and_chunks(collective, algorithm):
    for schedule in cases(collective, algorithm):
        verify(schedule)
        assert (schedule.collective, schedule.algorithm) == (collective, algorithm)
        assert (schedule.root is None) == (not CONTRACTS[collective].rooted)


@pytest.mark.slow
@pytest.mark.parametrize(("collective", "algorithm"), KEYS)
def test_every_algorithm_keeps_its_promise_on_up_to_64_ranks(collective, algorithm):
    for n in range(1, 65):
        if possible(collective, algorithm, n):
            root = n // 2 if CONTRACTS[collective].rooted else None
            verify(build(collective, algorithm, world_size=n, root=root))


@pytest.mark.parametrize(("collective", "algorithm"), KEYS)
def test_the_usual_number_of_chunks_is_that_of_the_table(collective, algorithm):
    for n in WORLDS:
        if possible(collective, algorithm, n):
            schedule = build(collective, algorithm, world_size=n)
            assert schedule.num_chunks == ALGORITHMS[collective, algorithm].default_chunks(n)


@pytest.mark.parametrize(("collective", "algorithm"), KEYS)
def test_one_rank_takes_no_step(collective, algorithm):
    assert list(build(collective, algorithm, world_size=1).steps) == []


@pytest.mark.parametrize(("collective", "algorithm"), KEYS)
def test_no_step_is_empty_and_none_sends_one_chunk_to_one_rank_twice(collective, algorithm):
    for schedule in cases(collective, algorithm):
        for step in schedule.steps:
            assert len(step) > 0
            assert len({(t.src, t.dst, t.chunk) for t in step}) == len(step)


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [key for key in KEYS if key[1] not in SEVERAL_PEERS and key != ("all_to_all", "hierarchical")],
)
def test_between_ranks_nobody_sends_to_two_or_hears_from_two_in_one_step(collective, algorithm):
    for schedule in cases(collective, algorithm):
        ranks = range(schedule.world_size)
        for step in schedule.steps:
            routes = {(t.src, t.dst) for t in step if t.src in ranks and t.dst in ranks}
            assert len({src for src, _ in routes}) == len(routes)
            assert len({dst for _, dst in routes}) == len(routes)


# --- The table --------------------------------------------------------------------------------


def public_generators():
    """Return the generators of all families, by name."""
    package = importlib.import_module("allranks.algorithms")
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    ]
    return {
        name: member
        for module in modules
        for name, member in inspect.getmembers(module, inspect.isgeneratorfunction)
        if not name.startswith("_") and member.__module__ == module.__name__
    }


def test_the_name_of_a_generator_is_algorithm_then_collective():
    table = {f"{algorithm}_{collective}": e for (collective, algorithm), e in ALGORITHMS.items()}
    generators = public_generators()
    for name, entry in table.items():
        assert generators[name] is entry.generator
        assert next(iter(inspect.signature(entry.generator).parameters)) == "world_size"
        assert inspect.getdoc(entry.generator), name
    unlisted = [
        name for name in generators if name.endswith(tuple(CONTRACTS)) and name not in table
    ]
    assert unlisted == []


def test_the_names_of_the_families_are_those_in_use():
    expected = {
        "broadcast": {"flat", "chain", "binomial", "scatter_all_gather"},
        "reduce": {"flat", "chain", "binomial"},
        "scatter": {"flat", "binomial"},
        "gather": {"flat", "binomial"},
        "all_gather": {
            *("ring", "bidirectional_ring", "neighbor_exchange", "recursive_doubling", "bruck"),
            "direct",
        },
        "reduce_scatter": {"ring", "bidirectional_ring", "recursive_halving", "direct"},
        "all_reduce": {
            *("flat", "unchunked_ring", "ring", "bidirectional_ring", "binomial"),
            *("recursive_doubling", "rabenseifner", "direct", "one_shot", "sharp"),
        },
        "all_to_all": {"direct", "pairwise", "bruck"},
    }
    assert set(expected) == set(CONTRACTS)
    for collective, names in expected.items():
        assert names <= set(algorithms(collective)), collective


def test_every_collective_has_a_usual_algorithm_that_takes_any_number_of_ranks():
    assert set(USUAL) == set(CONTRACTS)
    for collective, algorithm in USUAL.items():
        assert usual_algorithm(collective) == algorithm
        assert all(possible(collective, algorithm, n) for n in range(1, 65))


def test_what_refuses_a_number_of_ranks_says_so_in_the_table():
    for (collective, algorithm), entry in ALGORITHMS.items():
        refused = [n for n in range(1, 65) if entry.refuse(n)]
        assert 1 not in refused
        assert 2 not in refused
        if refused:
            assert entry.restriction, (collective, algorithm)


# --- Asking for them --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("all_redcue", "ring", {"world_size": 4}), "did you mean 'all_reduce'"),
        (("all_reduce", "rign", {"world_size": 4}), "did you mean 'ring'"),
        (("all_reduce", "ring", {"world_size": 0}), "world_size is 0"),
        (("all_reduce", "ring", {"world_size": -1}), "world_size is -1"),
        (("all_reduce", "ring", {"world_size": 2.0}), "world_size is 2.0"),
        (("all_reduce", "ring", {"world_size": True}), "world_size is True"),
        (("all_reduce", "ring", {"world_size": 4, "root": 0}), "all_reduce has no root"),
        (("all_reduce", "ring", {"world_size": 4, "num_chunks": 5}), "always uses 4"),
        (("all_reduce", "ring", {"world_size": 4, "num_chunks": 0}), "num_chunks is 0"),
        (("all_reduce", "rabenseifner", {"world_size": 6, "num_chunks": 6}), "always uses 4"),
        (("all_reduce", "ring", {"world_size": 4, "node_size": 2}), "no such parameter"),
        (("broadcast", "chain", {"world_size": 4, "num_chunks": 0}), "num_chunks is 0"),
        (("broadcast", "chain", {"world_size": 4, "num_chunks": 1.5}), "num_chunks is 1.5"),
        (("broadcast", "chain", {"world_size": 4, "root": 4}), "from 0 to 3"),
        (("broadcast", "chain", {"world_size": 4, "root": -1}), "root is -1"),
        (("all_gather", "recursive_doubling", {"world_size": 6}), "power of two.*; use bruck"),
        (("all_gather", "neighbor_exchange", {"world_size": 7}), "even number.*; use ring or"),
        (("all_reduce", "unchunked_ring", {"world_size": 3}), "one place.*; use one_shot"),
    ],
)
def test_what_does_not_exist_or_fit_is_refused(arguments, words):
    collective, algorithm, options = arguments
    with pytest.raises(ValueError, match=words):
        build(collective, algorithm, **options)


def test_a_chunk_count_may_be_said_where_it_is_the_only_one():
    assert build("all_reduce", "ring", world_size=4, num_chunks=4) == build(
        "all_reduce", "ring", world_size=4
    )


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [
        ("all_gather", "direct"),
        ("all_gather", "bruck"),
        ("reduce_scatter", "recursive_halving"),
        ("all_reduce", "rabenseifner"),
        ("all_reduce", "one_shot"),
        ("all_to_all", "direct"),
        ("all_to_all", "bruck"),
    ],
)
def test_a_schedule_too_long_to_write_out_is_refused_before_its_first_step(
    collective, algorithm, monkeypatch
):
    # one step of these holds up to n * n transfers: a list of them would fill any memory
    def started(world_size):
        pytest.fail(f"began to write out {world_size} ranks")
        yield

    entry = ALGORITHMS[collective, algorithm]
    monkeypatch.setitem(ALGORITHMS, (collective, algorithm), replace(entry, generator=started))
    with pytest.raises(ValueError, match=r"too long to write out; .*price"):
        build(collective, algorithm, world_size=131_072)


def test_a_plan_to_be_priced_may_be_one_that_no_schedule_can_follow():
    asked = {"num_chunks": None}
    plan = plan_of("all_reduce", "unchunked_ring", 6, asked, priced=True)
    assert (plan.num_chunks, plan.parameters) == (1, {})
    with pytest.raises(ValueError, match="one place"):
        plan_of("all_reduce", "unchunked_ring", 6, asked)
    with pytest.raises(ValueError, match="power of two"):
        plan_of("all_gather", "recursive_doubling", 6, asked, priced=True)
