"""The verifier's answers travel with a figure: one for every broken choice that it offers."""

from __future__ import annotations

import pytest

import allranks as ar
from allranks.algorithms.variants import vary
from allranks.view.asked import parse_controls
from allranks.view.frames import flow
from allranks.view.variants import first_wrong_event


def figure(collective: str, algorithm: str, n: int, controls: str) -> dict[str, object]:
    plan = ar.schedule(collective, algorithm, world_size=n)
    return flow(plan, controls=parse_controls(controls), owners=True)


def test_every_bug_at_every_n_has_the_sentence_of_the_verifier() -> None:
    found = figure("reduce_scatter", "ring", 4, "n=2-5 start bugs")["verdicts"]
    assert isinstance(found, dict)
    for n in (2, 3, 4, 5):
        plan = ar.schedule("reduce_scatter", "ring", world_size=n)
        for names in (["shifted"], ["twice"], ["dropped"], ["swapped"], ["shifted", "dropped"]):
            event = first_wrong_event(vary(plan, *names))
            assert event is not None
            assert found[f"ring {n} {','.join(names)}"] == event
    # on two ranks both renamings together are none at all
    assert "ring 2 shifted,swapped" not in found


def test_a_film_that_is_right_backwards_has_no_entry_and_refused_sizes_are_left_out() -> None:
    controls = "n=2-8 algorithm=ring,recursive_doubling reverse"
    assert figure("all_gather", "ring", 4, controls)["verdicts"] == {}
    assert figure("all_gather", "ring", 4, "n=2-8")["verdicts"] == {}


def test_a_fault_that_breaks_nothing_is_refused() -> None:
    assert figure("all_reduce", "ring", 4, "bugs=twice,dropped")["verdicts"]
    with pytest.raises(ValueError, match="right also with swapped"):
        figure("all_reduce", "ring", 4, "bugs=swapped")
    with pytest.raises(ValueError, match="nothing is added"):
        figure("all_gather", "ring", 4, "bugs")
    with pytest.raises(ValueError, match="planted fault"):
        parse_controls("bugs=thrice")
