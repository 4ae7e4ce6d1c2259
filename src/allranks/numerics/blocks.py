"""Block quantization: whole numbers of 8 or 4 bits with one scale a block, as ZeRO++ does it.

A block of values x is stored as codes c = rint(x / s), whole numbers from -q to q with q = 127
(8 bits) or 7 (4 bits), and one float32 scale s = m / q, where m is the largest |x| of the block
(rounded up, so that no code is beyond q). The receiver makes c * s of it, in float32.

**The bound.** For every x of a block, and x' what comes out of it,

    |x - x'| <= m / (2 q) * (1 + 2^-15) + 2^-149.

Proof. Rounding up leaves m / q <= s <= m / q * (1 + 2^-23) + 2^-149 (the last term where s is
subnormal). rint leaves |x / s - c| <= 1/2, and the float64 quotient it rounds is off by less than
2^-46, so |x - c s| <= s / 2 * (1 + 2^-45). Rounding c * s to float32 adds at most 2^-24 |c| s
<= 2^-24 q s, or nothing at all among subnormals, where c * s is a multiple of 2^-149 as s is. So

    |x - x'| <= s / 2 * (1 + 2^-45 + 2 q * 2^-24),  and 2^-45 + 254 * 2^-24 + 2^-23 < 2^-15. QED

The 2^-15 is the dust of float32; m / (2 q) is reached by a value half way between two codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from allranks.errors import shown
from allranks.numerics.dtypes import Floats, real_numbers
from allranks.schedule import counted

_Float = TypeVar("_Float", np.float32, np.float64)
Singles = npt.NDArray[np.float32]

SCALE_NBYTES = 4
LARGEST = float(np.finfo(np.float32).max)
_DUST = 2.0**-15
_SMALLEST = 2.0**-149


@dataclass(frozen=True, eq=False, repr=False)
class Quantized:
    """Values as codes with one scale a block; `codes` are flat, in C order of `shape`."""

    codes: npt.NDArray[np.int8]
    scales: Singles
    bits: int
    block: int
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Return the bytes that travel: packed codes, and 4 for each scale."""
        return payload_nbytes(self.codes.size, self.bits, self.block)

    def packed(self) -> npt.NDArray[np.uint8]:
        """Return the codes as bytes on the wire; codes of 4 bits lie two in a byte, low one first.

        >>> quantize([7.0, -7.0, 1.0], bits=4).packed()
        array([151,   1], dtype=uint8)
        """
        if self.bits == 8:  # noqa: PLR2004 - a byte
            return self.codes.view(np.uint8)
        nibbles = (self.codes.view(np.uint8) & 0xF).astype(np.uint8)
        padded = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8))
        low, high = padded[::2], padded[1::2]
        return (low + 16 * high).astype(np.uint8)

    def dequantize(self) -> Singles:
        """Return code times scale for every value, as float32."""
        scales = _spread(self.scales, self.block, self.codes.size).astype(np.float64)
        # the largest float32 may come out half a step beyond itself
        wide = np.clip(self.codes * scales, -LARGEST, LARGEST)
        return wide.astype(np.float32).reshape(self.shape)

    def __repr__(self) -> str:
        scales = counted(self.scales.size, "scale")
        return f"Quantized({self.codes.size} x int{self.bits}, {scales}, {self.nbytes} bytes)"


def quantize(values: npt.ArrayLike, *, bits: int = 8, block: int = 128) -> Quantized:
    """Return values as symmetric codes with one float32 scale for every `block` of them.

    The values are taken as float32, in C order; the last block may be shorter, and so is a block
    of more values than there are.

    Raises:
        ValueError: bits other than 4 and 8, a block below 1, or a value that is no finite float32.

    >>> kept = quantize([127.0, -64.0, 0.5, 3.0], block=2)
    >>> kept, kept.codes, kept.scales
    (Quantized(4 x int8, 2 scales, 12 bytes), array([127, -64, 21, 127], dtype=int8), \
array([1.        , 0.02362205], dtype=float32))
    """
    check_blocks(bits, block)
    array = _singles(values)
    flat = np.ravel(array).astype(np.float64)
    due = _peaks(array, block) / _most(bits)
    scales = due.astype(np.float32)
    scales = np.where(scales < due, np.nextafter(scales, np.float32(np.inf)), scales)
    divisors = _spread(np.where(scales == 0, np.float32(1), scales), block, flat.size)
    codes = np.rint(flat / divisors).astype(np.int8)
    return Quantized(codes, scales, bits, block, array.shape)


def error_bound(values: npt.ArrayLike, *, bits: int = 8, block: int = 128) -> Floats:
    """Return, for every value, what quantizing may change it by at most; see the module's proof.

    The values are taken as float32; the bound has their shape.

    Raises:
        ValueError: as `quantize`.

    >>> error_bound([127.0, 1.0], bits=8).round(3), error_bound([7.0, 1.0], bits=4).round(3)
    (array([0.5, 0.5]), array([0.5, 0.5]))
    """
    check_blocks(bits, block)
    return bound_of(peaks_of(_singles(values), block), bits)


def payload_nbytes(count: int, bits: int, block: int) -> int:
    """Return the bytes of `count` packed codes and their scales.

    >>> payload_nbytes(1000, 8, 128), payload_nbytes(1000, 4, 128)
    (1032, 532)
    """
    return -(-count * bits // 8) + SCALE_NBYTES * -(-count // block)


def check_blocks(bits: int, block: int) -> None:
    """Check how blocks are asked for.

    Raises:
        ValueError: bits other than 4 and 8, or a block below 1.
    """
    if type(bits) is not int or bits not in (4, 8):
        raise ValueError(f"bits is {shown(bits)}; codes have 8 or 4 bits: give bits=8 or bits=4")
    if type(block) is not int or block < 1:
        message = f"block is {shown(block)}; it must be a whole number of values, at least 1"
        raise ValueError(message)


def check_finite(array: Singles, where: str = "") -> None:
    """Check that every value can have a code.

    Raises:
        ValueError: inf or NaN; the message begins with `where` and names the element.
    """
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise ValueError(
            f"{where}element {bad[0]} is {array.flat[bad[0]]}, which no scale can hold; "
            "remove what is not finite in float32 first"
        )


def peaks_of(array: Singles, block: int) -> Floats:
    """Return for every value the largest absolute value of its block, in the array's shape."""
    return _spread(_peaks(array, block), block, array.size).reshape(array.shape)


def bound_of(peaks: Floats, bits: int) -> Floats:
    """Return the bound for values whose block has these largest absolute values."""
    return peaks / (2 * _most(bits)) * (1 + _DUST) + _SMALLEST


def _singles(values: npt.ArrayLike) -> Singles:
    with np.errstate(over="ignore"):
        array = real_numbers(values).astype(np.float32)
    check_finite(array)
    return array


def _peaks(array: Singles, block: int) -> Floats:
    size = np.abs(np.ravel(array)).astype(np.float64)
    starts = np.arange(0, size.size, min(block, size.size or 1))
    return np.maximum.reduceat(size, starts) if size.size else size


def _spread(of_blocks: npt.NDArray[_Float], block: int, count: int) -> npt.NDArray[_Float]:
    """Return for each of `count` values what its block has."""
    return np.repeat(of_blocks, min(block, count or 1))[:count]


def _most(bits: int) -> int:
    return (1 << bits - 1) - 1
