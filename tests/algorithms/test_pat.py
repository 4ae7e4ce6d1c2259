"""PAT: NCCL's own order of sends, the bytes of a ring, and a step more for n = 2^k + 1."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from algorithm_facts import MB, US, lg, messages, received, sent
from form_facts import assert_form_is_schedule

from allranks.algorithms import build
from allranks.algorithms import pat as module
from allranks.algorithms.pat import all_gather_hops, reduce_scatter_hops
from allranks.cost import price
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule
from allranks.topology import Topology
from allranks.verify import verify

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "nccl_pat.json").read_text("utf-8"))
VECTORS = {vector["world_size"]: vector for vector in GOLDEN["vectors"]}
HOPS = {"all_gather": all_gather_hops, "reduce_scatter": reduce_scatter_hops}


def least_steps(n):
    """ceil(log2 n), and one more for n = 2^k + 1, k >= 2."""
    k = (n - 1).bit_length() - 1
    return lg(n) + (n == 2**k + 1 and k >= 2)


# NCCL's own construction


def test_the_golden_vectors_name_their_source_and_sizes():
    assert sorted(VECTORS) == [2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 33]
    assert "v2.30.7" in GOLDEN["source"]
    assert "Apache-2.0" in GOLDEN["license"]


@pytest.mark.parametrize("n", sorted(VECTORS))
@pytest.mark.parametrize("collective", sorted(HOPS))
def test_sends_and_their_blocks_are_nccl_s_in_nccl_s_order(collective, n):
    golden, hops = VECTORS[n][collective], HOPS[collective](n)
    assert [hop.dim for hop in hops] == golden["dims"]
    assert [list(hop.places) for hop in hops] == golden["distances"]
    one_by_one = golden.get("dims_block_by_block")
    assert one_by_one in (None, [hop.dim for hop in hops for _ in hop.places])
    assert (one_by_one is None) == (n in {9, 12, 17, 33})


@pytest.mark.parametrize("n", sorted(VECTORS))
@pytest.mark.parametrize("collective", sorted(HOPS))
def test_a_step_of_the_schedule_is_one_aggregated_send_of_every_rank(collective, n):
    schedule = build(collective, "pat", world_size=n)
    golden = VECTORS[n][collective]["dims"]
    blocks = [len(hop.places) for hop in HOPS[collective](n)]
    sign = -1 if collective == "all_gather" else 1
    assert messages(schedule) == [
        {(rank, (rank + sign * 2**dim) % n): count for rank in range(n)}
        for dim, count in zip(golden, blocks, strict=True)
    ]


def test_a_planted_change_of_nccl_s_order_is_noticed(monkeypatch):
    monkeypatch.setitem(module.GATHERED, 4, (2, 1, 3))  # both orders keep the promise
    verify(build("all_gather", "pat", world_size=5))
    found = [list(hop.places) for hop in all_gather_hops(5)]
    assert found == [[4], [2], [1], [3]] != VECTORS[5]["all_gather"]["distances"]


# The contract and the figures


@pytest.mark.parametrize("collective", sorted(HOPS))
def test_pat_keeps_its_promise_for_any_number_of_ranks(collective):
    for n in range(1, 65):
        schedule = build(collective, "pat", world_size=n)
        verify(schedule)
        assert len(schedule.steps) == (least_steps(n) if n > 1 else 0)
        assert sent(schedule) == received(schedule) == [n - 1] * n
        assert all(len(routes) == n for routes in messages(schedule))


@pytest.mark.parametrize(
    ("n", "steps"), [(2, 1), (3, 2), (4, 2), (5, 4), (6, 3), (8, 3), (9, 5), (16, 4), (17, 6)]
)
def test_pat_takes_a_step_more_than_the_logarithm_just_above_a_power_of_two(n, steps):
    for collective in HOPS:
        assert len(build(collective, "pat", world_size=n).steps) == steps


def test_all_gather_on_six_ranks_is_the_one_worked_by_hand():
    # rank 0 sends to 2 (= 0 - 4), then to 4 (= 0 - 2), then to 5; far and small first
    schedule = build("all_gather", "pat", world_size=6)
    from_rank_0 = [[(t.dst, t.chunk) for t in step if t.src == 0] for step in schedule.steps]
    assert from_rank_0 == [[(2, 0)], [(4, 0)], [(5, 0), (5, 2), (5, 4)]]


def test_reduce_scatter_on_six_ranks_is_the_one_worked_by_hand():
    # rank 0 sends to 1, then to 2, then to 4; near and large first
    schedule = build("reduce_scatter", "pat", world_size=6)
    from_rank_0 = [[(t.dst, t.chunk) for t in step if t.src == 0] for step in schedule.steps]
    assert from_rank_0 == [[(1, 3), (1, 5), (1, 1)], [(2, 2)], [(4, 4)]]
    assert {t.op for _, t in schedule.transfers()} == {Op.REDUCE}


def test_a_block_takes_one_hop_for_every_bit_of_its_distance():
    n = 13
    schedule = build("all_gather", "pat", world_size=n)
    hops = {(rank, rank): 0 for rank in range(n)}  # (owner, rank): hops so far
    for _, t in schedule.transfers():
        hops[t.chunk, t.dst] = hops[t.chunk, t.src] + 1
    assert all(count == ((owner - rank) % n).bit_count() for (owner, rank), count in hops.items())


# The price


def test_pat_on_the_standard_case_costs_what_its_formula_says():
    n, nbytes = 6, 48 * MB
    machine = Topology.preset("bench", n)
    for collective in HOPS:
        found = price(collective, "pat", world_size=n, nbytes=nbytes, topology=machine)
        assert (found.steps, found.latency_terms, found.messages) == (3, 3, 18)
        assert found.bytes_sent_max == found.bytes_received_max == 40 * MB
        assert found.seconds == pytest.approx((3 * 4 + 1600) * US)  # 3 alpha + 5/6 S beta


@pytest.mark.parametrize("collective", sorted(HOPS))
def test_the_form_of_pat_says_the_messages_of_the_schedule(collective):
    for n in range(1, 65):
        assert_form_is_schedule(collective, "pat", n)


@pytest.mark.parametrize("n", [131_072, 131_073])
@pytest.mark.parametrize("collective", sorted(HOPS))
def test_pat_is_priced_for_a_hundred_thousand_ranks(collective, n):
    machine = Topology.uniform(n, alpha=2e-6, bandwidth=50e9)
    found = price(collective, "pat", world_size=n, nbytes=10**9, topology=machine)
    steps = 17 if n == 131_072 else 19
    assert (found.steps, found.messages) == (steps, steps * n)
    share = Fraction(n - 1, n) * 10**9
    assert found.seconds == pytest.approx(float(steps * 2e-6 + share / (50 * 10**9)))


# Planted faults


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("collective", sorted(HOPS))
def test_a_wrong_block_is_found(collective, number):
    right = build(collective, "pat", world_size=6)
    steps = [tuple(step) for step in right.steps]
    first = steps[number][0]
    wrong = first._replace(chunk=(first.chunk + 1) % 6)
    steps[number] = (wrong, *steps[number][1:])
    with pytest.raises(ScheduleError):
        verify(Schedule(collective, "pat", 6, 6, tuple(steps)))


def test_the_bytes_of_a_ring_are_the_bytes_of_pat():
    for n in range(2, 65):
        ring = build("all_gather", "ring", world_size=n)
        assert sent(build("all_gather", "pat", world_size=n)) == sent(ring)
