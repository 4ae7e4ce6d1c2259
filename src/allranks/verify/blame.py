"""Blame: where a fault that shows at the end entered the schedule.

Transfers of different chunks never touch each other, so the one chunk is played again, now
remembering where each value came from. For a part that is there twice, the fault is the first sum
of two values that both hold it; for a part that is missing, the COPY that replaced it, or the step
in which it came to lie still.

A transfer that was left out is nowhere in the schedule, and often several steps would do for it: in
a binomial gather, a leaf may send in the first step as well as later. So no definition can always
name the step of the author's mind. What is promised is this: before the step that is named, or at
its end if it is the last one, the rank that is named as `peer` holds parts that `rank` ends
without. In a chunk small enough to try (`repair`), one transfer more from there in this step makes
the chunk right; where no single one does, it brings parts to `rank`, or the message says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

from allranks.collectives import Contract, Size
from allranks.errors import ScheduleError
from allranks.schedule import Op, Schedule, Transfer
from allranks.verify.play import (
    Board,
    Parts,
    it,
    join,
    mask_of,
    name_of,
    once,
    parts_words,
    twice,
    where,
)
from allranks.verify.repair import Bench, Repair
from allranks.verify.silences import Silences

Moves: TypeAlias = dict[int, list[Transfer]]  # the transfers of one chunk by their step


KEEP = "REDUCE keeps it"


class _Fault(NamedTuple):
    """A promised chunk that does not hold each of its parts once."""

    rank: int
    chunk: int
    promised: int
    parts: Parts


def find_faults(schedule: Schedule, promise: Contract, size: Size, board: Board) -> list[_Fault]:
    """Return every promised chunk that does not hold each of its parts once."""
    ranks = range(schedule.world_size)
    return [
        fault
        for chunk in range(schedule.num_chunks)
        for fault in faults_of(promise, size, chunk, [board[rank][chunk] for rank in ranks])
    ]


def faults_of(promise: Contract, size: Size, chunk: int, held: Sequence[Parts]) -> list[_Fault]:
    """Return the ranks to which a chunk is promised and that do not hold each of its parts once.

    `held` is what each rank holds of this chunk at the end.
    """
    found = []
    for rank in range(size.world_size):
        promised = promise.ends(rank, chunk, size)
        if promised is None:
            continue
        mask = mask_of(promised)
        if held[rank] != mask:
            found.append(_Fault(rank, chunk, mask, held[rank]))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Value:
    """What one endpoint held of a chunk from the end of `step` on (-1: from the start).

    `own` is what it held before and added to; `lost` is what it held before and a COPY replaced.
    """

    endpoint: int
    step: int
    parts: Parts
    own: _Value | None = None
    lost: _Value | None = None
    arrivals: tuple[tuple[Transfer, _Value], ...] = ()

    @property
    def before(self) -> Parts:
        """Return the parts that the endpoint held until then."""
        old = self.own or self.lost
        return old.parts if old else 0


def _past(value: _Value | None) -> list[_Value]:
    """Return a value and every value that it was made of, each once, earliest first."""
    seen: dict[int, _Value] = {}
    todo = [value]
    while todo:
        one = todo.pop()
        if one and id(one) not in seen:
            seen[id(one)] = one
            todo += [one.own, *(source for _, source in one.arrivals)]
    return sorted(seen.values(), key=lambda one: one.step)


class _Film:
    """The life of one chunk: every value that any endpoint ever held of it."""

    def __init__(
        self,
        schedule: Schedule,
        promise: Contract,
        size: Size,
        chunk: int,
        moves: Mapping[int, Sequence[Transfer]],
    ) -> None:
        self.chunk = chunk
        self.held: list[_Value | None] = [None] * schedule.num_endpoints
        self.values: list[_Value] = []
        self.replaced: dict[int, int] = {}  # id of a value: the step whose end it did not outlive
        for rank in range(schedule.world_size):
            parts = mask_of(promise.starts(rank, chunk, size))
            if parts:
                self._keep(_Value(rank, -1, parts))
        for number, transfers in moves.items():
            arrivals: dict[int, list[tuple[Transfer, _Value]]] = {}
            for transfer in transfers:
                source = self.held[transfer.src]
                if source:
                    arrivals.setdefault(transfer.dst, []).append((transfer, source))
            for value in [self._written(number, dst, new) for dst, new in arrivals.items()]:
                self._keep(value)

    def _keep(self, value: _Value) -> None:
        old = self.held[value.endpoint]
        if old:
            self.replaced[id(old)] = value.step
        self.held[value.endpoint] = value
        self.values.append(value)

    def _written(self, step: int, dst: int, new: list[tuple[Transfer, _Value]]) -> _Value:
        before = self.held[dst]
        copied = new[0][0].op is Op.COPY
        new.sort(key=lambda arrival: arrival[0].src)
        parts: Parts = before.parts if before and not copied else 0
        for _, source in new:
            parts = join(parts, source.parts)
        own, lost = (None, before) if copied else (before, None)
        return _Value(dst, step, parts, own, lost, tuple(new))


class _Case(NamedTuple):
    """What is the same for every fault of a schedule; `failed` are the ranks that have one."""

    schedule: Schedule
    promise: Contract
    size: Size
    failed: frozenset[int]
    silences: Silences

    def is_on_the_way(self, endpoint: int, chunk: int) -> bool:
        """Tell whether blocks travel from or to a root and this one is not at home here."""
        if self.promise.reduces or not self.promise.rooted:
            return False
        if endpoint >= self.schedule.world_size:
            return True
        return self.promise.ends(endpoint, chunk, self.size) is None

    def passes_on(self, endpoint: int, chunk: int) -> bool:
        """Tell whether an endpoint that got a chunk most likely was to send it on.

        A rank that ends with all that it was promised, or was promised nothing and sends, is no
        owner by mistake.
        """
        if not self.is_on_the_way(endpoint, chunk) or endpoint in self.failed:
            return False
        return self.silences[endpoint].last_send >= 0 or any(
            self.promise.ends(endpoint, other, self.size) is not None
            for other in range(self.schedule.num_chunks)
        )


def first_fault(
    schedule: Schedule, promise: Contract, size: Size, faults: Sequence[_Fault]
) -> ScheduleError:
    """Return the error of the fault that entered first; ties go to the lower chunk, then rank."""
    by_chunk: dict[int, list[_Fault]] = {}
    for fault in faults:
        by_chunk.setdefault(fault.chunk, []).append(fault)
    moves: dict[int, Moves] = {chunk: {} for chunk in by_chunk}
    for number, transfer in schedule.transfers():
        if transfer.chunk in moves:
            moves[transfer.chunk].setdefault(number, []).append(transfer)
    failed = frozenset(fault.rank for fault in faults)
    case = _Case(schedule, promise, size, failed, Silences(schedule))
    return _earliest(
        (error, partial(_advised, case, film, moves[chunk], error))
        for chunk in sorted(by_chunk)
        for film in [_Film(schedule, promise, size, chunk, moves[chunk])]
        for error in _traced(case, film, by_chunk[chunk])
    )


def first_fault_of_films(
    schedule: Schedule,
    promise: Contract,
    size: Size,
    failed: frozenset[int],
    films: Iterable[tuple[int, Moves]],
) -> ScheduleError:
    """Return what `first_fault` returns, with one chunk at a time in memory.

    `films` are the wrong chunks in order, each with its transfers by step; `failed` the ranks on
    which any of them is wrong.
    """
    case = _Case(schedule, promise, size, failed, Silences(schedule))

    def errors() -> Iterator[_Blamed]:
        for chunk, moves in films:
            film = _Film(schedule, promise, size, chunk, moves)
            held = [value.parts if value else 0 for value in film.held]
            for error in _traced(case, film, faults_of(promise, size, chunk, held)):
                yield error, partial(_advised, case, film, moves, error)

    return _earliest(errors())


_Blamed: TypeAlias = tuple[ScheduleError, Callable[[], ScheduleError]]


def _earliest(errors: Iterable[_Blamed]) -> ScheduleError:
    """Return the first error of the earliest step, with an advice that was tried."""
    best: _Blamed | None = None
    first = 0
    for error, advised in errors:
        step = -1 if error.step is None else error.step
        if best is None or step < first:
            best, first = (error, advised), step
        if first <= 0:  # none can be earlier: without a step there is none in the schedule
            break
    if best is None:
        message = "no fault"
        raise AssertionError(message)
    return best[1]()


def _advised(case: _Case, film: _Film, moves: Moves, error: ScheduleError) -> ScheduleError:
    """Return the error of a part that is missing with an advice that works, if any does.

    An advice that would not work gives way to the first step in which one transfer more makes the
    whole chunk right. Where no single transfer does, the error says no more than what is so.
    """
    if error.kind != "missing" or error.step is None or error.chunk is None:
        return error
    bench = Bench(case.schedule, case.promise, case.size, error.chunk, moves)
    if not bench.is_small() or _works(bench, moves, error):
        return error
    repair = bench.find(_missing_of(case, film, error))
    if repair:
        return _repairable(case, error, repair)
    if error.peer is not None and not bench.brings(error.step, error.peer, error.rank):
        error.message = error.message.partition(", add the transfer")[0]
        error.message += ", and no single transfer more makes the chunk right"
        error.args = (error.message,)
    return error


def _works(bench: Bench, moves: Moves, error: ScheduleError) -> bool:
    """Tell whether the advice of an error makes its chunk right, or is none to try."""
    step = error.step or 0
    if error.peer is not None:
        return bench.find_from(step, error.peer) is not None
    if not error.message.endswith(KEEP):
        return True
    copied = next(one for one in moves[step] if (one.src, one.dst) == (error.src, error.dst))
    return bench.is_right_as_a_sum(step, copied)


def _missing_of(case: _Case, film: _Film, error: ScheduleError) -> int:
    """Return all parts of a chunk that some rank ends without."""
    missing = 0
    for rank in range(case.size.world_size):
        promised = case.promise.ends(rank, film.chunk, case.size)
        value = film.held[rank]
        if promised is not None:
            missing |= mask_of(promised) & ~once(value.parts if value else 0)
    assert missing, error  # noqa: S101 - the error says that some are
    return missing


def _repairable(case: _Case, error: ScheduleError, repair: Repair) -> ScheduleError:
    """Return the error of a transfer that was left out, by its place."""
    step, transfer = repair
    src, dst = (name_of(case.schedule, end) for end in (transfer.src, transfer.dst))
    message = (
        f"step {step}: chunk {transfer.chunk}: {src} has what others end without and does not send "
        f"it to {dst}; add {src} -> {dst} ({transfer.op.name}) in this step"
    )
    return ScheduleError(
        message,
        kind="missing",
        rank=error.rank,
        step=step,
        peer=transfer.src,
        chunk=transfer.chunk,
    )


def _traced(case: _Case, film: _Film, faults: Sequence[_Fault]) -> Iterator[ScheduleError]:
    """Yield the errors of one chunk."""
    for fault in _one_per_value(film, faults):
        if twice(fault.parts):
            yield _double_count(case.schedule, film, fault)
        if fault.promised & ~once(fault.parts):
            witness = _witness(film, faults, fault)
            yield (
                _wrong_owner(case, film, fault)
                or (None if witness else _replaced(case.schedule, film, fault))
                or _left_behind(case, film, witness or fault)
            )
        elif not twice(fault.parts):
            yield _stranger(case.schedule, film, fault)


def _one_per_value(film: _Film, faults: Sequence[_Fault]) -> Iterator[_Fault]:
    """Keep one of the ranks that ended with equal parts: the one that has had them for longest."""
    first: dict[Parts, tuple[int, _Fault]] = {}
    for fault in faults:
        value = film.held[fault.rank]
        step = value.step if value else -1
        if fault.parts not in first or step < first[fault.parts][0]:
            first[fault.parts] = (step, fault)
    return (fault for _, fault in first.values())


def _double_count(schedule: Schedule, film: _Film, fault: _Fault) -> ScheduleError:
    """Blame the first sum, in the fault's past, of two values that both hold a part."""
    value = next(value for value in _past(film.held[fault.rank]) if twice(value.parts))
    transfer, source, parts = _clash(value)
    if sum(other == transfer for other, _ in value.arrivals) > 1:
        advice = "the same transfer stands twice in this step, leave one of them out"
    elif source.parts == fault.promised and schedule.world_size > transfer.dst:
        advice = f"what {name_of(schedule, transfer.src)} sends is complete, so COPY it"
    else:
        advice = f"send a chunk that does not contain {it(twice(parts))}"
    whose = parts_words(twice(parts))
    message = f"{where(schedule, value.step, transfer)}: {whose} would be added twice; {advice}"
    return ScheduleError(
        message,
        kind="double_count",
        rank=transfer.dst,
        step=value.step,
        src=transfer.src,
        dst=transfer.dst,
        chunk=transfer.chunk,
    )


def _clash(value: _Value) -> tuple[Transfer, _Value, Parts]:
    """Return the arrival that brought a part which was there already, and the sum with it."""
    parts: Parts = value.own.parts if value.own else 0
    for transfer, source in value.arrivals:
        parts = join(parts, source.parts)
        if twice(parts):
            return transfer, source, parts
    message = f"no clash in {value}"
    raise AssertionError(message)


def _stranger(schedule: Schedule, film: _Film, fault: _Fault) -> ScheduleError:
    """Blame the first transfer that brought a part which nobody promised there."""
    extra = once(fault.parts) & ~fault.promised
    value = next(
        value
        for value in _past(film.held[fault.rank])
        if value.endpoint == fault.rank and once(value.parts) & extra
    )
    message = (
        f"step {value.step}: {name_of(schedule, value.endpoint)}, chunk {fault.chunk}: "
        f"nobody promised {parts_words(extra)} in this chunk of rank {fault.rank}; "
        f"leave {it(extra)} out"
    )
    return ScheduleError(
        message, kind="double_count", rank=fault.rank, step=value.step, chunk=fault.chunk
    )


def _wrong_owner(case: _Case, film: _Film, fault: _Fault) -> ScheduleError | None:
    """Blame the transfer that completed the chunk on a rank to which nobody promised it.

    A rank that had it only to pass it on, and a step in which to do so, is no such rank.
    """
    schedule, promise, size = case.schedule, case.promise, case.size
    last = len(schedule.steps) - 1
    rank, chunk = fault.rank, fault.chunk
    resting = [
        value
        for value in film.held[: schedule.world_size]
        if value and value.arrivals and value.parts == fault.promised
        if promise.ends(value.endpoint, chunk, size) is None
        if value.step == last or not case.passes_on(value.endpoint, chunk)
    ]
    if not resting:
        return None
    n = schedule.world_size
    shifts = {(rank + 1) % n: "later"}
    shifts[(rank - 1) % n] = "earlier"  # on two ranks too: rings go right
    value = min(
        resting, key=lambda value: (value.endpoint not in shifts, value.step, value.endpoint)
    )
    transfer, _ = value.arrivals[-1]
    if value.endpoint in shifts and promise.reduces and not promise.rooted:
        advice = f"start one chunk {shifts[value.endpoint]}"
        if shifts[value.endpoint] == "earlier":
            advice += ' (the "r + 1" trap: rank r ends with chunk r + 1)'
    elif promise.reduces and promise.rooted:
        advice = f"let its way end there; the root is rank {size.root}, is that used?"
    else:
        advice = "let its way end there"
    message = (
        f"{where(schedule, value.step, transfer)}: chunk {chunk} is complete on rank "
        f"{value.endpoint}, the contract wants it on rank {rank}: {advice}"
    )
    return ScheduleError(
        message,
        kind="wrong_owner",
        rank=rank,
        step=value.step,
        src=transfer.src,
        dst=transfer.dst,
        peer=value.endpoint,
        chunk=chunk,
    )


def _witness(film: _Film, faults: Sequence[_Fault], fault: _Fault) -> _Fault | None:
    """Return a rank that lacks, for another reason, what the first COPY in the fault's past lost.

    A part that never left the COPY's receiver did not get there in time to be in what it sends
    back: the COPY is right, and whoever lacks the part without it shows where it got stuck.
    """
    loss = _first_loss(film, fault)
    if not loss:
        return None
    value, lost = loss
    for other in film.values:
        if other.endpoint != value.endpoint and not lost & ~once(other.parts):
            return None
    return next(
        (
            other
            for other in faults
            if lost & other.promised & ~once(other.parts)
            if all(one is not value for one in _past(film.held[other.rank]))
        ),
        None,
    )


def _first_loss(film: _Film, fault: _Fault) -> tuple[_Value, int] | None:
    """Return the first COPY in the fault's past that replaced missing parts, and those parts."""
    missing = fault.promised & ~once(fault.parts)
    for value in _past(film.held[fault.rank]):
        if value.lost and once(value.lost.parts) & missing:
            return value, once(value.lost.parts) & missing
    return None


def _replaced(schedule: Schedule, film: _Film, fault: _Fault) -> ScheduleError | None:
    """Blame the first COPY, in the fault's past, that replaced a value with a missing part."""
    loss = _first_loss(film, fault)
    if not loss:
        return None
    value, lost = loss
    transfer, source = value.arrivals[0]
    whose = parts_words(lost)
    if value.lost and once(value.lost.parts) & once(source.parts):
        advice = "send a chunk that contains what is there already"
    else:
        advice = KEEP
    message = (
        f"{where(schedule, value.step, transfer)}: COPY replaces what "
        f"{name_of(schedule, transfer.dst)} holds and loses {whose}; {advice}"
    )
    return ScheduleError(
        message,
        kind="missing",
        rank=transfer.dst,
        step=value.step,
        src=transfer.src,
        dst=transfer.dst,
        chunk=transfer.chunk,
    )


def _left_behind(case: _Case, film: _Film, fault: _Fault) -> ScheduleError:
    """Blame the step in which the missing parts came to lie still.

    No transfer is wrong here; one is left out, and its step is a best guess: a step in which
    somebody has the parts and sends nothing, although it sends again later; if they never moved,
    or came to lie where they were to be passed on, the first step in which the rank that has them
    sends to the rank that lacks them, or else sends nothing; the step in which somebody sent them
    to several others at once; the step after somebody last got them.
    """
    schedule, promise, _, _, silences = case
    missing = fault.promised & ~once(fault.parts)
    carrying = [value for value in film.values if not missing & ~once(value.parts)]
    if not carrying:  # they never were together: speak of the first alone
        missing &= -missing
        carrying = [value for value in film.values if not missing & ~once(value.parts)]
    gained = [value for value in carrying if missing & ~once(value.before)]
    newest = max(gained, key=lambda value: value.step)
    what = parts_words(missing) if promise.reduces else "it"
    them = it(missing) if promise.reduces else "it"
    last = len(schedule.steps) - 1
    passing = newest.step >= 0 and case.passes_on(newest.endpoint, fault.chunk)
    gap = None if passing else _first_gap(carrying, film, silences)
    link = None
    if passing or (gap is None and newest.step < 0):
        held = [value for value in carrying if value.endpoint == newest.endpoint]
        if case.is_on_the_way(newest.endpoint, fault.chunk):
            link = _first_link(held, fault.rank, film, silences)
        gap = link or _first_chance(held, fault.rank, film, silences)
    fan = None if gap or passing else _fan(gained, newest, missing)
    step: int | None = None
    if passing and newest.step < last:
        holder = newest.endpoint
        step = gap[0] if gap else newest.step + 1
        why = (
            f"{name_of(schedule, holder)} holds {what} since step {newest.step} "
            f"and does not send {them} on"
        )
    elif link:
        step, holder = link
        why = (
            f"{name_of(schedule, holder)} has {what} and sends rank {fault.rank} only other chunks"
        )
    elif gap:
        step, holder = gap
        why = f"{name_of(schedule, holder)} has {what} and sends nothing in this step"
    elif fan is not None:
        step, holder = newest.step, fan
        why = f"{name_of(schedule, holder)} has {what} and sends {them} to others in this step"
    else:
        holder = newest.endpoint
        step = min(newest.step + 1, last) if schedule.steps else None
        why = f"{name_of(schedule, holder)} has {what}, and from here on nobody new gets {them}"
        if newest.step >= last:
            why = f"the schedule ends here, and {name_of(schedule, holder)} has {what}"
    message = (
        f"{'no step' if step is None else f'step {step}'}: chunk {fault.chunk}: {why}; rank "
        f"{fault.rank} ends without {them}, add the transfer that brings {them} there"
    )
    return ScheduleError(
        message, kind="missing", rank=fault.rank, step=step, peer=holder, chunk=fault.chunk
    )


def _first_gap(
    carrying: Sequence[_Value], film: _Film, silences: Silences
) -> tuple[int, int] | None:
    """Return the first step in which an endpoint held one of these values and sent nothing.

    Only an endpoint that sends again later has a gap. Returns the step and the endpoint.
    """
    found = []
    for value in carrying:
        silence = silences[value.endpoint]
        step = silence.silent_after(value.step)
        if step < silence.last_send and step <= film.replaced.get(id(value), step):
            found.append((step, value.endpoint))
    return min(found, default=None)


def _fan(gained: Sequence[_Value], newest: _Value, missing: int) -> int | None:
    """Return the endpoint that sent the missing parts to several others in the newest step."""
    sources = [
        source
        for value in gained
        if value.step == newest.step
        for _, source in value.arrivals
        if not missing & ~once(source.parts)
    ]
    several = [source.endpoint for source in sources if sources.count(source) > 1]
    return min(several, default=None)


def _first_link(
    held: Sequence[_Value], target: int, film: _Film, silences: Silences
) -> tuple[int, int] | None:
    """Return the first step in which the holder of these values sent `target` another chunk."""
    holder = held[0].endpoint
    steps = [
        step
        for step in silences[holder].sends_to.get(target, ())
        if any(value.step < step <= film.replaced.get(id(value), step) for value in held)
    ]
    return (steps[0], holder) if steps else None


def _first_chance(
    carrying: Sequence[_Value], target: int, film: _Film, silences: Silences
) -> tuple[int, int] | None:
    """Return the first step in which the one rank that held these values was free to send them.

    A step in which `target` receives nothing comes first.
    """
    holder = carrying[0].endpoint
    busy = silences[target].receives
    first: int | None = None
    for step in silences[holder].silent_steps():
        if any(value.step < step <= film.replaced.get(id(value), step) for value in carrying):
            if step not in busy:
                return step, holder
            first = step if first is None else first
    return None if first is None else (first, holder)
