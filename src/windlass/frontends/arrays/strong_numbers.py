"""Numbers as Numba types them, where a function asks for that: Python's are int64, float64 and complex128.

NumPy promotes Python's numbers weakly: `0.0 + x[i]` is of 32 bits if `x` is, and `x[i] + x[j]` of 8 bits wraps. For
Numba integers that operators combine have 64 bits, and Python's numbers are what they are; beside an array those of a
lower kind do not count (`a + 1` of floats of 32 bits has 32).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import ArrayZeroDivisionError
from windlass.frontends.arrays.integers import range_of
from windlass.frontends.arrays.operands import unwrapped
from windlass.frontends.arrays.promotion import as_dtype, dtype_or_kind, strong_dtype
from windlass.frontends.arrays.tracing import Check, current_tracing, position_now

WIDENING = frozenset({"add", "subtract", "multiply", "floor_divide", "remainder", "power", "left_shift", "right_shift",
                      "divmod"})  # fmt: skip
"""Operators that make integers of 64 bits of narrower ones, and of booleans."""
UNARY = frozenset({"negative", "positive"})
"""Those that do so of booleans."""
BITWISE = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor"})
"""Those that leave booleans what they are."""
DIVIDING = frozenset({"divide", "floor_divide", "remainder", "divmod"})
KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
WIDE = (np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.complex128))
"""Between these Python's numbers are promoted weakly to what they would be anyway."""


@contextmanager
def with_strong_numbers(is_wanted: bool = True, *, stops_at_zero: bool = False) -> Generator[None]:
    """Within, numbers are Numba's, or NumPy's again; with `stops_at_zero` it is an error to divide one by zero."""
    tracing = current_tracing()
    if tracing is None:
        yield
        return
    before = tracing.has_strong_numbers, tracing.stops_at_zero
    tracing.has_strong_numbers, tracing.stops_at_zero = is_wanted, stops_at_zero
    try:
        yield
    finally:
        tracing.has_strong_numbers, tracing.stops_at_zero = before


def numbers_are_strong() -> bool:
    """Whether numbers are Numba's here."""
    tracing = current_tracing()
    return tracing is not None and tracing.has_strong_numbers


def strong_inputs(name: str, inputs: Sequence[Any]) -> list[Any]:
    """What a ufunc is given, in types of which NumPy's promotion makes Numba's."""
    values = [unwrapped(each) for each in inputs]
    if not numbers_are_strong() or any(isinstance(each, list | tuple) for each in values):
        return list(inputs)
    if name in DIVIDING:
        _refuse_zero(*values)
    kinds = [dtype_or_kind(each, is_strong=False) for each in values]
    if all(isinstance(kind, type) or kind in WIDE for kind in kinds):
        return list(inputs)
    dtypes = [strong_dtype(kind) for kind in kinds]
    if any(each.kind not in KINDS for each in dtypes):
        return list(inputs)
    arrays = [dtype for value, dtype in zip(values, dtypes, strict=True) if np.ndim(value)]
    if arrays:
        highest = max(arrays, key=lambda each: KINDS[each.kind])
        counting = [dtype if KINDS[dtype.kind] >= KINDS[highest.kind] else highest for dtype in dtypes]
        return [
            given if np.ndim(value) else _typed(given, value, dtype)
            for given, value, dtype in zip(inputs, values, counting, strict=True)
        ]
    wanted = _of_numbers(name, dtypes)
    return [_typed(*each) for each in zip(inputs, values, wanted, strict=True)]


def _refuse_zero(dividend: Any, divisor: Any) -> None:
    """Have the program fail where a number is divided by zero; arrays are divided as NumPy divides them."""
    tracing = current_tracing()
    if tracing is None or not tracing.stops_at_zero or np.ndim(dividend) or np.ndim(divisor):
        return
    least, greatest = range_of(divisor) if np.result_type(divisor).kind in "iu" else (None, None)
    is_known = isinstance(divisor, int | float | complex | np.generic | np.ndarray)
    if (is_known and divisor) or (least is not None and least > 0) or (greatest is not None and greatest < 0):
        return
    position, length = position_now()
    check = Check("division by zero", position, None, "WL0916", length, ArrayZeroDivisionError)
    tracing.require_never(jnp.asarray(divisor) == 0, check)


def _of_numbers(name: str, dtypes: Sequence[np.dtype[Any]]) -> list[np.dtype[Any]]:
    """The types in which an operator takes numbers."""
    kinds = "".join(each.kind for each in dtypes)
    if name == "power" and kinds[0] == "f" and kinds[1] in "biu":
        return [dtypes[0], dtypes[0]]
    is_widened = name in WIDENING or (name in BITWISE and set(kinds) != {"b"}) or (name in UNARY and kinds == "b")
    if set(kinds) <= set("biu") and is_widened:
        return [np.dtype(np.uint64 if set(kinds) == {"u"} else np.int64)] * len(dtypes)
    return list(dtypes)


def _typed(given: Any, value: Any, dtype: np.dtype[Any]) -> Any:
    if dtype_or_kind(value, is_strong=False) == dtype:
        return given
    if isinstance(value, np.ndarray | np.generic | int | float | complex):
        return np.asarray(value).astype(dtype)[()]
    return as_dtype(jnp.asarray(value), dtype)
