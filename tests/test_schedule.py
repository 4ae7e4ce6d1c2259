"""Schedules and traces: values, JSON forms, and what unreadable files are told."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError, replace
from importlib import resources

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.algorithms import ALGORITHMS, build
from allranks.collectives import CONTRACTS
from allranks.errors import ScheduleError
from allranks.schedule import (
    LONG,
    MEASURED_CPU,
    Columns,
    Op,
    Schedule,
    Trace,
    Transfer,
    TransferRecord,
    write_out,
)

COPY, REDUCE = Op.COPY, Op.REDUCE
RING = build("all_reduce", "ring", world_size=4)
PLAIN = RING.to_dict()


def published(name):
    text = resources.files("allranks").joinpath("schemas", name).read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


@st.composite
def schedules(draw):
    n, switches, chunks = draw(st.integers(1, 9)), draw(st.integers(0, 2)), draw(st.integers(1, 9))
    endpoint = st.integers(0, n + switches - 1)
    transfer = st.builds(
        Transfer, endpoint, endpoint, st.integers(0, chunks - 1), st.sampled_from(Op)
    )
    return Schedule(
        collective=draw(st.sampled_from(sorted(CONTRACTS))),
        algorithm=draw(st.text(max_size=8)),
        world_size=n,
        num_chunks=chunks,
        steps=tuple(map(tuple, draw(st.lists(st.lists(transfer, max_size=4), max_size=4)))),
        root=draw(st.none() | st.integers(0, n - 1)),
        num_switches=switches,
    )


# --- Values ---------------------------------------------------------------------------------


def test_a_transfer_is_src_dst_chunk_op():
    assert Transfer(src=0, dst=1, chunk=2, op=COPY) == (0, 1, 2, COPY)
    assert [op.value for op in Op] == ["copy", "reduce"]


def test_a_schedule_counts_its_endpoints_and_transfers():
    schedule = build("all_reduce", "sharp", world_size=3, num_chunks=2)
    assert (schedule.num_endpoints, schedule.num_transfers) == (4, 12)
    assert [number for number, _ in schedule.transfers()] == [0] * 3 + [1] * 6 + [2] * 3
    assert [schedule.endpoint_name(e) for e in (0, 2, 3)] == ["rank 0", "rank 2", "switch 0"]


def test_a_schedule_is_frozen_down_to_its_steps():
    steps = [[Transfer(0, 1, 0, COPY)]]
    schedule = Schedule("broadcast", "x", 2, 1, steps, root=0)
    steps[0].append(Transfer(1, 0, 0, COPY))
    assert schedule.steps == ((Transfer(0, 1, 0, COPY),),)
    assert hash(schedule) == hash(replace(schedule))
    with pytest.raises(FrozenInstanceError):
        schedule.root = 1


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("world_size", 0, "world_size is 0; it must be a whole number of at least 1"),
        ("world_size", True, "world_size is True"),
        ("world_size", 4.0, "world_size is 4.0"),
        ("num_chunks", 0, "num_chunks is 0"),
        ("num_chunks", None, "num_chunks is None"),
        ("num_switches", -1, "num_switches is -1; it must be a whole number of at least 0"),
        ("root", -1, "root is -1"),
        ("root", 4, "root 4 is not a rank; ranks are 0 to 3"),
        ("root", "0", "root is '0'"),
    ],
)
def test_sizes_that_are_no_sizes_are_refused(field, value, words):
    with pytest.raises(ScheduleError, match=words) as caught:
        replace(RING, **{field: value})
    assert caught.value.kind == "format"


def test_the_text_form_is_one_line_per_transfer():
    schedule = build("all_reduce", "sharp", world_size=2)
    assert schedule.to_text().splitlines() == [
        "all_reduce sharp: 2 ranks, 1 chunk, 2 steps, 4 transfers",
        "step 0",
        "  rank 0 -> switch 0  chunk 0  reduce",
        "  rank 1 -> switch 0  chunk 0  reduce",
        "step 1",
        "  switch 0 -> rank 0  chunk 0  copy",
        "  switch 0 -> rank 1  chunk 0  copy",
    ]
    assert "root 3" in build("broadcast", "flat", world_size=5, root=3).to_text()


def test_the_table_has_64_bit_columns():
    table = RING.table()
    assert list(table) == ["step", "src", "dst", "chunk", "op"]
    assert {column.dtype.name for column in table.values()} == {"int64"}
    rows = zip(*(column.tolist() for column in table.values()), strict=True)
    assert list(rows) == [
        (step, t.src, t.dst, t.chunk, int(t.op is REDUCE)) for step, t in RING.transfers()
    ]
    assert all(len(column) == 0 for column in replace(RING, steps=()).table().values())
    huge = Schedule("all_reduce", "x", 10, 10**10, ((Transfer(0, 1, 10**10 - 1, COPY),),))
    assert huge.table()["chunk"].tolist() == [10**10 - 1]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (5, "steps is 5; it must be a list of steps, each a list of transfers"),
        (None, "steps is None; it must be a list of steps"),
        ("abc", "steps is 'abc'; it must be a list of steps"),
        ({}, "steps is {}; it must be a list of steps"),
        ([[], 5], "step 1 is 5; it must be a list of transfers"),
        (["ab"], "step 0 is 'ab'; it must be a list of transfers"),
        ([Transfer(0, 1, 0, COPY)], "step 0 is Transfer"),
    ],
)
def test_steps_that_are_no_steps_are_refused(steps, words):
    with pytest.raises(ScheduleError) as caught:
        Schedule("all_reduce", "x", 2, 1, steps)
    assert caught.value.kind == "format"
    assert words in str(caught.value)


def test_whole_numbers_of_numpy_become_numbers_of_python():
    steps = [[Transfer(np.int64(0), np.uint8(1), np.int32(2), COPY)]]
    schedule = Schedule("broadcast", "x", np.int64(2), np.int16(3), steps, root=np.int64(0))
    assert schedule == Schedule("broadcast", "x", 2, 3, [[Transfer(0, 1, 2, COPY)]], root=0)
    sizes = (schedule.world_size, schedule.num_chunks, schedule.root, *schedule.steps[0][0][:3])
    assert {type(number) for number in sizes} == {int}
    assert Schedule.from_json(schedule.to_json()) == schedule
    assert Columns.collect(steps) == schedule.steps
    with pytest.raises(ScheduleError, match=r"world_size is np\.float64"):
        replace(schedule, world_size=np.float64(2))


# --- Columns --------------------------------------------------------------------------------


@given(schedules())
@settings(deadline=None)
def test_columns_are_the_same_steps(schedule):
    columns = schedule.columns()
    assert columns is schedule.columns()
    other = replace(schedule, steps=columns)
    assert other.columns() is columns
    assert (columns, other) == (schedule.steps, schedule)
    assert (schedule.steps, schedule) == (columns, other)
    assert (hash(columns), hash(other)) == (hash(schedule.steps), hash(schedule))
    assert list(columns) == list(schedule.steps)
    assert list(other.transfers()) == list(schedule.transfers())
    assert other.num_transfers == schedule.num_transfers
    assert (other.to_json(), other.digest()) == (schedule.to_json(), schedule.digest())
    assert other.to_dict() == schedule.to_dict()
    assert other.to_text() == schedule.to_text()
    assert pickle.loads(pickle.dumps(other)) == schedule
    for number in range(-len(columns), len(columns)):
        assert columns[number] == schedule.steps[number]
    for part in (slice(1, None), slice(None, -1), slice(None, None, -2), slice(3, 1), slice(0, 0)):
        assert columns[part] == schedule.steps[part]
    with pytest.raises(IndexError):
        columns[len(columns)]


def test_columns_that_differ_are_unequal():
    columns = RING.columns()
    for name in ("src", "dst", "chunk"):
        column = getattr(columns, name).copy()
        column[3] += 1
        assert replace(columns, **{name: column}) != columns
    assert replace(columns, reduce=~columns.reduce) != columns
    assert columns[:-1] != columns
    assert columns != RING.steps[:-1]
    assert columns != 3


def test_numbers_in_columns_are_numbers_of_python():
    (step,) = Columns.collect([[Transfer(0, 1, 2, REDUCE)]])
    assert {type(value) for value in step[0][:3]} == {int}
    assert step[0].op is REDUCE


def test_columns_are_frozen_and_small():
    columns = RING.columns()
    with pytest.raises(ValueError, match="read-only"):
        columns.src[0] = 9
    with pytest.raises(FrozenInstanceError):
        columns.src = columns.dst
    kinds = [column.dtype.name for column in (columns.bounds, *columns.columns)]
    assert kinds == ["int64", "int32", "int32", "int64", "bool"]
    assert repr(columns) == "Columns(6 steps, 24 transfers)"
    assert "_columns" not in RING.__getstate__()


def test_columns_know_the_steps_of_rows_and_their_head():
    columns = Columns.collect([RING.steps[0], [], RING.steps[1]])
    assert columns.steps_of(np.array([0, 3, 4, 7])).tolist() == [0, 0, 2, 2]
    assert columns.head(5) == (RING.steps[0], (), RING.steps[1][:1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"src": [0]}, "must be equally long"),
        ({"bounds": [0, 1]}, "must rise from 0 to that length"),
        ({"bounds": [0, 9, 2, 2]}, "must rise from 0"),
        ({"bounds": []}, "must rise from 0"),
        ({"dst": [0, 2**31]}, "dst must be a row of numbers that fit int32"),
        ({"chunk": [0.5, 1]}, "chunk must be a row of numbers that fit int64"),
        ({"reduce": [0, 2]}, "reduce must be a row of numbers that fit bool"),
        ({"src": [[0, 1]]}, "src must be a row"),
    ],
)
def test_columns_that_do_not_fit_together_are_refused(change, words):
    right = {"bounds": [0, 2], "src": [0, 1], "dst": [1, 0], "chunk": [0, 0], "reduce": [0, 1]}
    assert Columns(**right).num_transfers == 2
    with pytest.raises(ScheduleError) as caught:
        Columns(**{**right, **change})
    assert caught.value.kind == "format"
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([[], [7]], "step 1, transfer 0 is 7; it must be Transfer("),
        ([[(0, 1, 0, COPY)]], "step 0, transfer 0 is (0, 1, 0, "),
        ([[Transfer(0, 1.0, 0, COPY)]], "step 0, transfer 0: dst is 1.0; ranks and chunks are"),
        ([[Transfer(0, dst=True, chunk=0, op=COPY)]], "dst is True"),
        ([[Transfer(0, 1, 0, "copy")]], "step 0, transfer 0 is Transfer"),
        ([[], [Transfer(0, 2**31, 0, COPY)]], "step 1, transfer 0: dst is 2147483648"),
        ([[Transfer(0, 1, -(2**63) - 1, COPY)]], "chunk is -9223372036854775809"),
    ],
)
def test_what_is_no_transfer_makes_no_column(steps, words):
    with pytest.raises(ScheduleError) as caught:
        Schedule("all_reduce", "x", 2, 1, steps).columns()
    assert (caught.value.kind, caught.value.step) == ("format", len(steps) - 1)
    assert words in str(caught.value)


def test_long_schedules_are_written_out_as_columns():
    step = [Transfer(0, 1, 0, COPY)] * 100
    short = write_out(step for _ in range(10))
    assert short == (tuple(step),) * 10
    long = write_out(iter([step] * (LONG // 100 + 1)))
    assert isinstance(long, Columns)
    assert (len(long), long.num_transfers) == (LONG // 100 + 1, LONG + 100 - LONG % 100)
    assert set(long) == {tuple(step)}
    again = Schedule.from_json(Schedule("all_reduce", "x", 2, 1, long).to_json())
    assert isinstance(again.steps, Columns)
    assert again.steps == long


def test_what_is_too_long_is_refused_before_it_fills_the_memory():
    def endless():
        while True:
            yield [Transfer(0, 1, 0, COPY)] * 1000

    for collect in (write_out, Columns.collect):
        with pytest.raises(ValueError, match="more than 50,000 transfers is too long to write out"):
            collect(endless(), limit=50_000)


# --- JSON -----------------------------------------------------------------------------------


def test_the_json_form_is_the_published_one():
    schedule = build("broadcast", "binomial", world_size=3, root=2)
    assert schedule.to_json() == (
        '{"format":"allranks.schedule/1","collective":"broadcast","algorithm":"binomial",'
        '"world_size":3,"num_switches":0,"root":2,"num_chunks":1,'
        '"steps":[[[2,0,0,"copy"]],[[2,1,0,"copy"]]]}'
    )


@given(schedules())
@settings(deadline=None)
def test_a_schedule_survives_json(schedule):
    again = Schedule.from_json(schedule.to_json())
    assert again == schedule
    assert again.digest() == schedule.digest()
    published("schedule-1.json").validate(schedule.to_dict())


@pytest.mark.parametrize(("collective", "algorithm"), sorted(ALGORITHMS))
def test_every_algorithm_survives_json(collective, algorithm):
    refuse = ALGORITHMS[collective, algorithm].refuse
    n = next(n for n in (5, 4, 2) if not refuse(n))
    schedule = build(collective, algorithm, world_size=n)
    assert Schedule.from_json(schedule.to_json()) == schedule


def test_optional_keys_have_defaults():
    short = {k: v for k, v in PLAIN.items() if k not in ("algorithm", "num_switches", "root")}
    published("schedule-1.json").validate(short)
    assert Schedule.from_dict(short) == replace(RING, algorithm="custom")


def test_digests_tell_schedules_apart():
    others = [
        replace(RING, algorithm="other"),
        replace(RING, steps=RING.steps[:-1]),
        replace(RING, num_chunks=5),
        replace(RING, steps=(RING.steps[0][::-1], *RING.steps[1:])),
    ]
    assert len({schedule.digest() for schedule in [RING, *others]}) == 5
    assert len(RING.digest()) == 64


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not readable as JSON"),
        ("{", "not readable as JSON"),
        ("[" * 100_000, "not readable as JSON"),
        ("[]", "expected one JSON object of the format allranks.schedule/1, got a list"),
        ("null", "got nothing"),
        ("3", "got a number"),
        ("{}", "format is None; this reader knows 'allranks.schedule/1'"),
        ('{"format": "allranks.schedule/2"}', "format is 'allranks.schedule/2'"),
    ],
)
def test_what_is_no_schedule_file_is_told_so(text, words):
    with pytest.raises(ScheduleError) as caught:
        Schedule.from_json(text)
    assert caught.value.kind == "format"
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"collective": 3}, "collective is 3; it must be a name in quotes"),
        ({"collective": None}, "collective is null"),
        ({"world_size": "4"}, 'world_size is "4"; it must be a whole number'),
        ({"world_size": 4.5}, "world_size is 4.5"),
        ({"world_size": True}, "world_size is true"),
        ({"world_size": 0}, "world_size is 0"),
        ({"num_chunks": None}, "num_chunks is null"),
        ({"root": 1.5}, "root is 1.5"),
        ({"root": 9}, "root 9 is not a rank"),
        ({"num_switches": -1}, "num_switches is -1"),
        ({"steps": None}, "steps is null; it must be a list"),
        ({"steps": {}}, "steps is {}; it must be a list"),
        ({"steps": [3]}, "step 0 is 3; it must be a list of transfers"),
        ({"steps": [[], [3]]}, "step 1, transfer 0 is 3; it must be [src, dst, chunk, op]"),
        ({"steps": [[[0, 1, 0]]]}, "step 0, transfer 0 is [0, 1, 0]"),
        ({"steps": [[[0, 1, 0, "copy", 1]]]}, "step 0, transfer 0 is"),
        ({"steps": [[[0, 1.0, 0, "copy"]]]}, "step 0, transfer 0 is"),
        ({"steps": [[[0, False, 0, "copy"]]]}, "step 0, transfer 0 is"),
        ({"steps": [[[0, 1, 0, "move"]]]}, 'op is "move"; it must be "copy" or "reduce"'),
        ({"steps": [[[0, 1, 0, []]]]}, "op is []"),
    ],
)
def test_a_wrong_entry_is_named_with_its_place(change, words):
    with pytest.raises(ScheduleError) as caught:
        Schedule.from_dict({**PLAIN, **change})
    assert caught.value.kind == "format"
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"collective": "all_redcue"},
        {"world_size": 0},
        {"root": -1},
        {"steps": [[[0, 1, 0]]]},
        {"steps": [[[0, 1, 0, "move"]]]},
        {"steps": [[[-1, 1, 0, "copy"]]]},
        {"format": "allranks.schedule/2"},
    ],
)
def test_the_published_schema_refuses_what_is_wrong(change):
    assert list(published("schedule-1.json").iter_errors({**PLAIN, **change}))


# --- Traces ---------------------------------------------------------------------------------


def traced():
    records = tuple(
        TransferRecord(step, *t, 0.5 * step, 0.5 * step + 0.25, 16, "shm", "cpu")
        for step, t in RING.transfers()
    )
    header = {"label": MEASURED_CPU, "devices": ["a processor"], "host_cores": 2}
    return Trace(RING, records, header)


def test_a_trace_survives_json_and_takes_its_label_from_its_header():
    trace = traced()
    again = Trace.from_json(trace.to_json())
    assert again == trace
    assert again.label == "MEASURED: CPU processes"
    assert again.records[0] == TransferRecord(0, 0, 1, 3, REDUCE, 0.0, 0.25, 16, "shm", "cpu")
    published("trace-1.json").validate(trace.to_dict())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "allranks.schedule/1"}, "this reader knows 'allranks.trace/1'"),
        ({"header": {}}, "header: needs a label"),
        ({"header": {"label": 3}}, "header: needs a label"),
        ({"header": None}, "header: needs a label"),
        ({"records": {}}, "records is {}; it must be a list"),
        ({"records": [[0, 1]]}, "record 0 is [0, 1]; it must be [step, src, dst, chunk, op"),
        (
            {"records": [[0, 0, 1, 0, "copy", "now", 1.0, 8, "shm", "cpu"]]},
            "record 0 is",
        ),
        ({"records": [[0, 0, 1, 0, "add", 0.0, 1.0, 8, "shm", "cpu"]]}, 'op is "add"'),
        ({"schedule": None}, "expected one JSON object of the format allranks.schedule/1"),
    ],
)
def test_a_wrong_trace_is_named_with_its_place(change, words):
    with pytest.raises(ScheduleError) as caught:
        Trace.from_dict({**traced().to_dict(), **change})
    assert caught.value.kind == "format"
    assert words in str(caught.value)


def test_text_that_is_no_schedule_is_refused_in_one_short_sentence():
    with pytest.raises(ScheduleError, match="the text is None; give JSON in a string"):
        Schedule.from_json(None)
    with pytest.raises(ScheduleError, match="a number of 5,000 digits; numbers have at most 600"):
        Schedule.from_json('{"world_size": ' + "9" * 5000 + "}")
    with pytest.raises(ScheduleError, match="num_chunks is a number of about 400 digits"):
        Schedule("broadcast", "by hand", 2, -(10**400), (), root=0)
