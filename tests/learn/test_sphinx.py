"""The book's directive: items by id, numbered through the page, and no typing error survives."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

CONF = """
project = "x"
extensions = ["myst_parser", "allranks.learn.sphinx"]
exclude_patterns = ["_build"]
"""


def built(folder, page):
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    (folder / "index.md").write_text(page, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, str(folder), str(folder / "_build")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    html = folder / "_build" / "index.html"
    return done, html.read_text(encoding="utf-8") if html.is_file() else ""


def items_of(html):
    pieces = html.split('<script type="application/json">')[1:]
    return [json.loads(piece.split("</script>")[0]) for piece in pieces]


@pytest.mark.slow
def test_items_are_numbered_through_the_page_and_keep_their_seed(tmp_path):
    page = (
        "# Page\n\n```{chunk-quiz} 00-who-calls 00-what-is-nccl\n```\n\nText.\n\n"
        "```{chunk-quiz}\n:seed: 5\n\n03-steps\n```\n"
    )
    done, html = built(tmp_path, page)
    assert done.returncode == 0, done.stderr
    first, second = items_of(html)
    assert [each["id"] for each in first["items"]] == ["00-who-calls", "00-what-is-nccl"]
    assert [each["id"] for each in second["items"]] == ["03-steps"]
    assert (first["first"], first["total"]) == (1, 3)
    assert (second["first"], second["total"]) == (3, 3)
    assert "Practice 3 of 3" in html


@pytest.mark.slow
@pytest.mark.parametrize(
    ("directive", "said"),
    [
        ("```{chunk-quiz} 00-who-cals\n```", "did you mean '00-who-calls'"),
        ("```{chunk-quiz}\n```", "no item is named"),
        ("```{chunk-quiz} 03-steps 03-steps\n```", "03-steps stands on this page already"),
        ("```{chunk-quiz} 03-steps\n:seed: -1\n```", "seed"),
        ("{mis}`it has its own part <M-COUNT-M>`", "unknown misconception 'M-COUNT-M'"),
        ("{mis}`never twice <M-COUNT-N>`, {mis}`M-COUNT-N`", "M-COUNT-N is answered twice"),
    ],
)
def test_a_mistake_in_the_directive_fails_the_build_and_names_the_line(tmp_path, directive, said):
    done, _ = built(tmp_path, f"# Page\n\n{directive}\n")
    assert done.returncode != 0
    assert said in done.stderr
    assert "index.md:3" in done.stderr


@pytest.mark.slow
def test_the_words_that_answer_a_misconception_are_found_from_every_page(tmp_path):
    (tmp_path / "second.md").write_text("# Second\n\nNothing.\n", encoding="utf-8")
    page = (
        "# Page\n\n```{toctree}\nsecond\n```\n\n"
        "It has {mis}`its own part <M-COUNT-N M-SCALAR>`.\n\n"
        "{mis}`M-BARRIER` A whole paragraph.\n"
    )
    done, html = built(tmp_path, page)
    assert done.returncode == 0, done.stderr
    assert re.search(r'<span class="ar-answer" id="answers-m-count-n">', html)
    assert re.search(r'<p class="ar-answer" id="answers-m-barrier">\s*A whole paragraph', html)
    here, there = (
        links(each) for each in (html, (tmp_path / "_build" / "second.html").read_text())
    )
    assert here == {
        name: f"#answers-{name.lower()}" for name in ("M-COUNT-N", "M-SCALAR", "M-BARRIER")
    }
    assert there == {name: f"index.html{anchor}" for name, anchor in here.items()}
    for anchor in here.values():
        assert f'id="{anchor[1:]}"' in html, "every link has a place to lead to"


def links(html):
    return json.loads(re.search(r'id="ar-anchors"[^>]*>([^<]*)<', html)[1])
