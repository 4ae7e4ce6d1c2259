"""Wrong on purpose: the longest step alone."""

from collections import Counter


def ports(step):
    found = {}
    for (src, dst), count in Counter((t.src, t.dst) for t in step).items():
        for port in (("out", src), ("in", dst)):
            peers, chunks = found.get(port, (0, 0))
            found[port] = peers + 1, chunks + count
    return found.values()


def price(schedule, chunk_bytes, alpha, beta):
    return max(
        (p * alpha + c * chunk_bytes * beta for step in schedule for p, c in ports(step)), default=0
    )
