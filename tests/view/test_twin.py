"""The page's own engine against Python's: every transfer, every state, every price."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from allranks.algorithms import ALGORITHMS, ROOTED, build
from allranks.collectives import CONTRACTS
from allranks.cost import best_num_chunks, bytes_per_rank, cost, lower_bound, price, timeline
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Topology
from allranks.verify import states
from allranks.view.frames import title_of

SIZES = [*range(1, 17), 31, 64]
SMALL = 8
BENCH = {"alpha": 4e-6, "bandwidth": 25e9, "gamma": 0.0, "ports": 1, "in_flight": 1}
MACHINES = [
    BENCH,
    {"alpha": 2e-6, "bandwidth": 370e9, "gamma": 3e-11, "ports": 1, "in_flight": 7},
    {"alpha": 1e-5, "bandwidth": 1e9, "gamma": 1e-10, "ports": 2, "in_flight": 1},
    {"alpha": 5e-6, "bandwidth": math.inf, "gamma": 0.0, "ports": 3, "in_flight": 2},
]
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(
    NODE is None, reason="Node.js is not installed; it is a development tool"
)


def plain(machine):
    finite = math.isfinite(machine["bandwidth"])
    return {**machine, "bandwidth": machine["bandwidth"] if finite else None}


def priced(schedule, machine, nbytes, clock):
    topology = Topology.uniform(schedule.world_size, **machine)
    paid = cost(schedule, nbytes=nbytes, topology=topology, clock=clock)
    traffic = bytes_per_rank(schedule, nbytes)
    return {
        "machine": plain(machine),
        "nbytes": nbytes,
        "clock": clock,
        "seconds": paid.seconds,
        "counts": [paid.steps, paid.latency_terms, paid.messages],
        "sent": [each.sent for each in traffic],
        "received": [each.received for each in traffic],
        "events": [
            list(event)
            for event in timeline(schedule, nbytes=nbytes, topology=topology, clock=clock)
        ],
    }


def counts(state, world_size):
    return [[[parts[rank] for rank in range(world_size)] for parts in row] for row in state]


def promises(schedule):
    contract = CONTRACTS[schedule.collective]
    size = contract.size(schedule.world_size, schedule.num_chunks, schedule.root)
    ranks, chunks = range(schedule.world_size), range(schedule.num_chunks)
    ends = [[contract.ends(rank, chunk, size) for chunk in chunks] for rank in ranks]
    return {
        "starts": [[sorted(contract.starts(r, c, size)) for c in chunks] for r in ranks],
        "ends": [[None if e is None else sorted(e) for e in row] for row in ends],
    }


def case(name, schedule, costs, *, generated):
    small = schedule.world_size <= SMALL
    return {
        "name": name,
        "generated": generated,
        "schedule": schedule.to_dict(),
        "title": title_of(schedule),
        "states": [counts(s, schedule.world_size) for s in states(schedule)] if small else None,
        "costs": costs,
        **(promises(schedule) if small else {}),
    }


def library_cases():
    draw = random.Random(7)
    for (collective, name), entry in ALGORITHMS.items():
        for n in SIZES:
            some = {0, 1 % n, n // 2, n - 1} if n <= SMALL else {n // 3}
            roots = sorted(some) if collective in ROOTED else [None]
            sizes = [1, 2, 5] if n <= SMALL else [3]
            pieces = sizes if "num_chunks" in entry.parameters else [None]
            for root in roots:
                for chunks in pieces:
                    made = build(collective, name, world_size=n, root=root, num_chunks=chunks)
                    machine = draw.choice(MACHINES)
                    nbytes = draw.choice([1, 3000, 48_000_000, 1e9, 1234567.5])
                    clocks = ["lockstep", "data_driven"] if n <= SMALL else ["lockstep"]
                    costs = [priced(made, machine, nbytes, clock) for clock in clocks]
                    yield case(
                        f"{collective} {name} {n} {root} {chunks}", made, costs, generated=True
                    )


def random_schedule(draw):
    """Return a schedule that keeps the rules of a step, but hardly its collective's promise."""
    collective = draw.choice(list(CONTRACTS))
    n = draw.randint(2, 6)
    contract = CONTRACTS[collective]
    num_chunks = contract.pieces(n) * draw.randint(1, 2)
    root = draw.randrange(n) if contract.rooted else None
    steps: list[tuple[Transfer, ...]] = []
    switches = draw.randint(0, 1)
    for _ in range(draw.randint(1, 6)):
        step: list[Transfer] = []
        for _ in range(draw.randint(1, 2 * n)):
            src, dst = draw.sample(range(n + switches), 2)
            op = draw.choice(list(Op))
            candidate = [*step, Transfer(src, dst, draw.randrange(num_chunks), op)]
            trial = Schedule(
                collective, "custom", n, num_chunks, (*steps, tuple(candidate)), root, switches
            )
            try:
                list(states(trial))
            except ScheduleError:
                continue
            step = candidate
        steps.append(tuple(step))
    return Schedule(collective, "custom", n, num_chunks, tuple(steps), root, switches)


def random_cases():
    draw = random.Random(11)
    for number in range(120):
        made = random_schedule(draw)
        costs = [
            priced(made, draw.choice(MACHINES), draw.choice([1000, 48e6]), clock)
            for clock in ("lockstep", "data_driven")
        ]
        yield case(f"random {number} {made.collective}", made, costs, generated=False)


def chain_cases():
    for collective in ("broadcast", "reduce"):
        for machine in MACHINES:
            for n in (1, 2, 6, 64):
                topology = Topology.uniform(n, **machine)
                for chunks in (1, 3, 44):
                    seconds = price(
                        collective,
                        "chain",
                        world_size=n,
                        nbytes=48e6,
                        num_chunks=chunks,
                        topology=topology,
                    ).seconds
                    yield [collective, n, 48e6, chunks, plain(machine), seconds]


def all_cases() -> dict[str, Any]:
    return {
        "schedules": [*library_cases(), *random_cases()],
        "bounds": [
            [name, n, nbytes, plain(m), lower_bound(name, n, nbytes, Topology.uniform(n, **m))]
            for name in CONTRACTS
            for n in (1, 2, 3, 6, 16, 64)
            for m in MACHINES
            for nbytes in (1, 48e6)
        ],
        "best": [
            [n, nbytes, plain(m), best_num_chunks(n, nbytes, m["alpha"], 1 / m["bandwidth"])]
            for n in (1, 2, 3, 6, 64)
            for m in MACHINES
            for nbytes in (1, 3000, 375_000, 48e6, 1e9)
        ],
        "chains": list(chain_cases()),
    }


def compare(cases):
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(Path(__file__).with_name("twin.mjs"))],
        input=json.dumps(cases, allow_nan=False),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_page_computes_what_the_engine_computes():
    cases = all_cases()
    report = compare(cases)
    assert report["found"] == []
    assert report["compared"] == len(cases["schedules"])
    assert report["compared"] > 400


@pytest.mark.parametrize("fault", ["steps", "states", "seconds", "ends"])
def test_a_planted_difference_is_found(fault):
    made = build("all_reduce", "ring", world_size=4)
    planted = case("planted", made, [priced(made, BENCH, 1e6, "lockstep")], generated=True)
    if fault == "steps":
        planted["schedule"]["steps"][1][0][2] += 1
    elif fault == "states":
        planted["states"][2][0][0][0] += 1
    elif fault == "seconds":
        planted["costs"][0]["seconds"] *= 1 + 1e-9
    else:
        planted["ends"][0][0] = [0]
    report = compare({"schedules": [planted], "bounds": [], "best": [], "chains": []})
    assert report["count"] > 0
