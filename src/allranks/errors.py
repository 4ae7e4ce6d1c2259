"""Everything that can go wrong with a collective, as one family of exceptions.

Each error is one sentence of the form *where: what; what to do* plus the same facts as fields, so
that a program can act on them and a page can draw them. All of them survive pickling, because they
travel between Ray processes.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

FIELDS = ("kind", "rank", "step", "src", "dst", "peer", "chunk")


class CollectiveError(Exception):
    """A collective cannot be run, or went wrong; `message` says where, what, and what to do.

    Fields that do not apply are None. `step` counts from 0 and is the step in which the fault
    entered, which may lie before the step in which it was noticed.
    """

    default_kind: str = "error"

    def __init__(  # noqa: PLR0913 - one optional field per fact a reader may need
        self,
        message: str,
        *,
        kind: str | None = None,
        rank: int | None = None,
        step: int | None = None,
        src: int | None = None,
        dst: int | None = None,
        peer: int | None = None,
        chunk: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind or self.default_kind
        self.rank = rank
        self.step = step
        self.src = src
        self.dst = dst
        self.peer = peer
        self.chunk = chunk

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from the message, then restore every field (also those of subclasses)."""
        return (_rebuild, (type(self), self.message, dict(self.__dict__)))

    def to_dict(self) -> dict[str, Any]:
        """Return the error as the JSON object that `allranks verify --json` prints."""
        facts = {name: getattr(self, name) for name in FIELDS}
        return {**facts, "message": self.message}


def _rebuild(cls: type[CollectiveError], message: str, state: dict[str, Any]) -> CollectiveError:
    error = cls(message)
    error.__dict__.update(state)
    return error


class ScheduleError(CollectiveError):
    """A schedule breaks the rules of a step, or does not keep its collective's promise.

    `kind` is one of double_count, missing, wrong_owner, not_held, write_conflict,
    unknown_endpoint, unknown_chunk, self_send, format.
    """

    default_kind = "schedule"


class Deadlock(CollectiveError):
    """Ranks wait for each other in a circle, or for a message that nobody sends."""

    default_kind = "deadlock"


class Mismatch(CollectiveError):
    """Ranks disagree about shape, dtype, operation or the order of calls."""

    default_kind = "mismatch"


class PeerDied(CollectiveError):
    """The process of `rank` ended during a collective."""

    default_kind = "peer_died"


class RankFailed(CollectiveError):
    """The code of `rank` raised; `remote_traceback` is what it printed there."""

    default_kind = "rank_failed"
    remote_traceback: str = ""


class StepTimeout(CollectiveError):
    """`rank` did not arrive, or did not move on, before the deadline."""

    default_kind = "step_timeout"


class TransportUnavailable(CollectiveError):
    """Nothing on this machine can move the data as asked; the message says what to install."""

    default_kind = "transport_unavailable"


class DeviceError(CollectiveError):
    """A device refused or failed an operation."""

    default_kind = "device"


def unknown_name(what: str, name: object, known: Iterable[str]) -> str:
    """Return the sentence for a name that does not exist, with the nearest one that does.

    >>> unknown_name("collective", "all_redcue", ["all_reduce", "broadcast"])
    "unknown collective 'all_redcue'; did you mean 'all_reduce'? Known: all_reduce, broadcast"
    """
    names = sorted(known)
    spelled = str(name).lower().replace("-", "_")
    near = difflib.get_close_matches(spelled, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown {what} {name!r}; {hint}Known: {', '.join(names)}"
