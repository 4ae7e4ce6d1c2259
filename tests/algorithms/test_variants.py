"""Variants: the film backwards is right again, and every planted fault is named as what it is."""

from __future__ import annotations

import pytest

import allranks as ar
from allranks.algorithms.variants import BUGS, MIRROR, VARIANTS, vary

REVERSIBLE = ("ring", "bidirectional_ring", "bruck", "pat", "direct")
KINDS = {"twice": "double_count", "dropped": "missing", "swapped": "wrong_owner"}


def fault(schedule: ar.Schedule) -> ar.ScheduleError:
    with pytest.raises(ar.ScheduleError) as caught:
        ar.verify(schedule)
    return caught.value


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 16])
@pytest.mark.parametrize("algorithm", REVERSIBLE)
def test_an_all_gather_backwards_is_a_reduce_scatter_of_the_same_price(
    algorithm: str, n: int
) -> None:
    gather = ar.schedule("all_gather", algorithm, world_size=n)
    back = vary(gather, "reversed")
    assert back.collective == "reduce_scatter"
    ar.verify(back)
    bench = ar.Topology.preset("bench", n)
    before, after = (ar.cost(each, nbytes=48e6, topology=bench) for each in (gather, back))
    assert (after.seconds, after.bytes_total) == pytest.approx((before.seconds, before.bytes_total))
    assert vary(back, "reversed") == gather


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_reverse_and_mirror_of_the_ring_is_the_ring_of_the_library(n: int) -> None:
    back = vary(ar.schedule("all_gather", "ring", world_size=n), "reversed")
    mirrored = [
        {ar.Transfer(-t.src % n, -t.dst % n, -t.chunk % n, t.op) for t in step}
        for step in back.steps
    ]
    library = ar.schedule("reduce_scatter", "ring", world_size=n)
    assert mirrored == [set(step) for step in library.steps]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("algorithm", ["ring", "pat", "recursive_halving"])
def test_every_planted_bug_is_found_and_named(algorithm: str, n: int) -> None:
    plan = ar.schedule("reduce_scatter", algorithm, world_size=n)
    ar.verify(plan)
    assert {bug: fault(vary(plan, bug)).kind for bug in BUGS} == KINDS


@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_the_textbook_ring_ends_one_rank_too_far(n: int) -> None:
    shifted = vary(ar.schedule("reduce_scatter", "ring", world_size=n), "shifted")
    assert all(t.chunk == t.src for t in shifted.steps[0])
    error = fault(shifted)
    assert error.kind == "wrong_owner"
    assert error.step == n - 2
    assert error.peer == (error.rank - 1) % n
    assert "start one chunk earlier" in error.message


def test_blocks_of_several_chunks_move_as_blocks() -> None:
    plan = ar.schedule("all_reduce", "nvls", world_size=3, num_chunks=6)
    chunks = [t.chunk for _, t in plan.transfers()]
    swap = {0: 2, 1: 3, 2: 0, 3: 1}
    assert [t.chunk for _, t in vary(plan, "swapped").transfers()] == [
        swap.get(chunk, chunk) for chunk in chunks
    ]
    assert [t.chunk for _, t in vary(plan, "shifted").transfers()] == [
        (chunk + 2) % 6 for chunk in chunks
    ]


@pytest.mark.parametrize("collective", MIRROR)
def test_every_mirror_image_leads_back(collective: str) -> None:
    assert MIRROR[MIRROR[collective]] == collective


def test_what_has_no_such_variant_says_so() -> None:
    gather = ar.schedule("all_gather", "ring", world_size=4)
    for name, reason in (("twice", "nothing is added"), ("dropped", "nothing is added")):
        with pytest.raises(ValueError, match=reason):
            vary(gather, name)
    with pytest.raises(ValueError, match="known"):
        vary(gather, "sideways")
    with pytest.raises(ValueError, match="no second block"):
        vary(ar.schedule("reduce_scatter", "ring", world_size=1), "swapped")
    with pytest.raises(ValueError, match="no whole blocks"):
        vary(ar.schedule("broadcast", "flat", world_size=4), "shifted")
    with pytest.raises(ValueError, match="mirror"):
        vary(ar.schedule("all_to_all", "direct", world_size=4), "reversed")
    assert set(BUGS) < set(VARIANTS)


def test_a_chunk_two_ranks_astray_is_told_without_a_root_that_is_none() -> None:
    ring = ar.schedule("reduce_scatter", "ring", world_size=4)
    error = fault(vary(ring, "shifted", "shifted"))
    assert error.kind == "wrong_owner"
    assert "root" not in error.message
