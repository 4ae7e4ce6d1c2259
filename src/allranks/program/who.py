"""What every rank knows of itself, and the checks that both kinds of program share."""

from __future__ import annotations

import contextlib
import operator
from typing import NoReturn

from allranks.errors import ScheduleError

MAX_CALLS = 100_000


class Who:
    """A rank's number, its neighbors, and who there is at all."""

    def __init__(self, rank: int, world_size: int) -> None:
        self._id = rank
        self._world_size = world_size
        self._calls = 0
        self._steps_made = 0
        self._steps_entered = 0

    def __repr__(self) -> str:
        return f"<rank {self._id} of {self._world_size}>"

    @property
    def id(self) -> int:
        """Return the number of this rank, 0 to world_size - 1."""
        return self._id

    @property
    def world_size(self) -> int:
        """Return the number of ranks."""
        return self._world_size

    @property
    def left(self) -> int:
        """Return the rank before this one; before rank 0 comes the last."""
        return (self._id - 1) % self._world_size

    @property
    def right(self) -> int:
        """Return the rank after this one; after the last comes rank 0. Rings send right."""
        return (self._id + 1) % self._world_size

    def step(self) -> StepBlock:
        """Make everything inside `with rank.step():` happen together, in one step.

        All sends inside read what the rank held before the block; no order is promised.

        Raises:
            ScheduleError: a step inside a step.
        """
        self._steps_made += 1
        return StepBlock(self)

    def _enter(self) -> None:
        self._steps_entered += 1

    def _leave(self, *, complete: bool) -> None:
        raise NotImplementedError

    def _count_call(self) -> None:
        self._calls += 1
        if self._calls > MAX_CALLS:
            self._refuse(f"more than {MAX_CALLS} sends and receives; does the loop ever end?")

    def _peer(self, name: str, value: object, advice: str) -> int:
        """Return the other rank of a call of `name`, once it is one.

        Raises:
            ScheduleError: no such rank, this rank itself, or no whole number.
        """
        peer = self._whole(f"{name}: peer", value)
        n = self._world_size
        if not 0 <= peer < n:
            known = f"ranks are 0 to {n - 1}" if n > 1 else "the only rank is 0"
            self._refuse(f"{name}: rank {peer} does not exist; {known}", "unknown_endpoint", peer)
        if peer == self._id:
            alone = " (with one rank there is nothing to do)" if n == 1 else ""
            way = "from" if name == "recv" else "to"
            self._refuse(f"{name} {way} itself; {advice}{alone}", "self_send")
        return peer

    def _whole(self, what: str, value: object) -> int:
        """Return a plain int for an int or a NumPy integer; refuse True, 2.0 and "2"."""
        number: object = value
        if type(value).__name__ not in ("bool", "bool_"):
            with contextlib.suppress(TypeError):
                number = operator.index(value)  # type: ignore[arg-type]
        if type(number) is not int:
            self._refuse(f"{what} is {value!r}; it must be a whole number (int)")
        return number

    def _refuse(
        self, what: str, kind: str = "format", peer: int | None = None, chunk: int | None = None
    ) -> NoReturn:
        message = f"rank {self._id}: {what}"
        raise ScheduleError(message, kind=kind, rank=self._id, peer=peer, chunk=chunk)

    def _check_steps(self, *, still_open: bool) -> None:
        if still_open:
            self._refuse("a step() is still open at the end; use it as `with rank.step():`")
        if self._steps_made > self._steps_entered:
            self._refuse("step() without `with` does nothing; write `with rank.step():`")


class StepBlock:
    """What `with rank.step():` enters."""

    def __init__(self, rank: Who) -> None:
        self._rank = rank

    def __enter__(self) -> None:
        self._rank._enter()  # noqa: SLF001 - a part of the rank

    def __exit__(self, kind: object, *_: object) -> None:
        self._rank._leave(complete=kind is None)  # noqa: SLF001 - see above
