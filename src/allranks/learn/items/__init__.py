"""The quiz items: `chNN.ITEMS` for each chapter. The engine computes every number in them."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allranks.learn.templates import Template


def load() -> dict[str, Template]:
    """Return the items of all chapters by id, in the order of the course."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    chapters = [name for name in names if re.fullmatch(r"ch\d\d|faq", name)]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in chapters]
    return {item: template for module in modules for item, template in module.ITEMS.items()}
