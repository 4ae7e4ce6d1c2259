"""Wrong on purpose: a COPY adds as a REDUCE does."""

from copy import deepcopy


def state_after(schedule, start, steps):
    state = deepcopy(start)
    for step in schedule[:steps]:
        before = deepcopy(state)
        for src, dst, chunk, _ in step:
            state[dst][chunk] += before[src][chunk]
    return state
