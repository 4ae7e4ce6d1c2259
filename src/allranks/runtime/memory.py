"""The driver's side of a world's shared memory: control block, arena, programs, printed text."""

from __future__ import annotations

import mmap
import os
import pickle
from dataclasses import dataclass, replace
from itertools import accumulate, count

from allranks.errors import TransportUnavailable
from allranks.runtime.compile import Plan, compile_schedule
from allranks.runtime.discover import available_memory
from allranks.runtime.execute import Array, Region, view
from allranks.runtime.shm import Control, SharedFile
from allranks.runtime.worker import Job, Shared
from allranks.simulate import Layout, Spec

MAX_SWITCHES = 64
NOTES_BYTES = 1 << 26
KEPT_PLANS = 8
_ALIGN = 4096


@dataclass
class Prepared:
    """A compiled schedule whose programs lie in shared memory, ready for every rank to read."""

    serial: int
    plan: Plan
    layout: Layout
    regions: tuple[Region, ...]
    nbytes: int
    shared: tuple[int, int]
    file: SharedFile


class Memory:
    """Everything that a world shares with its ranks; made and freed by the driver."""

    def __init__(self, world_size: int) -> None:
        self.capacity = world_size + MAX_SWITCHES
        self._serial = count(1)
        self._arena: SharedFile | None = None
        self._arena_serial = 0
        self._arena_memory: mmap.mmap | None = None
        self._prepared: dict[tuple[object, ...], Prepared] = {}
        self._notes: dict[int, SharedFile] = {}
        self._make_control()

    def _make_control(self) -> None:
        self._control_file = SharedFile(Control.nbytes(self.capacity))
        self.control = Control(self._control_file.map(), self.capacity)

    @property
    def control_path(self) -> str:
        """Return where ranks find the control block."""
        return self._control_file.path

    def notes_path(self, endpoint: int) -> str:
        """Return where an endpoint writes what it prints in this run; empties it."""
        if endpoint not in self._notes:
            self._notes[endpoint] = SharedFile(0)
        os.ftruncate(self._notes[endpoint].fd, 0)
        return self._notes[endpoint].path

    def notes(self, endpoint: int) -> str:
        """Return what an endpoint has printed in this run so far."""
        if endpoint not in self._notes:
            return ""
        size = self.notes_bytes(endpoint)
        data = os.pread(self._notes[endpoint].fd, min(size, NOTES_BYTES), 0)
        text = data.decode("utf-8", errors="replace")
        return text if size <= NOTES_BYTES else f"{text}\n... {size - NOTES_BYTES} more bytes\n"

    def notes_bytes(self, endpoint: int) -> int:
        """Return how much an endpoint has printed in this run so far."""
        return os.fstat(self._notes[endpoint].fd).st_size

    def announced(self, rank: int) -> Spec | None:
        """Return shape and dtype of the array that a rank has made."""
        spec: Spec | None = pickle.loads(self.control.mail(rank))  # noqa: S301 - our own worker's
        return spec

    def prepare(self, layout: Layout) -> Prepared:
        """Return the compiled schedule for a layout, compiled once and kept.

        Raises:
            TransportUnavailable: the buffers do not fit into this machine's memory.
        """
        bare = replace(layout, inputs=())
        key = (bare.schedule, bare.bounds, bare.shape, bare.dtype, bare.reduce_op)
        prepared = self._prepared.pop(key, None) or self._compile(bare)
        self._prepared[key] = prepared
        while len(self._prepared) > KEPT_PLANS:
            self._prepared.pop(next(iter(self._prepared))).file.close()
        self._reserve(prepared.nbytes)
        return prepared

    def _compile(self, layout: Layout) -> Prepared:
        # Before compiling, which for a vector of impossible size would take for ever.
        self._check_room(layout.schedule.num_endpoints * layout.count * layout.dtype.itemsize)
        plan = compile_schedule(layout)
        sizes = [-(-e * layout.dtype.itemsize // _ALIGN) * _ALIGN for e in plan.elements]
        offsets = list(accumulate(sizes, initial=0))
        regions = tuple(map(Region, offsets[:-1], plan.elements))
        programs = [pickle.dumps(program) for program in plan.programs]
        starts = list(accumulate(map(len, programs), initial=0))
        places = tuple(zip(starts[:-1], map(len, programs), strict=True))
        # Ranks need to know where inputs go, not the steps: those are in the programs.
        stepless = replace(layout, schedule=replace(layout.schedule, steps=()))
        shared = pickle.dumps(Shared(stepless, regions, places))
        file = SharedFile(starts[-1] + len(shared))
        os.pwrite(file.fd, b"".join([*programs, shared]), 0)
        return Prepared(
            serial=next(self._serial),
            plan=plan,
            layout=layout,
            regions=regions,
            nbytes=offsets[-1],
            shared=(starts[-1], len(shared)),
            file=file,
        )

    def _check_room(self, nbytes: int) -> None:
        room = available_memory()
        held = 0 if self._arena is None else self._arena.nbytes
        if room is not None and nbytes > room + held:
            message = (
                f"World: the ranks' buffers need {nbytes / 2**30:.1f} GiB and this machine has "
                f"{(room + held) / 2**30:.1f} GiB available; use a smaller vector or fewer ranks"
            )
            raise TransportUnavailable(message)

    def _reserve(self, nbytes: int) -> None:
        if self._arena is not None and self._arena.nbytes >= nbytes:
            return
        self._check_room(nbytes)
        if self._arena is not None:
            self._arena.close()
        self._arena = SharedFile(nbytes)
        self._arena_memory = self._arena.map()
        self._arena_serial = next(self._serial)

    def post(self, prepared: Prepared, base: int) -> None:
        """Leave the job for all endpoints in the control block."""
        arena = self._arena
        if arena is None:
            message = "no arena: prepare comes first"
            raise RuntimeError(message)
        job = Job(
            serial=prepared.serial,
            path=prepared.file.path,
            nbytes=prepared.file.nbytes,
            shared=prepared.shared,
            arena_serial=self._arena_serial,
            arena_path=arena.path,
            arena_nbytes=arena.nbytes,
            base=base,
        )
        self.control.post_job(pickle.dumps(job))

    def buffer(self, prepared: Prepared, endpoint: int) -> Array:
        """Return an endpoint's memory: its whole vector, then its shadows."""
        if self._arena_memory is None:
            message = "no arena: prepare comes first"
            raise RuntimeError(message)
        return view(self._arena_memory, prepared.regions[endpoint], prepared.layout.dtype)

    def output(self, prepared: Prepared, rank: int) -> Array | None:
        """Return a copy of a rank's output, from wherever its chunks have ended up."""
        layout = prepared.layout
        memory = self.buffer(prepared, rank)
        vector = memory[: layout.count]
        moved = prepared.plan.places[rank]
        if moved:
            vector = vector.copy()
            for chunk, offset in moved:
                part = layout.chunk(chunk)
                vector[part] = memory[offset : offset + part.stop - part.start]
        return layout.output(rank, vector)

    def hide(self) -> None:
        """Take the names off all files, after a run: whoever needs them has them open.

        Does nothing where shared memory has no names (Linux).
        """
        hidden = [file.hide() for file in self._files()]
        if any(hidden):
            # A rank that keeps fewer plans than we do could not open them again.
            self._forget_plans()

    def renew(self) -> None:
        """Make files with names again, for ranks that have come since `hide`.

        Does nothing where shared memory has no names (Linux): there the files stay reachable.
        """
        if not self._control_file.hidden:
            return
        self.close()
        self._make_control()

    def close(self) -> None:
        """Free everything."""
        for file in self._files():
            file.close()
        self._prepared.clear()
        self._notes.clear()
        self._arena = self._arena_memory = None

    def _forget_plans(self) -> None:
        for prepared in self._prepared.values():
            prepared.file.close()
        self._prepared.clear()

    def _files(self) -> list[SharedFile]:
        plans = [prepared.file for prepared in self._prepared.values()]
        arena = [self._arena] if self._arena else []
        return [self._control_file, *self._notes.values(), *plans, *arena]
