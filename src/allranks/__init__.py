"""All Ranks: collectives that can be proved, priced, played, run and graded.

One schedule has five lives, and this is where they are called from:

>>> import allranks as ar
>>> s = ar.schedule("all_reduce", "ring", world_size=4)
>>> ar.verify(s)
>>> bench = ar.Topology.preset("bench", 4)
>>> ar.cost(s, nbytes=48_000_000, topology=bench).steps
6

Importing this package loads nothing heavy: Ray only when a World is made, widgets only on `show`.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allranks import numerics
    from allranks.algorithms import algorithms
    from allranks.algorithms import build as schedule
    from allranks.collectives import Contract, contract
    from allranks.cost import Bandwidth, Cost, busbw, bytes_per_link, cost, lower_bound, price
    from allranks.errors import (
        CollectiveError,
        Deadlock,
        DeviceError,
        Mismatch,
        PeerDied,
        RankFailed,
        ScheduleError,
        StepTimeout,
        TransportUnavailable,
    )
    from allranks.program import Rank, trace_program
    from allranks.program.arrays import ArrayRank
    from allranks.runtime.world import Result, World
    from allranks.schedule import Op, Schedule, Step, Trace, Transfer
    from allranks.simulate import ReduceOp, simulate
    from allranks.topology import PRESETS, Link, Tier, Topology
    from allranks.verify import Proof, final_state, prove, verify
    from allranks.view.widget import race, show

__version__ = "0.1.0"

__all__ = [
    "PRESETS",
    "ArrayRank",
    "Bandwidth",
    "CollectiveError",
    "Contract",
    "Cost",
    "Deadlock",
    "DeviceError",
    "Link",
    "Mismatch",
    "Op",
    "PeerDied",
    "Proof",
    "Rank",
    "RankFailed",
    "ReduceOp",
    "Result",
    "Schedule",
    "ScheduleError",
    "Step",
    "StepTimeout",
    "Tier",
    "Topology",
    "Trace",
    "Transfer",
    "TransportUnavailable",
    "World",
    "algorithms",
    "busbw",
    "bytes_per_link",
    "contract",
    "cost",
    "final_state",
    "lower_bound",
    "numerics",
    "price",
    "prove",
    "race",
    "schedule",
    "show",
    "simulate",
    "trace_program",
    "verify",
]

_HOMES = {
    "allranks.algorithms": ("algorithms", "build"),
    "allranks.collectives": ("Contract", "contract"),
    "allranks.cost": (
        "Bandwidth",
        "Cost",
        "busbw",
        "bytes_per_link",
        "cost",
        "lower_bound",
        "price",
    ),
    "allranks.errors": (
        "CollectiveError",
        "Deadlock",
        "DeviceError",
        "Mismatch",
        "PeerDied",
        "RankFailed",
        "ScheduleError",
        "StepTimeout",
        "TransportUnavailable",
    ),
    "allranks.program": ("Rank", "trace_program"),
    "allranks.program.arrays": ("ArrayRank",),
    "allranks.runtime.world": ("Result", "World"),
    "allranks.schedule": ("Op", "Schedule", "Step", "Trace", "Transfer"),
    "allranks.simulate": ("ReduceOp", "simulate"),
    "allranks.topology": ("PRESETS", "Link", "Tier", "Topology"),
    "allranks.verify": ("Proof", "final_state", "prove", "verify"),
    "allranks.view.widget": ("race", "show"),
}
_HOME_OF = {name: (home, name) for home, names in _HOMES.items() for name in names}
_HOME_OF["schedule"] = ("allranks.algorithms", "build")
_ROOMS = ("numerics",)  # public as a whole


def __getattr__(name: str) -> Any:  # noqa: ANN401 - each name has its own type
    """Import a public name on first use."""
    if name in _ROOMS:
        return importlib.import_module(f"allranks.{name}")
    if name not in _HOME_OF:
        message = f"module 'allranks' has no attribute {name!r}"
        raise AttributeError(message)
    home, attribute = _HOME_OF[name]
    value = getattr(importlib.import_module(home), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Keeps `allranks.schedule` the function, although a module of that name is imported.

    Python binds a submodule to its package when it is first imported. `schedule`, `cost`,
    `verify`, `simulate` and `algorithms` name a room and its main function alike; users of the
    package get the function, and `from allranks.cost import ...` finds the room as ever.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel by name, as every module does: a rank's function may mention the package."""
        return (importlib.import_module, (self.__name__,))

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _HOME_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
