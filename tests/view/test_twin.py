"""The page's own engine against Python's: every transfer, every state, every price."""

from __future__ import annotations

import itertools
import json
import math
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from allranks.algorithms import ALGORITHMS, ROOTED, build
from allranks.algorithms.variants import VARIANTS, vary
from allranks.collectives import CONTRACTS
from allranks.cost import best_num_chunks, bytes_per_rank, cost, lower_bound, price, timeline
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Topology
from allranks.verify import states
from allranks.view.names import title_of

SIZES = [*range(1, 17), 31, 64]
SMALL = 8
PRICED_TRANSFERS = 3000
BENCH = {"alpha": 4e-6, "bandwidth": 25e9, "gamma": 0.0, "ports": 1, "in_flight": 1}
MACHINES = [
    BENCH,
    {"alpha": 2e-6, "bandwidth": 370e9, "gamma": 3e-11, "ports": 1, "in_flight": 7},
    {"alpha": 1e-5, "bandwidth": 1e9, "gamma": 1e-10, "ports": 2, "in_flight": 1},
    {"alpha": 5e-6, "bandwidth": math.inf, "gamma": 0.0, "ports": 3, "in_flight": 2},
    # None: all messages of a rank at once, n - 1 of them
    {"alpha": 2e-6, "bandwidth": 370e9, "gamma": 0.0, "ports": 1, "in_flight": None},
]
GREY = {("all_gather", "neighbor_exchange"), ("all_gather", "recursive_doubling")}
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(
    NODE is None, reason="Node.js is not installed; it is a development tool"
)


# What each algorithm is made with beside n: every combination is tried where it is possible.
NODE_SIZES = [None, 1, 2, 3, 4, (3, 2), (2, 3, 3), (1, 4, 2), (5, 3), (8, 8, 4), (32, 32)]
INSIDE = [
    *("ring", "direct", "recursive_halving", "bidirectional_ring", "bruck", "pairwise", "pat"),
    "nvls",
]
BETWEEN = [
    *("ring", "rabenseifner", "binomial", "one_shot", "double_binary_tree", "hierarchical"),
    *("flat", "direct", "bruck", "pairwise", "unchunked_ring", "recursive_doubling"),
]
IN_SWITCHES = [
    {"inner": "nvls", "outer": "double_binary_tree"},
    {"inner": "nvls", "outer": "sharp"},
    {"outer": "sharp"},
    {"outer": "nvls"},
]


def plain(machine):
    finite = math.isfinite(machine["bandwidth"])
    return {**machine, "bandwidth": machine["bandwidth"] if finite else None}


def uniform(n, machine):
    in_flight = machine["in_flight"] or max(n - 1, 1)
    return Topology.uniform(n, **{**machine, "in_flight": in_flight})


def priced(schedule, machine, nbytes, clock):
    topology = uniform(schedule.world_size, machine)
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


def settings(entry, n, draw):
    """Return what to make an algorithm with: nothing, and some of what it takes."""
    found = [{}]
    if "radix" in entry.parameters:
        found += [{"radix": radix} for radix in (2, 3, 4, 16)]
    if "node_size" in entry.parameters:
        for size in NODE_SIZES:
            if isinstance(size, tuple) and sum(size) != n:
                continue
            made = {} if size is None else {"node_size": size}
            found += [made, {**made, "inner": draw.choice(INSIDE), "outer": draw.choice(BETWEEN)}]
            found += [{**made, **names} for names in IN_SWITCHES]
    return found


def chunk_numbers(entry, n):
    """Return numbers of chunks to ask for; None is the usual one."""
    if "num_chunks" not in entry.parameters:
        return [None]
    return [None, 1, 2, 5, 6, 2 * n] if n <= SMALL else [None, 3, 4]


def case(name, schedule, costs, *, generated, given=None):
    small = schedule.world_size <= SMALL
    return {
        "name": name,
        "generated": generated,
        "given": given or {},
        "schedule": schedule.to_dict(),
        "title": title_of(schedule, given),
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
            for root, chunks, given in itertools.product(
                roots, chunk_numbers(entry, n), settings(entry, n, draw)
            ):
                yield library_case(collective, name, n, root, chunks, given, draw)


def library_case(collective, name, n, root, chunks, given, draw):
    """Return a case, or the fact that there is no such schedule."""
    label = f"{collective} {name} {n} {root} {chunks} {given}"
    asked = {"n": n, "root": root, "chunks": chunks}
    try:
        made = build(collective, name, world_size=n, root=root, num_chunks=chunks, **given)
    except ValueError:
        case_ = {"name": label, "refused": [collective, name, asked, given]}
        words = ALGORITHMS[collective, name].restriction
        # a page greys these out, with the reason in the words of the library
        return {**case_, "restriction": words} if (collective, name) in GREY else case_
    costs = []
    if made.num_transfers <= PRICED_TRANSFERS:
        machine = draw.choice(MACHINES)
        nbytes = draw.choice([1, 3000, 48_000_000, 1e9, 1234567.5])
        clocks = ["lockstep", "data_driven"] if n <= SMALL else ["lockstep"]
        costs = [priced(made, machine, nbytes, clock) for clock in clocks]
    return {**case(label, made, costs, generated=True, given=given), "asked": asked}


def random_schedule(draw):
    """Return a schedule that keeps the rules of a step, but hardly its collective's promise."""
    collective = draw.choice(list(CONTRACTS))
    n = draw.randint(2, 6)
    contract = CONTRACTS[collective]
    num_chunks = contract.pieces(n) * draw.randint(1, 2)
    root = draw.randrange(n) if contract.rooted else None
    steps: list[tuple[Transfer, ...]] = []
    switches = draw.randint(0, 3)
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


def varied_cases():
    wanted = [("all_gather", "bruck"), ("all_gather", "ring"), ("reduce_scatter", "ring")]
    wanted += [("reduce_scatter", "recursive_halving"), ("all_reduce", "ring"), ("gather", "flat")]
    wanted += [("broadcast", "binomial"), ("reduce", "chain"), ("all_to_all", "pairwise")]
    for (collective, algorithm), n in itertools.product(wanted, (1, 2, 4, 5, 6)):
        plain_ = build(collective, algorithm, world_size=n)
        for names in [
            *((name,) for name in VARIANTS),
            ("shifted", "twice"),
            ("reversed", "swapped"),
        ]:
            label = f"{collective} {algorithm} {n} {names}"
            try:
                made = vary(plain_, *names)
            except ValueError:
                yield {"name": label, "unvaried": [plain_.to_dict(), names]}
                continue
            costs = [priced(made, BENCH, 3000, clock) for clock in ("lockstep", "data_driven")]
            varied = {"varied": [plain_.to_dict(), names]}
            # a fault may leave a step that cannot be played: then there are no states to compare
            try:
                list(states(made))
            except ScheduleError:
                continue
            yield case(label, made, costs, generated=False) | varied


def chain_cases():
    for collective in ("broadcast", "reduce"):
        for machine in MACHINES:
            for n in (1, 2, 6, 64):
                topology = uniform(n, machine)
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
        "schedules": [*library_cases(), *random_cases(), *varied_cases()],
        "bounds": [
            [name, n, nbytes, plain(m), lower_bound(name, n, nbytes, uniform(n, m))]
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
    report = json.loads(done.stdout)
    return {**report, "made": set(report["made"])}


@pytest.mark.slow
def test_the_page_computes_what_the_engine_computes():
    cases = all_cases()
    report = compare(cases)
    assert report["found"] == []
    assert report["compared"] == len(cases["schedules"])
    assert report["made"] == {f"{collective} {name}" for collective, name in ALGORITHMS}


@pytest.mark.parametrize(
    "fault", ["steps", "states", "seconds", "ends", "title", "refused", "varied", "unvaried"]
)
def test_a_planted_difference_is_found(fault):
    made = build("all_reduce", "ring", world_size=4)
    planted = case("planted", made, [priced(made, BENCH, 1e6, "lockstep")], generated=True)
    planted["asked"] = {"n": 4}
    if fault == "refused":
        planted = {"name": "planted", "refused": ["all_reduce", "ring", {"n": 4}, {}]}
    elif fault == "title":
        planted["title"] += "s"
    elif fault == "varied":
        planted["varied"] = [made.to_dict(), ["shifted"]]
    elif fault == "unvaried":
        planted["unvaried"] = [made.to_dict(), ["twice"]]
    elif fault == "steps":
        planted["schedule"]["steps"][1][0][2] += 1
    elif fault == "states":
        planted["states"][2][0][0][0] += 1
    elif fault == "seconds":
        planted["costs"][0]["seconds"] *= 1 + 1e-9
    else:
        planted["ends"][0][0] = [0]
    report = compare({"schedules": [planted], "bounds": [], "best": [], "chains": []})
    assert report["count"] > 0
