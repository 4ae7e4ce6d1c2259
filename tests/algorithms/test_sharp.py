"""SHARP: S up and S down, whatever the number of ranks; one switch, and trees of them."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from algorithm_facts import MB, US, messages, received, sent
from form_facts import assert_form_is_schedule

from allranks.algorithms import ALGORITHMS, build
from allranks.algorithms.sharp import switch_levels
from allranks.cost import bytes_per_rank, cost, price
from allranks.cost.forms import FORMS, Form
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule
from allranks.topology import Topology
from allranks.verify import states, verify

NAME = ("all_reduce", "sharp")
RADICES = [None, 2, 3, 4, 8]


def height(n, radix):
    """Return ceil(log_radix n), by counting: how many levels of switches stand above n ranks."""
    levels, reach = 0, 1
    while reach < n:
        levels, reach = levels + 1, n if radix is None else reach * radix
    return levels


# The contract, the steps, and what every endpoint moves


@pytest.mark.slow
@pytest.mark.parametrize("radix", RADICES)
def test_it_keeps_its_promise_for_any_number_of_ranks_chunks_and_ports(radix):
    for n in range(1, 65):
        for k in (1, 2, 5):
            schedule = build(*NAME, world_size=n, num_chunks=k, radix=radix)
            verify(schedule)
            h = height(n, radix)
            assert len(schedule.steps) == (k + 2 * h - 1 if n > 1 else 0)
            assert all(len(step) for step in schedule.steps)
            assert sent(schedule)[:n] == received(schedule)[:n] == [k if n > 1 else 0] * n


@pytest.mark.parametrize("radix", RADICES)
def test_a_switch_takes_in_and_sends_the_vector_once_per_port(radix):
    for n in range(2, 40):
        schedule = build(*NAME, world_size=n, num_chunks=3, radix=radix)
        levels = switch_levels(n, radix)
        assert schedule.num_switches == sum(len(level) for level in levels[1:])
        expected = [3] * n
        for below, above in itertools.pairwise(levels):
            for switch in range(len(above)):
                down = len(below) if radix is None else min(radix, len(below) - switch * radix)
                expected.append(3 * (down + (above is not levels[-1])))
        assert sent(schedule) == received(schedule) == expected


def test_one_switch_moves_what_it_did_before_there_were_trees_of_them():
    for n in (2, 5, 8):
        for k in (1, 2, 3, 5, 8):
            schedule = build(*NAME, world_size=n, num_chunks=k)
            assert len(schedule.steps) == k + 1
            assert schedule.num_switches == 1
            assert sent(schedule) == received(schedule) == [k] * n + [n * k]
            for _, t in schedule.transfers():
                up = t.dst == n
                assert (t.op, n in (t.src, t.dst)) == (Op.REDUCE if up else Op.COPY, True)


def test_two_levels_of_switches_are_the_ones_worked_by_hand():
    # ranks 0 1 2 below switch 5, ranks 3 4 below switch 6, both below switch 7
    schedule = build(*NAME, world_size=5, radix=3)
    assert [sorted((t.src, t.dst, t.op.value) for t in step) for step in schedule.steps] == [
        [*((r, 5, "reduce") for r in (0, 1, 2)), *((r, 6, "reduce") for r in (3, 4))],
        [(5, 7, "reduce"), (6, 7, "reduce")],
        [(7, 5, "copy"), (7, 6, "copy")],
        [*((5, r, "copy") for r in (0, 1, 2)), *((6, r, "copy") for r in (3, 4))],
    ]


def test_a_chunk_comes_down_while_later_ones_go_up():
    schedule = build(*NAME, world_size=4, num_chunks=4, radix=2)
    moved = [{(t.op, t.chunk) for t in step} for step in schedule.steps]
    assert moved[3] == {(Op.REDUCE, 3), (Op.REDUCE, 2), (Op.COPY, 1), (Op.COPY, 0)}
    held = list(states(schedule))
    assert held[2][6][0] == Counter(range(4))  # the root switch has all of chunk 0 after 2 steps
    assert held[4][3][0] == Counter(range(4))  # and the ranks have it after 4


def test_every_port_of_a_switch_passes_one_message_a_step():
    for step in messages(build(*NAME, world_size=9, num_chunks=4, radix=3)):
        assert set(step.values()) == {1}


# The price


@pytest.mark.parametrize(("k", "steps", "microseconds"), [(1, 2, 3848), (22, 23, 2099.3)])
def test_the_standard_case_costs_what_the_chapter_says(k, steps, microseconds):
    n, nbytes, machine = 6, 48 * MB, Topology.preset("bench", 6)
    schedule = build(*NAME, world_size=n, num_chunks=k)
    walked = cost(schedule, nbytes=nbytes, topology=machine)
    priced = price(*NAME, world_size=n, nbytes=nbytes, topology=machine, num_chunks=k)
    for found in (walked, priced):
        assert (found.steps, found.latency_terms) == (steps, steps)
        assert found.bytes_sent_max == found.bytes_received_max == 48 * MB
        assert found.switch_bytes_in == found.switch_bytes_out == 288 * MB
        assert found.seconds == pytest.approx(microseconds * US, abs=0.05 * US)


def test_the_best_number_of_chunks_gains_1_543_on_a_ring_of_six():
    n, nbytes, machine = 6, 48 * MB, Topology.preset("bench", 6)

    def seconds(algorithm, k=None):
        found = price(
            "all_reduce", algorithm, world_size=n, nbytes=nbytes, topology=machine, num_chunks=k
        )
        return found.seconds

    by_chunks = {k: seconds("sharp", k) for k in range(1, 60)}
    assert min(by_chunks, key=by_chunks.__getitem__) == 22
    ideal = (math.sqrt(machine.alpha) + math.sqrt(nbytes / machine.bandwidth)) ** 2
    assert by_chunks[22] == pytest.approx(ideal, rel=1e-4)
    assert seconds("ring") / by_chunks[22] == pytest.approx(1.543, abs=5e-4)
    assert by_chunks[1] > seconds("ring") > by_chunks[22]


def test_the_bytes_of_a_ring_are_2_n_minus_1_over_n_times_as_many():
    for n in range(2, 65):
        ring = bytes_per_rank(build("all_reduce", "ring", world_size=n), n)[0]
        tree = bytes_per_rank(build(*NAME, world_size=n, radix=4), n)[0]
        assert ring.sent * n == 2 * (n - 1) * tree.sent


@pytest.mark.slow
@pytest.mark.parametrize("radix", RADICES)
def test_the_form_says_the_messages_of_the_schedule(radix):
    for n in range(1, 65):
        for k in (1, 3):
            assert_form_is_schedule(*NAME, n, num_chunks=k, radix=radix)


def test_a_form_that_adds_on_the_way_down_is_noticed(monkeypatch):
    def wrong(n, num_chunks, *, radix=None):
        for run in right(n, num_chunks, radix=radix):
            yield run._replace(reduced=run.chunks)

    right = FORMS[NAME].phases
    monkeypatch.setitem(FORMS, NAME, Form(wrong))
    with pytest.raises(AssertionError):
        assert_form_is_schedule(*NAME, 5, num_chunks=2)


def test_it_is_priced_for_a_hundred_thousand_ranks():
    n, k, nbytes = 131_072, 64, 10**9
    machine = Topology.uniform(n, alpha=2e-6, bandwidth=50e9)
    found = price(*NAME, world_size=n, nbytes=nbytes, topology=machine, num_chunks=k, radix=32)
    assert height(n, 32) == 4
    assert found.steps == k + 7
    assert found.seconds == pytest.approx((k + 7) * (2e-6 + nbytes / k / 50e9))
    assert found.switch_bytes_in == (n + 2 * (4096 + 128 + 4)) * nbytes


# What does not fit, and planted faults


@pytest.mark.parametrize("radix", [0, 1, -2, 2.0, True, "4"])
def test_a_radix_that_is_none_is_refused(radix):
    with pytest.raises(ValueError, match=r"radix is .*at least 2 ports.*; leave it out"):
        build(*NAME, world_size=6, radix=radix)


def test_the_table_says_that_a_process_plays_the_switch():
    restriction = ALGORITHMS[NAME].restriction
    assert "SHARP" in restriction
    assert "ordinary process" in restriction


def test_a_sum_sent_down_too_early_is_found():
    right = [tuple(step) for step in build(*NAME, world_size=5, radix=3).steps]
    early = (right[0], (*right[1], *right[3]), right[2])
    with pytest.raises(ScheduleError) as caught:
        verify(Schedule(*NAME, 5, 1, early, num_switches=3))
    assert caught.value.kind == "missing"


def test_a_sum_added_to_the_rank_s_own_part_is_found():
    right = [tuple(step) for step in build(*NAME, world_size=5, radix=3).steps]
    right[3] = tuple(t._replace(op=Op.REDUCE) for t in right[3])
    with pytest.raises(ScheduleError) as caught:
        verify(Schedule(*NAME, 5, 1, tuple(right), num_switches=3))
    assert caught.value.kind == "double_count"
