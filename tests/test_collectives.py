"""Contracts: who starts with what, who must end with what, and the bandwidth factors."""

from __future__ import annotations

import pytest

from allranks.collectives import CONTRACTS, Size, busbw_factor, contract

WORLDS = [1, 2, 3, 4, 5, 7, 8, 16]


def table(name, n, num_chunks, root=None):
    """Return who starts with and who ends with which parts, as {(rank, chunk): parts}."""
    promise = contract(name)
    size = promise.size(n, num_chunks, root)
    cells = [(rank, chunk) for rank in range(n) for chunk in range(num_chunks)]
    starts = {cell: set(promise.starts(*cell, size)) for cell in cells}
    ends = {cell: promise.ends(*cell, size) for cell in cells}
    return (
        {cell: parts for cell, parts in starts.items() if parts},
        {cell: set(parts) for cell, parts in ends.items() if parts is not None},
    )


def test_there_are_eight_collectives():
    assert sorted(CONTRACTS) == [
        "all_gather",
        "all_reduce",
        "all_to_all",
        "broadcast",
        "gather",
        "reduce",
        "reduce_scatter",
        "scatter",
    ]
    assert all(name == promise.name for name, promise in CONTRACTS.items())


def test_broadcast_gives_everybody_the_roots_chunks():
    starts, ends = table("broadcast", 3, 2, root=1)
    assert starts == {(1, 0): {1}, (1, 1): {1}}
    assert ends == {(rank, chunk): {1} for rank in range(3) for chunk in range(2)}


def test_reduce_gives_the_root_everybodys_part():
    starts, ends = table("reduce", 3, 1, root=2)
    assert starts == {(0, 0): {0}, (1, 0): {1}, (2, 0): {2}}
    assert ends == {(2, 0): {0, 1, 2}}


def test_scatter_gives_rank_r_block_r_of_the_root():
    starts, ends = table("scatter", 2, 4, root=1)
    assert starts == {(1, chunk): {1} for chunk in range(4)}
    assert ends == {(0, 0): {1}, (0, 1): {1}, (1, 2): {1}, (1, 3): {1}}


def test_gather_is_scatter_backwards():
    starts, ends = table("gather", 2, 4, root=1)
    assert starts == {(0, 0): {0}, (0, 1): {0}, (1, 2): {1}, (1, 3): {1}}
    assert ends == {(1, 0): {0}, (1, 1): {0}, (1, 2): {1}, (1, 3): {1}}


def test_all_gather_gives_everybody_block_r_from_rank_r():
    starts, ends = table("all_gather", 3, 3)
    assert starts == {(0, 0): {0}, (1, 1): {1}, (2, 2): {2}}
    assert ends == {(rank, chunk): {chunk} for rank in range(3) for chunk in range(3)}


def test_reduce_scatter_gives_rank_r_the_sum_of_block_r():
    starts, ends = table("reduce_scatter", 2, 4)
    assert starts == {(rank, chunk): {rank} for rank in range(2) for chunk in range(4)}
    assert ends == {cell: {0, 1} for cell in [(0, 0), (0, 1), (1, 2), (1, 3)]}


def test_all_reduce_gives_everybody_the_sum():
    starts, ends = table("all_reduce", 3, 2)
    assert starts == {(rank, chunk): {rank} for rank in range(3) for chunk in range(2)}
    assert ends == {(rank, chunk): {0, 1, 2} for rank in range(3) for chunk in range(2)}


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_all_to_all_numbers_its_chunks_by_source_then_destination(n, m):
    starts, ends = table("all_to_all", n, m * n * n)
    routes = [(src, dst, j) for src in range(n) for dst in range(n) for j in range(m)]
    assert starts == {(src, (src * n + dst) * m + j): {src} for src, dst, j in routes}
    assert ends == {(dst, (src * n + dst) * m + j): {src} for src, dst, j in routes}


@pytest.mark.parametrize("n", WORLDS)
def test_whatever_is_promised_starts_somewhere(n):
    for name, promise in CONTRACTS.items():
        root = n - 1 if promise.rooted else None
        starts, ends = table(name, n, 2 * promise.pieces(n), root)
        there = {(chunk, part) for (_, chunk), parts in starts.items() for part in parts}
        assert {(chunk, part) for (_, chunk), parts in ends.items() for part in parts} <= there


def test_block_r_is_m_chunks_in_a_row():
    assert [Size(3, 6).block(chunk) for chunk in range(6)] == [0, 0, 1, 1, 2, 2]
    big = Size(100_000, 10**10)
    assert big.block(10**10 - 1) == 99_999  # whole numbers, not floats


@pytest.mark.parametrize(
    ("name", "n", "num_chunks", "root", "words"),
    [
        ("all_reduce", 0, 1, None, "world_size is 0; a collective needs at least 1 rank"),
        ("all_reduce", -2, 1, None, "world_size is -2"),
        ("all_reduce", 2, 0, None, "num_chunks is 0; all_reduce on 2 ranks needs a positive"),
        ("all_gather", 4, 6, None, "needs a positive multiple of 4"),
        ("all_to_all", 2, 2, None, "needs a positive multiple of 4"),
        ("broadcast", 2, 1, None, "root is None; broadcast needs a rank from 0 to 1"),
        ("broadcast", 2, 1, 2, "root is 2; broadcast needs a rank from 0 to 1"),
        ("broadcast", 2, 1, -1, "root is -1"),
        ("all_reduce", 2, 1, 0, "root is 0; all_reduce has no root, leave it out"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(name, n, num_chunks, root, words):
    with pytest.raises(ValueError, match=words):
        contract(name).size(n, num_chunks, root)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("allreduce", "all_reduce"), ("All-Gather", "all_gather"), ("brodcast", "broadcast")],
)
def test_an_unknown_name_gets_the_nearest(name, nearest):
    with pytest.raises(ValueError, match=f"did you mean '{nearest}'"):
        contract(name)
    with pytest.raises(ValueError, match=f"did you mean '{nearest}'"):
        busbw_factor(name, 4)


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("broadcast", 1),
        ("reduce", 1),
        ("scatter", 7 / 8),
        ("gather", 7 / 8),
        ("all_gather", 7 / 8),
        ("reduce_scatter", 7 / 8),
        ("all_to_all", 7 / 8),
        ("all_reduce", 7 / 4),
    ],
)
def test_busbw_factors_are_those_of_nccl_tests(name, factor):
    assert busbw_factor(name, 8) == factor


def test_busbw_of_273_gb_per_s_on_8_ranks_is_477_75():
    assert 273 * busbw_factor("all_reduce", 8) == 477.75
    assert busbw_factor("all_reduce", 1) == 0
    with pytest.raises(ValueError, match="at least 1 rank"):
        busbw_factor("all_reduce", 0)
