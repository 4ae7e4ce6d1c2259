"""The judges of the value exercises: `chNN.JUDGES` for each chapter, found by the file's name.

A judge says how the learner's functions are called and what each answer is worth. The engine says
what is right, not a formula.
"""

from __future__ import annotations

import importlib
import pkgutil
import re

from allranks.learn.judges.base import AnswerError, Call, Judge, Refusal

__all__ = ["JUDGES", "AnswerError", "Call", "Judge", "Refusal"]


def _load() -> dict[str, Judge]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    chapters = [name for name in names if re.fullmatch(r"ch\d\d", name)]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in chapters]
    return {name: judge for module in modules for name, judge in module.JUDGES.items()}


JUDGES: dict[str, Judge] = _load()
