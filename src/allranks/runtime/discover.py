"""What this machine has: processor, memory, shared memory, GPUs, Python, versions.

`doctor` prints it, and the header of every trace carries it.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("allranks", "numpy", "ray")
_GPU_FIELDS = ("uuid", "name", "memory.total", "driver_version")
_NVIDIA_SMI_SECONDS = 10


@dataclass(frozen=True)
class Gpu:
    """A GPU as nvidia-smi names it. `uuid` is the only name that survives CUDA_VISIBLE_DEVICES."""

    uuid: str
    name: str
    memory_bytes: int
    driver: str


@dataclass(frozen=True)
class Machine:
    """One machine. Sizes are bytes; None where this system does not tell.

    `cores` are those this process may use. `shared_memory_bytes` is the size of /dev/shm, which
    Ray's object store uses (allranks' own arenas do not).
    """

    cpu: str
    cores: int
    memory_bytes: int | None
    available_bytes: int | None
    shared_memory_bytes: int | None
    gpus: tuple[Gpu, ...]
    system: str
    python: str
    versions: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)

    def to_text(self) -> str:
        """Return a few lines for a person."""
        gpus = [f"{gpu.name}, {_gib(gpu.memory_bytes)} ({gpu.uuid})" for gpu in self.gpus]
        packages = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        lines = [
            f"processor      {self.cpu}, {self.cores} cores usable",
            f"memory         {_gib(self.memory_bytes)}, {_gib(self.available_bytes)} available",
            f"shared memory  {_gib(self.shared_memory_bytes)} in /dev/shm",
            f"GPUs           {'; '.join(gpus) or 'none'}",
            f"system         {self.system}, Python {self.python}",
            f"packages       {packages}",
        ]
        return "\n".join(lines)


def machine() -> Machine:
    """Return what this machine has, read now."""
    return Machine(
        cpu=_cpu_model(),
        cores=cores(),
        memory_bytes=_meminfo("MemTotal"),
        available_bytes=available_memory(),
        shared_memory_bytes=_shared_memory(),
        gpus=gpus(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        versions=versions(),
    )


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Return the versions of the packages that matter to a measurement, and of Python."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    if found["allranks"] == "not installed":
        from allranks import __version__  # noqa: PLC0415 - on the path without being installed

        found["allranks"] = __version__
    return found


def available_memory() -> int | None:
    """Return the bytes that a program could still use, or None where the system does not tell."""
    room = [_meminfo("MemAvailable"), _cgroup_room()]
    known = [nbytes for nbytes in room if nbytes is not None]
    return min(known, default=None)


def gpus() -> tuple[Gpu, ...]:
    """Return the NVIDIA GPUs that nvidia-smi lists; none where there is no nvidia-smi."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return ()
    query = "--query-gpu=" + ",".join(_GPU_FIELDS)
    try:
        answer = subprocess.run(  # noqa: S603 - a fixed command line
            [command, query, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=_NVIDIA_SMI_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        # A driver that does not answer is, for us, a machine without GPUs.
        return ()
    lines = [line.split(",", 3) for line in answer.stdout.splitlines()]
    return tuple(_gpu(*parts) for parts in lines if len(parts) == len(_GPU_FIELDS))


def _gpu(uuid: str, name: str, mebibytes: str, driver: str) -> Gpu:
    size = int(mebibytes) << 20 if mebibytes.strip().isdigit() else 0
    return Gpu(uuid=uuid.strip(), name=name.strip(), memory_bytes=size, driver=driver.strip())


def _cpu_model() -> str:
    if sys.platform == "darwin":
        answer = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"],
            capture_output=True,
            text=True,
            check=False,
        )
        return answer.stdout.strip() or platform.machine()
    for line in _lines("/proc/cpuinfo"):
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model"):
            return value.strip()
    return platform.machine()


def _meminfo(name: str) -> int | None:
    for line in _lines("/proc/meminfo"):
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) * 1024
    if name == "MemTotal" and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _cgroup_room() -> int | None:
    """Return what the container's memory limit leaves, or None without a limit."""
    limit = "".join(_lines("/sys/fs/cgroup/memory.max")).strip()
    used = "".join(_lines("/sys/fs/cgroup/memory.current")).strip()
    if limit.isdigit() and used.isdigit():
        return max(0, int(limit) - int(used))
    return None


def _shared_memory() -> int | None:
    try:
        return shutil.disk_usage("/dev/shm").total  # noqa: S108 - its size, not a file in it
    except OSError:
        return None


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _gib(nbytes: int | None) -> str:
    return "unknown" if nbytes is None else f"{nbytes / 2**30:.1f} GiB"
