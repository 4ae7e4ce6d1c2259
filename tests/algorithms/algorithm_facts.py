"""What the tests of algorithms count in a schedule, and which sizes they look at."""

from __future__ import annotations

import itertools
from collections import Counter

from allranks.algorithms import ALGORITHMS, build
from allranks.collectives import CONTRACTS

WORLDS = [1, 2, 3, 4, 5, 7, 8, 16]
CHUNKS = [1, 2, 3, 5, 8]
MB = 10**6
US = 1e-6


def lg(n):
    """Return ceil(log2 n)."""
    return (n - 1).bit_length()


def power_below(n):
    """Return the highest power of two that is not above n."""
    return max(1 << bit for bit in range(n.bit_length()))


def roots(collective, n):
    return range(n) if CONTRACTS[collective].rooted else [None]


def possible(collective, algorithm, n):
    return not ALGORITHMS[collective, algorithm].refuse(n)


def every_case(collective, algorithm, n):
    """Yield the algorithm's schedules for n ranks: every root, several numbers of chunks."""
    if not possible(collective, algorithm, n):
        return
    entry = ALGORITHMS[collective, algorithm]
    usual = entry.default_chunks(n)
    counts = [usual * k for k in CHUNKS] if "num_chunks" in entry.parameters else [None]
    for root, num_chunks in itertools.product(roots(collective, n), counts):
        yield build(collective, algorithm, world_size=n, root=root, num_chunks=num_chunks)


def sent(schedule):
    """Return how many chunks every endpoint sends in all."""
    out = Counter(t.src for _, t in schedule.transfers())
    return [out[endpoint] for endpoint in range(schedule.num_endpoints)]


def received(schedule):
    into = Counter(t.dst for _, t in schedule.transfers())
    return [into[endpoint] for endpoint in range(schedule.num_endpoints)]


def messages(schedule):
    """Return, per step, how many chunks every message (src, dst) carries."""
    return [Counter((t.src, t.dst) for t in step) for step in schedule.steps]


def pairs(schedule):
    return [[(t.src, t.dst) for t in step] for step in schedule.steps]


def links(schedule):
    """Return all (src, dst) over which anything goes."""
    return {(t.src, t.dst) for _, t in schedule.transfers()}


def chunks_sent(schedule):
    """Return, per step, the chunk that ranks 0, 1, 2, ... send, where each sends one."""
    return [[t.chunk for t in sorted(step)] for step in schedule.steps]


def blocks_sent(schedule):
    """Return, per step, the list of chunks that ranks 0, 1, 2, ... send."""
    n = schedule.world_size
    return [
        [[t.chunk for t in step if t.src == rank] for rank in range(n)] for step in schedule.steps
    ]
