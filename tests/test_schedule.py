"""Schedules and traces: values, JSON forms, and what unreadable files are told."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from importlib import resources

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.algorithms import ALGORITHMS, build
from allranks.collectives import CONTRACTS
from allranks.errors import ScheduleError
from allranks.schedule import MEASURED_CPU, Op, Schedule, Trace, Transfer, TransferRecord

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
