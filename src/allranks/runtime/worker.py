"""What runs inside a rank's actor. Knows no Ray: one call plays one whole schedule."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from allranks.errors import CollectiveError
from allranks.runtime.compile import Program
from allranks.runtime.execute import (
    Action,
    Array,
    Record,
    Region,
    arrive,
    leave,
    load,
    play,
    view,
)
from allranks.runtime.shm import Control, Phase, Stopped, map_file
from allranks.simulate import Layout, Spec, as_array

CACHED_PROGRAMS = 8


class Order(NamedTuple):
    """The driver's call to one endpoint: which run, and where the shared memory is.

    `function` is the pickled maker of this rank's input, or None if the driver has placed it.
    """

    endpoint: int
    endpoints: int
    capacity: int
    run: int
    control_path: str
    notes_path: str
    function: bytes | None


class Job(NamedTuple):
    """The driver's message to all endpoints, once inputs agree: where programs and memory are.

    `serial` and `arena_serial` name the two files, because a path can come back with another file.
    """

    serial: int
    path: str
    nbytes: int
    shared: tuple[int, int]
    arena_serial: int
    arena_path: str
    arena_nbytes: int
    base: int


class Shared(NamedTuple):
    """What all endpoints need of a compiled schedule. In the job's file at (offset, length).

    `layout` has no steps: it only says where inputs go. Endpoint e's program lies pickled in the
    same file at `programs[e]`, and its memory in the arena at `regions[e]`.
    """

    layout: Layout
    regions: tuple[Region, ...]
    programs: tuple[tuple[int, int], ...]


class Outcome(Enum):
    """How an endpoint's part of a run ended."""

    DONE = "done"
    STOPPED = "stopped"
    RAISED = "raised"
    BROKEN = "broken"


@dataclass
class Report:
    """What a rank's actor returns: measurements, or what went wrong in words."""

    outcome: Outcome
    record: Record | None = None
    error: str = ""
    traceback: str = ""


class Loaded(NamedTuple):
    """A compiled schedule, ready to play."""

    shared: Shared
    program: Program
    actions: list[Action]


class RankWorker:
    """One endpoint. It keeps its mappings and loaded programs between calls."""

    def __init__(self) -> None:
        self._control: tuple[str, Control] | None = None
        self._notes: tuple[str, int] | None = None
        self._arena: tuple[int, mmap.mmap] | None = None
        self._loaded: dict[tuple[int, int], Loaded] = {}

    def hello(self) -> int:
        """Return the number of this process."""
        return os.getpid()

    def run(self, order: Order) -> Report:
        """Play this endpoint's part of one run; report whatever happens instead of raising."""
        try:
            control = self._attach(order)
            notes = self._open_notes(order.notes_path)
        except (OSError, ValueError) as error:
            return _report(Outcome.BROKEN, error)
        with _captured(notes):
            return self._run(order, control)

    def _run(self, order: Order, control: Control) -> Report:
        me = order.endpoint
        array: Array | None = None
        if order.function is not None:
            control.set_phase(me, Phase.INPUT)
            try:
                array = _call(order.function, me)
            except BaseException as error:  # noqa: BLE001 - a rank's code may raise anything
                return _report(Outcome.RAISED, error)
        try:
            if order.function is not None:
                _announce(control, me, array)
            control.set_phase(me, Phase.READY)
            control.wait_go(me, order.run)
            record = self._play(order, control, array)
        except Stopped:
            return Report(Outcome.STOPPED)
        except Exception as error:  # noqa: BLE001 - the driver names the cause
            return _report(Outcome.BROKEN, error)
        control.set_phase(me, Phase.DONE)
        return Report(Outcome.DONE, record=record)

    def _play(self, order: Order, control: Control, array: Array | None) -> Record:
        me, run = order.endpoint, order.run
        job: Job = pickle.loads(control.job())  # noqa: S301 - written by our own driver
        arena = self._map_arena(job)
        loaded = self._load(job, me, arena)
        layout = loaded.shared.layout
        if array is not None and layout.held_at_start(me):
            layout.load(me, array, view(arena, loaded.shared.regions[me], layout.dtype))
        control.set_phase(me, Phase.RUNNING)
        arrive(control, me, run=run, base=job.base, endpoints=order.endpoints)
        start = time.monotonic_ns()
        ufunc = layout.reduce_op.ufunc
        record = play(loaded.actions, control, me, run=run, base=job.base, ufunc=ufunc)
        leave(loaded.program, control, me, run=run, base=job.base)
        record.start_ns, record.end_ns = start, time.monotonic_ns()
        return record

    def _attach(self, order: Order) -> Control:
        if self._control is None or self._control[0] != order.control_path:
            memory = map_file(order.control_path, Control.nbytes(order.capacity))
            self._control = (order.control_path, Control(memory, order.capacity))
        return self._control[1]

    def _open_notes(self, path: str) -> int:
        if self._notes is None or self._notes[0] != path:
            if self._notes:
                os.close(self._notes[1])
                self._notes = None
            self._notes = (
                path,
                os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC),
            )
        return self._notes[1]

    def _map_arena(self, job: Job) -> mmap.mmap:
        if self._arena is None or self._arena[0] != job.arena_serial:
            self._loaded.clear()
            self._arena = (job.arena_serial, map_file(job.arena_path, job.arena_nbytes))
        return self._arena[1]

    def _load(self, job: Job, me: int, arena: mmap.mmap) -> Loaded:
        key = (job.serial, me)
        if key not in self._loaded:
            with map_file(job.path, job.nbytes) as memory:
                shared: Shared = _unpickle(memory, job.shared)
                program: Program = _unpickle(memory, shared.programs[me])
            if len(self._loaded) >= CACHED_PROGRAMS:
                self._loaded.pop(next(iter(self._loaded)))
            actions = load(program, me, shared.regions, arena, shared.layout.dtype)
            self._loaded[key] = Loaded(shared, program, actions)
        return self._loaded[key]


def _unpickle(memory: mmap.mmap, place: tuple[int, int]) -> Any:  # noqa: ANN401
    offset, length = place
    return pickle.loads(memory[offset : offset + length])  # noqa: S301 - our own driver wrote it


def _call(function: bytes, rank: int) -> Array | None:
    """Run the user's function here and return its array (None where it returns None)."""
    make: Callable[[int], object] = pickle.loads(function)  # noqa: S301 - the user's own code
    value = make(rank)
    return None if value is None else as_array(rank, value)


def _announce(control: Control, me: int, array: Array | None) -> None:
    """Tell the driver shape and dtype, so that it can compare ranks before anything moves."""
    spec = None if array is None else Spec(array.shape, array.dtype)
    try:
        control.post(me, pickle.dumps(spec))
    except ValueError:
        # A record dtype with very many fields; records cannot travel anyway.
        control.post(me, pickle.dumps(Spec((), np.dtype(np.void))))


def _report(outcome: Outcome, error: BaseException) -> Report:
    sentence = _sentence(error)
    # Without our own frames on top: the first one shown is the user's.
    inner = error.__traceback__
    while inner and inner.tb_frame.f_code.co_filename == __file__:
        inner = inner.tb_next
    text = "".join(traceback.format_exception(type(error), error, inner))
    return Report(outcome, error=sentence, traceback=text)


def _sentence(error: BaseException) -> str:
    """Return what an error says; its text is made by the user's code, which may raise."""
    name = type(error).__name__
    try:
        if isinstance(error, CollectiveError):
            return str(error.message)
        text = str(error)
    except BaseException as second:  # noqa: BLE001 - a rank's code may raise anything
        return f"{name} (without a text: making it raised {type(second).__name__})"
    return f"{name}: {text}" if text else name


@contextmanager
def _captured(notes: int) -> Iterator[None]:
    """Send everything printed meanwhile, also by C code and child processes, to a file.

    The file is shared memory of the driver, so the text survives the death of this process.
    """
    streams = sys.stdout, sys.stderr
    for stream in streams:
        stream.flush()
    saved = os.dup(1), os.dup(2)
    text = io.TextIOWrapper(
        io.FileIO(notes, "w", closefd=False),
        encoding="utf-8",
        errors="backslashreplace",
        write_through=True,
    )
    os.dup2(notes, 1)
    os.dup2(notes, 2)
    sys.stdout = sys.stderr = text
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        text.flush()
        for old, new in zip(saved, (1, 2), strict=True):
            os.dup2(old, new)
            os.close(old)
