"""Compile a schedule into one list of instructions per endpoint, with exactly the waits it needs.

Every transfer is executed by its receiver, which reads the sender's memory in place. Nobody waits
for a step to end: an instruction waits only

- to read what somebody else has yet to write (read after write), the input included;
- to overwrite what somebody else has yet to read (write after read);
- at the end, until nobody reads this endpoint's memory any more (exit).

"Every send reads the state before the step" needs one thing more: a chunk that is sent and
overwritten in one step. Its new value goes to a second place (a shadow), which is from then on the
chunk's place; the next such step goes back to the first. Nothing is ever copied back.

Large chunks are cut into tiles, so that a receiver can pass on the first tile while the second is
still under way. Waits are counted per tile. The list of each endpoint keeps the order of one list
of all instructions, and waits only point backwards in it, so compiled programs cannot deadlock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from allranks.schedule import Op, Transfer
from allranks.simulate import Layout

OWN = -1
TILE_BYTES = 1 << 18


class Source(NamedTuple):
    """Where an instruction reads: `offset` elements into the memory of `endpoint`.

    `transfer` numbers the schedule's transfers from 0; OWN is the receiver's own value.
    """

    endpoint: int
    offset: int
    transfer: int


class Instruction(NamedTuple):
    """Combine the sources, in this order, into `elements` elements at `target` of one's own memory.

    `waits` are (endpoint, k): the endpoint must have finished its first k instructions.
    """

    target: int
    elements: int
    sources: tuple[Source, ...]
    waits: tuple[tuple[int, int], ...]
    step: int
    chunk: int


class Program(NamedTuple):
    """What one endpoint does: its instructions, then the waits before it may leave."""

    instructions: tuple[Instruction, ...]
    exits: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Plan:
    """A compiled schedule.

    `elements[e]` is the size of endpoint e's memory: its whole vector, then its shadows.
    `places[e]` lists (chunk, offset) for each chunk that ends in a shadow; all others end where
    they began. `length` is what every counter advances by in one run.
    """

    programs: tuple[Program, ...]
    elements: tuple[int, ...]
    places: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def length(self) -> int:
        """Return one more than the longest program has instructions."""
        return 1 + max(len(program.instructions) for program in self.programs)


def compile_schedule(layout: Layout, *, tile_bytes: int = TILE_BYTES) -> Plan:
    """Return what every endpoint must do to run a layout's schedule, which `verify` has accepted.

    `tile_bytes` is the most that one instruction handles, but at least one element.
    """
    compiler = _Compiler(layout, max(1, tile_bytes // layout.dtype.itemsize))
    first = 0
    for number, step in enumerate(layout.schedule.steps):
        compiler.step(number, step, first)
        first += len(step)
    return compiler.plan()


class _Cell(NamedTuple):
    """A place that is read and written as one: a tile of a chunk in one of its two places."""

    endpoint: int
    chunk: int
    shadow: bool
    tile: int


class _Compiler:
    """Walks the steps once and remembers who wrote and who reads every place."""

    def __init__(self, layout: Layout, tile: int) -> None:
        endpoints = range(layout.schedule.num_endpoints)
        self._bounds = layout.bounds
        self._tile = tile
        self._held = {(e, chunk) for e in endpoints for chunk in layout.held_at_start(e)}
        self._instructions: list[list[Instruction]] = [[] for _ in endpoints]
        self._known: list[dict[int, int]] = [{} for _ in endpoints]
        self._in_shadow: set[tuple[int, int]] = set()
        self._shadow_at: dict[tuple[int, int], int] = {}
        self._elements = [layout.count for _ in endpoints]
        self._written: dict[_Cell, int] = {}
        self._readers: dict[_Cell, dict[int, int]] = {}
        self._last_read: dict[tuple[int, int], int] = {}

    def step(self, number: int, step: Sequence[Transfer], first: int) -> None:
        """Compile one step; nothing it writes may be seen by what it reads."""
        sent = {(t.src, t.chunk) for t in step}
        reads: list[tuple[_Cell, int, int]] = []
        writes: list[tuple[_Cell, int]] = []
        moves: list[tuple[int, int]] = []
        for (dst, chunk), incoming in _by_target(step, first).items():
            shadow = (dst, chunk) in self._in_shadow
            if (dst, chunk) in sent:
                shadow = not shadow
                moves.append((dst, chunk))
            keeps = incoming[0][1] is Op.REDUCE and (dst, chunk) in self._held
            senders = [(dst, OWN)] if keeps else []
            senders += [(src, transfer) for src, _, transfer in incoming]
            for tile, (offset, count) in enumerate(self._tiles(chunk)):
                cells = [
                    _Cell(src, chunk, (src, chunk) in self._in_shadow, tile) for src, _ in senders
                ]
                target = _Cell(dst, chunk, shadow, tile)
                sources = tuple(
                    Source(src, self._offset(cell) + offset, transfer)
                    for (src, transfer), cell in zip(senders, cells, strict=True)
                )
                waits = self._waits(dst, cells, target)
                instruction = Instruction(
                    self._offset(target) + offset, count, sources, waits, number, chunk
                )
                self._instructions[dst].append(instruction)
                done = len(self._instructions[dst])
                reads += [(cell, dst, done) for cell in cells]
                writes.append((target, done))
        self._remember(reads, writes)
        self._in_shadow.symmetric_difference_update(moves)
        self._held.update((t.dst, t.chunk) for t in step)

    def plan(self) -> Plan:
        """Return the finished programs."""
        exits: list[dict[int, int]] = [{} for _ in self._instructions]
        for (owner, reader), done in self._last_read.items():
            if self._known[owner].get(reader, -1) < done:
                exits[owner][reader] = done
        places: list[list[tuple[int, int]]] = [[] for _ in self._instructions]
        for endpoint, chunk in sorted(self._in_shadow):
            places[endpoint].append((chunk, self._shadow_at[endpoint, chunk]))
        return Plan(
            programs=tuple(
                Program(tuple(instructions), tuple(sorted(exit_waits.items())))
                for instructions, exit_waits in zip(self._instructions, exits, strict=True)
            ),
            elements=tuple(self._elements),
            places=tuple(tuple(moved) for moved in places),
        )

    def _tiles(self, chunk: int) -> Iterator[tuple[int, int]]:
        """Yield (offset in the chunk, count); an empty chunk is one empty tile."""
        count = self._bounds[chunk + 1] - self._bounds[chunk]
        for offset in range(0, max(count, 1), self._tile):
            yield offset, min(self._tile, count - offset)

    def _offset(self, cell: _Cell) -> int:
        """Return where the chunk of a cell begins in its endpoint's memory."""
        if not cell.shadow:
            return self._bounds[cell.chunk]
        key = (cell.endpoint, cell.chunk)
        if key not in self._shadow_at:
            self._shadow_at[key] = self._elements[cell.endpoint]
            self._elements[cell.endpoint] += self._bounds[cell.chunk + 1] - self._bounds[cell.chunk]
        return self._shadow_at[key]

    def _waits(
        self, me: int, sources: Iterable[_Cell], target: _Cell
    ) -> tuple[tuple[int, int], ...]:
        """Return whom endpoint `me` must wait for, leaving out what it has already waited for."""
        need: dict[int, int] = {}
        for cell in sources:
            need[cell.endpoint] = max(need.get(cell.endpoint, 0), self._written.get(cell, 0))
        for reader, done in self._readers.get(target, {}).items():
            need[reader] = max(need.get(reader, 0), done)
        need.pop(me, None)
        known = self._known[me]
        waits = tuple((peer, done) for peer, done in need.items() if known.get(peer, -1) < done)
        known.update(waits)
        return waits

    def _remember(
        self,
        reads: Iterable[tuple[_Cell, int, int]],
        writes: Iterable[tuple[_Cell, int]],
    ) -> None:
        """Note who read and who wrote, once all of the step has been compiled."""
        for cell, reader, done in reads:
            self._readers.setdefault(cell, {})[reader] = done
            if reader != cell.endpoint:
                self._last_read[cell.endpoint, reader] = done
        for cell, done in writes:
            self._written[cell] = done
            self._readers[cell] = {}


def _by_target(
    step: Sequence[Transfer], first: int
) -> dict[tuple[int, int], list[tuple[int, Op, int]]]:
    """Group a step's transfers by the chunk they write, each group in order of its senders."""
    groups: dict[tuple[int, int], list[tuple[int, Op, int]]] = {}
    for number, transfer in enumerate(step, start=first):
        key = (transfer.dst, transfer.chunk)
        groups.setdefault(key, []).append((transfer.src, transfer.op, number))
    for incoming in groups.values():
        incoming.sort(key=lambda entry: (entry[0], entry[2]))
    return groups
