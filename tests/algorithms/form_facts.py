"""What a form says, written out message by message, beside what its schedule really sends."""

from __future__ import annotations

from collections import Counter, defaultdict

from allranks.algorithms import build, plan_of
from allranks.cost import cost, price
from allranks.cost.forms import FORMS, Shift, Stream
from allranks.schedule import Op
from allranks.topology import Topology

EXACT = (
    *("steps", "latency_terms", "messages", "bytes_total", "bytes_sent_max", "bytes_received_max"),
    *("switch_bytes_in", "switch_bytes_out"),
)


def sent_by_schedule(schedule):
    """Return, per step, what each message (src, dst) carries and how much of it is added."""
    steps = []
    for step in schedule.steps:
        carried = Counter((t.src, t.dst) for t in step)
        added = Counter((t.src, t.dst) for t in step if t.op is Op.REDUCE)
        steps.append({pair: (count, added[pair]) for pair, count in carried.items()})
    return steps


def sent_by_form(collective, algorithm, n, **parameters):
    """Return the same from the form. A message that is listed twice in a step shows as a list."""
    plan = plan_of(collective, algorithm, n, parameters)
    others = {name: value for name, value in plan.parameters.items() if name != "num_chunks"}
    steps = []
    for run in FORMS[collective, algorithm].phases(n, plan.num_chunks, **others):
        played = _streamed(run) if isinstance(run, Stream) else _listed(run, n) * run.repeat
        assert all(played), "a step without a message"
        steps += [{pair: _one(found) for pair, found in step.items()} for step in played]
    return steps


def _one(found):
    return found[0] if len(found) == 1 else found


def _listed(run, n):
    steps = [defaultdict(list) for _ in range(int(run.step[-1]) + 1)]
    assert run.step.tolist() == sorted(run.step.tolist())
    for row in zip(*(column.tolist() for column in run[1:]), strict=True):
        if isinstance(run, Shift):
            step, shift, *amounts = row
            assert 0 < shift < n
            pairs = [(rank, (rank + shift) % n) for rank in range(n)]
        else:
            step, src, dst, *amounts = row
            pairs = [(src, dst)]
        for pair in pairs:
            steps[step][pair].append(tuple(amounts))
    return steps


def _streamed(run):
    """Streams may share a message: their chunks join."""
    found = defaultdict(lambda: defaultdict(lambda: [(0, 0)]))
    for start, times, src, dst, chunks, reduced in zip(
        *(column.tolist() for column in run[1:]), strict=True
    ):
        for turn in range(times):
            message = found[start + run.every * turn][src, dst]
            message[0] = (message[0][0] + chunks, message[0][1] + reduced)
    assert sorted(found) == list(range(len(found)))
    return [found[step] for step in range(len(found))]


def assert_form_is_schedule(collective, algorithm, n, **parameters):
    """The form says exactly the messages of the schedule, and so the two have one price."""
    schedule = build(collective, algorithm, world_size=n, **parameters)
    if n > 1:
        assert sent_by_form(collective, algorithm, n, **parameters) == sent_by_schedule(schedule)
    for machine in (
        Topology.uniform(n, alpha=3e-6, bandwidth=20e9, gamma=1e-11),
        Topology.uniform(n, alpha=1e-6, bandwidth=7e9, gamma=3e-11, ports=2, in_flight=3),
    ):
        nbytes = 48 * schedule.num_chunks
        walked = cost(schedule, nbytes=nbytes, topology=machine)
        priced = price(
            collective, algorithm, world_size=n, nbytes=nbytes, topology=machine, **parameters
        )
        for name in EXACT:
            assert getattr(walked, name) == getattr(priced, name), name
        assert abs(walked.seconds - priced.seconds) <= 1e-12 * walked.seconds
