# ruff: noqa: INP001, T201 - a script that prints
"""How fast schedules are priced, and how much memory that takes, from 64 to 131,072 ranks.

Two tables: `price` from the form of an algorithm, on a uniform network and on a cluster of nodes,
and `cost` of schedules that are written out, in transfers a second. Every row is a new process:

    python benchmarks/bench_price.py
"""

from __future__ import annotations

import sys

import numpy as np
from measure import SIZES, alone, growth, heading, print_table, report

from allranks.cost import cost, price
from allranks.schedule import Columns, Schedule
from allranks.topology import Topology

FORMS = (
    ("all_reduce", "ring"),
    ("all_reduce", "recursive_doubling"),
    ("all_reduce", "rabenseifner"),
    ("all_reduce", "double_binary_tree"),
    ("all_reduce", "hierarchical"),
    ("all_reduce", "direct"),
    ("broadcast", "chain"),
    ("all_to_all", "pairwise"),
)
MACHINES = ("bench", "fabric")
WRITTEN = (64, 256, 1024)  # a ring of n ranks has 2 n (n - 1) transfers
NBYTES = 1 << 30


def one_form(machine: str, collective: str, algorithm: str, n: int) -> None:
    """Price one algorithm from its form."""
    topology = Topology.preset(machine, n)
    report(lambda: price(collective, algorithm, world_size=n, nbytes=NBYTES, topology=topology))


def one_schedule(machine: str, n: int) -> None:
    """Price a ring all-reduce that is written out as columns."""
    schedule = ring(n)
    topology = Topology.preset(machine, n)
    report(
        lambda: cost(schedule, nbytes=NBYTES, topology=topology),
        transfers=schedule.columns().num_transfers,
    )


def ring(n: int) -> Schedule:
    """Return the ring all-reduce as columns, without the detour over transfers one by one."""
    step, rank = np.divmod(np.arange(2 * n * (n - 1)), n)
    first = step < n - 1
    chunk = np.where(first, rank - 1 - step, rank - (step - (n - 1))) % n
    bounds = np.arange(2 * (n - 1) + 1) * n
    columns = Columns(
        bounds, rank.astype(np.int32), ((rank + 1) % n).astype(np.int32), chunk, first
    )
    return Schedule("all_reduce", "ring", n, n, columns)


def main() -> None:
    """Print both tables."""
    print(heading(f"price() from the form, S = {NBYTES:,} bytes"))
    rows: list[tuple[object, ...]] = [
        ("machine", "algorithm", "n", "first call s", "best s", "peak MiB", "growth")
    ]
    for machine in MACHINES:
        for key in FORMS:
            found = [alone(__file__, "form", machine, *key, n) for n in SIZES]
            grown = growth(SIZES, [case.get("best_s") for case in found])
            rows += [
                (machine, " ".join(key), f"{n:,}", *_numbers(case), text)
                for n, case, text in zip(SIZES, found, grown, strict=True)
            ]
    print_table(rows)
    print()
    print(heading("cost() of a ring all-reduce that is written out"))
    rows = [("machine", "n", "transfers", "best s", "transfers/s", "peak MiB", "growth")]
    for machine in MACHINES:
        found = [alone(__file__, "schedule", machine, n) for n in WRITTEN]
        grown = growth(WRITTEN, [case.get("best_s") for case in found])
        for n, case, text in zip(WRITTEN, found, grown, strict=True):
            speed = f"{case['transfers'] / case['best_s'] / 1e6:.1f} M"
            times = f"{case['best_s']:.4f}", speed, f"{case['peak_mib']:.0f}"
            rows.append((machine, f"{n:,}", f"{case['transfers']:,}", *times, text))
    print_table(rows)


def _numbers(case: dict[str, float]) -> tuple[object, ...]:
    if "error" in case:
        return case["error"], "", ""
    return f"{case['first_s']:.4f}", f"{case['best_s']:.4f}", f"{case['peak_mib']:.0f}"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["form", machine, collective, algorithm, n]:
            one_form(machine, collective, algorithm, int(n))
        case ["schedule", machine, n]:
            one_schedule(machine, int(n))
        case _:
            main()
