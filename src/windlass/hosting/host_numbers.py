"""Numbers that host code has while a function is traced: NaNs that name traced values.

They are signalling: whatever the machine does with one makes it quiet, but for moving it. So an operation that was not
observed (of a function that is not known here, say) leaves a NaN that is seen to have been a name, never a name.
A float of 32 bits keeps 20 bits of a number, one of 64 bits 32, scattered: what is made of a name's bits names nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError


@dataclass(frozen=True)
class Naming:
    """How floats of one width name values: `mark` begins all names, of whose bits `width` say which it is.

    `family` are the bits that names and what becomes of them have in common, and `family_mask` which bits these are.
    """

    bits: np.dtype[Any]
    mark: int
    width: int
    family: int
    family_mask: int

    def scatter(self, place: int) -> int:
        return place * SCATTERING & ((1 << self.width) - 1)

    def gather(self, name: int) -> int:
        return name * pow(SCATTERING, -1, 1 << self.width) & ((1 << self.width) - 1)


SCATTERING = 0x9E3779B1
"""Numbers that follow one another are far apart when they are multiplied by it, modulo a power of 2 (Knuth 6.4)."""
NAMES: Mapping[np.dtype[Any], Naming] = {
    np.dtype(np.float32): Naming(np.dtype(np.uint32), 0x7FA00000, 20, 0x7FA00000, 0x7FB00000),
    np.dtype(np.float64): Naming(np.dtype(np.uint64), 0x7FF457A600000000, 32, 0x7FF4 << 48, 0x7FF6 << 48),
}
"""By dtype. A name of one width that is converted to the other belongs to the family there."""
MOST_COPIED = 4096
"""So many numbers at once may be copied to the host."""


def _round(a: Any) -> Any:
    """To the nearest integer, halves away from zero, as C's `round`."""
    whole = jnp.trunc(a)
    return whole + jnp.where(jnp.abs(a - whole) >= 0.5, jnp.sign(a), 0)


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
    "round": _round,
    "nearbyint": jnp.rint,
    "roundeven": jnp.rint,
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
        naming = NAMES[dtype]
        if len(self.values) >> naming.width:
            raise unknown_to_host(f"more than {1 << naming.width} numbers")
        self.values.append(value)
        word = naming.mark | naming.scatter(len(self.values) - 1)
        return np.array([word], naming.bits).view(dtype)[0]

    def are_named(self, numbers: Any) -> Any:
        """Which of NumPy's floats are names of traced values, or were; None where none is."""
        if numbers.dtype not in NAMES:
            return None
        naming = NAMES[numbers.dtype]
        words = np.ascontiguousarray(numbers).view(naming.bits)
        found = words & naming.bits.type(naming.family_mask) == naming.bits.type(naming.family)
        return found if found.any() else None

    def resolve(self, numbers: Any) -> Any:
        """NumPy's numbers with the traced values in the place of their names; themselves where there are none.

        Raises LaunchError (WL0422) for what was a name, before something was done to it that nobody saw.
        """
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
        words = np.ascontiguousarray(numbers).view(NAMES[numbers.dtype].bits).reshape(-1)
        found = [
            self._value(int(word), NAMES[numbers.dtype]) if is_named else number
            for word, is_named, number in zip(words, named.reshape(-1), numbers.reshape(-1), strict=True)
        ]
        return jnp.stack([jnp.asarray(each, numbers.dtype) for each in found]).reshape(numbers.shape)

    def _value(self, word: int, naming: Naming) -> Any:
        place = naming.gather(word & ((1 << naming.width) - 1))
        if word >> naming.width != naming.mark >> naming.width or place >= len(self.values):
            raise unknown_to_host("a function that is not followed, or the bits, of a number")
        return self.values[place]

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
        return int(named.view(NAMES[dtype].bits)[0])


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
