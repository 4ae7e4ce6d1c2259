"""What order and format do to a sum, against an evaluator of its own in exact fractions."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allranks import numerics
from allranks.algorithms import ALGORITHMS, build
from allranks.collectives import contract
from allranks.errors import Mismatch, ScheduleError
from allranks.numerics import order, roundings, run, same_order, stops_at
from allranks.schedule import Op, Schedule, Transfer
from allranks.simulate import ReduceOp, example_inputs, simulate

FLOATS = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
NARROW = FLOATS[2:]


# An evaluator that shares nothing with the library: numbers are fractions, and rounding is written
# out from the definition of a format.


class Form(NamedTuple):
    """Significand bits, exponent of the smallest normal number, largest number."""

    precision: int
    least: int
    largest: Fraction


FORMS = {
    "float64": Form(53, -1022, (2 - Fraction(2) ** -52) * 2**1023),
    "float32": Form(24, -126, (2 - Fraction(2) ** -23) * 2**127),
    "float16": Form(11, -14, Fraction(65504)),
    "bfloat16": Form(8, -126, (2 - Fraction(2) ** -7) * 2**127),
    "float8_e4m3fn": Form(4, -6, Fraction(448)),
    "float8_e5m2": Form(3, -14, Fraction(57344)),
}


def gap_at(value: Fraction, form: Form) -> Fraction:
    """Return the distance between the numbers of a format around a value."""
    exponent = form.least
    if value:
        guess = abs(value).numerator.bit_length() - abs(value).denominator.bit_length()
        exponent = max(form.least, guess if Fraction(2) ** guess <= abs(value) else guess - 1)
    return Fraction(2) ** (exponent - form.precision + 1)


def nearest(value: Fraction, form: Form) -> Fraction:
    """Return the number of a format nearest to a value, as if the format had no largest number."""
    gap = gap_at(value, form)
    return round(value / gap) * gap  # Python rounds fractions half to even


def evaluated(
    schedule: Schedule, inputs: list[list[Fraction]], form: Form, wide: Form | None = None
) -> list[list[Fraction]]:
    """Return every rank's vector after a schedule in which each rank starts with a whole one."""
    cuts = np.array_split(np.arange(len(inputs[0])), schedule.num_chunks)
    held: list[dict[int, Fraction]] = [dict(enumerate(values)) for values in inputs]
    held += [{} for _ in range(schedule.num_switches)]
    for step in schedule.steps:
        # what leaves a switch is a number of the format
        before = [{i: nearest(x, form) for i, x in values.items()} for values in held]
        for t in sorted(step, key=lambda t: t.src):
            for i in cuts[t.chunk].tolist():
                own, other = held[t.dst].get(i), before[t.src][i]
                where = wide if wide and t.dst >= schedule.world_size else form
                held[t.dst][i] = (
                    other if t.op is Op.COPY or own is None else nearest(own + other, where)
                )
    return [[values[i] for i in range(len(inputs[0]))] for values in held[: schedule.world_size]]


def numbers(dtype: str) -> st.SearchStrategy[float]:
    """Return numbers of a format of all sizes, many of like size, whose sums do not overflow."""
    form = FORMS[dtype]
    top = float(form.largest / 16)
    wide = st.floats(-top, top)
    near = st.integers(-int(min(top, 300)), int(min(top, 300))).map(float)
    return (wide | near).map(lambda x: float(nearest(Fraction(x), form)))


@st.composite
def all_reduces(draw: st.DrawFn) -> Schedule:
    """Return some correct all_reduce as a learner might write it, with or without a switch.

    Holders of partial sums send them to each other in any grouping until one has them all.
    """
    n = draw(st.integers(1, 6))
    switch = draw(st.booleans())
    holders = draw(st.permutations(range(n)))
    steps: list[list[Transfer]] = []
    if switch and n > 1:
        chosen = holders[: draw(st.integers(1, n - 1))]
        steps.append([Transfer(src, n, 0, Op.REDUCE) for src in chosen])
        holders = [*holders[len(chosen) :], n]
    while len(holders) > 1:
        count = draw(st.integers(1, len(holders) - 1))
        senders, rest = holders[:count], holders[count:]
        steps.append([Transfer(s, draw(st.sampled_from(rest)), 0, Op.REDUCE) for s in senders])
        holders = rest
    last = holders[0]
    steps.append([Transfer(last, dst, 0, Op.COPY) for dst in range(n) if dst != last])
    return Schedule(
        "all_reduce",
        "drawn",
        n,
        1,
        tuple(map(tuple, filter(None, steps))),
        num_switches=int(switch),
    )


# The order of summation.


def normals(n: int, count: int, seed: int = 0) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).standard_normal((n, count)))


def shifted(schedule: Schedule) -> Schedule:
    """Return the schedule with chunk c played as chunk c + 1: a ring that adds from x_c on."""
    steps = tuple(
        tuple(t._replace(chunk=(t.chunk + 1) % schedule.num_chunks) for t in step)
        for step in schedule.steps
    )
    return Schedule("all_reduce", "shifted", schedule.world_size, schedule.num_chunks, steps)


def every_schedule() -> Iterator[Schedule]:
    for collective, algorithm in ALGORITHMS:
        for n in (1, 2, 3, 4, 5, 8):
            parameters = ALGORITHMS[collective, algorithm].parameters
            more = {"node_size": 2} if "node_size" in parameters else {}
            with contextlib.suppress(ValueError):  # some algorithms refuse some n
                yield build(collective, algorithm, world_size=n, **more)


SCHEDULES = list(every_schedule())


def name_of(schedule: Schedule) -> str:
    return f"{schedule.collective}-{schedule.algorithm}-{schedule.world_size}"


def same_bits(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    )


# The order of summation.


@given(all_reduces(), st.sampled_from(NARROW), st.booleans(), st.data())
def test_a_run_is_an_evaluation_in_fractions_rounded_at_every_hop(schedule, dtype, wide, data):
    rows = st.lists(numbers(dtype), min_size=3, max_size=3)
    inputs = [data.draw(rows) for _ in range(schedule.world_size)]
    result = run(schedule, inputs, dtype, switch_dtype="float32" if wide else None)
    fractions = [[Fraction(x) for x in row] for row in inputs]
    form = FORMS[dtype]
    due = evaluated(schedule, fractions, form, FORMS["float32"] if wide else None)
    exact = [sum(column) for column in zip(*fractions, strict=True)]
    for rank, row in enumerate(due):
        assert result.outputs[rank].astype(float).tolist() == [float(x) for x in row]
        assert result.exact[rank].tolist() == [float(x) for x in exact]
        off = [x - y for x, y in zip(row, exact, strict=True)]
        ulps = [abs(x) / gap_at(y, form) for x, y in zip(off, exact, strict=True)]
        assert result.errors[rank].tolist() == pytest.approx([float(x) for x in off], rel=1e-15)
        assert result.ulps(rank).tolist() == pytest.approx([float(x) for x in ulps], rel=1e-15)
    assert result.agree == all(row == due[0] for row in due)


@given(all_reduces(), st.sampled_from(["float64", "float32"]), st.data())
def test_errors_of_wide_formats_are_exact_too(schedule, dtype, data):
    cancelling = st.sampled_from([1e16, -1e16, 1.0, 1e-9, 0.1, 3e7, -3e7, 1e300 % 1e30])
    inputs = [[data.draw(cancelling | numbers(dtype))] for _ in range(schedule.world_size)]
    rounded_inputs = [[Fraction(float(np.dtype(dtype).type(x))) for x in row] for row in inputs]
    result = run(schedule, inputs, dtype)
    due = evaluated(schedule, rounded_inputs, FORMS[dtype])
    exact = sum(row[0] for row in rounded_inputs)
    for rank, (value,) in enumerate(due):
        assert result.outputs[rank].astype(float).tolist() == [float(value)]
        assert result.errors[rank].tolist() == pytest.approx([float(value - exact)], rel=1e-15)


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint16", "int64", "bool"])
def test_a_run_has_the_bits_of_simulate_for_every_algorithm(dtype):
    for schedule in SCHEDULES:
        given_inputs = [
            None
            if x is None
            else numerics.rounded(np.sin(x), dtype)
            if dtype in FLOATS
            else (x * 77).astype(dtype)
            for x in example_inputs(schedule, nbytes=64 * 8, dtype="int64")
        ]
        # simulate knows no wider dtype, so the switches are told to add in the arrays' own
        result = run(schedule, given_inputs, switch_dtype=dtype)
        wanted = simulate(schedule, given_inputs)
        assert all(map(same_bits, result.outputs, wanted)), name_of(schedule)
        kept = [(out, ref) for out, ref in zip(result.outputs, result.exact, strict=True)]
        assert all((out is None) == (ref is None) for out, ref in kept)
        assert all(out.shape == ref.shape for out, ref in kept if out is not None)
        if not contract(schedule.collective).reduces:
            assert result.max_error == 0, name_of(schedule)


@pytest.mark.parametrize("reduce_op", list(ReduceOp))
def test_every_reduce_op_has_the_bits_of_simulate_and_an_exact_result(reduce_op):
    x = [numerics.rounded(row, "bfloat16") for row in normals(6, 31)]
    ring = build("all_reduce", "ring", world_size=6)
    result = run(ring, x, reduce_op=reduce_op)
    assert all(map(same_bits, result.outputs, simulate(ring, x, reduce_op)))
    columns = [[Fraction(float(row[i])) for row in x] for i in range(31)]
    exact = {
        ReduceOp.SUM: sum,
        ReduceOp.PROD: math.prod,
        ReduceOp.MAX: max,
        ReduceOp.MIN: min,
        ReduceOp.AVG: lambda column: sum(column) / 6,
    }[reduce_op]
    assert result.exact[2].tolist() == [float(exact(column)) for column in columns]
    errors = [
        Fraction(float(y)) - exact(c) for y, c in zip(result.outputs[2], columns, strict=True)
    ]
    assert result.errors[2].tolist() == pytest.approx([float(e) for e in errors], rel=1e-15)
    assert (result.max_error == 0) == (reduce_op in (ReduceOp.MAX, ReduceOp.MIN))


def test_nccls_ring_adds_chunk_c_from_c_plus_1_on():
    ring = build("all_reduce", "ring", world_size=4)
    assert [order(ring, rank=3, chunk=c) for c in range(4)] == [
        "((x1 + x2) + x3) + x0",
        "((x2 + x3) + x0) + x1",
        "((x0 + x3) + x1) + x2",  # x3 + x0, with the lower rank written first
        "((x0 + x1) + x2) + x3",
    ]


@pytest.mark.parametrize(
    ("dtype", "values", "nccl", "from_c_on", "exact"),
    [
        ("float16", [2048, 1, 1, 1], [2052, 2052, 2048, 2048], [2048, 2052, 2052, 2048], 2051),
        ("float32", [1e8, 1, -1e8, 1], [0, 1, 0, 1], [1, 0, 1, 0], 2),
    ],
)
def test_the_same_values_at_another_offset_give_other_sums(dtype, values, nccl, from_c_on, exact):
    ring = build("all_reduce", "ring", world_size=4)
    inputs = [[value] * 4 for value in values]
    result = run(ring, inputs, dtype)
    assert [out.tolist() for out in result.outputs] == [nccl] * 4
    assert result.exact[0].tolist() == [exact] * 4
    assert result.agree
    assert run(shifted(ring), inputs, dtype).outputs[0].tolist() == from_c_on
    assert order(shifted(ring), chunk=1) == "((x1 + x2) + x3) + x0"


def test_six_ranks_of_the_chapter():
    ring = build("all_reduce", "ring", world_size=6)
    result = run(ring, [[value] * 6 for value in (4096, 1, 1, 1, 1, 1)], "float16")
    assert result.outputs[0].tolist() == [4100, 4100, 4100, 4096, 4096, 4096]
    assert result.exact[0].tolist() == [4101] * 6


@pytest.mark.parametrize("schedule", SCHEDULES, ids=name_of)
def test_an_expression_says_what_was_added(schedule):
    if not contract(schedule.collective).reduces or schedule.world_size == 1:
        return
    n = schedule.world_size
    x = np.random.default_rng(n).standard_normal((n, schedule.num_chunks)).astype(np.float32)
    result = run(schedule, list(x))
    rank = schedule.root or 0
    chunks = (
        range(schedule.num_chunks // n) if schedule.collective == "reduce_scatter" else range(3)
    )
    for chunk in chunks:
        if chunk < schedule.num_chunks:
            text = order(schedule, rank, chunk, wide_switches=False)
            # an expression of Python, made by the library from ranks alone
            value = eval(text, {f"x{r}": x[r, chunk] for r in range(n)})  # noqa: S307
            assert result.outputs[rank][chunk] == value


def test_equal_expressions_are_equal_sums_and_others_may_differ():
    one_shot = build("all_reduce", "one_shot", world_size=4)
    assert [order(one_shot, rank) for rank in range(4)] == [
        "((x0 + x1) + x2) + x3",
        "((x0 + x1) + x2) + x3",  # rank 1 adds x1 + x0, which is the same
        "((x0 + x2) + x1) + x3",
        "((x0 + x3) + x1) + x2",
    ]
    assert not same_order(one_shot)
    doubling = build("all_reduce", "recursive_doubling", world_size=8)
    expressions = {order(doubling, rank) for rank in range(8)}
    assert expressions == {"((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7))"}
    assert same_order(doubling)


def test_what_is_copied_is_one_part():
    gather = build("all_gather", "ring", world_size=3)
    assert [order(gather, rank=2, chunk=c) for c in range(3)] == ["x0", "x1", "x2"]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=name_of)
def test_ranks_agree_exactly_where_they_add_alike(schedule):
    if schedule.collective != "all_reduce":
        return
    x = [row.astype(np.float32) for row in normals(schedule.world_size, 2048)]
    result = run(schedule, x)
    assert result.agree == same_order(schedule)
    # of our algorithms only this one adds on every rank in another order, and only from 3 ranks on
    assert result.agree == (schedule.algorithm != "one_shot" or schedule.world_size < 3)


def test_one_shot_leaves_about_two_fifths_of_the_elements_different():
    one_shot = build("all_reduce", "one_shot", world_size=8)
    # numbers spread evenly between 0 and 1, the first and the last rank
    x = list(np.random.default_rng(0).random((8, 4096)))
    result = run(one_shot, x, "float32")
    assert result.compare(0, 7) / 4096 == pytest.approx(0.39, abs=0.03)
    assert result.compare(0, 1) == 0
    assert result.groups == ((0, 1), *((rank,) for rank in range(2, 8)))
    assert result.num_differing > result.compare(0, 7)
    assert f"differ in {result.num_differing:,} elements" in repr(result)
    for out, exact, error in zip(result.outputs, result.exact, result.errors, strict=True):
        # close enough to the exact sum for this difference of two float64 to be nearly exact
        assert error == pytest.approx(out.astype(float) - exact, rel=1e-6)


def test_each_rank_holding_its_own_elements_is_no_disagreement():
    result = run(build("reduce_scatter", "ring", world_size=3), normals(3, 9), "float16")
    assert result.agree
    assert "each holds elements of its own" in repr(result)
    with pytest.raises(ValueError, match="does not promise them the same elements"):
        result.compare(0, 1)


# Switches that add in a wider format.


@pytest.mark.parametrize("algorithm", ["sharp", "nvls"])
def test_a_switch_that_adds_in_float32_rounds_once(algorithm):
    sharp = build("all_reduce", algorithm, world_size=8)
    x = [numerics.rounded(row, "bfloat16") for row in normals(8, 500)]
    wide = run(sharp, x)
    assert wide.roundings == roundings(sharp) == 1
    assert roundings(sharp, wide_switches=False) == 7
    total = x[0].astype(np.float32)
    for row in x[1:]:
        total = total + row.astype(np.float32)
    assert same_bits(wide.outputs[3], total.astype(ml_dtypes.bfloat16))
    assert wide.max_ulps == pytest.approx(0.5, rel=1e-3)
    like_ranks = run(sharp, x, switch_dtype="bfloat16")
    assert like_ranks.roundings == 7
    assert like_ranks.rms_error > 1.5 * wide.rms_error
    assert order(sharp).startswith("round(((((((x0 + x1) + x2)")
    assert "switches add in float32" in repr(wide)
    assert "switches add in bfloat16" in repr(like_ranks)


@pytest.mark.parametrize(
    ("dtype", "usual"),
    [
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float32", "float32"),
        ("float64", "float64"),
        ("e4m3", "float8_e4m3fn"),
        ("int8", "int8"),
    ],
)
def test_switches_add_halves_in_float32_and_say_what_they_add_in(dtype, usual):
    nvls = build("all_reduce", "nvls", world_size=4)
    assert run(nvls, [[1] * 4] * 4, dtype).switch_dtype == usual
    assert f"sum, switches add in {usual}\n" in repr(run(nvls, [[1] * 4] * 4, dtype))


@pytest.mark.parametrize("algorithm", [("all_reduce", "ring"), ("all_gather", "nvls")])
def test_nothing_is_said_of_switches_where_none_adds(algorithm):
    result = run(build(*algorithm, world_size=4), [[1.0] * 4] * 4, "bf16")
    assert result.switch_dtype is None
    assert "switches" not in repr(result)


def test_nvswitches_inside_nodes_add_in_float32_as_well():
    nested = build("all_reduce", "hierarchical", world_size=8, node_size=4, inner="nvls")
    x = [numerics.rounded(row, "bfloat16") for row in normals(8, 400)]
    assert run(nested, x).roundings == 2  # once in the node, once between two nodes
    assert run(nested, x, switch_dtype="bf16").roundings == 4


def test_a_sum_that_overflows_on_the_way_survives_in_a_wide_switch():
    sharp = build("all_reduce", "sharp", world_size=3)
    inputs = [[40000.0], [40000.0], [-30000.0]]
    narrow = run(sharp, inputs, "float16", switch_dtype="float16")
    assert narrow.outputs[0].tolist() == [math.inf]
    assert run(sharp, inputs, "float16").outputs[0].tolist() == [49984.0]


def test_a_tree_of_switches_rounds_on_each_wire():
    steps = (
        (Transfer(0, 4, 0, Op.REDUCE), Transfer(1, 4, 0, Op.REDUCE)),
        (Transfer(2, 5, 0, Op.REDUCE), Transfer(3, 5, 0, Op.REDUCE), Transfer(4, 5, 0, Op.REDUCE)),
        tuple(Transfer(5, rank, 0, Op.COPY) for rank in range(4)),
    )
    tree = Schedule("all_reduce", "tree", 4, 1, steps, num_switches=2)
    assert order(tree, wide_switches=True) == "round(round(x0 + x1) + (x2 + x3))"
    assert roundings(tree, wide_switches=True) == 2


# Formats: every addition rounds once.


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("saturate", [False, True])
def test_every_sum_of_two_float8_numbers_is_rounded_once(dtype, saturate):
    form = FORMS[dtype]
    bits = np.arange(256, dtype=np.uint8).view(numerics.dtype_named(dtype))
    finite = bits[np.isfinite(bits)]
    pair = build("all_reduce", "recursive_doubling", world_size=2)
    one, other = (np.ravel(axis) for axis in np.meshgrid(finite, finite))
    result = run(pair, [one, other], saturate=saturate).outputs[0].astype(float)
    largest, nothing = float(form.largest), math.nan if dtype == "float8_e4m3fn" else math.inf
    for a, b, ours in zip(one.astype(float), other.astype(float), result, strict=True):
        due = float(nearest(Fraction(a) + Fraction(b), form))
        if abs(due) > largest:
            due = math.copysign(largest if saturate else nothing, due)
        assert ours == due or (math.isnan(ours) and math.isnan(due)), (a, b)


@pytest.mark.parametrize("dtype", FLOATS)
@given(data=st.data())
def test_a_number_is_rounded_once_to_the_nearest_even(dtype, data):
    form = FORMS[dtype]
    tie = st.builds(
        lambda k, e, d: math.ldexp(k + 0.5, e) * (1 + d * 2.0**-50),
        st.integers(1 << form.precision - 1, (1 << form.precision) - 1),
        st.integers(-8, 1),
        st.sampled_from([-1, 0, 1]),
    )
    value = data.draw(st.floats(-400, 400) | tie.filter(lambda x: x < form.largest))
    assert float(numerics.rounded(value, dtype)) == float(nearest(Fraction(value), form))
    if value:
        assert float(numerics.ulp(value, dtype)) == float(gap_at(Fraction(value), form))


def test_float64_does_not_pass_through_float32_on_its_way_down():
    above_a_tie = 1 + 2.0**-8 + 2.0**-40
    assert float(np.float64(above_a_tie).astype(ml_dtypes.bfloat16)) == 1  # rounded twice
    assert float(numerics.rounded(above_a_tie, "bf16")) == 1 + 2.0**-7


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_format_is_what_its_definition_says(dtype):
    form = numerics.format_of(dtype)
    assert (form.precision, form.min_exponent) == FORMS[dtype][:2]
    assert Fraction(form.largest) == FORMS[dtype].largest
    gaps = numerics.ulp([0.0, 1.0, -form.largest, math.inf], dtype).tolist()
    values = [Fraction(0), Fraction(1), *[FORMS[dtype].largest] * 2]
    assert gaps == [float(gap_at(value, FORMS[dtype])) for value in values]


# Where long sums stop, overflow, and wrap.


@pytest.mark.parametrize(
    ("dtype", "stop"), [("fp16", 2048), ("bf16", 256), ("e4m3", 16), ("e5m2", 8)]
)
def test_a_running_sum_of_ones_stops_where_it_is_said_to(dtype, stop):
    assert stops_at(dtype) == stop
    sums = numerics.running_sum(np.ones(stop + 40), dtype).astype(float)
    assert sums.tolist() == [*range(1, stop + 1), *[stop] * 40]


def test_a_long_chain_of_ones_stops_and_a_tree_does_not():
    chain, tree = (build("reduce", name, world_size=300) for name in ("chain", "binomial"))
    ones = [[1.0]] * 300
    assert run(chain, ones, "bfloat16").outputs[0].tolist() == [256]
    assert run(tree, ones, "bfloat16").outputs[0].tolist() == [300]
    assert roundings(chain) == 299
    assert roundings(tree) == 9


def test_wide_formats_stop_too():
    assert stops_at("float32") == 2**24
    assert np.float32(2**24) + np.float32(1) == np.float32(2**24)
    assert stops_at("float64") == 2**53
    with pytest.raises(ValueError, match="wrap from 127 to -128"):
        stops_at("int8")


@pytest.mark.parametrize(
    ("dtype", "saturate", "sums"),
    [
        ("float16", False, [32768, 65504, math.inf, math.inf]),
        ("float8_e5m2", False, [32768, 57344, math.inf, math.inf]),
        ("float8_e5m2", True, [32768, 57344, 57344, 57344]),
        ("float8_e4m3fn", False, [448, math.nan, math.nan, math.nan]),
        ("float8_e4m3fn", True, [448, 448, 448, 448]),
    ],
)
def test_sums_overflow_as_their_format_does(dtype, saturate, sums):
    values = {"float16": [32768, 32736, 32768, -1], "float8_e5m2": [32768, 24576, 32768, -1]}
    terms = values.get(dtype, [448, 448, 448, 1])
    ours = numerics.running_sum(terms, dtype, saturate=saturate).astype(float)
    assert ours.tolist() == pytest.approx(sums, nan_ok=True)
    chain = build("reduce", "chain", world_size=4, root=3)
    ran = run(chain, [[term] for term in terms], dtype, saturate=saturate)
    text = order(chain, rank=3)
    assert text == "((x0 + x1) + x2) + x3"
    assert ran.outputs[3].astype(float).tolist() == pytest.approx(sums[-1:], nan_ok=True)
    lost = not math.isfinite(sums[-1])
    assert ran.num_overflowed == lost
    assert ran.max_error == (math.inf if lost else ran.max_error)
    assert ("1 result inf or NaN" in repr(ran)) == lost


def test_inputs_saturate_as_well():
    ring = build("all_reduce", "ring", world_size=2)
    assert run(ring, [[1000.0], [0.0]], "e4m3", saturate=True).outputs[0].tolist() == [448]


def test_dividing_first_saves_a_sum_that_overflows():
    ring = build("all_reduce", "ring", world_size=8)
    mean = numerics.averages(ring, [[10000.0]] * 8, "float16")
    assert [mean.summed[0], mean.sum_then_divide[0]] == [math.inf, math.inf]
    assert mean.divide_then_sum[0].tolist() == [9992]
    assert mean.exact[0].tolist() == [10000]
    assert mean.divide_then_sum[0].dtype == mean.sum_then_divide[0].dtype == np.float16
    assert "sum_then_divide  inf" in repr(mean)


def test_dividing_first_loses_what_is_small():
    ring = build("all_reduce", "ring", world_size=8)
    smallest = float(np.finfo(np.float16).smallest_subnormal)
    mean = numerics.averages(ring, [[smallest]] * 8, "float16")
    assert mean.divide_then_sum[0].tolist() == [0]
    assert mean.sum_then_divide[0].tolist() == mean.exact[0].tolist() == [smallest]


def test_a_mean_needs_a_reduction():
    with pytest.raises(ValueError, match="adds nothing"):
        numerics.averages(build("all_gather", "ring", world_size=2), [[1.0], [2.0]])


def test_integers_wrap_and_the_record_says_so():
    ring = build("all_reduce", "ring", world_size=2)
    signed = run(ring, [[120, 1], [100, 1]], "int8")
    assert signed.outputs[0].tolist() == [-36, 2]
    assert signed.exact[0].tolist() == [220, 2]
    assert signed.errors[0].tolist() == [-256, 0]
    assert signed.num_overflowed == 2
    assert "2 results wrapped" in repr(signed)
    assert "ulps" not in repr(signed)
    unsigned = run(ring, [[255], [1]], "uint8")
    assert (unsigned.outputs[0].tolist(), unsigned.exact[0].tolist()) == ([0], [256])
    most = 2**63 - 1
    long = run(ring, [[most], [most]], "int64")
    assert (long.outputs[0].tolist(), long.exact[0].tolist()) == ([-2], [2 * most])
    assert long.max_error == 2.0**64
    truth = run(ring, [[True, False], [True, False]])
    assert truth.outputs[0].tolist() == truth.exact[0].tolist() == [True, False]
    assert truth.max_error == 0


def test_a_product_beyond_float64_is_an_error_without_an_end():
    pair = build("all_reduce", "recursive_doubling", world_size=2)
    x = np.array([2**62], np.int64)
    far = run(build("all_reduce", "ring", world_size=20), [x] * 20, reduce_op="prod")
    assert far.outputs[0].tolist() == [0]
    assert far.exact[0].tolist() == [2 ** (62 * 20)]
    assert far.max_error == math.inf
    huge = run(pair, [[1.7e308], [1.7e308]], "float64")
    assert (huge.outputs[0].tolist(), huge.exact[0].tolist()) == ([math.inf], [math.inf])
    assert huge.max_error == 0


def test_inf_and_nan_in_are_exact_inf_and_nan_out():
    ring = build("all_reduce", "ring", world_size=3)
    result = run(ring, [[math.inf, math.inf, math.nan], [1, -math.inf, 1], [1, 1, 1]], "bf16")
    assert result.exact[0].tolist() == pytest.approx([math.inf, math.nan, math.nan], nan_ok=True)
    assert result.max_error == 0
    assert result.num_overflowed == 0
    assert result.agree


def test_any_nan_is_like_any_other():
    # inf - inf is another NaN, in its bits, than the one that rank 2 puts in
    one_shot = build("all_reduce", "one_shot", world_size=4)
    result = run(one_shot, [[math.inf], [-math.inf], [math.nan], [1.0]], "float32")
    assert all(np.isnan(out).all() for out in result.outputs)
    assert result.agree


# How errors grow.


# Relative rms error, root of sum(error^2) / sum(exact^2), of sums of n standard normals, rounded to
# bfloat16 first: one by one, in a binomial tree, and in float32 with one rounding. With rho the rms
# of one rounding, a chain has rho sqrt((n + 1) / 2 - 1 / n), a tree rho sqrt(lg n).
GROWTH = {8: (3.6e-3, 3.2e-3, 1.7e-3), 64: (9.6e-3, 4.5e-3, 1.7e-3), 512: (2.7e-2, 5.5e-3, 1.7e-3)}


@pytest.mark.parametrize("n", GROWTH)
def test_errors_of_a_chain_outgrow_those_of_a_tree(n):
    x = normals(n, 4096)
    chain = run(build("reduce", "chain", world_size=n), x, "bfloat16")
    tree = run(build("reduce", "binomial", world_size=n), x, "bfloat16")
    switch = run(build("all_reduce", "sharp", world_size=n), x, "bfloat16", switch_dtype="fp32")
    measured = [chain.rms_error, tree.rms_error, switch.rms_error]
    # 4,096 elements leave the rms of an error 1.4 % of play, the table's two digits up to 3 %
    assert measured == pytest.approx(GROWTH[n], rel=0.06)
    rho = switch.rms_error
    assert chain.rms_error == pytest.approx(rho * math.sqrt((n + 1) / 2 - 1 / n), rel=0.06)
    # the first levels of a tree round sums of one size each, so rho is less of a constant there
    assert tree.rms_error == pytest.approx(rho * math.sqrt(math.log2(n)), rel=0.12)


def test_a_ring_errs_as_much_as_a_chain():
    x = normals(64, 64 * 32)
    ring = run(build("all_reduce", "ring", world_size=64), x, "bfloat16")
    assert ring.rms_error == pytest.approx(GROWTH[64][0], rel=0.06)


@given(all_reduces(), st.sampled_from(["float16", "bfloat16", "float32"]), st.data())
def test_the_error_stays_below_its_bound(schedule, dtype, data):
    x = np.array([[data.draw(numbers(dtype))] for _ in range(schedule.world_size)])
    result = run(schedule, list(x), dtype)
    unit = Fraction(1, 2 ** FORMS[dtype].precision)
    size = sum(abs(Fraction(float(value))) for value in x[:, 0])
    bound = ((1 + unit) ** result.roundings - 1) * size
    assert all(abs(error[0]) <= float(bound) for error in result.errors)


def test_all_measures_of_an_error_agree_on_a_small_case():
    ring = build("all_reduce", "ring", world_size=4)
    result = run(ring, [[2048] * 4, [1] * 4, [1] * 4, [1] * 4], "float16")
    assert result.errors[0].tolist() == [1, 1, -3, -3]
    assert result.relative(0).tolist() == [1 / 2051, 1 / 2051, 3 / 2051, 3 / 2051]
    assert result.ulps(0).tolist() == [0.5, 0.5, 1.5, 1.5]
    assert (result.max_error, result.mean_error) == (3, 2)
    assert (result.max_ulps, result.mean_ulps) == (1.5, 1)
    assert result.max_relative == 3 / 2051
    assert result.rms_error == pytest.approx(math.sqrt(5) / 2051)


def test_an_error_of_an_exact_zero_has_no_ratio():
    ring = build("all_reduce", "ring", world_size=3)
    result = run(ring, [[1e8, 0], [1, 0], [-100000001, 0]], "float32")
    assert result.exact[0].tolist() == [1, 0]
    cancelled = run(ring, [[1.0, 0], [2.0**-30, 0], [-1 - 2.0**-30, 0]], "float32")
    assert cancelled.exact[0][0] == 2.0**-30
    lost = run(build("all_reduce", "ring", world_size=4), [[1e8], [1], [-1e8], [-1]], "float32")
    assert lost.exact[0].tolist() == [0]
    assert lost.max_relative == lost.rms_error == (0 if lost.max_error == 0 else math.inf)


# Bad input, and sizes at the edge.


@pytest.mark.parametrize("schedule", SCHEDULES, ids=name_of)
def test_empty_arrays_run(schedule):
    inputs = [
        None if x is None else np.zeros((0, 2), np.float16)
        for x in example_inputs(schedule, nbytes=0, dtype="float16")
    ]
    result = run(schedule, inputs, "bfloat16")
    held = [out for out in result.outputs if out is not None]
    assert {out.dtype.name for out in held} == {"bfloat16"}
    assert all(out.size == 0 for out in held)
    measures = [result.max_error, result.mean_error, result.rms_error, result.max_ulps]
    assert measures == [0, 0, 0, 0]
    assert result.agree


def test_single_numbers_run():
    result = run(build("all_reduce", "binomial", world_size=3), [1.0, 2.0, 4.0], "bf16")
    assert result.outputs[0].shape == result.ulps(0).shape == result.exact[0].shape == ()
    assert [float(out) for out in result.outputs] == [7, 7, 7]


def test_one_rank_adds_nothing():
    result = run(build("all_reduce", "ring", world_size=1), [[1 / 3]], "float16")
    assert result.outputs[0].tolist() == [float(np.float16(1 / 3))]
    assert (result.max_error, result.roundings, result.agree) == (0, 0, True)


def test_inputs_stay_as_they_are():
    x = normals(4, 10)
    kept = [row.copy() for row in x]
    for row in x:
        row.flags.writeable = False
    run(build("all_reduce", "ring", world_size=4), x, "bfloat16")
    assert all(map(np.array_equal, x, kept))


RING = build("all_reduce", "ring", world_size=2)
TOO_LARGE = "a number of about 400 digits is beyond float64"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: run(RING, [[1.0], [2.0]], "bflaot16"), ValueError, "did you mean 'bfloat16'"),
        (lambda: run(RING, [[1.0], [2.0]], "fp17"), ValueError, "did you mean 'fp16'"),
        (lambda: run(RING, [[1.0], [2.0]], ml_dtypes.float8_e4m3), ValueError, "unknown dtype"),
        (lambda: run(RING, [[1.0], [2.0]], 7), ValueError, "unknown dtype '7'"),
        (lambda: run(RING, [[1j], [2.0]], "fp16"), Mismatch, "rank 0: dtype complex128 cannot"),
        (lambda: run(RING, [[1j], [2j]]), ValueError, "unknown dtype 'complex128'"),
        (lambda: run(RING, [["a"], ["b"]], "fp16"), Mismatch, "rank 0: dtype <U1 cannot"),
        (lambda: run(RING, [[1.0], [[2.0], [1.0, 2.0]]], "fp16"), Mismatch, "rank 1: the input"),
        (lambda: run(RING, [[1.0], [2.0, 3.0]], "fp16"), Mismatch, "disagree about the shape"),
        (lambda: run(RING, [[1.0]], "fp16"), Mismatch, "1 inputs for 2 ranks"),
        (lambda: run(RING, [[1.0], [2]]), Mismatch, "disagree about the dtype"),
        (lambda: run(RING, [[1], [300]], "int8"), Mismatch, "rank 1: 300 does not fit int8"),
        (lambda: run(RING, [[1], [0.5]], "int8"), Mismatch, "rank 1: 0.5 does not fit int8"),
        (lambda: run(RING, [[1], [2]], reduce_op="avg"), ValueError, "mean of whole numbers"),
        (lambda: run(RING, [[1.0], [2.0]], saturate=True), ValueError, "only float8 saturates"),
        (
            lambda: run(RING, [[1.0], [2.0]], "fp32", switch_dtype="fp16"),
            ValueError,
            "switch_dtype float16 does not hold every float32",
        ),
        (lambda: run(RING, [[1], [2]], switch_dtype="fp32"), ValueError, "only sums of floats"),
        (lambda: run("ring", [[1.0], [2.0]]), ValueError, "schedule is 'ring'; make one with"),
        (lambda: numerics.averages(None, [[1.0]]), ValueError, "schedule is None; make one"),
        (lambda: order([]), ValueError, r"schedule is \[\]; make one with"),
        (lambda: same_order(7), ValueError, "schedule is 7; make one with"),
        (lambda: roundings("ring"), ValueError, "schedule is 'ring'; make one with"),
        (lambda: order(RING, "4"), ValueError, "rank is '4'; ranks are 0 to 1"),
        (lambda: order(RING, chunk=0.0), ValueError, "chunk is 0.0; chunks are 0 to 1"),
        (lambda: order(RING, rank=2), ValueError, "rank is 2; ranks are 0 to 1"),
        (lambda: order(RING, chunk=-1), ValueError, "chunk is -1; chunks are 0 to 1"),
        (
            lambda: order(build("reduce", "flat", world_size=3), rank=1),
            ValueError,
            "promises it nothing of chunk 0; ask a rank that gets it: 0",
        ),
        (
            lambda: order(Schedule("all_reduce", "none", 2, 1, ())),
            ScheduleError,
            "rank 0 ends without it",
        ),
        (lambda: numerics.format_of("int8"), ValueError, "int8 holds whole numbers"),
        (lambda: numerics.ulp(10**400, "fp16"), ValueError, TOO_LARGE),
        (lambda: numerics.rounded([1, 10**400], "fp16"), ValueError, TOO_LARGE),
        (lambda: numerics.running_sum([1, 10**400], "fp16"), ValueError, TOO_LARGE),
        (lambda: numerics.running_sum([1, 10**400], "int8"), ValueError, TOO_LARGE),
        (lambda: numerics.quantize([1, 10**400]), ValueError, TOO_LARGE),
        (lambda: numerics.error_bound([-(10**400)]), ValueError, TOO_LARGE),
        (lambda: numerics.rounded([[1], [2, 3]], "fp16"), ValueError, "rows of the same length"),
        (lambda: numerics.ulp("one", "fp16"), ValueError, "values: 'one'; give real numbers"),
        (lambda: numerics.quantize([1j]), ValueError, "give real numbers"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()


# Quantized blocks.


@pytest.mark.parametrize("bits", [4, 8])
@given(data=st.data())
def test_quantizing_stays_within_its_bound(bits, data):
    values = st.floats(width=32, allow_nan=False, allow_infinity=False)
    scale = data.draw(st.sampled_from([1.0, 1e-30, 2.0**-143, 2.0**-149, 3e38]))
    near = st.floats(-1, 1).map(lambda x: float(np.float32(x * scale)))
    x = np.array(data.draw(st.lists(values | near, max_size=40)), np.float32)
    block = data.draw(st.integers(1, 17))
    kept = numerics.quantize(x, bits=bits, block=block)
    most = 127 if bits == 8 else 7
    assert np.abs(kept.codes.astype(int)).max(initial=0) <= most
    for i, (value, back) in enumerate(zip(x, kept.dequantize(), strict=True)):
        of_block = x[i // block * block : (i // block + 1) * block]
        peak = max(abs(Fraction(float(v))) for v in of_block)
        bound = peak / (2 * most) * (1 + Fraction(1, 2**15)) + Fraction(1, 2**149)
        assert abs(Fraction(float(value)) - Fraction(float(back))) <= bound
        assert numerics.error_bound(x, bits=bits, block=block)[i] == pytest.approx(
            float(bound), rel=1e-12, abs=0
        )


@pytest.mark.parametrize("bits", [4, 8])
def test_packed_codes_hold_what_they_were_packed_from(bits):
    x = np.random.default_rng(bits).standard_normal(101)
    kept = numerics.quantize(x, bits=bits, block=10)
    packed = kept.packed()
    assert packed.nbytes + 4 * kept.scales.size == kept.nbytes
    codes = packed if bits == 8 else np.stack([packed & 15, packed >> 4], axis=1).ravel()[:101]
    signed = codes.astype(int) - (codes >= 1 << bits - 1) * (1 << bits)
    assert signed.tolist() == kept.codes.tolist()


def test_the_largest_number_comes_out_as_itself():
    largest = float(np.finfo(np.float32).max)
    # its scale is rounded up, and 127 times that is beyond float32
    assert numerics.quantize([largest, -largest]).dequantize().tolist() == [largest, -largest]


def halfway(bits: int, count: int) -> np.ndarray:
    """Return a block with scale 1 whose other values all lose half a step, in one direction."""
    most = 127 if bits == 8 else 7
    return np.array([most, *[(2 * i) % (most - 1) + 0.5 for i in range(count - 1)]])


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("n", "count"), [(1, 7), (2, 64), (3, 64), (4, 130), (8, 5), (5, 0)])
@pytest.mark.parametrize("algorithm", ["ring", "direct", "bruck"])
def test_a_quantized_all_gather_errs_once_and_everywhere_alike(bits, n, count, algorithm):
    schedule = build("all_gather", algorithm, world_size=n)
    pieces = np.array_split(np.random.default_rng(n).standard_normal((count, 3)), n)
    result = numerics.quantized_all_gather(schedule, pieces, bits=bits, block=16)
    whole = np.concatenate(pieces).astype(np.float32)
    alone = [numerics.quantize(piece, bits=bits, block=16).dequantize() for piece in pieces]
    for rank in range(n):
        assert same_bits(result.outputs[rank], np.concatenate(alone))
        assert np.array_equal(result.exact[rank], whole)
        assert (result.errors[rank] <= result.bounds[rank]).all()
    assert result.tightness <= 1


@pytest.mark.parametrize("bits", [4, 8])
def test_the_bound_of_an_all_gather_is_reached(bits):
    schedule = build("all_gather", "ring", world_size=4)
    pieces = [halfway(bits, 64) * (rank + 1) for rank in range(4)]
    result = numerics.quantized_all_gather(schedule, pieces, bits=bits, block=64)
    assert 0.999 < result.tightness <= 1


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("algorithm", ["direct", "pairwise"])
@pytest.mark.parametrize(("n", "count"), [(1, 5), (2, 64), (3, 100), (4, 130), (8, 5), (5, 0)])
def test_a_quantized_reduce_scatter_stays_within_its_bound(bits, n, count, algorithm):
    schedule = build("all_to_all", algorithm, world_size=n)
    x = np.random.default_rng(n).standard_normal((n, count, 2)).astype(np.float32)
    x *= 10.0 ** np.arange(n)[:, None, None]
    result = numerics.quantized_reduce_scatter(schedule, list(x), bits=bits, block=32)
    pieces = [np.array_split(row, n) for row in x]
    for rank in range(n):
        due = sum(piece[rank].astype(np.float64) for piece in pieces)
        assert result.exact[rank] == pytest.approx(due, rel=1e-14, abs=1e-9)
        sent = [numerics.quantize(p[rank], bits=bits, block=32).dequantize() for p in pieces]
        total = sent[0]
        for other in sent[1:]:
            total = total + other
        assert same_bits(result.outputs[rank], total)
        assert (result.errors[rank] <= result.bounds[rank]).all()


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("n", [2, 8, 32])
def test_the_bound_of_a_reduce_scatter_is_reached(bits, n):
    schedule = build("all_to_all", "direct", world_size=n)
    x = np.tile(halfway(bits, 16), n)
    result = numerics.quantized_reduce_scatter(schedule, [x] * n, bits=bits, block=16)
    assert 0.99 < result.tightness <= 1
    assert result.max_error == n / 2
    # the exercise's bound: n max|block| / (2 q)
    assert result.max_bound == pytest.approx(n / 2, rel=1e-2)


@given(st.data())
def test_no_input_breaks_the_bound_of_a_reduce_scatter(data):
    n = data.draw(st.integers(1, 5))
    values = st.sampled_from([0.5, 1.5, 126.5, 127.0, -0.5, 1e-40, 2.0**24 + 2, 1e30, -1e30])
    x = [np.array(data.draw(st.lists(values, min_size=6, max_size=6))) for _ in range(n)]
    schedule = build("all_to_all", "direct", world_size=n)
    bits, block = data.draw(st.sampled_from([(4, 2), (8, 3), (8, 128)]))
    result = numerics.quantized_reduce_scatter(schedule, x, bits=bits, block=block)
    assert result.tightness <= 1


def test_bytes_are_those_of_codes_and_scales():
    # 8 ranks, pieces of 1,024: direct sends 7 of them; ring passes 7 on
    pieces = [np.ones(1024)] * 8
    for bits, piece_bytes in ((8, 1024 + 4 * 8), (4, 512 + 4 * 8)):
        for algorithm in ("ring", "direct"):
            schedule = build("all_gather", algorithm, world_size=8)
            result = numerics.quantized_all_gather(schedule, pieces, bits=bits, block=128)
            assert result.nbytes == 7 * piece_bytes
            assert (result.nbytes_fp16, result.nbytes_fp32) == (7 * 2048, 7 * 4096)
    exchange = build("all_to_all", "pairwise", world_size=8)
    result = numerics.quantized_reduce_scatter(exchange, [np.ones(8192)] * 8, bits=8, block=128)
    assert result.nbytes == 7 * (1024 + 4 * 8)
    assert result.nbytes_fp32 == 7 * 4096


def test_the_busier_direction_counts():
    # rank 0 takes two pieces of 260 bytes (256 codes, 1 scale) and gives each rank two others
    up = tuple(Transfer(rank, 0, rank, Op.COPY) for rank in (1, 2))
    down = tuple(Transfer(0, rank, chunk, Op.COPY) for rank in (1, 2) for chunk in (0, 3 - rank))
    star = Schedule("all_gather", "star", 3, 3, (up, down))
    pieces = [np.ones(256)] * 3
    assert numerics.quantized_all_gather(star, pieces, block=256).nbytes == 4 * 260
    # an NVLS rank writes its own piece and reads all three
    nvls = build("all_gather", "nvls", world_size=3)
    assert numerics.quantized_all_gather(nvls, pieces, block=256).nbytes == 3 * 260


def test_a_sum_that_leaves_float32_has_no_bound():
    x = [np.full(2, 3e38)] * 2
    exchange = build("all_to_all", "direct", world_size=2)
    result = numerics.quantized_reduce_scatter(exchange, x)
    assert result.outputs[0].tolist() == [math.inf]
    assert result.bounds[0].tolist() == [math.inf]


GATHER = build("all_gather", "ring", world_size=2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: numerics.quantize([1.0], bits=2), ValueError, "bits is 2; codes have 8 or 4"),
        (lambda: numerics.quantize([1.0], bits=4.0), ValueError, "bits is 4.0; codes have 8 or 4"),
        (lambda: numerics.quantize([1.0], block=0), ValueError, "block is 0; it must be"),
        (lambda: numerics.quantize([1.0, math.nan]), ValueError, "^element 1 is nan"),
        (lambda: numerics.error_bound([math.inf]), ValueError, "^element 0 is inf"),
        (
            lambda: numerics.quantized_all_gather(GATHER, [[1.0], [1e39]]),
            Mismatch,
            "rank 1: element 0 is inf",
        ),
        (
            lambda: numerics.quantized_all_gather(RING, [[1.0], [2.0]]),
            ValueError,
            r"is of all_reduce; give one of all_gather",
        ),
        (
            lambda: numerics.quantized_reduce_scatter(GATHER, [[1.0], [2.0]]),
            ValueError,
            r"is of all_gather; give one of all_to_all",
        ),
        (
            lambda: numerics.quantized_all_gather(GATHER, [[1.0], [2.0, 3.0]]),
            Mismatch,
            "rank 0: 1 rows where 2 are due",
        ),
        (
            lambda: numerics.quantized_all_gather(GATHER, [[1.0], [2.0]], block=1.5),
            ValueError,
            "block is 1.5",
        ),
    ],
)
def test_bad_blocks_are_refused_with_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("block", [3, 2**31, 10**400])
def test_a_block_may_be_longer_than_the_values(block):
    made = numerics.quantize([127.0, -64.0, 3.0], block=block)
    assert (made.codes.tolist(), made.scales.size, made.nbytes) == ([127, -64, 3], 1, 7)
    assert made.dequantize().tolist() == [127, -64, 3]
    assert numerics.error_bound([127.0, 0.0], block=block).round(3).tolist() == [0.5, 0.5]
    assert numerics.quantize([], block=block).nbytes == 0


def test_a_printed_run_says_how_the_error_compares_with_the_result():
    nothing = run(RING, [[1.0, 1.0], [1.0, 1.0]], "fp16")
    assert "max 0, rms 0 % of the exact result's rms" in repr(nothing)
    assert "max inf, rms infinite\n" in repr(run(RING, [[60000.0], [60000.0]], "fp16"))


def test_a_printed_run_says_what_was_saved():
    text = repr(numerics.quantized_all_gather(GATHER, [np.ones(256)] * 2))
    assert "int8 in blocks of 128, 2 ranks" in text
    assert "bytes  264 at the busiest rank; fp16 1.94x, fp32 3.88x" in text
    alone = build("all_gather", "ring", world_size=1)
    assert "nothing moves" in repr(numerics.quantized_all_gather(alone, [np.ones(4)]))
