"""What is known of integers while a function is traced: the forms `2 * i + 1` that they have, and between which numbers
they lie.

A loop's counter is a traced integer of which its loop knows the least and the greatest (`note_range`). Sums,
differences and multiples of such are read off the trace; anything else stands for itself. Forms are of 64-bit
arithmetic, which is taken not to overflow: they are asked for places in arrays alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.frontends.arrays.tracing import current_tracing
from windlass.stablehlo.private_jax import operation_of

MOST_STEPS = 200
"""Operations that one form is read from."""
MOST_STEPS_BACK = 10_000
"""Operations through which a value is followed to the arguments that it is computed from."""


class Form(NamedTuple):
    """A sum of multiples of traced integers, by their identity, and a number."""

    terms: tuple[tuple[int, int], ...]
    number: int


def note_range(value: Any, least: Any, greatest: Any) -> None:
    """Say that a traced integer lies between two integers (included), which may be traced themselves."""
    tracing = current_tracing()
    if tracing is None or not isinstance(value, Tracer):
        return
    low, high = range_of(least)[0], range_of(greatest)[1]
    if low is not None and high is not None:
        tracing.integers[id(value)] = (value, low, high)


def form_of(value: Any) -> Form:
    """What an integer is made of."""
    if not isinstance(value, Tracer):
        return Form((), int(value))
    terms: dict[int, int] = {}
    number, left = 0, MOST_STEPS
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        each, factor = waiting.pop()
        if not isinstance(each, Tracer):
            number += factor * int(each)
            continue
        left -= 1
        parts = _parts_of(each) if left > 0 else None
        if parts is None:
            terms[_identity(each)] = terms.get(_identity(each), 0) + factor
        else:
            waiting += [(part, factor * times) for part, times in parts]
    return Form(tuple(sorted((key, factor) for key, factor in terms.items() if factor)), number)


def difference(one: Any, other: Any) -> int | None:
    """`one - other`, where that is one number whatever they are."""
    if one is other:
        return 0
    first, second = form_of(one), form_of(other)
    return first.number - second.number if first.terms == second.terms else None


def range_of(value: Any) -> tuple[int | None, int | None]:
    """The least and the greatest that an integer may be, None where that is not known."""
    if not isinstance(value, Tracer):
        return int(value), int(value)
    tracing = current_tracing()
    terms, number = form_of(value)
    low = high = number
    for key, factor in terms:
        known = None if tracing is None else tracing.integers.get(key)
        if known is None or known[1] is None or known[2] is None:
            return None, None
        ends = sorted((factor * known[1], factor * known[2]))
        low, high = low + ends[0], high + ends[1]
    return low, high


def clamped(value: Any, least: int, greatest: int) -> Any:
    """The integer, or the nearest end of the range: itself where it is known to be within."""
    low, high = range_of(value)
    if not isinstance(value, Tracer):
        return min(max(int(value), least), greatest)
    if low is not None and low >= least:
        return value if high is not None and high <= greatest else jnp.minimum(value, greatest)
    return jnp.maximum(value, least) if high is not None and high <= greatest else jnp.clip(value, least, greatest)


def as_wide_integer(value: Any) -> Any:
    """An integer in 64 bits, of which forms are read."""
    if not isinstance(value, Tracer):
        return int(value)
    return value if value.dtype == np.int64 else value.astype(jnp.int64)


def arguments_behind(value: Any, arguments: Mapping[int, int]) -> set[int]:
    """The numbers of the arguments that a traced value is computed from, where it is from nothing else; `arguments` has
    these by identity. None of them where anything else is behind it."""
    found: set[int] = set()
    waiting, seen = [value], set[int]()
    while waiting:
        each = waiting.pop()
        if not isinstance(each, Tracer) or id(each) in seen:
            continue
        seen.add(id(each))
        if id(each) in arguments:
            found.add(arguments[id(each)])
            continue
        operation = operation_of(each)
        if operation is None or len(seen) > MOST_STEPS_BACK:
            return set()
        waiting += operation[1]
    return found


def _identity(value: Any) -> int:
    """The identity of a traced integer, which is kept so that nothing else gets it."""
    tracing = current_tracing()
    if tracing is not None:
        tracing.integers.setdefault(id(value), (value, None, None))
    return id(value)


def _parts_of(value: Any) -> list[tuple[Any, int]] | None:
    """Integers and how often each is taken, whose sum the value is; None where it stands for itself."""
    tracing = current_tracing()
    if tracing is not None and tracing.integers.get(id(value), (None, None))[1] is not None:
        return None
    found = operation_of(value)
    if found is None:
        return None
    name, inputs = found
    if name == "constant" and not (isinstance(inputs[0], Tracer) or np.ndim(inputs[0]) == 0):
        return None
    if name in ("constant", "convert_element_type"):
        is_kept = np.can_cast(inputs[0].dtype, value.dtype) if hasattr(inputs[0], "dtype") else True
        return [(inputs[0], 1)] if is_kept and np.ndim(inputs[0]) == 0 else None
    if value.dtype != np.int64:
        return None
    if name in ("add", "sub"):
        return [(inputs[0], 1), (inputs[1], 1 if name == "add" else -1)]
    if name == "neg":
        return [(inputs[0], -1)]
    if name == "mul":
        for factor, other in (inputs, inputs[::-1]):
            known = form_of(factor)
            if not known.terms:
                return [(other, known.number)]
    return None
