"""Wrong on purpose: a step pays alpha once, however many messages pass a port."""

from collections import Counter


def ports(step):
    found = {}
    for (src, dst), count in Counter((t.src, t.dst) for t in step).items():
        for port in (("out", src), ("in", dst)):
            peers, chunks = found.get(port, (0, 0))
            found[port] = peers + 1, chunks + count
    return found.values()


def price(schedule, chunk_bytes, alpha, beta):
    return sum(
        alpha + max(chunks for _, chunks in ports(step)) * chunk_bytes * beta
        for step in schedule
        if step
    )
