"""The data-driven clock, worked by hand: chunks of 10 bytes, a message of one takes 11 seconds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from price_facts import EXACT, S, bench, calls, custom, easy

from allranks.algorithms import build
from allranks.cost import cost, timeline
from allranks.schedule import Op
from allranks.topology import Topology


def spans(schedule, topology, clock="data_driven"):
    nbytes = 10 * schedule.num_chunks
    events = timeline(schedule, nbytes=nbytes, topology=topology, clock=clock)
    return {(e.step, e.src, e.dst): (e.start_s, e.end_s) for e in events}


def test_a_message_starts_when_its_data_and_ports_are_there():
    schedule = custom(
        [(0, 1, 0, Op.COPY), (0, 1, 1, Op.COPY), (2, 3, 2, Op.COPY)],
        [(3, 4, 2, Op.COPY), (1, 2, 0, Op.COPY)],
        world_size=5,
        num_chunks=3,
    )
    assert spans(schedule, easy(5)) == {
        (0, 0, 1): (0, 21),
        (0, 2, 3): (0, 11),
        (1, 3, 4): (11, 22),
        (1, 1, 2): (21, 32),
    }
    assert spans(schedule, easy(5), "lockstep") == {
        (0, 0, 1): (0, 21),
        (0, 2, 3): (0, 11),
        (1, 3, 4): (21, 32),
        (1, 1, 2): (21, 32),
    }


def test_a_chunk_is_not_overwritten_while_its_old_value_is_sent():
    long = [(1, 2, 0, Op.COPY), (1, 2, 1, Op.COPY)]
    waits = custom(long, [(0, 1, 0, Op.COPY)], world_size=3, num_chunks=3)
    assert spans(waits, easy(3))[1, 0, 1] == (21, 32)
    free = custom(long, [(0, 1, 2, Op.COPY)], world_size=3, num_chunks=3)
    assert spans(free, easy(3))[1, 0, 1] == (0, 11)


def test_two_ranks_exchange_a_chunk_at_the_same_time():
    swap = custom([(0, 1, 0, Op.REDUCE), (1, 0, 0, Op.REDUCE)], world_size=2)
    assert spans(swap, easy(2)) == {(0, 0, 1): (0, 11), (0, 1, 0): (0, 11)}


def test_what_arrives_early_waits_beside_the_value_that_is_still_leaving():
    # switch 3 sends chunks 0 and 1 to rank 0 while rank 1 sends it a new chunk 0
    schedule = custom(
        [(3, 0, 0, Op.COPY), (3, 0, 1, Op.COPY), (1, 3, 0, Op.COPY)],
        [(3, 2, 0, Op.COPY)],
        world_size=3,
        num_chunks=2,
        num_switches=1,
    )
    assert spans(schedule, easy(3)) == {
        (0, 3, 0): (0, 21),
        (0, 1, 3): (0, 11),
        (1, 3, 2): (21, 32),
    }


def test_a_port_keeps_the_order_of_the_steps():
    # rank 0's second message could go at once, but its port passes the first one before
    schedule = custom(
        [(1, 0, 0, Op.COPY), (2, 1, 1, Op.COPY)],
        [(0, 2, 0, Op.COPY)],
        [(0, 1, 1, Op.COPY)],
        world_size=3,
        num_chunks=2,
    )
    found = spans(schedule, easy(3))
    assert found[1, 0, 2] == (11, 22)
    assert found[2, 0, 1] == (22, 33)


def test_alphas_in_flight_overlap_on_the_data_driven_clock():
    flat = custom([(0, peer, 0, Op.COPY) for peer in range(1, 4)], world_size=4)
    found = spans(flat, easy(4, in_flight=2))
    assert found == {(0, 0, 1): (0, 11), (0, 0, 2): (0, 21), (0, 0, 3): (11, 31)}


def test_messages_in_flight_share_the_wire_at_the_receiver():
    gather = custom([(peer, 0, 0, Op.COPY) for peer in (1, 2)], world_size=3)
    assert sorted(spans(gather, easy(3, in_flight=2)).values()) == [(0, 11), (0, 21)]


def test_a_free_message_of_a_step_does_not_wait_for_a_blocked_one():
    schedule = custom([(0, 1, 0, Op.COPY), (0, 2, 0, Op.COPY), (3, 2, 0, Op.COPY)], world_size=5)
    assert spans(schedule, easy(5)) == {(0, 0, 1): (0, 11), (0, 3, 2): (0, 11), (0, 0, 2): (11, 22)}


def test_in_lock_step_a_message_ends_with_the_busier_of_its_ports():
    gather = custom([(1, 0, 0, Op.COPY), (2, 0, 0, Op.COPY), (3, 4, 0, Op.COPY)], world_size=5)
    assert spans(gather, easy(5), "lockstep") == {
        (0, 1, 0): (0, 22),
        (0, 2, 0): (0, 22),
        (0, 3, 4): (0, 11),
    }


def test_all_pairs_in_one_step_make_no_queue():
    n = 5
    pairs = custom(
        [(a, b, a, Op.COPY) for a in range(n) for b in range(n) if a != b],
        world_size=n,
        num_chunks=n,
    )
    found = [
        cost(pairs, nbytes=50, topology=easy(n), clock=clock).seconds
        for clock in ("lockstep", "data_driven")
    ]
    assert found == [4 * 11, 4 * 11]


def test_addition_holds_the_receiving_port_only():
    schedule = custom(
        [(0, 1, 0, Op.REDUCE)], [(0, 2, 0, Op.COPY), (2, 1, 1, Op.COPY)], world_size=3, num_chunks=2
    )
    found = spans(schedule, easy(3, gamma=1.0))
    assert found == {(0, 0, 1): (0, 21), (1, 0, 2): (11, 22), (1, 2, 1): (21, 32)}


@given(calls(), st.floats(0, 1e-9))
@settings(max_examples=60, deadline=None)
def test_the_data_driven_clock_is_never_later_than_lock_step(call, gamma):
    collective, algorithm, options = call
    schedule = build(collective, algorithm, **options)
    topology = Topology.uniform(options["world_size"], alpha=4e-6, bandwidth=25e9, gamma=gamma)
    for size in ({"nbytes": S}, {"count": 5, "itemsize": 4}):
        slow = cost(schedule, topology=topology, **size)
        fast = cost(schedule, topology=topology, clock="data_driven", **size)
        # with several peers one after another, who is first decides: no order is best for all
        if slow.latency_terms <= slow.steps:
            assert fast.seconds <= slow.seconds * (1 + 1e-12)
        counts = [name for name in EXACT if name != "lower_bound"]
        assert [getattr(fast, name) for name in counts] == [getattr(slow, name) for name in counts]


@st.composite
def one_peer_schedules(draw):
    n, num_chunks = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        order = draw(st.permutations(range(n)))
        senders = draw(st.sets(st.integers(0, n - 1)))
        steps.append(
            [
                (src, dst, chunk, draw(st.sampled_from(Op)))
                for src, dst in enumerate(order)
                if src in senders and src != dst
                for chunk in draw(st.sets(st.integers(0, num_chunks - 1)))
            ]
        )
    return custom(*steps, world_size=n, num_chunks=num_chunks)


@given(one_peer_schedules())
@settings(max_examples=100, deadline=None)
def test_no_barrier_is_never_slower_with_one_peer_a_step(schedule):
    topology = easy(schedule.world_size, gamma=0.5)
    slow, fast = (
        cost(schedule, nbytes=30, topology=topology, clock=clock).seconds
        for clock in ("lockstep", "data_driven")
    )
    assert fast <= slow * (1 + 1e-12)


@given(calls(), st.sampled_from(["lockstep", "data_driven"]))
@settings(max_examples=40, deadline=None)
def test_the_timeline_ends_when_the_cost_says_and_moves_what_it_says(call, clock):
    collective, algorithm, options = call
    schedule = build(collective, algorithm, **options)
    topology = bench(options["world_size"])
    found = cost(schedule, nbytes=S, topology=topology, clock=clock)
    events = timeline(schedule, nbytes=S, topology=topology, clock=clock)
    assert max((e.end_s for e in events), default=0) == pytest.approx(found.seconds, rel=1e-12)
    assert sum(e.nbytes for e in events) == pytest.approx(found.bytes_total, rel=1e-12)
    assert len(events) == found.messages
    assert sum(len(e.chunks) for e in events) == schedule.num_transfers
    assert [e.step for e in events] == sorted(e.step for e in events)
