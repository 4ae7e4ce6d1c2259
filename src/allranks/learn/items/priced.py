"""What the items ask the engine: the bench machine of the course, and the broadcasts of a race."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from allranks.cost import Cost, best_num_chunks, price
from allranks.learn.templates import us
from allranks.topology import Topology

BENCH = Topology.preset("bench", 2)
ALPHA = BENCH.alpha
BANDWIDTH = BENCH.bandwidth
LINK = f"α = {us(ALPHA)}, {BANDWIDTH / 1e9:g} GB/s per direction"
MACHINE = f"{LINK}, one port per rank"
"""What a question says of bench: of its links, or of its ranks too."""


@cache
def priced(collective: str, algorithm: str, *, n: int, nbytes: float, k: int | None = None) -> Cost:
    """Return the lock-step price of an algorithm on the bench machine, in k chunks if given."""
    return price(
        collective,
        algorithm,
        world_size=n,
        nbytes=nbytes,
        num_chunks=k,
        topology=Topology.preset("bench", n),
    )


class Lane(NamedTuple):
    """One broadcast of a race: what a reader calls it, and what it costs."""

    name: str
    cost: Cost


def lanes(n: int, nbytes: float) -> dict[str, Lane]:
    """Return the broadcasts of the race, priced; "pipe" is the chain with its best k above 1."""

    def lane(name: str, algorithm: str, k: int | None = None) -> Lane:
        return Lane(name, priced("broadcast", algorithm, n=n, nbytes=nbytes, k=k))

    k = best_num_chunks(n, nbytes, ALPHA, 1 / BANDWIDTH)
    field = {
        "flat": lane("flat: the root sends to one rank after another", "flat"),
        "chain": lane("chain: one rank passes the whole vector to the next", "chain", 1),
        "binomial": lane("binomial tree", "binomial"),
        "scatter_all_gather": lane("scatter, then a ring all-gather", "scatter_all_gather"),
    }
    if k > 1:
        field["pipe"] = lane(f"chain, cut into {k} segments", "chain", k)
    return field
