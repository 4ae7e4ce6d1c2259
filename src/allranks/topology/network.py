"""What the price of a schedule asks a network that is not uniform: routes, places, symmetry, cuts.

Arrays are NumPy's, one entry for each message asked about. Endpoints are numbered as in a schedule:
ranks 0 .. n-1, then switches.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


class Passage(NamedTuple):
    """Messages that pass shared links: message `rows[i]`, in rising order, passes `link[i]`.

    `bandwidth` is what each link carries one way, in bytes per second. Only messages that the
    sender's own neighborhood sends pass links of side "out", only messages to the receiver's
    neighborhood those of side "in"; "any" link may serve anybody.
    """

    rows: Array
    link: Array
    bandwidth: Floats
    side: str


class Routes(NamedTuple):
    """The ways of m messages.

    `alpha` (m) is the time without the bytes. `out` and `into` (m) are the bandwidths of the port
    a message leaves by and of the port it arrives at. No link is in two of the `passages`.
    """

    alpha: Floats
    out: Floats
    into: Floats
    passages: tuple[Passage, ...]


class Cut(NamedTuple):
    """Groups of ranks, and what can enter or leave each of them.

    Group g holds `sizes[g]` ranks, `capacity[g]` bytes per second pass its border each way, and no
    message passes it in less than `alpha` seconds.
    """

    sizes: Array
    capacity: Floats
    alpha: float


class Network(Protocol):
    """Links between ranks and switches. All methods are for n ranks numbered 0 .. n-1."""

    def place(self, n: int, num_switches: int, src: Array, dst: Array, kind: str = "") -> Array:
        """Return where the switches of a schedule stand, given its messages from or to them.

        `kind` is how they must add: "nvls", "sharp", or "" for any way.

        Raises:
            ValueError: the network has no such switch, or none there that adds.
        """

    def routes(self, n: int, places: Array, src: Array, dst: Array) -> Routes:
        """Return the ways of messages; `places` is what `place` returned."""

    def period(self, n: int) -> int:
        """Return the least number of ranks by which all can be renamed in a circle unnoticed.

        Every link belongs to one group of so many neighbors; n where there is no symmetry.
        """

    def alike(self, n: int, shift: Array) -> Array:
        """Return for each distance one that loads a group's own ports and links just so."""

    def cuts(self, n: int) -> list[Cut]:
        """Return ways to divide the ranks into groups, the ranks one by one first."""

    def link_name(self, link: int) -> str:
        """Return the name a person reads, such as "node 2, link 0, out"."""
