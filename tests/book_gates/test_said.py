"""Items, hints and feedback use the words of the book, as its pages do."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
import spelling
from gate_pages import WORDS
from spelling import Text

from allranks.serve.gates.words import refused


@pytest.mark.parametrize("read", [spelling.items, spelling.exercises])
def test_no_refused_word_is_said(read: Callable[[], Iterable[Text]]) -> None:
    found = [
        f"{each.place}:{each.line}: {advice}"
        for each in read()
        for _, _, advice in refused(spelling.NO_WORDS.sub(" ", each.text), WORDS)
    ]
    assert not found, "\n".join(found)
