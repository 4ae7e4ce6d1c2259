"""algbw and busbw, as nccl-tests defines them."""

from __future__ import annotations

from allranks.collectives import busbw_factor
from allranks.cost.checks import check_seconds, exact_bytes
from allranks.cost.model import Bandwidth

ONE_RANK = "one rank moves nothing over a bus, so busbw is 0"
AS_PRINTED = ", as nccl-tests prints it"
OTHERWISE_PRINTED = " (nccl-tests, whose factor is 1 for any n, prints algbw)"
NO_BYTES = "no bytes were moved"
NO_TIME = "not defined: the time is 0"


def busbw(collective: str, *, world_size: int, nbytes: float, seconds: float) -> Bandwidth:
    """Return algbw = S / time and busbw = algbw x the collective's factor (nccl-tests src/*.cu).

    The factor belongs to the collective, not to the algorithm: 2(n-1)/n for all_reduce, (n-1)/n
    for all_gather, reduce_scatter, scatter, gather and all_to_all, 1 for broadcast and reduce. It
    turns algbw into the speed of the busiest wire only for algorithms of sends and receives; a
    switch that adds (NVLS, SHARP) moves other amounts, and busbw is no wire's speed there.

    Where the time is 0, algbw is not defined (None). One rank uses no bus: its busbw is 0. Without
    bytes both are 0. The note says which of these is so.

    Raises:
        ValueError: an unknown collective, n below 1, a negative size or time, or no number.

    >>> round(busbw("all_reduce", world_size=8, nbytes=32 * 2**20, seconds=424e-6).busbw / 1e9, 2)
    138.49
    """
    factor = busbw_factor(collective, world_size)
    size = float(exact_bytes(nbytes))
    time = check_seconds("seconds", seconds)
    if size == 0:
        return Bandwidth(0.0, 0.0, NO_BYTES)
    algbw = size / time if time else None
    if world_size == 1:
        printed = OTHERWISE_PRINTED if factor else AS_PRINTED
        return Bandwidth(algbw, 0.0, ONE_RANK + printed)
    if algbw is None:
        return Bandwidth(None, None, NO_TIME)
    return Bandwidth(algbw, algbw * factor)
