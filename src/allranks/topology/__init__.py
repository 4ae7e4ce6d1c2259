"""What a machine's network does to a message: alpha, bandwidth, gamma, ports, links, switches.

`model` has the Topology that everything is priced on, `tiers` regular nested machines, `graph` any
small network, and `presets` known machines with their sources. Tiers and graphs need NumPy and are
loaded on first use; a uniform network needs the standard library alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from allranks.topology.model import Topology
from allranks.topology.presets import PRESETS, Preset

if TYPE_CHECKING:
    from allranks.topology.graph import Link
    from allranks.topology.tiers import Tier

__all__ = ["PRESETS", "Link", "Preset", "Tier", "Topology"]

_LATER = {"Link": "allranks.topology.graph", "Tier": "allranks.topology.tiers"}


def __getattr__(name: str) -> object:
    """Load what needs NumPy when somebody asks for it."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
