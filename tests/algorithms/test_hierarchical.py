"""Hierarchy: any algorithm inside nodes, any other between them, and what crosses between nodes."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from algorithm_facts import MB, US, messages, received, sent
from form_facts import assert_form_is_schedule
from hypothesis import given, settings
from hypothesis import strategies as st
from price_facts import assert_same_price, networks

from allranks.algorithms import algorithms, build, plan_of
from allranks.algorithms.folded import fold
from allranks.algorithms.hierarchical import (
    all_reduce_chunks,
    backwards,
    embed,
    node_sizes,
    refuse_all_reduce,
    shares,
    together,
)
from allranks.algorithms.ring import ring_all_gather
from allranks.cost import cost, price
from allranks.cost.forms import FORMS, Form, Phase, Stream
from allranks.cost.forms import hierarchical as module
from allranks.cost.sizes import sizes_of
from allranks.cost.walk import machine_of
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Tier, Topology
from allranks.topology.presets import NETWORK_S, NVLINK_S
from allranks.verify import prove, states, verify

F = Fraction
REDUCE, SWAP = ("all_reduce", "hierarchical"), ("all_to_all", "hierarchical")
UNEQUAL = [(1, 2), (2, 3), (3, 4, 4), (1, 1, 5), (2, 6, 3), (4, 1, 2, 3), (5,), (1, 1, 1)]


INNER = [a for a in algorithms("reduce_scatter") if backwards(a) in algorithms("all_gather")]
OUTER = [a for a in algorithms("all_reduce") if a != "nvls"]
SWAPS = list(algorithms("all_to_all"))
PAIRS = list(itertools.product(INNER, OUTER))
SWAP_PAIRS = list(itertools.product(SWAPS, SWAPS))
IN_SWITCHES = [
    {"outer": "sharp"},
    {"inner": "nvls"},
    {"inner": "nvls", "outer": "sharp"},
    {"inner": "nvls", "outer": "double_binary_tree"},
]
GIB = 2**30
A, B = NVLINK_S, NETWORK_S
NVLINK, NIC = 370e9, 49e9


def nodes_of(sizes):
    return [node for node, size in enumerate(sizes) for _ in range(size)]


def between_nodes(schedule, sizes):
    """Return how many chunks every rank sends to other nodes."""
    node = nodes_of(sizes)
    out = Counter(t.src for _, t in schedule.transfers() if node[t.src] != node[t.dst])
    return [out[rank] for rank in range(schedule.world_size)]


# The contract


@pytest.mark.slow
@pytest.mark.parametrize("node_size", [1, 2, 3, 4, 8, 16])
def test_all_reduce_keeps_its_promise_for_any_number_of_ranks_and_nodes(node_size):
    for n in range(1, 41):
        schedule = build(*REDUCE, world_size=n, node_size=node_size)
        verify(schedule)
        assert all(len(step) for step in schedule.steps)
        assert schedule.num_chunks == all_reduce_chunks(n, node_size)


def test_all_reduce_keeps_its_promise_on_64_ranks_in_nodes_of_8():
    schedule = build(*REDUCE, world_size=64)
    verify(schedule)
    assert len(schedule.steps) == 2 * 7 + 2 * 7


@pytest.mark.parametrize(("inner", "outer"), PAIRS)
def test_any_inner_and_outer_algorithm_fits_any_nodes(inner, outer):
    for sizes in [*UNEQUAL, (4, 2, 2)]:
        n = sum(sizes)
        if reason := refuse_all_reduce(n, sizes, inner, outer):
            odd = any(size & (size - 1) for size in sizes)
            assert outer == "unchunked_ring" or (inner == "recursive_halving" and odd)
            assert reason.startswith(("outer: ", "inner: "))
            continue
        schedule = build(*REDUCE, world_size=n, node_size=sizes, inner=inner, outer=outer)
        verify(schedule)
        assert all(len(step) for step in schedule.steps)


@pytest.mark.parametrize(("inner", "outer"), SWAP_PAIRS)
def test_all_to_all_keeps_its_promise_for_any_inner_and_outer_algorithm(inner, outer):
    for n, g in [(1, 1), (2, 1), (2, 2), (4, 2), (6, 2), (6, 3), (8, 4), (9, 3), (12, 4)]:
        schedule = build(*SWAP, world_size=n, node_size=g, inner=inner, outer=outer)
        verify(schedule)
        assert all(len(step) for step in schedule.steps)


@pytest.mark.slow
def test_all_to_all_keeps_its_promise_for_every_node_that_divides_n():
    for n in range(1, 41):
        for g in range(1, n + 1):
            if n % g == 0:
                verify(build(*SWAP, world_size=n, node_size=g))


# Steps, and what crosses


def test_with_rings_steps_and_bytes_are_the_closed_form():
    for nodes, g in itertools.product(range(1, 9), range(1, 9)):
        n = nodes * g
        schedule = build(*REDUCE, world_size=n, node_size=g)
        assert len(schedule.steps) == 2 * (g - 1) + 2 * (nodes - 1)
        across = F(2 * (nodes - 1), nodes) / g
        inside = F(2 * (g - 1), g)
        size = F(1, schedule.num_chunks)
        crossing = between_nodes(schedule, [g] * nodes)
        assert [count * size for count in crossing] == [across] * n
        assert [count * size for count in sent(schedule)] == [across + inside] * n
        assert sent(schedule) == received(schedule)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nodes", "g", "per_nic", "ring_per_nic", "steps"),
    [(2, 4, 0.25, 0.4375, 8), (4, 8, 0.1875, 0.2421875, 20), (64, 8, 0.24609375, None, 140)],
)
def test_the_bytes_per_network_port_are_those_of_the_chapter(
    nodes, g, per_nic, ring_per_nic, steps
):
    n = nodes * g
    schedule = build(*REDUCE, world_size=n, node_size=g)
    crossing = between_nodes(schedule, [g] * nodes)
    assert set(crossing) == {per_nic * schedule.num_chunks}
    assert len(schedule.steps) == steps
    if ring_per_nic:  # one of g rings crosses by each port: 2(n-1)/n of S/g
        ring = build("all_reduce", "ring", world_size=n)
        crossing = sum(between_nodes(ring, [g] * nodes)) / nodes / g
        assert crossing / ring.num_chunks == ring_per_nic


def test_two_nodes_of_four_on_one_shared_port_cost_what_the_chapter_says():
    machine = Topology.tiers(
        8,
        [
            Tier(name="node", size=4, alpha=6e-6, bandwidth=200e9),
            Tier(name="network", alpha=6e-6, bandwidth=25e9),
        ],
    )
    schedule = build(*REDUCE, world_size=8, node_size=4)
    found = cost(schedule, nbytes=64 * MB, topology=machine)
    assert found.steps == 8
    assert found.seconds == pytest.approx(3088 * US)
    assert sum(between_nodes(schedule, [4, 4])[:4]) * 64 * MB / schedule.num_chunks == 64 * MB


def test_nobody_is_idle_where_nodes_differ():
    sizes = (2, 3)
    schedule = build(*REDUCE, world_size=5, node_size=sizes)
    slots = 6
    assert schedule.num_chunks == slots * 2
    crossing = [F(count, schedule.num_chunks) for count in between_nodes(schedule, sizes)]
    assert crossing == [F(1, 2)] * 2 + [F(1, 3)] * 3  # 2(N-1)/N of the S/g that each holds


def test_unequal_nodes_cut_the_vector_where_any_holder_changes():
    assert [
        (share.ranks, (share.chunks.start, share.chunks.stop)) for share in shares([2, 3], 6)
    ] == [
        ([0, 2], (0, 2)),
        ([0, 3], (2, 3)),
        ([1, 3], (3, 4)),
        ([1, 4], (4, 6)),
    ]


def test_shorter_nodes_wait_for_longer_ones():
    schedule = build(*REDUCE, world_size=7, node_size=(2, 5))
    inside = [{nodes_of((2, 5))[t.src] for t in step} for step in list(schedule.steps)[:4]]
    assert inside == [{0, 1}, {1}, {1}, {1}]
    assert len(schedule.steps) == 2 * 4 + 2 * 1


def test_two_nodes_of_two_are_the_ones_worked_by_hand():
    # ranks 0 1 | 2 3; 4 chunks: 0 and 1 belong to rank 0 and rank 2, 2 and 3 to ranks 1 and 3
    schedule = build(*REDUCE, world_size=4, node_size=2)
    moved = [sorted((t.src, t.dst, t.chunk) for t in step) for step in schedule.steps]
    first_node = [(0, 1, 2), (0, 1, 3), (1, 0, 0), (1, 0, 1)]
    assert moved[0] == [*first_node, (2, 3, 2), (2, 3, 3), (3, 2, 0), (3, 2, 1)]
    assert moved[1] == [(0, 2, 1), (1, 3, 3), (2, 0, 0), (3, 1, 2)]
    assert moved[2] == [(0, 2, 0), (1, 3, 2), (2, 0, 1), (3, 1, 3)]
    first_node = [(0, 1, 0), (0, 1, 1), (1, 0, 2), (1, 0, 3)]
    assert moved[3] == [*first_node, (2, 3, 0), (2, 3, 1), (3, 2, 2), (3, 2, 3)]
    ops = [{t.op.value for t in step} for step in schedule.steps]
    assert ops == [{"reduce"}, {"reduce"}, {"copy"}, {"copy"}]


def test_after_the_first_phase_a_node_shares_out_its_sum():
    schedule = build(*REDUCE, world_size=8, node_size=4)
    held = list(states(schedule))[3]
    for rank in range(8):
        node, local = divmod(rank, 4)
        own = [held[rank][chunk] for chunk in range(2 * local, 2 * local + 2)]
        assert own == [Counter(range(4 * node, 4 * node + 4))] * 2


def test_a_two_step_all_to_all_on_two_nodes_of_four_moves_1_25_s():
    schedule = build(*SWAP, world_size=8, node_size=4)
    assert len(schedule.steps) == 2
    block = F(1, 8)  # of S, one rank's send buffer
    assert [count * block for count in sent(schedule)] == [F(5, 4)] * 8
    assert sent(schedule) == received(schedule)
    hops = Counter((t.chunk) for _, t in schedule.transfers())
    assert set(hops.values()) == {1, 2}


def test_an_all_to_all_sends_fewer_and_larger_messages_between_nodes():
    for nodes, g in [(2, 4), (4, 2), (3, 3), (4, 8)]:
        n = nodes * g
        schedule = build(*SWAP, world_size=n, node_size=g)
        inside, across = messages(schedule)
        assert Counter(src for src, _ in inside) == dict.fromkeys(range(n), g - 1)
        assert set(inside.values()) == {nodes}
        assert Counter(src for src, _ in across) == dict.fromkeys(range(n), nodes - 1)
        assert set(across.values()) == {g}
        direct = build("all_to_all", "direct", world_size=n)
        assert between_nodes(schedule, [g] * nodes) == between_nodes(direct, [g] * nodes)


def test_at_131_072_ranks_rings_of_rings_take_the_chapter_s_steps():
    n = 131_072
    machine = Topology.uniform(n, alpha=2e-6, bandwidth=50e9)
    found = price(*REDUCE, world_size=n, nbytes=10**9, topology=machine)
    assert found.steps == found.latency_terms == 32_780
    assert found.seconds - 2 * (n - 1) / n * 10**9 / 50e9 == pytest.approx(65.56e-3, rel=1e-3)


# Switches


def peers(schedule):
    """Return the endpoints that every switch talks to, in the order of the switches."""
    n = schedule.world_size
    found = [set() for _ in range(schedule.num_switches)]
    for _, t in schedule.transfers():
        for here, there in ((t.src, t.dst), (t.dst, t.src)):
            if here >= n:
                found[here - n].add(there)
    return found


@pytest.mark.parametrize("names", IN_SWITCHES)
def test_every_switch_is_used_and_only_by_ranks(names):
    for sizes in [*UNEQUAL, (4, 4, 4), (1,)]:
        schedule = build(*REDUCE, world_size=sum(sizes), node_size=sizes, **names)
        assert all(ranks and max(ranks) < sum(sizes) for ranks in peers(schedule)), sizes


def test_switches_inside_come_first_then_one_for_every_share():
    schedule = build(*REDUCE, world_size=6, node_size=(1, 2, 3), inner="nvls", outer="sharp")
    inside, between = [{1, 2}, {3, 4, 5}], [{0, 1, 3}, {0, 1, 4}, {0, 2, 4}, {0, 2, 5}]
    assert peers(schedule) == inside + between  # a node of one rank has no switch


def test_on_equal_nodes_every_rail_has_a_switch_of_its_own():
    schedule = build(*REDUCE, world_size=12, node_size=4, outer="sharp")
    assert peers(schedule) == [{rail, rail + 4, rail + 8} for rail in range(4)]


def test_between_nodes_sharp_moves_the_share_once_up_and_once_down():
    for nodes, g in [(2, 3), (4, 4), (3, 8)]:
        n = nodes * g
        schedule = build(*REDUCE, world_size=n, node_size=g, outer="sharp")
        steps = list(schedule.steps)
        assert len(steps) == 2 * (g - 1) + 2
        share = schedule.num_chunks // g
        up, down = messages(schedule)[g - 1 : g + 1]
        assert up == {(rank, n + rank % g): share for rank in range(n)}
        assert down == {(dst, src): share for src, dst in up}
        assert sum(between_nodes(schedule, [g] * nodes + [1] * g)[:n]) == n * share


def test_inside_nodes_nvls_gives_every_head_the_node_s_sum():
    schedule = build(*REDUCE, world_size=8, node_size=4, inner="nvls", outer="double_binary_tree")
    held = list(states(schedule))[2]
    for rank in range(8):
        node, local = divmod(rank, 4)
        own = [held[rank][chunk] for chunk in range(2 * local, 2 * local + 2)]
        assert own == [Counter(range(4 * node, 4 * node + 4))] * 2
    assert peers(schedule) == [{0, 1, 2, 3}, {4, 5, 6, 7}]


def places(n, preset, **names):
    """Return (tier, a rank below, rail) of every switch."""
    schedule = build(*REDUCE, world_size=n, **names)
    sizes = sizes_of(schedule, nbytes=GIB)
    return machine_of(schedule, sizes, Topology.preset(preset, n)).places.tolist()


def test_switches_inside_stand_in_nodes_and_those_between_at_the_leaf_of_their_rail():
    names = {"inner": "nvls", "outer": "sharp"}
    inside, leaves = [[1, 0, 0], [1, 8, 0]], [[2, rail, rail] for rail in range(8)]
    assert places(16, "rail-cluster", **names) == inside + leaves
    assert places(16, "fat-tree-cluster", outer="sharp") == [[2, rail, 0] for rail in range(8)]
    # 8 nodes are more than a leaf of 4 holds
    assert places(64, "fat-tree-cluster", outer="sharp") == [[3, rail, 0] for rail in range(8)]
    assert places(16, "dgx-h100", inner="nvls") == inside


@pytest.mark.parametrize(
    ("preset", "names", "steps", "seconds"),
    [
        # ring inside: 14 (alpha + S/8 beta); up and down: 2 (alpha' + S/8 beta')
        *(
            (preset, {"outer": "sharp"}, 16, 14 * (A + GIB / 8 / NVLINK) + 2 * (B + GIB / 8 / NIC))
            for preset in ("rail-cluster", "fat-tree-cluster")
        ),
        # NVLS inside: 4 alpha + 2 (1 + 1/8) S beta; two trees on two nodes: 2 (alpha' + S/16 beta')
        (
            "dgx-h100",
            {"inner": "nvls", "outer": "double_binary_tree"},
            6,
            4 * A + 9 / 4 * GIB / NVLINK + 2 * (B + GIB / 16 / NIC),
        ),
        (
            "rail-cluster",
            {"inner": "nvls", "outer": "sharp"},
            6,
            4 * A + 9 / 4 * GIB / NVLINK + 2 * (B + GIB / 8 / NIC),
        ),
    ],
)
def test_on_two_nodes_of_eight_the_price_is_the_closed_form(preset, names, steps, seconds):
    machine = Topology.preset(preset, 16)
    found = price(*REDUCE, world_size=16, nbytes=GIB, topology=machine, **names)
    assert found.steps == steps
    assert found.seconds == pytest.approx(seconds, rel=1e-12)
    assert found == cost(build(*REDUCE, world_size=16, **names), nbytes=GIB, topology=machine)


def test_the_course_s_nodes_have_no_switch_between_them():
    machine = Topology.preset("dgx-h100", 16)
    with pytest.raises(ValueError, match=r"meet at tier 'leaf', .*switch"):
        price(*REDUCE, world_size=16, nbytes=GIB, topology=machine, outer="sharp")


@pytest.mark.slow
@given(st.data(), st.sampled_from(IN_SWITCHES), st.integers(0, 2**40))
@settings(max_examples=120)
def test_with_switches_the_price_is_the_cost_on_any_network(data, names, nbytes):
    sizes = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=5)))
    machine = data.draw(networks(sum(sizes)))
    options = {"world_size": sum(sizes), "node_size": sizes, **names}
    try:
        found = price(*REDUCE, nbytes=nbytes, topology=machine, **options)
    except ValueError as error:
        assert "switch" in str(error)  # noqa: PT017 - a star of wires has no switch that adds
        return
    assert_same_price(cost(build(*REDUCE, **options), nbytes=nbytes, topology=machine), found)


def test_at_131_072_ranks_the_price_with_switches_is_the_same_as_on_16():
    machines = [Topology.preset("rail-cluster", n) for n in (16, 131_072)]
    for names in ({"outer": "sharp"}, {"inner": "nvls", "outer": "sharp"}):
        few, many = (
            price(*REDUCE, world_size=m.world_size, nbytes=GIB, topology=m, **names)
            for m in machines
        )
        assert (many.steps, many.seconds) == (few.steps, pytest.approx(few.seconds))


@pytest.mark.parametrize("names", IN_SWITCHES)
def test_with_switches_nothing_is_folded_and_everything_is_proved(names):
    for n, g in [(6, 3), (8, 2), (8, 4), (12, 3), (16, 4)]:
        asked = {"node_size": g, **names}
        assert fold(*REDUCE, n, plan_of(*REDUCE, n, asked)) is None
        found = prove(*REDUCE, world_size=n, **asked)
        assert found.transfers_played == found.transfers
    assert fold(*REDUCE, 4, plan_of(*REDUCE, 4, {"node_size": 4, "outer": "sharp"})) is not None


# Composition


def test_embedding_renames_ranks_and_chunks():
    steps = embed(ring_all_gather(2), ranks=[4, 9], chunks=[[10], [7, 8]])
    assert [list(step) for step in steps] == [
        [Transfer(4, 9, 10, Op.COPY), Transfer(9, 4, 7, Op.COPY), Transfer(9, 4, 8, Op.COPY)]
    ]


def test_playing_together_waits_for_the_longest():
    one, two = Transfer(0, 1, 0, Op.COPY), Transfer(2, 3, 0, Op.COPY)
    assert list(together([[[one]], [[two], [two]]])) == [[one, two], [two]]
    assert list(together([])) == []


def test_the_last_node_takes_what_is_left():
    assert node_sizes(20, 8) == (8, 8, 4)
    assert node_sizes(5, 8) == (5,)
    assert node_sizes(5, (2, 3)) == (2, 3)


def test_a_hierarchy_of_hierarchies_is_one():
    schedule = build(*REDUCE, world_size=32, node_size=2, outer="hierarchical")
    verify(schedule)
    assert len(schedule.steps) == 2 * 1 + (2 * 7 + 2 * 1)  # 16 nodes: two groups of 8


# Forms


@pytest.mark.slow
@pytest.mark.parametrize("node_size", [1, 2, 3, 8])
def test_the_form_says_the_messages_of_the_schedule(node_size):
    for n in [*range(1, 20), 24, 31, 64]:
        assert_form_is_schedule(*REDUCE, n, node_size=node_size)


@pytest.mark.parametrize(("inner", "outer"), PAIRS)
def test_the_form_of_any_inner_and_outer_says_the_messages(inner, outer):
    for sizes in [*UNEQUAL, (4, 4, 4)]:
        if not refuse_all_reduce(sum(sizes), sizes, inner, outer):
            options = {"node_size": sizes, "inner": inner, "outer": outer}
            assert_form_is_schedule(*REDUCE, sum(sizes), **options)


@pytest.mark.parametrize(("inner", "outer"), SWAP_PAIRS)
def test_the_form_of_an_all_to_all_says_the_messages(inner, outer):
    for n, g in [(1, 1), (2, 1), (2, 2), (6, 3), (8, 4), (12, 4), (10, 2)]:
        assert_form_is_schedule(*SWAP, n, node_size=g, inner=inner, outer=outer)


def test_forms_of_several_kinds_go_side_by_side(monkeypatch):
    def pipeline(n, _num_chunks):
        hop = np.arange(n - 1)
        yield Stream.of(start=hop, times=2, src=hop, dst=hop + 1)

    def repeated(n, _num_chunks):
        yield Phase.of(repeat=2, step=[0, 1], src=[0, n - 1], dst=[n - 1, 0])

    monkeypatch.setitem(FORMS, ("reduce_scatter", "ring"), Form(pipeline))
    monkeypatch.setitem(FORMS, ("all_gather", "ring"), Form(repeated))
    runs = list(FORMS[REDUCE].phases(5, 12, node_size=(2, 3)))
    found = [(run.repeat, list(zip(run.src, run.dst, run.chunks, strict=True))) for run in runs]
    assert found[:3] == [
        (1, [(0, 1, 6), (2, 3, 4)]),
        (1, [(0, 1, 6), (2, 3, 4), (3, 4, 4)]),
        (1, [(3, 4, 4)]),
    ]
    assert found[-4:] == [
        (1, [(0, 1, 6), (2, 4, 4)]),
        (1, [(1, 0, 6), (4, 2, 4)]),
        (1, [(0, 1, 6), (2, 4, 4)]),
        (1, [(1, 0, 6), (4, 2, 4)]),
    ]


def test_a_form_that_forgets_to_join_messages_is_noticed(monkeypatch):
    monkeypatch.setattr(module, "_joined", lambda phase: phase)
    with pytest.raises(AssertionError):
        assert_form_is_schedule(*REDUCE, 7, node_size=(1, 1, 5))


@pytest.mark.parametrize(("key", "plain"), [(REDUCE, "all_gather"), (SWAP, "all_to_all")])
def test_one_node_of_a_hundred_thousand_ranks_lists_no_message(key, plain):
    n = 131_072
    machine = Topology.uniform(n, alpha=2e-6, bandwidth=50e9)
    inside = {"node_size": n, "inner": "direct"}
    found = price(*key, world_size=n, nbytes=10**9, topology=machine, **inside)
    part = price(plain, "direct", world_size=n, nbytes=10**9, topology=machine)
    times = 2 if key == REDUCE else 1
    assert (found.steps, found.messages) == (times, times * n * (n - 1))
    assert found.seconds == pytest.approx(times * part.seconds)


def test_a_run_too_long_to_list_is_refused():
    n = 131_072
    machine = Topology.uniform(n, alpha=2e-6, bandwidth=50e9)
    with pytest.raises(ValueError, match=r"messages in groups of 1024 ranks .*; choose smaller"):
        price(*REDUCE, world_size=n, nbytes=1, topology=machine, node_size=1024, inner="direct")


# What does not fit, and planted faults


@pytest.mark.parametrize(
    ("key", "n", "options", "words"),
    [
        (REDUCE, 8, {"node_size": 0}, r"node_size is 0; it must be a whole number"),
        (REDUCE, 8, {"node_size": True}, r"node_size is True"),
        (REDUCE, 8, {"node_size": 2.5}, r"node_size is 2.5"),
        (REDUCE, 8, {"node_size": ()}, r"node_size is \(\)"),
        (REDUCE, 8, {"node_size": (8, 0)}, r"node_size is \(8, 0\); it must be"),
        (REDUCE, 8, {"node_size": (3, 4)}, r"7 ranks in all, but world_size is 8; .*add up"),
        (REDUCE, 8, {"inner": "rign"}, r"unknown inner algorithm 'rign'; did you mean 'ring'"),
        (REDUCE, 8, {"inner": "bruck"}, r"inner is 'bruck', which is not for reduce_scatter and"),
        (REDUCE, 8, {"inner": "sharp"}, r"inner is 'sharp', which is not for reduce_scatter and"),
        (
            REDUCE,
            8,
            {"outer": "nvls"},
            r"outer is 'nvls', .* one node only: inner can be 'nvls'; u",
        ),
        (SWAP, 8, {"outer": "nvls"}, r"outer is 'nvls', which is not for all_to_all; use one of"),
        (REDUCE, 8, {"outer": "pat"}, r"outer is 'pat', which is not for all_reduce; use one of"),
        (
            REDUCE,
            6,
            {"node_size": 2, "outer": "unchunked_ring"},
            r"outer: world_size is 3; unchunked_ring",
        ),
        (
            REDUCE,
            sum((97, 89, 83, 79)),
            {"node_size": (97, 89, 83, 79)},
            r"needs 226,426,324 chunks, .*; choose sizes that have more divisors",
        ),
        (SWAP, 6, {"node_size": 4}, r"nodes of 2 to 4 ranks; .*equal nodes, .*pairwise"),
        (SWAP, 6, {"node_size": (2, 2)}, r"4 ranks in all, but world_size is 6"),
        (
            SWAP,
            6,
            {"node_size": 2, "outer": "ring"},
            r"outer is 'ring', which is not for all_to_all",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(key, n, options, words):
    with pytest.raises(ValueError, match=words):
        build(*key, world_size=n, **options)


def test_a_node_left_out_between_nodes_is_found():
    right = [tuple(step) for step in build(*REDUCE, world_size=6, node_size=2).steps]
    right[1] = tuple(t for t in right[1] if t.src != 4)
    with pytest.raises(ScheduleError) as caught:
        verify(Schedule(*REDUCE, 6, 6, tuple(right)))
    assert (caught.value.kind, caught.value.step) == ("missing", 1)


def test_the_wrong_rank_of_the_next_node_is_found():
    right = [tuple(step) for step in build(*REDUCE, world_size=8, node_size=4).steps]
    right[3] = tuple(t._replace(dst=4) if t.src == 1 and t.op is Op.REDUCE else t for t in right[3])
    with pytest.raises(ScheduleError):
        verify(Schedule(*REDUCE, 8, 8, tuple(right)))


@pytest.mark.parametrize(("names", "step"), [({"inner": "nvls"}, 1), ({"outer": "sharp"}, 4)])
def test_a_switch_of_another_node_or_share_is_found(names, step):
    made = build(*REDUCE, world_size=8, node_size=4, **names)
    wrong = [tuple(step) for step in made.steps]
    first, *others = wrong[step]
    wrong[step] = (first._replace(src=first.src + 1), *others)  # it comes from the switch beside
    with pytest.raises(ScheduleError):
        verify(Schedule(*REDUCE, 8, made.num_chunks, tuple(wrong), num_switches=made.num_switches))
