"""Array programs: a function `f(rank, x, ...)` that every rank runs on real arrays of its own.

`ArrayRank` is all that such a function sees of the others: it sends arrays, and receives them. How
they travel is the business of a `Wire`, so the same function runs on threads of this process
(`play`), in the processes of a check, or anywhere else that has a wire.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from allranks.program.meeting import Form, Meets
from allranks.program.who import Who

Array = np.ndarray[Any, np.dtype[Any]]


class WireCall(NamedTuple):
    """One call as a wire gets it: `array` is what is sent, and None for a receive."""

    meets: Meets
    array: Array | None = None


class Wire(Protocol):
    """What carries arrays between ranks."""

    def meet(self, calls: Sequence[WireCall]) -> Sequence[Array]:
        """Return what the receives among `calls` bring, in order, once all calls are met.

        The arrays to send are contiguous and belong to the wire; those returned belong to the rank.
        """


class _Pending(NamedTuple):
    """A call of an open block, and where its array goes."""

    call: WireCall
    out: Array | None = None
    reduce: bool = False


class ArrayRank(Who):
    """One rank, as its array program sees it: who it is, who its neighbors are, what it can do.

    Outside `step()` every call waits until the other side has taken part. What travels is the value
    at the call of `send`, in the array's logical order, whatever happens to the array afterwards.
    """

    def __init__(self, rank: int, world_size: int, wire: Wire) -> None:
        super().__init__(rank, world_size)
        self._wire = wire
        self._open: list[_Pending] | None = None
        self._live_bytes = 0
        self._peak_bytes = 0

    def send(self, peer: int, array: Array) -> None:
        """Send the values of an array to rank `peer`; outside `step()`, wait until it receives.

        Raises:
            ScheduleError: no such rank, this rank itself, or nothing that can be sent.
        """
        self._do([self._sending("send", peer, array)])

    def recv(self, peer: int, out: Array | None = None, *, reduce: bool = False) -> Array | None:
        """Receive an array from rank `peer`; outside `step()`, wait until it sends.

        It is written into `out`, which must have the same shape and dtype, and may be a view. With
        `reduce=True` it is added to what is there. Returns `out`; without one, a fresh array that
        looks like what was sent. Inside `step()` say `out`: it is filled when the block ends.

        Raises:
            ScheduleError: no such rank, this rank itself, or an `out` that cannot be written.
        """
        pending = self._receiving("recv", peer, out, reduce=reduce)
        return self._do([pending])

    def sendrecv(
        self,
        dst: int,
        array: Array,
        src: int | None = None,
        *,
        out: Array | None = None,
        reduce: bool = False,
    ) -> Array | None:
        """Send an array to rank `dst` and receive one from rank `src` at the same time.

        Without `src` both are one rank, an exchange. The first two arguments are those of `send`;
        `src`, `out` and `reduce` are those of `recv`, and so is what it returns.

        Raises:
            ScheduleError: as `send` and `recv`.
        """
        sending = self._sending("sendrecv", dst, array)
        peer = dst if src is None else src
        return self._do([sending, self._receiving("sendrecv", peer, out, reduce=reduce)])

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Array:  # noqa: ANN401 - as in NumPy
        """Return a new array, without a promise about its values, that counts as memory.

        It counts until it and all views of it are gone; `peak_bytes` is the most there was at once.
        """
        array: Array = np.empty(shape, dtype)
        _spoil(array)
        self._live_bytes += array.nbytes
        self._peak_bytes = max(self._peak_bytes, self._live_bytes)
        weakref.finalize(array, self._free, array.nbytes).atexit = False
        return array

    @property
    def peak_bytes(self) -> int:
        """Return the most bytes of arrays from `empty` that were alive at once."""
        return self._peak_bytes

    def _free(self, nbytes: int) -> None:
        self._live_bytes -= nbytes

    # --- calls ---------------------------------------------------------------------------------

    def _sending(self, name: str, peer: int, array: Array) -> _Pending:
        number = self._peer(name, peer, "use the array that you have")
        held = self._numbers(name, "array", array)
        self._count_call()
        # a copy: what is sent is the value of now, whatever is written into the array later
        native = held.dtype.newbyteorder("=")
        sent: Array = np.array(held, native, order="C", copy=True)
        form = Form(sent.dtype.name, sent.shape, sent.nbytes)
        return _Pending(WireCall(Meets(sends=True, peer=number, form=form), sent))

    def _receiving(self, name: str, peer: int, out: Array | None, *, reduce: bool) -> _Pending:
        number = self._peer("recv", peer, "use the array that you have")
        if not isinstance(reduce, bool):
            self._refuse(f"{name}: reduce is {reduce!r}; say True to add, False to replace")
        self._count_call()
        if out is None:
            if reduce:
                self._refuse(f"{name}: reduce=True adds to what out holds; say out=")
            if self._open is not None:
                message = f"{name} inside step() fills out when the block ends; say out="
                self._refuse(message)
            return _Pending(WireCall(Meets(sends=False, peer=number, form=None)))
        if not isinstance(out, np.ndarray):
            self._refuse(f"{name}: out is {_kind(out)}; give a NumPy array to write into")
        held = self._numbers(name, "out", out)
        if not out.flags.writeable:
            self._refuse(f"{name}: out is read-only; give an array of your own")
        form = Form(held.dtype.name, held.shape, held.nbytes)
        return _Pending(WireCall(Meets(sends=False, peer=number, form=form)), out, reduce)

    def _numbers(self, name: str, what: str, value: Any) -> Array:  # noqa: ANN401 - a learner's
        if not isinstance(value, np.ndarray | np.generic):
            self._refuse(f"{name}: {what} is {_kind(value)}; give a NumPy array")
        array: Array = np.asarray(value)
        if not is_number(array.dtype):
            self._refuse(f"{name}: {what} has dtype {array.dtype}; give an array of numbers")
        return array

    def _do(self, calls: Sequence[_Pending]) -> Array | None:
        if self._open is not None:
            self._open += calls
            return calls[-1].out
        return self._meet(calls)

    def _meet(self, calls: Sequence[_Pending]) -> Array | None:
        arrays = iter(self._wire.meet([pending.call for pending in calls]))
        last: Array | None = None
        for call, out, reduce in calls:
            if call.meets.sends:
                continue
            last = next(arrays)
            if out is not None:
                if reduce:
                    np.add(out, last, out=out)
                else:
                    out[...] = last
                last = out
        return last

    def _enter(self) -> None:
        if self._open is not None:
            self._refuse("step() inside step(); close the first one before the next")
        super()._enter()
        self._open = []

    def _leave(self, *, complete: bool) -> None:
        calls, self._open = self._open, None
        if calls and complete:
            self._meet(calls)

    def finish(self) -> None:
        """Say that the program has returned; refuse a step that is still open, or was never used.

        Raises:
            ScheduleError: `rank.step()` was called without `with`.
        """
        self._check_steps(still_open=self._open is not None)


def is_number(dtype: np.dtype[Any]) -> bool:
    """Return whether arrays of this dtype hold numbers or truth values, and no objects or dates."""
    own = dtype.kind == "V" and dtype.type is not np.void  # ml_dtypes
    return dtype.kind in "biufc" or own


def dtype_of(name: str) -> np.dtype[Any]:
    """Return the dtype of a `Form`: a number of NumPy or of ml_dtypes.

    Raises:
        ValueError: there is none.

    >>> dtype_of("bfloat16").itemsize
    2
    """
    found: np.dtype[Any] | None = None
    with contextlib.suppress(TypeError):
        found = np.dtype(name)
    if found is None:
        import ml_dtypes  # noqa: PLC0415 - most arrays do without

        with contextlib.suppress(AttributeError, TypeError):
            found = np.dtype(getattr(ml_dtypes, name))
    if found is None or not is_number(found):
        message = f"{name!r} is no dtype of numbers of NumPy or ml_dtypes"
        raise ValueError(message)
    return found


def _spoil(array: Array) -> None:
    """Fill an array so that what is read before it is written looks wrong every time."""
    if array.dtype.kind in "fc":
        array.fill(np.nan)
    elif array.dtype.kind in "iu":
        array.reshape(-1).view(np.uint8).fill(0xA5)


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
