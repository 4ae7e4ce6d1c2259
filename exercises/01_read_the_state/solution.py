"""Exercise 01a, solved: two states, the one before the step and the one after."""

from collections import Counter

from allranks import Op, Step


def state_after(
    schedule: list[Step], start: list[list[Counter[int]]], steps: int
) -> list[list[Counter[int]]]:
    """Return what every rank holds after the first `steps` steps of a schedule."""
    state = [[Counter(parts) for parts in row] for row in start]
    for step in schedule[:steps]:
        before = [[Counter(parts) for parts in row] for row in state]
        for src, dst, chunk, op in step:
            sent = before[src][chunk]
            state[dst][chunk] = Counter(sent) if op is Op.COPY else state[dst][chunk] + sent
    return state
