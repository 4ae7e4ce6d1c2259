"""Who waits for whom: the circle, or the dead end, that keeps ranks from going on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from allranks.errors import Deadlock


class Wait(NamedTuple):
    """Why a rank cannot go on: its send to `peer`, or its receive, is not met.

    `never` says, where the other side never comes, what to do about it; otherwise it is None.
    """

    peer: int
    sends: bool
    chunk: int | None = None
    never: Callable[[], str] | None = None


def deadlock(waits: Mapping[int, Wait]) -> Deadlock:
    """Follow the waiting from the lowest rank that is stuck, to its circle or its dead end."""
    path = [min(waits)]
    while waits[path[-1]].never is None and waits[path[-1]].peer not in path:
        path.append(waits[path[-1]].peer)
    end = waits[path[-1]]
    if end.never is not None:
        culprits = path[-1:]
        message = end.never()
    else:
        circle = path[path.index(end.peer) :]
        lowest = circle.index(min(circle))
        culprits = circle[lowest:] + circle[:lowest]
        message = _circle(culprits, waits)
    behind = sorted(set(waits) - set(culprits))
    if behind:
        message += f". Blocked behind: {', '.join(f'rank {rank}' for rank in behind)}"
    first = waits[culprits[0]]
    return Deadlock(message, rank=culprits[0], peer=first.peer, chunk=first.chunk)


def _circle(ranks: Sequence[int], waits: Mapping[int, Wait]) -> str:
    chain = "; ".join(f"rank {rank} waits for rank {waits[rank].peer}" for rank in ranks)
    sending = {waits[rank].sends for rank in ranks}
    if sending == {True}:
        advice = (
            "all of them send first; put a rank's send and receive into one `with rank.step():`"
        )
    elif sending == {False}:
        advice = "all of them receive first; let one of them send first"
    else:
        advice = "put what must happen together into one `with rank.step():`"
    return f"{chain}: a circle, and nobody can go on; {advice}"
