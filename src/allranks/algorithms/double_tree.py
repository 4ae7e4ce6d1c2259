"""The double binary tree: two trees over the same ranks, each for half of the vector.

In one binary tree half of the ranks are leaves, which only send S and receive S, while an inner
rank takes in 2S on the way up and sends 2S on the way down. In two trees with leaves and inner
ranks swapped every rank has its share of both. Source: P. Sanders, J. Speck, J. L. Träff,
"Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009.

The trees are NCCL's (NVIDIA/nccl v2.30.7 src/graph/trees.cc, ncclGetDtree). NCCL lays them over
nodes, and lets the sums of some chunks come down while others still go up; here all go up first.
That costs no bandwidth, because with two trees the ports of an inner rank are busy both ways in
every step of either phase. With one message at a time per port, taking turns between up and down
would even be slower, since a chunk then waits up to four steps at every rank instead of two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from allranks.schedule import Op, Step, Transfer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOBODY = -1


class Edge(NamedTuple):
    """A link of one of the two trees, and the step of the way down in which chunk 0 takes it."""

    tree: int
    parent: int
    child: int
    start: int


def double_binary_tree_all_reduce(world_size: int, num_chunks: int = 2) -> Iterator[Step]:
    """Add up along two trees, then send the sums down: 4 log2 n + 2k - 8 steps of S/k, or two more.

    The first half of the k chunks takes tree 0, the other half tree 1. No rank sends to two or
    hears from two in one step: with one message in flight at a port, a rank that took both
    children's chunks at once would pay two alphas and the time of two chunks in every step, and
    nobody would gain. (Where several are in flight, as on an NVSwitch, it would gain up to half of
    the alphas.) The children of a rank, and the two messages that a rank sends up, take turns
    instead (`turn`). So chunk j follows chunk j - 1
    of its tree after two steps; each way takes `num_steps_down`, the way up is the way down
    backwards. The roots send S and receive S, all others 2S; for odd n, rank 0 is inner in both
    trees, and it and rank n - 1 move 1.5 S. Over all ranks, 2(n - 1)S: as much as in a ring.
    """
    per_tree = num_chunks // 2
    total = num_steps_down(world_size, num_chunks)
    started: defaultdict[int, list[Edge]] = defaultdict(list)
    for edge in edges(world_size):
        started[edge.start].append(edge)
    down = [
        [(edge, chunk) for chunk in range(per_tree) for edge in started[step - pace * chunk]]
        for pace in [chunk_distance(world_size)]
        for step in range(total)
    ]
    for step in reversed(down):
        yield [
            Transfer(e.child, e.parent, (e.tree + 1) * per_tree - 1 - chunk, Op.REDUCE)
            for e, chunk in step
        ]
    for step in down:
        yield [Transfer(e.parent, e.child, e.tree * per_tree + chunk, Op.COPY) for e, chunk in step]


def uneven_halves(world_size: int, num_chunks: int | None = None) -> str:
    """Return why two trees cannot share so many chunks; "" where they can."""
    if world_size == 1 or num_chunks is None or num_chunks % 2 == 0:
        return ""
    return (
        f"num_chunks is {num_chunks}; double_binary_tree gives each of its two trees half of the "
        "chunks, so it needs an even number"
    )


def num_steps_down(world_size: int, num_chunks: int) -> int:
    """Return the steps of one way: 2L + k - 4 for n >= 3, L = ceil(log2 n); one more if 4 | n.

    The farthest leaf is L edges below its root, and L - 1 times a chunk may have to wait for its
    turn one step more: 2L - 1 steps. Where 4 does not divide n, `turn` sends it on without a wait
    once. The other k/2 - 1 chunks of a tree take two steps each. Two ranks exchange one message
    each way in every step, k/2 of them.
    """
    if world_size <= 2:  # noqa: PLR2004 - no rank has two children
        return num_chunks // 2 * (world_size - 1)
    depth = (world_size - 1).bit_length()
    return 2 * depth + num_chunks - 4 + (world_size % 4 == 0)


def chunk_distance(world_size: int) -> int:
    """Return how many steps lie between two chunks of one tree; two ranks need no turns."""
    return min(world_size - 1, 2)


def double_tree(world_size: int) -> tuple[list[int], list[int]]:
    """Return the parents of every rank in tree 0 and tree 1; NOBODY (-1) for the roots.

    Tree 1 is tree 0 mirrored (rank r becomes n - 1 - r) for even n, shifted by one rank for odd n.

    >>> double_tree(6)
    ([-1, 2, 4, 2, 0, 4], [1, 5, 3, 1, 3, -1])
    """
    first = binary_tree(world_size)
    if world_size % 2:
        moved = [first[rank - 1] for rank in range(world_size)]
        return first, [up if up == NOBODY else (up + 1) % world_size for up in moved]
    mirrored = reversed(first)
    return first, [up if up == NOBODY else world_size - 1 - up for up in mirrored]


def binary_tree(world_size: int) -> list[int]:
    """Return the parent of every rank in a tree whose odd ranks are leaves; rank 0 is the root.

    With b the lowest bit set in r, the parent is r - b or r + b, whichever is not divisible by 4b;
    if that is beyond the last rank, r - b. The root has one child, the highest power of two below
    n.

    >>> binary_tree(6)
    [-1, 2, 4, 2, 0, 4]
    """
    parents = [NOBODY]
    for rank in range(1, world_size):
        bit = rank & -rank
        up = (rank ^ bit) | (bit << 1)
        parents.append(up if up < world_size else rank ^ bit)
    return parents


def children(parents: list[int]) -> list[list[int]]:
    """Return the children of every rank, in order of their numbers: two at most.

    >>> children(binary_tree(6))
    [[4], [], [1, 3], [], [2, 5], []]
    """
    found: list[list[int]] = [[] for _ in parents]
    for rank, up in enumerate(parents):
        if up != NOBODY:
            found[up].append(rank)
    return found


def edges(world_size: int) -> list[Edge]:
    """Return the links of both trees with the step of the way down in which they begin.

    A rank passes a chunk on in the next step to the child whose turn it then is, and to the other
    one a step later.
    """
    found: list[Edge] = []
    for tree, parents in enumerate(double_tree(world_size)):
        below = children(parents)
        level = [(parents.index(NOBODY), NOBODY)]
        while level:
            links = []
            for parent, start in level:
                for child in below[parent]:
                    wait = 2 - (turn(world_size, tree, child) != start % 2)
                    links.append(Edge(tree, parent, child, start + wait))
            found += links
            level = [(edge.child, edge.start) for edge in links]
    return found


def turn(world_size: int, tree: int, rank: int) -> int:
    """Return 0 or 1: whether a rank other than the root talks to its parent in even or odd steps.

    Two ranks with the same parent have different turns, and so have the two messages of one rank
    to its parents in the two trees. Links that exclude each other thus form paths and circles of
    even length, and one could follow these; in these trees one can count bits instead.

    A link is told by its `place`, the lower rank in tree 0 before tree 1 is made of it. Places with
    the same parent differ in one set bit above their lowest, and in one zero bit; a leaf of one
    tree is an inner rank of the other, which ties neighbors (places 2 apart) together. If these are
    4q and 4q + 2, the set bits decide; if they are 4q + 2 and 4q + 4, the hops that it takes to
    go up by the lowest bit. Both roots begin, in turn 0. The tests compare all n up to 600.

    >>> [turn(6, 0, rank) for rank in range(1, 6)], [turn(6, 1, rank) for rank in range(5)]
    ([1, 1, 0, 0, 0], [0, 0, 0, 1, 1])
    """
    n = world_size
    if n % 2 == 0:
        place = n - 1 - rank if tree else rank
        return 1 - _even_turn(n, n - 1 - place) if place % 2 else _even_turn(n, place)
    place = (rank - 1) % n if tree else rank
    if tree:
        return 1 - _hops_up(place + 1, n) % 2 if place % 2 else _hops_down(place, n) % 2
    return 1 - _hops_down(place - 1, n) % 2 if place % 2 else _hops_up(place, n) % 2


def _even_turn(world_size: int, place: int) -> int:
    """Return the turn of an even place where n is even; place 0 has no link and counts as 1."""
    if world_size % 4 == 0 or place == 0:
        return (place.bit_count() + 1) % 2
    return _hops_up(place, world_size) % 2


def _hops_up(place: int, world_size: int) -> int:
    """Return how many times the lowest bit can be added, place > 0, while a rank is there."""
    hops = 0
    while place + (place & -place) < world_size:
        place += place & -place
        hops += 1
    return hops


def _hops_down(place: int, world_size: int) -> int:
    """Return how many times the lowest bit is taken away until no rank is left to go up to."""
    hops = 0
    while place and place + (place & -place) < world_size:
        place -= place & -place
        hops += 1
    return hops


def edge_columns(world_size: int) -> NDArray[np.int64]:
    """Return what `edges` says as rows tree, parent, child, start: quickly, for huge n.

    Links are in order of tree and of the child's place.

    >>> edge_columns(3).T.tolist()
    [[0, 2, 1, 1], [0, 0, 2, 0], [1, 0, 2, 1], [1, 1, 0, 0]]
    """
    import numpy as np  # noqa: PLC0415 - small schedules need the standard library alone

    n = world_size
    place = np.arange(n, dtype=np.int64)
    bit = place & -place
    up = np.where((place ^ bit | 2 * bit) < n, place ^ bit | 2 * bit, place ^ bit)
    columns = []
    for tree, turns in enumerate(_turns(n)):
        start = np.full(n, -1, dtype=np.int64)
        for low in reversed([1 << dim for dim in range((n - 1).bit_length())]):
            now = place[low :: 2 * low]
            before = start[up[now]]
            start[now] = before + 2 - (turns[now] != before % 2)
        rank = [place, n - 1 - place if n % 2 == 0 else (place + 1) % n][tree]
        columns.append(np.stack([np.full(n, tree), rank[up], rank, start])[:, 1:])
    return np.concatenate(columns, axis=1)


def _turns(world_size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the turns of all places in both trees, as `turn` does for one rank.

    Below the highest bit in which a place differs from the last one, it loses all bits on the way
    down, and on the way up fills the gaps between them.
    """
    import numpy as np  # noqa: PLC0415 - as above

    n = world_size
    place = np.arange(n + 1)
    odd = place[:n] % 2 == 1
    highest = 1 << (np.frexp(place ^ (n - 1))[1] - 1).clip(0)
    below = place & (highest - 1)
    down = np.bitwise_count(below).astype(np.int64)
    gaps = np.bitwise_count(highest - (below & -below)).astype(np.int64)
    up = np.where(below > 0, gaps + 1 - down, 0)
    if n % 2:
        first = np.where(odd, 1 - down[place[:n] - 1], up[:n]) % 2
        return first, np.where(odd, 1 - up[1:], down[:n]) % 2
    bits = np.bitwise_count(place[:n]).astype(np.int64)
    even = (bits + 1 if n % 4 == 0 else np.where(place[:n] > 0, up[:n], 1)) % 2
    both = np.where(odd, 1 - even[::-1], even)
    return both, both
