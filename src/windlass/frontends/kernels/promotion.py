"""Which types Numba's operators give: its rules, which differ from C's and NumPy's.

Two integers give a 64-bit integer, unsigned only if both are; an integer of more than 16 bits and a float32 give
float64; comparing a uint64 with a signed integer compares doubles.
"""

from __future__ import annotations

from windlass.frontends.kernels.types import (
    KernelNumber,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint64,
)

_SIGNED = {8: int8, 16: int16, 32: int32, 64: int64}


def unify(first: KernelNumber, second: KernelNumber) -> KernelNumber:
    """The type of a variable that is assigned both, on different ways.

    >>> from windlass.frontends.kernels.types import uint8, int8, uint32
    >>> unify(uint8, int8), unify(int64, float32), unify(uint64, int32), unify(uint32, int8)
    (int16, float64, float64, int64)
    """
    if first == second:
        return first
    kinds = first.kind + second.kind
    if "c" in kinds:
        wide = unify(_part(first), _part(second))
        return complex64 if wide == float32 else complex128
    if "f" in kinds:
        for number in (first, second):
            if number == float64 or (number.is_integer and number.bits > 16):
                return float64
        return float32
    if first.kind == "b":
        return second
    if second.kind == "b":
        return first
    if first.kind == second.kind:
        return first if first.bits > second.bits else second
    signed, unsigned = (first, second) if first.kind == "i" else (second, first)
    bits = max(signed.bits, 2 * unsigned.bits)
    return _SIGNED.get(bits, float64)


def _part(number: KernelNumber) -> KernelNumber:
    return (float32 if number == complex64 else float64) if number.kind == "c" else number


def compared(first: KernelNumber, second: KernelNumber) -> KernelNumber:
    """The type that two numbers are brought to before they are compared."""
    if {first.kind, second.kind} <= set("biu"):
        return unify(first, second)
    return operated(first, second)


def operated(first: KernelNumber, second: KernelNumber) -> KernelNumber:
    """The type of +, −, ×, //, % and of bits' operations.

    >>> operated(int32, int32), operated(uint64, uint64), operated(int32, float32), operated(int16, float32)
    (int64, uint64, float64, float32)
    """
    if first.is_integral and second.is_integral:
        return uint64 if first.kind == second.kind == "u" else int64
    exact = all(number.kind in "fc" or number.bits <= (8 if number.kind == "u" else 16) for number in (first, second))
    is_wide = not exact or float64 in (first, second) or complex128 in (first, second)
    if "c" in first.kind + second.kind:
        return complex128 if is_wide else complex64
    return float64 if is_wide else float32


def divided(first: KernelNumber, second: KernelNumber) -> KernelNumber:
    """The type of true division."""
    return float64 if first.is_integral and second.is_integral else operated(first, second)


def widened(number: KernelNumber) -> KernelNumber:
    """The type of −x, +x and ~x: integers become 64 bits wide."""
    if number.kind == "u":
        return uint64
    return int64 if number.is_integral else number


def shifted(number: KernelNumber) -> KernelNumber:
    """The type of a shift: that of what is shifted, in 64 bits."""
    return uint64 if number.kind == "u" else int64


def real_function(*arguments: KernelNumber) -> KernelNumber:
    """The type of a function of `math`: float32 where all arguments are float32, otherwise float64.

    >>> real_function(float32), real_function(int64), real_function(float32, float64)
    (float32, float64, float64)
    """
    return float32 if all(number == float32 for number in arguments) else float64
