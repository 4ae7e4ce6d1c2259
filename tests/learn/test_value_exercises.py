"""Value exercises: right answers pass however they look, wrong ones never, and each is told why."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from allranks.learn import process, weighing
from allranks.learn.exercises import ExerciseError, find_exercise, load_manifest
from allranks.learn.grader import grade
from allranks.learn.judges import JUDGES, AnswerError, Call, Refusal
from allranks.learn.judges.base import read_number, read_numbers
from allranks.learn.judges.ch09 import bound
from allranks.learn.plain import pack
from allranks.published import NVLS_ON_H200
from allranks.schedule import Op

VALUES = [each for each in load_manifest() if each.kind == "value"]
SECONDS = 10.0


def judged(source: str, slug: str, seconds: float = SECONDS):
    return grade(find_exercise(slug), source, "answer.py", seconds=seconds)


def solution(slug: str) -> str:
    """Return the course's own solution, where it imports nothing of the library."""
    return find_exercise(slug).solution.read_text(encoding="utf-8")


# right answers, however they look

TWO_STATES = """
from copy import deepcopy

def state_after(schedule, start, steps):
    state = deepcopy(start)
    for number, step in enumerate(schedule):
        if number == steps:
            break
        old, state = state, deepcopy(state)
        for transfer in step:
            if transfer.op.value == "copy":
                state[transfer.dst][transfer.chunk] = old[transfer.src][transfer.chunk]
            else:
                for part, count in old[transfer.src][transfer.chunk].items():
                    state[transfer.dst][transfer.chunk][part] += count
    return {result}
"""
FIT = """
{imports}

def fit(sizes, seconds):
{body}
"""
RANSAC = """    points = list(zip(sizes, seconds))
    def line(p, q):
        beta = (q[1] - p[1]) / (q[0] - p[0])
        return p[1] - beta * p[0], beta
    def near(alpha, beta):
        return [(s, t) for s, t in points if abs(alpha + beta * s - t) < 0.05 * t]
    best = max((near(*line(p, q)) for p, q in combinations(points, 2)), key=len)
    w = np.array([1 / t for _, t in best])
    rows = np.array([[1.0, s] for s, _ in best]) * w[:, None]
    return np.linalg.lstsq(rows / [1, 1e6], np.ones(len(best)), rcond=None)[0] / [1, 1e6]"""
RIGHT = {
    ("01_read_the_state", "plain dictionaries in tuples"): TWO_STATES.format(
        result="tuple(tuple(dict(parts) for parts in row) for row in state)"
    ),
    ("01_read_the_state", "a zero for every part that is not there"): TWO_STATES.format(
        result="[[Counter({p: parts[p] for p in range(9)}) for parts in row] for row in state]"
    ).replace("from copy", "from collections import Counter\nfrom copy"),
    ("01_read_the_state", "arrays of counts"): """
import numpy as np
from collections import Counter

def state_after(schedule, start, steps):
    n, chunks = len(start), len(start[0])
    held = np.array([[[parts[r] for r in range(n)] for parts in row] for row in start])
    for step in schedule[:steps]:
        old = held.copy()
        for src, dst, chunk, op in step:
            held[dst, chunk] = old[src, chunk] + (held[dst, chunk] if op.name == "REDUCE" else 0)
    return [[dict(enumerate(held[r, c])) for c in range(chunks)] for r in range(n)]
""",
    ("02_fit_alpha_beta", "weighted least squares"): FIT.format(
        imports="import numpy as np",
        body="    s, t = np.array(sizes, float), np.array(seconds)\n"
        "    beta, alpha = np.polyfit(s, t, 1, w=1 / t)\n"
        "    return alpha, beta",
    ),
    ("02_fit_alpha_beta", "a random sample's majority"): FIT.format(
        imports="import numpy as np\nfrom itertools import combinations", body=RANSAC
    ),
    ("02_fit_alpha_beta", "medians of small and large sizes"): FIT.format(
        imports="from statistics import median",
        body="    alpha = median(seconds[:5])\n"
        "    return [alpha, median((t - alpha) / s for s, t in zip(sizes[-5:], seconds[-5:]))]",
    ),
    ("02_fit_alpha_beta", "the least sum of relative errors"): FIT.format(
        imports="from itertools import combinations",
        body="    points = list(zip(sizes, seconds))\n"
        "    def misfit(line):\n"
        "        return sum(abs(line[0] + line[1] * s - t) / t for s, t in points)\n"
        "    def through(p, q):\n"
        "        beta = (q[1] - p[1]) / (q[0] - p[0])\n"
        "        return p[1] - beta * p[0], beta\n"
        "    return min((through(p, q) for p, q in combinations(points, 2)), key=misfit)",
    ),
    ("02_price_a_schedule", "fractions"): """
from fractions import Fraction

def price(schedule, chunk_bytes, alpha, beta):
    total = Fraction(0)
    for step in schedule:
        longest = Fraction(0)
        for here, there in ((0, 1), (1, 0)):
            for rank in {t[here] for t in step}:
                mine = [t for t in step if t[here] == rank]
                peers = {t[there] for t in mine}
                busy = len(peers) * Fraction(alpha) + len(mine) * chunk_bytes * Fraction(beta)
                longest = max(longest, busy)
        total += longest
    return float(total)
""",
    ("02_price_a_schedule", "bytes and alphas added up apart, backwards"): """
import numpy as np

def price(schedule, chunk_bytes, alpha, beta):
    peers, chunks = 0, 0
    for step in reversed(schedule):
        table = np.zeros((99, 99), int)
        for src, dst, *_ in step:
            table[src, dst] += 1
        ports = np.concatenate([table, table.T])
        busy = (ports > 0).sum(1) * alpha + ports.sum(1) * chunk_bytes * beta
        busiest = ports[busy.argmax()]
        peers, chunks = peers + (busiest > 0).sum(), chunks + busiest.sum()
    return beta * (chunks * chunk_bytes) + alpha * peers
""",
    ("06_explain_4x", "floats"): """
def busiest(world_size, algorithm):
    return (world_size - 1) * (2 / world_size if algorithm == "ring" else 1)
""",
    ("06_explain_4x", "whole numbers and decimals"): """
from fractions import Fraction

def busiest(n, which):
    share = (n - 1) * (Fraction(2) / n if which == "ring" else 1)
    return int(share) if share == int(share) else share
""",
    ("09_nvls_counts", "whole bytes where they are whole"): """
def nvls_bytes(collective, n, nbytes):
    out = {"all_reduce": n + 1, "reduce_scatter": n, "all_gather": 1}
    into = {"all_reduce": n + 1, "reduce_scatter": 1, "all_gather": n}
    if collective not in out:
        raise ValueError("no NVLS for " + collective)
    return [nbytes * way[collective] / n for way in (out, into)]
""",
    ("09_explain_the_ramp", "least squares and NumPy"): """
import numpy as np

def bounds(n, model):
    n = np.asarray(n, float)
    return 2 * (n - 1) / (n + (model == "nvls"))

def fit(points, model):
    n, gain = np.array(points).T
    most = bounds(n, model)
    efficiency = (most @ gain) / (most @ most)
    return np.array([efficiency, np.ptp(gain / most) / efficiency])

def crossover(efficiency, n_range):
    wins = [n for n in n_range if efficiency * bounds(n, "nvls") > 1]
    return np.int64(wins[0]) if wins else None
""",
    ("09_explain_the_ramp", "the median"): """
from statistics import median

def fit(points, model):
    ratios = sorted(gain * (n + (model == "nvls")) / (2 * (n - 1)) for n, gain in points)
    middle = median(ratios)
    return middle, (ratios[-1] - ratios[0]) / middle

def crossover(efficiency, n_range):
    for n in n_range:
        if efficiency * 2 * (n - 1) > n + 1:
            return n
""",
}


@pytest.mark.parametrize(("slug", "name"), RIGHT, ids=str)
def test_a_right_answer_passes_however_it_looks(slug, name):
    verdict = judged(RIGHT[slug, name], slug)
    assert verdict.status == "pass", verdict.message
    assert verdict.criteria == {"contract": 60, "bandwidth": None, "latency": None}


# wrong answers that come close

CLOSE = {
    ("01_read_the_state", "the end, whatever was asked"): TWO_STATES.format(result="state").replace(
        "if number == steps:", "if number == len(schedule):"
    ),
    ("01_read_the_state", "a part that nobody holds"): TWO_STATES.format(
        result="[[{**parts, 99: 1} for parts in row] for row in state]"
    ),
    ("02_price_a_schedule", "a billionth too much"): solution("02_price_a_schedule").replace(
        "return sum(", "return (1 + 1e-9) * sum("
    ),
    ("02_price_a_schedule", "most peers and most chunks, of different ports"): """
from collections import Counter

def price(schedule, chunk_bytes, alpha, beta):
    seconds = 0.0
    for step in filter(None, schedule):
        pairs = {(t.src, t.dst) for t in step}
        peers = Counter(port for a, b in pairs for port in ((a, 0), (b, 1)))
        chunks = Counter(port for t in step for port in ((t.src, 0), (t.dst, 1)))
        seconds += max(peers.values()) * alpha + max(chunks.values()) * chunk_bytes * beta
    return seconds
""",
    ("06_explain_4x", "rounded"): """
def busiest(n, algorithm):
    return round((n - 1) * (2 / n if algorithm == "ring" else 1), 9)
""",
    ("06_explain_4x", "one rank that sends to itself"): """
def busiest(n, algorithm):
    return max(n - 1, 1) * (2 / n if algorithm == "ring" else 1)
""",
    ("09_nvls_counts", "the two ways exchanged"): """
def nvls_bytes(collective, n, nbytes):
    if collective == "all_reduce":
        return nbytes + nbytes / n, nbytes + nbytes / n
    if collective == "all_gather":
        return nbytes, nbytes / n
    if collective == "reduce_scatter":
        return nbytes / n, nbytes
    raise ValueError("there is none of that")
""",
    ("09_nvls_counts", "a refusal without a sentence"): """
def nvls_bytes(collective, n, nbytes):
    return {
        "all_reduce": (nbytes + nbytes / n,) * 2,
        "all_gather": (nbytes / n, nbytes),
        "reduce_scatter": (nbytes, nbytes / n),
    }.get(collective) or int("x")
""".replace('int("x")', "refuse()")
    + "\ndef refuse():\n    raise ValueError\n",
    ("09_nvls_counts", "an answer for everything"): """
def nvls_bytes(collective, n, nbytes):
    return {
        "all_reduce": (nbytes + nbytes / n,) * 2,
        "reduce_scatter": (nbytes, nbytes / n),
    }.get(collective, (nbytes / n, nbytes))
""",
    ("09_explain_the_ramp", "the last point alone"): """
def fit(points, model):
    ratios = [gain * (n + (model == "nvls")) / (2 * (n - 1)) for n, gain in points]
    return ratios[-1], (max(ratios) - min(ratios)) / ratios[-1]

def crossover(efficiency, n_range):
    return next((n for n in n_range if efficiency * 2 * (n - 1) > n + 1), None)
""",
    ("09_explain_the_ramp", "an n that is not in the range"): """
def fit(points, model):
    ratios = [gain * (n + (model == "nvls")) / (2 * (n - 1)) for n, gain in points]
    middle = sum(ratios) / len(ratios)
    return middle, (max(ratios) - min(ratios)) / middle

def crossover(efficiency, n_range):
    return next((n for n in range(2, 73) if efficiency * 2 * (n - 1) > n + 1), None)
""",
}


# an all-gather that sends S, and a send too many, are mistakes that have a name
NAMED = ("the two ways exchanged", "one rank that sends to itself")


@pytest.mark.parametrize(("slug", "name"), CLOSE, ids=str)
def test_a_wrong_answer_never_passes_and_names_no_mistake_that_was_not_made(slug, name):
    verdict = judged(CLOSE[slug, name], slug)
    assert verdict.status == "fail", verdict.message
    assert verdict.criteria["contract"] == 0
    if name not in NAMED:
        assert verdict.misconception is None, verdict.message


def test_of_several_feedbacks_the_one_that_fits_most_answers_speaks():
    # both formulas of the wrong file give 2(n - 1) S for the star; for the others they differ
    both, total = (
        Path(__file__).with_name("wrong") / "06_explain_4x" / f"{name}.py"
        for name in ("both_ways", "total")
    )
    assert judged(both.read_text("utf-8"), "06_explain_4x").misconception == "M-DUPLEX"
    assert judged(total.read_text("utf-8"), "06_explain_4x").misconception == "M-TOTAL-VS-BUSIEST"


def test_an_outlier_in_relative_errors_is_named_as_what_bends_the_line():
    source = """
import numpy as np

def fit(sizes, seconds):
    s, t = np.array(sizes, float), np.array(seconds)
    w = 1 / t
    for _ in range(30):
        beta, alpha = np.polyfit(s, t, 1, w=w)
        w = 1 / (alpha + beta * s)
    return alpha, beta
"""
    verdict = judged(source, "02_fit_alpha_beta")
    assert verdict.status == "fail"
    assert verdict.misconception == "M-OUTLIER"


FIT = """
from itertools import combinations
from statistics import median

def fit(sizes, seconds):
    points = list(zip(sizes, seconds))
    beta = median((t2 - t1) / (s2 - s1) for (s1, t1), (s2, t2) in combinations(points, 2))
    alpha = median(t - beta * s for s, t in points)
    return {}
"""
OFF = {
    "exchanged": ("beta, alpha", "the two numbers are exchanged: alpha comes first"),
    "microseconds": ("1e6 * alpha, 1e6 * beta", "e+06 times too large"),
    "a fifth too large": ("1.2 * alpha, 1.2 * beta", "% too large; 10 % is allowed"),
    "alpha doubled": ("2 * alpha, beta", "alpha is"),
    "beta doubled": ("alpha, 2 * beta", "beta is"),
    "below nothing": ("-alpha, beta", "alpha is negative; a time cannot be"),
}


@pytest.mark.parametrize("name", OFF)
def test_a_line_that_is_off_everywhere_does_not_follow_the_disturbed_time(name):
    returned, said = OFF[name]
    verdict = judged(FIT.replace("{}", returned), "02_fit_alpha_beta")
    assert verdict.status == "fail"
    assert verdict.misconception is None, verdict.message
    assert said in verdict.message


# what a case is called, and what is given away

STATE_CALL = (
    "state_after(schedule=[[(0, 1, 0, REDUCE), (1, 2, 0, REDUCE)]], "
    "start=[[{0: 1}], [{1: 1}], [{2: 1}]], steps=1): "
)
FORM = {
    "nothing": ("pass", "it returned None (does every way through the function end in a return?)"),
    "a number": ("return 3", "it returned 3; return a list with a row for every rank"),
    "text": ("return 'abc'", "it returned 'abc'; return a list with a row"),
    "a row too few": ("return start[1:]", "return a list with a row for every rank"),
    "lists of parts": ("return [[[0, 1]], [[1]], [[2]]]", "each a list with a Counter for every"),
    "sets": ("return [[{0}], [{1}], [{2}]]", "and its [0][0] is {0}; a set has no order"),
    "a generator": ("yield start", "; it holds no values yet; return them in a list"),
    "counts of text": ("return [[{0: 'x'}], [{1: 1}], [{2: 1}]]", "with a Counter for every"),
    "truth values": ("return [[{0: True}], [{1: 1}], [{2: 1}]]", "with a Counter for every"),
    "itself": ("start.append(start)\n    return start", "deep, or contains itself"),
    "a long list": ("return [0] * 10**6", "holds more than 20000 values"),
}


@pytest.mark.parametrize("name", FORM)
def test_an_answer_of_the_wrong_form_is_one_sentence_with_the_call_and_the_answer(name):
    body, said = FORM[name]
    verdict = judged(f"def state_after(schedule, start, steps):\n    {body}\n", "01_read_the_state")
    assert verdict.status == "fail", verdict.message
    assert verdict.message.startswith(STATE_CALL)
    assert said in verdict.message
    assert "\n" not in verdict.message
    assert len(verdict.message) < 400


NUMBERS = {
    "True": "it returned True; return the price, a number of seconds",
    "'5 us'": "it returned '5 us'; return the price",
    "[5e-6]": "it returned [5e-06]; return the price",
    "float('nan')": "it returned nan; nan is out of range",
    "10**400": "a whole number of 1329 bits; out of range",
    "1j": "1j; a complex number is no answer",
    "__import__('numpy').bool_(1)": "it returned True; return the price",
}


@pytest.mark.parametrize("answer", NUMBERS)
def test_what_is_no_number_is_refused_where_a_number_is_asked_for(answer):
    source = f"def price(schedule, chunk_bytes, alpha, beta):\n    return {answer}\n"
    verdict = judged(source, "02_price_a_schedule")
    assert verdict.status == "fail"
    assert NUMBERS[answer] in verdict.message


GIVEN_AWAY = {
    "02_fit_alpha_beta": ("return 3e-6, 5e-11", ["4e-06", "4e-11"]),
    "02_price_a_schedule": ("return 1e-6", ["1.184e-05"]),
    "06_explain_4x": ("return 9", ["5 S", "5/3"]),
    "09_nvls_counts": ("return 1, 2", ["56", "48"]),
    "09_explain_the_ramp": ("return 0.5, 0.5", ["0.839", "0.84", "0.0246"]),
}


@pytest.mark.parametrize("slug", GIVEN_AWAY)
def test_a_wrong_number_is_told_the_property_that_failed_and_not_the_answer(slug):
    body, keys = GIVEN_AWAY[slug]
    exercise = find_exercise(slug)
    source = "".join(
        f"def {name}(*given):\n    {body}\n" for name in (exercise.entry[0], *exercise.more_entries)
    )
    verdict = judged(source, slug)
    assert verdict.status == "fail"
    said = verdict.message.partition("): ")[2]
    assert said
    assert not [key for key in keys if key in said]


# how functions are called


def test_parameters_may_have_other_names_or_another_order():
    swapped = "def busiest(algorithm, world_size):\n"
    renamed = "def busiest(n, kind, /):\n    world_size, algorithm = n, kind\n"
    body = "    return (world_size - 1) * (2 / world_size if algorithm == 'ring' else 1)\n"
    for head in (swapped, renamed, "def busiest(*all):\n    world_size, algorithm = all\n"):
        assert judged(head + body, "06_explain_4x").status == "pass"


def test_a_function_that_does_not_take_the_arguments_is_told_what_it_is_called_with():
    verdict = judged("def busiest(n):\n    return n\n", "06_explain_4x")
    assert verdict.status == "fail"
    assert (
        "busiest is called with world_size, algorithm, and that does not fit: too many positional "
        "arguments; keep the parameters of the stub"
    ) in verdict.message


def test_an_error_in_the_learners_own_call_is_theirs():
    verdict = judged("def busiest(n, kind):\n    return busiest(n)\n", "06_explain_4x")
    assert verdict.status == "error"
    assert "line 2 (`return busiest(n)`) raises TypeError" in verdict.message


def test_endless_recursion_is_one_sentence():
    verdict = judged("def busiest(n, kind):\n    return busiest(n, kind)\n", "06_explain_4x")
    assert verdict.status == "error"
    assert verdict.message.startswith("busiest(world_size=6, algorithm='star'): line 2")
    assert "a recursion has no end" in verdict.message


def test_what_one_call_does_to_its_arguments_reaches_no_other_call():
    source = solution("01_read_the_state").replace(
        "    return state", "    schedule.clear()\n    start.clear()\n    return state"
    )
    verdict = judged(source, "01_read_the_state")
    assert verdict.status == "fail"  # every answer was right, although everything was cleared
    assert "the answer is right, but the argument schedule was changed" in verdict.message


CHANGES = {
    "in the list": "start.append([])",
    "in a Counter": "start[0][0][0] += 1",
    "by something that cannot cross": "start[0][0] = {1, 2}",
    "of a row": "start[0] = [dict(start[0][0])]",
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_argument_that_must_stay_is_compared_after_every_call(name):
    source = solution("01_read_the_state").replace(
        "    return state", f"    {CHANGES[name]}\n    return state"
    )
    verdict = judged(source, "01_read_the_state")
    assert verdict.status == "fail"
    assert "the answer is right, but the argument start was changed; work on a copy" in (
        verdict.message
    )


def test_reading_a_count_that_is_not_there_changes_nothing():
    source = solution("01_read_the_state").replace(
        "    return state", "    start[0][0][77]\n    return state"
    )
    assert judged(source, "01_read_the_state").status == "pass"


def test_a_wrong_state_is_told_before_a_changed_argument():
    source = """
from allranks import Op

def state_after(schedule, start, steps):
    for step in schedule[:steps]:
        for src, dst, chunk, op in step:
            if op is Op.COPY:
                start[dst][chunk] = start[src][chunk].copy()
            else:
                start[dst][chunk] += start[src][chunk]
    return start
"""
    verdict = judged(source, "01_read_the_state")
    assert verdict.misconception == "M-SEQUENTIAL-STEP"
    assert "Step 0: rank 1 passed on what it had only just received" in verdict.message


# several functions in one file

ONE = "def fit(points, model):\n    return 1.0, 0.0\n"


def test_every_function_of_an_exercise_has_to_be_there():
    verdict = judged(ONE, "09_explain_the_ramp")
    assert verdict.status == "error"
    assert verdict.message == (
        "there is no function called crossover; it defines fit. Keep the stub's name."
    )


def test_a_second_function_that_is_not_written_yet_is_named():
    source = (
        solution("09_explain_the_ramp").partition("def crossover")[0]
        + "def crossover(efficiency, n_range):\n    raise NotImplementedError\n"
    )
    verdict = judged(source, "09_explain_the_ramp")
    assert verdict.status == "fail"
    assert verdict.message.startswith("Not written yet: line ")


def test_a_case_names_the_function_that_was_called():
    source = solution("09_explain_the_ramp").replace("> 1)", "> 2)")
    verdict = judged(source, "09_explain_the_ramp")
    assert verdict.message == (
        "crossover(efficiency=0.84, n_range=[2, 3, 4, ..., 16]): it returned None, but for some n "
        "in the range NVLS is faster than the ring"
    )


def test_a_function_name_that_two_exercises_share_finds_neither():
    with pytest.raises(ExerciseError, match=r"02_fit_alpha_beta and of 09_explain_the_ramp; give"):
        find_exercise("fit")
    assert find_exercise("best_k").slug == "03_choose_segments"
    assert find_exercise("crossover").slug == "09_explain_the_ramp"


# refusals


def test_a_value_error_is_an_answer_only_where_the_judge_says_so():
    verdict = judged(
        "def busiest(n, kind):\n    raise ValueError('I do not like this n')\n", "06_explain_4x"
    )
    assert verdict.status == "error"
    assert "raises ValueError: I do not like this n" in verdict.message


def test_a_refusal_is_weighed_like_any_answer():
    judge = JUDGES["nvls_bytes"]
    (refused,) = [c for c in judge.cases() if c.arguments["collective"] == "broadcast"]
    assert judge.facts(refused, Refusal("NVLS has no broadcast"))["right"]
    assert not judge.facts(refused, Refusal("no"))["right"]
    assert not judge.facts(refused, [1, 2])["right"]
    assert not judge.facts(judge.cases()[0], Refusal("NVLS has no all-reduce"))["right"]


# what a child may forge


def forged(slug: str, monkeypatch, *answers):
    exercise = find_exercise(slug)
    events = [{"event": "loaded"}]
    events += [{"event": "case", "case": i, "answer": each} for i, each in enumerate(answers)]
    monkeypatch.setattr(process, "run", lambda *_, **__: process.Run("done", events=events))
    return grade(exercise, "", "answer.py")


STRANGE = {
    "nothing": None,
    "a number": 5,
    "a list": [1],
    "no data": {},
    "an unknown form": {"data": {"code": "x"}},
    "a fraction over nothing": {"data": {"fraction": [1, 0]}},
    "a flood": {"data": [0] * 30_000},
    "a refusal that is not asked for": {"refused": "I refuse this one"},
    "a refusal without words": {"refused": 5},
    "a key that cannot be one": {"data": {"dict": [[[[]], 1]]}, "changed": 5},
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_forged_answer_is_wrong_and_never_our_fault(name, monkeypatch):
    for slug in ("01_read_the_state", "06_explain_4x", "09_nvls_counts"):
        verdict = forged(slug, monkeypatch, STRANGE[name])
        assert verdict.status == "fail", (slug, verdict.message)
        assert verdict.criteria["contract"] == 0
        assert len(verdict.message) < 400


def test_an_answer_that_never_came_is_no_pass(monkeypatch):
    verdict = forged("06_explain_4x", monkeypatch, {"data": 5})
    assert verdict.status == "error"


# the judges themselves

ODD = [
    None,
    True,
    "x" * 200,
    0,
    -1,
    0.0,
    -2.5,
    1e-300,
    2**53 - 1,
    float("nan"),
    float("-inf"),
    Fraction(-1, 3),
    Fraction(1, 3**300),
    [],
    (),
    {},
    [1],
    [Fraction(1, 3), Fraction(2, 7)],
    [0.0, 0.0],
    [-1, -1.5],
    [float("nan")] * 2,
    [[1.0, 2.0], 0.0],
    [{5: 0.8}, 0.0],
    {5: 0.8, 6: 0.9},
    [0.84, 0.8, 0.9],
    [[[]], [[]]],
    [[{0: float("nan")}], [{1: Fraction(1, 2)}], [{"a": 1}]],
    [[{(0, 1): 2}], [Counter()], [{}]],
    [[{0: -1}], [{1: 10**15}], [{2: 0.5}]],
    Op.COPY,
]


@pytest.mark.parametrize("exercise", VALUES, ids=lambda each: each.slug)
def test_no_judge_breaks_on_any_plain_answer(exercise):
    calls = weighing.calls_of(exercise)
    for odd in ODD:
        sent = json.loads(json.dumps({"data": pack(odd), "changed": []}))
        wrong = weighing.weigh(exercise, calls, [sent] * len(calls))
        assert wrong is not None, odd
        assert "{" not in (wrong.spoken or ("",))[0]
        assert len(wrong.message) < 500


def test_every_judge_that_weighs_refusals_weighs_any():
    for exercise in (each for each in VALUES if JUDGES[each.judge].may_refuse):
        calls = weighing.calls_of(exercise)
        for sentence in ("", "no", "x" * 500, "there is no such thing"):
            assert weighing.weigh(exercise, calls, [{"refused": sentence}] * len(calls))


@pytest.mark.parametrize("exercise", VALUES, ids=lambda each: each.slug)
def test_the_cases_can_cross_and_are_the_same_every_time(exercise):
    one, two = (
        [weighing.request_of(exercise, c) for c in weighing.calls_of(exercise)] for _ in "ab"
    )
    assert json.dumps(one) == json.dumps(two)
    assert {each["function"] for each in one} == {exercise.entry[0], *exercise.more_entries}


MARGINS = {
    "alpha, inside": (1.099, 1.0, True),
    "alpha, outside": (1.101, 1.0, False),
    "alpha, outside below": (0.899, 1.0, False),
    "beta, inside": (1.0, 0.971, True),
    "beta, outside": (1.0, 1.031, False),
    "beta, outside below": (1.0, 0.969, False),
}


@pytest.mark.parametrize("name", MARGINS)
def test_a_fit_is_right_within_ten_and_three_percent_and_not_beyond(name):
    alpha, beta, right = MARGINS[name]
    judge = JUDGES["fit"]
    for call in judge.cases():
        answer = [alpha * call.facts["alpha"], beta * call.facts["beta"]]
        assert judge.facts(call, answer)["right"] is right


def test_an_efficiency_is_an_average_and_a_spread_is_right_within_one_percent():
    judge = JUDGES["ramp"]
    call = judge.cases()[1]  # the published points of one machine in the model that drifts
    points, model = call.arguments.values()
    ratios = [gain / bound(n, model) for n, gain in points]
    middle = sum(ratios) / len(ratios)
    spread = (max(ratios) - min(ratios)) / middle
    assert judge.facts(call, [middle, spread * 1.009])["right"]
    assert not judge.facts(call, [middle, spread * 1.011])["right"]
    assert not judge.facts(call, [middle, spread * middle])["right"]  # no share of anything
    assert not judge.facts(call, [ratios[0], spread * middle / ratios[0]])["right"]
    assert not judge.facts(call, [ratios[-1], spread * middle / ratios[-1]])["right"]


def test_every_judge_is_used_by_one_exercise():
    assert sorted(JUDGES) == sorted(each.judge for each in VALUES)


def test_no_border_case_hangs_on_the_last_digit():
    for call in JUDGES["ramp"].cases():
        if call.function == "crossover":
            efficiency, worlds = call.arguments.values()
            gains = {n: efficiency * bound(n, "nvls") for n in worlds}
            # the one tie is exact in floats
            assert all(abs(gain - 1) > 1e-3 or (n, gain) == (3, 1.0) for n, gain in gains.items())


def test_a_tie_is_no_gain_and_the_answer_is_the_n_after_it():
    judge = JUDGES["ramp"]
    (call,) = [each for each in judge.cases() if each.arguments.get("efficiency") == 1.0]
    assert judge.facts(call, 4)["right"]
    at_the_tie = judge.facts(call, 3)
    assert (at_the_tie["right"], at_the_tie["tie"], at_the_tie["slide"]) == (False, True, True)


def test_the_reason_given_for_the_ramp_is_what_the_published_points_say():
    ratios = {
        model: [point.gain / bound(point.world_size, model) for point in NVLS_ON_H200.with_nvls()]
        for model in ("nvls", "tree")
    }
    spread = {name: (max(each) - min(each)) / (sum(each) / 4) for name, each in ratios.items()}
    assert f"{spread['nvls']:.1%}" == "2.5%"
    assert spread["tree"] > spread["nvls"]
    assert ratios["tree"] == sorted(ratios["tree"])  # it drifts one way
    tie = sum(ratios["nvls"]) / 4 * bound(4, "nvls")
    assert abs(tie - 1) < 0.01
    assert "within 2.5 %" in find_exercise("09_explain_the_ramp").why


@pytest.mark.parametrize("value", [True, None, "1", [1], {0: 1}])
def test_a_number_is_read_from_numbers_only(value):
    with pytest.raises(AnswerError, match="return a number"):
        read_number(value)


def test_numbers_are_read_in_the_count_that_is_asked_for():
    assert read_numbers([1, 2.5], 2, "") == [1, 2.5]
    for wrong in ([1], [1, 2, 3], 5, None, [1, True], [1, [2]]):
        with pytest.raises(AnswerError, match="return two"):
            read_numbers(wrong, 2, "return two")


def test_a_long_call_is_shortened_where_it_is_long():
    call = Call({"sizes": list(range(1000)), "text": "x" * 500, "deep": [[[1] * 9] * 9] * 9})
    assert call.words("fit").startswith("fit(sizes=[0, 1, 2, ..., 999], text='xxx")
    assert len(call.words("fit")) < 300
