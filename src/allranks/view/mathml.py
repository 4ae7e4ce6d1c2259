"""Formulas as MathML, made when the book is built: a page needs no script to show them.

latex2mathml does the translation. What it does not know it copies into the page as text, so its
result is checked here, and a few of its elements are set as MathML Core browsers expect.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from xml.etree import ElementTree as ET

from latex2mathml.converter import convert

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
CHILDREN = {"mfrac": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "mroot": 2, "msubsup": 3}
THIN = "0.1667em"
FIXED_SIZE = re.compile(r"\\[bB]igg?([lr])(?![A-Za-z])")
SIDES = {"l": r"\left", "r": r"\right"}


class MathError(ValueError):
    """A formula cannot be typeset."""


@cache
def mathml(latex: str, *, display: bool = False) -> str:
    """Return a `<math>` element for a formula.

    Raises:
        MathError: an unknown command or an incomplete formula; the message names it.

    >>> mathml("n-1")
    '<math display="inline"><mrow><mi>n</mi><mo>−</mo><mn>1</mn></mrow></math>'
    """
    try:
        # Browsers fit a pair of brackets to what is inside; a bracket of fixed size they misplace.
        source = FIXED_SIZE.sub(lambda found: SIDES[found[1]], latex)
        made = convert(source, display="block" if display else "inline")
        root = ET.fromstring(made)  # noqa: S314 - the text is our own
    except Exception as error:
        # latex2mathml raises a class of its own for every kind of mistake, and bare ones too
        message = f"formula {latex!r}: {type(error).__name__}: {error}"
        raise MathError(message) from error
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{NAMESPACE}}}")
        _check(element, latex)
        _settle(element)
    return ET.tostring(root, encoding="unicode")


def _check(element: ET.Element, latex: str) -> None:
    unknown = re.search(r"\\[A-Za-z]*", element.text or "")
    if unknown:
        message = f"formula {latex!r}: {unknown.group()} is not a command that can be typeset"
        raise MathError(message)
    wanted = CHILDREN.get(element.tag.removeprefix(f"{{{NAMESPACE}}}"))
    if wanted is not None and len(element) != wanted:
        message = f"formula {latex!r}: incomplete; a brace or an argument is missing"
        raise MathError(message)


def _settle(element: ET.Element) -> None:
    """Make symbols operators, and give the name of a function its space."""
    if element.tag == "mi" and element.text and unicodedata.category(element.text[0]) == "Sm":
        element.tag = "mo"
    if element.tag in CHILDREN:
        return
    for index in range(len(element) - 1, 0, -1):
        name, argument = element[index - 1], element[index]
        if _is_spelled(name) and not argument.tag.endswith(("mo", "mspace")):
            element.insert(index, ET.Element("mspace", width=THIN))


def _is_spelled(element: ET.Element) -> bool:
    """Say whether this is the name of a function, such as log or log to base 2."""
    inner = element[0] if element.tag.endswith("msub") else element
    return inner.tag.endswith("mi") and len(inner.text or "") > 1
