"""Wrong on purpose: the messages of all steps, one after another."""

from collections import Counter


def price(schedule, chunk_bytes, alpha, beta):
    return sum(
        alpha + chunks * chunk_bytes * beta
        for step in schedule
        for chunks in Counter((t.src, t.dst) for t in step).values()
    )
