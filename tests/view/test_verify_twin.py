"""The page's verifier against Python's: the same verdict in the same words, on any schedule."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from allranks.algorithms import ALGORITHMS, ROOTED, build
from allranks.collectives import CONTRACTS
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule, Transfer
from allranks.verify import verify

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(
    NODE is None, reason="Node.js is not installed; it is a development tool"
)


def verdict(schedule):
    try:
        verify(schedule)
    except ScheduleError as error:
        return error.to_dict()
    return None


def case(name, schedule):
    return {"name": name, "schedule": schedule.to_dict(), "verdict": verdict(schedule)}


def compare(cases):
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(Path(__file__).with_name("verify_twin.mjs"))],
        input=json.dumps({"cases": cases}),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def any_schedule(draw, *, stray=0.05):
    """Return transfers drawn as a learner may drag them; `stray` of the numbers fit nothing."""
    collective = draw.choice(list(CONTRACTS))
    n = draw.randint(1, 6)
    contract = CONTRACTS[collective]
    num_chunks = contract.pieces(n) * draw.randint(1, 2)
    switches = draw.choice([0, 0, 0, 1, 2])

    def number(stop):
        return draw.randrange(stop) if draw.random() > stray else draw.randint(-1, stop + 1)

    def transfer():
        ends = number(n + switches), number(n + switches)
        return Transfer(*ends, number(num_chunks), draw.choice(list(Op)))

    steps = tuple(
        tuple(transfer() for _ in range(draw.randint(0, n))) for _ in range(draw.randint(0, 5))
    )
    root = draw.randrange(n) if contract.rooted else None
    return Schedule(collective, "custom", n, num_chunks, steps, root, switches)


def playable(schedule):
    """Return the schedule without the transfers that cannot be played."""
    kept = []
    for step in schedule.steps:
        good = []
        for transfer in step:
            trial = Schedule(
                schedule.collective,
                "custom",
                schedule.world_size,
                schedule.num_chunks,
                (*kept, (*good, transfer)),
                schedule.root,
                schedule.num_switches,
            )
            found = verdict(trial)
            broken = found and found["kind"] in {"missing", "double_count", "wrong_owner"}
            if found is None or broken:
                good.append(transfer)
        kept.append(tuple(good))
    return rebuilt(schedule, kept)


def rebuilt(schedule, steps):
    return Schedule(
        schedule.collective,
        "custom",
        schedule.world_size,
        schedule.num_chunks,
        tuple(tuple(step) for step in steps),
        schedule.root,
        schedule.num_switches,
    )


def slip(draw, schedule):
    """Return the schedule with one mistake, as a learner makes it."""
    steps = [list(step) for step in schedule.steps]
    places = [(s, i) for s, step in enumerate(steps) for i in range(len(step))]
    if not places:
        return schedule
    s, i = draw.choice(places)
    old = steps[s][i]
    kind = draw.choice(["drop", "op", "chunk", "dst", "src", "twice", "later", "empty"])
    if kind == "drop":
        del steps[s][i]
    elif kind == "op":
        steps[s][i] = old._replace(op=Op.COPY if old.op is Op.REDUCE else Op.REDUCE)
    elif kind == "chunk":
        steps[s][i] = old._replace(chunk=draw.randrange(schedule.num_chunks))
    elif kind in {"dst", "src"}:
        steps[s][i] = old._replace(**{kind: draw.randrange(schedule.num_endpoints)})
    elif kind == "twice":
        steps[draw.randrange(len(steps))].append(old)
    elif kind == "later":
        del steps[s][i]
        steps[min(s + 1, len(steps) - 1)].append(old)
    else:
        steps[s] = []
    return rebuilt(schedule, steps)


def library():
    for (collective, name), entry in ALGORITHMS.items():
        for n in (1, 2, 3, 4, 5, 6):
            for root in range(n) if collective in ROOTED else [None]:
                chunks = draw_chunks(entry, n)
                try:
                    yield build(collective, name, world_size=n, root=root, num_chunks=chunks)
                except ValueError:
                    continue


def draw_chunks(entry, n):
    return 2 if "num_chunks" in entry.parameters and n % 2 else None


def cases(seed, rounds):
    draw = random.Random(seed)
    found = []
    for made in library():
        found.append(case("library", made))
        for _ in range(rounds):
            wrong = slip(draw, made)
            found.append(case("slip", wrong))
            found.append(case("two slips", slip(draw, wrong)))
    for _ in range(120 * rounds):
        made = any_schedule(draw)
        found.append(case("any", made))
        found.append(case("playable", playable(any_schedule(draw, stray=0))))
    return found


@pytest.mark.slow
def test_the_page_judges_in_the_words_of_the_verifier():
    made = cases(5, 3)
    report = compare(made)
    assert report["found"] == []
    assert report["compared"] == len(made)
    wanted = "double_count missing wrong_owner not_held write_conflict unknown_endpoint"
    for kind in [*wanted.split(), "unknown_chunk", "self_send", "proved"]:
        assert report["kinds"].get(kind, 0) >= 5, (kind, report["kinds"])


@pytest.mark.parametrize("field", ["message", "step", "kind", "peer", "verdict"])
def test_a_planted_difference_is_found(field):
    one = case("planted", rebuilt(build("broadcast", "chain", world_size=4, root=0), []))
    assert compare([one])["count"] == 0
    if field == "verdict":
        one["verdict"] = None
    else:
        one["verdict"][field] = "else" if field in {"message", "kind"} else 7
    assert compare([one])["count"] == 1
