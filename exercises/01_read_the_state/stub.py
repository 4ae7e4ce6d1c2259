"""Exercise 01a: play a schedule by hand. Check it with: allranks check 01_read_the_state."""

from collections import Counter

from allranks import Op, Step


def state_after(
    schedule: list[Step], start: list[list[Counter[int]]], steps: int
) -> list[list[Counter[int]]]:
    """Return what every rank holds after the first `steps` steps of a schedule.

    A step is a list of Transfer(src, dst, chunk, op); `start[rank][chunk]` is a Counter that says
    how often the part of each rank is in that chunk, and an empty one means: it holds nothing.
    COPY replaces what `dst` holds, REDUCE adds to it, and every send of a step reads the state
    before the step. Return a list like `start`, and leave `start` itself as it is.

    Target: the right Counters, for any schedule and any number of its steps.
    Three ranks, one chunk, one step [(0, 1, 0, REDUCE), (1, 2, 0, REDUCE)]: rank 1 ends with the
    parts of ranks 0 and 1, Counter({0: 1, 1: 1}), and rank 2 with those of ranks 1 and 2.
    """
    # TODO: what does each transfer read, and what does it do to the receiver's Counter?
    raise NotImplementedError
