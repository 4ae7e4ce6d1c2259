"""What the grader does with array programs: right, unusual, wrong, stuck, endless and hostile."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import re
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from allranks.cli import app
from allranks.learn import contracts, process, ranks, relay
from allranks.learn.contracts import ArrayCase, array_cases, blame, coded_inputs, read_parts
from allranks.learn.exercises import ExerciseError, find_exercise
from allranks.learn.grader import grade, render
from allranks.learn.relay import Call, Ranks

RING = """
def all_reduce(rank, x):
    total, passing = x.copy(), x
    for _ in range(rank.world_size - 1):
        passing = rank.sendrecv(rank.right, passing, src=rank.left)
        total += passing
    return total
"""
REPAIR = find_exercise("06_repair_the_ring")
UNEVEN = find_exercise("05_uneven_blocks")


def judged(source, exercise=REPAIR, seconds=5.0):
    return grade(exercise, source, "answer.py", seconds=seconds)


def body(code, head="rank, x"):
    lines = "\n".join(f"    {line}" for line in code.splitlines())
    return f"import numpy as np\n\ndef all_reduce({head}):\n{lines}\n"


def small(**changes):
    """Return the exercise with fewer cases, or with other rules."""
    fields = {"worlds": (1, 2, 3), "more_worlds": (), "lengths": ("3",), **changes}
    return dataclasses.replace(REPAIR, **fields)


# right answers, however they look

RIGHT = {
    "sendrecv": RING,
    "one step for each exchange": """
import numpy as np
from allranks import ArrayRank

def all_reduce(rank: ArrayRank, x):
    total, passing, arriving = x.copy(), x.copy(), np.empty_like(x)
    for _ in range(rank.world_size - 1):
        with rank.step():
            rank.send(rank.right, passing)
            rank.recv(rank.left, out=arriving)
        passing, arriving = arriving, passing
        total += passing
    return total
""",
    "even ranks first": """
def all_reduce(rank, x):
    n = rank.world_size
    total, passing = x.copy(), x.copy()
    for _ in range(n - 1):
        if n % 2 == 0 and rank.id % 2 == 0:
            rank.send(rank.right, passing)
            arrived = rank.recv(rank.left)
        elif n % 2 == 0:
            arrived = rank.recv(rank.left)
            rank.send(rank.right, passing)
        else:
            arrived = rank.sendrecv(rank.right, passing, src=rank.left)
        passing = arrived
        total += arrived
    return total
""",
    "the other direction, in the memory of the course": """
def all_reduce(rank, x):
    total = rank.empty(x.shape, x.dtype)
    total[:] = x
    passing = x
    for _ in range(rank.world_size - 1):
        passing = rank.sendrecv(rank.left, passing, rank.right)
        total += passing
    return total
""",
    "the other byte order": RING.replace(
        "return total", "return total.astype(x.dtype.str.replace('<', '>'))"
    ),
    "not contiguous": """
import numpy as np
def all_reduce(rank, x):
    wide = np.zeros((len(x), 2), x.dtype)
    wide[:, 0] = x
    passing = x
    for _ in range(rank.world_size - 1):
        passing = rank.sendrecv(rank.right, passing, src=rank.left)
        wide[:, 0] += passing
    return wide[:, 0]
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_passes_however_it_looks(name):
    exercise = dataclasses.replace(REPAIR, goal="contract")
    verdict = judged(RIGHT[name], exercise)
    assert verdict.status == "pass", verdict.message
    assert verdict.criteria["contract"] == 60
    assert verdict.first_wrong_event is None


def test_the_right_ring_earns_everything_and_is_told_what_it_costs():
    verdict = judged(RING)
    assert verdict.criteria == {"contract": 60, "bandwidth": 25, "latency": 15}
    assert verdict.message == (
        "Right in all 30 cases, on target. n = 16, 17 elements (float32): alpha is paid 15 times; "
        "the busiest rank sends 1020 B (255 elements); the busiest rank receives 1020 B (255 "
        "elements)."
    )


def test_random_trees_pass_in_every_world():
    """Correct programs that nobody would write: a random tree up and down, another in each call."""
    source = """
import random

def all_reduce(rank, x):
    draw = random.Random(f"{rank.world_size} {len(x)} SEED")
    order = list(range(rank.world_size))
    draw.shuffle(order)
    parent = {r: draw.choice(order[:place]) for place, r in enumerate(order) if place}
    children = [r for r in order if parent.get(r) == rank.id]
    total = x.copy()
    for child in reversed(children):
        rank.recv(child, out=total, reduce=True)
    if rank.id in parent:
        rank.send(parent[rank.id], total)
        rank.recv(parent[rank.id], out=total)
    for child in children:
        rank.send(child, total)
    return total
"""
    exercise = dataclasses.replace(REPAIR, goal="contract", worlds=(1, 2, 3, 5, 8), more_worlds=())
    for _ in range(3):
        verdict = judged(source.replace("SEED", str(random.random())), exercise)
        assert verdict.criteria["contract"] == 60, verdict.message


# right, but dear


def test_a_right_sum_above_the_targets_names_the_worst_case():
    source = body(
        "total = x.copy()\n"
        "for other in range(rank.world_size):\n"
        "    for peer in range(rank.world_size):\n"
        "        if rank.id == other != peer:\n"
        "            rank.send(peer, x)\n"
        "        elif rank.id == peer != other:\n"
        "            total += rank.recv(other)\n"
        "return total"
    )
    verdict = judged(source)
    assert verdict.status == "fail"
    assert verdict.criteria == {"contract": 60, "bandwidth": 25, "latency": 0}
    assert re.search(
        r"the result is right, but alpha is paid \d+ times; the target", verdict.message
    )
    assert verdict.first_wrong_event["quantity"] == "latency_terms"


def test_peak_memory_can_be_a_target():
    exercise = small(targets={"peak_bytes": "S"}, dtypes=("int64",))
    two = "a, b = rank.empty(3, x.dtype), rank.empty(3, x.dtype)\n"
    verdict = judged(body(two + RING.split(":\n", 1)[1].replace("    ", "", 1)), exercise)
    lines = RING.splitlines()
    verdict = judged("\n".join([lines[1], "    " + two, *lines[2:]]), exercise)
    assert verdict.status == "fail"
    assert "the arrays of rank.empty take up to 48 B (6 elements) on one rank" in verdict.message
    assert "the target is 24 B (3 elements)" in verdict.message


# wrong sums, and what they are made of


def test_a_part_that_is_there_twice_is_named_with_rank_elements_and_numbers():
    verdict = judged(REPAIR.stub.read_text(encoding="utf-8"))
    assert verdict.status == "fail"
    assert re.fullmatch(
        r"n = 3, 1 element \((int64|float32)\): rank 0: element 0 is wrong; element 0 is \d+, and "
        r"should be \d+\. In it, the part of rank 2 is there twice",
        verdict.message.splitlines()[0],
    )
    event = verdict.first_wrong_event
    assert (event["kind"], event["rank"], event["element"]) == ("wrong_sum", 0, 0)
    assert (event["world_size"], event["length"], event["twice"]) == (3, 1, [2])
    assert "missing" not in event


WRONG = {
    "a missing part": (
        RING.replace("world_size - 1", "world_size - 2"),
        "In it, the part of rank 1 is missing",
    ),
    "nothing but its own": (body("return x.copy()"), "In it, the part of rank 1 is missing"),
    "both": (
        RING.replace("total += passing", "total += x"),
        "In it, the part of rank 1 is missing, and the part of rank 0 is there twice",
    ),
    "one element only": (
        RING + "",
        "",
    ),
    "the elements turned round": (
        RING.replace("return total", "return total[::-1].copy()"),
        "It is element 2 of the sum, where element 0 belongs",
    ),
    "no sum of parts": (RING.replace("return total", "return total + 1"), ""),
    "zeros": (body("return np.zeros_like(x)"), "element 0 is 0, and should be"),
    "the mean": (
        RING.replace("return total", "return (total // rank.world_size).astype(x.dtype)"),
        "all 3 elements are wrong",
    ),
    "the last element": (
        RING.replace("return total", "total[2:] = x[2:]\n    return total"),
        "element 2 is wrong",
    ),
    "the first two": (
        RING.replace("return total", "total[:2] = x[:2]\n    return total"),
        "elements 0 to 1 are wrong",
    ),
    "the first and the last": (
        RING.replace("return total", "total[::2] = x[::2]\n    return total"),
        "2 of 3 elements, from element 0 on, are wrong",
    ),
}
del WRONG["one element only"]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sum_says_which_elements_and_why(name):
    source, said = WRONG[name]
    verdict = judged(source, small())
    assert verdict.status == "fail", verdict.message
    assert verdict.first_wrong_event["kind"] == "wrong_sum"
    assert said in verdict.message
    assert set(verdict.criteria.values()) == {0}


def test_only_the_last_rank_wrong_is_found_on_the_last_rank():
    source = RING.replace("return total", "return total if rank.id < 2 else x.copy()")
    verdict = judged(source, small())
    assert verdict.message.startswith("n = 3, 3 elements (")
    assert verdict.first_wrong_event["rank"] == 2
    assert "the parts of ranks 0 and 1 are missing" in verdict.message


def test_the_shortest_failing_case_is_reported():
    source = RING.replace("return total", "return total if len(x) < 2 else x.copy()")
    verdict = judged(source, dataclasses.replace(REPAIR, lengths=("2", "n", "1", "0", "5")))
    assert verdict.message.startswith("n = 2, 2 elements (")


@given(data=st.data())
def test_any_multiset_of_parts_is_read_from_a_sum_of_coded_inputs(data):
    n = data.draw(st.integers(1, 16))
    length = data.draw(st.integers(1, 80))
    case = ArrayCase(n, length, "int64")
    element = data.draw(st.integers(0, length - 1))
    times = data.draw(st.lists(st.integers(0, 7), min_size=n, max_size=n))
    inputs = coded_inputs(case)
    total = sum(count * int(x[element]) for count, x in zip(times, inputs, strict=True))
    assert total < 2**63
    parts = read_parts(case, total)
    assert parts == (contracts.Parts(element, tuple(times)) if any(times) else None)


FIVE = ArrayCase(5, 9, "int64")
CODED = [x.tolist() for x in coded_inputs(FIVE)]


@pytest.mark.parametrize(
    "number",
    [
        0,
        -5,
        3,
        1 << 15,  # a part without a position
        CODED[0][0] + 100,
        CODED[0][0] + CODED[1][1],  # two elements
        CODED[2][3] + (1 << 62),  # a digit above those of all ranks
    ],
)
def test_what_is_no_sum_of_parts_is_not_explained(number):
    assert read_parts(FIVE, number) is None


def test_blame_names_missing_parts_and_how_often_others_are_there():
    parts = contracts.Parts(1, (2, 0, 2, 1, 3, 0))
    assert blame(parts, 1) == (
        "In it, the parts of ranks 1 and 5 are missing, and the parts of ranks 0 and 2 are there "
        "twice, and the part of rank 4 is there 3 times"
    )
    assert blame(parts, 0).startswith("It is made of element 1 of x, where element 0 belongs; in")
    assert blame(contracts.Parts(1, (1, 1)), 1) == ""


# results that are no result

FORM = {
    "nothing": ("pass", "fail", "all_reduce returned nothing; return a NumPy array"),
    "a list": ("return list(x)", "fail", "returned a value of type list"),
    "a number": ("return x.sum()", "fail", "returned a value of type int64"),
    "a generator": ("yield x", "fail", "it contains yield or is async"),
    "objects": ("return x.astype(object)", "fail", "an array of dtype object; return numbers"),
    "another dtype": (
        "return np.zeros(len(x))",
        "fail",
        "rank 0 returns float64, and x is int64; make arrays with dtype=x.dtype",
    ),
    "another shape": (
        "return x.reshape(1, -1)",
        "fail",
        "rank 0 returns shape (1, 3); the sum has shape (3,)",
    ),
    "too short": ("return x[1:]", "fail", "rank 0 returns shape (2,); the sum has shape (3,)"),
    "far too long": ("return np.zeros(10**7)", "fail", "returned 80000000 bytes"),
    "a changed input": (
        RING.split(":\n", 1)[1]
        .replace("\n    ", "\n")
        .strip()
        .replace("return total", "x[1] = -7\nreturn total"),
        "fail",
        "and is -7 now. x is the caller's",
    ),
}


@pytest.mark.parametrize("name", FORM)
def test_a_result_that_is_none_is_told_what_is_asked_for(name):
    code, status, said = FORM[name]
    verdict = judged(body(code), small(dtypes=("int64",)))
    assert verdict.status == status
    assert said in verdict.message
    assert verdict.message.startswith("n = 1, 3 elements (int64): ")


SHARING = {
    "x itself": ("return x", True),
    "a view": ("return x[:]", True),
    "a view of a view, turned round twice": ("return x[::-1][::-1]", True),
    "another object on the same memory": ("return np.frombuffer(x.data, x.dtype)", True),
    "the memory by its address": (
        (
            "import ctypes\n"
            "p = ctypes.cast(x.ctypes.data, ctypes.POINTER(ctypes.c_int64))\n"
            "return np.ctypeslib.as_array(p, (len(x),))"
        ),
        True,
    ),
    "a class of its own": ("return x.view(type('Mine', (np.ndarray,), {}))", True),
    "a copy": ("return x.copy()", False),
    "a copy with a lie": (
        (
            "class Liar(np.ndarray):\n"
            "    def tobytes(self, *a): return b''\n"
            "np.shares_memory = lambda *a: False\n"
            "return x.copy()"
        ),
        False,
    ),
}


@pytest.mark.parametrize("name", SHARING)
def test_memory_that_is_shared_with_the_input_shows_whatever_is_said_about_it(name):
    code, shares = SHARING[name]
    exercise = small(own_memory=True, worlds=(1,), dtypes=("int64",))
    verdict = judged(body(code), exercise)
    assert verdict.status == ("fail" if shares else "pass"), verdict.message
    assert ("the result shares memory with x" in verdict.message) == shares
    assert judged(body(code), dataclasses.replace(exercise, own_memory=False)).status == "pass"


# ranks that wait, and ranks that disagree

STUCK = {
    "all send first": (
        "if rank.world_size > 1:\n    rank.send(rank.right, x)\n    rank.recv(rank.left)\nreturn x",
        "deadlock",
        (
            "n = 2, 3 elements (int64): rank 0 waits for rank 1; rank 1 waits for rank 0: a "
            "circle, and nobody can go on; all of them send first"
        ),
    ),
    "all receive first": (
        (
            "if rank.world_size == 3:\n    rank.recv(rank.left)\nreturn x if rank.world_size == 1 "
            "else x + rank.sendrecv(1 - rank.id, x)"
        ),
        "deadlock",
        "rank 0 waits for rank 2; rank 2 waits for rank 1; rank 1 waits for rank 0: a circle",
    ),
    "blocked behind": (
        (
            "if rank.world_size < 3:\n"
            "    return x if rank.world_size == 1 else x + rank.sendrecv(1 - rank.id, x)\n"
            "if rank.id < 2:\n    rank.recv(1 - rank.id)\n"
            "return rank.recv(0)"
        ),
        "deadlock",
        (
            "a circle, and nobody can go on; all of them receive first; let one of them send "
            "first. Blocked behind: rank 2"
        ),
    ),
    "a send too many": (
        "if rank.id == 1:\n    rank.send(0, x)\nreturn x",
        "deadlock",
        "rank 1 waits for a receive on rank 0 that never comes: rank 0 has returned",
    ),
    "other shapes": (
        (
            "if rank.world_size > 1:\n"
            "    rank.sendrecv(rank.right, x[rank.id:], rank.left, out=x.copy())\nreturn x"
        ),
        "shape",
        (
            "rank 1 sends an array of shape (2,) to rank 0, and the receive of rank 0 that meets "
            "it has room for an array of shape (3,); give both the same shape"
        ),
    ),
    "other dtypes": (
        (
            "if rank.world_size > 1:\n"
            "    rank.sendrecv(rank.right, x, rank.left, out=np.empty(len(x)))\nreturn x"
        ),
        "dtype",
        (
            "rank 1 sends int64 to rank 0, and the receive of rank 0 that meets it has room for "
            "float64; give both the same dtype"
        ),
    ),
    "no such rank": (
        "rank.send(rank.id + 1, x)\nreturn x",
        "unknown_endpoint",
        "line 4 (`rank.send(rank.id + 1, x)`): rank 0: send: rank 1 does not exist",
    ),
    "to itself": (
        "rank.sendrecv(rank.right, x)\nreturn x",
        "self_send",
        "rank 0: sendrecv to itself; use the array that you have (with one rank there is nothing",
    ),
    "a list": (
        "if rank.world_size > 1:\n    rank.sendrecv(1 - rank.id, list(x))\nreturn x",
        "format",
        "rank 0: sendrecv: array is of type list; give a NumPy array",
    ),
    "step without with": ("rank.step()\nreturn x", "format", "step() without `with`"),
}


def test_of_two_mismatches_that_of_the_lowest_receiver_is_reported():
    source = """
import time

def all_reduce(rank, x):
    if rank.id % 2:
        return rank.send(rank.left, x)
    time.sleep(0.2 if rank.id == 0 else 0)
    return rank.recv(rank.right, out=x[:1])
"""
    verdict = judged(source, small(worlds=(4,)))
    assert "rank 1 sends an array of shape (3,) to rank 0" in verdict.message
    late = source.replace("rank.id == 0", "rank.id == 2")
    assert (
        "rank 1 sends an array of shape (3,) to rank 0" in judged(late, small(worlds=(4,))).message
    )


def test_who_always_waits_is_not_told_that_an_empty_block_is_the_reason():
    source = """
def reduce_scatter(rank, x, counts):
    if rank.world_size > 1:
        rank.send(rank.right, x)
    return x.copy()
"""
    verdict = judged(source, UNEVEN)
    assert verdict.first_wrong_event["kind"] == "deadlock"
    assert verdict.misconception is None


def test_who_waits_in_large_worlds_is_not_told_that_an_empty_block_is_the_reason():
    source = UNEVEN.solution.read_text(encoding="utf-8")
    for n in (2, 3, 4, 8):
        waits = f"\n    if n == {n}:\n        rank.recv(rank.left, out=x.copy())\n    bounds ="
        verdict = judged(source.replace("\n    bounds =", waits), UNEVEN)
        assert verdict.first_wrong_event["kind"] == "deadlock"
        assert verdict.misconception is None, verdict.message


def test_a_wrong_order_in_the_own_block_is_not_called_the_block_of_another():
    source = UNEVEN.solution.read_text(encoding="utf-8")
    verdict = judged(source.replace("return partial", "return partial[::-1].copy()"), UNEVEN)
    assert verdict.first_wrong_event["kind"] == "wrong_sum"
    assert verdict.misconception is None, verdict.message


@pytest.mark.parametrize("name", STUCK)
def test_ranks_that_do_not_fit_together_are_told_who_and_what(name):
    code, kind, said = STUCK[name]
    for _ in range(2):  # whoever arrives first, the same is said
        verdict = judged(body(code), small(dtypes=("int64",)))
        assert verdict.status == "fail"
        assert said in verdict.message
        assert verdict.first_wrong_event["kind"] == kind
        assert verdict.first_wrong_event["world_size"] in (1, 2, 3)


# files that cannot be run to their end

ERRORS = {
    "a syntax error": ("def all_reduce(rank, x)\n", "while your file was loaded: line 1"),
    "no function": ("x = 1\n", "there is no function called all_reduce"),
    "another name": ("def ring(rank, x): ...\n", "it defines ring. Keep the stub's name."),
    "an exception on one rank": (
        body("if rank.id == 1:\n    return x[9]\nreturn x if rank.id else rank.recv(1)").replace(
            "return x if", "if rank.world_size == 1: return x\n    return x if"
        ),
        "n = 2, 3 elements (int64), rank 1: line 5 (`return x[9]`) raises IndexError",
    ),
    "the lowest rank that raised": (
        body(
            "if rank.world_size == 3:\n    return [][rank.id]\nreturn x if rank.world_size == 1 "
            "else x + rank.sendrecv(1 - rank.id, x)"
        ),
        "n = 3, 3 elements (int64), rank 0: line 5 (`return [][rank.id]`) raises IndexError",
    ),
    "sys.exit": (body("import sys\nsys.exit(0)"), "remove the exit"),
    "os._exit": (body("import os\nos._exit(3)"), "ended its own process (exit code 3)"),
    "a crash": (body("import os\nos.abort()"), "the process crashed (SIGABRT)"),
    "deep recursion": (body("return all_reduce(rank, x)"), "a recursion has no end"),
    "too few parameters": (body("return rank", "rank"), "raises TypeError"),
    "memory": (body("return np.ones(10**9)"), "it asked for more than 1 GiB of memory"),
    "the library": (
        "from allranks.program import play\n",
        "allranks.program: write it yourself. In an exercise `allranks` holds ArrayRank alone",
    ),
    "another name of the package": ("from allranks import World\n", "holds ArrayRank alone"),
    "a module that is not there": ("import no_such_module\n", "the standard library and NumPy"),
    "a child process": (body("import os\nos.fork()"), "an exercise starts no process"),
    "a connection": (
        body("import socket\nsocket.create_connection(('127.0.0.1', 9))"),
        "opens no connection",
    ),
    "a file": (body("np.save('x.npy', x)\nreturn x"), "ranks talk through their messages alone"),
    "a file in a shared folder": (
        body("open('/dev/shm/allranks-test', 'wb', 0).write(x.tobytes())\nreturn x"),
        "ranks talk through their messages alone",
    ),
    "shared memory": (
        body(
            "from multiprocessing import shared_memory\n"
            "shared_memory.SharedMemory(create=True, size=64)\nreturn x"
        ),
        "raises OSError",
    ),
    "closed channels": (body("import os\nos.closerange(0, 64)\nreturn x"), "n = 1, 3 elements"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_file_that_cannot_be_run_to_its_end_is_an_error_in_words(name):
    source, said = ERRORS[name]
    verdict = judged(source, small(dtypes=("int64",)))
    assert verdict.status == "error", verdict.message
    assert said in verdict.message
    assert "Traceback" not in render(verdict)
    Path("/dev/shm/allranks-test").unlink(missing_ok=True)


ENDLESS = {
    "a loop on one rank": (
        "while rank.id == rank.world_size - 1: pass\nreturn x",
        "error",
        "no answer",
    ),
    "a sleep": ("import time\ntime.sleep(1e6)", "error", "no answer within 1 s of computing"),
    "a loop that ignores signals": (
        (
            "import signal\nfor s in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:\n"
            "    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\n"
            "while True: pass"
        ),
        "error",
        "no answer within 1 s of computing",
    ),
    "messages": (
        "while rank.world_size > 1:\n    rank.sendrecv(1 - rank.id, x)\nreturn x",
        "fail",
        "more than 10000 messages, or 64 MiB, in one call; does the loop ever end?",
    ),
    "huge messages": (
        "while rank.world_size > 1:\n    rank.sendrecv(1 - rank.id, np.zeros(2**19))\nreturn x",
        "fail",
        "more than 10000 messages, or 64 MiB, in one call",
    ),
    "a message too long for a frame": (
        "while rank.world_size > 1:\n    rank.sendrecv(1 - rank.id, np.zeros(2**24))\nreturn x",
        "error",
        "it sent more than a check ever needs; an answer only calls its rank, and returns",
    ),
    "a flood of output": ("while True: print('x' * 10**5)", "error", "no answer within 1 s"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_ends_gets_a_verdict_in_the_stated_seconds(name):
    code, status, said = ENDLESS[name]
    began = time.monotonic()
    # thousands of messages take a while, which on a busy machine must not end the check first
    verdict = judged(body(code), small(), seconds=5.0 if "messages" in name else 1.0)
    assert time.monotonic() - began < 60
    assert verdict.status == status, verdict.message
    assert said in verdict.message
    assert len(verdict.output) < 70_000


def test_who_raises_is_named_before_who_is_endless():
    verdict = judged(body("while rank.id: pass\n[][0]"), small(worlds=(2,)), seconds=1.0)
    assert "rank 0: line 5 (`[][0]`) raises IndexError" in verdict.message


# ranks share nothing but messages


def test_a_global_of_the_module_is_every_ranks_own():
    source = """
TOTAL = []
def all_reduce(rank, x):
    TOTAL.append(x)
    return sum(TOTAL)
"""
    verdict = judged(source, small(worlds=(3,)))
    assert verdict.status == "fail"
    assert "the parts of ranks 1 and 2 are missing" in verdict.message


def test_a_right_result_that_no_message_brought_is_refused(monkeypatch):
    def played(_self, call):
        total = sum(call.inputs)
        returned = tuple(
            relay.Returned(x.dtype.name, x.shape, total.tobytes(), x.tobytes(), b"", 0)
            for x in call.inputs
        )
        traffic = relay.Traffic(len(call.inputs))
        return relay.Outcome(returned, traffic, None, "")

    monkeypatch.setattr(Ranks, "play", played)
    verdict = judged(RING, small())
    assert verdict.status == "fail"
    assert "n = 2" in verdict.message
    assert "rank 0: the result is right, but no message brought it" in verdict.message


FIND = """
import json, os, socket
def all_reduce(rank, x):
    (found,) = [
        number for number in range(64)
        if os.path.lexists(f'/proc/self/fd/{number}')
        and os.readlink(f'/proc/self/fd/{number}').startswith('socket')
    ]
    end = socket.socket(fileno=os.dup(found))
    def frame(head, data=b''):
        text = head if isinstance(head, bytes) else json.dumps(head).encode()
        end.sendall(len(text).to_bytes(4, 'big') + len(data).to_bytes(4, 'big') + text + data)
"""


def call(peer, data):
    """Code that says that it sends x to a rank, and sends these bytes."""
    form = "[x.dtype.name, x.shape, x.nbytes]"
    return f"frame({{'event': 'calls', 'calls': [[True, {peer}, {form}]]}}, {data})"


FORGED = {
    "no JSON": "frame(b'hello')",
    "a list": "frame([1])",
    "deep JSON": "frame(b'[' * 100000)",
    "an unknown event": "frame({'event': 'pass'})",
    "no event": "frame({})",
    "a frame of gigabytes": "end.sendall(bytes([255] * 8))",
    "a result before it returned": (
        "frame({'event': 'result', 'dtype': 'int64', 'shape': [3]}, b'1' * 24)"
    ),
    "an input of another length": "frame({'event': 'returned', 'peak_bytes': 0}, b'')",
    "a dtype that is none": (
        "frame({'event': 'returned', 'peak_bytes': 'x'}, x.tobytes())\n"
        "frame({'event': 'result', 'dtype': 'poem', 'shape': [3]}, x.tobytes())"
    ),
    "a shape that does not fit": (
        "frame({'event': 'returned'}, x.tobytes())\n"
        "frame({'event': 'result', 'dtype': 'int64', 'shape': [-3]}, x.tobytes())"
    ),
    "objects": (
        "frame({'event': 'returned'}, x.tobytes())\n"
        "frame({'event': 'result', 'dtype': 'object', 'shape': [3]}, x.tobytes())"
    ),
    "no calls": "frame({'event': 'calls'})",
    "a call of text": "frame({'event': 'calls', 'calls': ['x']})",
    "a call to nobody": call(9, "x.tobytes()"),
    "a call to itself": call(0, "x.tobytes()"),
    "a send without a form": "frame({'event': 'calls', 'calls': [[True, 1, None]]})",
    "fewer bytes than it says": call(1, "b''"),
    "calls while it waits": (
        "text = json.dumps({'event': 'calls', 'calls': [[False, 1, None]]}).encode()\n"
        "end.sendall(2 * (len(text).to_bytes(4, 'big') + bytes(4) + text))"
    ),
    "a strange report": "frame({'event': 'raised', 'type': 3, 'family': 4, 'line': 'x'})",
    "a strange complaint": "frame({'event': 'complaint', 'message': [], 'line': 'x', 'kind': 7})",
    "names that are none": "frame({'event': 'no_entry', 'defined': 3})",
}


SAID = {
    "no JSON": "it wrote something unreadable into the channel",
    "a list": "it wrote something unreadable into the channel",
    "deep JSON": "it wrote something unreadable into the channel",
    "an unknown event": "it wrote something unknown into the channel",
    "no event": "it wrote something unknown into the channel",
    "a frame of gigabytes": "it sent more than a check ever needs",
    "a result before it returned": "it wrote something unknown into the channel",
    "an input of another length": "it gave back an input of another length",
    "a dtype that is none": "it sent an array that does not fit its dtype and shape",
    "a shape that does not fit": "it sent an array that does not fit its dtype and shape",
    "objects": "it sent an array that does not fit its dtype and shape",
    "no calls": "it wrote something unreadable into the channel",
    "a call of text": "it wrote something unreadable into the channel",
    "a call to nobody": "it wrote something unreadable into the channel",
    "a call to itself": "it wrote something unreadable into the channel",
    "a send without a form": "it wrote something unreadable into the channel",
    "fewer bytes than it says": "it sent other bytes than it said",
    "calls while it waits": "it went on where it had to wait",
    "a strange report": "outside your file raises ",
    "a strange complaint": "rank 0: ",
    "names that are none": "it defines no function",
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_frame_never_passes_and_is_never_our_fault(name):
    code = "\n".join(f"    {line}" for line in (FORGED[name] + "\nos._exit(0)").splitlines())
    exercise = small(worlds=(2,), dtypes=("int64",))
    verdict = judged(f"{FIND}    if rank.id:\n        return rank.recv(0)\n{code}\n", exercise)
    assert verdict.status in ("error", "fail"), verdict.message
    assert SAID[name] in verdict.message


def test_a_rank_has_one_end_of_one_socket_and_nothing_of_the_others():
    verdict = judged(f"{FIND}    return x.copy()\n", small(worlds=(1, 3)))
    assert "In it, the parts of ranks 1 and 2 are missing" in verdict.message  # it ran to its end


def test_a_forged_message_is_a_message_and_is_counted():
    """Who speaks to the channel itself can send, as with rank.send, and pays for it."""
    source = f"""{FIND}
    if rank.id == 0:
        {call(1, "x.tobytes()")}
        end.recv(100)
        return x.copy()
    return rank.recv(0)
"""
    request = {"source": source, "filename": "a.py", "library": False}
    request |= {"entry": ["all_reduce"], "more_entries": []}
    with Ranks(request, seconds=5) as two:
        outcome = two.play(Call([np.arange(3), np.arange(3)]))
    assert outcome.failure is None
    assert outcome.traffic.sent == [24, 0]


# what a file prints belongs to the case that is reported


def test_the_output_shown_is_that_of_the_reported_case_with_every_ranks_lines():
    source = RING.replace("return total", "print(f'{rank.id} of {rank.world_size}')\n    return x")
    verdict = judged(source, small())
    assert sorted(verdict.output.splitlines()) == ["0 of 2", "1 of 2"]


def test_what_ranks_print_before_they_wait_for_ever_is_shown():
    source = body(
        "print('before', rank.id, end=' ')\nif rank.world_size > 1: rank.recv(rank.left)\nreturn x"
    )
    verdict = judged(source.replace("end=' '", "'\\x1b[2J'"), small())
    assert verdict.first_wrong_event["kind"] == "deadlock"
    assert "before 1 \N{REPLACEMENT CHARACTER}[2J" in verdict.output
    assert "\x1b" not in render(verdict)


# faults that are not the learner's


def test_a_check_that_cannot_start_is_not_graded(monkeypatch):
    monkeypatch.setattr(relay, "SCRIPT", Path("/no/such/child.py"))
    verdict = judged(RING)
    assert verdict.status == "ungraded"
    assert "This does not count" in render(verdict)


def test_a_fault_of_the_checker_is_not_graded(monkeypatch):
    def fault(_case):
        raise ZeroDivisionError

    monkeypatch.setattr(ranks, "secret_inputs", fault)
    assert "a fault of the checker" in judged(RING).message


def test_a_process_that_somebody_kills_is_not_graded():
    source = body("import ctypes, os\nctypes.CDLL(None).kill(os.getpid(), 9)\nreturn x")
    assert judged(source).status == "ungraded"


def test_the_end_of_the_trusted_process_is_not_graded():
    source = body("import ctypes, os\nctypes.CDLL(None).kill(os.getppid(), 9)\nreturn x")
    verdict = judged(source)
    assert verdict.status == "ungraded"
    assert "the process for the check ended" in verdict.message


def test_nothing_of_a_check_keeps_running():
    verdict = judged(
        "import os\n" + body("print(os.getpid(), os.getppid())\nwhile rank.id: pass\n[][0]"),
        small(worlds=(4,)),
        seconds=1.0,
    )
    pids = {int(word) for word in verdict.output.split()}
    assert len(pids) == 5
    for pid in pids:
        stat = Path(f"/proc/{pid}/stat")
        assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_the_ranks_get_no_variables_but_the_few_they_need(monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_SHELL", "1")
    source = "import os\nprint(sorted(os.environ))\n" + RING
    assert "SECRET" not in judged(source, small()).output


# inputs and cases


def test_inputs_are_fresh_distinct_and_exact():
    case = ArrayCase(16, 73, "float32")
    first, second = contracts.secret_inputs(case), contracts.secret_inputs(case)
    values = np.concatenate(first)
    assert len(set(values.tolist())) == 16 * 73
    assert not np.array_equal(first, second)
    assert values.max() * 16 <= 2**24
    exact = np.sum([x.astype(np.int64) for x in first], axis=0)
    assert np.array_equal(np.sum(first, axis=0, dtype=np.float32), exact)


def test_the_cases_of_the_course_are_there_and_lengths_keep_their_order():
    cases = list(array_cases(UNEVEN))
    assert ArrayCase(4, 73, "int64", (19, 18, 18, 18)) in [
        dataclasses.replace(case, dtype="int64") for case in cases
    ]
    assert (8, 3, (1, 1, 1, 0, 0, 0, 0, 0)) in [
        (case.world_size, case.length, case.counts) for case in cases
    ]
    assert {case.dtype for case in cases} == {"int64", "float32"}
    assert {case.length for case in cases} == {0, 3, 73}
    assert all(sum(case.counts) == case.length for case in cases)
    sizes = [(case.world_size, -case.length) for case in cases]
    assert sizes == sorted(sizes)  # the manifest begins with the longest
    assert any(0 in case.counts[:-1] and case.counts[-1] for case in cases)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cuts": ("halves",)}, "cuts has 'halves'; use split, uneven"),
        ({"dtypes": ("float8",)}, "dtypes has 'float8'; use int64, float32"),
    ],
)
def test_a_manifest_that_names_no_such_case_is_refused(changes, said):
    with pytest.raises(ExerciseError, match=re.escape(said)):
        list(array_cases(dataclasses.replace(UNEVEN, **changes)))


def test_a_collective_without_a_judge_is_refused():
    with pytest.raises(ExerciseError, match="collective has 'gather'; use all_reduce, reduce_sc"):
        contracts.span_of(dataclasses.replace(UNEVEN, collective="gather"))


# the solution's cost, worked out by hand


def test_uneven_blocks_are_charged_what_the_course_says():
    """73 elements over 4 ranks: 54, 55, 55, 55 elements leave the ranks."""
    source = UNEVEN.solution.read_text(encoding="utf-8")
    request = {"source": source, "filename": "a.py", "entry": ["reduce_scatter"], "library": False}
    request["more_entries"] = []
    inputs = [np.arange(73) * 10**rank for rank in range(4)]
    with Ranks(request, seconds=5) as four:
        outcome = four.play(Call(inputs, [[19, 18, 18, 18]]))
        eleven = four.play(Call([x[:11] for x in inputs], [[3, 3, 3, 2]]))
    assert [each // 8 for each in outcome.traffic.sent] == [54, 55, 55, 55]
    assert [each // 8 for each in eleven.traffic.sent] == [8, 8, 8, 9]
    assert outcome.traffic.latency_terms == 3
    assert [each.array.tolist() for each in outcome.returned] == [
        (np.arange(73) * 1111)[start:end].tolist()
        for start, end in ((0, 19), (19, 37), (37, 55), (55, 73))
    ]


# the commands


def test_every_command_serves_an_array_program(tmp_path, monkeypatch):
    monkeypatch.setenv("ALLRANKS_WORK", str(tmp_path))
    run = CliRunner().invoke
    first = run(app, ["check", "06_repair_the_ring"])
    assert first.exit_code == 1
    assert "NOT YET  06_repair_the_ring" in first.output
    file = tmp_path / "06_repair_the_ring.py"
    assert file.read_text(encoding="utf-8") == REPAIR.stub.read_text(encoding="utf-8")
    file.write_text(RING, encoding="utf-8")
    passed = run(app, ["check", "repair_the_ring", "--json"])
    (verdict,) = json.loads(passed.output)["exercises"]
    assert (passed.exit_code, verdict["status"]) == (0, "pass")
    assert verdict["criteria"] == {"contract": 60, "bandwidth": 25, "latency": 15}
    assert REPAIR.hints[1] in run(app, ["hint", "06_repair_the_ring", "--number", "2"]).output
    assert "passing = rank.sendrecv" in run(app, ["solution", "06_repair_the_ring"]).output
    assert "your file is now" in run(app, ["reset", "06_repair_the_ring"]).output
    assert (tmp_path / "06_repair_the_ring.old1.py").read_text(encoding="utf-8") == RING


def test_limits_of_the_check_hold_for_the_ranks():
    source = body(
        "import resource\n"
        "print([resource.getrlimit(getattr(resource, 'RLIMIT_' + name))[0]"
        " for name in ('AS', 'FSIZE', 'CORE')])\nreturn x.copy()"
    )
    output = judged(source, small(worlds=(1,))).output
    assert output.strip() == str([process.LIMITS["rank_memory_bytes"], 0, 0])
    assert os.environ.get("ALLRANKS_CHECK") is None
