"""Build each folder below the given one as a book of its own; print what happened as JSON.

One process for all of them, because loading Sphinx takes longer than building a page.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback
from pathlib import Path

from jupyter_book.cli.main import main


def build(folder: Path) -> dict[str, object]:
    said = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(["build", str(folder), *sys.argv[2:]], standalone_mode=False)
        except SystemExit as stop:
            code = int(stop.code or 0)
        except Exception:  # noqa: BLE001 - whatever it is, the build failed and that is the answer
            code = 1
            traceback.print_exc()
    return {"code": code, "said": said.getvalue()}


if __name__ == "__main__":
    results = {each.name: build(each) for each in sorted(Path(sys.argv[1]).iterdir())}
    Path(sys.argv[1]).with_suffix(".json").write_text(json.dumps(results), encoding="utf-8")
