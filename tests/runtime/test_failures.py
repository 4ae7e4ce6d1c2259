"""A rank that dies, raises, stalls or never comes ends the run with one cause; the next works."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from allranks.errors import PeerDied, RankFailed, StepTimeout, TransportUnavailable
from allranks.runtime import cluster, group, shm
from allranks.runtime.memory import Memory
from allranks.runtime.shm import Phase
from allranks.runtime.world import World

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def world(ray_session: object) -> Iterator[World]:
    del ray_session
    with World(3, timeout=2) as made:
        yield made


def works(world: World) -> bool:
    n = world.world_size
    result = world.all_reduce([np.full(5, 10**rank) for rank in range(n)])
    return all(out.tolist() == [int("1" * n)] * 5 for out in result.outputs)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def gone(pids: list[int], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(alive(pid) for pid in pids)


def pids_of(world: World) -> list[int]:
    return world.all_gather(lambda _rank: np.array([os.getpid()])).outputs[0].tolist()


# -- one rank fails ----------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["exit", "kill", "crash"])
def test_a_rank_that_dies_is_named_and_replaced(
    world: World, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def make(rank: int) -> Any:
        print(f"last words of rank {rank}")
        if rank == 1:
            if how == "exit":
                os._exit(3)
            os.kill(os.getpid(), signal.SIGKILL if how == "kill" else signal.SIGSEGV)
        return np.ones(4)

    before = pids_of(world)
    with pytest.raises(PeerDied, match=rf"rank 1: its process {before[1]} ended while it was in"):
        world.all_reduce(make)
    assert "last words of rank 1\n" in capsys.readouterr().out
    assert works(world)
    after = pids_of(world)
    assert [after[0], after[2]] == [before[0], before[2]]
    assert gone([before[1]])


def test_a_rank_that_raises_is_reported_with_its_own_traceback(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    def make(rank: int) -> Any:
        print("before", rank)
        if rank == 2:
            message = "no data here"
            raise KeyError(message)
        return np.ones(4)

    before = pids_of(world)
    with pytest.raises(RankFailed, match="rank 2: its code raised KeyError: 'no data here'") as got:
        world.all_reduce(make)
    assert got.value.rank == 2
    assert "raise KeyError(message)\nKeyError: 'no data here'" in got.value.remote_traceback
    assert "worker.py" not in got.value.remote_traceback
    assert pickle.loads(pickle.dumps(got.value)).remote_traceback == got.value.remote_traceback
    assert "before 2\n" in capsys.readouterr().out
    assert works(world)
    assert pids_of(world) == before


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt()])
def test_leaving_the_function_by_exit_or_interrupt_is_a_failure_of_the_rank(
    world: World, error: BaseException
) -> None:
    def make(_rank: int) -> Any:
        raise error

    with pytest.raises(
        RankFailed, match=r"rank \d: its code raised (SystemExit|KeyboardInterrupt)"
    ):
        world.broadcast(make)
    assert works(world)


@pytest.mark.parametrize("second", [ValueError, SystemExit])
def test_an_error_that_cannot_say_what_it_is_is_still_a_failure_of_the_rank(
    world: World, second: type[BaseException]
) -> None:
    def make(_rank: int) -> Any:
        class Mute(Exception):
            def __str__(self) -> str:
                raise second

        raise Mute

    said = rf"code raised Mute \(without a text: making it raised {second.__name__}\)"
    with pytest.raises(RankFailed, match=said) as got:
        world.all_reduce(make)
    assert "raise Mute" in got.value.remote_traceback
    assert works(world)


def test_a_rank_that_sleeps_is_named_and_its_process_replaced(world: World) -> None:
    before = pids_of(world)

    def make(rank: int) -> Any:
        if rank == 1:
            time.sleep(1000)
        return np.ones(4)

    with pytest.raises(StepTimeout) as got:
        world.all_reduce(make)
    assert got.value.rank == 1
    assert got.value.message.startswith(
        "rank 1: it made no progress for 2 s; it is inside the function that makes its input."
    )
    assert "rank 0, rank 2 wait behind" in got.value.message.lower()
    assert gone([before[1]])
    assert works(world)


def test_ranks_that_wait_for_their_own_actors_end_in_a_named_error(world: World) -> None:
    """The classic: a method asks an actor that is inside a method itself. Plain Ray never ends."""

    def make(_rank: int) -> Any:
        import ray

        return ray.get(ray.get_runtime_context().current_actor.hello.remote())

    with pytest.raises(
        StepTimeout, match="rank 0: it made no progress for 2 s, and so have rank 1"
    ):
        world.all_reduce(make)
    assert works(world)


def stop_when(world: World, rank: int, reached: Callable[[], bool]) -> threading.Thread:
    """Send SIGSTOP to a rank's process as soon as a condition holds."""
    pid = world._group.pids(world.world_size)[rank]  # noqa: SLF001 - the test plays the operator

    def work() -> None:
        deadline = time.monotonic() + 60
        while not reached() and time.monotonic() < deadline:
            time.sleep(0.0005)
        os.kill(pid, signal.SIGSTOP)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
def test_a_rank_stopped_in_the_middle_of_a_step_is_the_one_to_blame(
    world: World, how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = world._memory.control  # noqa: SLF001
    inputs = [np.ones(1 << 25, np.float32)] * 3
    assert works(world)
    first = control.count(1)

    def in_the_middle() -> bool:
        return control.phase(1) is Phase.RUNNING and control.count(1) > first + 8

    if how == signal.SIGKILL:
        monkeypatch.setattr(signal, "SIGSTOP", signal.SIGKILL)
    thread = stop_when(world, 1, in_the_middle)
    expected = PeerDied if how == signal.SIGKILL else StepTimeout
    with pytest.raises(expected, match="rank 1: ") as got:
        world.all_reduce(inputs)
    thread.join()
    assert got.value.rank == 1
    assert got.value.step is not None
    assert got.value.chunk is not None
    if expected is StepTimeout:
        assert f"rank {got.value.peer} waits for chunk" in got.value.message.lower()
    assert works(world)


def test_an_interrupt_stops_the_run_and_the_next_one_works(world: World) -> None:
    def make(rank: int) -> Any:
        if rank == 0:
            time.sleep(1000)
        return np.ones(4)

    timer = threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        world.all_reduce(make)
    timer.join()
    assert works(world)


def test_a_rank_that_cannot_reach_the_shared_memory_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Memory, "notes_path", lambda _memory, endpoint: f"/proc/0/fd/{endpoint}")
        patch.setattr(Memory, "notes_bytes", lambda _memory, _endpoint: 0)
        with pytest.raises(TransportUnavailable, match=r"rank \d: its process cannot take part"):
            world.all_reduce([np.ones(1)] * 3)
    assert works(world)


def test_endless_printing_is_stopped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allranks.runtime.watch.NOTES_BYTES", 1 << 20)

    def make(rank: int) -> Any:
        while rank == 2:
            print("x" * 100_000)
        return np.ones(4)

    with pytest.raises(RankFailed, match="rank 2: it printed more than 1 MiB"):
        world.all_reduce(make)
    assert works(world)


def test_a_function_that_cannot_travel_is_refused(world: World) -> None:
    lock = threading.Lock()
    with pytest.raises(TypeError, match="cannot be sent to the ranks"):
        world.all_reduce(lambda _rank: lock)
    assert works(world)


# -- starting ----------------------------------------------------------------------------------


def test_a_rank_that_never_starts_is_named_and_nothing_is_left(
    ray_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del ray_session
    made: list[Any] = []
    real = cluster.actor_class

    class Late:
        """Stands for an actor class of which the second actor never comes up."""

        def __init__(self, connection: Any) -> None:
            self._class = real(connection)

        def remote(self, paths: list[str]) -> Any:
            made.append(self._class.remote(paths))
            if len(made) == 2:
                import ray

                ray.get(made[-1].hello.remote())
                os.kill(ray.get(made[-1].hello.remote()), signal.SIGSTOP)
            return made[-1]

    monkeypatch.setattr(cluster, "actor_class", Late)
    monkeypatch.setattr(group, "START_SECONDS", 1.0)
    monkeypatch.setattr(group, "START_SECONDS_PER_RANK", 0.0)
    with pytest.raises(StepTimeout, match=r"rank 1.*did not start within 1 s") as got:
        World(2)
    assert got.value.rank in (0, 1)


def test_a_rank_whose_process_fails_to_start_says_why(
    ray_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del ray_session
    monkeypatch.setattr(cluster, "import_paths", lambda: 7)
    with pytest.raises(TransportUnavailable, match="rank 0: its process does not start"):
        World(1)


def test_without_ray_the_error_names_what_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(TransportUnavailable, match=r"3\.11, 3\.12 or 3\.13.*ar\.simulate"):
        World(2)


class FakeRay:
    """Stands for the Ray module: says which address it was started with."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    def init(self, *, address: str, **_options: object) -> None:
        self.addresses.append(address)


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nobody_listens_is_refused_before_ray_tries(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = FakeRay()
    with socket.socket() as silent:  # bound, so that nobody else takes the port; never listens
        silent.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(
            TransportUnavailable,
            match=rf"RAY_ADDRESS={address} cannot be used \(.*refused\); check that it runs",
        ):
            cluster._start(ray)  # noqa: SLF001 - the session's own Ray is running already
    assert ray.addresses == []


def test_an_address_that_does_not_answer_in_time_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[tuple[str, int], float]] = []

    def connect(place: tuple[str, int], timeout: float) -> None:
        asked.append((place, timeout))
        message = "timed out"
        raise TimeoutError(message)

    monkeypatch.setattr(socket, "create_connection", connect)
    monkeypatch.setenv("RAY_ADDRESS", "[fd00::1]:6379")
    with pytest.raises(TransportUnavailable, match=r"cannot be used \(timed out\); check that"):
        cluster._start(FakeRay())  # noqa: SLF001
    assert asked == [(("fd00::1", 6379), 5.0)]


@pytest.mark.parametrize("address", ["auto", "local", "nonsense", "far://away:1", "listening"])
def test_any_other_address_is_left_to_ray(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay()
    with socket.create_server(("127.0.0.1", 0)) as server:
        if address == "listening":
            address = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        cluster._start(ray)  # noqa: SLF001
    assert ray.addresses == [address]


def test_a_dead_address_ends_a_program_with_one_sentence() -> None:
    driver = start("import allranks as ar; ar.World(2)", RAY_ADDRESS="127.0.0.1:9")
    try:
        _output, errors = driver.communicate(timeout=60)
    finally:
        driver.kill()
    assert driver.returncode == 1
    assert "TransportUnavailable: World: the cluster at RAY_ADDRESS=127.0.0.1:9 cannot" in errors


def test_an_impossible_number_of_ranks_is_refused_before_ray_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "connect", lambda: pytest.fail("Ray was started"))
    for size in (10**6, 10**15):
        with pytest.raises(TransportUnavailable, match="GiB available; use fewer ranks"):
            World(size)


# -- closing during a run ----------------------------------------------------------------------


@pytest.mark.parametrize("where", ["input", "step"])
def test_closing_from_another_thread_ends_the_run_with_one_sentence(
    ray_session: object, where: str
) -> None:
    del ray_session
    world = World(2, timeout=60)
    pids = pids_of(world)
    control = world._memory.control  # noqa: SLF001
    raised: list[BaseException] = []
    inputs: Any = lambda _rank: time.sleep(1000)  # noqa: E731
    phase = Phase.INPUT
    if where == "step":
        inputs, phase = [np.ones(4)] * 2, Phase.RUNNING
        os.kill(pids[1], signal.SIGSTOP)

    def work() -> None:
        try:
            world.all_reduce(inputs)
        except BaseException as error:  # noqa: BLE001 - judged below
            raised.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while control.phase(0) is not phase and time.monotonic() < deadline:
        time.sleep(0.01)
    world.close()
    assert not any(alive(pid) for pid in pids)
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert [type(error) for error in raised] == [ValueError]
    assert str(raised[0]) == "run: this World was closed during the run; make a new one"
    with pytest.raises(ValueError, match="this World was closed"):
        world.all_reduce([np.ones(1)] * 2)


@pytest.fixture
def on_signal() -> Iterator[Callable[[Callable[[], object]], threading.Timer]]:
    """Return a function that has something called in the main thread, a moment later."""
    before = signal.getsignal(signal.SIGUSR1)

    def later(call: Callable[[], object]) -> threading.Timer:
        signal.signal(signal.SIGUSR1, lambda *_: call())
        timer = threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        timer.start()
        return timer

    yield later
    signal.signal(signal.SIGUSR1, before)


def test_closing_in_a_signal_handler_ends_the_run_and_closes_the_world(
    ray_session: object, on_signal: Callable[[Callable[[], object]], threading.Timer]
) -> None:
    del ray_session
    world = World(2, timeout=60)
    pids = pids_of(world)
    timer = on_signal(world.close)
    with pytest.raises(ValueError, match="this World was closed during the run"):
        world.all_reduce(lambda _rank: time.sleep(1000))
    timer.join()
    assert world.closed
    assert not any(alive(pid) for pid in pids)


def test_a_run_in_a_signal_handler_inside_a_run_is_refused(
    world: World, on_signal: Callable[[Callable[[], object]], threading.Timer]
) -> None:
    refused: list[bool] = []

    def again() -> None:  # what it raises would get lost in Ray's compiled code
        with pytest.raises(ValueError, match="inside a run of the same thread"):
            world.all_reduce([np.ones(1)] * 3)
        refused.append(True)

    def make(_rank: int) -> Any:
        time.sleep(1.5)
        return np.ones(1)

    timer = on_signal(again)
    assert world.all_reduce(make).outputs[0] == [3.0]
    timer.join()
    assert refused == [True]
    assert works(world)


# -- leaving nothing behind --------------------------------------------------------------------


def test_closing_leaves_no_process_and_no_memory(ray_session: object) -> None:
    import ray

    del ray_session
    shared, open_files = Path("/dev/shm"), Path("/proc/self/fd")
    before = set(shared.iterdir()), len(list(open_files.iterdir()))
    world = World(2)
    assert works(world)
    pids = pids_of(world)
    world.close()
    assert not any(alive(pid) for pid in pids)
    assert not [path for path in set(shared.iterdir()) - before[0] if "allranks" in path.name]
    assert ray.util.list_named_actors(all_namespaces=True) == []
    world.close()
    with pytest.raises(ValueError, match="was closed"):
        world.all_reduce([np.ones(1)] * 2)
    del world
    gc.collect()
    assert len(list(open_files.iterdir())) <= before[1] + 2


def test_a_forgotten_world_is_closed_when_it_is_collected(ray_session: object) -> None:
    del ray_session
    world = World(1)
    pids = pids_of(world)
    del world
    gc.collect()
    assert gone(pids)


def test_memory_with_names_is_hidden_after_each_run(
    ray_session: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What other systems than Linux do: temporary files, unlinked once all have them open."""
    del ray_session
    monkeypatch.setattr(shm, "HAS_MEMFD", False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with World(2, timeout=2) as world:
        assert works(world)
        assert list(tmp_path.iterdir()) == []
        assert works(world)
        assert world.all_reduce([np.ones(100_000)] * 2).outputs[1].sum() == 200_000
        with pytest.raises(PeerDied):
            world.all_reduce(lambda rank: os._exit(1) if rank else np.ones(1))
        assert list(tmp_path.iterdir()) == []
        assert works(world)
    assert list(tmp_path.iterdir()) == []


def start(program: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )


def descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found += parents.get(parent, [])
    return found[1:]


def test_a_killed_driver_takes_all_its_processes_along() -> None:
    """Own cluster, a temporary folder with a long name, a dead proxy: kill -9 in mid-run."""
    with tempfile.TemporaryDirectory() as folder:
        long = Path(folder) / ("a" * 90)
        long.mkdir()
        driver = start(
            "import allranks as ar, numpy as np, time\n"
            "world = ar.World(2)\n"
            "print(world.all_reduce([np.ones(2)] * 2).outputs[0], flush=True)\n"
            "world.all_reduce(lambda rank: time.sleep(1000))\n",
            TMPDIR=str(long),
            http_proxy="http://127.0.0.1:9",
            RAY_ADDRESS="",
        )
        assert driver.stdout is not None
        first = driver.stdout.readline()
        assert first == "[2. 2.]\n", driver.communicate(timeout=60)
        processes = descendants(driver.pid)
        assert len(processes) >= 4
        driver.kill()
        driver.communicate(timeout=60)
        assert gone(processes)


def test_a_cluster_that_is_already_there_is_used_and_left_clean(ray_session: Any) -> None:
    """RAY_ADDRESS; a shutdown in between; and a driver that forgets to close its World."""
    import ray

    del ray_session
    driver = start(
        "import allranks as ar, numpy as np, os, ray\n"
        "world = ar.World(2)\n"
        "pids = lambda: world.all_gather(lambda r: np.array([os.getpid()])).outputs[0].tolist()\n"
        "first = pids()\n"
        "ray.shutdown()\n"
        "print(ray.is_initialized(), *first, *pids())\n",
        RAY_ADDRESS=ray.get_runtime_context().gcs_address,
    )
    output, errors = driver.communicate(timeout=120)
    assert driver.returncode == 0, errors
    connected, *pids = output.split()
    assert connected == "False"
    assert len(set(pids)) == 4
    assert gone([int(pid) for pid in pids])
