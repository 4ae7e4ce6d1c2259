"""Which chunks are filmed in each algorithm, and how all others follow them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from allranks.algorithms.double_tree import chunk_distance
from allranks.algorithms.folded import films
from allranks.algorithms.folded.rows import COPY, NOTHING, REDUCE, Array, Rows, both, rows_of, then
from allranks.algorithms.hierarchical import (
    NODE_SIZE,
    all_reduce_switches,
    backwards,
    node_sizes,
)

ALONE = "no symmetry needed: every chunk is filmed"
ROTATION = "rotation: chunk c moves as chunk 0 does, with rank r + c in the place of rank r"
EXCLUSIVE_OR = "XOR: chunk c moves as chunk 0 does, with rank r XOR c in the place of rank r"
REVERSED = "XOR: chunk c moves as chunk 0 does, with r XOR (the bits of c reversed) for rank r"
PAIRS = "rotation: chunks 2q and 2q + 1 move as 0 and 1 do, with rank r + 2q in the place of rank r"
DELAY = "delay: chunk c moves as chunk 0 does, c steps later"
TREES = "delay: the chunks of a tree move as its first one does, some steps later"
HEADS = "rotation: the chunks of head h move as those of head 0 do, with rank r + h for rank r"
SOURCES = (
    "rotation: what rank s sends s + j moves as what rank 0 sends j, with rank r + s for rank r"
)


class Place(NamedTuple):
    """For each chunk of a row: which film it follows, turned by what, how many steps later."""

    film: Array
    turn: Array
    delay: Array


class Size(NamedTuple):
    """What a film is made for: the sizes, the root (0 where there is none), and the parameters."""

    n: int
    num_chunks: int
    root: int
    parameters: dict[str, Any]


class Pattern(NamedTuple):
    """The films of some chunks, and how all chunks follow them; see `Folded`."""

    rows: Rows
    symmetry: str
    representatives: Array
    copies: Array
    radices: tuple[int, ...]
    place: Callable[[Array], Place]


Pack: TypeAlias = Callable[[Size], Pattern | None]


def _alone(size: Size, rows: Rows) -> Pattern:
    """Every chunk is its own film."""
    every = np.arange(size.num_chunks)
    return _pattern(size, rows, ALONE, every, film=np.asarray)


def _pattern(  # noqa: PLR0913 - one for each field that differs
    size: Size,
    rows: Rows,
    symmetry: str,
    representatives: Any = (0,),  # noqa: ANN401 - numbers
    *,
    film: Callable[[Array], Array] = np.zeros_like,
    turn: Callable[[Array], Array] = np.zeros_like,
    delay: Callable[[Array], Array] = np.zeros_like,
    radices: tuple[int, ...] | None = None,
) -> Pattern:
    """Return a pattern in which every film has as many copies; `radices` is n alone by default."""

    def place(chunk: Array) -> Place:
        return Place(film(chunk), turn(chunk), delay(chunk))

    filmed = np.asarray(representatives, dtype=np.int64)
    copies = np.full(len(filmed), size.num_chunks // len(filmed))
    return Pattern(rows, symmetry, filmed, copies, radices or (size.n,), place)


def _turning(*phases: Callable[[int], Rows]) -> Pack:
    """Films that rotate with the number of the chunk, which is that of a rank."""

    def pack(size: Size) -> Pattern:
        rows = then(*(phase(size.n) for phase in phases))
        return _pattern(size, rows, ROTATION, turn=np.asarray)

    return pack


def _whole(*phases: Callable[[int], Rows]) -> Pack:
    """One film, of the only chunk there is, with ranks counted from the root."""

    def pack(size: Size) -> Pattern:
        return _alone(size, _from_root(then(*(phase(size.n) for phase in phases)), size))

    return pack


def _from_root(rows: Rows, size: Size) -> Rows:
    if size.root == 0:
        return rows
    return rows._replace(src=(rows.src + size.root) % size.n, dst=(rows.dst + size.root) % size.n)


def _chain(reduce: bool) -> Pack:  # noqa: FBT001 - REDUCE or COPY
    """From the root to the right, or back to it the same way round."""

    def pack(size: Size) -> Pattern:
        hop = np.arange(size.n - 1)
        rows = rows_of(hop, hop + reduce, (hop + 1 + reduce) % size.n, reduce)
        return _pattern(size, _from_root(rows, size), DELAY, delay=np.asarray)

    return pack


def _flat_blocks(*, out: bool) -> Pack:
    """The root and one rank a step, with the block of this rank."""

    def pack(size: Size) -> Pattern:
        other = (np.arange(1, size.n) + size.root) % size.n
        src, dst = (size.root, other) if out else (other, size.root)
        return _alone(size, rows_of(np.arange(size.n - 1), src, dst, COPY, other))

    return pack


def _binomial_blocks(*, out: bool) -> Pack:
    """Block v, counted from the root, makes the hops of the bits of v: the highest first."""

    def pack(size: Size) -> Pattern:
        block = np.arange(size.n)
        depth = (size.n - 1).bit_length()
        hops = []
        for bit in range(depth):
            far = block[(block >> bit) % 2 == 1]
            near = far & -(2 << bit)
            src, dst = (near, near + (1 << bit)) if out else (near + (1 << bit), near)
            hops.append(rows_of(depth - 1 - bit if out else bit, src, dst, COPY, far))
        rows = _from_root(both(*hops), size)
        return _alone(size, rows._replace(chunk=(rows.chunk + size.root) % size.n))

    return pack


def _xor(*phases: Callable[[int], Rows]) -> Pack:
    """Films that follow the number of the chunk by XOR, for n a power of two."""

    def pack(size: Size) -> Pattern | None:
        if size.n & (size.n - 1):
            return None
        rows = then(*(phase(size.n) for phase in phases))
        return _pattern(size, rows, EXCLUSIVE_OR, turn=np.asarray, radices=_twos(size.n))

    return pack


def _twos(n: int) -> tuple[int, ...]:
    return (2,) * (n.bit_length() - 1)


def _rabenseifner(size: Size) -> Pattern | None:
    """Chunk 0 comes to rank 0 from near first, and goes back; chunk c belongs to its bits reversed.

    Before the step of distance d, chunk 0 is with the multiples of d; the odd ones send it on.
    """
    if size.n & (size.n - 1):
        return None
    width = size.n.bit_length() - 1
    near = [
        rows_of(bit, odd, odd - (1 << bit), REDUCE)
        for bit in range(width)
        for odd in [np.arange(1 << bit, size.n, 2 << bit)]
    ]
    come = both(*near)
    go = rows_of(width - 1 - come.step, come.dst, come.src, COPY)
    turn = partial(_bits_reversed, width)
    return _pattern(size, then(come, go), REVERSED, turn=turn, radices=_twos(size.n))


def _bits_reversed(width: int, number: Array) -> Array:
    turned = np.zeros_like(number)
    for bit in range(width):
        turned |= (number >> bit & 1) << (width - 1 - bit)
    return turned


def _double_binary_tree(size: Size) -> Pattern:
    per_tree, pace = size.num_chunks // 2, chunk_distance(size.n)
    return _pattern(
        size,
        films.double_tree(size.n, size.num_chunks),
        TREES,
        (0, per_tree),
        film=lambda chunk: chunk // per_tree,
        delay=lambda chunk: pace * (chunk % per_tree),
    )


def _switches(size: Size) -> Pattern:
    rows = films.sharp(size.n, size.parameters.get("radix"))
    return _pattern(size, rows, DELAY, delay=np.asarray)


def _heads(*stages: str) -> Pack:
    """Every rank is head of as many chunks, one step after another."""

    def pack(size: Size) -> Pattern:
        slices = size.num_chunks // size.n
        rows = films.nvls(size.n, stages)
        return _pattern(
            size,
            rows,
            HEADS,
            turn=lambda chunk: chunk // slices,
            delay=lambda chunk: chunk % slices,
        )

    return pack


def _pairs(size: Size) -> Pattern:
    return _pattern(
        size,
        films.neighbor_exchange(size.n),
        PAIRS,
        (0, 1),
        film=lambda chunk: chunk % 2,
        turn=lambda chunk: chunk // 2 * 2,
        radices=(size.n // 2, 2),
    )


def _from_sources(blocks: Callable[[int], Rows]) -> Pack:
    """Chunk src n + dst moves as chunk dst - src, the block that rank 0 has for rank dst - src."""

    def pack(size: Size) -> Pattern:
        n = size.n
        return _pattern(
            size,
            blocks(n),
            SOURCES,
            np.arange(n),
            film=lambda chunk: (chunk % n - chunk // n) % n,
            turn=lambda chunk: chunk // n,
        )

    return pack


def _hierarchical_all_reduce(size: Size) -> Pattern | None:
    """The films of the outer algorithm, between ranks 0 of the nodes, and inside before and after.

    With P outer pieces, chunk l P + j has rank l of every node as its owner inside, and is piece j
    between them. What happens inside is the same in every node, and what happens between nodes is
    the same for every l: so the two turns are two groups of digits of one. With switches there are
    no films, because turns leave switches alone, but every node or every l has its own.
    """
    if all_reduce_switches(size.n, **size.parameters):
        return None
    sizes = node_sizes(size.n, size.parameters.get("node_size", NODE_SIZE))
    inner, outer = (size.parameters.get(name, "ring") for name in ("inner", "outer"))
    g, num_nodes, pieces = sizes[0], len(sizes), size.num_chunks // sizes[0]
    halves = (("reduce_scatter", inner), ("all_gather", backwards(inner)))
    inside = [pack_of(of, name, Size(g, g, 0, {})) for of, name in halves]
    across = pack_of("all_reduce", outer, Size(num_nodes, pieces, 0, {}))
    if len(set(sizes)) > 1 or across is None or across.place(np.arange(pieces)).delay.any():
        return None
    filmed, first = across.representatives, np.arange(num_nodes)[:, None, None] * g
    phases = [across.rows._replace(src=across.rows.src * g, dst=across.rows.dst * g)]
    for place, part in zip((0, 2), inside, strict=True):
        if part is None or (g > 1 and part.symmetry != ROTATION):
            return None
        step, src, dst, reduce, _ = part.rows
        phases.insert(place, rows_of(step, src + first, dst + first, reduce, filmed[:, None]))

    def turn(chunk: Array) -> Array:
        turn: Array = across.place(chunk % pieces).turn * g + chunk // pieces
        return turn

    return _pattern(
        size,
        then(*phases),
        f"rotation of the ranks inside nodes; between nodes, {across.symmetry}",
        filmed,
        film=lambda chunk: across.place(chunk % pieces).film,
        turn=turn,
        radices=(*across.radices, g),
    )


def _hierarchical_all_to_all(size: Size) -> Pattern | None:
    """The block that rank 0 has for rank l of node k goes to rank l of node 0, then to node k."""
    g = node_sizes(size.n, size.parameters.get("node_size", NODE_SIZE))[0]
    inner, outer = (size.parameters.get(name, "direct") for name in ("inner", "outer"))
    num_nodes, n = size.n // g, size.n
    inside = pack_of("all_to_all", inner, Size(g, g * g, 0, {}))
    across = pack_of("all_to_all", outer, Size(num_nodes, num_nodes * num_nodes, 0, {}))
    if inside is None or across is None or (*across.radices, *inside.radices) != (num_nodes, g):
        return None
    node, local = np.arange(num_nodes)[:, None], np.arange(g)[:, None]
    step, src, dst, reduce, block = inside.rows
    first = rows_of(step, src, dst, reduce, block + node * g)
    step, src, dst, reduce, block = across.rows
    second = rows_of(step, src * g + local, dst * g + local, reduce, block * g + local)

    def film(chunk: Array) -> Array:
        src, dst = chunk // n, chunk % n
        film: Array = (dst // g - src // g) % num_nodes * g + (dst - src) % g
        return film

    return _pattern(
        size,
        then(first, second),
        SOURCES + ", node by node and rank by rank in it",
        np.arange(n),
        film=film,
        turn=lambda chunk: chunk // n,
        radices=(num_nodes, g),
    )


PACKS: dict[tuple[str, str], Pack] = {
    ("broadcast", "flat"): _whole(films.flat_broadcast),
    ("broadcast", "chain"): _chain(COPY),
    ("broadcast", "binomial"): _whole(films.binomial_broadcast),
    ("reduce", "flat"): _whole(films.flat_reduce),
    ("reduce", "chain"): _chain(REDUCE),
    ("reduce", "binomial"): _whole(films.binomial_reduce),
    ("scatter", "flat"): _flat_blocks(out=True),
    ("scatter", "binomial"): _binomial_blocks(out=True),
    ("gather", "flat"): _flat_blocks(out=False),
    ("gather", "binomial"): _binomial_blocks(out=False),
    ("all_gather", "ring"): _turning(films.ring_all_gather),
    ("all_gather", "bidirectional_ring"): _turning(films.bidirectional_ring_all_gather),
    ("all_gather", "neighbor_exchange"): _pairs,
    ("all_gather", "recursive_doubling"): _xor(films.binomial_broadcast),
    ("all_gather", "bruck"): _turning(films.bruck_all_gather),
    ("all_gather", "direct"): _turning(films.direct_all_gather),
    ("all_gather", "pat"): _turning(films.pat_all_gather),
    ("all_gather", "nvls"): _heads("store", "copy to all"),
    ("reduce_scatter", "ring"): _turning(films.ring_reduce_scatter),
    ("reduce_scatter", "bidirectional_ring"): _turning(films.bidirectional_ring_reduce_scatter),
    ("reduce_scatter", "recursive_halving"): _xor(films.binomial_reduce),
    ("reduce_scatter", "direct"): _turning(films.direct_reduce_scatter),
    ("reduce_scatter", "pat"): _turning(films.pat_reduce_scatter),
    ("reduce_scatter", "nvls"): _heads("add up", "give the head"),
    ("all_reduce", "flat"): _whole(films.flat_reduce, films.flat_broadcast),
    ("all_reduce", "ring"): _turning(films.ring_reduce_scatter, films.ring_all_gather),
    ("all_reduce", "bidirectional_ring"): _turning(
        films.bidirectional_ring_reduce_scatter, films.bidirectional_ring_all_gather
    ),
    ("all_reduce", "binomial"): _whole(films.binomial_reduce, films.binomial_broadcast),
    ("all_reduce", "recursive_doubling"): _whole(films.recursive_doubling),
    ("all_reduce", "rabenseifner"): _rabenseifner,
    ("all_reduce", "direct"): _turning(films.direct_reduce_scatter, films.direct_all_gather),
    ("all_reduce", "double_binary_tree"): _double_binary_tree,
    ("all_reduce", "hierarchical"): _hierarchical_all_reduce,
    ("all_reduce", "sharp"): _switches,
    ("all_reduce", "nvls"): _heads("add up", "give the head", "store", "copy to all"),
    ("all_to_all", "direct"): _from_sources(films.direct_blocks),
    ("all_to_all", "pairwise"): _from_sources(films.pairwise_blocks),
    ("all_to_all", "bruck"): _from_sources(films.bruck_blocks),
    ("all_to_all", "hierarchical"): _hierarchical_all_to_all,
}


def pack_of(collective: str, algorithm: str, size: Size) -> Pattern | None:
    """Return the pattern of an algorithm, or None where it has no symmetry that helps."""
    if (collective, algorithm) not in PACKS:
        return None
    if size.n == 1:
        return _alone(size, NOTHING)
    return PACKS[collective, algorithm](size)
