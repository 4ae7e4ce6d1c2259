"""The price of a schedule: seconds, steps, bytes and messages, in the alpha-beta-gamma model.

**A message** is all that one endpoint sends to one other in one step. A chunk without bytes is not
sent: it costs nothing and makes no message.

**A port** that passes m messages of b bytes one way in one step, r bytes of which are added to what
the receiver has, is busy for ceil(m / in_flight) alpha + b beta + r gamma; gamma is paid on the
receiving side. A rank has `topology.ports` full-duplex ports, over which its peers of the step are
dealt in order of their numbers; a switch has one port for every endpoint attached to it.

**Lock-step** (`clock="lockstep"`): a step lasts as long as its busiest port, and steps add up.

**Data-driven** (`clock="data_driven"`): no barrier. A message starts when all of these hold:

- every chunk it carries has its value of the end of the step before at the sender;
- its port at the sender and its port at the receiver are free: a port passes the messages of one
  step before those of the next, and within one step whichever can start first;
- no earlier step still sends the old value of a chunk that it overwrites (write after read).

A chunk that a step both sends and overwrites leaves with its old value: what arrives waits beside
it (a shadow buffer) until the old value is out. Where every rank has at most one peer each way in a
step, as in every algorithm of the library, the data-driven clock is never later than lock-step.

With `nbytes`, every chunk is nbytes / num_chunks, exactly, even where that is no whole number of
bytes. With `count` and `itemsize`, chunks have the lengths that `numpy.array_split` gives, and
all bytes are whole.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational, Real
from typing import NamedTuple

from allranks.collectives import busbw_factor, contract
from allranks.errors import ScheduleError, unknown_name
from allranks.schedule import Op, Schedule
from allranks.topology import Topology

LOCKSTEP = "lockstep"
DATA_DRIVEN = "data_driven"


class Bandwidth(NamedTuple):
    """Bandwidths in bytes per second as nccl-tests defines them; None where time is 0."""

    algbw: float | None
    busbw: float | None


class Traffic(NamedTuple):
    """Bytes that one endpoint sent and received."""

    sent: float
    received: float


class Event(NamedTuple):
    """One message on the clock: from its start until its last byte is received and added."""

    step: int
    src: int
    dst: int
    chunks: tuple[int, ...]
    start_s: float
    end_s: float
    nbytes: float


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a schedule costs for one size on one topology.

    `steps` are those of the schedule. `latency_terms` are the alphas at the port that pays most of
    them in each step, added over the steps, whatever the clock. `bytes_sent_max` and
    `bytes_received_max` are maxima over the ranks; the ports of all switches together take in
    `switch_bytes_in` and put out `switch_bytes_out`. `bytes_total` counts every message, also to
    and from switches. Bytes are whole numbers (int) where they are whole.
    `algbw` and `busbw` are in bytes per second and None where the collective takes no time.
    """

    seconds: float
    steps: int
    latency_terms: int
    bytes_sent_max: float
    bytes_received_max: float
    bytes_total: float
    messages: int
    algbw: float | None
    busbw: float | None
    switch_bytes_in: float = 0
    switch_bytes_out: float = 0


class _Message(NamedTuple):
    """All that src sends to dst in one step, in units of `_Sizes`."""

    src: int
    dst: int
    chunks: tuple[int, ...]
    units: int
    reduced: int
    out_port: tuple[str, int, int]
    in_port: tuple[str, int, int]


class _Sizes:
    """The size of every chunk as a whole number of units, so that all sums are exact."""

    def __init__(self, units: Callable[[int], int], unit: Fraction) -> None:
        self.units = units
        self._unit = unit
        self._known: dict[int, float] = {}

    def nbytes(self, units: int) -> float:
        """Return so many units in bytes, as an int where that is exact."""
        if units not in self._known:
            exact = units * self._unit
            self._known[units] = int(exact) if exact.denominator == 1 else float(exact)
        return self._known[units]


def cost(  # noqa: PLR0913 - the size in two forms
    schedule: Schedule,
    *,
    topology: Topology,
    nbytes: float | None = None,
    count: int | None = None,
    itemsize: int | None = None,
    clock: str = LOCKSTEP,
) -> Cost:
    """Return what a schedule costs, for S = `nbytes`, or for `count` elements of `itemsize` bytes.

    S and `count` are of the whole vector: the output for all_gather, the input for reduce_scatter,
    one rank's send buffer for all_to_all. Takes time and memory in proportion to the transfers;
    `price` knows closed forms. The schedule is not proved here.

    Raises:
        ValueError: not exactly one size, a negative size, an unknown clock, or a topology for
            another number of ranks.

    >>> from allranks.algorithms import build
    >>> ring = build("all_reduce", "ring", world_size=6)
    >>> cost(ring, nbytes=48_000_000, topology=Topology.preset("bench", 6)).bytes_sent_max
    80000000
    """
    sizes = _sizes(schedule, nbytes=nbytes, count=count, itemsize=itemsize)
    _check_clock(clock)
    _check_topology(topology, schedule.world_size)
    n = schedule.world_size
    seconds: list[float] = []
    terms = messages = 0
    for step in _messages(schedule, sizes, topology):
        busy = _port_seconds(step, sizes, topology)
        seconds.append(max(busy.values(), default=0.0))
        peers = Counter(port for message in step for port in (message.out_port, message.in_port))
        terms += topology.alpha_terms(max(peers.values(), default=0))
        messages += len(step)
    duration = math.fsum(seconds)
    if clock == DATA_DRIVEN:
        events = _data_driven(schedule, sizes, topology)
        duration = max((event.end_s for event in events), default=0.0)
    whole = nbytes if count is None else count * (itemsize or 0)
    rates = busbw(schedule.collective, world_size=n, nbytes=whole or 0, seconds=duration)
    sent, received = _traffic(schedule, sizes)
    return Cost(
        seconds=duration,
        steps=len(schedule.steps),
        latency_terms=terms,
        bytes_sent_max=sizes.nbytes(max(sent[:n])),
        bytes_received_max=sizes.nbytes(max(received[:n])),
        bytes_total=sizes.nbytes(sum(sent)),
        messages=messages,
        algbw=rates.algbw,
        busbw=rates.busbw,
        switch_bytes_in=sizes.nbytes(sum(received[n:])),
        switch_bytes_out=sizes.nbytes(sum(sent[n:])),
    )


def timeline(
    schedule: Schedule, *, nbytes: float, topology: Topology, clock: str = LOCKSTEP
) -> list[Event]:
    """Return every message with its start and end, step by step; the last end is cost's seconds.

    In lock-step every message of a step starts with it, the messages of one port share it and end
    together, and a message ends when the busier of its two ports is done.

    Raises:
        ValueError: as `cost`.
    """
    sizes = _sizes(schedule, nbytes=nbytes)
    _check_clock(clock)
    _check_topology(topology, schedule.world_size)
    walk = _data_driven if clock == DATA_DRIVEN else _lockstep
    return list(walk(schedule, sizes, topology))


def bytes_per_rank(schedule: Schedule, nbytes: float) -> list[Traffic]:
    """Return the bytes that every endpoint sends and receives: the ranks in order, then switches.

    Raises:
        ValueError: a negative size.
    """
    sizes = _sizes(schedule, nbytes=nbytes)
    sent, received = _traffic(schedule, sizes)
    return [
        Traffic(sizes.nbytes(out), sizes.nbytes(into))
        for out, into in zip(sent, received, strict=True)
    ]


def busbw(collective: str, *, world_size: int, nbytes: float, seconds: float) -> Bandwidth:
    """Return algbw = S / time and busbw = algbw x the collective's factor (nccl-tests src/*.cu).

    The factor belongs to the collective, not to the algorithm: 2(n-1)/n for all_reduce, (n-1)/n
    for all_gather, reduce_scatter, scatter, gather and all_to_all, 1 for broadcast and reduce. It
    turns algbw into the speed of the busiest wire only for algorithms of sends and receives; a
    switch that adds moves other amounts.

    Where the time is 0, algbw is not defined (None). One rank uses no bus: its busbw is 0. Without
    bytes both are 0.

    Raises:
        ValueError: an unknown collective, n below 1, a negative size or time.

    >>> round(busbw("all_reduce", world_size=8, nbytes=32 * 2**20, seconds=424e-6).busbw / 1e9, 2)
    138.49
    """
    factor = busbw_factor(collective, world_size)
    nbytes = float(_exact_bytes(nbytes))
    if isinstance(seconds, bool) or not 0 <= seconds < math.inf:
        message = f"seconds is {seconds!r}; it must be a time of 0 or more"
        raise ValueError(message)
    if nbytes == 0:
        return Bandwidth(0.0, 0.0)
    algbw = nbytes / seconds if seconds else None
    if world_size == 1:
        return Bandwidth(algbw, 0.0)
    return Bandwidth(algbw, None if algbw is None else algbw * factor)


def price(  # noqa: PLR0913 - the parameters of a schedule and of a price
    collective: str,
    algorithm: str,
    *,
    world_size: int,
    nbytes: float,
    topology: Topology,
    root: int | None = None,
    num_chunks: int | None = None,
) -> Cost:
    """Return the lock-step cost of an algorithm by its closed form, for any n at once.

    The same numbers as `cost` of the schedule: steps, messages and bytes exactly, seconds up to
    rounding. `root` defaults to 0 where there is one (no price depends on it) and `num_chunks` to
    what the algorithm does by itself.

    Raises:
        ValueError: an algorithm without a closed form here (the nearest name is suggested), n below
            1, a root that is none, chunks that the algorithm does not leave open, a negative size,
            or a topology for fewer ranks.

    >>> bench = Topology.preset("bench", 131_072)
    >>> price("all_reduce", "ring", world_size=131_072, nbytes=2**30, topology=bench).steps
    262142
    """
    promise = contract(collective)
    _check_whole("world_size", world_size)
    known = [name for of, name in _FORMS if of == collective]
    if algorithm not in known:
        raise ValueError(unknown_name(f"priced algorithm of {collective}", algorithm, known))
    form = _FORMS[collective, algorithm]
    chunks = _chunks_of(f"{algorithm} {collective}", form, world_size, num_chunks)
    promise.size(world_size, chunks, 0 if root is None and promise.rooted else root)
    _check_topology(topology, world_size)
    steps = 0
    unit = _exact_bytes(nbytes) / chunks
    sizes = _Sizes(units=lambda _chunk: 1, unit=unit)
    folded = _NOTHING
    if world_size > 1:
        folded = form.fold(world_size, chunks)
        steps = sum(phase.steps for phase in folded.phases)
    if unit == 0:
        folded = _NOTHING
    seconds = math.fsum(
        phase.steps
        * topology.port_seconds(1, sizes.nbytes(phase.units), sizes.nbytes(phase.reduced))
        for phase in folded.phases
    )
    rates = busbw(collective, world_size=world_size, nbytes=nbytes, seconds=seconds)
    return Cost(
        seconds=seconds,
        steps=steps,
        latency_terms=sum(phase.steps for phase in folded.phases),
        bytes_sent_max=sizes.nbytes(folded.sent),
        bytes_received_max=sizes.nbytes(folded.received),
        bytes_total=sizes.nbytes(folded.total),
        messages=folded.messages,
        algbw=rates.algbw,
        busbw=rates.busbw,
        switch_bytes_in=sizes.nbytes(folded.switch_in),
        switch_bytes_out=sizes.nbytes(folded.switch_out),
    )


def lower_bound(collective: str, world_size: int, nbytes: float, topology: Topology) -> float:
    """Return seconds that no schedule of sends and receives can beat in lock-step.

    **Latency.** In one alpha a rank passes data to `ports * in_flight` others, so what one rank
    knows reaches at most (1 + ports in_flight)^t ranks in t alphas: ceil(log2 n) alphas on the
    usual machine. Read backwards, the same holds for what must come together on one rank.

    **Bandwidth.** The bytes that must cross some rank's ports one way, over their joint bandwidth:

    - broadcast: S into every rank but the root; reduce: S into the root
    - scatter: (n-1)/n S out of the root; gather: (n-1)/n S into it
    - all_gather and all_to_all: (n-1)/n S into every rank, which has only its own part
    - reduce_scatter: (n-1)/n S out of every rank, whose parts of the others' blocks must leave it
    - all_reduce: 2(n-1)/n S. An element needs n - 1 transfers before one rank has the whole sum and
      n - 1 more before all have it; so 2(n-1)S bytes in all, and some rank receives the mean.

    **Reduction.** n parts take n - 1 additions, (n-1) S bytes in all, so some rank adds the mean,
    (n-1)/n S. For reduce this may be another rank than the root, so the larger of the two counts.

    Every step pays its alphas and its bytes one after the other, so the terms add up, for schedules
    whose ranks talk to at most `ports * in_flight` peers each way in a step. In-network reduction
    lies outside: with a switch that adds, an all_reduce takes S each way.

    Raises:
        ValueError: an unknown collective, n below 1, a negative size, a topology for fewer ranks.

    >>> round(lower_bound("broadcast", 6, 48_000_000, Topology.preset("bench", 6)), 9)
    0.001932
    """
    n = world_size
    name = contract(collective).name
    _check_whole("world_size", n)
    _check_topology(topology, n)
    whole = float(_exact_bytes(nbytes))
    if n == 1 or whole == 0:
        return 0.0
    terms, reach = 0, 1
    while reach < n:
        terms, reach = terms + 1, reach * (1 + topology.ports * topology.in_flight)
    others = (n - 1) * whole / n
    moved = {"broadcast": whole, "reduce": whole, "all_reduce": 2 * others}.get(name, others)
    moved_s = moved / topology.bandwidth
    if name == "reduce":
        moved_s = max(moved_s, others / topology.bandwidth + others * topology.gamma)
    elif contract(name).reduces:
        moved_s += others * topology.gamma
    return terms * topology.alpha + moved_s / topology.ports


def best_num_chunks(world_size: int, nbytes: float, alpha: float, beta: float) -> int:
    """Return the k that makes a chain of n ranks, cut into k chunks, fastest: exactly.

    T(k) = (n-2+k)(alpha + S beta/k) = (n-2) alpha + S beta + k alpha + (n-2) S beta/k. One chunk
    more pays an alpha more and saves (n-2) S beta / (k(k+1)), so the best k is the first with
    k(k+1) >= (n-2) S beta/alpha. The real-valued optimum is sqrt((n-2) S beta/alpha), where
    T = (sqrt((n-2) alpha) + sqrt(S beta))^2. Of two equal ones the smaller is returned; no chunk is
    smaller than a byte.

    Raises:
        ValueError: n below 1, a negative size, alpha or beta.

    >>> best_num_chunks(6, 48_000_000, alpha=4e-6, beta=4e-11)
    44
    """
    _check_whole("world_size", world_size)
    whole = _exact_bytes(nbytes)
    for name, value in (("alpha", alpha), ("beta", beta)):
        if isinstance(value, bool) or not 0 <= value < math.inf:
            message = f"{name} is {value!r}; it must be a time of 0 seconds or more"
            raise ValueError(message)
    most = max(1, math.floor(whole))
    saved = max(world_size - 2, 0) * whole * Fraction(beta)
    if saved == 0:
        return 1
    if alpha == 0:
        return most
    ratio = saved / Fraction(alpha)
    k = max(1, math.isqrt(math.floor(ratio)))
    while k > 1 and (k - 1) * k >= ratio:
        k -= 1
    while k * (k + 1) < ratio:
        k += 1
    return min(k, most)


def best_chunks_of(
    collective: str, algorithm: str, *, world_size: int, nbytes: float, topology: Topology
) -> int | None:
    """Return the number of chunks with which a pipelined algorithm is fastest; None if it has none.

    A chain of n ranks takes n - 2 + k steps and a switch k + 1, as a chain of three ranks does.
    """
    hops = {"chain": world_size, "sharp": 3}
    if (collective, algorithm) not in _FORMS or algorithm not in hops:
        return None
    return best_num_chunks(hops[algorithm], nbytes, topology.alpha, topology.beta)


class _Phase(NamedTuple):
    """Equal steps in a row: how many, and what passes the busiest port in each, in chunks."""

    steps: int
    units: int
    reduced: int = 0


class _Folded(NamedTuple):
    """A schedule in closed form, bytes in chunks; ranks have one peer each way in every step."""

    phases: tuple[_Phase, ...]
    messages: int
    sent: int
    received: int
    total: int
    switch_in: int = 0
    switch_out: int = 0


_NOTHING = _Folded(phases=(), messages=0, sent=0, received=0, total=0)


def _lg(n: int) -> int:
    """Return ceil(log2 n)."""
    return (n - 1).bit_length()


def _flat_broadcast(n: int, _k: int) -> _Folded:
    """Send S to n - 1 ranks, one a step: (n-1)(alpha + S beta), (n-1) S out of the root."""
    return _Folded((_Phase(n - 1, 1),), messages=n - 1, sent=n - 1, received=1, total=n - 1)


def _flat_reduce(n: int, _k: int) -> _Folded:
    """Take S from n - 1 ranks, one a step: (n-1)(alpha + S beta + S gamma)."""
    return _Folded((_Phase(n - 1, 1, 1),), messages=n - 1, sent=1, received=n - 1, total=n - 1)


def _chain_broadcast(n: int, k: int) -> _Folded:
    """Move chunk c over hop v of n - 1 in step v + c: (n-2+k)(alpha + S/k beta) for k chunks.

    The last chunk makes its last hop in step n - 2 + k - 1. Every hop passes k chunks, which are S,
    so S is the most that a rank sends or receives.
    """
    hops = n - 1
    phases = (_Phase(hops - 1 + k, 1),)
    return _Folded(phases, messages=hops * k, sent=k, received=k, total=hops * k)


def _chain_reduce(n: int, k: int) -> _Folded:
    """Play the chain broadcast backwards; every chunk that arrives is added."""
    return _chain_broadcast(n, k)._replace(phases=(_Phase(n - 2 + k, 1, 1),))


def _binomial_broadcast(n: int, _k: int) -> _Folded:
    """Double the ranks that know in every step: L = ceil(log2 n) steps of S, L(alpha + S beta).

    Each of the others receives once, so n - 1 messages; the root sends in every step, L S in all.
    """
    return _Folded((_Phase(_lg(n), 1),), messages=n - 1, sent=_lg(n), received=1, total=n - 1)


def _binomial_reduce(n: int, _k: int) -> _Folded:
    """Play the binomial broadcast backwards: L(alpha + S beta + S gamma), L S into the root."""
    return _Folded((_Phase(_lg(n), 1, 1),), messages=n - 1, sent=1, received=_lg(n), total=n - 1)


def _binomial_scatter(n: int, _k: int) -> _Folded:
    """Send halves down a tree: L alpha + (n-1)/n S beta, (n-1)/n S out of the root.

    In the step of distance d the root sends the blocks d .. 2d-1 that exist, min(d, n - d) of them,
    and nobody sends more. Over the distances 1, 2, 4, ... below n the root sends n - 1
    blocks. Rank v receives once, from v without its lowest set bit; v = d receives min(d, n - d)
    blocks, the most for that distance. Block b moves once for every bit set in b, so the numbers
    below n in which a bit is set, added over the bits, are the blocks moved.
    """
    distances = [1 << bit for bit in range(_lg(n))]
    blocks = [min(d, n - d) for d in distances]
    moved = sum(n // (2 * d) * d + max(0, n % (2 * d) - d) for d in distances)
    phases = tuple(_Phase(1, count) for count in reversed(blocks))
    return _Folded(phases, messages=n - 1, sent=n - 1, received=max(blocks), total=moved)


def _ring_all_gather(n: int, _k: int) -> _Folded:
    """Send one chunk of S/n from every rank in n - 1 steps: (n-1)(alpha + S/n beta)."""
    hops = n - 1
    return _Folded((_Phase(hops, 1),), messages=n * hops, sent=hops, received=hops, total=n * hops)


def _ring_reduce_scatter(n: int, k: int) -> _Folded:
    """Take the ring all-gather's steps and bytes; every chunk that arrives is added."""
    return _ring_all_gather(n, k)._replace(phases=(_Phase(n - 1, 1, 1),))


def _joined(first: _Folded, second: _Folded) -> _Folded:
    """Play one after the other; in the second all ranks are equally busy."""
    return _Folded(
        phases=first.phases + second.phases,
        messages=first.messages + second.messages,
        sent=first.sent + second.sent,
        received=first.received + second.received,
        total=first.total + second.total,
    )


def _ring_all_reduce(n: int, k: int) -> _Folded:
    """Join reduce-scatter and all-gather: 2(n-1) alpha + 2(n-1)/n S beta + (n-1)/n S gamma."""
    return _joined(_ring_reduce_scatter(n, k), _ring_all_gather(n, k))


def _scatter_all_gather(n: int, k: int) -> _Folded:
    """Join binomial scatter and ring all-gather, where all ranks send and receive n - 1 blocks.

    (L + n - 1) alpha + 2(n-1)/n S beta; the root sends 2(n-1)/n S.
    """
    return _joined(_binomial_scatter(n, k), _ring_all_gather(n, k))


def _sharp_all_reduce(n: int, k: int) -> _Folded:
    """Send chunk c up to the switch in step c and, added, down in step c + 1: k + 1 steps.

    (k+1)(alpha + S/k beta) + S gamma: the switch has a port for every rank, which passes one chunk
    each way in a step, and adds at the ports in the first k steps. A rank sends S and receives S,
    the switch takes in n S and puts out n S.
    """
    phases = (_Phase(k, 1, 1), _Phase(1, 1))
    through = n * k
    return _Folded(
        phases,
        messages=2 * through,
        sent=k,
        received=k,
        total=2 * through,
        switch_in=through,
        switch_out=through,
    )


class _Form(NamedTuple):
    """A closed form for n >= 2, and the number of chunks: open, or one per rank, or one."""

    fold: Callable[[int, int], _Folded]
    chunks: str = "one"


_FORMS: dict[tuple[str, str], _Form] = {
    ("broadcast", "flat"): _Form(_flat_broadcast),
    ("broadcast", "chain"): _Form(_chain_broadcast, "open"),
    ("broadcast", "binomial"): _Form(_binomial_broadcast),
    ("broadcast", "scatter_all_gather"): _Form(_scatter_all_gather, "per rank"),
    ("reduce", "flat"): _Form(_flat_reduce),
    ("reduce", "chain"): _Form(_chain_reduce, "open"),
    ("reduce", "binomial"): _Form(_binomial_reduce),
    ("scatter", "binomial"): _Form(_binomial_scatter, "per rank"),
    ("all_gather", "ring"): _Form(_ring_all_gather, "per rank"),
    ("reduce_scatter", "ring"): _Form(_ring_reduce_scatter, "per rank"),
    ("all_reduce", "ring"): _Form(_ring_all_reduce, "per rank"),
    ("all_reduce", "sharp"): _Form(_sharp_all_reduce, "open"),
}


def _chunks_of(name: str, form: _Form, n: int, num_chunks: int | None) -> int:
    usual = n if form.chunks == "per rank" else 1
    if num_chunks is None:
        return usual
    _check_whole("num_chunks", num_chunks)
    if form.chunks != "open" and num_chunks != usual:
        message = f"num_chunks is {num_chunks}; {name} on {n} ranks always uses {usual}"
        raise ValueError(message)
    return num_chunks


def _sizes(
    schedule: Schedule,
    *,
    nbytes: float | None = None,
    count: int | None = None,
    itemsize: int | None = None,
) -> _Sizes:
    promise = contract(schedule.collective)
    n, num_chunks = schedule.world_size, schedule.num_chunks
    promise.size(n, num_chunks, schedule.root)
    if (nbytes is None) == (count is None) or (count is None) != (itemsize is None):
        message = "size: give either nbytes, or count and itemsize"
        raise ValueError(message)
    pieces = promise.pieces(n)
    if nbytes is not None:
        # one send buffer of an all_to_all has only n of its n * n pieces
        parts = Fraction(num_chunks * min(n, pieces), pieces)
        whole = _exact_bytes(nbytes)
        here = int(whole > 0)
        return _Sizes(units=lambda _chunk: here, unit=whole / parts)
    _check_whole("count", count, least=0)
    _check_whole("itemsize", itemsize)
    elements = count or 0
    per_piece = num_chunks // pieces

    def units(chunk: int) -> int:
        piece, part = divmod(chunk, per_piece)
        in_piece = elements if pieces == 1 else _length(elements, n, piece % n)
        return _length(in_piece, per_piece, part)

    return _Sizes(units=units, unit=Fraction(itemsize or 0))


def _length(count: int, parts: int, part: int) -> int:
    """Return the length of one part of numpy.array_split."""
    return count // parts + (part < count % parts)


def _messages(schedule: Schedule, sizes: _Sizes, topology: Topology) -> Iterator[list[_Message]]:
    """Yield the messages of each step, in order of src and dst."""
    n = schedule.world_size
    for step in schedule.steps:
        chunks: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        reduced: Counter[tuple[int, int]] = Counter()
        for t in step:
            if units := sizes.units(t.chunk):
                chunks[t.src, t.dst].append(t.chunk)
                reduced[t.src, t.dst] += units if t.op is Op.REDUCE else 0
        peers_out: Counter[int] = Counter()
        peers_in: Counter[int] = Counter()
        messages = []
        for src, dst in sorted(chunks):
            out = dst if src >= n else peers_out[src] % topology.ports
            into = src if dst >= n else peers_in[dst] % topology.ports
            peers_out[src] += 1
            peers_in[dst] += 1
            messages.append(
                _Message(
                    src=src,
                    dst=dst,
                    chunks=tuple(chunks[src, dst]),
                    units=sum(map(sizes.units, chunks[src, dst])),
                    reduced=reduced[src, dst],
                    out_port=("out", src, out),
                    in_port=("in", dst, into),
                )
            )
        yield messages


def _port_seconds(
    step: list[_Message], sizes: _Sizes, topology: Topology
) -> dict[tuple[str, int, int], float]:
    """Return how long the messages of one step keep each port busy."""
    peers: Counter[tuple[str, int, int]] = Counter()
    units: Counter[tuple[str, int, int]] = Counter()
    reduced: Counter[tuple[str, int, int]] = Counter()
    for message in step:
        reduced[message.in_port] += message.reduced
        for port in (message.out_port, message.in_port):
            peers[port] += 1
            units[port] += message.units
    return {
        port: topology.port_seconds(
            peers[port], sizes.nbytes(units[port]), sizes.nbytes(reduced[port])
        )
        for port in peers
    }


def _traffic(schedule: Schedule, sizes: _Sizes) -> tuple[list[int], list[int]]:
    """Return the units that every endpoint sends and receives in all."""
    endpoints = schedule.num_endpoints
    sent, received = [0] * endpoints, [0] * endpoints
    for number, t in schedule.transfers():
        if not (0 <= t.src < endpoints and 0 <= t.dst < endpoints):
            message = (
                f"step {number}: {t.src} -> {t.dst}, but the endpoints are 0 to {endpoints - 1}; "
                "verify the schedule first"
            )
            raise ScheduleError(
                message, kind="unknown_endpoint", step=number, src=t.src, dst=t.dst, chunk=t.chunk
            )
        units = sizes.units(t.chunk)
        sent[t.src] += units
        received[t.dst] += units
    return sent, received


def _lockstep(schedule: Schedule, sizes: _Sizes, topology: Topology) -> Iterator[Event]:
    start = 0.0
    for number, step in enumerate(_messages(schedule, sizes, topology)):
        busy = _port_seconds(step, sizes, topology)
        for message in step:
            seconds = max(busy[message.out_port], busy[message.in_port])
            yield _event(number, message, start, start + seconds, sizes)
        start += max(busy.values(), default=0.0)


def _event(step: int, message: _Message, start_s: float, end_s: float, sizes: _Sizes) -> Event:
    nbytes = sizes.nbytes(message.units)
    return Event(step, message.src, message.dst, message.chunks, start_s, end_s, nbytes)


class _Clock:
    """The state of the data-driven clock: when ports are free, chunks in place, old values out."""

    def __init__(self, topology: Topology, sizes: _Sizes) -> None:
        self._topology = topology
        self._sizes = sizes
        self._ends: defaultdict[tuple[str, int, int], deque[float]] = defaultdict(
            lambda: deque(maxlen=topology.in_flight)
        )
        self._in_place: defaultdict[tuple[int, int], float] = defaultdict(float)
        self._read: defaultdict[tuple[int, int], float] = defaultdict(float)

    def earliest(self, message: _Message) -> float:
        """Return when a message of the current step can start, as far as is decided."""
        times = [0.0]
        for port in (message.out_port, message.in_port):
            ends = self._ends[port]
            if len(ends) == self._topology.in_flight:
                times.append(ends[0])
        for chunk in message.chunks:
            times.append(self._in_place[message.src, chunk])
            times.append(self._read[message.dst, chunk])
        return max(times)

    def send(self, message: _Message, start: float) -> tuple[float, float]:
        """Return when the last byte has left, and when it is received and added."""
        out_ends, in_ends = self._ends[message.out_port], self._ends[message.in_port]
        # messages in flight share the wire: their bytes pass one after another
        wire = max([start + self._topology.alpha, *list(out_ends)[-1:], *list(in_ends)[-1:]])
        left = wire + self._topology.port_seconds(0, self._sizes.nbytes(message.units))
        added = left + self._sizes.nbytes(message.reduced) * self._topology.gamma
        out_ends.append(left)
        in_ends.append(added)
        return left, added

    def finish(self, step: list[tuple[_Message, float, float]]) -> None:
        """Make what a step has read and written known to the steps after it."""
        out: defaultdict[tuple[int, int], float] = defaultdict(float)
        for message, left, _ in step:
            for chunk in message.chunks:
                out[message.src, chunk] = max(out[message.src, chunk], left)
        for message, _, added in step:
            for chunk in message.chunks:
                place = message.dst, chunk
                self._in_place[place] = max(self._in_place[place], added, out[place])
        for place, left in out.items():
            self._read[place] = max(self._read[place], left)


def _data_driven(schedule: Schedule, sizes: _Sizes, topology: Topology) -> Iterator[Event]:
    clock = _Clock(topology, sizes)
    for number, step in enumerate(_messages(schedule, sizes, topology)):
        # equal starts go to near neighbors first, so that all-pairs traffic makes no queue
        waiting = [
            (clock.earliest(m), (m.dst - m.src) % schedule.num_endpoints, m.src, m) for m in step
        ]
        heapq.heapify(waiting)
        done: list[tuple[_Message, float, float]] = []
        while waiting:
            known, distance, src, message = heapq.heappop(waiting)
            start = clock.earliest(message)
            if start > known:
                heapq.heappush(waiting, (start, distance, src, message))
                continue
            left, added = clock.send(message, start)
            done.append((message, left, added))
            yield _event(number, message, start, added, sizes)
        clock.finish(done)


def _exact_bytes(nbytes: object) -> Fraction:
    """Return a size exactly.

    Raises:
        ValueError: not a finite number of 0 or more.
    """
    if (
        isinstance(nbytes, bool)
        or not isinstance(nbytes, Real)
        or not 0 <= float(nbytes) < math.inf
    ):
        message = f"nbytes is {nbytes!r}; it must be a number of bytes, 0 or more"
        raise ValueError(message)
    return Fraction(nbytes if isinstance(nbytes, Rational) else float(nbytes))


def _check_whole(name: str, value: object, *, least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        message = f"{name} is {value!r}; it must be a whole number of at least {least}"
        raise ValueError(message)


def _check_clock(clock: str) -> None:
    if clock not in (LOCKSTEP, DATA_DRIVEN):
        raise ValueError(unknown_name("clock", clock, (LOCKSTEP, DATA_DRIVEN)))


def _check_topology(topology: Topology, world_size: int) -> None:
    if topology.world_size < world_size:
        message = (
            f"topology has {topology.world_size} ranks, the collective {world_size}; make one "
            f"with at least {world_size}"
        )
        raise ValueError(message)
