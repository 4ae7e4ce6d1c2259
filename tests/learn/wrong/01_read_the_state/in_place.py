"""Wrong on purpose: the second transfer of a step reads what the first one wrote."""

from collections import Counter

from allranks import Op


def state_after(schedule, start, steps):
    state = [[Counter(parts) for parts in row] for row in start]
    for step in schedule[:steps]:
        for src, dst, chunk, op in step:
            if op is Op.COPY:
                state[dst][chunk] = Counter(state[src][chunk])
            else:
                state[dst][chunk] += state[src][chunk]
    return state
