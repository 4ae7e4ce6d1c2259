"""A form lists the messages of its algorithm's schedule: all of them, no others, step by step."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from allranks.algorithms import ALGORITHMS, PARAMETERS, build, plan_of
from allranks.collectives import CONTRACTS
from allranks.cost.forms import FORMS, Phase, Shift, Stream
from allranks.schedule import Op

KEYS = sorted(FORMS)


def of_phase(phase, _n):
    steps = [(Counter(), Counter()) for _ in range(int(phase.step.max()) + 1)]
    for step, src, dst, chunks, reduced in zip(*(c.tolist() for c in phase[1:]), strict=True):
        carried, added = steps[step]
        assert (src, dst) not in carried  # one message from a given endpoint to another
        carried[src, dst] = chunks
        added[src, dst] = reduced
    return steps * phase.repeat


def of_shift(shift, n):
    assert all(0 < distance < n for distance in shift.shift.tolist())
    rank = np.arange(n)
    entries = shift.step.size
    listed = Phase(
        shift.repeat,
        np.repeat(shift.step, n),
        np.tile(rank, entries),
        (np.tile(rank, entries) + np.repeat(shift.shift, n)) % n,
        np.repeat(shift.chunks, n),
        np.repeat(shift.reduced, n),
    )
    return of_phase(listed, n)


def of_stream(stream, _n):
    length = int((stream.start + stream.every * (stream.times - 1)).max()) + 1
    steps = [(Counter(), Counter()) for _ in range(length)]
    for start, times, src, dst, chunks, reduced in zip(
        *(c.tolist() for c in stream[1:]), strict=True
    ):
        for step in range(start, start + stream.every * times, stream.every):
            steps[step][0][src, dst] += chunks
            steps[step][1][src, dst] += reduced
    return steps


WRITERS = {Phase: of_phase, Shift: of_shift, Stream: of_stream}


def listed(collective, algorithm, n, **parameters):
    """Return (chunks, reduced chunks) of every message of every step, by the form."""
    asked = dict.fromkeys(PARAMETERS) | parameters
    plan = plan_of(collective, algorithm, n, asked, priced=True)
    rest = {key: value for key, value in plan.parameters.items() if key != "num_chunks"}
    runs = FORMS[collective, algorithm].phases(n, plan.num_chunks, **rest)
    steps = [step for run in runs for step in WRITERS[type(run)](run, n)]
    assert all(carried for carried, _ in steps)
    return [(carried, +added) for carried, added in steps]


def walked(collective, algorithm, n, **parameters):
    """Return the same by the schedule."""
    schedule = build(collective, algorithm, world_size=n, **parameters)
    return [
        (
            Counter((t.src, t.dst) for t in step),
            Counter((t.src, t.dst) for t in step if t.op is Op.REDUCE),
        )
        for step in schedule.steps
    ]


@pytest.mark.parametrize(("collective", "algorithm"), KEYS)
def test_a_form_lists_the_messages_of_its_schedule(collective, algorithm):
    entry = ALGORITHMS[collective, algorithm]
    for n in (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16, 17):
        if entry.refuse(n):
            continue
        usual = entry.default_chunks(n)
        for root in range(n) if CONTRACTS[collective].rooted else [None]:
            for times in [1, 2, 5] if "num_chunks" in entry.parameters else [None]:
                chunks = None if times is None else usual * times
                asked = {"root": root, "num_chunks": chunks}
                found = listed(collective, algorithm, n, **asked)
                assert found == walked(collective, algorithm, n, **asked), (n, asked)


@pytest.mark.slow
@pytest.mark.parametrize(("collective", "algorithm"), KEYS)
def test_a_form_lists_the_messages_of_its_schedule_on_up_to_64_ranks(collective, algorithm):
    for n in range(2, 65):
        if not ALGORITHMS[collective, algorithm].refuse(n):
            root = n // 3 if CONTRACTS[collective].rooted else None
            found = listed(collective, algorithm, n, root=root)
            assert found == walked(collective, algorithm, n, root=root), n


def test_every_algorithm_has_a_form():
    assert set(FORMS) == set(ALGORITHMS)


def test_the_form_of_the_unchunked_ring_knows_more_than_any_schedule():
    n = 6
    around = Counter({(rank, (rank + 1) % n): 1 for rank in range(n)})
    assert listed("all_reduce", "unchunked_ring", n) == [(around, around)] * (n - 1)
