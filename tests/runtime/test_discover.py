"""What this machine has, as doctor and trace headers tell it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from allranks.runtime import discover


def test_the_machine_is_described_in_plain_data() -> None:
    here = discover.machine()
    data = json.loads(json.dumps(here.to_dict()))
    assert data["cores"] == len(os.sched_getaffinity(0))
    assert data["versions"]["numpy"] == np.__version__
    assert data["cpu"]
    assert 0 < data["available_bytes"] <= data["memory_bytes"]
    for line in ("processor", "memory", "shared memory", "GPUs", "packages"):
        assert line in here.to_text()


def fake_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_gpus_are_named_by_uuid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_smi(tmp_path, monkeypatch, "echo 'GPU-12ab, NVIDIA H200, 143771, 570.86.15'")
    assert discover.gpus() == (discover.Gpu("GPU-12ab", "NVIDIA H200", 143771 << 20, "570.86.15"),)
    assert "NVIDIA H200, 140.4 GiB (GPU-12ab)" in discover.machine().to_text()


@pytest.mark.parametrize("script", ["exit 9", "echo 'No devices were found'"])
def test_a_driver_that_does_not_answer_is_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    fake_smi(tmp_path, monkeypatch, script)
    assert discover.gpus() == ()
