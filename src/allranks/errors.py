"""Everything that can go wrong with a collective, as one family of exceptions.

Each error is one sentence of the form *where: what; what to do* plus the same facts as fields, so
that a program can act on them and a page can draw them. All of them survive pickling, because they
travel between Ray processes.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 40  # characters of a wrong value that a message quotes

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


# What others call something, and what it is here. A hint for who types it, never a second name: it
# is given only where our name is among the known ones.
ELSEWHERE = {
    "two_shot": ("direct",),
    "halving_doubling": ("rabenseifner",),
    "recursive_halving_doubling": ("rabenseifner",),
    "reduce_scatter_all_gather": ("rabenseifner",),
    "star": ("flat",),
    "tree": ("binomial", "double_binary_tree"),
    "binomial_tree": ("binomial",),
    "double_tree": ("double_binary_tree",),
    "dbtree": ("double_binary_tree",),
    "collnet": ("sharp",),
    "fp8": ("float8_e4m3fn",),
}


def unknown_name(what: str, name: object, known: Iterable[str]) -> str:
    """Return the sentence for a name that does not exist, with the nearest one that does.

    >>> unknown_name("collective", "all_redcue", ["all_reduce", "broadcast"])
    "unknown collective 'all_redcue'; did you mean 'all_reduce'? Known: all_reduce, broadcast"
    >>> unknown_name("algorithm", "two-shot", ["direct", "ring"])
    "unknown algorithm 'two-shot'; did you mean 'direct'? It is what others call two-shot. \
Known: direct, ring"
    """
    names = sorted(known)
    return f"unknown {what} {shown(name)}; {_hint(name, names)}Known: {', '.join(names)}"


def _hint(name: object, names: list[str]) -> str:
    """Return what was probably meant: the name itself in another spelling, or in other mouths."""
    spelled = str(name).strip().lower().replace("-", "_").replace(" ", "_")
    same = [known for known in names if _squeezed(known) == _squeezed(spelled)]
    if same:
        return f"did you mean {same[0]!r}? "
    others = {_squeezed(theirs): (theirs, ours) for theirs, ours in ELSEWHERE.items()}
    theirs, ours = others.get(_squeezed(spelled), ("", ()))
    meant = [repr(ours_here) for ours_here in ours if ours_here in names]
    if meant:
        called = theirs.replace("_", "-")
        which = "It is" if len(meant) == 1 else "Both are"
        return f"did you mean {' or '.join(meant)}? {which} what others call {called}. "
    near = difflib.get_close_matches(spelled, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? " if near else ""


def _squeezed(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()


def shown(value: object) -> str:
    """Return a value as a message quotes it.

    >>> shown(25e9), shown(10**4000)
    ('25000000000.0', 'a number of about 4000 digits')
    """
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _SHOWN * 4:
        return f"a number of about {round(value.bit_length() * 0.30103)} digits"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
