"""Transfers as rows of a film: in no particular order, each with its step."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from allranks.schedule import Columns

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Rows(NamedTuple):
    """Transfers in no particular order, as columns; `reduce` is where REDUCE is meant."""

    step: Array
    src: Array
    dst: Array
    reduce: Array
    chunk: Array


COPY, REDUCE = False, True


def rows_of(step: Any, src: Any, dst: Any, reduce: Any, chunk: Any = 0) -> Rows:  # noqa: ANN401
    """Return columns of equal length from arrays and numbers."""
    ends = (np.asarray(number, np.int32) for number in (step, src, dst))
    kinds = np.asarray(reduce, np.bool_), np.asarray(chunk, np.int64)
    columns = np.broadcast_arrays(*np.atleast_1d(*ends, *kinds))
    return Rows(*(column.ravel() for column in columns))


NOTHING = rows_of(*(np.zeros(0),) * 5)


def both(*parts: Rows) -> Rows:
    """Return rows that happen in the steps that they name already."""
    some = [rows for rows in parts if len(rows.step)]
    if len(some) < 2:  # noqa: PLR2004 - nothing to put together
        return some[0] if some else NOTHING
    return Rows(*(np.concatenate(columns) for columns in zip(*some, strict=True)))


def then(*phases: Rows) -> Rows:
    """Return phases one after the other."""
    moved, first = [], 0
    for rows in phases:
        moved.append(rows._replace(step=rows.step + np.int32(first)))
        first += num_steps(rows)
    return both(*moved)


def num_steps(rows: Rows) -> int:
    """Return the number of steps; none of them is empty before the last."""
    return int(rows.step.max()) + 1 if len(rows.step) else 0


def columns_of(rows: Rows) -> Columns:
    """Return rows as steps."""
    lengths = np.bincount(rows.step, minlength=num_steps(rows))
    if (rows.step[1:] < rows.step[:-1]).any():
        order = np.argsort(rows.step, kind="stable")
        rows = Rows(*(column[order] for column in rows))
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    return Columns(bounds, rows.src, rows.dst, rows.chunk, rows.reduce)
