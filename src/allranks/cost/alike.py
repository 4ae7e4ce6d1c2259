"""Steps in which all groups of a network do the same: one group's messages tell the price."""

from __future__ import annotations

import numpy as np

from allranks.cost.load import Messages
from allranks.cost.sizes import Array
from allranks.topology.network import Network


def one_group(messages: Messages, n: int, network: Network) -> tuple[Messages, Messages] | None:
    """Return what the ranks of the first group send, and what they receive; None if others differ.

    For one step in which every rank sends one message and receives one, as in recursive doubling. A
    message that leaves its group climbs to the last tier wherever it goes, so the sender's ports
    and links see only which of the group's ranks sends it, and the receiver's only which receives.
    """
    span = network.period(n)
    rank = np.arange(n)
    if span == n or messages.src.size != n or not (messages.src == rank).all():
        return None
    if int(messages.dst.max()) >= n or int(np.bincount(messages.dst).max()) > 1:
        return None
    sent = messages._replace(sides=("out",))
    source = np.empty(n, dtype=np.int64)
    source[messages.dst] = rank
    received = messages._replace(
        src=source,
        dst=rank,
        units=messages.units[source],
        reduced=messages.reduced[source],
        sides=("in",),
    )
    if not (_alike(sent, sent.dst, span) and _alike(received, received.src, span)):
        return None
    first, last = (
        side._replace(**{name: getattr(side, name)[:span] for name in Messages._fields[:5]})
        for side in (sent, received)
    )
    return first, last


def _alike(messages: Messages, peer: Array, span: int) -> bool:
    """Return whether all groups have the same messages, given the other end of each."""
    own = np.arange(peer.size) // span
    near = np.where(peer // span == own, peer % span, -1)
    return all(
        bool((column.reshape(-1, span) == column[:span]).all())
        for column in (near, messages.units, messages.reduced)
    )
