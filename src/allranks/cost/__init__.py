"""The price of a schedule: seconds, steps, bytes and messages, in the alpha-beta-gamma model.

**A message** is all that one endpoint sends to one other in one step. A chunk without bytes is not
sent: it costs nothing and makes no message.

**A port** that passes m messages of b bytes one way in one step, r bytes of which are added to what
the receiver has, is busy for ceil(m / in_flight) alpha + b beta + r gamma; gamma is paid on the
receiving side. A rank has `topology.ports` full-duplex ports, over which its peers of the step are
dealt in order of their numbers; a switch has one port for every endpoint attached to it.

**A shared link** on the way is busy for the largest alpha of its messages + their bytes / its
bandwidth. A uniform network has none.

**Lock-step** (`clock="lockstep"`): a step lasts as long as its busiest port or link, and steps add
up. **Data-driven** (`clock="data_driven"`): no barrier; `cost.clock` says when a message starts.

With `nbytes`, every chunk is nbytes / num_chunks, exactly, even where that is no whole number of
bytes. With `count` and `itemsize`, chunks have the lengths that `numpy.array_split` gives, and
all bytes are whole.

`cost` adds up a schedule that is written out (`walk`), `price` an algorithm of any size from its
form (`fold`, `forms`); `load` prices steps for both. `bounds`, `rates` and `chunks` say what can be
hoped for.
"""

from __future__ import annotations

from allranks.cost.bounds import lower_bound
from allranks.cost.chunks import best_chunks_of, best_num_chunks
from allranks.cost.fold import price
from allranks.cost.model import (
    DATA_DRIVEN,
    LOCKSTEP,
    Bandwidth,
    Cost,
    Event,
    LinkTraffic,
    Traffic,
)
from allranks.cost.rates import busbw
from allranks.cost.walk import bytes_per_link, bytes_per_rank, cost, timeline

__all__ = [
    "DATA_DRIVEN",
    "LOCKSTEP",
    "Bandwidth",
    "Cost",
    "Event",
    "LinkTraffic",
    "Traffic",
    "best_chunks_of",
    "best_num_chunks",
    "busbw",
    "bytes_per_link",
    "bytes_per_rank",
    "cost",
    "lower_bound",
    "price",
    "timeline",
]
