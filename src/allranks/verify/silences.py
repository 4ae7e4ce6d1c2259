"""When an endpoint sends and receives, and when it is silent: what blame looks for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from allranks.schedule import Columns, Schedule


class Silence(NamedTuple):
    """When an endpoint does nothing: the steps in which it sends, in order, and those it gets in.

    `sends_to` are the steps in which it sends to each other endpoint, also in order.
    """

    num_steps: int
    sends: Sequence[int]
    receives: frozenset[int]
    sends_to: Mapping[int, Sequence[int]]

    @property
    def last_send(self) -> int:
        """Return the last step with a send, or -1."""
        return self.sends[-1] if self.sends else -1

    def silent_after(self, step: int) -> int:
        """Return the first later step without a send; the number of steps if there is none."""
        silent = step + 1
        place = bisect_left(self.sends, silent)
        while place < len(self.sends) and self.sends[place] == silent:
            place, silent = place + 1, silent + 1
        return silent

    def silent_steps(self) -> Iterator[int]:
        """Yield all steps without a send."""
        busy = frozenset(self.sends)
        return (step for step in range(self.num_steps) if step not in busy)


class Silences:
    """The silences of all endpoints, each looked up when it is first asked for."""

    def __init__(self, schedule: Schedule) -> None:
        self._num_steps = len(schedule.steps)
        self._sent, self._got = _moves_by_endpoint(schedule)
        self._known: dict[int, Silence] = {}

    def __getitem__(self, endpoint: int) -> Silence:
        if endpoint not in self._known:
            to: dict[int, list[int]] = {}
            for number, dst in self._sent(endpoint):
                to.setdefault(dst, []).append(number)
            sends = sorted({number for number, _ in self._sent(endpoint)})
            receives = frozenset(number for number, _ in self._got(endpoint))
            self._known[endpoint] = Silence(self._num_steps, sends, receives, to)
        return self._known[endpoint]


_Moves: TypeAlias = Callable[[int], Sequence[tuple[int, int]]]


def _moves_by_endpoint(schedule: Schedule) -> tuple[_Moves, _Moves]:
    """Return two look-ups: (step, other end) of all that an endpoint sends, and that it gets."""
    steps = schedule.steps
    if isinstance(steps, Columns):
        return _side(steps, steps.src, steps.dst), _side(steps, steps.dst, steps.src)
    sent: dict[int, list[tuple[int, int]]] = {}
    got: dict[int, list[tuple[int, int]]] = {}
    for number, transfer in schedule.transfers():
        sent.setdefault(transfer.src, []).append((number, transfer.dst))
        got.setdefault(transfer.dst, []).append((number, transfer.src))
    return lambda endpoint: sent.get(endpoint, []), lambda endpoint: got.get(endpoint, [])


def _side(columns: Columns, ends: Any, others: Any) -> _Moves:  # noqa: ANN401 - columns
    order = ends.argsort(kind="stable")
    sorted_ends = ends[order]

    def moves(endpoint: int) -> list[tuple[int, int]]:
        first, last = sorted_ends.searchsorted(endpoint), sorted_ends.searchsorted(endpoint + 1)
        rows = order[first:last]
        return list(zip(columns.steps_of(rows).tolist(), others[rows].tolist(), strict=True))

    return moves
