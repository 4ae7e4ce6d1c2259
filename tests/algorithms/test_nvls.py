"""NVLS: S(1 + 1/n) each way for an all-reduce, so what it gains on a ring depends on n."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from algorithm_facts import MB, received, sent
from form_facts import assert_form_is_schedule

from allranks.algorithms import ALGORITHMS, build
from allranks.cost import bytes_per_rank, price
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule
from allranks.topology import Topology
from allranks.verify import states, verify

COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter"]
STAGES = {"all_reduce": 4, "all_gather": 2, "reduce_scatter": 2}


def shares(collective, n):
    """Return the bytes out of and into every rank, in S."""
    one = Fraction(1, n)
    return {
        "all_reduce": (1 + one, 1 + one),
        "all_gather": (one, 1),
        "reduce_scatter": (1, one),
    }[collective]


def busiest(collective, algorithm, n):
    """Return the most bytes that a rank's port passes one way, in S."""
    schedule = build(collective, algorithm, world_size=n)
    most = max(sent(schedule)[:n] + received(schedule)[:n])
    return Fraction(most, schedule.num_chunks)


def gain(collective, n):
    return busiest(collective, "ring", n) / busiest(collective, "nvls", n)


# The contract, the steps, and what every rank moves


@pytest.mark.slow
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_it_keeps_its_promise_for_any_number_of_ranks_and_slices(collective):
    for n in range(1, 65):
        for slices in (1, 2, 3) if n < 17 else (1,):
            schedule = build(collective, "nvls", world_size=n, num_chunks=n * slices)
            verify(schedule)
            assert len(schedule.steps) == (slices + STAGES[collective] - 1 if n > 1 else 0)
            assert all(len(step) for step in schedule.steps)
            assert schedule.num_switches == (1 if n > 1 else 0)


@pytest.mark.slow
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_rank_moves_what_the_hardware_moves(collective):
    for n in range(2, 65):
        out, into = shares(collective, n)
        for slices in (1, 3) if n < 17 else (1,):
            k = n * slices
            schedule = build(collective, "nvls", world_size=n, num_chunks=k)
            assert [Fraction(count, k) for count in sent(schedule)] == [out] * n + [into * n]
            assert [Fraction(count, k) for count in received(schedule)] == [into] * n + [out * n]


def test_the_bytes_on_six_ranks_are_those_of_the_chapter():
    for collective, out, into, ring in (
        ("all_reduce", 56, 56, 80),
        ("all_gather", 8, 48, 40),
        ("reduce_scatter", 48, 8, 40),
    ):
        traffic = bytes_per_rank(build(collective, "nvls", world_size=6), 48 * MB)
        assert set(traffic[:6]) == {(out * MB, into * MB)}
        rings = bytes_per_rank(build(collective, "ring", world_size=6), 48 * MB)
        assert set(rings) == {(ring * MB, ring * MB)}


# What it gains on a ring


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (2, Fraction(2, 3)),
        (3, Fraction(1)),
        (4, Fraction(6, 5)),
        (6, Fraction(10, 7)),
        (8, Fraction(14, 9)),
        (12, Fraction(22, 13)),
    ],
)
def test_an_all_reduce_gains_from_four_ranks_on(n, expected):
    assert gain("all_reduce", n) == expected


@pytest.mark.slow
def test_the_gain_is_2_n_minus_1_over_n_plus_1_and_stays_below_2():
    for n in range(2, 65):
        assert gain("all_reduce", n) == Fraction(2 * (n - 1), n + 1) < 2
    assert float(Fraction(2 * 71, 73)) == pytest.approx(1.945, abs=5e-4)


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter"])
def test_the_other_two_lose_a_little(collective):
    for n in range(2, 65):
        assert gain(collective, n) == Fraction(n - 1, n) < 1


def test_the_wire_is_faster_than_algbw_by_n_plus_1_over_n():
    n, nbytes = 8, 8 * 10**9
    machine = Topology.uniform(n, alpha=0, bandwidth=450e9)
    found = price(
        "all_reduce", "nvls", world_size=n, nbytes=nbytes, topology=machine, num_chunks=8000
    )
    wire = found.bytes_sent_max / found.seconds
    assert wire == pytest.approx(450e9, rel=5e-3)
    assert wire / found.algbw == pytest.approx(9 / 8)
    assert found.busbw > 1.5 * 450e9  # busbw is no wire speed here


# Figures


def test_two_ranks_and_two_slices_are_the_ones_worked_by_hand():
    # head 0 has chunks 0 and 1, head 1 chunks 2 and 3; the switch is endpoint 2
    schedule = build("all_reduce", "nvls", world_size=2, num_chunks=4)
    up = {0: [(0, 0), (0, 2), (1, 0), (1, 2)], 1: [(0, 1), (0, 3), (1, 1), (1, 3)]}
    seen = [
        {
            "add": [(t.src, t.chunk) for t in step if t.op is Op.REDUCE],
            "give": [(t.dst, t.chunk) for t in step if t.src == 2],
            "store": [(t.src, t.chunk) for t in step if t.dst == 2 and t.op is Op.COPY],
        }
        for step in schedule.steps
    ]
    assert seen == [
        {"add": up[0], "give": [], "store": []},
        {"add": up[1], "give": [(0, 0), (1, 2)], "store": []},
        {"add": [], "give": [(0, 1), (1, 3)], "store": [(0, 0), (1, 2)]},
        {"add": [], "give": up[0], "store": [(0, 1), (1, 3)]},
        {"add": [], "give": up[1], "store": []},
    ]


def test_the_switch_holds_all_sums_after_the_first_step():
    held = list(states(build("all_reduce", "nvls", world_size=5)))
    assert held[1][5] == [Counter(range(5))] * 5
    assert [held[2][head][head] for head in range(5)] == [Counter(range(5))] * 5
    assert held[2][0][1] == Counter([0])  # a rank that is not the head has no sum yet


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_ranks_talk_to_the_switch_only(collective):
    schedule = build(collective, "nvls", world_size=5, num_chunks=10)
    assert all((t.src == 5) != (t.dst == 5) for _, t in schedule.transfers())


# The price


@pytest.mark.slow
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_the_form_says_the_messages_of_the_schedule(collective):
    for n in range(1, 65):
        for slices in (1, 2, 3, 7) if n < 17 else (1,):
            assert_form_is_schedule(collective, "nvls", n, num_chunks=n * slices)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_it_is_priced_for_a_hundred_thousand_ranks(collective):
    n, slices, nbytes = 131_072, 4, 10**9
    machine = Topology.uniform(n, alpha=2e-6, bandwidth=50e9)
    found = price(
        collective, "nvls", world_size=n, nbytes=nbytes, topology=machine, num_chunks=n * slices
    )
    out, into = shares(collective, n)
    assert found.steps == slices + STAGES[collective] - 1
    assert found.bytes_sent_max == pytest.approx(float(out * nbytes))
    assert found.bytes_received_max == pytest.approx(float(into * nbytes))


# What does not fit, and planted faults


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_chunks_that_the_heads_cannot_share_are_refused(collective):
    with pytest.raises(ValueError, match=r"num_chunks is 8; .*a multiple of 6"):
        build(collective, "nvls", world_size=6, num_chunks=8)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_the_table_says_what_hardware_it_needs_and_who_plays_it(collective):
    restriction = ALGORITHMS[collective, "nvls"].restriction
    assert "NVSwitch" in restriction
    assert "ordinary process" in restriction


def test_a_head_that_leaves_out_its_own_operand_is_found():
    right = [tuple(step) for step in build("all_reduce", "nvls", world_size=3).steps]
    right[0] = tuple(t for t in right[0] if t.chunk != t.src)  # (n - 1)/n S up, as on the slide
    with pytest.raises(ScheduleError) as caught:
        verify(Schedule("all_reduce", "nvls", 3, 3, tuple(right), num_switches=1))
    assert caught.value.kind == "missing"


def test_a_sum_added_at_the_head_is_found():
    right = [tuple(step) for step in build("reduce_scatter", "nvls", world_size=3).steps]
    right[1] = tuple(t._replace(op=Op.REDUCE) for t in right[1])
    with pytest.raises(ScheduleError) as caught:
        verify(Schedule("reduce_scatter", "nvls", 3, 3, tuple(right), num_switches=1))
    assert caught.value.kind == "double_count"
