"""Chapter 05 agrees with the engine: its standard cases, its listings, and what it claims."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from book_pages import assert_says, prose, source

import allranks as ar
from allranks.algorithms.variants import vary
from allranks.learn.quiz import item_ids, practice

PAGE = "05-reduce-scatter.md"
MICRO = 1e6
NAMED = r"'misconception': '(M-[A-Z0-9-]+)'"


def bench(n: int) -> ar.Topology:
    return ar.Topology.preset("bench", n)


def elements_sent(count: int, n: int) -> list[int]:
    lengths = [len(part) for part in np.array_split(np.arange(count), n)]
    sent = [0] * n
    for _, t in ar.schedule("reduce_scatter", "ring", world_size=n).transfers():
        sent[t.src] += lengths[t.chunk]
    return sent


# Worked out by hand: n, S, steps, MB out of the busiest rank, microseconds.
KNOWN = [
    ("ring", 6, 48e6, 5, 40, 1620.0),
    ("pat", 6, 48e6, 3, 40, 1612.0),
    ("recursive_halving", 6, 48e6, 4, 48, 4176.0),
    ("ring", 8, 64e6, 7, 56, 2268.0),
    ("recursive_halving", 8, 64e6, 3, 56, 2252.0),
    ("ring", 6, 6e3, 5, 0.005, 20.2),
    ("pat", 6, 6e3, 3, 0.005, 12.2),
    ("recursive_halving", 6, 6e3, 4, 0.006, 16.52),
]


@pytest.mark.parametrize(("algorithm", "n", "nbytes", "steps", "megabytes", "time"), KNOWN)
def test_a_reduce_scatter_costs_what_the_course_says(
    algorithm: str, n: int, nbytes: float, steps: int, megabytes: float, time: float
) -> None:
    plan = ar.schedule("reduce_scatter", algorithm, world_size=n)
    price = ar.cost(plan, nbytes=nbytes, topology=bench(n))
    assert price.steps == steps
    assert price.bytes_sent_max == pytest.approx(megabytes * 1e6)
    assert price.seconds * MICRO == pytest.approx(time, abs=0.05)
    limit = ar.lower_bound("reduce_scatter", n, nbytes, bench(n))
    assert price.seconds >= limit * (1 - 1e-9)


def test_the_limit_is_that_of_the_all_gather_and_grows_with_the_additions() -> None:
    for nbytes in (6e3, 48e6):
        limit = ar.lower_bound("reduce_scatter", 6, nbytes, bench(6))
        assert limit == pytest.approx(ar.lower_bound("all_gather", 6, nbytes, bench(6)))
        assert limit * MICRO == pytest.approx(3 * 4 + 5 / 6 * nbytes / 25e3)
    adding = replace(bench(6), gamma=1e-10)
    plan = ar.schedule("reduce_scatter", "ring", world_size=6)
    paid = ar.cost(plan, nbytes=48e6, topology=adding).seconds
    assert paid * MICRO == pytest.approx(5 * (4 + 8e6 * (1 / 25e3 + 1e-4)))


def test_every_rank_sends_everything_but_its_own_block_and_adds_as_much() -> None:
    for algorithm in ("ring", "pat", "direct"):
        plan = ar.schedule("reduce_scatter", algorithm, world_size=6)
        for rank in range(6):
            sent = [t.chunk for _, t in plan.transfers() if t.src == rank]
            assert sorted(sent) == [chunk for chunk in range(6) if chunk != rank]
            added = [t for _, t in plan.transfers() if t.dst == rank and t.op is ar.Op.REDUCE]
            assert len(added) == 5


def test_the_ring_sends_the_chunks_that_the_chapter_prints() -> None:
    plan = ar.schedule("reduce_scatter", "ring", world_size=4)
    assert [[t.chunk for t in step] for step in plan.steps] == [
        [3, 0, 1, 2],
        [2, 3, 0, 1],
        [1, 2, 3, 0],
    ]
    for chunk in range(4):
        way = [t for _, t in plan.transfers() if t.chunk == chunk]
        order = [t.src for t in way] + [way[-1].dst]
        assert order == [(chunk + 1 + place) % 4 for place in range(4)]


def test_the_detour_over_a_root_costs_what_the_chapter_says() -> None:
    reduce = ar.schedule("reduce", "chain", world_size=6, num_chunks=6)
    scatter = ar.schedule("scatter", "binomial", world_size=6)
    both = ar.Schedule("reduce_scatter", "via_root", 6, 6, (*reduce.steps, *scatter.steps))
    ar.verify(both)
    price = ar.cost(both, nbytes=48e6, topology=bench(6))
    assert (price.steps, price.seconds * MICRO) == (13, pytest.approx(4852))
    into = sum(8 for _, t in reduce.transfers() if t.dst == 0)
    out = sum(8 for _, t in scatter.transfers() if t.src == 0)
    assert (into, out) == (48, 40), "MB through the port of the root, one after the other"


def test_uneven_blocks_move_as_the_course_says() -> None:
    assert elements_sent(11, 4) == [8, 8, 8, 9]
    assert elements_sent(73, 4) == [54, 55, 55, 55]
    assert sum(elements_sent(73, 4)) == 219
    assert sum(elements_sent(11, 4)) == 33
    assert elements_sent(3, 8) == [2, 2, 2, 3, 3, 3, 3, 3]


def test_halving_sends_half_then_a_quarter_and_near_first_ends_reversed() -> None:
    plan = ar.schedule("reduce_scatter", "recursive_halving", world_size=8)
    assert [sum(t.src == 0 for t in step) * 8 for step in plan.steps] == [32, 16, 8]
    # the wrong solution of the exercise, by hand: rank 1 keeps the upper half first
    reversed_bits = [int(f"{rank:03b}"[::-1], 2) for rank in range(8)]
    assert reversed_bits[1] == 4


def test_pat_mirrors_the_order_of_its_all_gather() -> None:
    def sends(collective: str) -> list[tuple[int, int]]:
        plan = ar.schedule(collective, "pat", world_size=6)
        mine = [[t for t in step if t.src == 0] for step in plan.steps]
        return [(abs((step[0].dst + 3) % 6 - 3), len(step)) for step in mine]

    assert sends("reduce_scatter") == [(1, 3), (2, 1), (2, 1)]
    assert sends("all_gather") == sends("reduce_scatter")[::-1]


def test_the_numbers_of_the_rounding_cells_are_those_the_text_explains() -> None:
    ring = ar.schedule("reduce_scatter", "ring", world_size=4)
    inputs = [np.full(4, part, dtype=np.float32) for part in (1e8, 1, -1e8, 1)]
    assert np.concatenate(ar.simulate(ring, inputs)).tolist() == [0, 1, 0, 1]
    plan = ar.schedule("reduce_scatter", "ring", world_size=8)
    large = [np.full(8, 10_000, dtype=np.float16)] * 8
    assert ar.simulate(plan, large, "avg")[0].tolist() == [9992]
    with pytest.warns(RuntimeWarning, match="overflowed"):
        assert np.isinf(ar.simulate(plan, large, "sum")[0]).all()
    tiny = [np.full(8, 6e-8, dtype=np.float16)] * 8
    assert ar.simulate(plan, tiny, "avg")[0].tolist() == [0]
    assert (ar.simulate(plan, tiny, "sum")[0] / np.float16(8)).tolist() == tiny[0][:1].tolist()
    assert np.finfo(np.float16).max == 65504


def test_the_bytes_of_five_actors_are_those_the_text_tells() -> None:
    lengths = [8 * len(part) for part in np.array_split(np.arange(73), 5)]
    plan = ar.schedule("reduce_scatter", "recursive_halving", world_size=5)
    out, into = [0] * 5, [0] * 5
    for _, t in plan.transfers():
        out[t.src] += lengths[t.chunk]
        into[t.dst] += lengths[t.chunk]
    assert out[0] == sum(lengths)
    assert into[1] > 2 * sum(lengths)
    assert max(out[1:]) < sum(lengths)


SAYS = (
    "1620 µs|3520 µs|3898.5 µs|40 MB|80 MB|1612 µs|12.2 µs|20.2 µs|56 MB|2252 µs|2268 µs|4176 µs|"
    "16.52 µs|48 MB|32 MB|16 MB|8 MB|5|4|3|7|4 µs|25 GB/s"
)


def test_the_page_says_the_numbers_of_the_course() -> None:
    assert_says(PAGE, SAYS)
    assert "19, 18, 18, 18" not in source(PAGE), "the engine cuts, not the author"


def test_every_misconception_that_is_met_has_its_answer_on_the_page() -> None:
    met = {
        name
        for item_id in item_ids("05")
        for seed in range(30)
        for name in re.findall(NAMED, str(practice(item_id, seed=seed)))
    }
    course = {
        "M-RS-ROOTED",
        "M-OWNER-SHIFT",
        "M-DOUBLE-COUNT",
        "M-RS-IS-AR-SLICE",
        "M-AVG-SUM",
        "M-AVG-BY-LEN",
        "M-ANY-OP",
        "M-PARTIALS-CLEARED",
    }
    assert course <= met
    answered = set(re.findall(r"<(M-[A-Z0-9-]+)>`", source(PAGE)))
    assert met <= answered
    assert {"M-NEAR-FIRST", "M-HALVING-ANY-N", "M-SWAP-IS-SUM"} <= answered, "of the exercises"


def test_the_bound_is_stated_for_those_whom_it_binds() -> None:
    text = prose(PAGE)
    assert text.count("send/receive algorithms") >= 2
    assert "2(n-1)/n" not in text


def test_the_bugs_of_the_table_leave_the_marks_that_it_names() -> None:
    ring = ar.schedule("reduce_scatter", "ring", world_size=4)
    assert ar.final_state(vary(ring, "twice"))[2][2] == {0: 2, 1: 1, 2: 1, 3: 2}
    assert ar.final_state(vary(ring, "dropped"))[2][2] == {1: 1, 2: 1}
    assert ar.final_state(vary(ring, "swapped"))[1][0].total() == 4
