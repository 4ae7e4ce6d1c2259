"""Prices: the course's numbers, the closed forms against the walk, and both clocks by hand."""

from __future__ import annotations

import math
from dataclasses import asdict
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.algorithms import ALGORITHMS, build
from allranks.cost import (
    Bandwidth,
    Traffic,
    best_chunks_of,
    best_num_chunks,
    busbw,
    bytes_per_rank,
    cost,
    lower_bound,
    price,
    timeline,
)
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Topology

S = 48_000_000
US = 1e-6
EXACT = (
    "steps",
    "latency_terms",
    "bytes_sent_max",
    "bytes_received_max",
    "bytes_total",
    "messages",
    "switch_bytes_in",
    "switch_bytes_out",
)
RATES = ("seconds", "algbw", "busbw")
SIZES = [1, 2, 3, 4, 5, 7, 8, 16]


def bench(n):
    return Topology.preset("bench", n)


def easy(n, **options):
    """One second an alpha, one second a byte."""
    return Topology.uniform(n, alpha=1.0, bandwidth=1.0, **options)


def priced(algorithm, *, collective="broadcast", n=6, nbytes=S, k=None):
    return price(
        collective, algorithm, world_size=n, nbytes=nbytes, topology=bench(n), num_chunks=k
    )


def custom(*steps, world_size, num_chunks=1, num_switches=0):
    """Build a schedule that nobody proved: its price does not depend on what it achieves."""
    made = tuple(tuple(Transfer(*t) for t in step) for step in steps)
    return Schedule("all_reduce", "custom", world_size, num_chunks, made, num_switches=num_switches)


def assert_same_price(walked, folded):
    assert {name: getattr(walked, name) for name in EXACT} == {
        name: getattr(folded, name) for name in EXACT
    }
    for name in RATES:
        one, other = getattr(walked, name), getattr(folded, name)
        assert one is other is None or one == pytest.approx(other, rel=1e-12)


# the numbers of the chapters


@pytest.mark.parametrize(
    ("algorithm", "k", "steps", "root_sends", "microseconds"),
    [
        ("flat", None, 5, 240_000_000, 9620),
        ("chain", 1, 5, 48_000_000, 9620),
        ("binomial", None, 3, 144_000_000, 5772),
        ("chain", 44, 48, 48_000_000, 2286.5),
        ("chain", 16, 20, 48_000_000, 2480),
        ("chain", 1024, 1028, 48_000_000, 6039.5),
        ("scatter_all_gather", None, 8, 80_000_000, 3232),
    ],
)
def test_broadcast_on_six_ranks_costs_what_the_chapter_says(
    algorithm, k, steps, root_sends, microseconds
):
    schedule = build("broadcast", algorithm, world_size=6, root=2, num_chunks=k)
    for found in (
        cost(schedule, nbytes=S, topology=bench(6)),
        priced(algorithm, k=k),
    ):
        assert (found.steps, found.latency_terms) == (steps, steps)
        assert found.bytes_sent_max == root_sends
        assert found.seconds == pytest.approx(microseconds * US, abs=0.05 * US)
    assert bytes_per_rank(schedule, S)[2].sent == root_sends


@pytest.mark.parametrize(
    ("algorithm", "microseconds"),
    [("binomial", 12.36), ("flat", 20.6), ("chain", 20.6), ("scatter_all_gather", 32.2)],
)
def test_a_small_broadcast_costs_what_the_chapter_says(algorithm, microseconds):
    assert priced(algorithm, nbytes=3000).seconds == pytest.approx(microseconds * US, rel=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "crossing"),
    [
        ("binomial", "scatter_all_gather", 375_000),
        ("scatter_all_gather", "chain", 2_250_000),
        ("binomial", "chain", 500_000),
    ],
)
def test_the_winner_changes_where_the_chapter_says(first, second, crossing):
    def seconds(algorithm, nbytes):
        k = None
        if algorithm == "chain":
            k = best_num_chunks(6, nbytes, bench(6).alpha, bench(6).beta)
        return priced(algorithm, nbytes=nbytes, k=k).seconds

    assert seconds(first, crossing) == pytest.approx(seconds(second, crossing), rel=1e-9)
    assert seconds(first, crossing * 0.99) < seconds(second, crossing * 0.99)
    assert seconds(first, crossing * 1.01) > seconds(second, crossing * 1.01)


@pytest.mark.parametrize(("n", "steps"), [(1, 0), (2, 1), (8, 3), (9, 4)])
def test_a_binomial_broadcast_takes_the_logarithm_rounded_up(n, steps):
    assert priced("binomial", n=n).steps == steps


def test_ring_all_reduce_on_four_ranks_moves_what_the_first_chapter_says():
    schedule = build("all_reduce", "ring", world_size=4)
    found = cost(schedule, count=8, itemsize=8, topology=bench(4))
    assert found.steps == 6
    assert (found.bytes_sent_max, found.bytes_total) == (96, 384)
    assert bytes_per_rank(schedule, 64) == [Traffic(96, 96)] * 4


def test_ring_all_reduce_on_six_ranks_costs_what_the_course_says():
    found = priced("ring", collective="all_reduce")
    assert (found.steps, found.bytes_sent_max, found.messages) == (10, 80_000_000, 60)
    assert found.bytes_total == 480_000_000
    assert found.seconds == pytest.approx(3240 * US)


@pytest.mark.parametrize(("k", "steps", "microseconds"), [(1, 2, 3848), (22, 23, 2099)])
def test_a_switch_that_adds_costs_what_the_course_says(k, steps, microseconds):
    found = priced("sharp", collective="all_reduce", k=k)
    assert found.steps == steps
    assert found.seconds == pytest.approx(microseconds * US, abs=0.5 * US)
    assert (found.bytes_sent_max, found.bytes_received_max) == (S, S)
    assert (found.switch_bytes_in, found.switch_bytes_out) == (6 * S, 6 * S)


@pytest.mark.parametrize("algorithm", ["flat", "chain", "binomial"])
def test_the_root_of_a_reduce_sends_nothing_and_the_others_send_all(algorithm):
    schedule = build("reduce", algorithm, world_size=6, root=4)
    sent = [traffic.sent for traffic in bytes_per_rank(schedule, S)]
    assert sent == [0 if rank == 4 else S for rank in range(6)]


# cases from other people's reports


def test_two_ranks_on_a_ten_gigabit_link_take_1_048576_seconds():
    link = Topology.uniform(2, alpha=0.0, bandwidth=10e9 / 8)
    found = price("all_reduce", "ring", world_size=2, nbytes=1_310_720_000, topology=link)
    assert found.seconds == pytest.approx(1.048576, rel=1e-12)
    assert found.busbw == pytest.approx(1.25e9, rel=1e-12)


def test_a_ring_moves_no_fewer_bytes_than_a_star_but_spreads_them():
    star = [
        build(collective, "flat", world_size=8, root=0) for collective in ("reduce", "broadcast")
    ]
    ring = build("all_reduce", "ring", world_size=8)

    def busiest(schedules):
        traffic = zip(*(bytes_per_rank(s, 256) for s in schedules), strict=True)
        return max(sum(t.sent + t.received for t in both) for both in traffic)

    prices = [cost(s, nbytes=256, topology=bench(8)) for s in star]
    ring_price = cost(ring, nbytes=256, topology=bench(8))
    assert sum(p.bytes_total for p in prices) == ring_price.bytes_total == 3584
    assert (busiest(star), busiest([ring])) == (3584, 896)
    assert (sum(p.messages for p in prices), ring_price.messages) == (14, 112)


def test_counts_beyond_32_bits_are_exact():
    found = price("all_gather", "ring", world_size=2048, nbytes=2048 * 2**21, topology=bench(2048))
    assert found.bytes_received_max == 2047 * 2**21 == 4_292_870_144
    assert found.bytes_total == 2047 * 2**32
    assert found.messages == 2048 * 2047
    walked = cost(build("broadcast", "flat", world_size=3), nbytes=2**40 + 1, topology=bench(3))
    assert walked.bytes_total == 2**41 + 2
    many = price("all_gather", "ring", world_size=100_000, nbytes=10**10, topology=bench(100_000))
    assert many.messages == 100_000 * 99_999
    assert many.bytes_total == 99_999 * 10**10


# the closed forms


@st.composite
def calls(draw):
    (collective, algorithm), entry = draw(st.sampled_from(sorted(ALGORITHMS.items())))
    n = draw(st.integers(1, 40))
    options = {"world_size": n}
    if "root" in entry.parameters:
        options["root"] = draw(st.integers(0, n - 1))
    if "num_chunks" in entry.parameters:
        options["num_chunks"] = draw(st.integers(1, 20))
    return collective, algorithm, options


@given(
    calls(),
    st.one_of(st.integers(0, 2**40), st.floats(0, 1e12)),
    st.floats(0, 1e-3),
    st.floats(1e6, 1e12),
    st.floats(0, 1e-9),
    st.integers(1, 3),
    st.integers(1, 40),
)
@settings(max_examples=80, deadline=None)
def test_the_closed_form_equals_the_walk(call, nbytes, alpha, bandwidth, gamma, ports, in_flight):
    collective, algorithm, options = call
    topology = Topology.uniform(
        options["world_size"],
        alpha=alpha,
        bandwidth=bandwidth,
        gamma=gamma,
        ports=ports,
        in_flight=in_flight,
    )
    walked = cost(build(collective, algorithm, **options), nbytes=nbytes, topology=topology)
    folded = price(collective, algorithm, nbytes=nbytes, topology=topology, **options)
    assert_same_price(walked, folded)


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(ALGORITHMS))
def test_the_closed_form_equals_the_walk_for_every_n(key):
    entry = ALGORITHMS[key]
    options = {"num_chunks": 3} if "num_chunks" in entry.parameters else {}
    for n in range(1, 41):
        topology = Topology.uniform(n, alpha=4e-6, bandwidth=25e9, gamma=1e-11)
        walked = cost(build(*key, world_size=n, **options), nbytes=S, topology=topology)
        assert_same_price(walked, price(*key, world_size=n, nbytes=S, topology=topology, **options))


@pytest.mark.parametrize("key", sorted(ALGORITHMS))
def test_a_hundred_thousand_ranks_are_priced_at_once(key):
    n = 131_072
    found = price(*key, world_size=n, nbytes=2**30, topology=bench(n))
    assert found.steps >= 1
    assert found.seconds >= 2**30 * (n - 1) / n / 25e9
    assert found.bytes_total >= (n - 1) * 2**30 / n


def test_the_ring_at_131072_ranks_pays_262142_alphas():
    found = price("all_reduce", "ring", world_size=131_072, nbytes=2**30, topology=bench(131_072))
    assert found.steps == 262_142
    share = 2 * 131_071 / 131_072 * 2**30
    assert found.seconds == pytest.approx(262_142 * 4e-6 + share / 25e9, rel=1e-12)
    assert found.bytes_sent_max == share


def test_reduction_costs_gamma_where_the_bytes_arrive():
    slow = Topology.uniform(6, alpha=4e-6, bandwidth=25e9, gamma=1e-10)
    found = price("all_reduce", "ring", world_size=6, nbytes=S, topology=slow)
    assert found.seconds == pytest.approx(3240 * US + 5 / 6 * S * 1e-10, rel=1e-12)


# one rank, no bytes, uneven splits


@pytest.mark.parametrize("key", sorted(ALGORITHMS))
def test_one_rank_costs_nothing(key):
    walked = cost(build(*key, world_size=1), nbytes=S, topology=bench(1))
    assert asdict(walked) == asdict(price(*key, world_size=1, nbytes=S, topology=bench(1)))
    assert (walked.seconds, walked.steps, walked.messages, walked.bytes_total) == (0, 0, 0, 0)
    assert (walked.algbw, walked.busbw) == (None, 0)


@pytest.mark.parametrize("key", sorted(ALGORITHMS))
def test_a_chunk_without_bytes_is_not_sent(key):
    schedule = build(*key, world_size=4)
    empty = cost(schedule, count=0, itemsize=4, topology=bench(4))
    assert (empty.seconds, empty.latency_terms, empty.messages) == (0, 0, 0)
    assert empty.steps == len(schedule.steps)
    assert (empty.algbw, empty.busbw) == (0, 0)
    assert asdict(empty) == asdict(cost(schedule, nbytes=0, topology=bench(4)))
    assert timeline(schedule, nbytes=0, topology=bench(4)) == []


def test_elements_are_split_like_array_split():
    schedule = build("all_gather", "ring", world_size=4)
    found = cost(schedule, count=11, itemsize=4, topology=easy(4))
    # blocks of 3, 3, 3, 2 elements: every step moves a block of 3 somewhere
    assert found.seconds == 3 * (1 + 12)
    assert found.bytes_total == 3 * 44
    assert found.bytes_received_max == 44 - 8
    few = cost(schedule, count=3, itemsize=4, topology=easy(4))
    assert (few.messages, few.bytes_total) == (9, 3 * 12)


@pytest.mark.parametrize(
    ("collective", "num_chunks", "count", "sizes"),
    [
        ("broadcast", 4, 11, [3, 3, 3, 2]),
        ("scatter", 6, 11, [2, 2, 2, 2, 2, 1]),  # blocks of 4, 4, 3, in two chunks each
        ("all_to_all", 9, 7, [3, 2, 2] * 3),  # each send buffer is cut for its three receivers
        ("all_to_all", 18, 7, [2, 1, 1, 1, 1, 1] * 3),
    ],
)
def test_chunks_have_whole_sizes(collective, num_chunks, count, sizes):
    steps = tuple((Transfer(0, 1, chunk, Op.COPY),) for chunk in range(num_chunks))
    root = 0 if collective in ("broadcast", "scatter") else None
    schedule = Schedule(collective, "custom", 3, num_chunks, steps, root=root)
    found = cost(schedule, count=count, itemsize=8, topology=easy(3))
    assert found.bytes_total == 8 * sum(sizes)
    assert found.seconds == sum(1 + 8 * size for size in sizes)


def test_fractions_of_a_byte_are_kept():
    found = cost(build("all_gather", "ring", world_size=3), nbytes=100, topology=easy(3))
    assert found.bytes_sent_max == float(Fraction(200, 3))
    assert found.bytes_total == 200


def test_a_chunk_of_an_all_to_all_is_a_share_of_one_send_buffer():
    steps = ((Transfer(0, 1, 1, Op.COPY),),)
    schedule = Schedule("all_to_all", "custom", 4, 16, steps)
    assert cost(schedule, nbytes=64, topology=easy(4)).bytes_total == 16


# several peers in one step


def one_step_broadcast(n):
    return custom([(0, peer, 0, Op.COPY) for peer in range(1, n)], world_size=n)


def test_a_flat_broadcast_in_one_step_costs_what_it_costs_in_many():
    one = cost(one_step_broadcast(6), nbytes=S, topology=bench(6))
    many = cost(build("broadcast", "flat", world_size=6), nbytes=S, topology=bench(6))
    assert one.seconds == pytest.approx(many.seconds, rel=1e-12)
    assert (one.steps, one.latency_terms) == (1, 5)
    assert (many.steps, many.latency_terms) == (5, 5)


def test_the_receiving_port_counts_as_well():
    gather = custom([(peer, 0, 0, Op.REDUCE) for peer in range(1, 4)], world_size=4)
    assert cost(gather, nbytes=10, topology=easy(4)).seconds == 3 + 30
    assert cost(gather, nbytes=10, topology=easy(4, gamma=2.0)).seconds == 3 + 30 + 60


def test_all_bytes_to_one_peer_are_one_message():
    two = custom([(0, 1, 0, Op.COPY), (0, 1, 1, Op.REDUCE)], world_size=2, num_chunks=2)
    found = cost(two, nbytes=20, topology=easy(2, gamma=1.0))
    assert (found.messages, found.latency_terms) == (1, 1)
    assert found.seconds == 1 + 20 + 10


def test_alphas_in_flight_overlap_and_bytes_do_not():
    found = cost(one_step_broadcast(6), nbytes=10, topology=easy(6, in_flight=2))
    assert (found.latency_terms, found.seconds) == (3, 3 + 50)


def test_more_ports_share_the_peers():
    found = cost(one_step_broadcast(6), nbytes=10, topology=easy(6, ports=2))
    assert (found.latency_terms, found.seconds) == (3, 3 + 30)


def test_ports_and_flights_count_at_the_receiver_too():
    gather = custom([(peer, 0, 0, Op.COPY) for peer in range(1, 6)], world_size=6)
    assert cost(gather, nbytes=10, topology=easy(6, ports=2)).seconds == 3 + 30
    assert cost(gather, nbytes=10, topology=easy(6, in_flight=2)).seconds == 3 + 50


def test_a_switch_has_a_port_for_every_endpoint():
    up = custom([(r, 4, 0, Op.REDUCE) for r in range(4)], world_size=4, num_switches=1)
    found = cost(up, nbytes=10, topology=easy(4))
    assert (found.seconds, found.latency_terms) == (1 + 10, 1)
    assert (found.switch_bytes_in, found.bytes_received_max) == (40, 0)


# the data-driven clock, worked by hand: chunks of 10 bytes, so a message of one takes 11 seconds


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
    found = spans(one_step_broadcast(4), easy(4, in_flight=2))
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
        assert fast.seconds <= slow.seconds * (1 + 1e-12)
        assert {name: getattr(fast, name) for name in EXACT} == {
            name: getattr(slow, name) for name in EXACT
        }


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


# lower bounds


def test_the_bounds_of_the_course():
    assert lower_bound("broadcast", 6, S, bench(6)) == pytest.approx((12 + 1920) * US)
    assert lower_bound("all_gather", 6, S, bench(6)) == pytest.approx((12 + 1600) * US)
    assert lower_bound("reduce_scatter", 6, S, bench(6)) == pytest.approx((12 + 1600) * US)
    assert lower_bound("all_reduce", 6, S, bench(6)) == pytest.approx((12 + 3200) * US)
    assert lower_bound("all_to_all", 8, S, bench(8)) == pytest.approx((12 + 1680) * US)


@pytest.mark.parametrize("n", [2, 3, 5, 6, 8, 33])
def test_a_binomial_scatter_meets_its_bound(n):
    found = price("scatter", "binomial", world_size=n, nbytes=S, topology=bench(n))
    assert found.seconds == pytest.approx(lower_bound("scatter", n, S, bench(n)), rel=1e-12)


def test_a_ring_of_two_meets_the_bound_with_gamma():
    slow = Topology.uniform(2, alpha=4e-6, bandwidth=25e9, gamma=1e-10)
    found = price("reduce_scatter", "ring", world_size=2, nbytes=S, topology=slow)
    assert found.seconds == pytest.approx(lower_bound("reduce_scatter", 2, S, slow), rel=1e-12)


@pytest.mark.slow
@given(calls(), st.integers(0, 2**32), st.floats(0, 1e-9))
@settings(max_examples=100, deadline=None)
def test_no_algorithm_of_sends_and_receives_beats_the_bound(call, nbytes, gamma):
    collective, algorithm, options = call
    n = options["world_size"]
    topology = Topology.uniform(n, alpha=4e-6, bandwidth=25e9, gamma=gamma)
    bound = lower_bound(collective, n, nbytes, topology)
    schedule = build(collective, algorithm, **options)
    if algorithm != "sharp":
        for clock in ("lockstep", "data_driven"):
            found = cost(schedule, nbytes=nbytes, topology=topology, clock=clock)
            assert bound <= found.seconds * (1 + 1e-12)


def test_a_switch_that_adds_lies_outside_the_bound():
    found = priced("sharp", collective="all_reduce", k=22)
    assert found.seconds < lower_bound("all_reduce", 6, S, bench(6))


def test_more_ports_and_alphas_in_flight_lower_the_bound():
    assert lower_bound("broadcast", 9, 90, easy(9)) == 4 + 90
    assert lower_bound("broadcast", 9, 90, easy(9, ports=2)) == 2 + 45
    assert lower_bound("broadcast", 9, 90, easy(9, in_flight=2)) == 2 + 90
    assert lower_bound("broadcast", 1, 90, easy(1)) == 0
    assert lower_bound("broadcast", 9, 0, easy(9)) == 0


def test_the_root_of_a_reduce_need_not_be_the_rank_that_adds():
    assert lower_bound("reduce", 4, 8, easy(4)) == 2 + 8
    assert lower_bound("reduce", 4, 8, easy(4, gamma=9.0)) == 2 + 6 + 54


# the number of chunks


@given(st.integers(1, 300), st.integers(0, 10**8), st.floats(1e-7, 1e-3), st.floats(1e-12, 1e-8))
@settings(max_examples=200, deadline=None)
def test_no_number_of_chunks_beats_the_best(n, nbytes, alpha, beta):
    best = best_num_chunks(n, nbytes, alpha, beta)
    assert 1 <= best <= max(1, nbytes)

    def exact(k):
        hops = max(n - 2, 0) + k
        return hops * (Fraction(alpha) + nbytes * Fraction(beta) / k)

    neighbors = {1, max(1, best - 1), best + 1, max(1, best // 2), 2 * best}
    for k in neighbors:
        assert exact(best) <= exact(k) or k > nbytes
    if best > 1:
        assert exact(best) < exact(best - 1)


def test_the_best_number_of_chunks_is_the_course_s():
    assert best_num_chunks(6, S, 4e-6, 4e-11) == 44
    seconds = {k: priced("chain", k=k).seconds for k in range(1, 200)}
    assert min(seconds, key=seconds.get) == 44
    real = (math.sqrt(4 * 4e-6) + math.sqrt(S * 4e-11)) ** 2
    assert seconds[44] == pytest.approx(real, rel=1e-5)


@pytest.mark.parametrize(("n", "nbytes"), [(1, S), (2, S), (6, 0), (6, 1), (131_072, 1)])
def test_one_chunk_is_best_where_nothing_is_passed_on_or_nothing_is_there(n, nbytes):
    assert best_num_chunks(n, nbytes, 4e-6, 4e-11) == 1


@pytest.mark.parametrize("alpha", [0.0, 1e-15])
def test_no_chunk_is_smaller_than_a_byte(alpha):
    assert best_num_chunks(4, 100, alpha, 1e-9) == 100


# algbw and busbw


@pytest.mark.parametrize(
    ("n", "nbytes", "microseconds", "algbw", "busbw_gb", "rel"),
    [
        (8, 65_536, 46.8, 1.4, 2.45, 1e-2),
        (8, 2**20, 101.9, 10.29, 18.0, 1e-3),
        (8, 2**25, 424.0, 79.14, 138.49, 5e-4),
        (8, 2**31, 16_240, 132.23, 231.41, 5e-4),
        (12, 2**34, 159_983, 107.3, 196.72, 1e-3),
    ],
)
def test_published_measurements_are_recomputed(n, nbytes, microseconds, algbw, busbw_gb, rel):
    found = busbw("all_reduce", world_size=n, nbytes=nbytes, seconds=microseconds * US)
    assert found.algbw / 1e9 == pytest.approx(algbw, rel=rel)
    assert found.busbw / 1e9 == pytest.approx(busbw_gb, rel=rel)


@pytest.mark.parametrize(
    ("collective", "factor"),
    [
        ("all_reduce", 1.75),
        ("all_gather", 0.875),
        ("reduce_scatter", 0.875),
        ("all_to_all", 0.875),
        ("gather", 0.875),
        ("scatter", 0.875),
        ("broadcast", 1),
        ("reduce", 1),
    ],
)
def test_the_factor_depends_on_the_collective_alone(collective, factor):
    assert busbw(collective, world_size=8, nbytes=8e9, seconds=1.0) == Bandwidth(8e9, factor * 8e9)


def test_nothing_is_divided_by_zero():
    assert busbw("all_reduce", world_size=8, nbytes=8, seconds=0) == Bandwidth(None, None)
    assert busbw("all_reduce", world_size=8, nbytes=0, seconds=0) == Bandwidth(0, 0)
    assert busbw("all_reduce", world_size=8, nbytes=0, seconds=1) == Bandwidth(0, 0)
    assert busbw("broadcast", world_size=1, nbytes=8, seconds=0) == Bandwidth(None, 0)
    assert busbw("broadcast", world_size=1, nbytes=8, seconds=2) == Bandwidth(4, 0)


# bad input


RING = build("all_reduce", "ring", world_size=4)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "either nbytes, or count and itemsize"),
        ({"nbytes": 8, "count": 2, "itemsize": 4}, "either nbytes, or count and itemsize"),
        ({"count": 2}, "either nbytes, or count and itemsize"),
        ({"nbytes": 8, "itemsize": 4}, "either nbytes, or count and itemsize"),
        ({"nbytes": -1}, "nbytes is -1"),
        ({"nbytes": math.nan}, "nbytes is nan"),
        ({"nbytes": math.inf}, "nbytes is inf"),
        ({"nbytes": "16MiB"}, "nbytes is '16MiB'"),
        ({"nbytes": True}, "nbytes is True"),
        ({"count": -1, "itemsize": 4}, "count is -1"),
        ({"count": 1.5, "itemsize": 4}, "count is 1.5"),
        ({"count": 1, "itemsize": 0}, "itemsize is 0"),
        ({"nbytes": 8, "clock": "lock-step"}, "did you mean 'lockstep'"),
        ({"nbytes": 8, "topology": bench(3)}, "topology has 3 ranks, the collective 4"),
    ],
)
def test_an_impossible_cost_is_refused(options, says):
    with pytest.raises(ValueError, match=says):
        cost(RING, **{"topology": bench(4), **options})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"collective": "all_redcue"}, "did you mean 'all_reduce'"),
        ({"algorithm": "rnig"}, "did you mean 'ring'"),
        ({"world_size": 0}, "world_size is 0"),
        ({"world_size": 4.0}, "world_size is 4.0"),
        ({"nbytes": -1}, "nbytes is -1"),
        ({"root": 1}, "all_reduce has no root"),
        ({"num_chunks": 5}, "num_chunks is 5; ring all_reduce on 4 ranks always uses 4"),
        ({"algorithm": "sharp", "num_chunks": 0}, "num_chunks is 0"),
        ({"collective": "broadcast", "algorithm": "flat", "root": 4}, "root is 4"),
        ({"topology": bench(3)}, "topology has 3 ranks"),
    ],
)
def test_an_impossible_price_is_refused(options, says):
    usual = {"collective": "all_reduce", "algorithm": "ring", "world_size": 4, "nbytes": 8}
    call = {**usual, "topology": bench(4), **options}
    with pytest.raises(ValueError, match=says):
        price(call.pop("collective"), call.pop("algorithm"), **call)


@pytest.mark.parametrize(
    "call",
    [
        lambda: lower_bound("broadcast", 0, 8, bench(4)),
        lambda: lower_bound("broadcast", 5, 8, bench(4)),
        lambda: lower_bound("broadcast", 4, -8, bench(4)),
        lambda: lower_bound("brodcast", 4, 8, bench(4)),
        lambda: best_num_chunks(0, 8, 1e-6, 1e-9),
        lambda: best_num_chunks(4, -8, 1e-6, 1e-9),
        lambda: best_num_chunks(4, 8, -1e-6, 1e-9),
        lambda: best_num_chunks(4, 8, 1e-6, math.nan),
        lambda: busbw("all_reduce", world_size=0, nbytes=8, seconds=1),
        lambda: busbw("all_reduce", world_size=2, nbytes=-8, seconds=1),
        lambda: busbw("all_reduce", world_size=2, nbytes=8, seconds=-1),
        lambda: busbw("all_reduce", world_size=2, nbytes=8, seconds=math.nan),
        lambda: timeline(RING, nbytes=8, topology=bench(4), clock="barrier"),
        lambda: timeline(RING, nbytes=8, topology=bench(2)),
        lambda: bytes_per_rank(RING, -1),
    ],
)
def test_impossible_numbers_are_refused(call):
    with pytest.raises(ValueError, match=r" is | has |unknown"):
        call()


@pytest.mark.parametrize("transfer", [(0, 9, 0, Op.COPY), (-1, 1, 0, Op.COPY)])
def test_an_endpoint_that_does_not_exist_is_named(transfer):
    schedule = custom([transfer], world_size=4)
    with pytest.raises(ScheduleError, match="endpoints are 0 to 3") as caught:
        cost(schedule, nbytes=8, topology=bench(4))
    assert (caught.value.kind, caught.value.step) == ("unknown_endpoint", 0)


def test_best_chunks_of_a_pipelined_algorithm_is_no_worse_than_its_neighbors():
    bench = Topology.preset("bench", 6)
    for collective, algorithm in [
        ("broadcast", "chain"),
        ("reduce", "chain"),
        ("all_reduce", "sharp"),
    ]:
        best = best_chunks_of(collective, algorithm, world_size=6, nbytes=1e6, topology=bench)

        def seconds(k, name=(collective, algorithm)):
            return price(*name, world_size=6, nbytes=1e6, num_chunks=k, topology=bench).seconds

        assert seconds(best) <= min(seconds(best - 1), seconds(best + 1))
        assert seconds(best) < seconds(1)


def test_best_chunks_of_an_algorithm_that_is_not_pipelined_is_none():
    bench = Topology.preset("bench", 6)
    facts = {"world_size": 6, "nbytes": 1e6, "topology": bench}
    assert best_chunks_of("broadcast", "binomial", **facts) is None
