"""Chapter 07 agrees with the engine: doubling, halving, two trees, crossovers, all pairs.

`KNOWN` is worked out by hand; the engine must give the same, and the text must say it.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest
from book_pages import assert_says, fences, prose, source

import allranks as ar
from allranks.algorithms.double_tree import binary_tree, children, double_tree
from allranks.cost import bytes_per_rank
from allranks.learn.exercises import find_exercise
from allranks.learn.quiz import item_ids, practice
from allranks.view.planes import best_tree_chunks, ideal_double_tree, plane

PAGE = "07-all-reduce-latency.md"
SAYS = (
    "120.6 µs|32.6 µs|17.28 µs|34.56 µs|32.64 µs|4920 µs|4832 µs|10256 µs|20512 µs|5152 µs|4536 µs|"
    "4504 µs|7692 µs|112 MB|192 MB|188235 B|359184 B|17.6 MB|49|14|6|3|30|8|4|58.24 µs|6065.1 µs|"
    "3240 µs|6744 µs|7696 µs|80 MB|120 MB|144 MB|262142|34|1.0486 s|1.875|2.125|2 µs|370 GB/s|4 µs"
)

# n, S, algorithm: steps, MB out of the busiest rank, microseconds
KNOWN = {
    (8, 64e6, "ring"): (14, 112, 4536),
    (8, 64e6, "rabenseifner"): (6, 112, 4504),
    (8, 64e6, "recursive_doubling"): (3, 192, 7692),
    (16, 64e6, "ring"): (30, 120, 4920),
    (16, 64e6, "rabenseifner"): (8, 120, 4832),
    (16, 64e6, "recursive_doubling"): (4, 256, 10256),
    (16, 64e6, "binomial"): (8, 256, 20512),
    (16, 8e3, "ring"): (30, 0.015, 120.6),
    (16, 8e3, "rabenseifner"): (8, 0.015, 32.6),
    (16, 8e3, "recursive_doubling"): (4, 0.032, 17.28),
    (16, 8e3, "binomial"): (8, 0.032, 34.56),
    (6, 48e6, "ring"): (10, 80, 3240),
    (6, 48e6, "rabenseifner"): (6, 120, 6744),
    (6, 48e6, "recursive_doubling"): (4, 144, 7696),
}


def bench(n: int) -> ar.Topology:
    return ar.Topology.preset("bench", n)


def seconds(algorithm: str, n: int, nbytes: float, **options: int) -> float:
    return ar.price(
        "all_reduce", algorithm, world_size=n, nbytes=nbytes, topology=bench(n), **options
    ).seconds


def test_the_page_says_every_number_of_its_plan() -> None:
    assert_says(PAGE, SAYS)


@pytest.mark.parametrize("case", KNOWN)
def test_an_all_reduce_costs_what_the_course_says(case: tuple[int, float, str]) -> None:
    n, nbytes, algorithm = case
    steps, megabytes, time = KNOWN[case]
    made = ar.schedule("all_reduce", algorithm, world_size=n)
    ar.verify(made)
    paid = ar.cost(made, nbytes=nbytes, topology=bench(n))
    assert paid.steps == steps
    assert paid.bytes_sent_max == pytest.approx(megabytes * 1e6)
    assert paid.seconds * 1e6 == pytest.approx(time, abs=0.05)


def test_the_ideal_double_tree_and_its_schedule_cost_what_the_page_says() -> None:
    assert ideal_double_tree(16, 8e3, bench(16)) * 1e6 == pytest.approx(32.64)
    assert ideal_double_tree(16, 64e6, bench(16)) * 1e6 == pytest.approx(5152)
    for nbytes, chunks, time in ((8e3, 2, 58.24), (64e6, 56, 6065.14)):
        assert best_tree_chunks(16, nbytes, bench(16)) == chunks
        paid = seconds("double_binary_tree", 16, nbytes, num_chunks=chunks)
        assert paid * 1e6 == pytest.approx(time, abs=0.01)
    for chunks in (2, 4, 56):
        made = ar.schedule("all_reduce", "double_binary_tree", world_size=16, num_chunks=chunks)
        assert len(made.steps) == 14 + 2 * (chunks - 2)


@pytest.mark.parametrize(
    ("first", "second", "border"),
    [("recursive_doubling", "rabenseifner", 188_235), ("binomial", "ring", 359_184)],
)
def test_two_plans_change_places_where_the_course_says(
    first: str, second: str, border: int
) -> None:
    for nbytes, wanted in ((border - 1, True), (border + 1, False)):
        assert (seconds(first, 16, nbytes) < seconds(second, 16, nbytes)) is wanted


def test_the_ring_meets_the_ideal_double_tree_49_times_as_far() -> None:
    border = 16 * (16 - 1 - 4) * bench(16).alpha / bench(16).beta
    assert border == pytest.approx(17.6e6)
    assert seconds("ring", 16, border) == pytest.approx(ideal_double_tree(16, border, bench(16)))
    meets = 22 * bench(16).alpha / bench(16).beta / (8 - 1.875)
    assert round(meets) == 359_184
    assert border / meets == pytest.approx(49)


@pytest.mark.parametrize(
    ("n", "sent", "total"), [(6, [1, 2, 2, 2, 2, 1], 10), (7, [1.5, 1, 2, 2, 2, 2, 1.5], 12)]
)
def test_the_double_tree_sends_what_the_course_says(n: int, sent: list[float], total: int) -> None:
    made = ar.schedule("all_reduce", "double_binary_tree", world_size=n)
    found = [each.sent for each in bytes_per_rank(made, 1)]
    assert found == sent
    assert sum(found) == total == 2 * (n - 1)


def test_rank_3_of_6_has_the_parents_that_the_page_names() -> None:
    assert [parents[3] for parents in double_tree(6)] == [2, 1]


def test_in_one_tree_every_second_rank_is_a_leaf_and_inner_ranks_send_three_times_as_much() -> None:
    parents = binary_tree(8)
    sent = [(up >= 0) + len(kids) for up, kids in zip(parents, children(parents), strict=True)]
    assert sent == [1, 1, 3, 1, 3, 1, 3, 1]


def test_rank_0_is_inner_in_both_trees_for_odd_numbers_alone() -> None:
    for n in range(3, 64):
        inner = [{r for r, kids in enumerate(children(tree)) if kids} for tree in double_tree(n)]
        assert inner[0] & inner[1] == ({0} if n % 2 else set())


def test_rank_3_meets_its_partners_as_the_page_prints() -> None:
    made = ar.schedule("all_reduce", "rabenseifner", world_size=8)
    mine = [[(t.dst ^ 3, t.op.value, t.chunk) for t in step if t.src == 3] for step in made.steps]
    assert [step[0][0] for step in mine] == [1, 2, 4, 4, 2, 1]
    assert [len(step) for step in mine] == [4, 2, 1, 1, 2, 4]
    assert [step[0][1] for step in mine] == ["reduce"] * 3 + ["copy"] * 3
    assert mine[3][0][2] == 0b110, "it owns the chunk of its bits 011 reversed"


def test_six_ranks_fold_as_the_page_shows() -> None:
    made = ar.schedule("all_reduce", "recursive_doubling", world_size=6)
    senders = [sorted(t.src for t in step) for step in made.steps]
    assert senders == [[0, 2], [1, 3, 4, 5], [1, 3, 4, 5], [1, 3]]
    assert sorted(t.dst for t in made.steps[-1]) == [0, 2]


def test_far_partners_load_a_circle_of_wires_more_than_a_ring_does() -> None:
    def busiest(name: str, n: int = 16) -> float:
        made = ar.schedule("all_reduce", name, world_size=n)
        load: Counter[tuple[int, int]] = Counter()
        for _, t in made.transfers():
            way = 1 if (t.dst - t.src) % n <= n // 2 else -1
            hops = (t.dst - t.src) % n if way == 1 else (t.src - t.dst) % n
            for hop in range(hops):
                load[(t.src + way * hop) % n, way] += 1
        return max(load.values()) / made.num_chunks

    assert busiest("ring") == 1.875
    assert busiest("rabenseifner") == 3.25
    assert busiest("recursive_doubling") == 13


def test_all_pairs_win_small_vectors_only_where_all_messages_are_in_flight() -> None:
    def first(nbytes: float, machine: str) -> str:
        data = plane(world_size=8, nbytes=nbytes, topology=ar.Topology.preset(machine, 8))
        schedules = [each for each in data["points"] if not each["ideal"]]
        return str(min(schedules, key=lambda each: each["seconds"])["key"])

    assert first(8e3, "island") == "one_shot"
    assert first(1e6, "island") == "direct"
    assert first(8e3, "bench") == "recursive_doubling"
    two_shot = ar.price("all_reduce", "direct", world_size=8, nbytes=8e3, topology=bench(8))
    assert two_shot.seconds == pytest.approx(seconds("ring", 8, 8e3))


def test_no_plan_of_the_page_gets_below_the_two_limits() -> None:
    for n in (2, 6, 7, 8, 16, 33):
        for nbytes in (8e3, 1e6, 64e6):
            data = plane(world_size=n, nbytes=nbytes)
            limit = ar.lower_bound("all_reduce", n, nbytes, bench(n))
            assert data["bounds"]["alphas"] == (n - 1).bit_length()
            for each in data["points"]:
                assert each["seconds"] >= limit * (1 - 1e-12)


def test_every_misconception_of_the_chapter_is_answered_on_its_page() -> None:
    emitted = {
        each["misconception"]
        for item in item_ids("07")
        for seed in range(40)
        for options in [practice(item, seed=seed)]
        for each in [
            *options.get("options", ()),
            *(options.get(options["type"]) or {}).get("distractors", ()),
        ]
        if each["misconception"]
    }
    for slug in ("07_halving_doubling", "07_any_n_doubling"):
        emitted |= {each.misconception for each in find_exercise(slug).feedback}
    marked = {
        name
        for words in re.findall(r"\{mis\}`[^`]*?<?((?:M-[\w-]+ ?)+)>?`", source(PAGE))
        for name in words.split()
    }
    assert emitted <= marked
    wanted = {
        *("M-TREE-HALF-BW", "M-TREE-SAME-COST", "M-INNER-ONCE", "M-RABENSEIFNER-DIST"),
        *("M-XOR-ANY-N", "M-ONE-CROSSOVER", "M-NCCL-TREE-GPUS", "M-FLOOR-LG", "M-ANY-ALGO-2N"),
    }
    assert wanted <= emitted


def test_the_words_that_answer_a_misconception_are_plain() -> None:
    """The role shows its words as they stand: a formula or emphasis would stay source."""
    marked = re.findall(r"\{mis\}`([^`]*)`", source(PAGE))
    assert marked
    assert not [words for words in marked if re.search(r"[$*]", words)]


def test_crossovers_and_the_ideal_tree_are_never_named_alone() -> None:
    text = prose(PAGE)
    for sentence in re.split(r"(?<=[.?!])\s", text):
        if "overtake" in sentence and "crossover(" in sentence:
            assert re.search("ring|Rabenseifner", sentence), sentence
            assert re.search("tree|doubling", sentence), sentence
    assert "ideal pipelined double tree" in text
    assert "That is a formula" in text


def test_the_figures_say_what_their_lock_step_means() -> None:
    for name, _, body in fences(PAGE):
        if name.startswith("chunk-") and name != "chunk-quiz":
            assert "lock-step" in body.lower(), body
