"""The gate of numbers: what is typed by hand is found, whatever it stands in."""

from __future__ import annotations

import pytest
from gate_pages import NUMBERS, page

from allranks.serve.gates import numbers


def found(text: str, **allowed: dict[str, str]) -> list[tuple[int, str, str]]:
    return [
        (each.line, each.gate, each.text.split("'")[1])
        for each in numbers.findings(page(text, **allowed), NUMBERS)
    ]


def typed(text: str) -> list[str]:
    return [number for _, gate, number in found(text) if gate == "number"]


@pytest.mark.parametrize(
    ("text", "numerals"),
    [
        ("It is 48 MB.", ["48 MB"]),
        ("In 5 steps", ["5 steps"]),
        ("At 14 of them", ["14"]),
        ("It is 0.84 and 1.5 of it", ["0.84", "1.5"]),
        ("| a | 12 us |\n|---|---|\n| 3 ms | b |", ["12 us", "3 ms"]),
        ("- 7 GB/s\n- 31", ["7 GB/s", "31"]),
        ("# Twelve, or 12", ["12"]),
        ("2,287\u00a0µs and 18 % (7 ms)", ["2,287 µs", "18 %", "7 ms"]),
        ("12% or 3×", ["12%", "3×"]),
        ("*12* and **13**, [14](x.md)", ["12", "13", "14"]),
        ("{show}`3 steps <fig?n=3>`", ["3 steps"]),
        ("{mis}`3 steps are enough <M-COUNT-N>`", ["3 steps"]),
        ("```{chunk-flow} a b\n:nbytes: 48e6\nA caption of 12 MB.\n```", ["12 MB"]),
        ("```{chunk-flow} a b\n:title: It takes 12 MB\n\nCaption.\n```", ["12 MB"]),
        (":::{takeaway}\n4 steps\n:::", ["4 steps"]),
        (":::{nccl} x\n25 GB/s\n:::", ["25 GB/s"]),
        ("```{note}\n25 of them\n```", ["25"]),
        (":::{admonition} The 25 of it\nText.\n:::", ["25"]),
        ("$0.84$", ["0.84"]),
        ("$n = 48$ and $x^{16}$", ["48", "16"]),
        ("$5$ steps", ["5 steps"]),
        ("$48{,}000$", ["48,000"]),
        ("$$\n1.5 S\n$$", ["1.5"]),
        ("```{math}\n\\frac{11}{n}\n```", ["11"]),
        ("![12 ranks](x.png)", ["12 ranks"]),
        ("<b>12</b> of them", ["12"]),
        ("---\nx: 5 steps\n---\n6 steps", ["6 steps"]),
    ],
)
def test_a_numeral_that_is_typed_by_hand_is_found(text: str, numerals: list[str]) -> None:
    assert typed(text) == numerals


@pytest.mark.parametrize(
    "text",
    [
        "step 0, chunk 3, ranks 0 and 1, 03, 5 of them",
        "from rank 2 steps are counted",
        '{engine}`steps("broadcast", "flat", n=16) | int` and {given}`48 MB`',
        "`5 steps of 48 MB`",
        "$n-1$, $\\frac{n-1}{n}$, $2^s$, $1 + 2 + 4 = 7$, $(1,2)$",
        "```{code-cell}\n5 steps of 48 MB\n```",
        "```\n5 steps of 48 MB\n```",
        "```{literalinclude} x.py\n:lines: 12-48\n```",
        "[x](https://example.org/5-steps/12)",
        "In 1994, on 2026-11-30, read 2026-11",
        "NCCL v2.30.7, version 2.24, Python 3.11, PCIe 5.0, MPI-3",
        "Apache License 2.0 and CC BY 4.0",
        "H100, A100, GB200, LL128, ConnectX-7",
        "fp16, bf16, int64, f32, e4m3, float32",
        "chapters 10 and 11, chapter 12",
        "IEEE 8(11), pages 69–78, issue 828, commit a0b82b22, section 4.2",
        "doi 10.1109/COMHPC.2016.006 and arXiv:2506.20252",
        "{given}`1 GB` is $10^9$ bytes",
        'It says "up to 450 GB/s" (`src/graph/tuning.cc`).',
    ],
)
def test_what_is_no_claim_of_the_book_passes(text: str) -> None:
    assert typed(text) == []


def test_a_quotation_needs_its_source() -> None:
    assert typed('It says "up to 450 GB/s".') == ["450 GB/s"]


def test_every_numeral_is_found_where_it_stands() -> None:
    text = "# T\n\none\ntwo 12 us\nthree 13\n\n| a |\n|---|\n| b |\n| 14 |\n\n$$\na\n15\n$$\n"
    assert [(line, number) for line, _, number in found(text)] == [
        (4, "12 us"),
        (5, "13"),
        (10, "14"),
        (14, "15"),
    ]


def test_a_page_may_say_what_its_list_gives_a_reason_for() -> None:
    assert found("77 of them", number={"77": "the number of it"}) == []
    assert (
        found("78 of them", number={"77": "the number of it"})
        == [
            (1, "allowed", "77"),
            (1, "number", "78"),
        ][::-1]
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("It takes about {given}`45 minutes`.", "estimated time"),
        (
            '{given}`48 MB`: {engine}`cost("broadcast", "flat", n=6, S=48e6).seconds | us`',
            "parameter",
        ),
        ("{given}`48 MB`\n\n```{chunk-flow} a b\n:nbytes: 48e6\nCaption.\n```", "parameter"),
        ("{given}`33` {show}`x <fig?n=33>`", "parameter"),
        ("{given}`4000 B`\n\n```{code-cell}\nsizes = [4_000]\n```", "parameter"),
        ("{given}`364.4 GB/s` {cite:p}`bekman2023`", "quotation"),
        ("{given}`12288 B` (`src/mpi/coll/cvars.txt`)", "quotation"),
        ("| a | b |\n|---|---|\n| {given}`45.9 µs` | {cite:t}`bekman2023` |", "quotation"),
        ("| a | b |\n|---|---|\n| {given}`45.9 µs` | b |\n| x | {cite:t}`bekman2023` |", None),
        ("Just {given}`45.9 µs`.", None),
        ("{given}`16` ranks, `.venv/bin/allranks check 03`", None),
    ],
)
def test_what_a_given_number_stands_for_can_be_told(text: str, reason: str | None) -> None:
    chapter = page(text)
    (told,) = [why for _, _, why in numbers.givens(chapter.page, chapter.allowed)]
    assert told == reason


def test_what_is_defined_for_every_page_may_be_given() -> None:
    assert found("MB is {given}`1,000,000 B`.") == []


def test_a_given_number_that_stands_for_nothing_is_found() -> None:
    assert found("a\n\nJust {given}`45.9 µs`.") == [(3, "given", "45.9 µs")]
    assert found("Just {given}`45.9 µs`.", given={"45.9 µs": "what it is"}) == []
