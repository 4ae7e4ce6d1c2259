"""The chapters agree with the engine: their numbers, listings, references and claims are checked.

`KNOWN` holds what the course promises for the standard cases, worked out by hand. The engine must
give the same, and the text, with its `{engine}` roles evaluated, must say it.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from dataclasses import replace

import pytest
from book_pages import BOOK, assert_says, chapters, fences, options, pages, prose, source

import allranks as ar
from allranks.learn.quiz import item_ids
from allranks.view.chart import measured_against_model

PAGES = pages()
LARGE = 48_000_000


def bench(n: int) -> ar.Topology:
    return ar.Topology.preset("bench", n)


def microseconds(algorithm: str, nbytes: float, n: int = 6, **options: int) -> float:
    plan = ar.schedule("broadcast", algorithm, world_size=n, **options)
    return ar.cost(plan, nbytes=nbytes, topology=bench(n)).seconds * 1e6


def best_chain(nbytes: float, n: int = 6) -> tuple[float, int]:
    return min((microseconds("chain", nbytes, n, num_chunks=k), k) for k in range(1, 65))


# Plans of chapter 03 at n = 6, 48 MB: options, steps, MB out of the root, microseconds.
KNOWN = {
    "flat": ({}, 5, 240, 9620.0),
    "chain": ({}, 5, 48, 9620.0),
    "binomial": ({}, 3, 144, 5772.0),
    "chain, k = 44": ({"num_chunks": 44}, 48, 48, 2286.5),
    "scatter_all_gather": ({}, 8, 80, 3232.0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_broadcast_of_48_mb_on_6_ranks_costs_what_the_course_says(name: str) -> None:
    options, steps, megabytes, time = KNOWN[name]
    plan = ar.schedule("broadcast", name.partition(",")[0], world_size=6, **options)
    price = ar.cost(plan, nbytes=LARGE, topology=bench(6))
    assert price.steps == steps
    assert price.bytes_sent_max == pytest.approx(megabytes * 1e6)
    assert price.seconds * 1e6 == pytest.approx(time, abs=0.05)


def test_other_segment_counts_cost_what_the_course_says() -> None:
    assert microseconds("chain", LARGE, num_chunks=16) == pytest.approx(2480)
    assert microseconds("chain", LARGE, num_chunks=1024) == pytest.approx(6039.5)
    assert math.sqrt(4 * LARGE / 25e9 / 4e-6) == pytest.approx(43.8, abs=0.05)
    assert best_chain(LARGE)[1] == 44


def test_a_broadcast_of_3_kb_on_6_ranks_costs_what_the_course_says() -> None:
    assert microseconds("binomial", 3000) == pytest.approx(12.36)
    assert microseconds("flat", 3000) == pytest.approx(20.6)
    assert microseconds("chain", 3000) == pytest.approx(20.6)
    assert microseconds("scatter_all_gather", 3000) == pytest.approx(32.2)


@pytest.mark.slow
def test_the_winner_changes_twice_where_the_chapter_says() -> None:
    def winner(nbytes: float) -> str:
        times = {
            "binomial": microseconds("binomial", nbytes),
            "scatter_all_gather": microseconds("scatter_all_gather", nbytes),
            "chain": best_chain(nbytes)[0],
            "flat": microseconds("flat", nbytes),
        }
        return min(times, key=times.__getitem__)

    sizes = [3e3, 100e3, 374e3, 376e3, 1e6, 2.24e6, 2.26e6, 10e6, 48e6]
    assert [winner(size) for size in sizes] == (
        ["binomial"] * 3 + ["scatter_all_gather"] * 3 + ["chain"] * 3
    )
    assert microseconds("binomial", 500e3) == pytest.approx(best_chain(500e3)[0])


def test_the_tree_takes_the_steps_and_the_ways_the_chapter_prints() -> None:
    steps = [len(ar.schedule("broadcast", "binomial", world_size=n).steps) for n in (8, 9)]
    assert steps == [3, 4]
    tree = ar.schedule("broadcast", "binomial", world_size=6, root=2)
    assert [[(t.src, t.dst) for t in step] for step in tree.steps] == [
        [(2, 3)],
        [(2, 4), (3, 5)],
        [(2, 0), (3, 1)],
    ]


@pytest.mark.slow
def test_no_broadcast_beats_the_limit_of_the_chapter() -> None:
    for nbytes in (3e3, 375e3, 48e6):
        limit = ar.lower_bound("broadcast", 6, nbytes, bench(6)) * 1e6
        assert limit == pytest.approx(3 * 4 + nbytes / 25e3)
        times = [microseconds(name, nbytes) for name in ("flat", "binomial", "scatter_all_gather")]
        assert min(*times, best_chain(nbytes)[0]) >= limit


def test_in_every_reduce_the_root_sends_nothing_and_the_others_send_once() -> None:
    for name in ("flat", "chain", "binomial"):
        plan = ar.schedule("reduce", name, world_size=6)
        sends = Counter(t.src for _, t in plan.transfers())
        assert [sends[rank] for rank in range(6)] == [0, 1, 1, 1, 1, 1]


def test_the_mirror_of_each_broadcast_is_a_reduce_with_the_counts_of_the_chapter() -> None:
    for name in ("flat", "chain", "binomial"):
        plan = ar.schedule("broadcast", name, world_size=6)
        steps = tuple(
            tuple(ar.Transfer(t.dst, t.src, t.chunk, ar.Op.REDUCE) for t in step)
            for step in reversed(plan.steps)
        )
        ar.verify(ar.Schedule("reduce", name, 6, 1, steps, root=0))
        receives = Counter(t.dst for step in steps for t in step)
        if name == "chain":
            assert [receives[rank] for rank in range(6)] == [1, 1, 1, 1, 1, 0]
            assert (steps[0][0].src, steps[0][0].dst) == (5, 4)
    library = Counter(t.dst for _, t in ar.schedule("reduce", "chain", world_size=6).transfers())
    assert [library[rank] for rank in range(6)] == [1, 0, 1, 1, 1, 1]


# All-gathers of chapter 04: n, S, machine ports, steps, MB out of the busiest rank, microseconds.
GATHERS = [
    ("ring", 6, 48e6, 1, 5, 40, 1620.0),
    ("bruck", 6, 48e6, 1, 3, 40, 1612.0),
    ("bidirectional_ring", 6, 48e6, 1, 3, 40, 1620.0),
    ("bidirectional_ring", 6, 48e6, 2, 3, 40, 972.0),
    ("ring", 6, 48e6, 2, 5, 40, 1620.0),
    ("ring", 6, 6e3, 1, 5, 0.005, 20.2),
    ("bruck", 6, 6e3, 1, 3, 0.005, 12.2),
    ("ring", 8, 64e6, 1, 7, 56, 2268.0),
    ("recursive_doubling", 8, 64e6, 1, 3, 56, 2252.0),
]


@pytest.mark.parametrize(
    ("algorithm", "n", "nbytes", "ports", "steps", "megabytes", "time"), GATHERS
)
def test_an_all_gather_costs_what_the_course_says(
    algorithm: str, n: int, nbytes: float, ports: int, steps: int, megabytes: float, time: float
) -> None:
    plan = ar.schedule("all_gather", algorithm, world_size=n)
    price = ar.cost(plan, nbytes=nbytes, topology=replace(bench(n), ports=ports))
    assert price.steps == steps
    assert price.bytes_sent_max == pytest.approx(megabytes * 1e6)
    assert price.seconds * 1e6 == pytest.approx(time, abs=0.05)
    limit = ar.lower_bound("all_gather", n, nbytes, replace(bench(n), ports=ports))
    assert price.seconds >= limit * (1 - 1e-9)


def test_the_limit_of_an_all_gather_is_what_bruck_takes() -> None:
    assert ar.lower_bound("all_gather", 6, LARGE, bench(6)) * 1e6 == pytest.approx(1612)
    assert ar.lower_bound("all_gather", 6, 6e3, bench(6)) * 1e6 == pytest.approx(12.2)


@pytest.mark.parametrize(
    ("n", "blocks"), [(5, [1, 2, 1]), (6, [1, 2, 2]), (7, [1, 2, 3]), (9, [1, 2, 4, 1])]
)
def test_brucks_messages_have_the_blocks_that_the_course_says(n: int, blocks: list[int]) -> None:
    plan = ar.schedule("all_gather", "bruck", world_size=n)
    for rank in range(n):
        assert [sum(t.src == rank for t in step) for step in plan.steps] == blocks
    assert blocks[-1] == n - 2 ** (len(blocks) - 1)


def test_the_ring_sends_the_chunks_that_the_chapter_prints() -> None:
    plan = ar.schedule("all_gather", "ring", world_size=4)
    assert [[t.chunk for t in step] for step in plan.steps] == [
        [0, 1, 2, 3],
        [3, 0, 1, 2],
        [2, 3, 0, 1],
    ]
    assert all(t.dst == (t.src + 1) % 4 for _, t in plan.transfers())


def test_pat_sends_far_and_small_first_and_once_more_at_powers_of_two_plus_one() -> None:
    plan = ar.schedule("all_gather", "pat", world_size=6)
    mine = [[t for t in step if t.src == 0] for step in plan.steps]
    assert [((0 - step[0].dst) % 6, len(step)) for step in mine] == [(4, 1), (2, 1), (1, 3)]
    sends = {n: len(ar.schedule("all_gather", "pat", world_size=n).steps) for n in range(3, 66)}
    assert (sends[5], sends[33]) == (4, 7)
    for n, steps in sends.items():
        one_more = n >= 5 and (n - 1) & (n - 2) == 0
        assert steps == (n - 1).bit_length() + one_more


def test_broadcasts_in_turn_take_n_times_as_long_as_the_ring() -> None:
    steps = [
        tuple(t._replace(chunk=owner) for t in step)
        for owner in range(6)
        for step in ar.schedule("broadcast", "chain", world_size=6, root=owner).steps
    ]
    in_turn = ar.Schedule("all_gather", "in_turn", 6, 6, tuple(steps))
    ar.verify(in_turn)
    price = ar.cost(in_turn, nbytes=LARGE, topology=bench(6))
    assert price.seconds * 1e6 == pytest.approx(9720)
    assert (price.steps, price.bytes_sent_max, price.bytes_total) == (30, 40e6, 240e6)


def test_the_plans_of_chapter_04_cross_between_two_nodes_as_the_chapter_says() -> None:
    crossing = {}
    for name in ("ring", "recursive_doubling", "bruck"):
        plan = ar.schedule("all_gather", name, world_size=8)
        crossing[name] = [sum(t.src // 4 != t.dst // 4 for t in step) for step in plan.steps]
    assert crossing["ring"] == [2] * 7
    assert crossing["recursive_doubling"] == [0, 0, 4 * 8]
    assert sum(crossing["bruck"]) > 32
    ring = ar.schedule("all_gather", "ring", world_size=8)
    pairs = {(t.src, t.dst) for _, t in ring.transfers() if t.src // 4 != t.dst // 4}
    assert pairs == {(3, 4), (7, 0)}


def test_eleven_elements_on_five_ranks_move_as_the_chapter_says() -> None:
    lengths = [3, 2, 2, 2, 2]
    whole = 8 * sum(lengths)
    out = {}
    for name in ("ring", "bruck"):
        plan = ar.schedule("all_gather", name, world_size=5)
        sent, got = [0] * 5, [0] * 5
        for _, t in plan.transfers():
            sent[t.src] += 8 * lengths[t.chunk]
            got[t.dst] += 8 * lengths[t.chunk]
        assert got == [whole - 8 * own for own in lengths], "in: all but the own block"
        out[name] = sent
    assert out["ring"] == [whole - 8 * lengths[(rank + 1) % 5] for rank in range(5)]
    assert out["ring"] != out["bruck"]
    assert sum(out["ring"]) == sum(out["bruck"])
    assert max(out["bruck"]) == out["bruck"][0]


def test_the_ring_and_nvls_cross_where_the_quickstart_says() -> None:
    ring = {n: 2 * (n - 1) / n for n in range(2, 65)}
    nvls = {n: 1 + 1 / n for n in ring}
    assert nvls[2] > ring[2]
    assert nvls[3] == pytest.approx(ring[3])
    assert all(nvls[n] < ring[n] < 2 for n in ring if n >= 4)


def test_the_quickstart_ring_moves_what_the_course_says() -> None:
    ring = ar.schedule("all_reduce", "ring", world_size=4)
    price = ar.cost(ring, count=8, itemsize=8, topology=bench(4))
    assert (price.steps, price.bytes_sent_max, price.bytes_total) == (6, 96, 384)
    inputs = [[100 * (rank + 1) + i for i in range(8)] for rank in range(4)]
    assert [sum(column) for column in zip(*inputs, strict=True)] == [1000 + 4 * i for i in range(8)]


def test_the_fault_of_the_quickstart_enters_where_the_page_says() -> None:
    ring = ar.schedule("all_reduce", "ring", world_size=4)
    steps = [list(step) for step in ring.steps]
    steps[3][0] = steps[3][0]._replace(op=ar.Op.REDUCE)
    broken = replace(ring, steps=tuple(map(tuple, steps)))
    with pytest.raises(ar.ScheduleError) as caught:
        ar.verify(broken)
    assert (caught.value.step, caught.value.dst, caught.value.kind) == (3, 1, "double_count")
    off = [chunks[0][1] - 1 for chunks in ar.final_state(broken)]
    assert off == [0, 1, 1, 1], "ranks 1, 2 and 3 have the part of rank 1 twice in chunk 0"


def test_the_chart_draws_each_measurement_and_refuses_what_a_log_axis_cannot_hold() -> None:
    drawn = measured_against_model({"flat & <co>": [(1e3, 2e-6, 1e-6)]}, label="MEASURED: x")
    page = drawn._repr_html_()
    assert page.count("<circle") == 1
    assert "MEASURED: x" in page
    assert "flat &amp; &lt;co&gt;" in page
    assert "1 kB  measured     2 µs  model     1 µs" in repr(drawn)
    for bad in ({}, {"flat": []}, {"flat": [(0, 1, 1)]}, {"flat": [(1, math.inf, 1)]}):
        with pytest.raises(ValueError, match="measured_against_model"):
            measured_against_model(bad, label="x")


@pytest.mark.parametrize("page", PAGES)
def test_every_show_link_names_a_figure_of_its_page(page: str) -> None:
    figures = {options(body).get("id") for name, _, body in fences(page) if "chunk-" in name}
    targets = re.findall(r"\{show\}`[^`<]+<([\w-]+)\?[^`]*>`", source(page))
    assert len(targets) == source(page).count("{show}`")
    assert set(targets) <= figures


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_says_that_lock_step_is_a_teaching_device(page: str) -> None:
    for name, _, body in fences(page):
        if name in {"chunk-flow", "chunk-race"}:
            caption = body.rpartition("\n:")[2]
            assert re.search("lock-step|barrier|teaching device", caption, re.IGNORECASE), body


@pytest.mark.parametrize("page", chapters())
def test_every_practice_item_of_the_chapter_stands_on_its_page_once(page: str) -> None:
    placed = [
        item
        for name, argument, body in fences(page)
        if name == "chunk-quiz"
        for item in f"{argument} {re.sub(r'^:.*$', '', body, flags=re.MULTILINE)}".split()
    ]
    assert sorted(placed) == sorted(item_ids(page[:2]))
    assert len(placed) >= 6
    gates = [options(body).get("predict") for _, _, body in fences(page)]
    for gate in filter(None, gates):
        assert source(page).index("{chunk-quiz} " + gate) < source(page).index(f":predict: {gate}")


@pytest.mark.parametrize("page", PAGES)
def test_every_listing_is_a_function_of_the_library(page: str) -> None:
    for name, argument, body in fences(page):
        if name == "literalinclude":
            tree = ast.parse((BOOK / argument).read_text(encoding="utf-8"))
            functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert options(body)["pyobject"] in functions


@pytest.mark.parametrize("page", PAGES)
def test_every_cell_is_short_and_is_python(page: str) -> None:
    for name, _, body in fences(page):
        if name == "code-cell":
            ast.parse(body)
            assert max(map(len, body.splitlines())) <= 80, "a page shows 80 columns"
            assert len(body.splitlines()) <= 12, body


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_pages_that_exist(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+\.md)[)#]", source(page)):
        assert ((BOOK / page).parent / target).is_file(), target


# What a page must say once its roles are evaluated: the numbers of the course's plan.
SAYS = {
    "00-quickstart.md": "6|1.5|96 B|384 B|1000|64 B",
    "03-broadcast.md": (
        "9620 µs|5772 µs|2286.5 µs|3232 µs|2480 µs|6039.5 µs|43.8|44|48|240 MB|144 MB|80 MB|48 MB|"
        "12.36 µs|20.6 µs|32.2 µs|375 kB|2.25 MB|1932 µs|18.4 %|5|3|8|1924 µs|1920 µs|4 µs|25 GB/s"
    ),
    "04-all-gather.md": (
        "1620 µs|1612 µs|972 µs|20.2 µs|12.2 µs|2268 µs|2252 µs|40 MB|56 MB|8 MB|5|3|7|4|30|6|"
        "9720 µs|121.2 µs|1708 µs|1860 µs|8.9 %|0.496 %|0.494 %|39.6 %|8 µs|42 MB|45 MB"
    ),
}


@pytest.mark.parametrize("page", SAYS)
def test_the_page_says_every_number_of_its_plan(page: str) -> None:
    assert_says(page, SAYS[page])


def test_the_count_of_the_ring_is_never_claimed_for_every_algorithm() -> None:
    paragraphs = [p for page in PAGES for p in prose(page).split("\n\n")]
    claims = [p for p in paragraphs if r"2\frac{n-1}{n}" in p and "ll-reduce" in p]
    assert claims
    for claim in claims:
        assert re.search("send.* and receive|only sends|send/receive algorithms", claim), claim
