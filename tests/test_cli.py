"""The command line as a newcomer meets it: what it prints, and with which exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import allranks as ar
from allranks.cli import FINE, MISSING, USAGE, WRONG, main


@pytest.fixture
def allranks(monkeypatch, capsys):
    """Run the command line in this process; return (status, standard output, standard error)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["allranks", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return run


def _written(tmp_path, text):
    file = tmp_path / "schedule.json"
    file.write_text(text, encoding="utf-8")
    return file


def test_schedule_prints_json_that_reads_back(allranks):
    status, out, _ = allranks("schedule", "all_reduce", "ring", "-n", 4)
    assert status == FINE
    assert ar.Schedule.from_json(out) == ar.schedule("all_reduce", "ring", world_size=4)


def test_schedule_as_text_names_ranks_and_switches(allranks):
    _, out, _ = allranks("schedule", "all_reduce", "sharp", "-n", 2, "--format", "text")
    assert "rank 1 -> switch 0  chunk 0  reduce" in out
    assert "switch 0 -> rank 1  chunk 0  copy" in out


def test_schedule_takes_root_and_chunks(allranks):
    arguments = ["schedule", "broadcast", "chain", "-n", 3, "--root", 2, "--chunks", 5]
    _, out, _ = allranks(*arguments)
    assert ar.Schedule.from_json(out) == ar.schedule(
        "broadcast", "chain", world_size=3, root=2, num_chunks=5
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["schedule", "all_redcue", "ring", "-n", 4], ["all_redcue", "all_reduce"]),
        (["schedule", "all_reduce", "rign", "-n", 4], ["rign", "'ring'"]),
        (["schedule", "all_reduce", "ring", "-n", 0], ["world_size is 0"]),
        (["schedule", "all_reduce", "ring", "-n", -3], ["world_size is -3"]),
        (["schedule", "broadcast", "chain", "-n", 4, "--chunks", 0], ["num_chunks is 0"]),
        (["schedule", "broadcast", "chain", "-n", 4, "--root", 4], ["root is 4", "0 to 3"]),
        (["schedule", "all_reduce", "ring", "-n", 4, "--root", 1], ["no root"]),
        (["schedule", "all_reduce", "ring", "-n", 4, "--format", "yaml"], ["yaml", "text"]),
        (["schedule", "all_reduce", "ring", "-n", "four"], ["-n", "integer"]),
        (["schedule", "all_reduce", "ring"], ["-n"]),
        (["price", "all_reduce", "-n", 4, "--size", "-1MB", "--preset", "bench"], ["-1MB"]),
        (["price", "all_reduce", "-n", 4, "--size", "lots", "--preset", "bench"], ["lots"]),
        (["price", "all_reduce", "-n", 4, "--size", "1MB"], ["--alpha", "--bandwidth"]),
        (["price", "all_reduce", "-n", 4, "--size", "1MB", "--preset", "bank"], ["bank", "bench"]),
        (["busbw", "all_gather", "-n", 0, "--size", "1MB", "--time", "1us"], ["world_size is 0"]),
        (["schedule", "all_reduce", "ring", "-n", 100_000], ["transfers", "price"]),
        (["schedule", "broadcast", "flat", "-n", 10**9], ["transfers", "price"]),
        (["schedule", "broadcast", "chain", "-n", 3, "--chunks", 10**9], ["transfers"]),
        (["run", "all_reduce", "-n", 2, "--size", "1KiB", "--trace", "."], ["."]),
        (["run", "all_reduce", "-n", 2, "--size", "10B"], ["10", "float32"]),
        (["run", "all_reduce", "-n", 2, "--size", "1KiB", "--dtype", "float33"], ["float33"]),
        (["run", "all_reduce", "-n", 2, "--size", "1KiB", "--dtype", "object"], ["object"]),
        (["run", "all_reduce", "-n", 2, "--size", "1KiB", "--device", "tpu"], ["tpu"]),
        (["check", "00_hello_colective"], ["00_hello_collective"]),
        (["verify", "no-such-file.json"], ["no-such-file.json"]),
    ],
)
def test_bad_input_is_one_clear_sentence_and_status_2(allranks, arguments, words):
    status, out, err = allranks(*arguments)
    assert status == USAGE, err
    assert "Traceback" not in out + err
    for word in words:
        assert word in err


def test_verify_proves_a_right_schedule(allranks, tmp_path):
    file = _written(tmp_path, ar.schedule("all_reduce", "ring", world_size=5).to_json())
    status, out, _ = allranks("verify", file)
    assert status == FINE
    assert out == "proved: all_reduce on 5 ranks, 5 chunks, 8 steps, 40 transfers\n"


def test_verify_names_the_first_wrong_event_and_ends_with_status_1(allranks, tmp_path):
    ring = ar.schedule("all_reduce", "ring", world_size=4)
    copied = [list(step) for step in ring.steps]
    copied[4][0] = copied[4][0]._replace(op=ar.Op.REDUCE)
    wrong = ar.Schedule("all_reduce", "mine", 4, 4, tuple(map(tuple, copied)))
    file = _written(tmp_path, wrong.to_json())
    status, out, err = allranks("verify", file)
    assert (status, out) == (WRONG, "")
    assert "step 4" in err
    status, out, _ = allranks("verify", file, "--json")
    assert status == WRONG
    answer = json.loads(out)
    assert answer["ok"] is False
    error = answer["error"]
    assert (error["kind"], error["step"], error["src"], error["dst"]) == ("double_count", 4, 0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"format":"allranks.schedule/2"}',
        '{"format":"allranks.schedule/1","collective":"all_reduce","world_size":0,"num_chunks":1,"steps":[]}',
        '{"format":"allranks.schedule/1","collective":"all_reduce","world_size":2,"num_chunks":0,"steps":[]}',
        '{"format":"allranks.schedule/1","collective":"all_reduce","world_size":2,"num_chunks":1,"steps":[[[0,1,0]]]}',
        '{"format":"allranks.schedule/1","collective":"all_reduce","world_size":2,"num_chunks":1,"steps":[[[0,1,0,"add"]]]}',
        '{"format":"allranks.schedule/1","collective":"all_redcue","world_size":2,"num_chunks":1,"steps":[]}',
        "[" * 100_000,
    ],
)
def test_verify_refuses_what_is_not_a_schedule_with_status_2(allranks, tmp_path, text):
    status, out, err = allranks("verify", _written(tmp_path, text))
    assert (status, out) == (USAGE, ""), err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err


def test_verify_refuses_a_binary_file(allranks, tmp_path):
    file = tmp_path / "picture.png"
    file.write_bytes(b"\x89PNG\xff\xfe")
    status, _, err = allranks("verify", file)
    assert status == USAGE
    assert "not a text file" in err


def test_price_lists_every_algorithm_and_marks_the_fastest(allranks):
    arguments = ["price", "broadcast", "-n", 6, "--size", "48MB", "--preset", "bench"]
    status, out, _ = allranks(*arguments)
    assert status == FINE
    marked = [line for line in out.splitlines() if line.endswith("fastest")]
    assert len(marked) == 1
    assert marked[0].startswith("chain, k=44 ")
    assert "2.287 ms" in marked[0]


def test_price_as_json_has_the_fields_of_the_api_in_base_units(allranks):
    arguments = ["price", "all_reduce", "--algorithm", "ring", "-n", 6, "--size", "48MB"]
    status, out, _ = allranks(*arguments, "--alpha", "4us", "--bandwidth", "25GB/s", "--json")
    assert status == FINE
    (row,) = json.loads(out)
    assert row["seconds"] == pytest.approx(3240e-6)
    assert (row["steps"], row["bytes_sent_max"], row["messages"]) == (10, 80e6, 60)
    assert row["lower_bound_seconds"] <= row["seconds"]


def test_price_names_the_bound_of_those_that_a_switch_helps(allranks):
    arguments = ["price", "all_reduce", "-n", 8, "--size", "256MiB", "--preset", "dgx-h100"]
    status, out, _ = allranks(*arguments)
    assert status == FINE
    assert re.search(r"^nvls, k=\d+ .* x .* fastest$", out, re.MULTILINE)
    assert re.search(r"^direct .* 1\.00 x .* fastest without a switch", out, re.MULTILINE)
    assert re.search(r"^lower bound \S+ ms; for nvls \S+ µs$", out, re.MULTILINE)
    assert "where a switch adds, busbw is not the speed of a wire" in out
    assert "`allranks machines dgx-h100` says more" in out
    assert re.search(r"^left out: sharp \(.*adds", out, re.MULTILINE)


def test_price_takes_the_nodes_of_the_machine_for_a_hierarchy(allranks):
    arguments = ["price", "all_reduce", "-n", 144, "--size", "1GiB", "--preset", "gb200-nvl72"]
    _, out, _ = allranks(*arguments)
    assert "hierarchical, nodes of 72 " in out
    _, out, _ = allranks(*arguments, "--node-size", 36, "--algorithm", "hierarchical", "--json")
    assert [row["node_size"] for row in json.loads(out)] == [36]


def test_price_refuses_what_no_algorithm_takes_and_a_machine_named_twice(allranks):
    arguments = ["price", "broadcast", "-n", 4, "--size", "1MB", "--preset", "bench"]
    status, _, err = allranks(*arguments, "--radix", 3)
    assert (status, "no algorithm of broadcast takes it" in err) == (USAGE, True)
    status, _, err = allranks(*arguments, "--root", 9)
    assert (status, err.count("root is 9")) == (USAGE, 1)
    status, _, err = allranks(*arguments, "--alpha", "1us")
    assert (status, "either --alpha and --bandwidth" in err) == (USAGE, True)


def test_one_rank_has_no_winner(allranks):
    _, out, _ = allranks("price", "all_reduce", "-n", 1, "--size", "1MB", "--preset", "bench")
    assert "fastest" not in out


def test_machines_say_where_their_numbers_come_from(allranks):
    _, out, _ = allranks("machines")
    assert {line.split()[0] for line in out.splitlines()} == set(ar.PRESETS)
    _, out, _ = allranks("machines", "dgx-h100")
    assert "NVIDIA/nccl-tests#212" in out
    assert "450 GB/s" in out
    assert json.loads(allranks("machines", "bench", "--json")[1])["bench"]["read"] == "2026-11"
    status, _, err = allranks("machines", "dgx-h10")
    assert (status, "dgx-h100" in err) == (USAGE, True)


def test_algorithms_are_listed_with_what_they_need(allranks):
    _, out, _ = allranks("algorithms", "all_gather")
    assert re.search(r"^  recursive_doubling +needs a power of two$", out, re.MULTILINE)
    told = json.loads(allranks("algorithms", "--json")[1])
    assert {of: set(names) for of, names in told.items()} == {
        of: set(ar.algorithms(of)) for of in told
    }


def test_price_shows_one_pipeline_uncut_and_at_its_best(allranks):
    arguments = ["price", "broadcast", "--algorithm", "chain", "-n", 6, "--size", "48MB"]
    _, out, _ = allranks(*arguments, "--preset", "bench", "--json")
    assert [row["num_chunks"] for row in json.loads(out)] == [1, 44]


def test_prove_says_for_how_many_ranks_and_by_which_symmetry(allranks):
    status, out, _ = allranks("prove", "all_reduce", "ring", "-n", 131_072)
    assert status == FINE
    assert "proved for 131,072 ranks, 131,072 chunks, 34,359,476,224 transfers" in out
    assert "rotation" in out
    status, out, _ = allranks("prove", "all_to_all", "pairwise", "-n", 6, "--json")
    told = json.loads(out)
    assert (status, told["ok"], told["world_size"], told["transfers"]) == (FINE, True, 6, 30)
    status, _, err = allranks("prove", "all_gather", "recursive_doubling", "-n", 6)
    assert status == USAGE
    assert "power of two" in err


def test_price_marks_the_winner_for_each_size_of_a_span(allranks):
    arguments = ["price", "broadcast", "-n", 6, "--size", "3kB..48MB", "--preset", "bench"]
    status, out, _ = allranks(*arguments)
    assert status == FINE
    head, *lines = out.splitlines()[1:-2]
    assert head.split()[:3] == ["algorithm", "3", "kB"]
    assert len(head.split()) == 1 + 2 * 7  # 3 kB times 4, up to 12.288 MB
    winners = {line.split()[0]: line.count("*") for line in lines}
    assert sum(winners.values()) == 7
    assert winners["binomial"] == 4  # 3, 12, 48, 192 kB; scatter_all_gather from 375 kB
    assert winners["chain"] == 2  # from 2.25 MB


def test_price_takes_several_sizes_and_refuses_a_span_that_goes_down(allranks):
    arguments = ["price", "broadcast", "-n", 6, "--preset", "bench", "--json"]
    _, out, _ = allranks(*arguments, "--size", "1MB", "--size", "2MB", "--algorithm", "flat")
    assert [row["nbytes"] for row in json.loads(out)] == [1_000_000, 2_000_000]
    for span in ("2MB..1MB", "0..1MB"):
        status, out, err = allranks(*arguments, "--size", span)
        assert (status, out) == (USAGE, "")
        assert "a size above 0 up" in err


def test_price_understands_a_decimal_comma(allranks):
    arguments = ["price", "all_reduce", "--algorithm", "ring", "-n", 2, "--size", "1,5MB"]
    _, out, _ = allranks(*arguments, "--preset", "bench", "--json")
    assert json.loads(out)[0]["nbytes"] == 1_500_000


def test_busbw_is_what_nccl_tests_prints(allranks):
    arguments = ["busbw", "all_reduce", "-n", 2, "--size", "1310720", "--time", "1.048576s"]
    _, out, _ = allranks(*arguments, "--json")
    assert json.loads(out) == {"algbw": 1.25e6, "busbw": 1.25e6, "note": ""}


@pytest.mark.parametrize("arguments", [["-n", 4, "--time", "0s"], ["-n", 1, "--time", "0us"]])
def test_busbw_at_zero_time_is_not_defined(allranks, arguments):
    status, out, _ = allranks("busbw", "all_reduce", "--size", "1MB", *arguments)
    assert status == FINE
    assert "not defined" in out


def test_check_of_a_stub_fails_with_status_1(allranks):
    stub = Path("exercises/00_hello_collective/stub.py")
    status, out, err = allranks("check", "00_hello_collective", "--file", stub)
    assert status == WRONG, err
    assert "00_hello_collective" in out


def test_check_as_json_has_one_row_an_exercise(allranks):
    solution = Path("tests/learn/wrong/00_hello_collective/copy_copy.py")
    status, out, _ = allranks("check", "00_hello_collective", "--file", solution, "--json")
    assert status == WRONG
    (row,) = json.loads(out)["exercises"]
    assert (row["slug"], row["status"]) == ("00_hello_collective", "fail")
    assert set(row["criteria"]) == {"contract", "bandwidth", "latency"}


def test_check_says_what_is_missing_when_there_is_no_such_file(allranks):
    status, _, err = allranks("check", "00_hello_collective", "--file", "nothing.py")
    assert status == USAGE
    assert "nothing.py" in err


def test_doctor_reports_as_text_and_as_json(allranks):
    status, out, err = allranks("doctor")
    assert status in {FINE, MISSING}, err
    assert "shm" in out
    _, out, _ = allranks("doctor", "--json")
    assert {"status", "what", "detail"} <= set(json.loads(out)["findings"][0])


@pytest.mark.ray
def test_run_says_what_was_measured_and_writes_the_trace(tmp_path):
    trace = tmp_path / "trace.json"
    arguments = ["run", "all_reduce", "-n", 3, "--size", "1MiB", "--dtype", "float32"]
    command = [sys.executable, "-m", "allranks", *map(str, arguments)]
    done = subprocess.run(
        [*command, "--trace", trace, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == FINE, done.stderr
    answer = json.loads(done.stdout)
    assert answer["ok"] is True
    assert answer["label"] == "MEASURED: CPU processes"
    assert answer["transports"] == ["shm"]
    read = ar.Trace.from_json(trace.read_text(encoding="utf-8"))
    assert read.label == answer["label"]
    assert len(read.records) == 3 * 4


def test_output_is_utf_8_in_any_locale():
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-m", "allranks", "schedule", "all_reduce", "→ring", "-n", "4"]
    answer = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert answer.returncode == USAGE
    assert "→ring" in answer.stderr.decode()


def test_help_lists_every_command(allranks):
    status, out, _ = allranks("--help")
    assert status == FINE
    for command in ("open", "build", "schedule", "verify", "price", "busbw", "run", "check"):
        assert command in out


def test_hints_tell_more_with_each_number_and_end(allranks):
    told = [allranks("hint", "03_binomial_broadcast", "--number", k)[1] for k in (1, 2, 3)]
    assert len(set(told)) == 3
    assert ["--number" in text for text in told] == [True, True, False]
    assert "(more: allranks hint 03_binomial_broadcast --number 2)" in told[0]
    status, _, err = allranks("hint", "03_binomial_broadcast", "--number", 4)
    assert status == USAGE
    assert "1 to 3" in err


def test_solution_prints_source_and_the_reason(allranks):
    status, out, _ = allranks("solution", "00_hello_collective")
    assert status == FINE
    assert "def two_rank_exchange" in out
    assert "# Why:" in out


def test_reset_keeps_what_the_learner_wrote(allranks, tmp_path, monkeypatch):
    monkeypatch.setenv("ALLRANKS_WORK", str(tmp_path))
    mine = tmp_path / "00_hello_collective.py"
    mine.write_text("precious\n", encoding="utf-8")
    status, out, _ = allranks("reset", "00_hello_collective")
    assert status == FINE
    assert "TODO" in mine.read_text(encoding="utf-8")
    (kept,) = tmp_path.glob("*.old1.py")
    assert kept.read_text(encoding="utf-8") == "precious\n"
    assert str(kept) in out


def test_verify_reads_a_file_with_a_byte_order_mark(allranks, tmp_path):
    text = ar.schedule("all_reduce", "ring", world_size=3).to_json()
    status, out, _ = allranks("verify", _written(tmp_path, "\ufeff" + text))
    assert (status, out[:6]) == (FINE, "proved")


def test_verify_says_so_when_standard_input_is_closed(allranks, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    status, _, err = allranks("verify", "-")
    assert status == USAGE
    assert "JSON" in err


def test_an_unreadable_file_is_an_error_in_json_too(allranks):
    status, out, _ = allranks("verify", "no-such-file.json", "--json")
    assert status == USAGE
    error = json.loads(out)["error"]
    assert error["kind"] == "format"
    assert "no-such-file.json" in error["message"]
