"""Which arguments a value follows from, where it would have to be known while the function is compiled.

Integers and booleans among the arguments can be compiled in. Whether that helps is read off the trace: it does where
the value was computed from such arguments alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.core import Tracer

from windlass.frontends.arrays.tracing import Tracing
from windlass.stablehlo.private_jax import sources_of

MOST_STEPS = 10_000


def integers_needed(
    error: Exception, tracing: Tracing, arguments: Sequence[Any], are_arrays: Sequence[bool]
) -> list[int]:
    """The numbers of the arguments whose values have to be known, so that the error does not arise; none where that is
    no help."""
    integers = [
        number
        for number, (value, is_array) in enumerate(zip(arguments, are_arrays, strict=True))
        if isinstance(value, Tracer) and not is_array and value.dtype.kind in "iub"
    ]
    if not integers:
        return []
    if tracing.needed is not None:
        return _behind(tracing.needed, arguments, integers)
    text = str(error)
    asks_for_values = isinstance(error, jax.errors.JAXTypeError | TypeError) and ("racer" in text or "concrete" in text)
    return integers if asks_for_values else []


def _behind(value: Any, arguments: Sequence[Any], integers: Sequence[int]) -> list[int]:
    """The arguments that the value was computed from, if they all are integers."""
    numbers = {id(each): number for number, each in enumerate(arguments)}
    found: set[int] = set()
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < MOST_STEPS:
        each = waiting.pop()
        if not isinstance(each, Tracer) or id(each) in seen:
            continue
        seen.add(id(each))
        if id(each) in numbers:
            found.add(numbers[id(each)])
            continue
        sources = sources_of(each)
        if sources is None:
            return []
        waiting += sources
    return sorted(found) if found <= set(integers) and not waiting else []
