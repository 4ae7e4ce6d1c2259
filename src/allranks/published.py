"""Measurements that other people published: each number once, with its source, in SI units.

Nothing here was measured by this project, and nothing is computed. Pictures and exercises that
compare a model with the world take their points from here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AllReducePoint:
    """The busbw of one all-reduce on n GPUs, in bytes per second: as it comes, and without NVLS.

    `chosen` is the algorithm that the library took when it was free to choose; `nvls` is the busbw
    with it, or None if that was not NVLS. `ring` is the busbw with NVLS switched off.
    """

    world_size: int
    chosen: str
    free: float
    ring: float

    @property
    def nvls(self) -> float | None:
        """Return the busbw of NVLS, None where the library did not take it."""
        return self.free if self.chosen == "NVLS" else None

    @property
    def gain(self) -> float | None:
        """Return how many times faster NVLS was than the ring, None where it was not taken."""
        return None if self.nvls is None else self.nvls / self.ring


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Points of one machine, and what a reader must know to believe them.

    `source` names repository, file and commit, `read` the month it was read, `note` what else the
    source says about how these points came about.
    """

    machine: str
    collective: str
    nbytes: int
    tool: str
    source: str
    read: str
    note: str
    points: tuple[AllReducePoint, ...]

    def point(self, world_size: int) -> AllReducePoint:
        """Return the point of n GPUs.

        Raises:
            ValueError: nothing was published for this n.
        """
        for point in self.points:
            if point.world_size == world_size:
                return point
        known = ", ".join(str(point.world_size) for point in self.points)
        message = f"world_size is {world_size}; {self.machine} was published for {known}"
        raise ValueError(message)

    def with_nvls(self) -> tuple[AllReducePoint, ...]:
        """Return the points at which the library took NVLS."""
        return tuple(point for point in self.points if point.nvls is not None)


NVLS_ON_H200 = Measurement(
    machine="8 x H200 on NVSwitch",
    collective="all_reduce",
    nbytes=8 * 2**30,
    tool="nccl-tests; the ring by NCCL_NVLS_ENABLE=0",
    source="stas00/ml-engineering network/README.md, commit 744d01e",
    read="2026-11",
    note="no NCCL version stands beside these points; other runs on this node name 2.27.7",
    points=(
        AllReducePoint(4, "Ring", 363.3e9, 363.3e9),
        AllReducePoint(5, "NVLS", 414.2e9, 364.4e9),
        AllReducePoint(6, "NVLS", 435.6e9, 365.1e9),
        AllReducePoint(7, "NVLS", 460.0e9, 365.7e9),
        AllReducePoint(8, "NVLS", 473.1e9, 365.6e9),
    ),
)
NVLS_ON_B200 = Measurement(
    machine="8 x B200 on NVSwitch",
    collective="all_reduce",
    nbytes=8 * 2**30,
    tool="nccl-tests; the ring by NCCL_NVLS_ENABLE=0",
    source="stas00/ml-engineering network/README.md, commit 744d01e",
    read="2026-11",
    note="NCCL 2.27.7; the provider's tuner plugin (NCCL_TUNER_PLUGIN=ofi) chose the algorithm",
    points=(
        AllReducePoint(4, "Ring", 673.2e9, 673.8e9),
        AllReducePoint(5, "Ring", 677.8e9, 677.8e9),
        AllReducePoint(6, "NVLS", 778.2e9, 677.8e9),
        AllReducePoint(7, "NVLS", 811.2e9, 680.5e9),
        AllReducePoint(8, "NVLS", 838.0e9, 682.2e9),
    ),
)
