"""Check pages of the book: `python -m allranks.serve.gates [03-broadcast ...]`, or all.

Everything that is found is listed at once, one line each: page, line, gate, what to do. `--givens`
lists what every `{given}` stands for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from allranks.serve.build import project
from allranks.serve.gates import numbers
from allranks.serve.gates.check import PROSE, check
from allranks.serve.gates.rules import FOLDER, RulesError, chapters, listed, table


def main(arguments: Sequence[str]) -> int:
    """Print what the gates find on the pages that are named, or on all; return 1 if anything."""
    root = project()
    names = [each for each in arguments if not each.startswith("-")]
    try:
        if "--givens" in arguments:
            rules = table(root / "book" / FOLDER / "numbers.toml")
            defined = {each["text"] for each in rules["given"]}
            for chapter in chapters(root):
                for line, text, reason in numbers.givens(chapter.page, chapter.allowed, defined):
                    print(f"{chapter.path}:{line}: {text}: {reason}")  # noqa: T201
            return 0
        found = check(root, names, gates=PROSE)
    except RulesError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    if found:
        print(f"{len(found)} findings:\n{listed(found)}")  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
