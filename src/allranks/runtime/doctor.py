"""What this machine has, what each transport will do with it and why, and what to install."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Literal, NamedTuple

from allranks.runtime.discover import Machine, machine

_OLDEST, _NEWEST = (3, 11), (3, 13)
_DISK_BYTES = 3e9
_MEMORY_BYTES = 2e9
_GIB = 2**30


class Finding(NamedTuple):
    """One line of the report. "missing" means that a part of the course cannot run until mended."""

    status: Literal["ok", "note", "missing"]
    what: str
    detail: str


def diagnose() -> list[Finding]:
    """Return what was found, in the order in which a person would check it; starts nothing."""
    here = machine()
    return [
        _python(),
        Finding(
            "ok", "processor", f"{here.cpu}, {here.cores} cores usable; ranks may outnumber them"
        ),
        _memory(here),
        _disk(),
        _ray(here),
        _shm(here),
        _gpus(here),
        *_not_yet(here),
        _book(),
    ]


def _python() -> Finding:
    running = ".".join(map(str, sys.version_info[:3]))
    if _OLDEST <= sys.version_info[:2] <= _NEWEST:
        return Finding("ok", "Python", running)
    return Finding(
        "missing", "Python", f"{running}; use 3.11, 3.12 or 3.13, for which Ray has wheels"
    )


def _memory(here: Machine) -> Finding:
    if here.available_bytes is None:
        return Finding("note", "memory", "this system does not tell how much is free")
    free = f"{here.available_bytes / _GIB:.1f} GiB available"
    if here.available_bytes < _MEMORY_BYTES:
        return Finding("note", "memory", f"{free}; close something before you run large sizes")
    return Finding("ok", "memory", free)


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    said = f"{free / _GIB:.1f} GiB free here"
    if free < _DISK_BYTES:
        return Finding("note", "disk", f"{said}; a first set-up needs about 3 GB")
    return Finding("ok", "disk", said)


def _ray(here: Machine) -> Finding:
    if "ray" not in here.versions or importlib.util.find_spec("ray") is None:
        return Finding(
            "missing",
            "Ray",
            "not installed, so ar.World cannot start; run `make setup` (wheels exist for Python "
            "3.11 to 3.13). ar.simulate, verify, price, the figures and the quizzes work without",
        )
    address = os.environ.get("RAY_ADDRESS")
    cluster = f"joins the cluster at {address}" if address else "starts a cluster of its own here"
    return Finding("ok", "Ray", f"{here.versions['ray']}; {cluster}")


def _shm(here: Machine) -> Finding:
    how = (
        "a memory file that all ranks map; nothing is left in /dev/shm"
        if sys.platform == "linux"
        else "a mapped temporary file; ranks poll instead of sleeping"
    )
    ray_store = (
        f". /dev/shm has {here.shared_memory_bytes / 2**20:.0f} MiB for Ray's object store"
        if here.shared_memory_bytes is not None
        else ""
    )
    return Finding(
        "ok", "transport shm", f"in use between processes of this machine: {how}{ray_store}"
    )


def _gpus(here: Machine) -> Finding:
    if not here.gpus:
        return Finding(
            "note", "GPUs", "none visible (nvidia-smi lists none); everything runs on the CPU"
        )
    names = "; ".join(f"{gpu.name} ({gpu.uuid})" for gpu in here.gpus)
    return Finding("note", "GPUs", f"{names}; not used yet: this release runs on the CPU")


def _not_yet(here: Machine) -> list[Finding]:
    gpu = "this machine has a GPU" if here.gpus else "no GPU is visible here"
    return [
        Finding("note", "transport cuda_ipc", f"not in this release ({gpu})"),
        Finding("note", "transport nccl", f"not in this release ({gpu})"),
        Finding("note", "transport tcp", "not in this release; ranks stay on one machine"),
    ]


def _book() -> Finding:
    if importlib.util.find_spec("jupyter_book") is None:
        return Finding(
            "missing", "book", 'jupyter-book is not installed; run `make setup` ("jupyter-book<2")'
        )
    return Finding("ok", "book", "can be built here: `allranks open` builds, serves and opens it")
