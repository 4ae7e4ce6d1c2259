"""Known machines: what they are made of, where each number comes from, and what is assumed.

Bandwidths are per direction. The price uses what is attainable. For NVLink and PCIe that is what
NCCL itself reckons with (NVIDIA/nccl src/graph/topo.h: 20.0, 20.6 and 40.1 GB/s a link for A100,
H100 and B200; src/graph/topo.cc: 24 GB/s for 16 lanes of PCIe 4.0); measured rings come within a
few percent of it. The alphas are those of NCCL's tuner for a ring with protocol Simple, the one
whose bandwidth is meant (v2.30.7 src/graph/tuning.cc: 3.4 us over NVLink, 5.7 us over PCIe, 14 us
over the network); small messages travel faster with other protocols. Adding is not charged, for it
is inside what measured rings attain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from allranks.topology.model import Topology

NVLINK_S, PCIE_S, NETWORK_S = 3.4e-6, 5.7e-6, 14e-6
NODE = 8
NICS = "49 of 50 GB/s for each GPU's own 400 Gb/s adapter"
CHANNEL = (
    "a schedule is one channel: a flat ring uses one adapter of a node, where NCCL runs a rotated "
    "ring on each adapter"
)
NICS_SOURCE = (
    "adapters: a published ring on 12 GB200 in groups of four, busbw 196.7 GB/s over four adapters "
    "(NVIDIA/nccl#1801)"
)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A machine: a sentence about it, sources and the month they were read, assumptions.

    `peak` is what a maker's data sheet promises, `attainable` what the price uses; both per
    direction. `make(n)` returns the topology of n ranks, or raises ValueError if it cannot hold
    them.
    """

    summary: str
    peak: str
    attainable: str
    source: str
    assumed: str
    make: Callable[[int], Topology]
    read: str = "2026-11"


@dataclass(frozen=True)
class _Servers:
    """Servers of GPUs on an NVSwitch, joined by adapters, by leaf and spine switches if told.

    `gpus` a node; `nvlink` and `nic` bytes per second for each; `adds` as a Tier's `reduces`. With
    `nodes` a leaf, `spine` is what a leaf has upwards, as a share of what it has downwards; with
    `rails`, each GPU of a node has a leaf of its own.
    """

    name: str
    gpus: int
    nvlink: float
    nic: float
    adds: bool | str = "nvls"
    nodes: int | None = None
    spine: float = 1.0
    rails: bool = False
    alphas: tuple[float, float] = (NVLINK_S, NETWORK_S)

    def __call__(self, n: int) -> Topology:
        """Return the topology of n GPUs."""
        from allranks.topology.tiers import Tier  # noqa: PLC0415 - it needs NumPy

        inside, outside = self.alphas
        node = Tier(
            name="node", size=self.gpus, alpha=inside, bandwidth=self.nvlink, reduces=self.adds
        )
        leaf = Tier(
            name="leaf",
            size=self.nodes,
            alpha=outside,
            bandwidth=self.nic,
            links=self.gpus,
            rails=self.rails,
            reduces="sharp" if self.nodes is not None else False,
        )
        tiers = [node, leaf]
        if self.nodes is not None:
            down = self.nic * self.nodes * (1 if self.rails else self.gpus)
            up = down * self.spine
            tiers.append(Tier(name="spine", alpha=outside, bandwidth=up, reduces="sharp"))
        return Topology.tiers(n, tiers, in_flight=max(1, min(n, self.gpus) - 1), name=self.name)


def _bench(n: int) -> Topology:
    return Topology(world_size=n, alpha=4e-6, bandwidth=25e9, name="bench")


def _island(n: int) -> Topology:
    _check_most("island", n, NODE, "one node; use fabric for several")
    in_flight = max(1, n - 1)
    return Topology(world_size=n, alpha=2e-6, bandwidth=370e9, in_flight=in_flight, name="island")


def _laptop(n: int) -> Topology:
    from allranks.topology.tiers import Tier  # noqa: PLC0415 - it needs NumPy

    memory = Tier(name="memory", alpha=20e-6, bandwidth=10e9, backplane=30e9)
    return Topology.tiers(n, [memory], name="laptop-processes")


def _workstation(n: int) -> Topology:
    _check_most("pcie-workstation", n, 4, "one CPU's slots")
    return Topology(
        world_size=n, alpha=PCIE_S, bandwidth=24e9, name="pcie-workstation", reduces=False
    )


def _check_most(name: str, n: int, most: int, what: str) -> None:
    if n > most:
        message = f"machine {name!r} holds at most {most} ranks, not {n:,}: it is {what}"
        raise ValueError(message)


PRESETS: dict[str, Preset] = {
    "bench": Preset(
        summary="the course's machine for derivations: every rank reaches every other alike",
        peak="25 GB/s",
        attainable="25 GB/s",
        source="the course's own definition",
        assumed="all of it: alpha 4 us, adding costs nothing",
        make=_bench,
    ),
    "island": Preset(
        summary="the course's NVSwitch node of up to 8 GPUs",
        peak="450 GB/s (18 links of NVLink 4)",
        attainable="370 GB/s",
        source="NVIDIA/nccl-tests#212 (a maintainer on H100); NVIDIA/nccl src/graph/topo.h",
        assumed="alpha 2 us; the alphas of n - 1 messages overlap",
        make=_island,
    ),
    "fabric": Preset(
        summary="the course's cluster: islands of 8, each GPU with an adapter of its own",
        peak="450 GB/s inside a node, 50 GB/s (400 Gb/s) for each GPU between nodes",
        attainable="370 GB/s inside, 50 GB/s between",
        source="as island; adapters at line rate",
        assumed=f"alpha 2 us inside and 6 us between; the network between never blocks; {CHANNEL}",
        make=_Servers("fabric", NODE, 370e9, 50e9, alphas=(2e-6, 6e-6)),
    ),
    "laptop-processes": Preset(
        summary="processes of one laptop that pass arrays through shared memory",
        peak="89.6 GB/s memory bus (two channels of DDR5-5600, 8 bytes x 5.6e9/s each)",
        attainable="10 GB/s for one process, 30 GB/s for all together",
        source="the arithmetic of DDR5-5600; no measurement of yours",
        assumed="alpha 20 us (waking a process); one core copies 10 GB/s; a byte that is passed "
        "crosses the bus three times (read, fetched for writing, written); nothing adds on the way",
        make=_laptop,
    ),
    "pcie-workstation": Preset(
        summary="up to 4 GPUs in the x16 slots of one CPU, PCIe 4.0, no NVLink",
        peak="32 GB/s (16 lanes at 16 GT/s)",
        attainable="24 GB/s",
        source="NVIDIA/nccl src/graph/topo.cc (three quarters of the peak) and src/graph/tuning.cc",
        assumed="the CPU passes all slots' traffic at once; nothing adds on the way",
        make=_workstation,
    ),
    "dgx-a100": Preset(
        summary="servers of 8 A100 on an NVSwitch that cannot add, one 200 Gb/s adapter a GPU",
        peak="300 GB/s inside a node (12 links of NVLink 3), 25 GB/s for each GPU between nodes",
        attainable="240 GB/s inside, 24.5 GB/s between",
        source="NVIDIA/nccl src/graph/topo.h (12 x 20.0) and src/graph/tuning.cc; measured ring: "
        "busbw 231.4 GB/s at 2 GiB (stas00/ml-engineering network/README.md)",
        assumed="one HDR adapter a GPU, at the same share of its rate as a 400 Gb/s one; a network "
        "between nodes that never blocks and does not add; "
        f"{CHANNEL}",
        make=_Servers("dgx-a100", NODE, 240e9, 24.5e9, adds=False),
    ),
    "dgx-h100": Preset(
        summary="servers of 8 H100 on an NVSwitch that adds (NVLS), one 400 Gb/s adapter a GPU",
        peak="450 GB/s inside a node (18 links of NVLink 4), 50 GB/s for each GPU between nodes",
        attainable=f"370 GB/s inside, {NICS}",
        source="NVIDIA/nccl-tests#212; NVIDIA/nccl src/graph/topo.h (18 x 20.6) and "
        "src/graph/tuning.cc; 8 x 400 Gb/s: mlcommons/inference_results_v3.1 closed/Dell/systems/"
        f"XE9680_H100_SXM_80GBx8_TRT.json; {NICS_SOURCE}",
        assumed=f"a network between nodes that never blocks and does not add; {CHANNEL}",
        make=_Servers("dgx-h100", NODE, 370e9, 49e9),
    ),
    "dgx-h200": Preset(
        summary="servers of 8 H200: the links of dgx-h100, more memory",
        peak="450 GB/s inside a node (18 links of NVLink 4), 50 GB/s for each GPU between nodes",
        attainable=f"366 GB/s inside, {NICS}",
        source="measured ring: busbw 365.6 GB/s at 8 GiB with NVLS off (stas00/ml-engineering "
        "network/README.md); 18 links: mlcommons/inference_results_v4.1 closed/NVIDIA/systems/"
        f"H200-SXM-141GBx8_TRT_MaxQ.json; NVIDIA/nccl src/graph/tuning.cc; {NICS_SOURCE}",
        assumed=f"a network between nodes that never blocks and does not add; {CHANNEL}",
        make=_Servers("dgx-h200", NODE, 366e9, 49e9),
    ),
    "dgx-b200": Preset(
        summary="servers of 8 B200 on an NVSwitch that adds (NVLS), one 400 Gb/s adapter a GPU",
        peak="900 GB/s inside a node (18 links of NVLink 5), 50 GB/s for each GPU between nodes",
        attainable=f"721 GB/s inside, {NICS}",
        source="NVIDIA/nccl src/graph/topo.h (18 x 40.1); 14.4 TB/s for 8 GPUs both ways and "
        "8 x 400 Gb/s: mlcommons/inference_results_v6.0 closed/Nebius/systems/nebius_b200_n1.json; "
        f"{NICS_SOURCE}",
        assumed="alphas of the tuner's NVLink rings hold for NVLink 5; a network between nodes "
        "that never blocks and does not add; "
        f"{CHANNEL}",
        make=_Servers("dgx-b200", NODE, 721e9, 49e9),
    ),
    "gb200-nvl72": Preset(
        summary="racks of 72 GB200 in one NVLink domain that adds, one 400 Gb/s adapter a GPU",
        peak="900 GB/s inside a rack (18 links of NVLink 5), 50 GB/s for each GPU between racks",
        attainable=f"721 GB/s inside, {NICS}",
        source="NVIDIA/nccl src/graph/topo.h (18 x 40.1); four 400 Gb/s adapters for four GPUs: "
        "mlcommons/inference_results_v6.1 closed/Crusoe/systems/"
        f"GB200-NVL72_GB200-186GB_aarch64x16_Dynamo.json; {NICS_SOURCE}",
        assumed="alphas of the tuner's NVLink rings hold for NVLink 5; a network between racks "
        "that never blocks and does not add; "
        f"{CHANNEL}",
        make=_Servers("gb200-nvl72", 72, 721e9, 49e9),
    ),
    "rail-cluster": Preset(
        summary="dgx-h100 servers, 32 to a group, GPU i of each on leaf switch i of its group; "
        "leaves and spine can add (InfiniBand SHARP)",
        peak="450 GB/s inside a node, 50 GB/s for each GPU up to the spine",
        attainable=f"370 GB/s inside, {NICS}, and all of it on to the spine",
        source="rail-optimized, non-blocking leaf and spine: NVIDIA Enterprise Reference "
        "Architecture for HGX H100, H200 and B200, Networking Physical Topologies; numbers of "
        "dgx-h100",
        assumed="leaf switches of 64 ports, half of them down (32 nodes); messages between rails "
        "pass the spine, not NVLink; a message that passes it takes no longer; "
        f"{CHANNEL}",
        make=_Servers("rail-cluster", NODE, 370e9, 49e9, nodes=32, rails=True),
    ),
    "fat-tree-cluster": Preset(
        summary="dgx-h100 servers, 4 to a leaf switch, leaves joined by a spine of half the "
        "bandwidth (2:1 oversubscribed); leaves and spine can add (InfiniBand SHARP)",
        peak="450 GB/s inside a node, 50 GB/s for each GPU to its leaf, 25 GB/s on to the spine",
        attainable=f"370 GB/s inside, {NICS}, half of it on to the spine",
        source="numbers of dgx-h100",
        assumed="leaf switches that 32 GPUs share, with half as much upwards, spread evenly; a "
        "message that passes the spine takes no longer; "
        f"{CHANNEL}",
        make=_Servers("fat-tree-cluster", NODE, 370e9, 49e9, nodes=4, spine=0.5),
    ),
}
