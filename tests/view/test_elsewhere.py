"""The role that leads to a figure of another page: where it leads, and what it refuses."""

from __future__ import annotations

import subprocess
import sys

import pytest

CONF = (
    'project = "x"\nextensions = ["myst_parser", "allranks.view.sphinx"]\nroot_doc = "book/one"\n'
)
ONE = """# One

```{toctree}
appendix/two
```

```{chunk-flow} all_gather ring
:id: fig-ring
:n: 4

Lock-step.
```
"""


def built(folder, sentence):
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    (folder / "book" / "appendix").mkdir(parents=True)
    (folder / "book" / "one.md").write_text(ONE, encoding="utf-8")
    two = folder / "book" / "appendix" / "two.md"
    two.write_text(f"# Two\n\n{sentence}\n", encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html"),
            str(folder),
            str(folder / "_b"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    page = folder / "_b" / "book" / "appendix" / "two.html"
    return done, page.read_text(encoding="utf-8") if page.is_file() else ""


@pytest.mark.slow
def test_a_phrase_leads_to_the_figure_and_carries_its_state(tmp_path):
    done, page = built(
        tmp_path,
        "See {figure}`it at n = 5 <one#fig-ring?n=5&step=2>` and {figure}`it <one#fig-ring>`.",
    )
    assert done.returncode == 0, done.stderr
    assert 'href="../one.html?n=5&amp;step=2#fig-ring"' in page
    assert 'href="../one.html#fig-ring"' in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("{figure}`it <one#fig-rong>`", "no figure 'fig-rong' on book/one; known: fig-ring"),
        ("{figure}`it <won#fig-ring>`", "no figure 'fig-ring' on book/won; known: none"),
        (
            "{figure}`it <one#fig-ring?stp=2>`",
            "'stp=2' sets nothing in a chunk-flow; known: S, algorithm",
        ),
        ("{figure}`it <one>`", "write `words <06-all-reduce#fig-ring?step=2>`"),
    ],
)
def test_a_phrase_that_leads_nowhere_fails_the_build(tmp_path, sentence, said):
    done, _ = built(tmp_path, sentence)
    assert done.returncode != 0
    assert said in done.stderr
    assert "book/appendix/two.md:3" in done.stderr
