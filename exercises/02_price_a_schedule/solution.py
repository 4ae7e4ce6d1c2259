"""Exercise 02b, solved: the busiest port of every step, added up."""

from collections import Counter

from allranks import Step


def price(schedule: list[Step], chunk_bytes: int, alpha: float, beta: float) -> float:
    """Return the seconds that a schedule takes in lock-step, chunks of `chunk_bytes` each."""
    return sum(step_seconds(step, chunk_bytes, alpha, beta) for step in schedule)


def step_seconds(step: Step, chunk_bytes: int, alpha: float, beta: float) -> float:
    """Return the time of the busiest port: alpha for every peer, beta for every byte."""
    messages = Counter((transfer.src, transfer.dst) for transfer in step)
    peers: Counter[tuple[str, int]] = Counter()
    chunks: Counter[tuple[str, int]] = Counter()
    for (src, dst), count in messages.items():
        for port in (("out", src), ("in", dst)):
            peers[port] += 1
            chunks[port] += count
    busy = [peers[port] * alpha + chunks[port] * chunk_bytes * beta for port in peers]
    return max(busy, default=0.0)
