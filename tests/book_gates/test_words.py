"""The gate of words: two words for one thing, and claims without their condition, are found."""

from __future__ import annotations

import re

import pytest
from gate_pages import WORDS, page

from allranks.serve.gates import words


def found(text: str, **allowed: dict[str, str]) -> list[str]:
    return [each.text for each in words.findings(page(text, **allowed), WORDS)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It takes two rounds.", "'rounds': write step"),
        ("It goes round the ring.", "'round': write step"),
        ("In one tick.", "'tick': write step"),
        ("One iteration later.", "'iteration': write step"),
        ("GPU 0 sends, worker 1 waits.", "'GPU 0': write rank"),
        ("The master sends.", "'master': write root"),
        ("An all reduce, an allreduce.", "'all reduce': write all-reduce"),
        ("AllReduce is one.", "'AllReduce': write all-reduce"),
        ("All-Reduce is one.", "'All-Reduce': write all-reduce"),
        ("An allgather.", "'allgather': write all-gather"),
        ("It is allgathered.", "'allgathered': write all-gather"),
        ("A reduce scatter.", "'reduce scatter': write reduce-scatter"),
        ("An alltoall.", "'alltoall': write all-to-all"),
        ("It is broadcasted.", "'broadcasted': write broadcast"),
        ("The world size.", "'world size': write n"),
        ("A shard of the vector.", "'shard': write block"),
        ("100 Gbps.", "'Gbps': write GB/s for bytes"),
        ("It takes 5 KB.", "'KB': write kB"),
        ("SHARP doubles the bandwidth.", "'SHARP doubles': write the gain"),
        ("With NVLS it is twice as fast.", "'NVLS it is twice as fast': write the gain"),
        ("The speed is doubled by SHARP.", "'doubled by SHARP': write the gain"),
        ("It simply waits.", "'simply': write nothing"),
        ("It doesn't wait, and it’s late.", '"doesn\'t": write the words in full'),
        ("We’ll see.", "'We’ll': write the words in full"),
        ("As a rule of thumb.", "'rule of thumb': write the plain words"),
        ("One link has 400 Gb/s.", "'Gb/s': write GB/s, or say"),
        ("It has 50 GB/s.", "the first bandwidth of a page says `per direction`"),
        ('{engine}`1 / machine("bench").beta | GBps`', "the first bandwidth of a page"),
        ("Every all-reduce sends $2\\frac{n-1}{n}S$.", "2(n-1)/n S is true of algorithms that"),
        ("The ring is optimal: all-reduce needs $\\frac{2(n-1)}{n}S$.", "2(n-1)/n S is true"),
    ],
)
def test_what_the_book_does_not_say_is_found_with_its_cure(text: str, said: str) -> None:
    assert any(each.startswith(said) for each in found(text)), found(text)


@pytest.mark.parametrize(
    "text",
    [
        "Rounded up, a rounding error, around the ring, in the background.",
        "An all-reduce, all-reduced, All-reduce; `ncclAllReduce`, `all_reduce`, `allreduce`.",
        "An all-gather, all-gathered; reduce-scatter; all-to-all.",
        "A shard of the parameters.",
        "The rank's own chunk, the ranks' chunks.",
        "You learn what Gb/s and GB/s are.",
        "The links count bits: 400 Gb/s in each direction.",
        "It has 50 GB/s per direction. Later it has 25 GB/s.",
        "It has 50 GB/s per direction.\n\nLater it has 25 GB/s.",
        "The bus bandwidth is 480 GB/s.",
        "An all-reduce that only sends and receives moves at least $2\\frac{n-1}{n}S$.",
        "The ring all-reduce sends $2\\frac{n-1}{n}S$ from every rank.",
        "The scatter sends $2\\frac{n-1}{n}S$ out of the root.",
        "SHARP adds in the switch. The ring takes twice as long as the tree.",
        "After each training iteration.",
        "```{code-cell}\n# two rounds\n```",
    ],
)
def test_what_the_book_may_say_passes(text: str) -> None:
    assert found(text) == []


def test_a_page_may_say_what_its_list_gives_a_reason_for() -> None:
    assert found("Two rounds.", word={"rounds": "the word of a quoted title"}) == []
    unused = found("Two steps.", word={"rounds": "the word of a quoted title"})
    assert unused == ["nothing on the page needs the word 'rounds'; take it out"]


def test_a_word_is_found_in_its_line() -> None:
    chapter = page("# T\n\none\ntwo\nthree rounds\n\n| a |\n|---|\n| a round |\n")
    assert [each.line for each in words.findings(chapter, WORDS)] == [5, 9]


def test_every_rule_says_what_to_write_and_why() -> None:
    for rule in WORDS["refused"]:
        re.compile(rule["pattern"])
        assert rule["use"]
        assert rule["why"]
        for each in rule.get("allowed", ()):
            re.compile(each["pattern"])
            assert each["why"]
