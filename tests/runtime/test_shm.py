"""Counters, waits and aborts: every way of waiting that some machine needs."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from runtime_harness import bench, random_delays, run_threads

from allranks.algorithms import build
from allranks.runtime import shm
from allranks.runtime.shm import Control, Phase, SharedFile, Stopped, map_file
from allranks.simulate import layout


def controls(endpoints: int, sleep: str | None = None) -> list[Control]:
    file = SharedFile(Control.nbytes(endpoints))
    made = [
        Control(map_file(file.path, file.nbytes), endpoints, sleep=sleep) for _ in range(endpoints)
    ]
    file.close()
    return made


@pytest.mark.parametrize("sleep", ["futex", "poll"])
def test_a_waiter_sees_what_was_published_and_whoever_wrote_before(sleep: str) -> None:
    first, second = controls(2, sleep)
    seen: list[int] = []

    def follow() -> None:
        for value in range(1, 200):
            second.wait(1, 0, value, run=1)
            seen.append(first.count(0))
            second.publish(1, value)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    for value in range(1, 200):
        if value % 50 == 0:
            time.sleep(0.02)  # long enough to put the other to sleep
        first.publish(0, value)
        first.wait(0, 1, value, run=1)
    thread.join(timeout=30)
    assert seen == list(range(1, 200))


@pytest.mark.parametrize("sleep", ["futex", "poll"])
@pytest.mark.parametrize("what", ["peer", "go"])
def test_an_abort_releases_who_waits_but_not_the_next_run(sleep: str, what: str) -> None:
    driver, rank = controls(2, sleep)
    outcome: list[str] = []

    def work() -> None:
        try:
            if what == "peer":
                rank.wait(1, 0, 5, run=1)
            else:
                rank.wait_go(1, run=1)
        except Stopped:
            outcome.append("stopped")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    time.sleep(0.1)
    driver.abort(1)
    thread.join(timeout=30)
    assert outcome == ["stopped"]
    driver.publish(0, 5)
    rank.wait(1, 0, 5, run=2)
    driver.go(2)
    rank.wait_go(1, run=2)


def test_who_waits_for_whom_can_be_read_from_outside() -> None:
    driver, rank = controls(2)
    assert driver.waits_for(1) is None
    driver.set_phase(1, Phase.RUNNING)
    thread = threading.Thread(target=lambda: rank.wait(1, 0, 3, run=1), daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while driver.waits_for(1) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert driver.waits_for(1) == (0, 3)
    assert driver.phase(1) is Phase.RUNNING
    driver.publish(0, 3)  # from now on, rank 1 is to blame if it does not move
    assert driver.waits_for(1) is None
    thread.join(timeout=30)


def test_mail_and_jobs_arrive_and_may_not_be_too_long() -> None:
    driver, rank = controls(2)
    rank.post(1, b"shape")
    driver.post_job(b"j" * 50_000)
    assert driver.mail(1) == b"shape"
    assert driver.mail(0) == b""
    assert rank.job() == b"j" * 50_000
    with pytest.raises(ValueError, match="does not fit"):
        rank.post(0, b"x" * shm.MAIL_BYTES)


@pytest.mark.parametrize("weak_order", [False, True])
@pytest.mark.parametrize("sleep", ["futex", "poll"])
def test_collectives_are_right_however_a_machine_orders_stores_and_waits(
    sleep: str, *, weak_order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[None] = []
    if weak_order:
        barrier = shm.membarrier()

        def counted() -> None:
            calls.append(None)
            barrier()

        monkeypatch.setattr(shm, "fence", lambda: counted)
    monkeypatch.setattr(shm, "sleeper", _sleeper_of(sleep, shm.sleeper))
    schedule = build("all_reduce", "ring", world_size=3)
    inputs = [np.arange(31) * (rank + 1) for rank in range(3)]
    made = bench(layout(schedule, inputs), tile_bytes=16)
    got = run_threads(
        made,
        [inputs] * 3,
        delay=random_delays(random.Random(1), 3),
        collect=lambda e: made.layout.output(e, made.buffer(e)[:31]),
    )
    assert all(np.array_equal(out, np.arange(31) * 6) for answer in got for out in answer)
    assert bool(calls) == weak_order


def _sleeper_of(kind: str, real: Callable[..., object]) -> Callable[..., object]:
    return lambda _asked=None: real(kind)


def test_without_memfd_a_file_has_a_name_until_it_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shm, "HAS_MEMFD", False)
    file = SharedFile(10)
    path = Path(file.path)
    assert path.stat().st_size == file.nbytes
    memory = map_file(file.path, file.nbytes)
    assert file.hide()
    assert not path.exists()
    assert not file.hide()
    memory[:3] = b"abc"
    assert file.map()[:3] == b"abc"
    file.close()
