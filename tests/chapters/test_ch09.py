"""Chapter 09 agrees with the engine: switches, NVLS, both models, and what the page says."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import pytest
from book_pages import assert_says, prose, source

import allranks as ar
from allranks import numerics
from allranks.learn.exercises import load_manifest
from allranks.learn.quiz import item_ids, practice
from allranks.published import NVLS_ON_H200
from allranks.verify import states
from allranks.view.fit import best_fit
from allranks.view.ports import best_pieces, plan_price

PAGE = "09-sharp-nvls.md"
LARGE = 48_000_000
SAYS = (
    "3848 µs|3240 µs|2099.3 µs|2547 µs|23|22|37|10|2|1.543|1.667|1.272|80 MB|48 MB|288 MB|56 MB|"
    "40 MB|8 MB|0.667|1.000|1.333|1.200|1.500|1.429|1.692|1.833|1.556|1.750|1.945|1.972|0.833|"
    "414.2 GB/s|364.4 GB/s|435.6 GB/s|365.1 GB/s|460 GB/s|365.7 GB/s|473.1 GB/s|365.6 GB/s|"
    "0.852|0.835|0.839|0.832|0.710|0.716|0.734|0.739|0.726|1.007|1.088|"
    "311 GB/s|305 GB/s|307 GB/s|304 GB/s|477.75 GB/s|307.12 GB/s|192 B|4 µs|25 GB/s"
)


def bench(n: int = 6) -> ar.Topology:
    return ar.Topology.preset("bench", n)


def price(algorithm: str, n: int = 6, collective: str = "all_reduce", **options: int) -> ar.Cost:
    made = ar.schedule(collective, algorithm, world_size=n, **options)
    return ar.cost(made, nbytes=LARGE, topology=bench(n))


def test_the_page_says_every_number_of_its_plan() -> None:
    assert_says(PAGE, SAYS)


def test_a_switch_loses_in_one_piece_and_wins_in_twenty_two() -> None:
    ring, whole, cut = price("ring"), price("sharp"), price("sharp", num_chunks=22)
    assert (whole.steps, whole.seconds * 1e6) == (2, pytest.approx(3848))
    assert (ring.steps, ring.seconds * 1e6) == (10, pytest.approx(3240))
    assert (cut.steps, cut.seconds * 1e6) == (23, pytest.approx(2099.3, abs=0.05))
    assert ring.seconds / cut.seconds == pytest.approx(1.543, abs=5e-4)
    times = [price("sharp", num_chunks=k).seconds for k in range(1, 60)]
    assert 1 + times.index(min(times)) == 22 == best_pieces("sharp", LARGE, bench())


@pytest.mark.parametrize("nbytes", [6e3, 1e6, 48e6, 4e9])
def test_the_best_number_of_pieces_comes_close_to_the_formula(nbytes: float) -> None:
    machine = bench()
    wanted = (math.sqrt(machine.alpha) + math.sqrt(nbytes * machine.beta)) ** 2
    k = best_pieces("sharp", nbytes, machine)
    got = plan_price("sharp", k, nbytes, machine).seconds
    assert wanted <= got * (1 + 1e-12)
    assert got <= wanted * (1.001 if k > 1 else 2)
    assert abs(k - max(1, math.sqrt(nbytes * machine.beta / machine.alpha))) <= 1


def test_every_port_carries_what_the_table_says() -> None:
    tree, nvls = price("sharp"), price("nvls")
    assert (tree.bytes_sent_max, tree.bytes_received_max) == (48e6, 48e6)
    assert (tree.switch_bytes_in, tree.switch_bytes_out) == (288e6, 288e6)
    assert (nvls.bytes_sent_max, nvls.bytes_received_max) == (56e6, 56e6)
    assert price("ring").bytes_sent_max == 80e6
    assert pytest.approx(1.4286, abs=5e-5) == 80 / 56


def test_gather_and_scatter_carry_all_of_s_one_way_and_gain_nothing() -> None:
    for collective, out, into in [("reduce_scatter", 48e6, 8e6), ("all_gather", 8e6, 48e6)]:
        paid = price("nvls", collective=collective)
        assert (paid.bytes_sent_max, paid.bytes_received_max) == (out, into)
        ring = price("ring", collective=collective).bytes_sent_max
        assert ring == 40e6
        assert ring / max(out, into) == pytest.approx(0.833, abs=5e-4)


GAINS = {
    2: (0.667, 1),
    3: (1, 1.333),
    4: (1.2, 1.5),
    6: (1.429, 1.667),
    12: (1.692, 1.833),
    72: (1.945, 1.972),
}


@pytest.mark.parametrize("n", GAINS)
def test_the_gains_of_the_course_are_the_ratios_of_bytes(n: int) -> None:
    ring, nvls, tree = (price(name, n).bytes_sent_max for name in ("ring", "nvls", "sharp"))
    assert (ring / nvls, ring / tree) == pytest.approx(GAINS[n], abs=5e-4)
    assert ring / nvls == pytest.approx(2 * (n - 1) / (n + 1))


def test_one_efficiency_gives_the_tie_at_four_and_the_other_model_drifts() -> None:
    head, slide = best_fit("H200", "head"), best_fit("H200", "slide")
    assert head.needed == pytest.approx((0.852, 0.835, 0.839, 0.832), abs=6e-4)
    assert slide.needed == pytest.approx((0.710, 0.716, 0.734, 0.739), abs=6e-4)
    assert sorted(slide.needed) == list(slide.needed), "it only rises"
    assert head.spread < slide.spread
    assert head.rms < slide.rms
    assert head.efficiency * 1.2 == pytest.approx(1.0, abs=0.01)
    assert slide.efficiency * 1.5 > 1.08
    four = NVLS_ON_H200.point(4)
    assert (four.chosen, four.ring) == ("Ring", 363.3e9)


def test_the_points_of_the_other_machine_do_not_tell_the_models_apart() -> None:
    head, slide = best_fit("B200", "head"), best_fit("B200", "slide")
    assert abs(head.rms - slide.rms) < 0.001
    assert head.needed == pytest.approx((0.804, 0.795, 0.790), abs=6e-4)


def test_the_wire_carries_less_than_busbw_and_less_than_the_link() -> None:
    rates = []
    for n in (5, 6, 7, 8):
        one = ar.busbw("all_reduce", world_size=n, nbytes=1, seconds=1)
        rates.append(NVLS_ON_H200.point(n).free / one.busbw * (n + 1) / n)
    assert [round(rate / 1e9) for rate in rates] == [311, 305, 307, 304]
    eight = ar.busbw("all_reduce", world_size=8, nbytes=273e9, seconds=1)
    assert eight.busbw == pytest.approx(477.75e9)
    assert eight.algbw * 9 / 8 < 450e9 < eight.busbw


def test_a_switch_rounds_once_and_its_bits_differ_from_the_rings() -> None:
    ring = ar.schedule("all_reduce", "ring", world_size=4)
    nvls = ar.schedule("all_reduce", "nvls", world_size=4)

    def total(plan: ar.Schedule, values: list[float], kind: str) -> tuple[list[float], int]:
        ran = numerics.run(plan, [np.full(4, x) for x in values], dtype=kind)
        assert ran.agree
        return [float(x) for x in ran.outputs[3]], ran.roundings

    halves = [2048.0, 1, 1, 1]
    assert total(ring, halves, "float16") == ([2052, 2052, 2048, 2048], 3)
    assert total(nvls, halves, "float16") == ([2052] * 4, 1)
    singles = [1e8, 1, -1e8, 1]
    assert total(ring, singles, "float32")[0] == [0, 1, 0, 1]
    assert total(nvls, singles, "float32")[0] != total(ring, singles, "float32")[0]
    assert total(nvls, [1.0, 2, 3, 4], "float32")[0] == total(ring, [1.0, 2, 3, 4], "float32")[0]


def test_the_steps_of_a_tree_follow_its_height() -> None:
    steps = [len(ar.schedule("all_reduce", "sharp", world_size=n, radix=32).steps) for n in (8, 64)]
    assert steps == [2, 4]
    tree = ar.schedule("all_reduce", "sharp", world_size=8, radix=4, num_chunks=2)
    held = list(states(tree))
    assert sorted(held[1][8][0]) == [0, 1, 2, 3], "a leaf has the partial sum of its own ranks"
    assert sorted(held[1][9][0]) == [4, 5, 6, 7]
    assert sorted(held[2][10][0]) == list(range(8))


def test_each_rank_of_the_run_takes_part_in_two_messages_per_piece() -> None:
    made = ar.schedule("all_reduce", "sharp", world_size=4, num_chunks=4)
    part = Counter(rank for _, t in made.transfers() for rank in (t.src, t.dst))
    assert [part[rank] for rank in range(5)] == [8, 8, 8, 8, 32]
    ring = ar.schedule("all_reduce", "ring", world_size=4)
    part = Counter(rank for _, t in ring.transfers() for rank in (t.src, t.dst))
    assert part[0] == 12


COURSE = {
    *("M-SHARP-DOUBLES", "M-SHARP-IS-NVLS", "M-NVLS-ONLY-AR", "M-SHARP-HELPS-AG"),
    *("M-SLIDE-MODEL", "M-BUSBW-IS-WIRE", "M-SHARP-SAME-BITS", "M-SHARP-ANY-OP"),
    *("M-SWITCH-FREE", "M-EMULATED-TIME"),
}


def emitted() -> set[str]:
    found: set[str] = set()
    for item_id in item_ids("09"):
        for seed in range(40):
            text = repr(practice(item_id, seed=seed))
            found |= set(re.findall(r"'misconception': '([\w-]+)'", text))
    for exercise in load_manifest():
        if exercise.chapter == "09":
            found |= {each.misconception for each in exercise.feedback if each.misconception}
    return found


def test_every_misconception_of_the_chapter_is_asked_about_and_answered_on_the_page() -> None:
    anchors = set(re.findall(r"\{mis\}`[^`]*<([\w -]+)>`", source(PAGE)))
    met = emitted()
    assert met >= COURSE
    own = {
        name for name in met if re.match("M-(SHARP|NVLS|SWITCH|SLIDE|BUSBW|COLLNET|ANY-S)", name)
    }
    assert own <= anchors


def test_nowhere_is_more_claimed_than_is_known() -> None:
    text = prose(PAGE)
    assert "it is not proved" in text
    assert "do not decide" in text
    assert "seconds say nothing about a switch chip" in text
    assert not re.search(r"(?:SHARP|NVLS)[^.]{0,60}\bdoubl", text)
