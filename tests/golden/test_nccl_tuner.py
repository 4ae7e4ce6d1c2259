"""The constants of NCCL's tuner, held against times that NCCL itself has printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TUNER = json.loads((Path(__file__).parent / "nccl_tuner.json").read_text("utf-8"))
ALGORITHMS = ["Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"]
PROTOCOLS = ["LL", "LL128", "Simple"]


def test_the_constants_name_their_source_license_and_units():
    assert "v2.30.7" in TUNER["source"]
    assert "Apache-2.0" in TUNER["license"]
    assert "us" in TUNER["units"]
    assert "NVIDIA/nccl#1453" in TUNER["logged"]["source"]


def test_every_table_has_every_algorithm_and_protocol():
    assert (TUNER["algorithms"], TUNER["protocols"]) == (ALGORITHMS, PROTOCOLS)
    latencies = [TUNER["base_latency"], *TUNER["hardware_latency"].values()]
    assert sorted(TUNER["hardware_latency"]) == ["net", "nvlink", "pci"]
    for table in latencies:
        assert list(table) == ALGORITHMS
        assert all(list(row) == PROTOCOLS for row in table.values())
    correction = TUNER["tree_correction"]
    assert {protocol: len(correction[protocol]) for protocol in PROTOCOLS} == dict.fromkeys(
        PROTOCOLS, 24
    )


@pytest.mark.parametrize("nbytes", [4, 65_536])
def test_the_constants_give_the_times_that_nccl_logged(nbytes):
    """Tree and LL on 3 nodes of 8 H100: the formula of src/graph/tuning.cc, by hand.

    192 GB/s over all channels and the pattern TREE (0.85) are inferred from the log.
    """
    logged = next(p for p in TUNER["logged"]["predictions"] if p["nbytes"] == nbytes)
    assert (logged["algorithm"], logged["protocol"]) == ("Tree", "LL")
    inside, between = (
        TUNER["hardware_latency"][where]["Tree"]["LL"] for where in ("nvlink", "net")
    )
    depth = 1  # floor(log2 3)
    latency = TUNER["base_latency"]["Tree"]["LL"] + 2 * (7 * inside + depth * between)
    most = TUNER["max_bandwidth"]["LL"]["Volta/Intel"][2]
    bandwidth = min(0.92 * 192 / 3.8, most) * 0.85 / 2
    bandwidth *= TUNER["tree_correction"]["LL"][
        (nbytes // 64).bit_length() - 1 if nbytes >= 64 else 0
    ]
    assert latency + nbytes / (1000 * bandwidth) == pytest.approx(logged["us"], rel=2e-6)
