"""The driver's watch over one run: everybody done, or one named cause and everybody stopped.

The deadline counts seconds in which no endpoint made any progress at all, so that a long run on a
slow machine is no stall. The endpoint to blame for a stall is the one that itself waits for nobody.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from allranks.errors import (
    CollectiveError,
    PeerDied,
    RankFailed,
    StepTimeout,
    TransportUnavailable,
)
from allranks.runtime.compile import Instruction, Plan
from allranks.runtime.execute import Record
from allranks.runtime.group import Death, Group
from allranks.runtime.memory import NOTES_BYTES, Memory
from allranks.runtime.shm import Phase
from allranks.runtime.worker import Outcome, Report

GRACE_SECONDS = 2.0
_READY_SLICE, _DONE_SLICE = 0.002, 0.05


class State(NamedTuple):
    """Where an endpoint stands: its phase, and the instruction it is at (None outside them)."""

    phase: Phase
    instruction: Instruction | None


class Watch:
    """One run, as the driver sees it."""

    def __init__(  # noqa: PLR0913 - what it watches, and by which rules
        self,
        group: Group,
        memory: Memory,
        names: Sequence[str],
        *,
        run: int,
        timeout: float,
        closed: Callable[[], bool],
    ) -> None:
        self._group = group
        self._memory = memory
        self._control = memory.control
        self._names = names
        self._run = run
        self._timeout = timeout
        self._closed = closed
        self._plan: Plan | None = None
        self._blamed: list[int] = []
        self._base = 0
        self._records: dict[int, Record] = {}
        self._seen: tuple[int, ...] = ()
        self._quiet = 0.0
        self._looked = time.monotonic()

    @property
    def _endpoints(self) -> range:
        return range(len(self._names))

    def planned(self, plan: Plan, base: int) -> None:
        """Say what the endpoints will execute, so that a stall can be described."""
        self._plan, self._base = plan, base

    def until_ready(self) -> None:
        """Return when every endpoint has made its input.

        Raises:
            CollectiveError: one cannot; the cause is named. Call `stop` then.
            ValueError: the world was closed meanwhile.
        """
        while any(self._control.phase(e) < Phase.READY for e in self._endpoints):
            self._look(_READY_SLICE)

    def until_done(self) -> list[Record]:
        """Return what every endpoint measured.

        Raises:
            CollectiveError: the run failed; the cause is named. Call `stop` then.
            ValueError: the world was closed meanwhile.
        """
        while self._group.pending:
            self._look(_DONE_SLICE)
        return [self._records[e] for e in self._endpoints]

    def stop(self) -> None:
        """Stop the run everywhere; kill who has stalled or does not follow in time."""
        self._control.abort(self._run)
        for endpoint in self._blamed:
            self._group.kill(endpoint)
        deadline = time.monotonic() + GRACE_SECONDS
        while self._group.pending and (left := deadline - time.monotonic()) > 0:
            self._group.answers(left)
        for endpoint in self._group.pending:
            self._group.kill(endpoint)

    def _look(self, seconds: float) -> None:
        """Wait a moment for answers, then judge them and the progress."""
        if self._closed():
            message = "run: this World was closed during the run; make a new one"
            raise ValueError(message)
        answers = self._group.answers(seconds)
        for endpoint, answer in sorted(answers.items()):
            if isinstance(answer, Death):
                raise self._died(endpoint, answer)
            self._accept(endpoint, answer)
        self._check_progress(seconds, moved=bool(answers))

    def _accept(self, endpoint: int, report: Report) -> None:
        if report.outcome is Outcome.DONE and report.record is not None:
            self._records[endpoint] = report.record
        elif report.outcome is Outcome.RAISED:
            raise self._raised(endpoint, report)
        else:
            message = (
                f"{self._names[endpoint]}: its process cannot take part ({report.error}); it must "
                "run on the same machine, as the same user, with the same allranks as this program"
            )
            error = TransportUnavailable(message, rank=endpoint)
            error.add_note(report.traceback)
            raise error

    def _check_progress(self, seconds: float, *, moved: bool) -> None:
        control = self._control
        seen = tuple(
            value for e in self._endpoints for value in (control.count(e), int(control.phase(e)))
        )
        now = time.monotonic()
        if moved or seen != self._seen:
            self._seen, self._quiet = seen, 0.0
        else:
            # If this process itself was suspended, that time is not the ranks' fault.
            self._quiet += min(now - self._looked, 1.0 + seconds)
        self._looked = now
        for endpoint in self._endpoints:
            if self._memory.notes_bytes(endpoint) > NOTES_BYTES:
                self._blamed = [endpoint]
                raise self._too_much_printed(endpoint)
        if self._quiet > self._timeout:
            raise self._stalled()

    # -- the cause in words --------------------------------------------------------------------

    def _state(self, endpoint: int) -> State:
        phase = self._control.phase(endpoint)
        if phase is not Phase.RUNNING or self._plan is None:
            return State(phase, None)
        instructions = self._plan.programs[endpoint].instructions
        at = self._control.count(endpoint) - self._base
        return State(phase, instructions[at] if 0 <= at < len(instructions) else None)

    def _place(self, endpoint: int) -> str:
        """Return what an endpoint is doing, to follow "it" or "which"."""
        phase, instruction = self._state(endpoint)
        if phase is Phase.IDLE:
            return "has not begun"
        if phase is Phase.INPUT:
            return "is inside the function that makes its input"
        if phase is Phase.READY:
            return "is ready to begin"
        if instruction is not None:
            return f"is in step {instruction.step}, at chunk {instruction.chunk}"
        done = self._plan is not None and self._control.count(endpoint) > self._base
        return "has finished its transfers" if done or phase is Phase.DONE else "is about to begin"

    def _step_and_chunk(self, endpoint: int) -> tuple[int, int] | tuple[None, None]:
        instruction = self._state(endpoint).instruction
        return (instruction.step, instruction.chunk) if instruction else (None, None)

    def _died(self, endpoint: int, death: Death) -> CollectiveError:
        place = self._place(endpoint).replace("is ", "was ", 1).replace("has ", "had ", 1)
        message = (
            f"{self._names[endpoint]}: its process {death.pid} ended while it {place}; the run was "
            "stopped on all ranks and the next one gets a new process. If its code did not end "
            "it, look for a crash or for too little memory"
        )
        step, chunk = self._step_and_chunk(endpoint)
        error = PeerDied(message, rank=endpoint, step=step, chunk=chunk)
        error.add_note(f"Ray says: {death.detail}")
        return error

    def _raised(self, endpoint: int, report: Report) -> CollectiveError:
        message = (
            f"{self._names[endpoint]}: its code raised {report.error}; the run was stopped on all "
            "ranks. The traceback from there is in .remote_traceback"
        )
        error = RankFailed(message, rank=endpoint)
        error.remote_traceback = report.traceback
        error.add_note(report.traceback)
        return error

    def _too_much_printed(self, endpoint: int) -> CollectiveError:
        message = (
            f"{self._names[endpoint]}: it printed more than {NOTES_BYTES >> 20} MiB; the run was "
            "stopped. Print less there"
        )
        return RankFailed(message, rank=endpoint)

    def _stalled(self) -> CollectiveError:
        pending = self._group.pending
        waits = {e: wait for e in pending if (wait := self._control.waits_for(e)) is not None}
        ready = any(self._control.phase(e) < Phase.READY for e in pending)
        blamed = [
            e
            for e in pending
            if e not in waits and not (ready and self._control.phase(e) is Phase.READY)
        ]
        if not blamed:
            chain = "; ".join(self._waiting(e, peer) for e, (peer, _) in waits.items())
            message = f"all ranks wait for each other ({chain}); please report this as a fault"
            return StepTimeout(message)
        self._blamed = blamed
        culprit, *others = blamed
        also = f", and so have {self._list(others)}" if others else ""
        waiters = [e for e in pending if e not in blamed]
        behind = self._behind(culprit, waiters, waits)
        message = (
            f"{self._names[culprit]}: it made no progress for {self._timeout:g} s{also}; it "
            f"{self._place(culprit)}. {behind}The run was stopped on all ranks; look at what "
            f"{self._names[culprit]} does there, or give World a longer timeout"
        )
        peer = next((e for e in waiters if e in waits and waits[e][0] == culprit), None)
        step, chunk = self._step_and_chunk(culprit if peer is None else peer)
        return StepTimeout(message, rank=culprit, peer=peer, step=step, chunk=chunk)

    def _behind(
        self, culprit: int, waiters: Sequence[int], waits: dict[int, tuple[int, int]]
    ) -> str:
        direct = [e for e in waiters if e in waits and waits[e][0] == culprit]
        rest = [e for e in waiters if e not in direct]
        said = [self._waiting(e, culprit) for e in direct]
        if rest:
            said.append(f"{self._list(rest)} wait{'s' if len(rest) == 1 else ''} behind")
        return f"{'; '.join(said).capitalize()}. " if said else ""

    def _waiting(self, endpoint: int, peer: int) -> str:
        instruction = self._state(endpoint).instruction
        what = f" for chunk {instruction.chunk} in step {instruction.step}" if instruction else ""
        return f"{self._names[endpoint]} waits{what} for {self._names[peer]}"

    def _list(self, endpoints: Sequence[int]) -> str:
        return ", ".join(self._names[e] for e in endpoints)
