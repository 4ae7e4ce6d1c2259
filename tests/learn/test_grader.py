"""What the grader does with right, unusual, wrong, careless and hostile files."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from allranks.learn import process, schedules
from allranks.learn.exercises import ExerciseError, find_exercise
from allranks.learn.grader import check, grade, render
from allranks.learn.judges import JUDGES, AnswerError

SECONDS = 10.0
TREE = """
from allranks import Op, Transfer

def binomial_broadcast(world_size, root):
    d = 1
    while d < world_size:
        yield [Transfer((root + v) % world_size, (root + v + d) % world_size, 0, Op.COPY)
               for v in range(d) if v + d < world_size]
        d *= 2
"""


def judged(source, slug="03_binomial_broadcast", seconds=SECONDS):
    began = time.monotonic()
    verdict = grade(find_exercise(slug), source, "answer.py", seconds=seconds)
    # start-up is not the learner's time; on a busy machine it may take a few seconds
    assert time.monotonic() - began < 2 * seconds + 20
    return verdict


def body(code, head="world_size, root"):
    lines = "\n".join(f"    {line}" for line in code.splitlines())
    return f"from allranks import Op, Transfer\ndef binomial_broadcast({head}):\n{lines}\n"


# right answers, however they look

RIGHT = {
    "the other direction": TREE.replace("v + d)", "world_size - v - d)").replace(
        "(root + v) %", "(root + world_size - v) %"
    ),
    "far ranks first": """
from allranks import Op, Transfer

def binomial_broadcast(world_size, root):
    d = 1
    while d < world_size:
        d *= 2
    while d > 1:
        d //= 2
        yield [Transfer((root + v) % world_size, (root + v + d) % world_size, 0, Op.COPY)
               for v in range(0, world_size, 2 * d) if v + d < world_size]
""",
    "any rank that lacks it": """
import allranks as ar

def binomial_broadcast(world_size, root):
    have = [root]
    lack = [rank for rank in range(world_size) if rank != root]
    steps = []
    while lack:
        pairs = list(zip(have, lack))
        steps.append([ar.Transfer(src, dst, 0, ar.Op.COPY) for src, dst in pairs])
        have += [dst for _, dst in pairs]
        lack = lack[len(pairs):]
    return steps
""",
    "numpy numbers": TREE.replace("from allranks", "import numpy as np\nfrom allranks").replace(
        "for v in range(d)", "for v in np.arange(d)"
    ),
    "a dataclass of their own": TREE.replace(
        "from allranks import Op, Transfer",
        "from dataclasses import dataclass\nfrom allranks import Op\n\n"
        "@dataclass\nclass Transfer:\n"
        "    src: int\n    dst: int\n    chunk: int\n    op: Op\n",
    ),
    "plain tuples and words": TREE.replace("Transfer(", "(").replace("Op.COPY", "'copy'"),
    "dictionaries": """
def binomial_broadcast(world_size, root):
    d = 1
    while d < world_size:
        yield [
            dict(src=(root + v) % world_size, dst=(root + v + d) % world_size, chunk=0, op="COPY")
            for v in range(d) if v + d < world_size
        ]
        d *= 2
""",
    "helpers, generators as steps and empty steps": """
from allranks import Op, Transfer

def send(n, root, v, w):
    return Transfer((root + v) % n, (root + w) % n, 0, Op.COPY)

def binomial_broadcast(world_size, root):
    yield []
    d = 1
    while d < world_size:
        yield (send(world_size, root, v, v + d) for v in range(d) if v + d < world_size)
        yield ()
        d *= 2
""",
    "the parameters in another order": TREE.replace(
        "(world_size, root)", "(world_size, *, root=None)"
    ),
    "the other name": TREE.replace("def binomial_broadcast", "def binomial_tree_broadcast"),
    "a rank program": """
def binomial_broadcast(rank):
    n = rank.world_size
    v = (rank.id - rank.root) % n
    d = 1
    while d < n:
        if v < d and v + d < n:
            rank.send((rank.id + d) % n, chunk=0)
        elif d <= v < 2 * d:
            rank.recv((rank.id - d) % n, chunk=0)
        d *= 2
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_passes_however_it_looks(name):
    verdict = judged(RIGHT[name])
    assert verdict.status == "pass", verdict.message
    assert verdict.criteria == {"contract": 60, "bandwidth": 25, "latency": 15}


def test_the_first_exercise_passes_at_any_price_but_says_what_is_better():
    source = """
from allranks import Op, Transfer

def two_rank_exchange(world_size=2):
    yield [Transfer(0, 1, 0, Op.REDUCE)]
    yield [Transfer(1, 0, 0, Op.COPY)]
"""
    verdict = judged(source, "00_hello_collective")
    assert verdict.criteria == {"contract": 60, "bandwidth": 25, "latency": 0}
    assert verdict.status == "pass"
    assert "the result is right, but alpha is paid 2 times; the target is 1" in verdict.message


def test_a_price_within_a_third_of_the_target_earns_half_and_passes():
    extra = TREE.replace(
        "    d = 1\n",
        "    if world_size >= 8:\n"
        "        yield [Transfer(root, (root + 1) % world_size, 0, Op.COPY)]\n"
        "    d = 1\n",
    )
    verdict = judged(extra)
    assert verdict.status == "fail"  # at n = 8 that is 4 steps for 3, above 1.3 times
    late = extra.replace("world_size >= 8", "world_size == 16")
    verdict = judged(late)
    assert verdict.criteria == {"contract": 60, "bandwidth": 12.5, "latency": 7.5}
    assert verdict.status == "pass"
    assert "alpha is paid 5 times; the target is 4" in verdict.message


# wrong answers


def test_the_first_wrong_event_names_case_step_ranks_and_chunk():
    verdict = judged(body("yield [Transfer(root, world_size, 0, Op.COPY)]"))
    event = verdict.first_wrong_event
    assert verdict.status == "fail"
    assert (event["world_size"], event["root"], event["step"]) == (1, 0, 0)
    assert (event["src"], event["dst"], event["chunk"]) == (0, 1, 0)
    assert event["kind"] == "unknown_endpoint"
    assert verdict.message.startswith("n = 1, root 0: step 0")


def test_nothing_sent_is_a_missing_chunk_and_no_crash():
    verdict = judged(body("return []"))
    assert verdict.first_wrong_event["kind"] == "missing"
    assert verdict.first_wrong_event["world_size"] == 2


def test_a_program_whose_ranks_all_wait_is_told_who_waits_for_whom():
    code = "if rank.world_size > 1:\n    rank.recv(rank.right, chunk=0)"
    verdict = judged(body(code, "rank"))
    assert verdict.status == "fail"
    assert verdict.first_wrong_event["kind"] == "deadlock"
    assert "rank 0 waits for a send from rank 1 that never comes" in verdict.message


def test_the_verdict_as_json_has_the_keys_of_the_published_format():
    verdict = judged(body("return []"))
    data = json.loads(json.dumps(verdict.to_dict()))
    assert list(data) == [
        "slug",
        "status",
        "criteria",
        "first_wrong_event",
        "misconception",
        "message",
    ]
    assert data["criteria"] == {"contract": 0, "bandwidth": 0, "latency": 0}


# files that break a rule of form are told which

FORM = {
    "no step list": (body("yield Transfer(0, 1, 0, Op.COPY)"), "step 0 is a single transfer"),
    "nothing returned": (body("pass"), "the function returned nothing; yield steps"),
    "a number": (body("return 3"), "the function returned 3; it must be a list of steps"),
    "text": (body("return 'abc'"), "it must be a list of steps"),
    "a step that is a number": (body("yield 3"), "step 0 is 3; it must be a list of transfers"),
    "a float": (
        body("yield [Transfer(0, 2 / 2, 0, Op.COPY)]"),
        "dst is 1.0; it must be a whole number; divide with //",
    ),
    "a truth value": (body("yield [Transfer(False, True, 0, Op.COPY)]"), "src is False"),
    "not a number": (body("yield [Transfer(0, float('nan'), 0, Op.COPY)]"), "dst is nan"),
    "an enormous number": (
        body("yield [Transfer(0, 10 ** 5000, 0, Op.COPY)]"),
        "out of range",
    ),
    "no op": (body("yield [(0, 1, 0)]"), "write Transfer(src, dst, chunk, op)"),
    "another op": (body("yield [Transfer(0, 1, 0, 'add')]"), "op is 'add'; it must be Op.COPY"),
    "another first name": (body("return []", "n, root"), "it is called 'n'; call it world_size"),
    "no parameter": (body("return []", ""), "it has no parameter"),
    "nested lists": (body("a = []\nfor _ in range(900): a = [a]\nreturn a"), "step 0, transfer 0"),
}


@pytest.mark.parametrize("name", FORM)
def test_a_file_that_breaks_the_form_is_told_where_and_how_to_mend_it(name):
    source, said = FORM[name]
    verdict = judged(source)
    assert verdict.status == "fail"
    assert said in verdict.message


ERRORS = {
    "a syntax error": ("def binomial_broadcast(world_size, root)\n    pass\n", "line 1"),
    "no function": (
        "x = 1\n",
        "there is no function called binomial_broadcast; it defines no function",
    ),
    "another name": ("def tree(world_size, root): ...\n", "it defines tree. Keep the stub's name."),
    "an exception": (
        body("x = [][world_size]\nyield x"),
        "line 3 (`x = [][world_size]`) raises IndexError",
    ),
    "sys.exit": (body("import sys\nsys.exit(0)"), "remove the exit"),
    "exit": (body("exit()"), "remove the exit"),
    "os._exit": (body("import os\nos._exit(0)"), "your file ended its own process (exit code 0)"),
    "a keyboard interrupt": (body("raise KeyboardInterrupt"), "raises KeyboardInterrupt"),
    "generator exit": (body("raise GeneratorExit\nyield"), "raises GeneratorExit"),
    "an error without a text": (
        "class E(BaseException):\n    def __str__(self): raise self\n" + body("raise E"),
        "raises E",
    ),
    "deep recursion": (
        body("return binomial_broadcast(world_size, root)"),
        "a recursion has no end",
    ),
    "a crash": (body("import os\nos.abort()"), "the process crashed (SIGABRT)"),
    "input": (body("input('root? ')"), "remove input()"),
    "an op that is an arithmetic": (body("yield [Op.SUM]"), "Op has COPY and REDUCE"),
    "the library": (
        "from allranks.algorithms.tree import binomial_broadcast\n",
        "allranks.algorithms: write it yourself",
    ),
    "another part of the package": ("from allranks import schedule\n", "write it yourself"),
    "an attribute of the package": (
        "import allranks as ar\n"
        + body("return ar.schedule('broadcast', 'binomial', world_size=4)"),
        "allranks.schedule: write it yourself",
    ),
    "a module that is not there": (
        "import no_such_module\n",
        "an answer needs the standard library at most",
    ),
    "a child process": (body("import os\nos.fork()"), "an exercise starts no process"),
    "a command": (
        body("import subprocess\nsubprocess.run(['true'])"),
        "an exercise starts no process",
    ),
    "a connection": (
        body("import socket\nsocket.create_connection(('127.0.0.1', 9))"),
        "an exercise starts no process and opens no connection",
    ),
    "too few parameters": (body("return []", "world_size"), "raises TypeError"),
    "memory": (body("return [[]] * 10 ** 9"), "it asked for more than 2 GiB of memory"),
    "a closed channel": (body("import os\nos.closerange(0, 64)\nreturn []"), "n = 1, root 0"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_file_that_cannot_be_run_to_its_end_is_an_error_in_words(name):
    source, said = ERRORS[name]
    verdict = judged(source)
    assert verdict.status == "error", verdict.message
    assert said in verdict.message
    assert "Traceback" not in render(verdict)


ENDLESS = {
    "a loop": (body("while True: pass"), "error", "no answer within 1 s of computing"),
    "a sleep": (body("import time\ntime.sleep(1e6)"), "error", "no answer within 1 s of computing"),
    "a loop that ignores signals": (
        "import signal\nfor s in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:\n"
        "    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\n"
        + body("while True: pass"),
        "error",
        "no answer within 1 s of computing",
    ),
    "a schedule": (body("while True: yield []"), "fail", "more than 4096 steps"),
    "a step": (
        body("import itertools\nyield (Transfer(0, 1, 0, Op.COPY) for _ in itertools.count())"),
        "fail",
        "more than 20000 transfers",
    ),
    "a list of a thousand million steps": (
        body("class Long(list):\n    def __iter__(self): return iter(range(10**9))\nreturn Long()"),
        "fail",
        "step 0 is 0",
    ),
    "a flood of output": (body("while True: print('x' * 10**5)"), "error", "no answer within 1 s"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_ends_gets_a_verdict_in_the_stated_seconds(name):
    source, status, said = ENDLESS[name]
    verdict = judged(source, seconds=1.0)
    assert verdict.status == status
    assert said in verdict.message
    assert len(verdict.output) < 70_000


@pytest.mark.slow
def test_one_endless_file_does_not_keep_the_others_from_being_graded(tmp_path, monkeypatch):
    monkeypatch.setenv("ALLRANKS_WORK", str(tmp_path))
    (tmp_path / "00_hello_collective.py").write_text("while True: pass\n", encoding="utf-8")
    (tmp_path / "03_binomial_broadcast.py").write_text(TREE, encoding="utf-8")
    status = {verdict.slug: verdict.status for verdict in check(seconds=3.0)}
    assert status["00_hello_collective"] == "error"
    assert status["03_binomial_broadcast"] == "pass"
    assert status["03_pipelined_chain"] == "fail"


# files that try to write their own verdict

LIES = {
    "a printed verdict": body("print('PASS  03_binomial_broadcast')\nreturn []"),
    "a patched encoder": "import json\njson.dumps = lambda *a, **k: '[]'\n" + body("return []"),
    "a patched writer": "import os\nos.write = lambda *a: 0\n" + body("return []"),
    "a patched verifier": (
        "import sys\nfor m in list(sys.modules.values()):\n"
        "    for name in ('verify', 'grade', 'check'):\n"
        "        if hasattr(m, name): setattr(m, name, lambda *a, **k: None)\n" + body("return []")
    ),
    "an int that equals everything": (
        "class E(int):\n"
        "    def __eq__(self, other): return True\n    def __hash__(self): return 0\n"
        "    def __index__(self): return 7\n    def __repr__(self): return '0'\n"
        + body("yield [Transfer(E(0), E(1), E(0), Op.COPY)]")
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_file_that_lies_about_itself_is_judged_by_what_it_sent(name):
    verdict = judged(LIES[name])
    assert verdict.status == "fail"
    assert verdict.criteria["contract"] == 0


def forged(code):
    """Code that finds the channel and writes into it by itself."""
    return body(
        "import json, os, struct, sys\n"
        "channel = int(sys.argv[2])\n"
        "def frame(data):\n"
        "    os.write(channel, struct.pack('>I', len(data)) + data)\n" + code + "\nos._exit(0)"
    )


def frames(*events):
    return "\n".join(f"frame({json.dumps(event).encode()!r})" for event in events)


DONE = {"event": "done"}
FORGED = {
    "done at once": frames(DONE),
    "no JSON": "frame(b'hello')",
    "a list": "frame(b'[1, 2]')",
    "deep JSON": "frame(b'[' * 100000)",
    "a frame of four gigabytes": r"os.write(channel, b'\xff\xff\xff\xff')",
    "an unknown event": frames({"event": "pass", "status": "pass"}),
    "a case out of order": frames({"event": "case", "case": 7, "answer": []}, DONE),
    "a strange report": frames({"event": "raised", "case": "x", "type": 3, "family": 4}, DONE),
    "a strange complaint": frames({"event": "complaint", "case": [], "step": "a"}, DONE),
    "names that are none": frames({"event": "no_entry", "defined": 3}, DONE),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_message_never_passes_and_is_never_our_fault(name):
    verdict = judged(forged(FORGED[name]))
    assert verdict.status in ("error", "fail"), verdict.message


def test_a_frame_that_announces_gigabytes_ends_the_check_at_once():
    code = "os.write(channel, bytes([255] * 4))\nimport time\ntime.sleep(100)"
    verdict = judged(forged(code))
    assert verdict.status == "error"
    assert "it sent more than a check ever needs" in verdict.message


def test_rows_that_are_no_schedule_are_refused_wherever_they_come_from():
    rows = {"event": "case", "case": 0, "answer": [[[0, True, float("inf"), "copy"]], "x"]}
    verdict = judged(forged(frames(rows, DONE)))
    assert verdict.status == "fail"
    assert verdict.first_wrong_event["kind"] == "format"


# a clean run, and what is shown of it


def test_a_file_that_leans_on_a_leftover_of_another_run_fails_in_every_run():
    leftover = "import builtins\nbuiltins.answer_of_before = 1\n" + TREE
    leaning = TREE + "\nanswer_of_before\n"
    assert judged(leftover).status == "pass"
    for _ in range(2):
        verdict = judged(leaning)
        assert verdict.status == "error"
        assert "NameError" in verdict.message


def test_what_a_file_prints_is_shown_but_cannot_move_the_cursor():
    verdict = judged("print('hello \\x1b[2J\\r\\x07', 'gr\\u00fc\\u00dfe')\n" + TREE)
    shown = render(verdict)
    assert verdict.status == "pass"
    assert "| hello \N{REPLACEMENT CHARACTER}[2J" in shown
    assert "gr\u00fc\u00dfe" in shown
    assert "\x1b" not in shown


def test_a_main_block_is_not_run_and_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "my answer.py"
    path.write_text("\ufeff" + TREE + "\nif __name__ == '__main__':\n    1 / 0\n", encoding="utf-8")
    (verdict,) = check("binomial_tree_broadcast", file=path)
    assert verdict.status == "pass"


def test_nothing_of_a_check_keeps_running(tmp_path):
    marker = tmp_path / "pid"
    source = body(
        "import ctypes, os, time\n"
        "if world_size == 1 and ctypes.CDLL(None).fork() == 0:\n"
        "    os.setsid()\n"
        f"    open({str(marker)!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        f"while not os.path.exists({str(marker)!r}): time.sleep(0.01)\n"
        "time.sleep(0.01)\n"
        "return []"
    )
    assert judged(source).status == "fail"
    pid = int(marker.read_text(encoding="utf-8"))
    stat = Path(f"/proc/{pid}/stat")
    assert (
        not stat.exists() or stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    )


# faults that are not the learner's


def test_a_check_that_cannot_start_is_not_graded(monkeypatch):
    monkeypatch.setattr(process, "CHILD", Path("/no/such/child.py"))
    verdict = judged(TREE)
    assert verdict.status == "ungraded"
    assert verdict.criteria == {"contract": None, "bandwidth": None, "latency": None}
    assert "This does not count" in render(verdict)


def test_a_machine_without_processes_to_spare_is_not_graded(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(process.subprocess, "Popen", refuse)
    assert judged(TREE).status == "ungraded"


def test_a_fault_of_the_checker_is_not_graded(monkeypatch):
    def fault(_schedule):
        raise ZeroDivisionError

    monkeypatch.setattr(schedules, "verify", fault)
    verdict = judged(TREE)
    assert verdict.status == "ungraded"
    assert "a fault of the checker" in verdict.message


def test_a_process_that_somebody_kills_is_not_graded():
    source = body("import ctypes, os\nctypes.CDLL(None).kill(os.getpid(), 9)\nreturn []")
    assert judged(source).status == "ungraded"


# bad input of the person who checks


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read (No such file or directory)"),
        (b"\xff\xfe\x00", "byte 0 is not UTF-8"),
        (b"#" * (2**20 + 1), "at most 1 MiB"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(tmp_path, content, said):
    path = tmp_path / "answer.py"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ExerciseError, match=r"answer\.py: ") as caught:
        check("03_binomial_broadcast", file=path)
    assert said in str(caught.value)


def test_a_folder_is_no_answer(tmp_path):
    with pytest.raises(ExerciseError, match="cannot be read"):
        check("03_binomial_broadcast", file=tmp_path)


def test_a_file_without_the_name_of_an_exercise_is_refused(tmp_path):
    with pytest.raises(ExerciseError, match="say which exercise it answers"):
        check(file=tmp_path / "x.py")


def test_the_child_gets_no_variables_but_the_few_it_needs(monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_SHELL", "1")
    monkeypatch.setenv("PYTHONSTARTUP", os.devnull)
    source = "import os\nprint(sorted(os.environ))\n" + TREE
    assert "SECRET" not in judged(source).output


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_answer(device):
    with pytest.raises(ExerciseError, match="not a regular file"):
        check("03_binomial_broadcast", file=device)


def test_a_pipe_that_nobody_writes_is_no_answer(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(ExerciseError, match="not a regular file"):
        check("03_binomial_broadcast", file=tmp_path / "pipe.py")


# what the checker itself spends


def counted(monkeypatch, name):
    calls = []
    original = getattr(schedules, name)

    def counting(*arguments):
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(schedules, name, counting)
    return calls


def test_a_few_broken_cases_are_enough_for_a_verdict(monkeypatch):
    verified = counted(monkeypatch, "verify")
    searched = counted(monkeypatch, "_lost_chunks")
    moved = counted(monkeypatch, "_right_for_root_0")
    code = "for _ in range(40): yield [Transfer(root, (root + 1) % world_size, 0, Op.COPY)]"
    verdict = judged(body(f"if world_size == 1: return []\n{code}"))
    assert verdict.status == "fail"
    assert verdict.message.startswith("n = 3, root 0: ")
    # one rank, two roots of two ranks, three broken roots of three; two are moved to root 0
    assert len(verified) <= 1 + 2 + schedules.MAX_BROKEN + len(moved)
    assert len(moved) <= schedules.MAX_BROKEN - 1
    assert searched == []  # no feedback of this exercise asks for it


def test_right_answers_that_never_end_repeating_are_bounded_over_all_cases(monkeypatch):
    priced = counted(monkeypatch, "price_of")
    verdict = judged(TREE + "    for _ in range(4000):\n        yield []\n", seconds=3 * SECONDS)
    assert verdict.status == "fail"
    limit = process.LIMITS["total"]
    assert f"more than {limit} steps and transfers" in verdict.message
    assert verdict.first_wrong_event["kind"] == "endless"
    assert len(priced) <= limit // 4000


def test_forged_answers_are_bounded_over_all_cases_by_the_parent(monkeypatch):
    priced = counted(monkeypatch, "price_of")
    exercise = find_exercise("03_binomial_broadcast")
    # empty steps until the case ends, and the promise is kept: only one rank
    events = [{"event": "case", "case": 0, "answer": [[]] * (process.LIMITS["total"] + 1)}]
    monkeypatch.setattr(process, "run", lambda *_, **__: process.Run("done", events=events))
    verdict = grade(exercise, "", "answer.py")
    assert verdict.status == "fail"
    assert "steps and transfers" in verdict.message
    assert priced == []


# numbers and exceptions that are hard to write down

OUT_OF_RANGE = {
    "infinity": "float('inf')",
    "minus infinity": "float('-inf')",
    "NaN": "float('nan')",
    "infinity of NumPy": "__import__('numpy').float64('inf')",
    "infinity in half the bits": "__import__('numpy').float32('inf')",
    "a large float": "1e300",
    "a large int": "10**20",
    "a huge int": "10**400",
    "an int that cannot be written": "10**5000",
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_a_number_out_of_range_fails_in_a_sentence(name):
    source = f"def best_k(n, nbytes, alpha, beta):\n    return {OUT_OF_RANGE[name]}\n"
    verdict = judged(source, "03_choose_segments")
    assert verdict.status == "fail", verdict.message
    assert verdict.message.startswith(
        "best_k(world_size=6, nbytes=48000000, alpha=4e-06, beta=4e-11): "
    )
    assert "out of range; return a finite number below 2^53" in verdict.message
    assert "\n" not in verdict.message
    assert set(verdict.criteria.values()) == {0, None}


@pytest.mark.parametrize("answer", [float("inf"), float("-inf"), float("nan")])
def test_the_judge_of_segments_weighs_no_float_that_is_no_number(answer):
    judge = JUDGES["segments"]
    with pytest.raises(AnswerError, match="out of range; return a finite number below 2"):
        judge.facts(judge.cases()[0], answer)


@pytest.mark.parametrize("rank", ["10**20", "10**5000", "-10**5000"])
def test_a_rank_out_of_range_is_called_that(rank):
    verdict = judged(body(f"yield [Transfer(root, {rank}, 0, Op.COPY)]"))
    assert verdict.status == "fail"
    assert "step 0, transfer 0: dst is a whole number of " in verdict.message
    assert "out of range" in verdict.message
    assert "must be a whole number" not in verdict.message


SHY = {
    "str": "def __str__(self): raise ValueError",
    "name": "name = property(lambda self: 1 / 0)",
    "traceback": "__traceback__ = property(lambda self: 1 / 0)",
    "class": "__class__ = property(lambda self: 1 / 0)",
}


@pytest.mark.parametrize("kind", SHY)
def test_an_exception_that_raises_when_asked_is_still_reported_with_its_line(kind):
    verdict = judged(
        f"class Shy(Exception):\n    {SHY[kind]}\n\n"
        "def binomial_broadcast(world_size, root):\n    raise Shy\n"
    )
    assert verdict.status == "error"
    assert "line 5 (`raise Shy`) raises Shy" in verdict.message


def test_both_ranks_sending_twice_in_one_step_are_not_told_to_send_in_one_step():
    both = "Transfer(0, 1, 0, Op.REDUCE), Transfer(1, 0, 0, Op.REDUCE)"
    for steps in (f"[{both}] * 2", f"[{both}]; yield [{both}]"):
        source = (
            "from allranks import Op, Transfer\n"
            f"def two_rank_exchange(world_size):\n    yield {steps}\n"
        )
        verdict = judged(source, "00_hello_collective")
        assert verdict.status == "fail"
        assert verdict.first_wrong_event["kind"] == "double_count"
        assert verdict.misconception is None
        assert "in the same step" not in verdict.message


# an exercise that may refuse some numbers of ranks

DOUBLING = """
from allranks import Op, Transfer

def recursive_doubling_all_gather(world_size):
    {guard}
    d = 1
    while d < world_size:
        yield [Transfer(r, r ^ d, r - r % d + b, Op.COPY)
               for r in range(world_size) for b in range(d)]
        d *= 2
"""
BRUCK = """
from allranks import Op, Transfer

def recursive_doubling_all_gather(world_size):
    d = 1
    while d < world_size:
        yield [Transfer(r, (r - d) % world_size, (r + b) % world_size, Op.COPY)
               for r in range(world_size) for b in range(min(d, world_size - d))]
        d *= 2
"""


def doubling(guard):
    return judged(DOUBLING.format(guard=guard), "04_recursive_doubling_all_gather")


def test_a_refusal_with_a_sentence_passes_where_it_is_allowed():
    refusal = "raise ValueError(f'{world_size} ranks: this needs a power of two')"
    verdict = doubling(f"if world_size & (world_size - 1): {refusal}")
    assert verdict.status == "pass", verdict.message
    assert verdict.message.endswith("; the busiest rank receives 0.9375 S.")


def test_a_refusal_without_a_sentence_does_not_pass():
    verdict = doubling("if world_size & (world_size - 1): raise ValueError")
    assert verdict.status == "fail"
    assert verdict.message.startswith("n = 3: it raises ValueError without a sentence")
    assert verdict.first_wrong_event["kind"] == "refusal"


ACCIDENTS = {
    "a number that is none": "int('not a number')",
    "an index that is not there": "['a', 'b'].index('no such word')",
    "a call in the line of a raise": "raise ValueError(int('not a number'))",
    "unpacking": "a, b = [1, 2, 3]",
}


@pytest.mark.parametrize("name", ACCIDENTS)
def test_a_value_error_that_nobody_raised_on_purpose_is_no_refusal(name):
    verdict = doubling(f"if world_size & (world_size - 1): {ACCIDENTS[name]}")
    assert verdict.status == "error", verdict.message
    assert "n = 3: line 5" in verdict.message
    assert "raises ValueError" in verdict.message


def test_a_sentence_may_be_put_together_over_lines_or_in_a_helper():
    parts = "raise ValueError(\n        'this needs a '\n        'power of two'\n    )"
    assert doubling(f"if world_size & (world_size - 1): {parts}").status == "pass"
    helper = "\ndef refuse():\n    raise ValueError('this needs a power of two')\n"
    source = DOUBLING.format(guard="if world_size & (world_size - 1): refuse()") + helper
    assert judged(source, "04_recursive_doubling_all_gather").status == "pass"


def test_refusing_what_can_be_served_is_an_error_of_the_file():
    verdict = doubling("if world_size != 4: raise ValueError('I like four ranks only')")
    assert verdict.status == "error"
    assert "n = 1" in verdict.message
    assert "I like four ranks only" in verdict.message


def test_who_serves_every_number_of_ranks_need_not_refuse_any():
    assert judged(BRUCK, "04_recursive_doubling_all_gather").status == "pass"


def test_who_serves_what_may_be_refused_passes_at_any_price():
    source = """
from allranks import Op, Transfer

def recursive_halving(world_size):
    n = world_size
    if n & (n - 1):
        for s in range(1, n):
            yield [Transfer(r, (r + s) % n, (r + s) % n, Op.REDUCE) for r in range(n)]
        return
    d = n // 2
    while d:
        yield [Transfer(r, r ^ d, (r ^ d) - (r ^ d) % d + b, Op.REDUCE)
               for r in range(n) for b in range(d)]
        d //= 2
"""
    verdict = judged(source, "05_recursive_halving")
    assert verdict.status == "pass", verdict.message
    assert verdict.criteria == {"contract": 60, "bandwidth": 25, "latency": 15}
    slow = judged(source.replace("n & (n - 1)", "n > 1"), "05_recursive_halving")
    assert slow.status == "fail"


def test_no_other_exercise_takes_a_refusal_for_an_answer():
    verdict = judged(body("raise ValueError('root 0 is all that this can serve')\nyield"))
    assert verdict.status == "error"
