"""Bytes, messages and alphas counted from the schedule equal the closed forms in print.

The formulas are those at the head of MPICH's sources (pmodels/mpich src/mpi/coll), of Open MPI's
and gloo's, and what follows from them by arithmetic. They are written here once more, on purpose:
the library counts messages and has no such formula.

S is the whole vector; for all_to_all, one rank's send buffer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import pytest
from algorithm_facts import lg, messages, possible, power_below, received, sent

from allranks.algorithms import build
from allranks.cost import cost
from allranks.topology import Topology

F = Fraction


class Facts(NamedTuple):
    """What an algorithm does on n >= 2 ranks. Bytes are in S, times in alpha, S beta, S gamma."""

    steps: int
    sent: Fraction | int  # by the busiest rank
    received: Fraction | int
    total: Fraction | int
    messages: int
    alphas: int
    betas: Fraction | int
    gammas: Fraction | int = 0


def floor_lg(n):
    return n.bit_length() - 1


def bits(n):
    """Return how many bits are set in 0 .. n - 1 together."""
    return sum(number.bit_count() for number in range(n))


def tree_blocks(n):
    """Return how many blocks the root of a binomial scatter sends in each step."""
    return [min(1 << bit, n - (1 << bit)) for bit in range(lg(n))]


def star(n, *, down, added):
    one, many = (n - 1, 1) if down else (1, n - 1)
    return Facts(n - 1, one, many, n - 1, n - 1, n - 1, n - 1, n - 1 if added else 0)


def tree(n, *, down):
    one, many = (lg(n), 1) if down else (1, lg(n))
    return Facts(lg(n), one, many, n - 1, n - 1, lg(n), lg(n), 0 if down else lg(n))


def chain(n, k, *, added):
    steps = n - 2 + k
    return Facts(steps, 1, 1, n - 1, k * (n - 1), steps, F(steps, k), F(steps, k) if added else 0)


def block_star(n, *, down):
    one, many = (F(n - 1, n), F(1, n)) if down else (F(1, n), F(n - 1, n))
    return Facts(n - 1, one, many, F(n - 1, n), n - 1, n - 1, F(n - 1, n))


def block_tree(n, *, down):
    most = F(max(tree_blocks(n)), n)
    one, many = (F(n - 1, n), most) if down else (most, F(n - 1, n))
    return Facts(lg(n), one, many, F(bits(n), n), n - 1, lg(n), F(n - 1, n))


def scatter_all_gather(n):
    steps, share = lg(n) + n - 1, F(n - 1, n)
    most = F(max(tree_blocks(n)), n) + share
    moved = F(bits(n), n) + n - 1
    return Facts(steps, 2 * share, most, moved, n - 1 + n * (n - 1), steps, 2 * share)


def spread(n, steps, per_rank, *, alphas=None, times=1, adding=0):
    """All ranks send and receive (n-1)/n S per phase; `per_rank` messages each in all."""
    share = F(n - 1, n)
    return Facts(
        steps=steps,
        sent=times * share,
        received=times * share,
        total=times * (n - 1),
        messages=n * per_rank,
        alphas=steps if alphas is None else alphas,
        betas=times * share,
        gammas=adding * share,
    )


def halving(n):
    p = power_below(n)
    if n == p:
        return spread(n, lg(n), lg(n), adding=1)
    f, extra = floor_lg(n), n - p
    # the widest half of each distance: d places with up to two blocks each
    halves = F(sum(min(2 * d, d + extra) for d in (1 << bit for bit in range(f))), n)
    return Facts(
        steps=f + 2,
        sent=1,  # the even ranks; the odd ones send n - 1 blocks
        received=1 + halves,
        total=F(n * (n - 1) + extra, n),
        messages=p * f + 2 * extra,
        alphas=f + 2,
        betas=1 + halves + F(1, n),
        gammas=1 + halves,
    )


def doubling(n):
    p, f = power_below(n), floor_lg(n)
    more, fold = 2 * (n > p), int(n > p)
    moved = p * f + 2 * (n - p)
    return Facts(f + more, f + fold, f + fold, moved, moved, f + more, f + more, f + fold)


def rabenseifner(n):
    p, f = power_below(n), floor_lg(n)
    more, fold, share = 2 * (n > p), int(n > p), F(p - 1, p)
    return Facts(
        steps=2 * f + more,
        sent=2 * share + fold,
        received=2 * share + fold,
        total=2 * (n - 1),
        messages=2 * p * f + 2 * (n - p),
        alphas=2 * f + more,
        betas=2 * share + more,
        gammas=share + fold,
    )


def whole_vectors(n, steps):
    return Facts(steps, n - 1, n - 1, n * (n - 1), n * (n - 1), n - 1, n - 1, n - 1)


def twice(up, down):
    """One after the other, where the busiest rank of one is also that of the other."""
    return Facts(
        up.steps + down.steps,
        up.received,  # rank 0 takes in what it sends later
        up.received,
        *(a + b for a, b in zip(up[3:], down[3:], strict=True)),
    )


def bruck_exchange(n):
    moved = F(bits(n), n)
    return Facts(lg(n), moved, moved, n * moved, n * lg(n), lg(n), moved)


FACTS: dict[tuple[str, str], Callable[[int], Facts]] = {
    ("broadcast", "flat"): lambda n: star(n, down=True, added=False),
    ("broadcast", "binomial"): lambda n: tree(n, down=True),
    ("broadcast", "scatter_all_gather"): scatter_all_gather,
    ("reduce", "flat"): lambda n: star(n, down=False, added=True),
    ("reduce", "binomial"): lambda n: tree(n, down=False),
    ("scatter", "flat"): lambda n: block_star(n, down=True),
    ("scatter", "binomial"): lambda n: block_tree(n, down=True),
    ("gather", "flat"): lambda n: block_star(n, down=False),
    ("gather", "binomial"): lambda n: block_tree(n, down=False),
    ("all_gather", "ring"): lambda n: spread(n, n - 1, n - 1),
    ("all_gather", "bidirectional_ring"): lambda n: spread(n, n // 2, n - 1, alphas=n - 1),
    ("all_gather", "neighbor_exchange"): lambda n: spread(n, n // 2, n // 2),
    ("all_gather", "recursive_doubling"): lambda n: spread(n, lg(n), lg(n)),
    ("all_gather", "bruck"): lambda n: spread(n, lg(n), lg(n)),
    ("all_gather", "direct"): lambda n: spread(n, 1, n - 1, alphas=n - 1),
    ("reduce_scatter", "ring"): lambda n: spread(n, n - 1, n - 1, adding=1),
    ("reduce_scatter", "bidirectional_ring"): lambda n: spread(
        n, n // 2, n - 1, alphas=n - 1, adding=1
    ),
    ("reduce_scatter", "recursive_halving"): halving,
    ("reduce_scatter", "direct"): lambda n: spread(n, 1, n - 1, alphas=n - 1, adding=1),
    ("all_reduce", "flat"): lambda n: twice(
        star(n, down=False, added=True), star(n, down=True, added=False)
    ),
    ("all_reduce", "unchunked_ring"): lambda n: whole_vectors(n, n - 1),
    ("all_reduce", "ring"): lambda n: spread(n, 2 * (n - 1), 2 * (n - 1), times=2, adding=1),
    ("all_reduce", "bidirectional_ring"): lambda n: spread(
        n, 2 * (n // 2), 2 * (n - 1), alphas=2 * (n - 1), times=2, adding=1
    ),
    ("all_reduce", "binomial"): lambda n: twice(tree(n, down=False), tree(n, down=True)),
    ("all_reduce", "recursive_doubling"): doubling,
    ("all_reduce", "rabenseifner"): rabenseifner,
    ("all_reduce", "direct"): lambda n: spread(
        n, 2, 2 * (n - 1), alphas=2 * (n - 1), times=2, adding=1
    ),
    ("all_reduce", "one_shot"): lambda n: whole_vectors(n, 1),
    ("all_to_all", "direct"): lambda n: spread(n, 1, n - 1, alphas=n - 1),
    ("all_to_all", "pairwise"): lambda n: spread(n, n - 1, n - 1),
    ("all_to_all", "bruck"): bruck_exchange,
}
ADDING = {
    "reduce": lambda n: n - 1,
    "reduce_scatter": lambda n: n - 1,
    "all_reduce": lambda n: n - 1,
}


def piece(schedule):
    """Return the size of a chunk in S."""
    parts = schedule.num_chunks
    return F(schedule.world_size if schedule.collective == "all_to_all" else 1, parts)


def counted(schedule):
    """Return Facts up to `messages`, from the transfers alone."""
    size = piece(schedule)
    return (
        len(schedule.steps),
        max(sent(schedule)) * size,
        max(received(schedule)) * size,
        schedule.num_transfers * size,
        sum(map(len, messages(schedule))),
    )


def timed(schedule):
    """Return alphas, S beta and S gamma of lock-step on one port, one term at a time."""
    n = schedule.world_size
    infinity = float("inf")
    size = schedule.num_chunks * n  # so that every byte count is whole
    alone = [
        Topology.uniform(n, alpha=1, bandwidth=infinity),
        Topology.uniform(n, alpha=0, bandwidth=1),
        Topology.uniform(n, alpha=0, bandwidth=infinity, gamma=1),
    ]
    alphas, betas, gammas = (
        F(cost(schedule, nbytes=size, topology=machine).seconds) for machine in alone
    )
    return (alphas, betas / size, gammas / size)


@pytest.mark.slow
@pytest.mark.parametrize(("collective", "algorithm"), sorted(FACTS))
def test_what_a_schedule_moves_is_its_closed_form_for_2_to_64_ranks(collective, algorithm):
    for n in range(2, 65):
        if possible(collective, algorithm, n):
            schedule = build(collective, algorithm, world_size=n)
            assert counted(schedule) == FACTS[collective, algorithm](n)[:5], n


@pytest.mark.parametrize(("collective", "algorithm"), sorted(FACTS))
def test_what_a_schedule_costs_is_its_closed_form_and_no_root_costs_more(collective, algorithm):
    rooted = collective in {"broadcast", "reduce", "scatter", "gather"}
    for n in (2, 3, 4, 5, 6, 7, 8, 11, 16):
        if not possible(collective, algorithm, n):
            continue
        facts = FACTS[collective, algorithm](n)
        for root in range(n) if rooted else [None]:
            schedule = build(collective, algorithm, world_size=n, root=root)
            assert counted(schedule) == facts[:5], (n, root)
            assert timed(schedule) == facts[5:], (n, root)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_a_chain_is_its_closed_form_for_every_number_of_chunks(collective, n, k):
    facts = chain(n, k, added=collective == "reduce")
    for root in range(n):
        schedule = build(collective, "chain", world_size=n, root=root, num_chunks=k)
        assert counted(schedule) == facts[:5]
        found = timed(schedule)
        assert [float(x) for x in found] == pytest.approx([float(x) for x in facts[5:]], rel=1e-12)


@pytest.mark.parametrize(
    ("n", "per_rank"),
    [(3, (F(4, 3), 2)), (4, (F(3, 2), 3)), (6, (F(5, 3), 5)), (16, (F(15, 8), 15))],
)
def test_the_bytes_per_rank_of_two_rings_are_those_of_the_course(n, per_rank):
    chunked, unchunked = FACTS["all_reduce", "ring"](n), FACTS["all_reduce", "unchunked_ring"](n)
    assert (chunked.sent, unchunked.sent) == per_rank


def test_a_fold_costs_what_mpich_says():
    n, p = 6, 4
    whole = FACTS["all_reduce", "rabenseifner"](n)
    assert whole.alphas == 2 * 2 + 2
    assert whole.betas == 2 * F(p - 1, p) + 2
    assert whole.gammas == 1 + F(p - 1, p)
    assert FACTS["reduce_scatter", "recursive_halving"](n).steps == 2 + 2


def test_every_part_of_a_reduction_is_added_once_and_only_there():
    for (collective, algorithm), facts in FACTS.items():
        for n in (2, 3, 8):
            if possible(collective, algorithm, n):
                schedule = build(collective, algorithm, world_size=n)
                ops = Counter(t.op.value for _, t in schedule.transfers())
                assert (ops["reduce"] > 0) == (collective in ADDING)
                assert (facts(n).gammas > 0) == (collective in ADDING)
