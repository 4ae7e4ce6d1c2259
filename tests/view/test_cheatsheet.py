"""Every formula of the cheat sheet is what the engine counts, for 2 to 33 ranks."""

from __future__ import annotations

import pytest

from allranks.algorithms import ALGORITHMS, build
from allranks.collectives import CONTRACTS
from allranks.cost import cost, price
from allranks.topology import Topology
from allranks.view.cheatsheet import (
    ANY,
    BUSBW,
    EVEN,
    FOLD,
    FOLD_TWICE,
    POWER,
    ROWS,
    SPECIAL,
    Row,
    fastest,
    latex,
    table,
    value,
)

RANKS = range(2, 34)
HOLDS = {ANY: lambda _n: True, EVEN: lambda n: n % 2 == 0, POWER: lambda n: n & (n - 1) == 0}
PIPED = {"chain", "sharp", "nvls"}
KS = {"chain": (1, 3, 8), "sharp": (1, 3, 8), "nvls": (3, 4, 8, 37)}


def unit(n: int) -> Topology:
    """Return n ranks whose links move one byte a second, without latency."""
    return Topology.uniform(n, alpha=0, bandwidth=1)


def counted(row: Row, n: int, k: int) -> tuple[int, float, float, float]:
    """Return steps, busiest bytes in S, alphas, and seconds in S beta, from the schedule."""
    if row.algorithm == "unchunked_ring":
        paid = price("all_reduce", "unchunked_ring", world_size=n, nbytes=1, topology=unit(n))
        return paid.steps, paid.bytes_sent_max, paid.latency_terms, paid.seconds
    made = build(
        row.collective,
        row.algorithm,
        world_size=n,
        root=0 if CONTRACTS[row.collective].rooted else None,
        num_chunks=k * n if row.algorithm == "nvls" else k if row.algorithm in PIPED else None,
    )
    paid = cost(made, nbytes=1, topology=unit(n))
    return (
        paid.steps,
        max(paid.bytes_sent_max, paid.bytes_received_max),
        paid.latency_terms,
        paid.seconds,
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.collective}-{row.algorithm}")
def test_a_row_is_what_the_engine_counts(row: Row) -> None:
    tried = [n for n in RANKS if HOLDS[row.formula_ranks](n)]
    assert tried
    for n in tried:
        for k in KS[row.algorithm] if row.algorithm in PIPED else (1,):
            steps, busiest, alphas, seconds = counted(row, n, k)
            assert steps == value(row.steps, n=n, k=k), (n, k)
            assert busiest == pytest.approx(value(row.busiest, n=n, k=k)), (n, k)
            assert alphas == value(row.alphas, n=n, k=k), (n, k)
            assert seconds == pytest.approx(value(row.betas, n=n, k=k)), (n, k)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.collective}-{row.algorithm}")
def test_the_sheet_says_for_which_n_an_algorithm_exists(row: Row) -> None:
    known = ALGORITHMS[row.collective, row.algorithm]
    if row.algorithm == "unchunked_ring":
        return
    assert [n for n in RANKS if not known.refuse(n)] == [n for n in RANKS if HOLDS[row.ranks](n)]


@pytest.mark.parametrize("row", [row for row in ROWS if row.note in {FOLD, FOLD_TWICE}])
def test_a_fold_takes_two_steps_more(row: Row) -> None:
    for n in (3, 5, 6, 7, 9, 12, 31):
        steps = len(build(row.collective, row.algorithm, world_size=n).steps)
        below = 1 << (n.bit_length() - 1)
        assert steps == value(row.steps, n=below) + 2, n


def test_pat_takes_one_more_where_the_sheet_says() -> None:
    rows = [row for row in ROWS if row.algorithm == "pat"]
    assert {row.note for row in rows} == {r"$L+1$ for $n = 2^m+1$, $m \ge 2$"}
    for row in rows:
        for n in range(4, 40):
            extra = n - 1 >= 4 and (n - 1) & (n - 2) == 0
            steps = len(build(row.collective, row.algorithm, world_size=n).steps)
            assert steps == value("L", n=n) + extra, n


def test_the_factors_are_those_of_the_contracts() -> None:
    assert BUSBW.keys() == CONTRACTS.keys()
    for collective, factor in BUSBW.items():
        for n in RANKS:
            assert value(factor, n=n) == pytest.approx(CONTRACTS[collective].busbw_factor(n))


def test_the_fastest_of_the_chart_is_no_slower_than_any_other_on_bench() -> None:
    for n, nbytes in ((8, 1e3), (8, 1e9), (64, 1e7)):
        chosen = fastest("all_reduce", n, nbytes)
        times = {
            algorithm: price(
                "all_reduce",
                algorithm,
                world_size=n,
                nbytes=nbytes,
                topology=Topology.preset("bench", n),
            ).seconds
            for (collective, algorithm), known in ALGORITHMS.items()
            if collective == "all_reduce" and algorithm not in SPECIAL and not known.refuse(n)
        }
        assert times[chosen] == min(times.values())


def test_formulas_read_as_they_are_printed_elsewhere() -> None:
    assert latex("2*(n-1)", r"\alpha") == r"2(n-1)\alpha"
    assert latex("2*(n-1)/n", r"S\beta") == r"2\frac{n-1}{n}S\beta"
    assert latex("1+1/n", "S") == r"(1+\frac{1}{n})S"
    assert latex("L", "S") == "LS"
    with pytest.raises(ValueError, match="only"):
        value("n ** 2", n=3)


def test_an_unknown_table_is_named() -> None:
    with pytest.raises(ValueError, match="known: algorithms, busbw, fastest"):
        table("fast")
