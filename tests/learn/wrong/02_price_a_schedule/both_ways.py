"""Wrong on purpose: what comes in and what goes out pass one port."""

from collections import Counter


def price(schedule, chunk_bytes, alpha, beta):
    seconds = 0.0
    for step in schedule:
        busy = Counter()
        for (src, dst), count in Counter((t.src, t.dst) for t in step).items():
            for rank in (src, dst):
                busy[rank] += alpha + count * chunk_bytes * beta
        seconds += max(busy.values(), default=0)
    return seconds
