"""Prices: the course's numbers, the closed forms against the walk, and ports by hand."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from price_facts import KEYS, US, S, assert_same_price, bench, calls, custom, easy, possible, priced

from allranks.algorithms import build
from allranks.cost import Traffic, best_num_chunks, bytes_per_rank, cost, price, timeline
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Topology

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


RING_3 = build("all_reduce", "ring", world_size=3)

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
    pairs = price(
        "all_to_all", "pairwise", world_size=100_000, nbytes=10**15, topology=bench(100_000)
    )
    assert pairs.messages == 100_000 * 99_999
    assert pairs.bytes_total == 10**15 * 99_999
    elements = cost(RING_3, count=2**61, itemsize=8, topology=bench(3))
    assert elements.bytes_total == 4 * 2**64
    many = price("all_gather", "ring", world_size=100_000, nbytes=10**10, topology=bench(100_000))
    assert many.messages == 100_000 * 99_999
    assert many.bytes_total == 99_999 * 10**10


# the closed forms


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


@pytest.mark.parametrize("key", KEYS)
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


@pytest.mark.parametrize("key", KEYS)
def test_one_rank_costs_nothing(key):
    walked = cost(build(*key, world_size=1), nbytes=S, topology=bench(1))
    assert asdict(walked) == asdict(price(*key, world_size=1, nbytes=S, topology=bench(1)))
    assert (walked.seconds, walked.steps, walked.messages, walked.bytes_total) == (0, 0, 0, 0)
    assert (walked.algbw, walked.busbw) == (None, 0)


@pytest.mark.parametrize("key", KEYS)
def test_a_chunk_without_bytes_is_not_sent(key):
    n = 4 if possible(key, 4) else 2
    schedule = build(*key, world_size=n)
    empty = cost(schedule, count=0, itemsize=4, topology=bench(n))
    assert (empty.seconds, empty.latency_terms, empty.messages) == (0, 0, 0)
    assert empty.steps == len(schedule.steps)
    assert (empty.algbw, empty.busbw) == (0, 0)
    assert asdict(empty) == asdict(cost(schedule, nbytes=0, topology=bench(n)))
    assert timeline(schedule, nbytes=0, topology=bench(n)) == []


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
