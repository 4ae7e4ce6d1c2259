"""Hierarchy: one algorithm inside the nodes, another between them.

Inside a node links are fast and many; between nodes there is one network port per rank or less. So
the vector is first shared out inside every node, then every rank works for its own share with the
ranks of the other nodes that hold the same, and at the end the node puts its shares together again.
Nothing is written anew for this: `embed` plays any algorithm on some of the ranks and chunks, and
`together` plays several at once. With switches that add inside (`inner="nvls"`) or between nodes
(`outer="sharp"`), every node and every share of the vector has switches of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from allranks.errors import unknown_name
from allranks.schedule import Step, Transfer

if TYPE_CHECKING:
    from allranks.algorithms import Algorithm

NodeSize = int | tuple[int, ...]
NODE_SIZE = 8
# Unequal nodes need as many slots as the least common multiple of their sizes, which can explode.
MAX_CHUNKS = 1 << 22
# What runs inside a node alone, and why.
ONE_DOMAIN = {
    "nvls": "adds in an NVSwitch, and that joins the GPUs of one node only: inner can be 'nvls'"
}


def hierarchical_all_reduce(
    world_size: int,
    node_size: NodeSize = NODE_SIZE,
    inner: str = "ring",
    outer: str = "ring",
) -> Iterator[Step]:
    """Reduce-scatter inside nodes, all-reduce between them, all-gather inside.

    With rings on N nodes of g ranks: 2(g - 1) + 2(N - 1) steps. Inside, a rank sends 2(g - 1)/g S;
    to other nodes 2(N - 1)/N of the S/g that it holds, so all g network ports work all the time.

    `node_size` is the number of ranks in a node (the last has what is left), or one number for
    every node. Where nodes differ, the vector is cut into as many slots as the least common
    multiple of their sizes: a rank of a node of g ranks holds 1/g of them, and for every slot there
    is one all-reduce between the ranks that hold it. So no rank is idle. `inner` is an algorithm
    that all_gather and reduce_scatter both have (or recursive_halving, whose all_gather is
    recursive_doubling), `outer` one of all_reduce; both run with their usual numbers of chunks.
    Nodes with fewer steps than others wait.

    `outer="sharp"` is what NCCL calls CollNet: S/g up to the network's switches and as much down,
    in two steps (NVIDIA/nccl#457). `inner="nvls"` with `outer="double_binary_tree"` is its
    NVLSTree: a switch adds inside nodes, trees add between them. Switches are the endpoints from n
    on: first those inside nodes, node after node (a node of one rank has none), then those between
    nodes, one set for each of `shares`, in their order, so that on a network of rails the switch of
    every rail is its own.
    """
    sizes = node_sizes(world_size, node_size)
    whole = range(all_reduce_chunks(world_size, node_size, inner, outer))
    across = _chosen("all_reduce", outer)
    pieces = across.default_chunks(len(sizes))
    nodes = nodes_of(sizes, inner)
    parts = shares(sizes, len(whole))
    yield from _inside(_chosen("reduce_scatter", inner), nodes, whole)
    yield from together(
        embed(across.generator(len(sizes)), [*share.ranks, *above], _cut(share.chunks, pieces))
        for share, above in zip(parts, switches_between(sizes, inner, outer), strict=True)
    )
    yield from _inside(_chosen("all_gather", backwards(inner)), nodes, whole)


def hierarchical_all_to_all(
    world_size: int,
    node_size: NodeSize = NODE_SIZE,
    inner: str = "direct",
    outer: str = "direct",
) -> Iterator[Step]:
    """Swap inside nodes by destination, then between nodes: two steps, if both swaps are direct.

    First every rank gives its node's rank l all that is meant for rank l of any node; then rank l
    swaps with the ranks l of the other nodes. A rank sends (g - 1)/g S inside and (N - 1)/N S to
    other nodes, but to these in N - 1 messages instead of g (N - 1). Needs nodes of equal size.
    Source: the two-step all-to-all of Azure/msccl-tools.
    """
    g = node_sizes(world_size, node_size)[0]
    nodes = range(world_size // g)
    yield from together(
        embed(
            _chosen("all_to_all", inner).generator(g),
            range(node * g, node * g + g),
            [
                [(node * g + src) * world_size + other * g + dst for other in nodes]
                for src in range(g)
                for dst in range(g)
            ],
        )
        for node in nodes
    )
    yield from together(
        embed(
            _chosen("all_to_all", outer).generator(len(nodes)),
            range(local, world_size, g),
            [
                [(here * g + src) * world_size + there * g + local for src in range(g)]
                for here in nodes
                for there in nodes
            ],
        )
        for local in range(g)
    )


def embed(
    steps: Iterable[Step], ranks: Sequence[int], chunks: Sequence[Iterable[int]]
) -> Iterator[Step]:
    """Play an algorithm on some ranks and chunks of a bigger world.

    Its rank i is rank `ranks[i]`, and what it does with its chunk c is done with all `chunks[c]`.
    If it has switches, they are the last of `ranks`.

    >>> from allranks.schedule import Op
    >>> swap = [[Transfer(0, 1, 0, Op.COPY)]]
    >>> list(embed(swap, ranks=[5, 7], chunks=[(2, 3)]))[0][1]
    Transfer(src=5, dst=7, chunk=3, op=<Op.COPY: 'copy'>)
    """
    for step in steps:
        yield [
            Transfer(ranks[t.src], ranks[t.dst], chunk, t.op)
            for t in step
            for chunk in chunks[t.chunk]
        ]


def together(schedules: Iterable[Iterable[Step]]) -> Iterator[Step]:
    """Play several algorithms at once: step s of all of them is one step; shorter ones wait."""
    for steps in zip_longest(*schedules, fillvalue=()):
        yield list(chain.from_iterable(steps))


class Share(NamedTuple):
    """Chunks that one rank of every node holds after the reduce-scatters, and these ranks."""

    ranks: list[int]
    chunks: range


def shares(sizes: Sequence[int], num_chunks: int) -> list[Share]:
    """Return who works with whom between nodes: runs of chunks with the same holder in every node.

    In a node of g ranks each holds num_chunks / g chunks, in order.

    >>> shares([2, 3], 6)[1]
    Share(ranks=[0, 3], chunks=range(2, 3))
    """
    cuts = _borders(sizes, num_chunks)
    nodes = list(zip(accumulate(sizes, initial=0), sizes, strict=False))
    return [
        Share([first + start * g // num_chunks for first, g in nodes], range(start, stop))
        for start, stop in pairwise(cuts)
    ]


class Node(NamedTuple):
    """The ranks of a node, and the switches inside it."""

    ranks: range
    switches: range


def nodes_of(sizes: Sequence[int], inner: str) -> list[Node]:
    """Return all nodes, with the switches that `inner` has there, numbered from n on.

    >>> nodes_of([2, 3], "nvls")[1]
    Node(ranks=range(2, 5), switches=range(6, 7))
    """
    known = {g: _chosen("reduce_scatter", inner).num_switches(g) for g in set(sizes)}
    first, switch = 0, sum(sizes)
    found = []
    for g in sizes:
        found.append(Node(range(first, first + g), range(switch, switch + known[g])))
        first, switch = first + g, switch + known[g]
    return found


def switches_between(sizes: Sequence[int], inner: str, outer: str) -> list[range]:
    """Return for each of `shares` the switches that `outer` has for it, after those inside nodes.

    >>> switches_between([2, 2], "nvls", "sharp")
    [range(6, 7), range(7, 8)]
    """
    each = _chosen("all_reduce", outer).num_switches(len(sizes))
    first = nodes_of(sizes, inner)[-1].switches.stop
    count = len(_borders(sizes, math.lcm(*sizes))) - 1
    return [range(first + i * each, first + (i + 1) * each) for i in range(count)]


def all_reduce_switches(
    world_size: int,
    node_size: NodeSize = NODE_SIZE,
    inner: str = "ring",
    outer: str = "ring",
) -> int:
    """Return the number of switches inside all nodes and between them.

    >>> all_reduce_switches(16, 8, inner="nvls"), all_reduce_switches(16, 8, outer="sharp")
    (2, 8)
    """
    sizes = node_sizes(world_size, node_size)
    return switches_between(sizes, inner, outer)[-1].stop - world_size


def node_sizes(world_size: int, node_size: NodeSize) -> tuple[int, ...]:
    """Return the number of ranks of every node; the last may have fewer than asked.

    >>> node_sizes(20, 8)
    (8, 8, 4)
    """
    if isinstance(node_size, tuple):
        return node_size
    full, rest = divmod(world_size, node_size)
    return (node_size,) * full + ((rest,) if rest else ())


def backwards(inner: str) -> str:
    """Return the all_gather that plays a reduce_scatter backwards: mostly its namesake.

    >>> backwards("ring"), backwards("recursive_halving")
    ('ring', 'recursive_doubling')
    """
    return "recursive_doubling" if inner == "recursive_halving" else inner


def all_reduce_chunks(
    world_size: int,
    node_size: NodeSize = NODE_SIZE,
    inner: str = "ring",
    outer: str = "ring",
) -> int:
    """Return how many chunks are used: a slot for every part of every node, cut for `outer`.

    >>> all_reduce_chunks(20, 8), all_reduce_chunks(8, (2, 3, 3))
    (24, 18)
    """
    sizes = node_sizes(world_size, node_size)
    slots = math.lcm(*sizes) * _chosen("all_reduce", outer).default_chunks(len(sizes))
    inside = (_chosen("reduce_scatter", inner), _chosen("all_gather", backwards(inner)))
    return math.lcm(slots, *(entry.default_chunks(g) for entry in inside for g in set(sizes)))


def refuse_all_reduce(
    world_size: int,
    node_size: NodeSize = NODE_SIZE,
    inner: str = "ring",
    outer: str = "ring",
) -> str:
    """Return why the ranks, nodes and algorithms do not fit together; "" where they do."""
    if reason := _wrong_nodes(world_size, node_size):
        return reason
    sizes = node_sizes(world_size, node_size)
    return (
        _wrong_choice("inner", inner, ("reduce_scatter", "all_gather"), set(sizes))
        or _wrong_choice("outer", outer, ("all_reduce",), {len(sizes)})
        or _too_many_chunks(all_reduce_chunks(world_size, node_size, inner, outer))
    )


def refuse_all_to_all(
    world_size: int,
    node_size: NodeSize = NODE_SIZE,
    inner: str = "direct",
    outer: str = "direct",
) -> str:
    """Return why the ranks, nodes and algorithms do not fit together; "" where they do."""
    if reason := _wrong_nodes(world_size, node_size):
        return reason
    sizes = node_sizes(world_size, node_size)
    if len(set(sizes)) > 1:
        return (
            f"node_size gives nodes of {min(sizes)} to {max(sizes)} ranks; hierarchical all_to_all "
            "needs equal nodes, because rank l of a node swaps with the ranks l of the others; "
            f"choose a divisor of {world_size}, or pairwise, which knows no nodes"
        )
    return _wrong_choice("inner", inner, ("all_to_all",), set(sizes)) or _wrong_choice(
        "outer", outer, ("all_to_all",), {len(sizes)}
    )


def _wrong_nodes(world_size: int, node_size: NodeSize) -> str:
    sizes = node_size if isinstance(node_size, tuple) else (node_size,)
    if not sizes or not all(type(size) is int and size > 0 for size in sizes):
        return (
            f"node_size is {node_size!r}; it must be a whole number of at least 1, or one for each "
            "node, as in (8, 8, 4)"
        )
    if isinstance(node_size, tuple) and sum(node_size) != world_size:
        return (
            f"node_size is {node_size}, {sum(node_size)} ranks in all, but world_size is "
            f"{world_size}; the numbers must add up to it"
        )
    return ""


def _wrong_choice(
    parameter: str, name: str, collectives: Sequence[str], sizes: Iterable[int]
) -> str:
    """Return why an algorithm cannot run inside or between nodes on so many ranks."""
    table = _table()
    known = {algorithm for _, algorithm in table}
    unfit = ONE_DOMAIN if (parameter, *collectives) == ("outer", "all_reduce") else {}

    def keys(of_one: str) -> list[tuple[str, str]]:
        return [(of, backwards(of_one) if of == "all_gather" else of_one) for of in collectives]

    fit = {one for one in known - set(unfit) if all(key in table for key in keys(one))}
    if name not in known:
        return unknown_name(f"{parameter} algorithm", name, fit)
    if name not in fit:
        lacks = unfit.get(name, f"is not for {' and '.join(collectives)}")
        return f"{parameter} is {name!r}, which {lacks}; use one of {', '.join(sorted(fit))}"
    reasons = (table[key].refuse(size) for key in keys(name) for size in sorted(sizes))
    return next((f"{parameter}: {reason}" for reason in reasons if reason), "")


def _too_many_chunks(num_chunks: int) -> str:
    if num_chunks <= MAX_CHUNKS:
        return ""
    return (
        f"node_size needs {num_chunks:,} chunks, the least common multiple of the nodes' sizes "
        f"times the chunks of the outer algorithm; {MAX_CHUNKS:,} is the most; choose sizes that "
        "have more divisors in common"
    )


def _inside(entry: Algorithm, nodes: Sequence[Node], whole: range) -> Iterator[Step]:
    """Play an algorithm inside all nodes at once, each on the whole vector."""
    return together(
        embed(
            entry.generator(len(ranks)),
            [*ranks, *switches],
            _cut(whole, entry.default_chunks(len(ranks))),
        )
        for ranks, switches in nodes
    )


def _borders(sizes: Sequence[int], num_chunks: int) -> list[int]:
    """Return the chunks before which the holder changes in some node, and the number of chunks."""
    return sorted({num_chunks // g * local for g in set(sizes) for local in range(g + 1)})


def _cut(chunks: range, pieces: int) -> list[range]:
    """Cut a run of chunks into equal pieces."""
    length = len(chunks) // pieces
    return [chunks[i * length : (i + 1) * length] for i in range(pieces)]


def _chosen(collective: str, name: str) -> Algorithm:
    return _table()[collective, name]


def _table() -> dict[tuple[str, str], Algorithm]:
    from allranks.algorithms import ALGORITHMS  # noqa: PLC0415 - the table imports this module

    return ALGORITHMS
