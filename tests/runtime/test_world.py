"""A real World: collectives on Ray actors, measurements, prints, bad input."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allranks as ar
from allranks.algorithms import ALGORITHMS
from allranks.errors import Mismatch, ScheduleError, TransportUnavailable
from allranks.runtime.world import World, explanation
from allranks.schedule import EMULATED, MEASURED_CPU, Op, Schedule, Trace, Transfer
from allranks.simulate import example_inputs

pytestmark = pytest.mark.ray
WorldOf = Callable[[int], World]


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("collective", sorted({of for of, _ in ALGORITHMS}))
def test_every_algorithm_runs_on_actors_as_in_the_reference_bit_for_bit(
    collective: str, n: int, world_of: WorldOf
) -> None:
    rng = np.random.default_rng(7)
    for algorithm in ar.algorithms(collective):
        nodes = {"node_size": 2} if algorithm == "hierarchical" else {}
        if ALGORITHMS[collective, algorithm].refuse(n, **nodes):
            continue
        schedule = ar.schedule(collective, algorithm, world_size=n, **nodes)  # type: ignore[arg-type]
        inputs = [
            given if given is None else rng.random(given.shape, dtype=np.float32)
            for given in example_inputs(schedule, nbytes=4 * 43)
        ]
        result = world_of(n).run(schedule, inputs)
        for have, want in zip(result.outputs, ar.simulate(schedule, inputs), strict=True):
            assert (have is None) == (want is None), algorithm
            assert have is None or have.tobytes() == want.tobytes(), algorithm
            assert have is None or have.shape == want.shape, algorithm


def test_eight_ranks_run_on_however_few_cores_there_are(world_of: WorldOf) -> None:
    result = world_of(8).all_reduce([np.arange(1003) * (rank + 1) for rank in range(8)])
    assert all(np.array_equal(output, np.arange(1003) * 36) for output in result.outputs)


def test_one_rank_is_the_identity_in_no_step(world_of: WorldOf) -> None:
    world = world_of(1)
    value = np.arange(5.0)
    for run in (world.all_reduce, world.broadcast, world.reduce, world.all_gather):
        result = run([value])
        assert np.array_equal(result.outputs[0], value)
        assert result.trace.records == ()
        assert result.busbw in (0.0, result.algbw)


def test_a_switch_is_one_more_process_and_is_called_emulated(world_of: WorldOf) -> None:
    result = world_of(4).all_reduce([np.full(6, 10**rank) for rank in range(4)], "sharp")
    assert all(output.tolist() == [1111] * 6 for output in result.outputs)
    assert result.label == EMULATED
    assert result.bytes_by_link == {
        **{(rank, 4): 48 for rank in range(4)},
        **{(4, rank): 48 for rank in range(4)},
    }


def test_exchanged_chunks_keep_step_semantics_on_actors(world_of: WorldOf) -> None:
    steps = tuple(
        tuple(Transfer(r, r ^ distance, 0, Op.REDUCE) for r in range(4)) for distance in (1, 2)
    )
    schedule = Schedule("all_reduce", "doubling", 4, 1, steps)
    inputs = [np.arange(100_000) + rank for rank in range(4)]
    for _ in range(3):
        result = world_of(4).run(schedule, inputs)
        assert all(np.array_equal(output, sum(inputs)) for output in result.outputs)


def test_the_trace_measures_every_transfer_on_one_clock(world_of: WorldOf) -> None:
    schedule = ar.schedule("all_reduce", "ring", world_size=4)
    result = world_of(4).run(schedule, [np.ones(4096, np.float32)] * 4)
    trace = result.trace
    assert [r[:5] for r in trace.records] == [(step, *t) for step, t in schedule.transfers()]
    assert all(0 <= r.start_s <= r.end_s <= result.seconds for r in trace.records)
    assert {(r.nbytes, r.transport, r.device) for r in trace.records} == {(4096, "shm", "cpu")}
    # What rank r + 1 got in step s, it passes on in step s + 1: never before it has it.
    ends = {(r.step, r.dst): r.end_s for r in trace.records}
    for record in trace.records:
        if record.step:
            assert record.start_s >= ends[record.step - 1, record.src]
    assert trace.label == MEASURED_CPU
    assert {"devices", "driver", "versions", "date", "host_cores", "clock"} <= set(trace.header)
    assert Trace.from_json(trace.to_json()).records == trace.records


def test_bytes_by_link_are_what_moved(world_of: WorldOf) -> None:
    result = world_of(3).all_gather([np.zeros(k, np.int8) for k in (4, 3, 3)])
    assert result.bytes_by_link == {(0, 1): 7, (1, 2): 7, (2, 0): 6}
    assert result.algbw == pytest.approx(10 / result.seconds)
    assert result.busbw == pytest.approx(10 / result.seconds * 2 / 3)


# -- arrays ------------------------------------------------------------------------------------


def test_non_contiguous_inputs_travel_in_logical_order(world_of: WorldOf) -> None:
    x = np.arange(24).reshape(4, 3, 2).transpose(0, 2, 1)
    result = world_of(4).reduce_scatter([x] * 4)
    assert result.outputs[0].tolist() == [[[0, 8, 16], [4, 12, 20]]]
    column = np.array([[0, 0], [1, 1]])[:, 0]
    assert world_of(4).broadcast([column, None, None, None]).outputs[3].tolist() == [0, 1]


@pytest.mark.parametrize("shape", [(0,), (1, 0, 2)])
def test_empty_arrays_give_empty_arrays(world_of: WorldOf, shape: tuple[int, ...]) -> None:
    world = world_of(4)
    empty = np.zeros(shape, np.float32)
    for reduce_op in ("sum", "avg", "max"):
        result = world.all_reduce([empty] * 4, reduce_op=reduce_op)
        assert {output.shape for output in result.outputs} == {shape}
        assert result.busbw == 0
    gathered = world.all_gather([empty] * 4).outputs[2]
    assert gathered.shape == (4 * shape[0], *shape[1:])
    assert gathered.dtype == np.float32


def test_inputs_stay_as_they_are_and_outputs_can_be_written(world_of: WorldOf) -> None:
    inputs = [np.arange(50.0) + rank for rank in range(3)]
    for array in inputs:
        array.flags.writeable = False
    before = [hashlib.sha256(array).hexdigest() for array in inputs]
    for run in (world_of(3).all_reduce, world_of(3).reduce_scatter):
        result = run(inputs)
        result.outputs[0][:] = -1
    assert [hashlib.sha256(array).hexdigest() for array in inputs] == before


def test_arrays_that_ray_hands_out_read_only_are_accepted(world_of: WorldOf) -> None:
    import ray

    world = world_of(3)
    arrays = [ray.get(ray.put(np.arange(40_000) * (rank + 1))) for rank in range(3)]
    assert not any(array.flags.writeable for array in arrays)
    held = arrays[1]
    for inputs in (arrays, lambda rank: held * (rank + 1)):
        result = world.all_reduce(inputs)
        assert result.outputs[1][1] in (6, 12)


def test_anything_with_dlpack_or_array_is_an_input(world_of: WorldOf) -> None:
    class Dlpack:
        def __init__(self, array: np.ndarray[Any, Any]) -> None:
            self._array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self._array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self._array.__dlpack_device__()

    result = world_of(3).all_reduce([Dlpack(np.arange(3)), [1, 1, 1], np.int64([2, 2, 2])])
    assert result.outputs[0].tolist() == [3, 4, 5]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "complex128", "bfloat16"])
def test_every_number_dtype_travels(world_of: WorldOf, dtype: str) -> None:
    import ml_dtypes

    wanted = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    inputs = [np.array([1, 0, rank % 2]).astype(wanted) for rank in range(3)]
    schedule = ar.schedule("all_reduce", "ring", world_size=3)
    for given in (inputs, lambda rank: inputs[rank]):
        result = world_of(3).run(schedule, given)
        for have, want in zip(result.outputs, ar.simulate(schedule, inputs), strict=True):
            assert have.dtype == wanted
            assert have.tobytes() == want.tobytes()


def test_a_sum_that_overflows_says_so(world_of: WorldOf) -> None:
    with pytest.warns(RuntimeWarning, match=r"step \d: rank \d -> rank \d.*overflowed float16"):
        result = world_of(3).all_reduce([np.full(4, 30000, np.float16)] * 3)
    assert np.isinf(result.outputs[0]).all()
    mean = world_of(3).all_reduce([np.full(4, 30000, np.float16)] * 3, reduce_op="avg")
    assert mean.outputs[0].tolist() == [30000] * 4


def test_a_larger_vector_after_a_smaller_one_gets_a_larger_arena(world_of: WorldOf) -> None:
    for count in (10, 300_000, 1_000_003, 10):
        result = world_of(3).all_reduce([np.full(count, rank) for rank in range(3)])
        assert all((output == 3).all() and len(output) == count for output in result.outputs)


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("made_by", ["driver", "rank"])
def test_shapes_that_differ_are_refused_by_name(world_of: WorldOf, made_by: str) -> None:
    inputs = [np.zeros(2), np.zeros(3), np.zeros(3)]
    given = inputs if made_by == "driver" else lambda rank: inputs[rank]
    with pytest.raises(Mismatch, match=r"rank 0: \(2,\); ranks 1, 2: \(3,\)"):
        world_of(3).all_reduce(given)
    assert world_of(3).all_reduce([np.ones(2)] * 3).outputs[2].tolist() == [3, 3]


@pytest.mark.parametrize("made_by", ["driver", "rank"])
def test_dtypes_that_differ_are_refused_by_name(world_of: WorldOf, made_by: str) -> None:
    inputs = [np.zeros(2, np.float32), np.zeros(2), np.zeros(2, np.float32)]
    given = inputs if made_by == "driver" else lambda rank: inputs[rank]
    with pytest.raises(Mismatch, match=r"ranks 0, 2: float32; rank 1: float64"):
        world_of(3).all_reduce(given)
    flags = [np.array([True, False])] * 2
    with pytest.raises(Mismatch, match="dtype"):
        world_of(3).all_reduce([*flags, np.array([np.mean(flags), 1])])


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ([np.zeros(2)] * 2, "2 inputs for 3 ranks"),
        ([np.zeros(2), None, np.zeros(2)], "rank 1: no input"),
        ([np.array([{}])] * 3, "rank 0: dtype object"),
        ([[[1], [1, 2]]] * 3, "rank 0"),
        (7, "give a list"),
        (lambda _rank: "text", "rank 0: dtype"),
        (lambda _rank: None, "rank 0: no input"),
        (lambda _rank: np.zeros(1, [("a", int)] * 1), "rank 0: dtype"),
    ],
)
def test_inputs_that_cannot_travel_are_refused(world_of: WorldOf, inputs: Any, said: str) -> None:
    with pytest.raises(Mismatch, match=said):
        world_of(3).all_reduce(inputs)


def test_a_wrong_schedule_is_refused_before_it_runs(world_of: WorldOf) -> None:
    wrong = Schedule("broadcast", "custom", 3, 1, ((Transfer(0, 1, 0, Op.COPY),),), root=0)
    with pytest.raises(ScheduleError, match="rank 2"):
        world_of(3).run(wrong, [np.zeros(1), None, None])
    with pytest.raises(ValueError, match="for 4 ranks and this World has 3"):
        world_of(3).run(ar.schedule("all_reduce", "ring", world_size=4), [np.zeros(1)] * 4)
    with pytest.raises(TypeError, match="no Schedule"):
        world_of(3).run("ring", [])  # type: ignore[arg-type]


def test_names_that_do_not_exist_are_answered_with_those_that_do(world_of: WorldOf) -> None:
    with pytest.raises(ValueError, match="did you mean 'ring'"):
        world_of(3).all_reduce([np.zeros(1)] * 3, "rings")
    with pytest.raises(ValueError, match="did you mean 'sum'"):
        world_of(3).all_reduce([np.zeros(1)] * 3, reduce_op="sums")
    with pytest.raises(ValueError, match="radix is 2; ring all_reduce has no such parameter"):
        world_of(3).all_reduce([np.zeros(1)] * 3, "ring", radix=2)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "4", None])
def test_a_world_needs_a_whole_number_of_ranks(size: Any) -> None:
    with pytest.raises(ValueError, match="whole number of at least 1"):
        World(size)


def test_a_world_refuses_devices_and_timeouts_that_make_no_sense() -> None:
    with pytest.raises(TransportUnavailable, match="CPU processes only"):
        World(2, device="cuda")
    with pytest.raises(ValueError, match="did you mean 'cpu'"):
        World(2, device="gpu")
    for timeout in (0, -1, "soon", float("nan")):
        with pytest.raises(ValueError, match="number of seconds above 0"):
            World(2, timeout=timeout)  # type: ignore[arg-type]


def test_more_processes_than_memory_holds_are_refused(ray_session: object) -> None:
    del ray_session
    with pytest.raises(TransportUnavailable, match=r"GiB available; use fewer ranks"):
        World(1_000_000)


def test_buffers_larger_than_memory_are_refused(world_of: WorldOf) -> None:
    huge = np.broadcast_to(np.zeros((), np.int8), (1 << 45,))
    with pytest.raises(TransportUnavailable, match="GiB available; use a smaller vector"):
        world_of(3).broadcast([huge, None, None])


# -- prints, explanations, logs ----------------------------------------------------------------


def test_prints_of_all_ranks_are_shown_in_rank_order(
    world_of: WorldOf, capsys: pytest.CaptureFixture[str]
) -> None:
    def make(rank: int) -> Any:
        import time

        time.sleep(0.05 * (4 - rank))
        for step in range(2):
            print(f"rank {rank} done step {step}")
        print("and an error line", file=sys.stderr)
        os.system("echo from a child process")  # noqa: S605, S607
        return np.zeros(1)

    result = world_of(4).all_reduce(make)
    texts = [
        f"rank {rank} done step 0\nrank {rank} done step 1\nand an error line\n"
        "from a child process\n"
        for rank in range(4)
    ]
    assert result.prints == texts
    assert capsys.readouterr().out == "".join(texts)
    assert world_of(4).all_reduce([np.zeros(1)] * 4).prints == [""] * 4


def test_explain_names_the_transport_of_every_pair_and_what_was_rejected(world_of: WorldOf) -> None:
    text = world_of(3).explain()
    for pair in ("0 <-> 1", "0 <-> 2", "1 <-> 2"):
        assert f"{pair}          shm" in text
    for name in ("cuda_ipc", "nccl", "tcp"):
        assert f"{name} " in text
    from allranks.runtime.discover import machine

    assert "one rank" in explanation(1, "auto", machine())
    assert "The Ray cluster has 3 nodes. All ranks run on this one" in explanation(
        2, "auto", machine(), nodes=3
    )


def test_a_run_is_logged_where_the_book_asks_for_it(
    world_of: WorldOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "runs.jsonl"
    monkeypatch.setenv("ALLRANKS_RUN_LOG", str(log))
    monkeypatch.setenv("ALLRANKS_CHAPTER", "03-broadcast")
    for _ in range(2):
        result = world_of(3).all_reduce([np.zeros(1)] * 3)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 2
    assert lines[0]["chapter"] == "03-broadcast"
    assert lines[0]["schedule"] == result.schedule.digest()
    assert lines[0]["label"] == MEASURED_CPU
    assert len(set(lines[0]["pids"])) == 3
    assert os.getpid() not in lines[0]["pids"]


def test_ranks_are_processes_of_their_own_and_run_the_function(world_of: WorldOf) -> None:
    result = world_of(3).all_gather(lambda rank: np.array([[rank, os.getpid()]]))
    ranks, pids = result.outputs[0].T
    assert ranks.tolist() == [0, 1, 2]
    assert len({*pids.tolist(), os.getpid()}) == 4


def test_worlds_beside_each_other_do_not_disturb_each_other(world_of: WorldOf) -> None:
    from concurrent.futures import ThreadPoolExecutor

    worlds = [world_of(size) for size in (3, 4, 3)]

    def work(world: World) -> list[float]:
        n = world.world_size
        return [
            float(world.all_reduce([np.full(k, r) for r in range(n)]).outputs[0][0])
            for k in range(1, 6)
        ]

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(work, worlds)) == [[3.0] * 5, [6.0] * 5, [3.0] * 5]


def test_a_result_is_one_line_to_read(world_of: WorldOf) -> None:
    text = repr(world_of(3).all_reduce([np.zeros(1)] * 3))
    assert text.startswith("<ring all_reduce on 3 ranks: ")
    assert text.endswith("GB/s; MEASURED: CPU processes>")


def test_the_package_runs_from_a_folder_that_only_the_driver_has_on_its_path(
    ray_session: object,
    tmp_path: Path,
) -> None:
    """A notebook beside a copy of the sources, without any installation."""
    import ray

    del ray_session
    package = Path(ar.__file__).parent
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "allranks").symlink_to(package)
    (tmp_path / "elsewhere" / "learner.py").write_text(
        "import numpy as np\ndef make(rank):\n    return np.full(2, rank)\n"
    )
    program = (
        "import sys\n"
        f"sys.path.insert(0, {str(tmp_path / 'elsewhere')!r})\n"
        "import allranks as ar, learner\n"
        "with ar.World(2) as world:\n"
        "    print(world.all_reduce(learner.make).outputs)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == "[array([1, 1]), array([1, 1])]", done.stderr
