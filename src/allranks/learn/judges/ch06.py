"""Chapter 06: what the busiest rank of an all-reduce moves, as a share of S."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from allranks.cost import Cost, price
from allranks.learn.judges.base import Call, Facts, Judge, near, read_number, shown
from allranks.topology import Topology

ALGORITHMS = {"star": "flat", "unchunked": "unchunked_ring", "ring": "ring"}
WORLDS = (6, 8, 3, 4, 5, 16, 64, 1000, 2, 1)
EXACT = 1e-12


def _busiest_cases() -> list[Call]:
    return [Call({"world_size": n, "algorithm": algo}) for n in WORLDS for algo in ALGORITHMS]


@cache
def _priced(n: int, algo: str) -> Cost:
    """Return the cost of S = n bytes: what a rank moves is then a whole number of them."""
    topology = Topology.uniform(n, alpha=0.0, bandwidth=1.0)
    return price("all_reduce", ALGORITHMS[algo], world_size=n, nbytes=n, topology=topology)


def _busiest_facts(call: Call, answer: object) -> Facts:
    n, algo = call.arguments.values()
    share = read_number(answer, advice="return the share of S, a Fraction")
    cost = _priced(n, algo)
    wanted = _share(max(cost.bytes_sent_max, cost.bytes_received_max), n)
    right = near(share, wanted, EXACT)
    ring = _priced(n, "ring")
    mistakes = {
        "is_total": _share(cost.bytes_total, n),
        "is_both": _share(cost.bytes_sent_max + cost.bytes_received_max, n),
        "is_ring": _share(ring.bytes_sent_max, n),
        # n where n - 1 belongs; the parts of S that the ring moves have n - 1 in them, too
        "is_n": wanted * n / (n - 1) if n > 1 else Fraction(1),
    }
    return {
        "n": n,
        "algo": algo,
        "answer": shown(share),
        "right": right,
        "message": f"{shown(share)} S is {'more' if share > wanted else 'less'} than the busiest "
        "rank moves, out or in",
        **{name: not right and near(share, value, EXACT) for name, value in mistakes.items()},
    }


def _share(nbytes: float, n: int) -> Fraction:
    return Fraction(nbytes) / n


JUDGES = {"busiest": Judge(_busiest_cases, _busiest_facts)}
