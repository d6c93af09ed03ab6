"""Numbers that host code has while a function is traced: NaNs that name traced values.

A float of 32 bits keeps 20 bits of a number, one of 64 bits 32; what else their bits say, no other NaN has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError

NAMES: Mapping[np.dtype[Any], tuple[np.dtype[Any], int, int]] = {
    np.dtype(np.float32): (np.dtype(np.uint32), 0x7FE00000, 0xFFF00000),
    np.dtype(np.float64): (np.dtype(np.uint64), 0x7FF957A600000000, 0xFFFFFFFF00000000),
}
"""By dtype: its bits as integers, those that all names have, and which bits these are."""
MOST_COPIED = 4096
"""So many numbers at once may be copied to the host."""

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "fadd": lambda a, b: a + b,
    "fsub": lambda a, b: a - b,
    "fmul": lambda a, b: a * b,
    "fdiv": lambda a, b: a / b,
    "frem": jnp.fmod,
    "fneg": lambda a: -a,
    "fpext": lambda a: a.astype(np.float64),
    "fptrunc": lambda a: a.astype(np.float32),
    "fabs": jnp.abs,
    "fmin": jnp.fmin,
    "fmax": jnp.fmax,
    "minnum": jnp.fmin,
    "maxnum": jnp.fmax,
    "asin": jnp.arcsin,
    "acos": jnp.arccos,
    "atan": jnp.arctan,
    "atan2": jnp.arctan2,
    "asinh": jnp.arcsinh,
    "acosh": jnp.arccosh,
    "atanh": jnp.arctanh,
    "erf": jax.scipy.special.erf,
    "erfc": jax.scipy.special.erfc,
    "fma": lambda a, b, c: a * b + c,
    "fmuladd": lambda a, b, c: a * b + c,
}


class HostNumbers:
    """The traced values that host code of one trace knows by name."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def name(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """A number of NumPy that stands for a traced one.

        Raises LaunchError (WL0422) for numbers that are no floats.
        """
        if dtype.kind == "c":
            part = np.real(np.zeros(0, dtype)).dtype
            parts = [self.name(each, part) for each in (jnp.real(value), jnp.imag(value))]
            return np.array(parts, part).view(dtype)[0]
        if dtype not in NAMES:
            raise unknown_to_host(f"a number of {dtype}")
        bits, mark, _ = NAMES[dtype]
        self.values.append(value)
        return np.array([mark | (len(self.values) - 1)], bits).view(dtype)[0]

    def are_named(self, numbers: Any) -> Any:
        """Which of NumPy's floats stand for traced values; None where none does."""
        if numbers.dtype not in NAMES:
            return None
        bits, mark, mask = NAMES[numbers.dtype]
        found = np.ascontiguousarray(numbers).view(bits) & bits.type(mask) == bits.type(mark)
        return found if found.any() else None

    def resolve(self, numbers: Any) -> Any:
        """NumPy's numbers with the traced values in the place of their names; themselves where there are none."""
        numbers = np.asarray(numbers)
        if numbers.dtype.kind == "c":
            part = np.real(numbers).dtype
            parts = self.resolve(np.ascontiguousarray(numbers).reshape(-1).view(part))
            if isinstance(parts, np.ndarray):
                return numbers
            return jax.lax.complex(parts[::2], parts[1::2]).reshape(numbers.shape)
        named = self.are_named(numbers)
        if named is None:
            return numbers
        bits, mark, _ = NAMES[numbers.dtype]
        places = np.ascontiguousarray(numbers).view(bits).reshape(-1) ^ bits.type(mark)
        found = [
            self.values[int(place)] if is_named else number
            for place, is_named, number in zip(places, named.reshape(-1), numbers.reshape(-1), strict=True)
        ]
        return jnp.stack([jnp.asarray(each, numbers.dtype) for each in found]).reshape(numbers.shape)

    def operate(self, operation: str, kinds: str, words: Sequence[int]) -> int:
        """Do an operation on floats, given as words, some of which are names; gives the word of the result.

        Raises LaunchError (WL0422) where the result is no float: host code decides by a traced value.
        """
        *given, result = kinds
        if result == "i":
            raise unknown_to_host("a decision by a number, or its conversion to an integer")
        operands = []
        for kind, word in zip(given, words, strict=False):
            dtype = np.dtype(np.float32 if kind == "f" else np.float64)
            number = np.array([word], np.uint64).view(dtype)[0]
            operands.append(jnp.asarray(self.resolve(number)))
        function = _OPERATIONS.get(operation) or getattr(jnp, operation)
        dtype = np.dtype(np.float32 if result == "f" else np.float64)
        named = np.array([self.name(function(*operands), dtype)])
        return int(named.view(NAMES[dtype][0])[0])


def unknown_to_host(what: str) -> LaunchError:
    """What is said where host code needs to know a traced number."""
    return LaunchError(
        Diagnostic(
            "WL0422",
            f"a host function can't be traced: host code needs {what} that is in device memory",
            notes=("it is not known while the function is compiled",),
            help="do a fixed number of steps, or let a kernel decide; outside of wl.jit the function runs as it is",
        )
    )
