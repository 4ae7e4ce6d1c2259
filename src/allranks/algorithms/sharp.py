"""In-network reduction as SHARP does it: a switch adds what the ranks send and answers them all.

The switch is endpoint n. It owns nothing at the start and nothing is promised there at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.schedule import Op, Step, Transfer


def sharp_all_reduce(world_size: int, num_chunks: int = 1) -> Iterator[Step]:
    """Send every chunk up to the switch, which adds them, and take the sum down: k + 1 steps.

    While chunk c goes up, the sum of chunk c - 1 comes down, so every rank sends S and receives S
    in all. One rank needs no switch and no step.
    """
    switch = world_size
    for step in range(num_chunks + 1 if world_size > 1 else 0):
        up = [
            Transfer(src=rank, dst=switch, chunk=step, op=Op.REDUCE)
            for rank in range(world_size)
            if step < num_chunks
        ]
        down = [
            Transfer(src=switch, dst=rank, chunk=step - 1, op=Op.COPY)
            for rank in range(world_size)
            if step > 0
        ]
        yield up + down
