"""The command line: arguments to calls, results to text or JSON. It has no rule of its own.

Exit status of every command: 0 = fine, 1 = the thing checked is wrong, 2 = usage or unreadable
input, 3 = something is missing on this machine.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from allranks.cli import course, engine, machine
from allranks.cli.app import FINE, MISSING, USAGE, WRONG, app, complain, sentence

__all__ = ["FINE", "MISSING", "USAGE", "WRONG", "app", "course", "engine", "machine", "main"]


def main() -> None:
    """Run the command line: one sentence for what the user can mend, never a traceback for it."""
    from allranks.errors import (  # noqa: PLC0415 - keep `--help` fast
        CollectiveError,
        ScheduleError,
        TransportUnavailable,
    )

    _speak_utf8()
    try:
        app(standalone_mode=True)
    except TransportUnavailable as error:
        _fail(MISSING, str(error))
    except ScheduleError as error:
        _fail(USAGE if error.kind == "format" else WRONG, str(error))
    except CollectiveError as error:
        _fail(WRONG, str(error))
    except (ValueError, OSError) as error:
        _fail(USAGE, sentence(error))
    except ModuleNotFoundError as error:
        _fail(MISSING, f"{error.name} is not installed here; run `make setup`, or pip install it")
    except MemoryError:
        _fail(MISSING, "not enough memory for this size; try fewer ranks or bytes")
    except KeyboardInterrupt:
        _fail(130, "stopped")


def _fail(status: int, message: str) -> NoReturn:
    sys.stdout.flush()
    complain(message)
    sys.exit(status)


def _speak_utf8() -> None:
    """Read arguments and print text as UTF-8, whatever the locale says."""
    sys.argv = [os.fsencode(argument).decode("utf-8", "replace") for argument in sys.argv]
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
