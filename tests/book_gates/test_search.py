"""The search of the built book finds the names of the interfaces, as a reader types them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from sphinx.search.en import SearchEnglish

from allranks.serve.build import build, project
from allranks.serve.gates.rules import chapters

pytestmark = pytest.mark.book

# A name, and the pages on which the search must find it, as far as the book has them.
WANTED = {
    "ncclAllReduce": ("00-quickstart", "06-all-reduce", "appendix/notation"),
    "ncclAllGather": ("04-all-gather", "appendix/notation"),
    "all_gather_into_tensor": ("04-all-gather", "appendix/notation"),
    "psum_scatter": ("05-reduce-scatter", "appendix/notation"),
    "reduce_scatter_tensor": ("05-reduce-scatter", "appendix/notation"),
    "MPI_Allgather": ("04-all-gather", "appendix/notation"),
    "NVLS": ("00-quickstart", "09-sharp-nvls"),
    "Bruck": ("04-all-gather",),
    "half-performance": ("02-cost-of-a-message",),
}


@pytest.fixture(scope="module")
def pages_with() -> Callable[[str], set[str]]:
    """Return what looks a word up as the search of the page does: small letters, stemmed."""
    text = (build(quiet=True).html / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)", text, re.DOTALL)[1])
    language = SearchEnglish({})

    def places(word: str) -> set[int]:
        stem = language.stem(word.lower())
        found: set[int] = set()
        for table in ("terms", "titleterms"):
            hits = index[table].get(stem, [])
            found |= {hits} if isinstance(hits, int) else set(hits)
        return found

    def pages(query: str) -> set[str]:
        words = re.findall(r"\w+", query)
        hits = set.intersection(*(places(word) for word in words))
        return {index["docnames"][number].removeprefix("book/") for number in hits}

    return pages


@pytest.mark.parametrize("word", WANTED)
def test_the_search_finds(word: str, pages_with: Callable[[str], set[str]]) -> None:
    present = {chapter.name for chapter in chapters(project())}
    wanted = present.intersection(WANTED[word])
    assert wanted <= pages_with(word), f"{word} is not found on {wanted - pages_with(word)}"


def test_the_search_does_not_find_what_the_book_has_not(
    pages_with: Callable[[str], set[str]],
) -> None:
    assert pages_with("ncclAllReduceTwice") == set()
