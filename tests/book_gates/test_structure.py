"""The gates of headings and pictures, in the source of a page and in what is built from it."""

from __future__ import annotations

import pytest
from gate_pages import page, places

from allranks.serve.gates import structure


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# A\n\n## B\n\n### C\n\n## D\n", []),
        ("# A\n\n### B\n", [(3, "heading")]),
        ("## A\n", [(1, "heading")]),
        ("text\n", [(1, "heading")]),
        ("# A\n\n# B\n", [(3, "heading")]),
        ("# A\n\n## B\n\n#### C\n\n## D\n\n#### E\n", [(5, "heading"), (9, "heading")]),
        ("# A\n\n![what it shows](x.png)\n", []),
        ("# A\n\n![](x.png)\n", [(3, "alt")]),
        ("# A\n\n![x.png](x.png)\n", [(3, "alt")]),
        ("# A\n\n```{image} x.png\n:alt: what it shows\n```\n", []),
        ("# A\n\n```{image} x.png\n```\n", [(3, "alt")]),
        ("# A\n\n```{figure} x.png\nCaption.\n```\n", [(3, "alt")]),
        ("# A\n\n```{chunk-flow} a b\n:id: x\nCaption.\n```\n", []),
        ("# A\n\n```{chunk-flow} a b\n:id: x\n```\n", [(3, "alt")]),
    ],
)
def test_the_source_of_a_page_is_an_outline_with_words_for_its_pictures(
    text: str, found: list[tuple[int, str]]
) -> None:
    assert places(list(structure.findings(page(text)))) == found


@pytest.mark.parametrize(
    ("html", "says"),
    [
        ('<img src="x.png" alt="three ranks in a ring">', None),
        ('<img src="x.png">', "has no words"),
        ('<img src="x.png" alt="">', "has no words"),
        ('<img src="x.png" alt="" role="presentation">', None),
        ('<img src="x.png" alt="../_images/x.png">', "has no words"),
        ('<img src="x.png" alt="_build/jupyter_execute/x_3_0.png">', "has no words"),
        ("<svg><path/></svg>", "a drawing has no words"),
        ('<svg role="img" aria-label="times of two plans"></svg>', None),
        ("<svg><title>times of two plans</title></svg>", None),
        ('<span aria-hidden="true"><svg></svg></span>', None),
        ("<chunk-flow><script>{}</script></chunk-flow>", "empty without scripts"),
        ("<chunk-flow><script>{}</script><p>A ring of four ranks.</p></chunk-flow>", None),
        ("<canvas></canvas>", "has no words"),
        ('<canvas aria-label="times of two plans"></canvas>', None),
        ("<iframe src='x'></iframe>", "has no words"),
    ],
)
def test_what_is_built_has_words_for_its_pictures(html: str, says: str | None) -> None:
    found = [each.text for each in structure.built("x.html", f"<article>{html}</article>")]
    assert len(found) == (says is not None)
    assert says is None or says in found[0]
