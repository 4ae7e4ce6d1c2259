"""What the order of additions and the number format do to a result.

Floating-point addition rounds, so it is not associative: a schedule decides not only how long a
collective takes, but which bits come out. This room runs any schedule in any format, in the order
that it implies, and compares with the exact result.

    run(schedule, inputs, dtype)      outputs, errors, ULPs; do all ranks agree bit for bit?
    order(schedule, rank, chunk)      the sum as an expression; same_order, roundings
    stops_at(dtype), running_sum      where a long sum of small numbers stops growing
    averages(schedule, inputs)        divide first, or sum first
    quantized_all_gather, quantized_reduce_scatter    fewer bytes, with a proved error bound

>>> from allranks.algorithms import build
>>> ring = build("all_reduce", "ring", world_size=4)
>>> order(ring, chunk=0)
'((x1 + x2) + x3) + x0'
>>> run(ring, [[1e8] * 4, [1] * 4, [-1e8] * 4, [1] * 4], dtype="float32").outputs[0]
array([0., 1., 0., 1.], dtype=float32)

The exact result is 2 everywhere.
"""

from __future__ import annotations

from allranks.numerics.blocks import Quantized, error_bound, quantize
from allranks.numerics.dtypes import (
    Format,
    dtype_named,
    format_of,
    rounded,
    running_sum,
    stops_at,
    ulp,
)
from allranks.numerics.execute import averages, run
from allranks.numerics.ordering import order, roundings, same_order
from allranks.numerics.quantized import (
    QuantizedRun,
    quantized_all_gather,
    quantized_reduce_scatter,
)
from allranks.numerics.results import Averages, Numerics

__all__ = [
    "Averages",
    "Format",
    "Numerics",
    "Quantized",
    "QuantizedRun",
    "averages",
    "dtype_named",
    "error_bound",
    "format_of",
    "order",
    "quantize",
    "quantized_all_gather",
    "quantized_reduce_scatter",
    "rounded",
    "roundings",
    "run",
    "running_sum",
    "same_order",
    "stops_at",
    "ulp",
]
