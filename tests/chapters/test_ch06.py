"""Chapter 06 agrees with the engine: what an all-reduce moves, its bounds, its published fault."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from book_pages import assert_says, prose

import allranks as ar
from allranks.learn.quiz import item_ids, practice

PAGE = "06-all-reduce.md"
LARGE = 48_000_000

# n = 6, 48 MB, bench: steps, messages, MB in all, MB out of the busiest rank, microseconds.
KNOWN = {
    "flat": (10, 10, 480, 240, 19240.0),
    "binomial": (6, 10, 480, 144, 11544.0),
    "unchunked_ring": (5, 30, 1440, 240, 9620.0),
    "ring": (10, 60, 480, 80, 3240.0),
}


def bench(n: int) -> ar.Topology:
    return ar.Topology.preset("bench", n)


def price(algorithm: str, n: int, nbytes: float = LARGE) -> ar.Cost:
    return ar.price("all_reduce", algorithm, world_size=n, nbytes=nbytes, topology=bench(n))


@pytest.mark.parametrize("name", KNOWN)
def test_an_all_reduce_of_48_mb_on_6_ranks_costs_what_the_course_says(name: str) -> None:
    steps, messages, total, busiest, time = KNOWN[name]
    known = price(name, 6)
    assert (known.steps, known.messages) == (steps, messages)
    assert known.bytes_total == pytest.approx(total * 1e6)
    assert known.bytes_sent_max == pytest.approx(busiest * 1e6)
    assert known.seconds * 1e6 == pytest.approx(time)


def test_the_root_of_the_star_takes_in_as_much_as_it_sends() -> None:
    known = price("flat", 6)
    assert known.bytes_received_max == known.bytes_sent_max == pytest.approx(240e6)


@pytest.mark.parametrize(
    ("n", "ring", "whole"),
    [
        *((2, 1, 1), (3, Fraction(4, 3), 2), (4, 1.5, 3)),
        *((6, Fraction(5, 3), 5), (8, 1.75, 7), (16, 1.875, 15)),
    ],
)
def test_what_a_rank_sends_in_vectors_is_what_the_course_says(n, ring, whole) -> None:
    assert price("ring", n).bytes_sent_max / LARGE == pytest.approx(float(ring))
    assert price("unchunked_ring", n).bytes_sent_max / LARGE == pytest.approx(whole)
    ratio = price("unchunked_ring", n).bytes_sent_max / price("ring", n).bytes_sent_max
    assert ratio == pytest.approx(n / 2)


@pytest.mark.parametrize("n", [2, 3, 4, 6, 7, 16])
def test_a_ring_all_gather_of_whole_vectors_costs_the_ring_of_whole_vectors(n: int) -> None:
    gather = ar.schedule("all_gather", "ring", world_size=n)
    played = ar.cost(gather, nbytes=n * LARGE, topology=bench(n))
    known = price("unchunked_ring", n)
    for name in ("seconds", "steps", "messages", "bytes_sent_max", "bytes_total"):
        assert getattr(played, name) == pytest.approx(getattr(known, name)), name


def test_a_ring_moves_no_fewer_bytes_it_spreads_them() -> None:
    counted = {}
    for name in ("flat", "ring"):
        plan = ar.schedule("all_reduce", name, world_size=8)
        touched = [0] * 8
        for _, t in plan.transfers():
            touched[t.src] += 256 // plan.num_chunks
            touched[t.dst] += 256 // plan.num_chunks
        counted[name] = (sum(touched) // 2, max(touched), plan.num_transfers)
    assert counted == {"flat": (3584, 3584, 14), "ring": (3584, 896, 112)}


@pytest.mark.parametrize("n", [2, 3, 5, 6, 8, 13])
def test_nobody_is_below_the_bound_and_the_proof_counts_right(n: int) -> None:
    """The messages up to the first informed rank, and those after it, for every chunk."""
    limit = 2 * (n - 1) / n * LARGE
    for name in ar.algorithms("all_reduce"):
        if name in {"unchunked_ring", "sharp", "nvls", "hierarchical"}:
            continue
        plan = ar.schedule("all_reduce", name, world_size=n)
        known = ar.cost(plan, nbytes=LARGE, topology=bench(n))
        assert known.bytes_sent_max >= limit * (1 - 1e-12), name
        assert known.bytes_received_max >= limit * (1 - 1e-12), name
        assert known.seconds >= ar.lower_bound("all_reduce", n, LARGE, bench(n)) * (1 - 1e-12)
        for chunk in range(plan.num_chunks):
            gathered, spread = gather_and_spread(plan, chunk)
            assert min(gathered, spread) >= n - 1, (name, chunk)
            if name in {"ring", "flat", "binomial"}:
                assert (gathered, spread) == (n - 1, n - 1)


def gather_and_spread(plan: ar.Schedule, chunk: int) -> tuple[int, int]:
    n = plan.world_size
    parts = [{rank} for rank in range(n)]
    gathered = spread = 0
    for step in plan.steps:
        before = [set(held) for held in parts]
        for t in sorted(t for t in step if t.chunk == chunk):
            if any(len(held) == n for held in parts):
                spread += 1
            else:
                gathered += 1
            copied = t.op is ar.Op.COPY
            parts[t.dst] = set(before[t.src]) | (set() if copied else parts[t.dst])
    return gathered, spread


def test_the_limit_of_the_chapter_and_how_far_the_ring_is_from_it() -> None:
    limit = ar.lower_bound("all_reduce", 6, LARGE, bench(6))
    assert limit * 1e6 == pytest.approx(3 * 4 + 2 * 5 / 6 * 1920)
    assert price("ring", 6).seconds / limit - 1 == pytest.approx(28 / 3212)


def test_the_alphas_cost_as_much_as_the_bytes_at_n_alpha_w() -> None:
    known = price("ring", 64, 6.4e6)
    assert known.steps * 4e-6 == pytest.approx(known.seconds / 2)
    assert 64 * bench(64).alpha * bench(64).bandwidth == pytest.approx(6.4e6)


def test_the_loop_of_a_rank_has_2n_minus_1_calls_and_2n_minus_2_sends() -> None:
    for n in (2, 3, 6, 9):
        ring = ar.schedule("all_reduce", "ring", world_size=n)
        for rank in range(n):
            sends = [t.chunk for _, t in ring.transfers() if t.src == rank]
            receives = [t.chunk for _, t in ring.transfers() if t.dst == rank]
            assert len(sends) == len(receives) == 2 * (n - 1)
            assert receives[:-1] == sends[1:], "what comes in one step goes out in the next"
            assert (sends[0], sends[n - 1], receives[-1]) == (
                (rank - 1) % n,
                rank,
                (rank + 1) % n,
            ), "as in NCCL: r - 1 first, the own chunk in call n - 1, r + 1 last"
    assert len(sends) + 1 == 2 * n - 1


def test_eleven_elements_on_four_ranks_are_sent_as_the_course_says() -> None:
    lengths = [len(chunk) for chunk in np.array_split(np.arange(11), 4)]
    sent = [0] * 4
    for _, t in ar.schedule("all_reduce", "ring", world_size=4).transfers():
        sent[t.src] += lengths[t.chunk]
    assert sent == [16, 16, 17, 17]
    assert sum(sent) == 66


def test_the_published_ring_gives_multiples_of_the_own_number() -> None:
    """Played with buffers, as in pytorch/pytorch issue 31572, and as the page shortens it."""
    for n in (2, 3, 4, 6):
        own = [rank + 1.0 for rank in range(n)]
        first, second, result = [0.0] * n, [0.0] * n, [0.0] * n
        total = list(own)
        for step in range(n - 1):
            out = first if step % 2 == 0 else second
            arrived = [out[rank - 1] for rank in range(n)]
            if step % 2 == 0:
                second = arrived
                total = [t + r for t, r in zip(total, result, strict=True)]
            else:
                first = arrived
                total = [t + o for t, o in zip(total, own, strict=True)]
        assert total == [own_ * (1 + (n - 1) // 2) for own_ in own]
    assert [rank * 2 for rank in (1, 2, 3)][2] == 1 + 2 + 3, "right by accident on rank 2"


def test_to_pass_the_sum_on_counts_parts_twice_in_step_1() -> None:
    step = tuple(ar.Transfer(r, (r + 1) % 4, 0, ar.Op.REDUCE) for r in range(4))
    with pytest.raises(ar.ScheduleError) as caught:
        ar.verify(ar.Schedule("all_reduce", "sum_sent_on", 4, 1, (step,) * 3))
    assert (caught.value.kind, caught.value.step) == ("double_count", 1)


def test_additions_in_the_order_of_arrival_would_differ_between_ranks() -> None:
    draw = np.random.default_rng(6)
    floats = [draw.standard_normal(6000).astype(np.float32) for _ in range(6)]

    def arrived(rank: int) -> bytes:
        total = floats[rank].copy()
        for step in range(1, 6):
            total += floats[(rank - step) % 6]
        return total.tobytes()

    assert len({arrived(rank) for rank in range(6)}) > 1
    for name in ("flat", "ring"):
        sums = ar.simulate(ar.schedule("all_reduce", name, world_size=6), floats)
        assert len({total.tobytes() for total in sums if total is not None}) == 1


def test_halves_with_one_owner_compose_and_others_do_not() -> None:
    adds = ar.schedule("reduce_scatter", "recursive_halving", world_size=8).steps
    copies = ar.schedule("all_gather", "bruck", world_size=8).steps
    ar.verify(ar.Schedule("all_reduce", "halving+bruck", 8, 8, (*adds, *copies)))
    ring = ar.schedule("all_reduce", "ring", world_size=4).steps
    late = [tuple(t._replace(chunk=(t.chunk + 1) % 4) for t in step) for step in ring[:3]]
    ar.verify(
        ar.Schedule(
            "all_reduce",
            "textbook",
            4,
            4,
            (*late, *(tuple(t._replace(chunk=(t.chunk + 1) % 4) for t in s) for s in ring[3:])),
        )
    )
    with pytest.raises(ar.ScheduleError):
        ar.verify(ar.Schedule("all_reduce", "late", 4, 4, (*late, *ring[3:])))


def test_every_misconception_of_the_chapter_has_a_distractor() -> None:
    wanted = {
        *("M-RING-LESS-TOTAL", "M-UNCHUNKED-IS-RING", "M-2N-STEPS", "M-ANY-ALGO-2N"),
        *("M-INDEPENDENT-OF-N", "M-AR-EQUALS-CALLS", "M-PARTIALS-CLEARED", "M-DOUBLE-COUNT"),
        *("M-TOTAL-VS-BUSIEST", "M-COUNT-N", "M-HALF-WAY", "M-FLOOR-LG", "M-NO-ALPHA"),
    }
    met = set()
    for item_id in item_ids("06"):
        for seed in range(20):
            item = practice(item_id, seed=seed)
            known = item.get("options") or item[item["type"]]["distractors"]
            met |= {each["misconception"] for each in known}
    assert wanted <= met


def test_keys_of_the_items_are_what_a_hand_finds() -> None:
    for seed in range(25):
        item = practice("06-speed-up", seed=seed)
        n = int(item["stem"].split(" on ")[1].split()[0])
        assert item["num"]["value"] == n / 2
        item = practice("06-terms-cross", seed=seed)
        n, alpha, width = map(float, re.findall(r"\d+(?:\.\d+)?", item["stem"])[:3])
        assert item["num"]["value"] == pytest.approx(n * alpha * 1e-6 * width * 1e9 / 1e6)
        item = practice("06-messages", seed=seed)
        n = int(item["stem"].split(" on ")[1].split()[0])
        assert item["num"]["value"] == 2 * n * (n - 1)


def test_the_page_says_every_number_of_its_plan() -> None:
    assert_says(
        PAGE,
        "480 MB|240 MB|80 MB|144 MB|1440 MB|19,240 µs|11,544 µs|9620 µs|3240 µs|10|6|5|60|30|"
        "1.75|1|1.5|1.667|1.875|1.969|1.998|3212 µs|0.872 %|6.4 MB|1008 µs|126|2046|8187.8 µs",
    )


def test_the_page_names_the_operation_as_libraries_do() -> None:
    text = prose(PAGE)
    for name in ("ncclAllReduce", "torch.distributed.all_reduce", "jax.lax.psum", "MPI_Allreduce"):
        assert f"`{name}`" in text
