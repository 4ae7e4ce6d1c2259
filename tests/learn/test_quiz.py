"""The quiz bank: keys earn everything, distractors less, and every answer is answered."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import permutations

import pytest

from allranks.cost import price
from allranks.errors import ScheduleError
from allranks.learn.misconceptions import MISCONCEPTIONS, meaning
from allranks.learn.quiz import ITEMS, Judgement, item_ids, judge, practice, read_number
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Topology
from allranks.verify import verify
from allranks.view.html import quiz_html

SEEDS = range(200)


@cache
def drawn(item_id):
    return [practice(item_id, seed=seed) for seed in SEEDS]


def right_answer(item):
    kind = item["type"]
    if kind == "choice":
        return next(each["id"] for each in item["options"] if each["right"])
    if kind == "multi":
        return [each["id"] for each in item["options"] if each["right"]]
    if kind == "num":
        return repr(item["num"]["value"])
    if kind == "state":
        cells = item["state"]["cells"]
        return {(c["rank"], c["chunk"]): c["answer"] for c in cells if not c["given"]}
    if kind == "next":
        return item["next"]["answers"][0]
    return item[kind]["answers"][0] if kind == "order" else item[kind]["answer"]


def wrong_answers(item):
    """Yield (answer, feedback, misconception) of everything that the item knows as wrong."""
    kind = item["type"]
    if kind in ("choice", "multi"):
        for each in item["options"]:
            if not each["right"]:
                answer = each["id"] if kind == "choice" else [each["id"]]
                yield answer, each["feedback"], each["misconception"]
    elif kind == "num":
        for each in item["num"]["distractors"]:
            yield repr(each["value"]), each["feedback"], each["misconception"]
    elif kind == "state":
        for each in item["state"]["distractors"]:
            answer = {**right_answer(item), (each["rank"], each["chunk"]): each["parts"]}
            yield answer, each["feedback"], each["misconception"]
    else:
        name = {"order": "answer", "next": "transfer", "spot": "line"}[kind]
        for each in item[kind]["distractors"]:
            yield each[name], each["feedback"], each["misconception"]


@pytest.mark.parametrize("item_id", ITEMS)
def test_the_key_earns_everything_and_each_distractor_less_for_two_hundred_seeds(item_id):
    for seed, item in enumerate(drawn(item_id)):
        assert judge(item, right_answer(item)).share == 1.0
        assert judge(item, right_answer(item)).right
        known = list(wrong_answers(item))
        assert known, "an item without a distractor teaches nothing"
        for answer, feedback, misconception in known:
            judged = judge(item, answer)
            assert not judged.right, (seed, answer)
            assert judged.counts
            assert judged.share < 1.0
            assert feedback in judged.text
            assert judged.misconception == misconception
            assert misconception in MISCONCEPTIONS
            assert feedback.startswith(meaning(misconception))


@pytest.mark.parametrize("item_id", ITEMS)
def test_all_answers_of_an_item_differ_and_each_has_its_own_feedback(item_id):
    for seed, item in enumerate(drawn(item_id)):
        answers = [
            json.dumps(answer, default=str, skipkeys=True)
            if not isinstance(answer, dict)
            else str(answer)
            for answer, _, _ in wrong_answers(item)
        ]
        answers.append(str(right_answer(item)))
        assert len(set(answers)) == len(answers), (seed, answers)
        feedback = [each for _, each, _ in wrong_answers(item)]
        if item["type"] in ("choice", "multi"):
            feedback = [each["feedback"] for each in item["options"]]
        assert all(feedback)
        if item["type"] != "order":
            assert len(set(feedback)) == len(feedback), seed


@pytest.mark.parametrize("item_id", ITEMS)
def test_no_answer_stays_without_feedback(item_id):
    for item in drawn(item_id)[:20]:
        if item["type"] in ("choice", "multi"):
            assert all(each["feedback"] for each in item["options"])
        else:
            assert item[item["type"]]["feedback_right"]
            assert item[item["type"]]["feedback_else"]
        if item["type"] == "spot":
            lines = {each["line"] for each in item["spot"]["distractors"]}
            others = set(range(len(item["spot"]["lines"]))) - {item["spot"]["answer"]}
            assert lines == others


@pytest.mark.parametrize("item_id", ITEMS)
def test_the_same_seed_gives_the_same_item_and_the_page_can_show_it(item_id):
    item = practice(item_id, seed=7)
    assert item == practice(item_id, seed=7)
    assert item["id"] == item_id
    assert item["stem"]
    assert item_id in quiz_html([item])
    json.dumps(item, allow_nan=False)


@pytest.mark.parametrize("item_id", ITEMS)
def test_numbers_change_with_the_seed_unless_the_question_has_none(item_id):
    assert len({json.dumps(item) for item in drawn(item_id)[:30]}) > 1


def test_every_chapter_has_enough_items_and_a_prediction():
    chapters = sorted({each[:2] for each in ITEMS if each[:2].isdigit()})
    assert {"00", "03", "04"} <= set(chapters)
    for chapter in chapters:
        assert len(item_ids(chapter)) >= 7
        assert any(practice(each).get("predict") for each in item_ids(chapter)), chapter


@pytest.mark.parametrize(
    ("chapter", "wanted"),
    [
        ("00", {"M-SCALAR", "M-CPU-IS-GPU", "M-NCCL-IS-COLLECTIVES"}),
        (
            "03",
            {
                "M-SCATTER-IS-BROADCAST",
                "M-BARRIER",
                "M-TREE-ALWAYS-BEST",
                "M-FLAT-IS-ONE-STEP",
                "M-ROOT-ZERO",
                "M-MORE-SEGMENTS-BETTER",
                "M-CHAIN-SLOW",
                "M-NCCL-BCAST-TREE",
            },
        ),
        (
            "04",
            {
                "M-S-PER-RANK",
                "M-GROWS-WITH-N",
                "M-AG-IS-N-BCASTS",
                "M-BRUCK-POW2",
                "M-LOG-STEPS-LESS-BYTES",
                "M-BIDIR-FREE",
                "M-OWN-BLOCK-AGAIN",
                "M-PAT-CEIL",
                "M-COUNT-N",
                "M-FLOOR-LG",
                "M-STEPS-NOT-TIME",
                "M-TOTAL-VS-BUSIEST",
                "M-BARRIER",
                "M-ROTATION",
            },
        ),
    ],
)
def test_every_misconception_of_a_chapter_has_a_distractor(chapter, wanted):
    met = {
        name
        for item_id in item_ids(chapter)
        for seed in range(10)
        for _, _, name in wrong_answers(practice(item_id, seed=seed))
    }
    assert wanted <= met


def test_an_unknown_item_names_the_nearest_one():
    with pytest.raises(ValueError, match="did you mean '03-predict-race'"):
        practice("03-predict-rase")


# keys against numbers worked out by hand


def found(item_id, fits):
    return next(item for item in (practice(item_id, seed=s) for s in range(2000)) if fits(item))


def test_the_steps_of_eleven_ranks_are_four_and_floor_is_three():
    item = found(
        "03-steps", lambda each: "binomial broadcast of one chunk take on 11 " in each["stem"]
    )
    assert item["num"]["value"] == 4
    assert [each["value"] for each in item["num"]["distractors"]] == [3, 10, 11]


def test_the_standard_case_is_cut_into_44_segments_and_43_to_45_are_right():
    item = found("03-best-k", lambda each: "48 MB to 6 ranks (α = 4 µs" in each["stem"])
    assert item["num"]["value"] == 44
    assert [judge(item, str(k)).right for k in (42, 43, 44, 45, 46)] == [
        False,
        True,
        True,
        True,
        False,
    ]


def test_the_race_of_the_chapter_is_won_by_the_pipe_and_the_small_one_by_the_tree():
    race = practice("03-predict-race")
    texts = {each["text"]: each["feedback"] for each in race["options"]}
    assert judge(race, right_answer(race)).right
    (best,) = [each["text"] for each in race["options"] if each["right"]]
    assert best == "chain, cut into 44 segments"
    assert "2286" in texts[best] or "2287" in texts[best]
    assert "5772 µs" in texts["binomial tree"]
    small = practice("03-predict-small")
    (best,) = [each["text"] for each in small["options"] if each["right"]]
    assert best == "binomial tree"
    assert "12.4 µs" in next(each["feedback"] for each in small["options"] if each["right"])


def test_a_ring_of_four_sends_one_and_a_half_times_the_vector():
    item = found("00-bytes-per-rank", lambda each: "4 ranks run a ring" in each["stem"])
    nbytes = int(item["stem"].split("S = ")[1].split(" B")[0])
    assert item["num"]["value"] == 1.5 * nbytes


# what the answers say is true of every instance

RACES = (
    "03-predict-race",
    "03-predict-small",
    "03-winner",
    "03-small-message",
    "03-large-message",
)
SIZES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
TIMES = {"µs": 1e-6, "ms": 1e-3, "s": 1}
BENCH_ALPHA, BENCH_BANDWIDTH = 4e-6, 25e9


def times_in(text):
    return [float(x) * TIMES[unit] for x, unit in re.findall(r"([\d.]+) (µs|ms|s)\b", text)]


def broadcast_of(option):
    """Return the algorithm and the number of chunks that the text of an option names."""
    segments = re.search(r"cut into (\d+) segments", option["text"])
    if segments:
        return "chain", int(segments[1])
    word = option["text"].split()[0].strip(",:")
    return ("scatter_all_gather" if word == "scatter" else word), None


@pytest.mark.parametrize("item_id", RACES)
def test_every_option_of_a_race_tells_its_own_time_and_how_it_adds_up(item_id):
    for item in {json.dumps(each): each for each in drawn(item_id)}.values():
        amount, unit = re.search(r"(\d[\d.]*) ([kMG]?B)\b", item["stem"]).groups()
        n = int(re.search(r"(\d+) ranks", item["stem"])[1])
        nbytes = float(amount) * SIZES[unit]
        seconds = {}
        for option in item["options"]:
            algorithm, k = broadcast_of(option)
            topology = Topology.preset("bench", n)
            cost = price(
                "broadcast", algorithm, world_size=n, nbytes=nbytes, num_chunks=k, topology=topology
            )
            seconds[option["text"]] = cost.seconds
            said = option["feedback"]
            assert any(t == pytest.approx(cost.seconds, rel=6e-3) for t in times_in(said)), option
            steps = re.search(r"(\d+) steps of ([\d.]+ (?:µs|ms|s))", said)
            if steps:
                added = int(steps[1]) * times_in(steps[2])[0]
            elif algorithm == "scatter_all_gather":
                added = sum(times_in(said)[-2:])
            else:
                added = int(re.search(r"= (\d+) times 4 µs", said)[1]) * BENCH_ALPHA
                added += n * nbytes / k / BENCH_BANDWIDTH
            assert added == pytest.approx(cost.seconds, rel=1e-2), option
        best = min(seconds, key=seconds.__getitem__)
        assert [each["text"] for each in item["options"] if each["right"]] == [best]
        for option in item["options"]:
            # what a wrong answer is told to try must be what wins here
            if option["misconception"] == "M-STORE-AND-FORWARD":
                assert "segments" in best
            if option["misconception"] == "M-ONE-AT-A-TIME":
                assert best == "binomial tree"
            others = ("pipelined", "binomial tree", "scatter")
            own = option["text"].split()[0].strip(",")
            for name in others:
                named = name in option["feedback"] and not name.startswith(own)
                assert not named or best.startswith(name), option


def test_an_order_is_right_exactly_if_the_broadcast_holds():
    several = 0
    for item in drawn("03-order-binomial"):
        root, n = map(int, re.search(r"from rank (\d+) on (\d+) ranks", item["stem"]).groups())
        steps = {
            entry["id"]: tuple(
                Transfer(int(src), int(dst), 0, Op.COPY)
                for src, dst in re.findall(r"(\d+) > (\d+)", entry["text"])
            )
            for entry in item["order"]["entries"]
        }
        held = 0
        for order in permutations(steps):
            schedule = Schedule("broadcast", "o", n, 1, tuple(map(steps.get, order)), root=root)
            try:
                verify(schedule)
                holds = True
            except ScheduleError:
                holds = False
            held += holds
            assert judge(item, list(order)).right == holds, (item["stem"], order)
        several += held > 1
        assert held == len(item["order"]["answers"])
        assert sorted(steps) not in item["order"]["answers"], "the order shown at first is wrong"
    assert several > 20, "seeds with more than one right order are among these"


def test_rounding_k_is_right_and_what_a_wrong_k_costs_is_true():
    for item in drawn("03-best-k"):
        found_in = re.search(
            r"broadcasts (\d+) MB to (\d+) ranks \(α = (\d+) µs, 25 GB/s\)", item["stem"]
        )
        nbytes, n, alpha = int(found_in[1]) * 1e6, int(found_in[2]), int(found_in[3]) * 1e-6
        exact = ((n - 2) * nbytes / BENCH_BANDWIDTH / alpha) ** 0.5

        def seconds(k, n=n, nbytes=nbytes, alpha=alpha):
            return (n - 2 + k) * (alpha + nbytes / BENCH_BANDWIDTH / k)

        assert judge(item, str(round(exact))).right
        least = min(map(seconds, range(1, 2000)))
        assert seconds(item["num"]["value"]) == pytest.approx(least, rel=1e-12)
        for trap in item["num"]["distractors"]:
            k, percent = re.search(
                r"k = (\d+) takes ([\d.e+]+) % longer", trap["feedback"]
            ).groups()
            longer = seconds(int(k)) / seconds(item["num"]["value"]) - 1
            assert float(percent) == pytest.approx(100 * longer, rel=0.05)
            assert int(k) == trap["value"]


def test_bytes_are_asked_for_exactly():
    for item_id in ("00-bytes-per-rank", "03-busiest-bytes", "03-reduce-root"):
        for item in drawn(item_id):
            assert item["num"]["exact"]
            assert not judge(item, repr(item["num"]["value"] * 1.005 + 0.001)).right


def numbers_in(text):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def gather_us(n, nbytes, steps):
    """Return the µs of an all-gather whose every rank sends n - 1 blocks in so many messages."""
    return 1e6 * (steps * BENCH_ALPHA + (n - 1) / n * nbytes / BENCH_BANDWIDTH)


def test_the_keys_of_the_all_gather_items_are_those_of_formulas_of_their_own():
    for item in drawn("04-bytes-of-blocks"):
        n, each = numbers_in(item["stem"])
        assert item["num"]["value"] == (n - 1) * each
    for item in drawn("04-steps"):
        n = int(numbers_in(item["stem"])[0])
        log = next(s for s in range(9) if 2**s >= n)
        assert item["num"]["value"] == (log if "Bruck" in item["stem"] else n - 1)
    for item in drawn("04-bruck-last"):
        n = int(numbers_in(item["stem"])[0])
        assert item["num"]["value"] == n - max(2**s for s in range(9) if 2**s < n)
    for item in drawn("04-pat-sends"):
        n = int(numbers_in(item["stem"])[0])
        log = next(s for s in range(9) if 2**s >= n)
        assert item["num"]["value"] == log + (n in {5, 9, 17, 33})
    for item in drawn("04-next-ring"):
        n, rank, step = map(int, numbers_in(item["stem"])[:3])
        assert item["next"]["answers"] == [[rank, (rank + 1) % n, (rank - step) % n, "copy"]]
    for item in drawn("04-state-after"):
        n, done, rank = map(int, numbers_in(item["stem"])[:3])
        held = {(rank - back) % n for back in range(done + 1)}
        cells = [cell for cell in item["state"]["cells"] if not cell["given"]]
        assert {cell["chunk"] for cell in cells if cell["answer"]} == held


def test_the_times_that_the_all_gather_items_tell_are_those_of_the_formula():
    for item in drawn("04-both-directions"):
        n, megabytes, told = numbers_in(item["stem"])[:3]
        wanted = gather_us(n, megabytes * 1e6, n - 1)
        assert told == pytest.approx(wanted, rel=6e-3)
        (same,) = [each["text"] for each in item["options"] if each["right"]]
        assert times_in(same)[0] * 1e6 == pytest.approx(wanted, rel=6e-3)
        two_ports = (n // 2) * (4 + 1e6 * megabytes * 1e6 / n / BENCH_BANDWIDTH)
        texts = [each["text"] for each in item["options"]]
        assert any(times_in(t)[0] * 1e6 == pytest.approx(two_ports, rel=6e-3) for t in texts)
    for item in drawn("04-predict-double"):
        n, megabytes = numbers_in(item["stem"])[:2]
        (best,) = [each for each in item["options"] if each["right"]]
        before, after = (gather_us(k, megabytes * 1e6, k - 1) for k in (n, 2 * n))
        told = [1e6 * seconds for seconds in times_in(best["feedback"])]
        assert told == pytest.approx([before, after], rel=6e-3)
        assert after < before * (1 + numbers_in(best["text"])[0] / 100)
    for item in drawn("04-large-gain"):
        n, megabytes = numbers_in(item["stem"])[:2]
        (best,) = [each for each in item["options"] if each["right"]]
        log = next(s for s in range(9) if 2**s >= n)
        share = 1 - gather_us(n, megabytes * 1e6, log) / gather_us(n, megabytes * 1e6, n - 1)
        assert numbers_in(best["text"])[0] == pytest.approx(100 * share, rel=0.05)


def test_a_broadcast_never_hears_that_a_rank_has_its_own_part():
    for item_id in item_ids("03"):
        for item in drawn(item_id):
            assert "M-COUNT-N" not in {name for _, _, name in wrong_answers(item)}


def test_items_write_micro_and_greek_as_the_prose_does():
    for item_id in ITEMS:
        for item in drawn(item_id)[:40]:
            text = json.dumps(item, ensure_ascii=False)
            assert not re.search(r"\d us\b|\"us\"|\balphas?\b|\bbeta\b", text), text


# what is typed


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1.5", None, 1.5),
        ("1,5", None, 1.5),
        (" 1,5 ", None, 1.5),
        ("-0,25", None, -0.25),
        ("1,5e3", None, 1500),
        (".5", None, 0.5),
        ("5e-1", None, 0.5),
        ("50 %", None, 0.5),
        ("7/4", None, 1.75),
        ("175 %", None, 1.75),
        ("1.5 GB/s", "GB/s", 1.5),
        ("1500 MB/s", "GB/s", 1.5),
        ("1.5", "GB/s", 1.5),
        ("12 us", "us", 12),
        ("0.012 ms", "us", 12),
        ("12 \u00b5s", "us", 12),
        ("12 us", "\u00b5s", 12),
        ("12 \u03bcs", "\u00b5s", 12),
        ("12", "\u00b5s", 12),
        ("48 MB", "MB", 48),
        ("48000 kB", "MB", 48),
        ("6 steps", "steps", 6),
        ("6", "steps", 6),
        ("44 segments", "segments", 44),
        ("0.375", None, 0.375),
    ],
)
def test_a_number_is_understood_in_every_form(text, unit, value):
    assert read_number(text, unit)[0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("1.500", None, "write 1.5 or 1500"),
        ("9,620 us", "us", "write 9.62 or 9620"),
        ("1.5 Gb/s", "GB/s", "a byte has 8 bits"),
        ("8 Mb", "MB", "a small b means bits"),
        ("12 us", "MB", "the question asks for a number in MB"),
        ("three", None, "is no number"),
        ("1 2", None, "is no number"),
        ("1/0", None, "divides by zero"),
    ],
)
def test_what_cannot_be_understood_is_asked_about_and_costs_nothing(text, unit, said):
    item = {
        "type": "num",
        "num": {
            "value": 3.0,
            "unit": unit,
            "tolerance": 0.01,
            "exact": False,
            "distractors": [],
            "feedback_right": "yes",
            "feedback_else": "no",
        },
    }
    judged = judge(item, text)
    assert (judged.right, judged.counts) == (False, False)
    assert said in judged.text


def test_the_stated_tolerance_includes_both_ends():
    key = 2 * 7 / 8 * 3.3
    item = {
        "type": "num",
        "num": {
            "value": key,
            "unit": None,
            "tolerance": 0.01,
            "exact": False,
            "distractors": [],
            "feedback_right": "yes",
            "feedback_else": "no",
        },
    }
    assert judge(item, "5.775").right
    assert judge(item, "5,775").right
    assert judge(item, "5.77").right
    assert judge(item, repr(key * 1.01)).right
    assert judge(item, repr(key * 0.99)).right
    assert not judge(item, repr(key * 1.0101)).right


def test_a_slip_of_the_prefix_gets_a_note_and_is_not_counted():
    item = found("03-busiest-bytes", lambda each: each["num"]["value"] == 48)
    for text in ("48 kB", "48 GB", "48 MiB"):
        judged = judge(item, text)
        assert (judged.right, judged.counts) == (False, False)
        assert "the prefix of the unit is not" in judged.text
    assert judge(item, "48000 kB").right
    assert judge(item, "49.9").counts


def test_a_number_that_may_be_thousands_is_marked_only_where_it_is_right_as_a_decimal():
    item = {
        "type": "num",
        "num": {
            "value": 1500,
            "unit": None,
            "tolerance": 0,
            "exact": True,
            "distractors": [],
            "feedback_right": "yes",
            "feedback_else": "no",
        },
    }
    for text in ("1.500", "1,500", "1.501"):
        assert not judge(item, text).counts
    assert judge(item, "1500").right
    item["num"]["value"] = 1.5
    assert not judge(item, "1.500").counts


@pytest.mark.parametrize("item_id", ITEMS)
@pytest.mark.parametrize("empty", [None, "", [], {}, "   "])
def test_nothing_is_never_right_and_no_attempt(item_id, empty):
    judged = judge(practice(item_id), empty)
    assert (judged.right, judged.counts) == (False, False)
    assert isinstance(judged, Judgement)


# markup


def test_special_characters_survive_in_the_page():
    nasty = "a`<b` $2(n-1)/n$ & \"quoted\" 'single' | </script><!-- \u00fc\u00e4\u00df"
    item = {
        "id": "00-x",
        "type": "choice",
        "stem": nasty,
        "options": [
            {"id": "a", "text": nasty, "right": True, "feedback": nasty, "misconception": None},
            {"id": "b", "text": "b<c", "right": False, "feedback": "<i>", "misconception": None},
        ],
    }
    shown = quiz_html([item])
    script = shown.split('<script type="application/json">')[1].split("</script>")[0]
    assert json.loads(script)["items"] == [item]
    outside = shown.replace(script, "")
    assert "<i>" not in outside
    assert "b&lt;c" in outside
    assert "<code>&lt;b</code> $2(n-1)/n$ &amp;" in outside


def test_no_item_uses_markup_that_the_page_would_not_typeset():
    for item_id in ITEMS:
        for seed in range(20):
            text = json.dumps(practice(item_id, seed=seed), ensure_ascii=False)
            assert text.count("`") % 2 == 0
            assert "$" not in text
            assert "**" not in text
