"""Programs: what one rank does, written as sends and receives by whoever learns it.

A rank program moves chunks, not values, and is traced into a schedule (`trace_program`). An array
program moves real arrays between buffers of its own (`arrays`, `play`). Both obey one rule. Outside
`rank.step()` a send or a receive is a blocking rendezvous: it is over when the other side has taken
part. Inside `rank.step()` everything happens together, as between ncclGroupStart and ncclGroupEnd.

Arrays need NumPy, and stand in modules of their own: the rest needs the standard library alone.
"""

from __future__ import annotations

from allranks.program.trace import Call, Program, Rank, trace_program

__all__ = ["Call", "Program", "Rank", "trace_program"]
