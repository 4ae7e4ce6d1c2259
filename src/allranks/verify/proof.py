"""Proof of an algorithm: by the films of a few chunks where there is a symmetry."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Unpack

from allranks.algorithms import PARAMETERS, Parameters, build, plan_of
from allranks.errors import shown, unknown_name
from allranks.schedule import counted

MAX_RANKS = 1 << 20  # a film of recursive doubling then takes half a gigabyte
WRITTEN_OUT = "no symmetry used: every transfer was played"


@dataclass(frozen=True)
class Proof:
    """What was proved, and how much of it had to be played.

    `transfers` counts the whole schedule, `transfers_played` the films; `symmetry` says in a
    sentence how the other chunks follow from these.
    """

    collective: str
    algorithm: str
    world_size: int
    num_chunks: int
    transfers: int
    transfers_played: int
    symmetry: str

    def to_dict(self) -> dict[str, str | int]:
        """Return the fields as plain JSON data."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the proof in two lines."""
        return (
            f"{self.collective} {self.algorithm}: proved for {counted(self.world_size, 'rank')}, "
            f"{counted(self.num_chunks, 'chunk')}, {counted(self.transfers, 'transfer')}\n"
            f"played {counted(self.transfers_played, 'transfer')}; {self.symmetry}"
        )


def prove(
    collective: str,
    algorithm: str,
    *,
    world_size: int,
    root: int | None = None,
    **parameters: Unpack[Parameters],
) -> Proof:
    """Prove that an algorithm keeps its collective's promise, for any number of ranks.

    Takes what `allranks.schedule` takes: root, num_chunks, node_size, inner, outer, radix. Where
    no symmetry of the algorithm is known here, its schedule is written out and every transfer
    played. A folded proof is one of every chunk, because chunks never meet and each moves as a
    filmed one does with the ranks renamed one to one, which leaves the promise as it was; that the
    algorithm's generator yields just these moves is tested, transfer by transfer, for all n <= 64,
    not proved for this n (`allranks.verify.fold` has the argument).

    Raises:
        ScheduleError: the promise is not kept; as `allranks.verify`.
        ValueError: as `allranks.schedule`; more than MAX_RANKS ranks; without a symmetry, a
            schedule too long to write out.

    >>> proof = prove("all_reduce", "ring", world_size=131_072)
    >>> proof.transfers, proof.transfers_played
    (34359476224, 262142)
    """
    # Films need NumPy; `verify` alone, of which this is a part, does not.
    from allranks.algorithms.folded import fold  # noqa: PLC0415
    from allranks.verify import verify  # noqa: PLC0415
    from allranks.verify.fold import verify_folded  # noqa: PLC0415

    asked = {**parameters, "root": root}
    unknown = sorted(set(asked) - set(PARAMETERS))
    if unknown:
        raise ValueError(unknown_name("parameter", unknown[0], PARAMETERS))
    number: object = world_size  # whether it is one is for `plan_of` to say
    if isinstance(number, int) and number > MAX_RANKS:
        message = f"world_size is {shown(world_size)}; a proof takes {MAX_RANKS:,} ranks at most"
        raise ValueError(message)
    plan = plan_of(collective, algorithm, world_size, asked)
    folded = fold(collective, algorithm, world_size, plan)
    if folded is not None:
        verify_folded(folded)
        transfers, played = folded.num_transfers, folded.film.num_transfers
        symmetry = folded.symmetry
    else:
        try:
            schedule = build(collective, algorithm, world_size=world_size, root=root, **parameters)
        except ValueError:  # `plan_of` has accepted everything but the length
            message = (
                f"world_size is {world_size}; no symmetry of {algorithm} {collective} is known "
                "here to prove it by, and its schedule is too long to write out; use fewer ranks"
            )
            raise ValueError(message) from None
        verify(schedule)
        transfers = played = schedule.num_transfers
        symmetry = WRITTEN_OUT
    return Proof(collective, algorithm, world_size, plan.num_chunks, transfers, played, symmetry)
