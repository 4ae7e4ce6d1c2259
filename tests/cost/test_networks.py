"""Prices where links are shared: the course's two nodes, tiers, graphs, switches in their place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from price_facts import US, calls, custom, networks

from allranks.algorithms import build
from allranks.cost import bytes_per_link, cost, lower_bound, price, timeline
from allranks.schedule import Op, Schedule, Transfer
from allranks.topology import Link, Tier, Topology

MB = 1e6
S = 64_000_000


def nodes(n=8, size=4, links=1, **options):
    """Nodes of GPUs at 200 GB/s that share network cards of 25 GB/s; alpha is 6 us everywhere."""
    inside = Tier(name="node", size=size, alpha=6e-6, bandwidth=200e9, **options)
    between = Tier(name="network", alpha=6e-6, bandwidth=25e9, links=links)
    return Topology.tiers(n, [inside, between])


def renumbered(schedule, order):
    """Play a schedule with rank order[r] in the place of rank r; the price sees no chunk."""
    steps = [
        [Transfer(order[t.src], order[t.dst], t.chunk, t.op) for t in step]
        for step in schedule.steps
    ]
    return Schedule("all_reduce", "custom", schedule.world_size, schedule.num_chunks, tuple(steps))


# the course's chapter on topology: 2 nodes of 4 that share one network card each


@pytest.mark.parametrize(
    ("order", "megabytes", "milliseconds"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], 112, 4.564),
        ([0, 1, 4, 5, 2, 3, 6, 7], 224, 9.044),
        ([0, 4, 1, 5, 2, 6, 3, 7], 448, 18.004),
    ],
)
def test_the_order_of_a_ring_decides_what_the_shared_card_carries(order, megabytes, milliseconds):
    ring = renumbered(build("all_reduce", "ring", world_size=8), order)
    assert cost(ring, nbytes=S, topology=nodes()).seconds == pytest.approx(milliseconds * 1e-3)
    cards = bytes_per_link(ring, nbytes=S, topology=nodes())
    assert {card.nbytes for card in cards} == {megabytes * MB}
    assert sorted(card.link for card in cards) == [
        "node 0, in",
        "node 0, out",
        "node 1, in",
        "node 1, out",
    ]


def test_a_hierarchical_all_reduce_takes_less_of_the_shared_card():
    options = {"world_size": 8, "node_size": 4, "inner": "ring", "outer": "ring"}
    found = price("all_reduce", "hierarchical", nbytes=S, topology=nodes(), **options)
    assert (found.steps, found.seconds) == (8, pytest.approx(3.088e-3))
    schedule = build("all_reduce", "hierarchical", **options)
    assert cost(schedule, nbytes=S, topology=nodes()).seconds == pytest.approx(3.088e-3)
    cards = bytes_per_link(schedule, nbytes=S, topology=nodes())
    assert [card.nbytes for card in cards] == [64 * MB] * 4
    assert cards[0].seconds == pytest.approx(2560 * US)


@pytest.mark.parametrize(
    ("num_nodes", "size", "share", "steps"), [(2, 4, 0.25, 8), (4, 8, 0.1875, 20)]
)
def test_with_a_card_for_each_rank_every_card_carries_its_share(num_nodes, size, share, steps):
    n = num_nodes * size
    schedule = build(
        "all_reduce", "hierarchical", world_size=n, node_size=size, inner="ring", outer="ring"
    )
    topology = nodes(n, size, links=size)
    assert len(schedule.steps) == steps
    cards = bytes_per_link(schedule, nbytes=S, topology=topology)
    assert len(cards) == 2 * n
    assert {card.nbytes / S for card in cards} == {share}


def test_many_nodes_save_steps_not_bytes():
    def priced(algorithm, **options):
        topology = nodes(512, 8, links=8)
        return price(
            "all_reduce", algorithm, world_size=512, nbytes=S, topology=topology, **options
        )

    assert priced("hierarchical", node_size=8, inner="ring", outer="ring").steps == 140
    assert priced("ring").steps == 1022


# the course's chapter on switches that add


@pytest.mark.parametrize(("n", "gain"), [(2, 2 / 3), (3, 1.0), (6, 10 / 7), (8, 14 / 9)])
def test_nvls_gains_2_n_minus_1_over_n_plus_1_over_a_ring(n, gain):
    free = Topology.uniform(n, alpha=0.0, bandwidth=25e9)
    ring = price("all_reduce", "ring", world_size=n, nbytes=S, topology=free)
    nvls = price(
        "all_reduce", "nvls", world_size=n, nbytes=S, topology=free, num_chunks=n * 100_000
    )
    assert ring.seconds / nvls.seconds == pytest.approx(gain, rel=1e-4)
    assert nvls.bytes_sent_max == nvls.bytes_received_max == S * (n + 1) / n


def test_nvls_gains_nothing_for_gathering_and_scattering():
    free = Topology.uniform(6, alpha=0.0, bandwidth=25e9)
    for collective in ("all_gather", "reduce_scatter"):
        options = {"world_size": 6, "nbytes": 48_000_000, "topology": free}
        nvls = price(collective, "nvls", num_chunks=600_000, **options)
        ring = price(collective, "ring", **options)
        assert max(nvls.bytes_sent_max, nvls.bytes_received_max) == 48_000_000
        assert ring.seconds / nvls.seconds == pytest.approx(40 / 48, rel=1e-4)


# by hand: one second an alpha inside, three between; one byte a second inside, half between


def small(n=4, **options):
    inside = Tier(name="node", size=2, alpha=1.0, bandwidth=1.0, reduces=True)
    between = Tier(name="leaf", alpha=3.0, bandwidth=0.5, reduces=options.pop("reduces", False))
    return Topology.tiers(n, [inside, between], **options)


def test_a_message_takes_the_alpha_of_the_tier_where_it_turns_round():
    def seconds(src, dst):
        one = custom([(src, dst, 0, Op.COPY)], world_size=4)
        return cost(one, nbytes=10, topology=small()).seconds

    assert seconds(0, 1) == 1 + 10
    assert seconds(1, 2) == 3 + 20


def test_alphas_overlap_on_a_link_and_bytes_do_not():
    both = custom([(0, 2, 0, Op.COPY), (1, 3, 0, Op.COPY)], world_size=4)
    assert cost(both, nbytes=10, topology=small()).seconds == 3 + 40
    assert lower_bound("broadcast", 4, 10, small()) <= 3 + 40


def test_a_link_pays_the_largest_alpha_of_its_messages():
    node = Tier(name="node", size=2, alpha=1.0, bandwidth=9.0)
    leaf = Tier(name="leaf", size=2, alpha=2.0, bandwidth=1.0)
    topology = Topology.tiers(8, [node, leaf, Tier(name="spine", alpha=5.0, bandwidth=9.0)])
    for near, far in (((0, 2), (1, 4)), ((1, 2), (0, 4))):
        both = custom([(*near, 0, Op.COPY), (*far, 0, Op.COPY)], world_size=8)
        assert cost(both, nbytes=3, topology=topology).seconds == 5 + 6


def test_a_port_adds_the_alphas_of_near_and_far_messages():
    fan = custom([(0, 1, 0, Op.COPY), (0, 2, 0, Op.COPY), (0, 3, 0, Op.COPY)], world_size=4)
    # the port: 1 + 3 + 3 and 30 bytes; the node's link: 3 and 20 bytes at half the rate
    assert cost(fan, nbytes=10, topology=small()).seconds == max(7 + 30, 3 + 40)
    assert cost(fan, nbytes=1, topology=small()).seconds == 7 + 3
    # two at a time: the longest overlap, 3 and then 1
    assert cost(fan, nbytes=1, topology=small(in_flight=2)).seconds == 3 + 1 + 3
    assert cost(fan, nbytes=1, topology=small(in_flight=3)).seconds == 3 + 4


def test_a_shared_backplane_passes_all_bytes_one_after_another():
    bus = Tier(name="memory", alpha=1.0, bandwidth=1.0, backplane=0.5)
    topology = Topology.tiers(4, [bus])
    pairs = custom([(0, 1, 0, Op.COPY), (2, 3, 0, Op.COPY)], world_size=4)
    assert cost(pairs, nbytes=10, topology=topology).seconds == 1 + 2 * 10 / 0.5


def test_a_message_across_rails_passes_the_spine():
    node = Tier(name="node", size=2, alpha=1.0, bandwidth=8.0)
    leaf = Tier(name="leaf", size=2, alpha=2.0, bandwidth=4.0, links=2, rails=True)
    spine = Tier(name="spine", alpha=5.0, bandwidth=1.0)
    topology = Topology.tiers(8, [node, leaf, spine])

    def seconds(dst):
        return cost(
            custom([(0, dst, 0, Op.COPY)], world_size=8), nbytes=8, topology=topology
        ).seconds

    assert seconds(1) == 1 + 1  # in the node
    assert seconds(2) == 2 + 2  # same rail, same group
    assert seconds(3) == 5 + 8  # other rail
    assert seconds(4) == 5 + 8  # other group


def test_a_switch_stands_where_all_its_ranks_meet():
    up = [(rank, 4, 0, Op.REDUCE) for rank in range(4)]
    wide = custom(up, world_size=4, num_switches=1)
    assert cost(wide, nbytes=10, topology=small(reduces=True)).seconds == 3 + 40
    near = custom(up[:2], world_size=4, num_switches=1)
    assert cost(near, nbytes=10, topology=small()).seconds == 1 + 10


def test_switches_above_switches_are_placed_from_the_ranks_upwards():
    # ranks to switches 8 and 9 of their nodes, these to switch 10 above them
    steps = [
        [(0, 8, 0, Op.REDUCE), (1, 8, 0, Op.REDUCE), (2, 9, 0, Op.REDUCE), (3, 9, 0, Op.REDUCE)],
        [(8, 10, 0, Op.REDUCE), (9, 10, 0, Op.REDUCE)],
    ]
    tree = custom(*steps, world_size=8, num_switches=3)
    found = cost(tree, nbytes=10, topology=small(8, reduces=True))
    assert found.seconds == (1 + 10) + (3 + 20)


def test_a_graph_shares_the_links_on_its_shortest_routes():
    # ranks 0 and 1 on a fast switch, 2 and 3 on another, one slow cable between these
    links = [
        *(Link(rank, "left", 1.0, 4.0) for rank in (0, 1)),
        *(Link(rank, "right", 1.0, 4.0) for rank in (2, 3)),
        Link("left", "right", 2.0, 1.0),
    ]
    topology = Topology.graph(4, links)
    crossing = custom([(0, 2, 0, Op.COPY), (1, 3, 0, Op.COPY)], world_size=4)
    assert cost(crossing, nbytes=8, topology=topology).seconds == 4 + 16
    passed = bytes_per_link(crossing, nbytes=8, topology=topology)
    assert (passed[0].link, passed[0].nbytes, passed[0].seconds) == ("left to right", 16, 16)
    near = custom([(0, 1, 0, Op.COPY), (2, 3, 0, Op.COPY)], world_size=4)
    assert cost(near, nbytes=8, topology=topology).seconds == 2 + 2


def test_a_graph_prefers_the_least_alpha_and_passes_through_ranks():
    links = [Link(0, 1, 1.0, 8.0), Link(1, 2, 1.0, 2.0), Link(0, 2, 5.0, 100.0)]
    topology = Topology.graph(3, links)
    one = custom([(0, 2, 0, Op.COPY)], world_size=3)
    assert cost(one, nbytes=8, topology=topology).seconds == 2 + 4
    longer = Topology.graph(3, [*links[:2], Link(0, 2, 2.0, 100.0)])
    assert cost(one, nbytes=8, topology=longer).seconds == pytest.approx(2 + 0.08)


def test_a_one_way_link_carries_one_way():
    links = [
        Link(0, 1, 1.0, 1.0, both_ways=False),
        Link(1, "hub", 1.0, 1.0),
        Link("hub", 0, 2.0, 1.0),
    ]
    topology = Topology.graph(2, links)

    def seconds(src, dst):
        one = custom([(src, dst, 0, Op.COPY)], world_size=2)
        return cost(one, nbytes=1, topology=topology).seconds

    assert (seconds(0, 1), seconds(1, 0)) == (1 + 1, 3 + 1)


def test_switches_of_a_graph_are_its_own():
    links = [Link(rank, 4, 1.0, 1.0) for rank in range(4)]
    topology = Topology.graph(4, links, switches=1)
    up = custom([(rank, 4, 0, Op.REDUCE) for rank in range(4)], world_size=4, num_switches=1)
    assert cost(up, nbytes=10, topology=topology).seconds == 1 + 10
    found = price("all_reduce", "sharp", world_size=4, nbytes=10, topology=topology)
    assert found.seconds == 2 * (1 + 10)


# both clocks


@given(calls(most=12), st.data())
@settings(max_examples=60, deadline=None)
def test_on_shared_links_too_no_barrier_is_never_slower_with_one_peer_a_step(call, data):
    collective, algorithm, options = call
    schedule = build(collective, algorithm, **options)
    topology = data.draw(networks(options["world_size"]))
    try:
        slow = cost(schedule, nbytes=1e6, topology=topology)
    except ValueError as error:
        assert "switch" in str(error)  # noqa: PT017 - a graph without switches refuses them
        return
    fast = cost(schedule, nbytes=1e6, topology=topology, clock="data_driven")
    if slow.latency_terms <= slow.steps and topology.in_flight == 1:
        assert fast.seconds <= slow.seconds * (1 + 1e-9)
    assert fast.lower_bound <= fast.seconds * (1 + 1e-12)
    for clock, whole in (("lockstep", slow), ("data_driven", fast)):
        events = timeline(schedule, nbytes=1e6, topology=topology, clock=clock)
        assert max((e.end_s for e in events), default=0) == pytest.approx(whole.seconds, rel=1e-9)
        assert sum(e.nbytes for e in events) == pytest.approx(whole.bytes_total, rel=1e-9)


def test_messages_wait_for_each_other_on_a_link_only():
    two = custom(
        [(0, 2, 0, Op.COPY), (1, 3, 1, Op.COPY)],
        [(2, 3, 0, Op.COPY)],
        world_size=4,
        num_chunks=2,
    )
    events = timeline(two, nbytes=20, topology=small(), clock="data_driven")
    spans = {(e.src, e.dst): (e.start_s, e.end_s) for e in events}
    # the second to come to the link gets it 20 seconds later; rank 2 then waits for rank 3's port
    assert spans == {(0, 2): (0, 23), (1, 3): (0, 43), (2, 3): (43, 54)}


@pytest.mark.parametrize(
    ("machine", "algorithm", "n", "answer"),
    [
        ("dgx-h100", "nvls", 8, "node"),
        ("dgx-h100", "sharp", 8, None),  # an NVSwitch gives a sum to the GPU that reads it
        ("dgx-h100", "nvls", 16, None),
        ("dgx-a100", "nvls", 8, None),  # its NVSwitch cannot add
        ("gb200-nvl72", "nvls", 72, "node"),
        ("rail-cluster", "nvls", 8, "node"),
        ("rail-cluster", "sharp", 8, "leaf"),  # through the adapters, although NVLink is nearer
        ("rail-cluster", "nvls", 16, None),
        ("fat-tree-cluster", "sharp", 64, "spine"),
    ],
)
def test_a_switch_adds_only_in_the_way_it_can(machine, algorithm, n, answer):
    topology = Topology.preset(machine, n)
    made = build("all_reduce", algorithm, world_size=n)
    for asked in (
        lambda: cost(made, nbytes=2**20, topology=topology),
        lambda: price("all_reduce", algorithm, world_size=n, nbytes=2**20, topology=topology),
    ):
        if answer is None:
            with pytest.raises(ValueError, match=rf"add(s)? as {algorithm} needs it"):
                asked()
        else:
            wire = {"node": topology.bandwidth, "leaf": 49e9, "spine": 49e9}[answer]
            assert asked().seconds >= 2**20 / wire
            assert asked().seconds < 3 * 2**20 / wire + 1e-4


def test_a_schedule_of_another_name_may_use_any_switch_that_adds():
    topology = Topology.preset("dgx-h100", 8)
    tree = build("all_reduce", "sharp", world_size=8)
    own = Schedule("all_reduce", "mine", 8, tree.num_chunks, tree.steps, num_switches=1)
    assert cost(own, nbytes=2**20, topology=topology).seconds > 0


@pytest.mark.parametrize(
    ("machine", "n", "nodes", "options", "words"),
    [
        ("rail-cluster", 32, 16, {"inner": "nvls"}, "inner is 'nvls'.*holds 8 ranks"),
        ("dgx-h100", 16, (6, 6, 4), {"inner": "nvls"}, "inner is 'nvls'.*holds 8 ranks"),
        ("dgx-h100", 8, 4, {"outer": "sharp"}, "outer is 'sharp'.*on one node"),
    ],
)
def test_switches_of_a_hierarchy_stand_where_they_can(machine, n, nodes, options, words):
    topology = Topology.preset(machine, n)
    asked = {"world_size": n, "nbytes": 2**20, "topology": topology, **options}
    with pytest.raises(ValueError, match=words):
        price("all_reduce", "hierarchical", node_size=nodes, **asked)
    plain = price("all_reduce", "hierarchical", node_size=nodes, **(asked | dict.fromkeys(options)))
    assert plain.switch_bytes_in == 0


def test_nvls_inside_nodes_and_sharp_between_them_are_priced_where_they_stand():
    topology = Topology.preset("rail-cluster", 32)
    found = price(
        "all_reduce",
        "hierarchical",
        world_size=32,
        nbytes=2**30,
        topology=topology,
        node_size=4,
        inner="nvls",
        outer="sharp",
    )
    assert found.switch_bytes_in > 0
