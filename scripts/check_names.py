"""Look for every name of the table in book/appendix/notation.md in the libraries there are.

Prints a line per library: how many names it has, or that it is not installed. Exits with 1 if a
library that is installed lacks a name. NCCL's names are looked for in the symbols of libnccl.
"""

from __future__ import annotations

import ctypes.util
import importlib
import importlib.util
import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "book" / "appendix" / "notation.md"
HEAD = "| here | MPI | NCCL | torch.distributed | JAX |"


def names() -> dict[str, list[str]]:
    """Return the names of each library, as the table writes them between backticks."""
    lines = PAGE.read_text(encoding="utf-8").split(HEAD)[1].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    columns = list(zip(*rows, strict=True))[1:]
    heads = [cell.strip() for cell in HEAD.strip("|").split("|")][1:]
    return {
        head: [name for cell in column for name in re.findall(r"`([^`]+)`", cell)]
        for head, column in zip(heads, columns, strict=True)
    }


def missing(library: str, wanted: list[str]) -> list[str] | None:
    """Return the names that an installed library lacks; None if it is not installed."""
    if library == "NCCL":
        found = ctypes.util.find_library("nccl") or _wheel("nvidia", "nccl", "lib", "libnccl.so.2")
        if found is None:
            return None
        calls = [name for name in wanted if not name.endswith("_t")]
        nccl = ctypes.CDLL(found)
        return [name for name in calls if not hasattr(nccl, name)]
    module = {"MPI": "mpi4py.MPI", "torch.distributed": "torch.distributed", "JAX": "jax"}[library]
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        return None
    loaded = importlib.import_module(module)
    return [name for name in wanted if not _has(loaded, library, name)]


def _wheel(*path: str) -> str | None:
    """Return a file of an installed wheel, if it is there."""
    files = [Path(folder, *path) for folder in sys.path]
    return next((str(file) for file in files if file.is_file()), None)


def _has(loaded: object, library: str, name: str) -> bool:
    if library == "MPI":
        # mpi4py has the calls as methods of a communicator: MPI_Allgather is Comm.Allgather
        loaded, name = loaded.Comm, name.removeprefix("MPI_")  # type: ignore[attr-defined]
    for part in name.split("."):
        if not hasattr(loaded, part):
            return False
        loaded = getattr(loaded, part)
    return True


def main() -> int:
    """Print what was found, and return the exit status."""
    wrong = 0
    for library, wanted in names().items():
        lacking = missing(library, wanted)
        if lacking is None:
            print(f"{library}: not installed, {len(wanted)} names not checked")
        else:
            wrong += len(lacking)
            lacks = f"; not there: {', '.join(lacking)}" if lacking else ""
            print(f"{library}: {len(wanted) - len(lacking)} of {len(wanted)} names found{lacks}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
