"""Wrong on purpose: what is sent is gone at the sender."""

from collections import Counter
from copy import deepcopy

from allranks import Op


def state_after(schedule, start, steps):
    state = deepcopy(start)
    for step in schedule[:steps]:
        before = deepcopy(state)
        for src, _, chunk, _ in step:
            state[src][chunk] = Counter()
        for src, dst, chunk, op in step:
            if op is Op.COPY:
                state[dst][chunk] = before[src][chunk].copy()
            else:
                state[dst][chunk] += before[src][chunk]
    return state
