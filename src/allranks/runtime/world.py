"""A world of ranks: real processes that run a schedule on real buffers."""

from __future__ import annotations

import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from allranks.algorithms import Parameters, build, usual_algorithm
from allranks.cost import busbw
from allranks.errors import TransportUnavailable, unknown_name
from allranks.runtime.cluster import load_ray
from allranks.runtime.discover import Machine, machine
from allranks.runtime.execute import Array, Record
from allranks.runtime.group import Group, check_memory
from allranks.runtime.memory import MAX_SWITCHES, Memory, Prepared
from allranks.runtime.shm import Phase
from allranks.runtime.trace import bytes_by_link, log_run, seconds_of, trace_of
from allranks.runtime.watch import Watch
from allranks.runtime.worker import Order
from allranks.schedule import Schedule, Trace
from allranks.simulate import Layout, ReduceOp, layout, layout_of, overflow_message
from allranks.verify import verify

Inputs = Sequence[object] | Callable[[int], object]

DEVICES = ("auto", "cpu", "cuda")
_LISTED_RANKS = 8


@dataclass(frozen=True, eq=False)
class Result:
    """What a run gave and what was measured.

    `outputs[r]` is rank r's output, None where the collective promises it nothing. `seconds` is
    from the first rank's start to the last rank's end: all inputs were in place and all ranks had
    met before, and Ray's call is not in it. `algbw` and `busbw` are bytes per second as nccl-tests
    defines them (None if no time passed). `bytes_by_link` maps (src, dst) to the bytes that the
    receivers counted. `prints[r]` is what rank r printed; switches stand behind the ranks.
    """

    schedule: Schedule
    outputs: list[Array | None]
    trace: Trace
    seconds: float
    algbw: float | None
    busbw: float | None
    bytes_by_link: dict[tuple[int, int], int]
    prints: list[str]

    @property
    def label(self) -> str:
        """Return what the trace's header says was measured."""
        return self.trace.label

    def __repr__(self) -> str:
        s = self.schedule
        speed = "" if self.busbw is None else f", busbw {self.busbw / 1e9:.3g} GB/s"
        return (
            f"<{s.algorithm} {s.collective} on {s.world_size} ranks: "
            f"{self.seconds * 1e6:.0f} µs{speed}; {self.label}>"
        )


class World:
    """`world_size` ranks, each a Ray actor in a process of its own, on this machine.

    Ranks may outnumber cores. Use it as a context manager, or call `close`; a forgotten World is
    closed when it is garbage-collected or when Python exits. `timeout` is how many seconds a run
    may go without any progress of any rank before it is stopped.

    Raises:
        ValueError: world_size, device or timeout makes no sense.
        TransportUnavailable: no Ray, no GPU transport for device="cuda", or too little memory.
        StepTimeout: a rank's process does not start.
    """

    def __init__(self, world_size: int, *, device: str = "auto", timeout: float = 30.0) -> None:
        _check_arguments(world_size, device, timeout)
        self.world_size = world_size
        self.device = "cpu"
        self.timeout = float(timeout)
        self._asked = device
        self._machine: Machine | None = None
        # Reentrant, because a signal handler may call close in the thread that runs or closes.
        self._lock = threading.RLock()
        self._running = False
        self._closing = False
        self._run = 0
        self._clean = True
        self._group = Group()
        self._memory = Memory(world_size)
        self._closer = weakref.finalize(self, _close, self._group, self._memory)
        try:
            self._group.ensure(world_size, [f"rank {rank}" for rank in range(world_size)])
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> World:  # noqa: PYI034 - World is final in spirit; Self adds nothing
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<World of {self.world_size} ranks on cpu, {state}>"

    @property
    def closed(self) -> bool:
        """Return whether the world was closed."""
        return self._closing or not self._closer.alive

    def close(self) -> None:
        """End all ranks and free their memory; return when their processes are gone.

        A run that another thread has under way ends with a ValueError first. Called inside a run
        by its own thread (from a signal handler), it returns at once and that run closes the world.
        """
        self._closing = True
        with self._lock:
            if not self._running:
                self._closer()

    # -- running -------------------------------------------------------------------------------

    def run(self, schedule: Schedule, inputs: Inputs, reduce_op: str | ReduceOp = "sum") -> Result:
        """Run a schedule on the ranks and return outputs and measurements.

        `inputs` is a list with one array per rank (anything with DLPack or `__array__`; None for
        a rank that starts with nothing), or a function that every rank calls with its number, in
        its own process, to make its array. Inputs are copied and never changed. What a collective
        expects and gives is in `allranks.simulate`. Printed text of all ranks is shown in rank
        order when the run ends, also when it fails.

        Raises:
            ScheduleError: the schedule breaks a rule or its promise.
            Mismatch: ranks disagree about shape or dtype, or an input is missing or unreadable;
                nothing has moved.
            PeerDied, RankFailed, StepTimeout: a rank died, raised, or stood still for `timeout`
                seconds. All ranks have been stopped, and the next run works.
            ValueError: the schedule is for another number of ranks, or an unknown reduce_op; or
                the world was closed, before or during the run.
        """
        given: object = schedule
        if not isinstance(given, Schedule):
            message = (
                f"run: {type(given).__name__} is no Schedule; make one with ar.schedule(...) or "
                "ar.trace_program(...)"
            )
            raise TypeError(message)
        if schedule.world_size != self.world_size:
            message = (
                f"run: the schedule is for {schedule.world_size} ranks and this World has "
                f"{self.world_size}; make a World({schedule.world_size})"
            )
            raise ValueError(message)
        if schedule.num_switches > MAX_SWITCHES:
            message = f"run: {schedule.num_switches} switches; a World plays at most {MAX_SWITCHES}"
            raise ValueError(message)
        operation = ReduceOp.named(reduce_op)
        verify(schedule)
        with self._lock:
            if self.closed:
                message = "run: this World was closed; make a new one"
                raise ValueError(message)
            if self._running:
                message = "run: this World is inside a run of the same thread; wait for its end"
                raise ValueError(message)
            self._running = True
            try:
                return self._run_locked(schedule, inputs, operation)
            finally:
                self._running = False
                if self._closing:
                    self._closer()

    def _run_locked(self, schedule: Schedule, inputs: Inputs, operation: ReduceOp) -> Result:
        function = _pickled(inputs) if callable(inputs) else None
        fixed = None if function is not None else layout(schedule, inputs, operation)
        names = [schedule.endpoint_name(e) for e in range(schedule.num_endpoints)]
        started = self._group.ensure(schedule.num_endpoints, names)
        if started or not self._clean:
            self._memory.renew()
        self._clean = False
        self._run += 1
        orders = self._orders(schedule, function)
        watch = Watch(
            self._group,
            self._memory,
            names,
            run=self._run,
            timeout=self.timeout,
            closed=lambda: self._closing,
        )
        try:
            if fixed is None:
                self._group.submit(orders)
                watch.until_ready()
                prepared = self._release(watch, self._agree(schedule, operation))
            else:
                prepared = self._release(watch, fixed)
                self._group.submit(orders)
            records = watch.until_done()
            self._clean = True
        except BaseException:
            if not self._closing:  # else all processes end now, and close waits for that
                watch.stop()
            raise
        finally:
            prints = [self._memory.notes(e) for e in range(schedule.num_endpoints)]
            _show(prints)
            self._memory.hide()
        return self._result(prepared, records, prints)

    def _orders(self, schedule: Schedule, function: bytes | None) -> list[Order]:
        control = self._memory.control
        for endpoint in range(schedule.num_endpoints):
            control.set_phase(endpoint, Phase.IDLE)
        return [
            Order(
                endpoint=endpoint,
                endpoints=schedule.num_endpoints,
                capacity=self._memory.capacity,
                run=self._run,
                control_path=self._memory.control_path,
                notes_path=self._memory.notes_path(endpoint),
                function=function if endpoint < schedule.world_size else None,
            )
            for endpoint in range(schedule.num_endpoints)
        ]

    def _agree(self, schedule: Schedule, operation: ReduceOp) -> Layout:
        """Compare what the ranks' own functions have made."""
        specs = [self._memory.announced(rank) for rank in range(schedule.world_size)]
        return layout_of(schedule, _due(schedule, specs), operation)

    def _release(self, watch: Watch, agreed: Layout) -> Prepared:
        """Place programs and inputs, then let the ranks go."""
        memory = self._memory
        prepared = memory.prepare(agreed)
        for rank, array in enumerate(agreed.inputs):
            if array is not None:
                agreed.load(rank, array, memory.buffer(prepared, rank))
        base = 1 + max(memory.control.count(e) for e in range(memory.capacity))
        watch.planned(prepared.plan, base)
        memory.post(prepared, base)
        memory.control.go(self._run)
        return prepared

    def _result(self, prepared: Prepared, records: Sequence[Record], prints: list[str]) -> Result:
        schedule = prepared.layout.schedule
        self._machine = self._machine or machine()
        trace = trace_of(schedule, records, self._machine)
        seconds = seconds_of(records)
        speed = busbw(
            schedule.collective,
            world_size=schedule.world_size,
            nbytes=prepared.layout.nbytes,
            seconds=seconds,
        )
        _warn_of_overflow(prepared.layout, records)
        log_run(trace, self._group.pids(schedule.num_endpoints))
        return Result(
            schedule=schedule,
            outputs=[self._memory.output(prepared, r) for r in range(schedule.world_size)],
            trace=trace,
            seconds=seconds,
            algbw=speed.algbw,
            busbw=speed.busbw,
            bytes_by_link=bytes_by_link(trace),
            prints=prints,
        )

    # -- the collectives by name ---------------------------------------------------------------

    def _named(
        self,
        collective: str,
        inputs: Inputs,
        algorithm: str | None,
        *,
        reduce_op: str | ReduceOp = "sum",
        root: int | None = None,
        **parameters: Unpack[Parameters],
    ) -> Result:
        chosen = algorithm or usual_algorithm(collective)
        schedule = build(
            collective,
            chosen,
            world_size=self.world_size,
            root=root,
            **parameters,
        )
        return self.run(schedule, inputs, reduce_op)

    def broadcast(
        self,
        inputs: Inputs,
        algorithm: str | None = None,
        *,
        root: int = 0,
        **parameters: Unpack[Parameters],
    ) -> Result:
        """Give every rank the root's array; the inputs of the others are None. Raises as `run`."""
        return self._named("broadcast", inputs, algorithm, root=root, **parameters)

    def reduce(
        self,
        inputs: Inputs,
        algorithm: str | None = None,
        reduce_op: str | ReduceOp = "sum",
        *,
        root: int = 0,
        **parameters: Unpack[Parameters],
    ) -> Result:
        """Give the root the reduction of all ranks' arrays, the others None. Raises as `run`."""
        return self._named(
            "reduce",
            inputs,
            algorithm,
            reduce_op=reduce_op,
            root=root,
            **parameters,
        )

    def scatter(
        self,
        inputs: Inputs,
        algorithm: str | None = None,
        *,
        root: int = 0,
        **parameters: Unpack[Parameters],
    ) -> Result:
        """Give rank r piece r of the root's array, cut along axis 0. Raises as `run`."""
        return self._named("scatter", inputs, algorithm, root=root, **parameters)

    def gather(
        self,
        inputs: Inputs,
        algorithm: str | None = None,
        *,
        root: int = 0,
        **parameters: Unpack[Parameters],
    ) -> Result:
        """Give the root all ranks' arrays, joined on axis 0, the others None. Raises as `run`."""
        return self._named("gather", inputs, algorithm, root=root, **parameters)

    def all_gather(
        self,
        inputs: Inputs,
        algorithm: str | None = None,
        **parameters: Unpack[Parameters],
    ) -> Result:
        """Give every rank all ranks' arrays, joined along axis 0. Raises as `run`."""
        return self._named("all_gather", inputs, algorithm, **parameters)

    def reduce_scatter(
        self,
        inputs: Inputs,
        algorithm: str | None = None,
        reduce_op: str | ReduceOp = "sum",
        **parameters: Unpack[Parameters],
    ) -> Result:
        """Give rank r piece r (axis 0) of the reduction of all ranks' arrays. Raises as `run`."""
        return self._named(
            "reduce_scatter",
            inputs,
            algorithm,
            reduce_op=reduce_op,
            **parameters,
        )

    def all_reduce(
        self,
        inputs: Inputs,
        algorithm: str | None = None,
        reduce_op: str | ReduceOp = "sum",
        **parameters: Unpack[Parameters],
    ) -> Result:
        """Give every rank the reduction of all ranks' arrays. Raises as `run`."""
        return self._named("all_reduce", inputs, algorithm, reduce_op=reduce_op, **parameters)

    def all_to_all(
        self,
        inputs: Inputs,
        algorithm: str | None = None,
        **parameters: Unpack[Parameters],
    ) -> Result:
        """Give rank q piece q (axis 0) of every rank's array, in rank order. Raises as `run`."""
        return self._named("all_to_all", inputs, algorithm, **parameters)

    # -- explaining ----------------------------------------------------------------------------

    def explain(self) -> str:
        """Return, per pair of ranks, the transport in use, why, and what was rejected."""
        self._machine = self._machine or machine()
        return explanation(
            self.world_size, self._asked, self._machine, nodes=self._group.cluster.nodes
        )


def explanation(world_size: int, device: str, here: Machine, *, nodes: int = 1) -> str:
    """Return the text of `World.explain` for a machine."""
    lines = [
        f"World of {world_size} ranks on {here.cpu}, {here.cores} cores; device={device!r} -> cpu",
        "",
        "pair             transport  why",
    ]
    why = "both ranks are processes of this machine: the receiver reads the sender's memory"
    if world_size == 1:
        lines.append("(one rank: no pair, nothing travels)")
    elif world_size <= _LISTED_RANKS:
        pairs = [(a, b) for a in range(world_size) for b in range(a + 1, world_size)]
        lines += [f"{f'{a} <-> {b}':<17}shm        {why}" for a, b in pairs]
    else:
        lines.append(f"{'all pairs':<17}shm        {why}")
    has_gpu = f"this machine has {len(here.gpus)} GPU(s)" if here.gpus else "no GPU is visible here"
    lines += [
        "",
        "rejected",
        f"  cuda_ipc       not in this release ({has_gpu})",
        f"  nccl           not in this release ({has_gpu})",
        "  tcp            not in this release; not needed between processes of one machine",
    ]
    if world_size > here.cores:
        lines += [
            "",
            f"{world_size} ranks share {here.cores} cores: right results, but not the times of a",
            "machine with a core per rank.",
        ]
    if nodes > 1:
        lines += [
            "",
            f"The Ray cluster has {nodes} nodes. All ranks run on this one, because transports",
            "between nodes are not in this release.",
        ]
    return "\n".join(lines)


def _check_arguments(world_size: object, device: object, timeout: object) -> None:
    if isinstance(world_size, bool) or not isinstance(world_size, int) or world_size < 1:
        message = f"World: world_size is {world_size!r}; it must be a whole number of at least 1"
        raise ValueError(message)
    if device not in DEVICES:
        raise ValueError("World: " + unknown_name("device", device, DEVICES))
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        message = f"World: timeout is {timeout!r}; it must be a number of seconds above 0"
        raise ValueError(message)
    if device == "cuda":
        gpus = machine().gpus
        found = f"it has {len(gpus)} NVIDIA GPU(s)" if gpus else "nvidia-smi lists no GPU"
        message = (
            f"World: device='cuda' cannot be had on this machine ({found}), and this release moves "
            "data between CPU processes only; use device='auto' or 'cpu'"
        )
        raise TransportUnavailable(message)
    check_memory(world_size)  # before Ray is started for it


def _pickled(function: Callable[[int], object]) -> bytes:
    ray = load_ray()
    try:
        data: bytes = ray.cloudpickle.dumps(function)
    except Exception as error:
        message = (
            f"run: the function for the inputs cannot be sent to the ranks ({error}); let it make "
            "what it needs itself instead of holding files, locks or connections"
        )
        raise TypeError(message) from error
    return data


def _due(schedule: Schedule, specs: Sequence[Any]) -> list[Any]:
    """Drop what ranks made that start with nothing: the function was called everywhere."""
    if schedule.collective not in ("broadcast", "scatter"):
        return list(specs)
    return [spec if rank == schedule.root else None for rank, spec in enumerate(specs)]


def _show(prints: Sequence[str]) -> None:
    for text in prints:
        if text:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def _warn_of_overflow(agreed: Layout, records: Sequence[Record]) -> None:
    overflowed = [r.overflowed for r in records if r.overflowed is not None]
    if overflowed:
        step, transfer = list(agreed.schedule.transfers())[min(overflowed)]
        warnings.warn(overflow_message(agreed, step, transfer), RuntimeWarning, stacklevel=5)


def _close(group: Group, memory: Memory) -> None:
    group.close()
    memory.close()
