"""fmin, fmax and their many relatives, which differ in what they make of NaN.

C's functions give the other operand where one is NaN: `Select(x != x, y, Select(y != y, x, Minimum(x, y)))`, less the
tests of what is known to be a number.
"""

from __future__ import annotations

import math

from windlass.frontends.llvm.emitter import Emitter, number_of
from windlass.frontends.llvm.registry import builtin
from windlass.ir import Value
from windlass.ops.comparison import Compare
from windlass.ops.elementwise import Subtract
from windlass.ops.extremes import Maximum, Minimum


@builtin("llvm.minnum", "llvm.minimumnum", "fmin", "fminf", "llvm.nvvm.fmin.f", "llvm.nvvm.fmin.d")
def minimum_of_numbers(emit: Emitter, left: Value, right: Value) -> Value:
    return extreme_of_numbers(emit, Minimum, left, right)


@builtin("llvm.maxnum", "llvm.maximumnum", "fmax", "fmaxf", "llvm.nvvm.fmax.f", "llvm.nvvm.fmax.d")
def maximum_of_numbers(emit: Emitter, left: Value, right: Value) -> Value:
    return extreme_of_numbers(emit, Maximum, left, right)


def extreme_of_numbers(emit: Emitter, kind: type[Minimum | Maximum], left: Value, right: Value) -> Value:
    found: Value = kind(left, right)
    if may_be_nan(right):
        found = emit.select(Compare(right, right, "NE"), left, found)
    if may_be_nan(left):
        found = emit.select(Compare(left, left, "NE"), right, found)
    return found


def may_be_nan(value: Value) -> bool:
    number = number_of(value)
    return number is None or math.isnan(number)


@builtin("llvm.minimum")
def minimum(emit: Emitter, left: Value, right: Value) -> Value:
    """NaN where either is."""
    return Minimum(left, right)


@builtin("llvm.maximum")
def maximum(emit: Emitter, left: Value, right: Value) -> Value:
    return Maximum(left, right)


@builtin("fdim", "fdimf")
def positive_difference(emit: Emitter, left: Value, right: Value) -> Value:
    """left - right where that is positive, else 0; NaN where either is."""
    zero = emit.constant(0, left.dtype)
    return emit.select(Compare(left, right, "LE"), zero, Subtract(left, right))
