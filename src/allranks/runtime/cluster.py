"""Ray: found, started once, and left alone. The only module that imports it.

`connect` uses the Ray that is already running in this process, else the cluster that RAY_ADDRESS
names, else starts a small one that dies with this process.
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allranks.errors import TransportUnavailable
from allranks.runtime import guard

_OBJECT_STORE_BYTES = 256 << 20
_LEAST_OBJECT_STORE_BYTES = 80 << 20
# Ray appends /ray/session_<date>_<pid>/sockets/plasma_store; Unix allows 107 bytes (macOS 103).
_LONGEST_SOCKET_PATH = 103
_SOCKET_SUFFIX = "/ray/session_2025-01-01_00-00-00_000000_4194304/sockets/plasma_store.1"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_CONNECT_SECONDS = 5.0
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy")

# A dead rank is reported once, by us, and more ranks than cores are our normal case. Everything
# else that Ray's processes print is shown, each line as often as it comes: otherwise Ray folds
# similar lines of different actors into one.
_NOISE = "A worker died or was killed|WARNING: .* worker processes have been started"

# Read when Ray is imported or started; what the user has set stays.
_SETTINGS = {
    "RAY_DEDUP_LOGS_ALLOW_REGEX": f"^(?!{_NOISE})",
    "RAY_DEDUP_LOGS_SKIP_REGEX": f"^(?:{_NOISE})",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # else `uv run` makes a new environment per actor
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_SCHEDULER_EVENTS": "0",
}


@dataclass(frozen=True)
class Cluster:
    """A connection to Ray: the module, this driver's node and job, and how many nodes there are."""

    ray: Any
    node_id: str
    job_id: str
    nodes: int
    address: str

    def connected(self) -> bool:
        """Return whether this connection still stands (nobody called ray.shutdown since)."""
        if not self.ray.is_initialized():
            return False
        return bool(self.ray.get_runtime_context().get_job_id() == self.job_id)


def load_ray() -> Any:  # noqa: ANN401 - Ray has no types worth the name
    """Import Ray.

    Raises:
        TransportUnavailable: it is not installed; the message says for which Pythons it exists.
    """
    _settle()
    try:
        with _without_slow_imports():
            import ray  # noqa: PLC0415 - everything else works without it
    except ImportError as error:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        message = (
            f"World: Ray cannot be imported on this Python {here} ({error}); install allranks on "
            "Python 3.11, 3.12 or 3.13, where Ray has wheels, or use ar.simulate(schedule, "
            "inputs), which needs no Ray"
        )
        raise TransportUnavailable(message) from error
    return ray


def connect() -> Cluster:
    """Return a connection to Ray, starting a local one if there is none.

    Raises:
        TransportUnavailable: Ray is missing or does not start, or this process is only a client
            of a cluster elsewhere.
    """
    ray = load_ray()
    if not ray.is_initialized():
        _start(ray)
    if ray.util.client.ray.is_connected():
        message = (
            "World: this process is a Ray client of a cluster elsewhere and shares no memory with "
            "it; run the program on a node of the cluster (RAY_ADDRESS=auto)"
        )
        raise TransportUnavailable(message)
    context = ray.get_runtime_context()
    return Cluster(
        ray=ray,
        node_id=context.get_node_id(),
        job_id=context.get_job_id(),
        nodes=sum(1 for node in ray.nodes() if node["Alive"]),
        address=context.gcs_address,
    )


def actor_class(cluster: Cluster) -> Any:  # noqa: ANN401 - a Ray actor class
    """Return the actor that plays one endpoint: one process on this node, no CPU reserved.

    Ranks may outnumber cores, hence num_cpus=0. The class is local to this function so that Ray
    ships it as code: the new process may not yet be able to import allranks.
    """

    class Rank:
        """One endpoint of a world."""

        def __init__(self, paths: list[str]) -> None:
            import sys  # noqa: PLC0415 - shipped as code

            sys.path.extend(path for path in paths if path not in sys.path)
            from allranks.runtime.worker import RankWorker  # noqa: PLC0415 - path set just now

            self._worker = RankWorker()

        def hello(self) -> int:
            return self._worker.hello()

        def run(self, order: Any) -> Any:  # noqa: ANN401 - shipped without types
            return self._worker.run(order)

    strategy = cluster.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        node_id=cluster.node_id, soft=False
    )
    return cluster.ray.remote(num_cpus=0, scheduling_strategy=strategy)(Rank)


def import_paths() -> list[str]:
    """Return where this process finds modules, for ranks to look there too."""
    here = Path.cwd()
    return [str(here / path) for path in sys.path]


def _start(ray: Any) -> None:  # noqa: ANN401
    address = os.environ.get("RAY_ADDRESS")
    quiet: dict[str, Any] = {"logging_level": "ERROR"}
    if address:
        options = {**quiet, "address": address}
    else:
        options = {
            **quiet,
            "address": "local",
            "include_dashboard": False,
            "object_store_memory": _object_store_bytes(),
        }
        if folder := _short_folder():
            options["_temp_dir"] = folder
    try:
        if address:
            _knock(address)
        before = _children()
        with _environment():
            ray.init(**options)
    except Exception as error:
        where = f"the cluster at RAY_ADDRESS={address}" if address else "a local Ray"
        message = (
            f"World: {where} cannot be used ({_first_line(error)}); check that it runs and has "
            "the same Ray and Python versions, or unset RAY_ADDRESS for a local one"
            if address
            else f"World: {where} does not start ({_first_line(error)}); see the logs in "
            f"{Path(options.get('_temp_dir') or _default_folder())}/session_latest/logs, or use "
            "ar.simulate(schedule, inputs), which needs no Ray"
        )
        raise TransportUnavailable(message) from error
    if not address and before is not None:
        guard.watch_over((_children() or set()) - before)


def _knock(address: str) -> None:
    """Raise an error if nobody listens at a host:port address; Ray itself would try for minutes.

    Says nothing of an address of another form ("auto", "local", or one that Ray refuses).
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or "/" in host or not (port.isascii() and port.isdigit()):
        return
    place = host.removeprefix("[").removesuffix("]"), int(port)
    socket.create_connection(place, timeout=_CONNECT_SECONDS).close()


def _children() -> set[int] | None:
    """Return what this process has started; None where the system does not tell."""
    return guard.descendants(os.getpid()) if Path("/proc/self/stat").exists() else None


def _settle() -> None:
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    if any(os.environ.get(p) or os.environ.get(p.upper()) for p in _PROXIES):
        # Ray talks to itself over loopback; a proxy must not get in between.
        for name in ("no_proxy", "NO_PROXY"):
            hosts = [host for host in os.environ.get(name, "").split(",") if host]
            missing = [host for host in _LOOPBACK if host not in hosts]
            os.environ[name] = ",".join([*hosts, *missing])


@contextmanager
def _environment() -> Iterator[None]:
    """Give Ray's processes a path on which slow imports are left out."""
    before = os.environ.get("PYTHONPATH")
    quick = str(Path(__file__).parent / "quick")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [quick, before]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@contextmanager
def _without_slow_imports() -> Iterator[None]:
    """Import Ray here without the parser that quick/rfc3987_syntax.py tells of."""
    name = "rfc3987_syntax"
    if name in sys.modules or "jsonschema" in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]  # makes its import fail
    try:
        yield
    finally:
        sys.modules.pop(name, None)


def _object_store_bytes() -> int:
    """Return a size that fits: our arrays do not pass through Ray's object store."""
    try:
        room = shutil.disk_usage("/dev/shm").free  # noqa: S108 - its size, not a file in it
    except OSError:
        return _OBJECT_STORE_BYTES
    return max(_LEAST_OBJECT_STORE_BYTES, min(_OBJECT_STORE_BYTES, room // 2))


def _default_folder() -> str:
    """Return the folder that Ray takes if nobody tells it (its own rule, not tempfile's)."""
    named = os.environ.get("RAY_TMPDIR")
    if not named and sys.platform.startswith("linux"):
        named = os.environ.get("TMPDIR")
    return named or "/tmp"  # noqa: S108 - only its length and Ray's log folder in it matter


def _short_folder() -> str | None:
    """Return a folder for Ray's sockets if the usual one has too long a name, else None."""
    if len(_default_folder().encode()) + len(_SOCKET_SUFFIX) <= _LONGEST_SOCKET_PATH:
        return None
    for parent in ("/tmp", "/var/tmp", str(Path.home())):  # noqa: S108 - a folder of our own in it
        folder = Path(parent) / f"ray-{getpass.getuser()}"
        if len(str(folder).encode()) + len(_SOCKET_SUFFIX) > _LONGEST_SOCKET_PATH + len("/ray"):
            continue
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid():
            return str(folder)
    message = (
        f"World: the temporary folder {_default_folder()} has too long a name for Ray's sockets; "
        "set TMPDIR=/tmp"
    )
    raise TransportUnavailable(message)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0]
