# ruff: noqa: INP001, T201 - a script that prints
"""How fast schedules are proved, and how much memory that takes, from 64 to 131,072 ranks.

Two tables: `prove`, which plays the films of a folded schedule and makes them too, and `verify` of
schedules that are written out as columns, every transfer played. Every row is a new process:

    python benchmarks/bench_verify.py
"""

from __future__ import annotations

import sys
from dataclasses import replace

from measure import SIZES, alone, growth, heading, print_table, report

from allranks.algorithms import build, plan_of
from allranks.algorithms.folded import fold
from allranks.schedule import Schedule
from allranks.verify import prove, verify

FOLDED = (
    ("all_reduce", "ring"),
    ("all_reduce", "bidirectional_ring"),
    ("all_reduce", "recursive_doubling"),
    ("all_reduce", "rabenseifner"),
    ("all_reduce", "double_binary_tree"),
    ("all_reduce", "hierarchical"),
    ("all_gather", "bruck"),
    ("all_gather", "pat"),
    ("scatter", "binomial"),
    ("all_to_all", "pairwise"),
)
# Those that fit into memory: a ring of 8,192 ranks would have 134 million transfers.
WRITTEN = (
    ("all_reduce", "ring", (64, 256, 1024, 2048)),
    ("all_reduce", "recursive_doubling", SIZES),
    ("all_to_all", "pairwise", (64, 256, 1024)),
)


def one_proof(collective: str, algorithm: str, n: int) -> None:
    """Prove one algorithm for n ranks by its films."""
    proof = prove(collective, algorithm, world_size=n)
    facts = {"transfers": proof.transfers, "played": proof.transfers_played}
    report(lambda: prove(collective, algorithm, world_size=n), **facts)


def one_schedule(collective: str, algorithm: str, n: int) -> None:
    """Prove a schedule of n ranks that is written out."""
    schedule = written_out(collective, algorithm, n)
    report(lambda: verify(schedule), transfers=schedule.num_transfers)


def written_out(collective: str, algorithm: str, n: int) -> Schedule:
    """Return a schedule as columns: from the generator, or from the film if one holds it all."""
    folded = fold(collective, algorithm, n, plan_of(collective, algorithm, n, {}))
    if folded is not None and folded.num_chunks == 1:
        return folded.schedule_of_films()
    schedule = build(collective, algorithm, world_size=n)
    return replace(schedule, steps=schedule.columns())


def main() -> None:
    """Print both tables."""
    print(heading("prove(): films made and played"))
    rows: list[tuple[object, ...]] = [
        ("algorithm", "n", "transfers", "played", "first call s", "best s", "peak MiB", "growth")
    ]
    for key in FOLDED:
        found = [alone(__file__, "proof", *key, n) for n in SIZES]
        grown = growth(SIZES, [case.get("best_s") for case in found])
        for n, case, text in zip(SIZES, found, grown, strict=True):
            size = f"{case['transfers']:,}", f"{case['played']:,}"
            times = f"{case['first_s']:.4f}", f"{case['best_s']:.4f}", f"{case['peak_mib']:.0f}"
            rows.append((" ".join(key), f"{n:,}", *size, *times, text))
    print_table(rows)
    print()
    print(heading("verify(): every transfer played"))
    rows = [("algorithm", "n", "transfers", "best s", "transfers/s", "peak MiB", "growth")]
    for *key, sizes in WRITTEN:
        found = [alone(__file__, "schedule", *key, n) for n in sizes]
        grown = growth(sizes, [case.get("best_s") for case in found])
        for n, case, text in zip(sizes, found, grown, strict=True):
            speed = f"{case['transfers'] / case['best_s'] / 1e6:.1f} M"
            times = f"{case['best_s']:.4f}", speed, f"{case['peak_mib']:.0f}"
            rows.append((" ".join(key), f"{n:,}", f"{case['transfers']:,}", *times, text))
    print_table(rows)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["proof", collective, algorithm, n]:
            one_proof(collective, algorithm, int(n))
        case ["schedule", collective, algorithm, n]:
            one_schedule(collective, algorithm, int(n))
        case _:
            main()
