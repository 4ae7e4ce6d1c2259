"""Folded schedules: the films are the generators', and proving them proves every chunk."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from allranks.algorithms import ALGORITHMS, ROOTED, build, plan_of
from allranks.algorithms.folded import Folded, Place, fold
from allranks.algorithms.folded.packs import PACKS
from allranks.collectives import CONTRACTS
from allranks.errors import ScheduleError
from allranks.schedule import Columns, Op
from allranks.verify import Proof, prove, verify
from allranks.verify import fold as verify_fold
from allranks.verify.fold import verify_folded

WORLDS = (*range(1, 65),)
QUADRATIC = 20  # an all_to_all on 64 ranks has 4,096 chunks with their films
UNFOLDED = {
    ("broadcast", "scatter_all_gather"),
    ("all_reduce", "one_shot"),
    ("all_reduce", "unchunked_ring"),
}


def asked_of(collective, algorithm, n):
    """Yield parameters that an algorithm takes on n ranks: few for many ranks, more for few."""
    entry = ALGORITHMS[collective, algorithm]
    roots = [{}]
    if collective in ROOTED:
        roots = [{"root": root} for root in (range(n) if n < 6 else {0, n // 3, n - 1})]
    choices = roots
    if "num_chunks" in entry.parameters:
        numbers = sorted({1, 2, 3, n, 2 * n} if n < 12 else {2, n})
        choices = [{**one, "num_chunks": number} for one in choices for number in numbers]
    if "radix" in entry.parameters:
        choices = [{**one, "radix": radix} for one in choices for radix in (None, 3)]
    if "node_size" in entry.parameters:
        sizes = [g for g in range(1, n + 1) if n % g == 0] if n < 30 else [8]
        inner, outer = (
            ("ring", "direct", "bidirectional_ring", "pat"),
            ("ring", "double_binary_tree"),
        )
        if collective == "all_to_all":
            inner = outer = ("direct", "pairwise", "bruck")
        choices = [
            {"node_size": g, "inner": inner[(g + n) % len(inner)], "outer": outer[n % len(outer)]}
            for g in sizes
        ]
    return choices


def folds(collective, algorithm, worlds=WORLDS):
    """Yield every folded schedule with its plan and number of ranks."""
    for n in worlds:
        if collective == "all_to_all" and n > QUADRATIC:
            continue
        for parameters in asked_of(collective, algorithm, n):
            try:
                plan = plan_of(collective, algorithm, n, parameters)
            except ValueError:  # the algorithm says why it refuses; tests of its own ask for that
                continue
            folded = fold(collective, algorithm, n, plan)
            if folded is not None:
                yield n, plan, folded


def as_sets(steps):
    return [sorted((*t[:3], t.op.value) for t in step) for step in steps]


# --- The films -----------------------------------------------------------------------------------


def test_every_algorithm_has_films_but_those_that_look_different_everywhere():
    assert set(ALGORITHMS) - set(PACKS) == UNFOLDED
    assert set(PACKS) <= set(ALGORITHMS)


@pytest.mark.slow
@pytest.mark.parametrize(("collective", "algorithm"), sorted(PACKS))
def test_what_is_folded_is_what_the_generator_yields(collective, algorithm):
    compared = set()
    for n, plan, folded in folds(collective, algorithm):
        steps = list(plan.entry.generator(n, **plan.parameters))
        assert as_sets(folded.expand().steps) == as_sets(steps), (n, plan.parameters)
        assert folded.num_transfers == sum(map(len, steps))
        compared.add(n)
    powers = {n for n in WORLDS if n & (n - 1) == 0}
    most = set(WORLDS[:QUADRATIC]) if collective == "all_to_all" else set(WORLDS)
    expected = {
        "rabenseifner": powers,
        "recursive_halving": powers,
        "neighbor_exchange": {1, *(n for n in WORLDS if n % 2 == 0)},
    }
    if algorithm == "recursive_doubling" and collective == "all_gather":
        expected["recursive_doubling"] = powers
    if algorithm == "hierarchical":
        most = {n for n in most if n < 30 or n % 8 == 0}
    assert compared == expected.get(algorithm, most)


@pytest.mark.parametrize(("collective", "algorithm"), sorted(PACKS))
def test_a_turn_takes_the_whole_promise_along(collective, algorithm):
    """For every rank and chunk: what is promised there is what is promised to the film's rank."""
    contract = CONTRACTS[collective]
    for n, plan, folded in folds(collective, algorithm, (1, 2, 3, 4, 6, 8, 12, 16, 64)):
        if n == 64 and plan.num_chunks > 64:
            continue
        size = contract.size(n, plan.num_chunks, plan.parameters.get("root"))
        ranks = np.arange(n)
        for chunk in range(plan.num_chunks):
            film, turn, _ = folded.place(np.array([chunk]))
            to = folded.turned(ranks, turn)
            assert sorted(to.tolist()) == ranks.tolist()  # one to one
            filmed = int(folded.representatives[film[0]])
            for rank in range(n):
                starts = contract.starts(rank, filmed, size)
                ends = contract.ends(rank, filmed, size)
                there = int(to[rank])
                assert {int(to[part]) for part in starts} == set(
                    contract.starts(there, chunk, size)
                )
                promised = contract.ends(there, chunk, size)
                assert (ends is None) == (promised is None)
                if ends is not None:
                    assert {int(to[part]) for part in ends} == set(promised)


@pytest.mark.parametrize(("collective", "algorithm"), sorted(PACKS))
def test_every_chunk_follows_a_film_and_films_follow_themselves(collective, algorithm):
    for n, plan, folded in folds(collective, algorithm, (2, 4, 6, 8)):
        chunks = np.arange(plan.num_chunks)
        film, turn, delay = folded.place(chunks)
        assert np.bincount(film).tolist() == folded.copies.tolist(), n
        own = folded.representatives
        assert film[own].tolist() == list(range(len(own)))
        assert not turn[own].any()
        assert not delay[own].any()


# --- The proof -----------------------------------------------------------------------------------


def is_proved(prover, subject):
    try:
        prover(subject)
    except ScheduleError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("collective", "algorithm"), sorted(PACKS))
def test_the_folded_proof_says_what_the_enumerated_one_says(collective, algorithm):
    enumerated = 0
    for n, _, folded in folds(collective, algorithm):
        if n > enumerated:  # for every n, with the first parameters
            verify(folded.expand())
            enumerated = n
        verify_folded(folded)


def faults_of(folded):
    """Yield the schedule with each of its films changed in one row, in many ways."""
    film = folded.film
    step = np.repeat(np.arange(len(film)), np.diff(film.bounds))
    for row in range(film.num_transfers):
        kept = np.arange(film.num_transfers) != row
        bounds = np.concatenate([[0], np.cumsum(np.bincount(step[kept], minlength=len(film)))])
        yield Columns(bounds, *(column[kept] for column in film.columns))
        for name, change in (("src", 1), ("dst", 1), ("src", 2), ("dst", -1)):
            column = getattr(film, name).copy()
            if column[row] < folded.world_size:
                column[row] = (column[row] + change) % folded.world_size
                yield replace(film, **{name: column})
        reduce = film.reduce.copy()
        reduce[row] ^= True
        yield replace(film, reduce=reduce)


@pytest.mark.slow
@pytest.mark.parametrize(("collective", "algorithm"), sorted(PACKS))
def test_a_fault_in_a_film_is_a_fault_in_the_schedule(collective, algorithm):
    verdicts = set()
    for n in (2, 3, 4, 5, 6, 8):
        for _, _, folded in list(folds(collective, algorithm, (n,)))[:3]:
            for film in faults_of(folded):
                changed = replace(folded, film=film)
                said = is_proved(verify_folded, changed)
                assert said == is_proved(verify, changed.expand()), (n, list(film))
                verdicts.add(said)
    assert False in verdicts


def test_places_that_miss_the_promise_are_refused():
    ring = fold("all_gather", "ring", 6, plan_of("all_gather", "ring", 6, {}))
    verify_folded(ring)

    def shifted(chunk):
        film, turn, delay = ring.place(chunk)
        return Place(film, (turn + 1) % 6, delay)

    def nowhere(chunk):
        film, turn, delay = ring.place(chunk)
        return Place(film + 1, turn, delay)

    with pytest.raises(ValueError, match="chunk 0 follows a film of which the turn does not meet"):
        verify_folded(replace(ring, place=shifted))
    with pytest.raises(ValueError, match="not every chunk follows a film"):
        verify_folded(replace(ring, place=nowhere))
    with pytest.raises(ValueError, match="not every film has as many copies as it says"):
        verify_folded(replace(ring, copies=np.array([5])))
    assert not is_proved(verify, replace(ring, place=shifted).expand())


@pytest.mark.parametrize(
    ("algorithm", "n", "radices"),
    [
        ("ring", 4, (2,)),
        ("ring", 4, ()),
        ("ring", 4, (8,)),
        ("ring", 4, (-2, -2)),
        ("ring", 6, (2, 2)),
        ("rabenseifner", 8, (2, 2)),
    ],
)
def test_turns_that_are_not_one_to_one_prove_nothing(algorithm, n, radices):
    folded = fold("all_reduce", algorithm, n, plan_of("all_reduce", algorithm, n, {}))
    with pytest.raises(ValueError, match="are not one to one"):
        verify_folded(replace(folded, radices=radices))


def test_films_that_do_not_fit_together_prove_nothing(monkeypatch):
    asked = {"num_chunks": 8}
    trees = fold(
        "all_reduce", "double_binary_tree", 8, plan_of("all_reduce", "double_binary_tree", 8, asked)
    )
    uneven = replace(trees, copies=np.array([7, 1]))
    with pytest.raises(ValueError, match="as many copies"):
        verify_folded(uneven)
    with monkeypatch.context() as small:
        small.setattr(verify_fold, "CHECKED", 4)
        verify_folded(trees)
        with pytest.raises(ValueError, match="as many copies"):
            verify_folded(uneven)
    with pytest.raises(ValueError, match="none of those that are filmed"):
        verify_folded(replace(trees, film=replace(trees.film, chunk=trees.film.chunk + 2)))
    for films in ([0, 0], [4, 0], [-1, 4]):
        with pytest.raises(ValueError, match="in rising order"):
            verify_folded(replace(trees, representatives=np.array(films)))

    def halves(chunk):
        film, turn, delay = trees.place(chunk)
        return Place(film, turn + 0.5, delay)

    with pytest.raises(ValueError, match="no rows of whole numbers"):
        verify_folded(replace(trees, place=halves))


def test_so_many_chunks_that_some_are_looked_at(monkeypatch):
    monkeypatch.setattr(verify_fold, "CHECKED", 7)
    assert prove("all_to_all", "bruck", world_size=9).num_chunks == 81
    assert verify_fold._spread(81).tolist() == [0, 13, 26, 40, 53, 66, 80]  # noqa: SLF001


# --- What is said about it -----------------------------------------------------------------------


def test_a_proof_says_what_was_proved_and_how():
    found = prove("all_reduce", "ring", world_size=131_072)
    assert found == Proof(
        collective="all_reduce",
        algorithm="ring",
        world_size=131_072,
        num_chunks=131_072,
        transfers=34_359_476_224,
        transfers_played=262_142,
        symmetry="rotation: chunk c moves as chunk 0 does, with rank r + c in the place of rank r",
    )
    assert str(found).splitlines() == [
        "all_reduce ring: proved for 131,072 ranks, 131,072 chunks, 34,359,476,224 transfers",
        f"played 262,142 transfers; {found.symmetry}",
    ]
    assert list(found.to_dict()) == [
        "collective",
        "algorithm",
        "world_size",
        "num_chunks",
        "transfers",
        "transfers_played",
        "symmetry",
    ]
    with pytest.raises(FrozenInstanceError):
        found.world_size = 2


@pytest.mark.parametrize(
    ("collective", "algorithm", "parameters", "transfers"),
    [
        ("all_reduce", "recursive_doubling", {}, 131_072 * 17),
        ("all_reduce", "double_binary_tree", {"num_chunks": 64}, 64 * 2 * 131_071),
        ("all_reduce", "hierarchical", {"node_size": 8}, 131_072 * 2 * 131_071),
        ("all_reduce", "sharp", {"radix": 32}, 2 * 135_300),
        ("all_to_all", "pairwise", {}, 131_072 * 131_071),
        ("scatter", "binomial", {"root": 5}, 131_072 * 17 // 2),
    ],
)
def test_huge_worlds_are_proved(collective, algorithm, parameters, transfers):
    assert prove(collective, algorithm, world_size=131_072, **parameters).transfers == transfers


def test_what_has_no_films_is_written_out():
    found = prove("broadcast", "scatter_all_gather", world_size=12, root=3)
    assert found.transfers == found.transfers_played > 0
    assert found.symmetry == "no symmetry used: every transfer was played"
    odd = prove("all_reduce", "rabenseifner", world_size=12)
    assert odd.symmetry == found.symmetry
    assert prove("all_reduce", "hierarchical", world_size=12, node_size=5).transfers > 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("all_reduce", "rnig", 4, {}), "did you mean 'ring'?"),
        (("all_redcue", "ring", 4, {}), "did you mean 'all_reduce'?"),
        (("all_reduce", "ring", 0, {}), "world_size is 0"),
        (("all_reduce", "ring", "4", {}), "world_size is '4'"),
        (("all_reduce", "ring", 1 << 21, {}), "a proof takes 1,048,576 ranks at most"),
        (("all_reduce", "ring", 4, {"rot": 1}), "did you mean 'root'?"),
        (("all_reduce", "ring", 4, {"root": 1}), "all_reduce has no root"),
        (
            ("all_reduce", "one_shot", 131_072, {}),
            "no symmetry of one_shot all_reduce is known here",
        ),
        (("all_reduce", "one_shot", 131_072, {}), "too long to write out"),
        (("all_reduce", "ring", 10**400, {}), "world_size is a number of about 400 digits"),
        (("all_reduce", "sharp", 4, {"num_chunks": 10**400}), "it may be 2^62 at most"),
        (("all_reduce", "sharp", 4, {"radix": 10**400}), "radix is a number of about 400 digits"),
        (([4], "ring", 4, {}), "unknown collective"),
        (("all_reduce", {}, 4, {}), "unknown algorithm of all_reduce"),
        (("all_reduce", np.array([4]), 4, {}), "unknown algorithm of all_reduce"),
        ((np.array([4]), "ring", 4, {}), "unknown collective"),
        (("all_gather", "recursive_doubling", 6, {}), "needs a power of two"),
    ],
)
def test_what_cannot_be_proved_is_refused_in_a_sentence(call, words):
    collective, algorithm, n, parameters = call
    with pytest.raises(ValueError, match=words.replace("?", r"\?").replace("^", r"\^")):
        prove(collective, algorithm, world_size=n, **parameters)


def test_a_broken_generator_of_an_algorithm_without_films_is_not_proved(monkeypatch):
    entry = ALGORITHMS["all_reduce", "one_shot"]
    broken = replace(entry, generator=lambda n: list(entry.generator(n)) * 2)
    monkeypatch.setitem(ALGORITHMS, ("all_reduce", "one_shot"), broken)
    with pytest.raises(ScheduleError) as caught:
        prove("all_reduce", "one_shot", world_size=5)
    assert caught.value.kind == "double_count"


def test_a_fault_in_a_film_is_named_with_its_step():
    ring = fold("all_reduce", "ring", 1000, plan_of("all_reduce", "ring", 1000, {}))
    reduce = ring.film.reduce.copy()
    reduce[1200] = True
    with pytest.raises(ScheduleError) as caught:
        verify_folded(replace(ring, film=replace(ring.film, reduce=reduce)))
    error = caught.value
    assert (error.kind, error.step, error.chunk) == ("double_count", 1200, 0)
    assert ring.film[1200][0].op is Op.COPY


def test_a_schedule_of_films_moves_only_what_is_filmed():
    folded = fold("all_gather", "ring", 5, plan_of("all_gather", "ring", 5, {}))
    assert isinstance(folded, Folded)
    schedule = folded.schedule_of_films()
    assert {t.chunk for _, t in schedule.transfers()} == {0}
    whole = build("all_gather", "ring", world_size=5)
    assert as_sets(schedule.steps) == [
        [row for row in step if row[2] == 0] for step in as_sets(whole.steps)
    ]
