"""The reference executor gives NumPy's answers, on every shape, dtype and schedule."""

from __future__ import annotations

import functools
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.algorithms import ALGORITHMS, build
from allranks.algorithms.ring import ring_all_gather, ring_reduce_scatter
from allranks.collectives import CONTRACTS
from allranks.cost import cost
from allranks.errors import Mismatch, ScheduleError
from allranks.schedule import Op, Schedule, Transfer
from allranks.simulate import ReduceOp, Spec, example_inputs, layout, layout_of, simulate
from allranks.topology import Topology

SIZES = [1, 2, 3, 4, 5, 7, 8, 16]
FOLDS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
ROOTED = [name for name, promise in CONTRACTS.items() if promise.rooted]


def direct(collective, n, *, root=None, per_block=1):
    """Send every chunk straight to where the contract wants it: for what has no algorithm yet."""
    if collective in ROOTED and root is None:
        root = 0
    promise = CONTRACTS[collective]
    num_chunks = promise.pieces(n) * per_block
    size = promise.size(n, num_chunks, root)
    steps = []
    for chunk in range(num_chunks):
        owners = [r for r in range(n) if list(promise.starts(r, chunk, size))]
        wanted = [r for r in range(n) if promise.ends(r, chunk, size) is not None]
        steps += [
            [Transfer(owners[0], rank, chunk, Op.COPY)] for rank in wanted if rank not in owners
        ]
    made = tuple(map(tuple, steps))
    return Schedule(collective, "direct", n, num_chunks, made, root=root)


def one_shot(n):
    """Let every rank send its whole vector to every other in one step."""
    step = [Transfer(a, b, 0, Op.REDUCE) for a in range(n) for b in range(n) if a != b]
    return Schedule("all_reduce", "one_shot", n, 1, (tuple(step),) if n > 1 else ())


def any_schedule(collective, n, root=0):
    """Return a schedule of each collective, by the library where it has an algorithm."""
    for of, algorithm in ALGORITHMS:
        if of == collective:
            rooted = {"root": root} if collective in ROOTED else {}
            return build(of, algorithm, world_size=n, **rooted)
    return direct(collective, n, root=root if collective in ROOTED else None)


def expected(schedule, inputs, fold=np.add):
    """Return what NumPy alone says that every rank must get."""
    n, root = schedule.world_size, schedule.root
    given = [array for array in inputs if array is not None]
    if schedule.collective == "all_to_all":
        pieces = [np.array_split(array, n) for array in given]
        return [np.concatenate([row[rank] for row in pieces]) for rank in range(n)]
    if schedule.collective in ("gather", "all_gather"):
        whole = np.concatenate(given)
    else:
        whole = functools.reduce(lambda a, b: fold(a, b, dtype=a.dtype), given)
    if schedule.collective in ("scatter", "reduce_scatter"):
        return np.array_split(whole, n)
    if schedule.collective in ("gather", "reduce"):
        return [whole if rank == root else None for rank in range(n)]
    return [whole] * n


def shaped_inputs(schedule, shape, dtype):
    """Return distinct small integers of this shape for the whole vector (a send buffer)."""
    n = schedule.world_size
    flat = [np.arange(int(np.prod(shape))) * n + rank + 1 for rank in range(n)]
    wholes = [array.reshape(shape).astype(dtype) for array in flat]
    match schedule.collective:
        case "broadcast" | "scatter":
            return [wholes[rank] if rank == schedule.root else None for rank in range(n)]
        case "gather" | "all_gather":
            return [np.array_split(wholes[rank], n)[rank] for rank in range(n)]
    return wholes


def assert_outputs(found, right):
    assert [x is None for x in found] == [x is None for x in right]
    for got, wanted in zip(found, right, strict=True):
        if got is not None:
            assert got.dtype == wanted.dtype
            assert got.shape == wanted.shape
            np.testing.assert_array_equal(got, wanted)


@st.composite
def schedules(draw):
    n = draw(st.sampled_from(SIZES))
    root = draw(st.integers(0, n - 1))
    if draw(st.booleans()):
        collective = draw(st.sampled_from(["scatter", "gather", "all_gather", "all_to_all"]))
        rooted = root if collective in ROOTED else None
        return direct(collective, n, root=rooted, per_block=draw(st.integers(1, 3)))
    possible = sorted(key for key, entry in ALGORITHMS.items() if not entry.refuse(n))
    collective, algorithm = draw(st.sampled_from(possible))
    entry = ALGORITHMS[collective, algorithm]
    options = {}
    if "root" in entry.parameters:
        options["root"] = root
    if "num_chunks" in entry.parameters:
        options["num_chunks"] = entry.default_chunks(n) * draw(st.integers(1, 5))
    return build(collective, algorithm, world_size=n, **options)


@given(
    schedules(),
    st.one_of(
        st.tuples(st.integers(0, 20)),
        st.tuples(st.integers(0, 9), st.integers(0, 3)),
        st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 3)),
    ),
    st.sampled_from(["int64", "uint8", "int8", "float32", "float64", "complex64"]),
    st.sampled_from(sorted(FOLDS)),
)
@settings(max_examples=150, deadline=None)
def test_every_schedule_gives_numpy_s_answer(schedule, shape, dtype, reduce_op):
    if reduce_op == "prod" and dtype not in ("int64", "uint8", "int8"):
        reduce_op = "sum"  # products of 16 floats would not be exact
    inputs = shaped_inputs(schedule, shape, dtype)
    copies = [None if x is None else x.copy() for x in inputs]
    found = simulate(schedule, inputs, reduce_op)
    assert_outputs(found, expected(schedule, inputs, FOLDS[reduce_op]))
    for before, after in zip(copies, inputs, strict=True):
        assert before is after is None or before.tobytes() == after.tobytes()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("collective", sorted(CONTRACTS))
def test_every_collective_works_for_counts_around_n(collective, n):
    schedule = any_schedule(collective, n, root=n - 1)
    for count in (0, 1, n - 1, n, n + 1, 3 * n + 2):
        inputs = shaped_inputs(schedule, (count,), np.float32)
        assert_outputs(simulate(schedule, inputs), expected(schedule, inputs))


# uneven, single, strided, empty


def test_ten_elements_on_four_ranks_lose_no_tail():
    found = simulate(
        build("all_reduce", "ring", world_size=4), [(r + 1) * np.arange(10) for r in range(4)]
    )
    assert_outputs(found, [10 * np.arange(10)] * 4)


@pytest.mark.parametrize(("n", "count"), [(3, 7), (6, 1_000_003)])
def test_lengths_that_n_does_not_divide_are_reduced_to_the_last_element(n, count):
    inputs = [np.full(count, r + 1, np.int32) for r in range(n)]
    found = simulate(build("all_reduce", "ring", world_size=n), inputs)
    assert_outputs(found, [np.full(count, n * (n + 1) // 2, np.int32)] * n)


@pytest.mark.parametrize("reduce_op", list(ReduceOp))
@pytest.mark.parametrize("collective", sorted(CONTRACTS))
def test_one_rank_gets_its_input_back_as_a_new_array(collective, reduce_op):
    mine = np.array([1.5, -2.0, 3.25, 0.0, 5.0], np.float32)
    (found,) = simulate(any_schedule(collective, 1), [mine], reduce_op)
    assert_outputs([found], [mine])
    assert not np.shares_memory(found, mine)


def test_a_transposed_input_is_reduced_in_logical_order():
    x = np.arange(24).reshape(4, 3, 2).transpose(0, 2, 1)
    found = simulate(build("reduce_scatter", "ring", world_size=4), [x] * 4)
    assert found[0].tolist() == [[[0, 8, 16], [4, 12, 20]]]


def test_a_column_arrives_as_a_column():
    column = np.array([[0, 0], [1, 1]])[:, 0]
    found = simulate(build("broadcast", "flat", world_size=2), [column, None])
    assert [x.tolist() for x in found] == [[0, 1], [0, 1]]


@pytest.mark.parametrize("step", [-1, 2])
def test_reversed_and_strided_inputs_travel_in_logical_order(step):
    x = np.arange(12, dtype=np.int16)[::step]
    found = simulate(build("all_reduce", "ring", world_size=3), [x] * 3)
    assert_outputs(found, [x * np.int16(3)] * 3)


@pytest.mark.parametrize("shape", [(0,), (1, 0, 2), (0, 3)])
@pytest.mark.parametrize("reduce_op", ["sum", "avg", "max"])
@pytest.mark.parametrize("collective", sorted(CONTRACTS))
def test_empty_arrays_come_out_empty(collective, reduce_op, shape):
    schedule = any_schedule(collective, 4)
    inputs = shaped_inputs(schedule, shape, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = simulate(schedule, inputs, reduce_op)
    assert_outputs(found, expected(schedule, inputs))


def test_a_rank_may_have_no_row_of_its_own():
    schedule = build("all_gather", "ring", world_size=4)
    pieces = [np.zeros((1, 0, 2)), *[np.zeros((0, 0, 2))] * 3]
    assert [x.shape for x in simulate(schedule, pieces)] == [(1, 0, 2)] * 4


def test_a_single_number_is_a_vector_too():
    found = simulate(build("all_reduce", "ring", world_size=3), [np.float64(2)] * 3)
    assert_outputs(found, [np.array(6.0)] * 3)
    with pytest.raises(Mismatch, match=r"rank 0: a single number without an axis") as caught:
        simulate(build("all_gather", "ring", world_size=3), [np.float64(2)] * 3)
    assert caught.value.rank == 0


# steps


def test_every_send_reads_the_state_before_the_step():
    swap = Schedule(
        "all_reduce",
        "exchange",
        2,
        3,
        (tuple(Transfer(a, 1 - a, c, Op.REDUCE) for a in (0, 1) for c in range(3)),),
    )
    found = simulate(swap, [np.array([1, 2, 3]), np.array([10, 20, 30])])
    assert_outputs(found, [np.array([11, 22, 33])] * 2)


def test_a_chunk_travels_with_its_old_value_while_a_sum_arrives():
    # recursive doubling on four ranks: each step reads and writes the same chunk everywhere
    steps = tuple(
        tuple(Transfer(rank, rank ^ distance, 0, Op.REDUCE) for rank in range(4))
        for distance in (1, 2)
    )
    schedule = Schedule("all_reduce", "recursive_doubling", 4, 1, steps)
    found = simulate(schedule, [np.array([10**r]) for r in range(4)])
    assert_outputs(found, [np.array([1111])] * 4)


def test_several_sums_into_one_chunk_start_from_the_own_value_in_order_of_src():
    values = [np.array([x], np.float32) for x in (1e8, 1, -1e8, 1)]
    found = simulate(one_shot(4), values)
    # in fp32 a 1 added to 1e8 is lost; rank 2 adds -1e8, 1e8, 1, 1 and rank 3 adds 1, 1e8, 1, -1e8
    assert [x.tolist() for x in found] == [[1], [1], [2], [0]]


def test_what_reaches_an_endpoint_that_holds_nothing_is_kept():
    found = simulate(build("all_reduce", "sharp", world_size=5), [np.array([r]) for r in range(5)])
    assert_outputs(found, [np.array([10])] * 5)


def test_any_schedule_that_keeps_the_promise_is_played():
    def mirrored(steps, n, shift):
        return tuple(
            tuple(Transfer(n - 1 - t.src, n - 1 - t.dst, (t.chunk + shift) % n, t.op) for t in step)
            for step in steps
        )

    n = 5
    inputs = [np.arange(7) + 10 * r for r in range(n)]
    ring = [*ring_reduce_scatter(n), *ring_all_gather(n)]
    for shift in range(n):
        left = Schedule("all_reduce", "left_ring", n, n, mirrored(ring, n, shift))
        assert_outputs(simulate(left, inputs), [sum(inputs)] * n)


def test_a_schedule_is_proved_before_anybody_is_asked_for_an_input():
    n = 4
    shifted = tuple(
        tuple(t._replace(chunk=(t.chunk + 1) % n) for t in step) for step in ring_reduce_scatter(n)
    )
    schedule = Schedule("reduce_scatter", "shifted_ring", n, n, shifted)
    asked = []
    with pytest.raises(ScheduleError) as caught:
        simulate(schedule, asked.append)
    assert caught.value.kind == "wrong_owner"
    assert asked == []


# arithmetic


@pytest.mark.parametrize(
    ("dtype", "values", "right"),
    [
        ("float32", [1e8, 1, -1e8, 1], [0, 1, 0, 1]),
        ("float16", [2048, 1, 1, 1], [2052, 2052, 2048, 2048]),
    ],
)
def test_a_ring_adds_in_nccl_s_order_and_all_ranks_agree_bit_for_bit(dtype, values, right):
    # chunk c is summed in the order c + 1, ..., c
    inputs = [np.full(4, value, dtype) for value in values]
    found = simulate(build("all_reduce", "ring", world_size=4), inputs)
    assert found[0].tolist() == right
    assert {x.tobytes() for x in found} == {found[0].tobytes()}


def test_an_average_divides_before_it_adds():
    inputs = [np.full(8, 10_000, np.float16)] * 8
    ring = build("all_reduce", "ring", world_size=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = simulate(ring, inputs, "avg")
    assert_outputs(found, [np.full(8, 9992, np.float16)] * 8)


def test_a_sum_that_overflows_is_announced():
    inputs = [np.full(8, 10_000, np.float16)] * 8
    ring = build("all_reduce", "ring", world_size=8)
    with pytest.warns(RuntimeWarning, match="sum overflowed float16") as caught:
        found = simulate(ring, inputs)
    assert np.isinf(found[0]).all()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    # seven values are 70000, more than 65504: step 5 makes the first such sums
    assert str(caught[0].message).startswith("step 5: rank 0 -> rank 1, chunk 2: ")
    assert "reduce_op='avg'" in str(caught[0].message)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_narrow_types_overflow_with_a_word_too(dtype):
    top = float(ml_dtypes.finfo(dtype).max)
    with pytest.warns(RuntimeWarning, match="overflowed"):
        simulate(one_shot(2), [np.full(3, top, dtype)] * 2)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_an_infinity_that_was_put_in_is_not_announced(bad):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = simulate(one_shot(2), [np.array([bad, 1.0]), np.array([1.0, 2.0])])
    np.testing.assert_array_equal(found[0], [bad, 3.0])


@pytest.mark.parametrize(
    ("dtype", "values", "right"),
    [("int8", [120, 100], -36), ("uint8", [255, 1], 0), ("bool", [True, False], True)],
)
def test_integers_wrap_and_bools_are_or_ed_as_in_numpy(dtype, values, right):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = simulate(one_shot(2), [np.array([value], dtype) for value in values])
    assert found[0].tolist() == [right]
    assert found[0].dtype == dtype


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ml_dtypes.bfloat16])
def test_an_average_is_exact_where_the_dtype_allows(dtype):
    inputs = [np.array([4.0 * r, -8.0], dtype) for r in range(4)]
    found = simulate(build("reduce", "binomial", world_size=4, root=1), inputs, ReduceOp.AVG)
    assert_outputs(found, [None, np.array([6.0, -8.0], dtype), None, None])


def test_an_average_divides_by_n_even_where_the_dtype_has_no_such_number():
    dtype = np.dtype(ml_dtypes.float8_e4m3fn)  # knows 16 and 18, but not 17
    plan = layout_of(one_shot(17), [Spec((1,), dtype)] * 17, "avg")
    buffer = plan.new_buffer()
    plan.load(0, np.array([16], dtype), buffer)
    assert buffer.astype(float) == 0.9375  # 16/17 = 0.941; 16/16 would be 1


@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_an_average_of_whole_numbers_is_refused(dtype):
    with pytest.raises(ValueError, match="convert the inputs to a float dtype"):
        simulate(one_shot(2), [np.zeros(2, dtype)] * 2, "avg")


def test_a_broadcast_is_never_divided():
    found = simulate(build("broadcast", "flat", world_size=2), [np.array([6]), None], "avg")
    assert_outputs(found, [np.array([6])] * 2)


@pytest.mark.parametrize("name", ["mean", "SUMM", 3, None])
def test_an_unknown_reduce_op_is_refused_with_the_known_ones(name):
    with pytest.raises(ValueError, match=r"unknown reduce_op .* avg, max, min, prod, sum"):
        simulate(one_shot(2), [np.zeros(2)] * 2, name)


def test_a_reduce_op_may_be_written_in_capitals():
    assert ReduceOp.named("SUM") is ReduceOp.SUM
    assert ReduceOp.named(ReduceOp.MAX) is ReduceOp.MAX


# what may be given


class OnlyDLPack:
    """An array of another library: it can be exported and nothing else."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class OnDevice:
    """An array that lies on a GPU."""

    def __dlpack__(self, **options):
        raise BufferError("the data is on device 2")

    def __dlpack_device__(self):
        return (2, 0)


class OnlyArray:
    """An object that can become a NumPy array."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1, 2, 3], dtype)


def test_arrays_of_any_kind_are_read():
    inputs = [
        OnlyDLPack(np.array([1, 2, 3])),
        OnlyArray(),
        [1, 2, 3],
        np.array([1, 2, 3], ">i8"),
        memoryview(np.array([1, 2, 3])),
    ]
    found = simulate(build("all_reduce", "ring", world_size=5), inputs)
    assert_outputs(found, [np.array([5, 10, 15])] * 5)


def test_one_stacked_array_gives_one_row_to_each_rank():
    found = simulate(one_shot(3), np.arange(12).reshape(3, 4))
    assert_outputs(found, [np.array([12, 15, 18, 21])] * 3)


def test_a_function_is_asked_once_for_each_input_that_is_needed():
    asked = []

    def make(rank):
        asked.append(rank)
        return np.array([rank])

    simulate(build("reduce", "flat", world_size=3), make)
    assert asked == [0, 1, 2]
    asked.clear()
    found = simulate(build("broadcast", "chain", world_size=3, root=1), make)
    assert asked == [1]
    assert_outputs(found, [np.array([1])] * 3)


def test_read_only_inputs_are_left_alone_and_outputs_are_free():
    inputs = [np.arange(6, dtype=np.float32) for _ in range(3)]
    for array in inputs:
        array.flags.writeable = False
    found = simulate(build("all_reduce", "ring", world_size=3), inputs)
    for i, array in enumerate(found):
        assert array.flags.writeable
        assert array.flags.c_contiguous
        assert not any(np.shares_memory(array, other) for other in [*inputs, *found[:i]])


def test_a_broadcast_gives_every_rank_its_own_copy():
    mine = np.arange(3)
    found = simulate(build("broadcast", "flat", world_size=2), [mine, None])
    assert not np.shares_memory(found[0], mine)
    found[0][:] = -1
    assert mine.tolist() == [0, 1, 2]


# what is refused before anything moves


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        (
            [(2,), (3,), (3,)],
            r"disagree about the shape \(rank 0: \(2,\); ranks 1, 2: \(3,\)\)",
        ),
        ([(100,), (200,), (200,)], r"rank 0: \(100,\); ranks 1, 2: \(200,\)"),
        ([(100, 2560), (200, 2560), (100, 2560)], r"ranks 0, 2: \(100, 2560\); rank 1: \(200,"),
        ([(4,), (2, 2), (4, 1)], r"rank 0: \(4,\); rank 1: \(2, 2\); rank 2: \(4, 1\)"),
    ],
)
@pytest.mark.parametrize("collective", ["all_reduce", "reduce_scatter", "reduce", "all_to_all"])
def test_different_shapes_are_refused_by_rank_and_shape(collective, shapes, says):
    with pytest.raises(Mismatch, match=says) as caught:
        simulate(any_schedule(collective, 3), [np.zeros(shape) for shape in shapes])
    assert caught.value.rank == 1
    assert caught.value.peer == 0


def test_pieces_must_be_those_of_array_split():
    schedule = build("all_gather", "ring", world_size=3)
    with pytest.raises(Mismatch, match=r"rank 0: 2 rows where 3 are due.*3, 2, 2") as caught:
        simulate(schedule, [np.zeros(2), np.zeros(2), np.zeros(3)])
    assert caught.value.rank == 0
    with pytest.raises(Mismatch, match=r"shape after axis 0 \(ranks 0, 1: \(2,\); rank 2: \(3,\)"):
        simulate(schedule, [np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 3))])


def test_different_dtypes_are_refused_by_rank_and_dtype():
    with pytest.raises(Mismatch, match=r"the dtype \(rank 0: float32; rank 1: float64\)") as caught:
        simulate(one_shot(2), [np.zeros(3, np.float32), np.zeros(3)])
    assert caught.value.rank == 1
    flags = np.array([True, False])
    with pytest.raises(Mismatch, match=r"rank 0: bool; rank 1: float64"):
        simulate(one_shot(2), [np.bool_(1), np.mean(flags)])


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (np.array([1, None], object), "rank 1: dtype object holds no numbers"),
        (np.array(["a", "b"]), "rank 1: dtype <U1 holds no numbers"),
        (np.zeros(2, [("x", "i4")]), "rank 1: dtype .* holds no numbers"),
        (np.zeros(2, "V4"), "rank 1: dtype .*V4 holds no numbers"),
        (np.zeros(2, "datetime64[s]"), "rank 1: dtype datetime64"),
        ([[1, 2], [3]], "rank 1: the input, a list, is no array"),
        (OnDevice(), "rank 1: the input, a OnDevice, is no array in host memory"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "rank 1: a masked array"),
        (None, "rank 1: no input; all_reduce needs an array from this rank"),
        (object(), "rank 1: dtype object holds no numbers"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_by_rank(bad, says):
    with pytest.raises(Mismatch, match=says) as caught:
        simulate(one_shot(2), [np.zeros(2), bad])
    assert caught.value.rank == 1


@pytest.mark.parametrize("collective", ["broadcast", "scatter"])
def test_only_the_root_gives_an_input(collective):
    schedule = any_schedule(collective, 3, root=1)
    with pytest.raises(Mismatch, match="rank 0: an input where none is due; only the root, rank 1"):
        simulate(schedule, [np.zeros(3)] * 3)
    with pytest.raises(Mismatch, match="rank 1: no input"):
        simulate(schedule, [None, None, None])


@pytest.mark.parametrize("inputs", [[], [np.zeros(2)], [np.zeros(2)] * 3, np.zeros((4, 2))])
def test_there_is_one_input_per_rank(inputs):
    with pytest.raises(Mismatch, match=rf"{len(inputs)} inputs for 2 ranks"):
        simulate(one_shot(2), inputs)


@pytest.mark.parametrize("inputs", [None, {0: [1], 1: [2]}, "ab", 3, (x for x in ([1], [2]))])
def test_inputs_are_a_list_or_a_function(inputs):
    with pytest.raises(Mismatch, match="give a list with one array per rank, or a function"):
        simulate(one_shot(2), inputs)


def test_an_operation_that_the_dtype_does_not_have_is_refused():
    half = np.zeros(2, ml_dtypes.int4)
    assert simulate(one_shot(2), [half] * 2)[0].dtype == ml_dtypes.int4
    with pytest.raises(ValueError, match="'avg' of int4"):
        simulate(one_shot(2), [half] * 2, "avg")


# the layout that all executors share


def test_chunks_of_an_all_reduce_follow_the_elements():
    plan = layout_of(build("all_reduce", "ring", world_size=4), [Spec((2, 5), np.dtype("f4"))] * 4)
    assert plan.bounds == (0, 3, 6, 8, 10)
    assert (plan.shape, plan.count, plan.nbytes) == ((2, 5), 10, 40)
    assert plan.output_shape(3) == (2, 5)
    assert plan.input_slices(3) == plan.output_slices(3) == [slice(0, 10)]
    assert [plan.chunk_nbytes(c) for c in range(4)] == [12, 12, 8, 8]


def test_blocks_follow_the_rows_and_chunks_cut_a_block():
    schedule = direct("scatter", 3, per_block=2)
    plan = layout_of(schedule, [Spec((4, 3), np.dtype("i2")), None, None])
    assert plan.rows == (2, 1, 1)
    assert plan.bounds == (0, 3, 6, 8, 9, 11, 12)
    assert [plan.output_shape(r) for r in range(3)] == [(2, 3), (1, 3), (1, 3)]
    assert plan.output_slices(1) == [slice(6, 9)]
    assert plan.held_at_start(0) == [0, 1, 2, 3, 4, 5]
    assert plan.held_at_start(1) == []
    assert plan.promised(2) == [4, 5]


def test_an_all_to_all_joins_the_send_buffers():
    plan = layout_of(direct("all_to_all", 2), [Spec((3,), np.dtype("f8"))] * 2)
    assert plan.bounds == (0, 2, 3, 5, 6)
    assert (plan.shape, plan.nbytes) == ((6,), 24)
    assert plan.input_slices(1) == [slice(3, 6)]
    assert plan.output_slices(0) == [slice(0, 2), slice(3, 5)]
    assert [plan.output_shape(r) for r in range(2)] == [(4,), (2,)]


@pytest.mark.parametrize("collective", sorted(CONTRACTS))
def test_an_output_is_a_copy_of_the_buffer(collective):
    schedule = any_schedule(collective, 3)
    plan = layout(schedule, shaped_inputs(schedule, (7,), np.int32))
    for rank in range(3):
        buffer = plan.new_buffer()
        output = plan.output(rank, buffer)
        assert output is None or not np.shares_memory(output, buffer)


def test_a_switch_holds_nothing_at_the_start():
    plan = layout_of(build("all_reduce", "sharp", world_size=2), [Spec((3,), np.dtype("f8"))] * 2)
    assert plan.held_at_start(2) == []


def test_nothing_is_promised_off_the_root_of_a_reduce():
    plan = layout_of(
        build("reduce", "flat", world_size=2, root=1), [Spec((3,), np.dtype("f8"))] * 2
    )
    assert plan.promised(0) == []
    assert plan.output_shape(0) is None
    assert plan.output(0, plan.new_buffer()) is None


@given(schedules(), st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_arrays_are_cut_where_the_price_cuts_them(schedule, count):
    plan = layout(schedule, shaped_inputs(schedule, (count,), np.int16))
    topology = Topology.uniform(schedule.world_size, alpha=1e-6, bandwidth=1e9)
    priced = cost(schedule, count=count, itemsize=2, topology=topology)
    assert plan.nbytes == 2 * count
    assert priced.bytes_total == sum(plan.chunk_nbytes(t.chunk) for _, t in schedule.transfers())


# inputs for a run


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8", "int64", "bool"])
@pytest.mark.parametrize("collective", sorted(CONTRACTS))
def test_example_inputs_have_the_size_and_exact_sums(collective, dtype):
    schedule = any_schedule(collective, 5, root=2)
    inputs = example_inputs(schedule, nbytes=1000 * np.dtype(dtype).itemsize, dtype=dtype)
    plan = layout(schedule, inputs)
    assert plan.nbytes == 1000 * np.dtype(dtype).itemsize
    assert plan.dtype == dtype
    wide = [None if x is None else x.astype(np.int64) for x in inputs]
    if dtype != "bool":
        narrow = expected(schedule, inputs)
        for got, right in zip(narrow, expected(schedule, wide), strict=True):
            assert got is right is None or np.array_equal(got.astype(np.int64), right)


def test_example_inputs_are_those_of_the_figures():
    ring = build("all_reduce", "ring", world_size=4)
    found = simulate(ring, example_inputs(ring, nbytes=64, dtype="int64"))
    assert_outputs(found, [1000 + 4 * np.arange(8)] * 4)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"nbytes": 10, "dtype": "float32"}, "10 bytes are no whole number of float32"),
        ({"nbytes": -4, "dtype": "float32"}, "-4 bytes"),
        ({"nbytes": 8, "dtype": "float33"}, "dtype 'float33' is unknown"),
        ({"nbytes": 8, "dtype": "object"}, "dtype object holds no numbers"),
    ],
)
def test_impossible_example_inputs_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        example_inputs(one_shot(2), **options)
