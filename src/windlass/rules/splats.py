"""Constants that are one number everywhere: holes for them, and what can be computed from them."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from windlass.ir import Block, Builder, Op, Value
from windlass.ops import BroadcastInDim, Constant
from windlass.ops.ranges import integer_limits, largest_float
from windlass.rewriting.pattern import hole


def is_splat(value: object) -> bool:
    """Whether the value is a constant with one number everywhere."""
    return isinstance(value, Constant) and value.is_splat


def splat(name: str) -> Any:
    """A hole for a constant with one number everywhere."""
    return hole(name, is_splat)


def is_number(value: object, number: Any) -> bool:
    """Whether the value is the constant `number` everywhere; the sign of zero counts.

    >>> is_number(Constant.of(-0.0, "f32"), 0), is_number(Constant.of(1, "i8", (3,)), 1)
    (False, True)
    """
    if not (isinstance(value, Constant) and value.is_splat):
        return False
    found = value.number
    return bool(found == number) and (number != 0 or bool(np.signbit(np.real(found)) == np.signbit(number)))


def splat_hole(name: str, number: Any) -> Any:
    """A hole for a constant that is `number` everywhere, the sign of zero included."""
    return hole(name, partial(is_number, number=number))


def _holds_everywhere(value: object, truth: bool) -> bool:
    return isinstance(value, Constant) and value.is_splat and value.dtype == "i1" and bool(value.number) == truth


true = hole("true", lambda value: _holds_everywhere(value, True))
false = hole("false", lambda value: _holds_everywhere(value, False))
"""Holes for conditions that are known, and the same for all elements."""


def compute(op_class: type[Op], *constants: Constant, **fields: Any) -> Constant:
    """What an elementwise op gives for splats, as a splat of the first one's shape.

    >>> from windlass.ops import Add
    >>> compute(Add, Constant.of(1, "f32", (5,)), Constant.of(2, "f32", (5,)))
    Constant(3.0)
    """
    with Builder(Block()):
        scalars = [Constant.of(each.number, each.dtype) for each in constants]
        op = op_class.from_fields({**dict(zip(_operand_names(op_class), scalars, strict=True)), **fields})
    number = np.asarray(op.evaluate(*[scalar.array for scalar in scalars]))[()]
    return Constant.of(number, op.dtype, constants[0].shape)


def _operand_names(op_class: type[Op]) -> list[str]:
    return [field.name for field in op_class.fields if field.kind == "operand"]


def is_usual(constant: Constant) -> bool:
    """Whether a float is neither zero, tiny, infinite nor NaN, so that it may be multiplied and divided by freely."""
    number = float(np.real(constant.number))
    largest = largest_float(constant.dtype)
    return math.isfinite(number) and 4 / largest < abs(number) < largest / 4


def reciprocal_of_power_of_two(constant: Constant) -> Constant | None:
    """1 / c where that is exact: c is a power of two, and neither c nor 1 / c is tiny.

    >>> reciprocal_of_power_of_two(Constant.of(-8, "f32"))
    Constant(-0.125)
    """
    if not constant.tensor.is_float or constant.dtype.startswith("f8") or not is_usual(constant):
        return None
    number = float(constant.number)
    if abs(math.frexp(number)[0]) != 0.5:
        return None
    return Constant.of(1 / number, constant.dtype, constant.shape)


def exponent_of(constant: Constant) -> int | None:
    """k where an integer constant is 2 to the power of k.

    >>> exponent_of(Constant.of(8, "i32")), exponent_of(Constant.of(6, "i32"))
    (3, None)
    """
    if not constant.tensor.is_integer:
        return None
    number = int(constant.number)
    return number.bit_length() - 1 if number > 0 and number & (number - 1) == 0 else None


def fits(number: int, dtype: str) -> bool:
    """Whether an integer type holds the number."""
    limits = integer_limits(dtype)
    return limits is not None and limits[0] <= number <= limits[1]


def like(number: Any, value: Value) -> Constant:
    """The number everywhere, in the type of a value."""
    return Constant.of(number, value.dtype, value.shape)


def number_everywhere(value: Value) -> Value | None:
    """The scalar that all elements are; None where there are none, or they may differ.

    >>> number_everywhere(Constant.of(2.0, "f32", (3,))), number_everywhere(Constant.of([1, 2], "i8"))
    (Constant(2.0), None)
    """
    if isinstance(value, Constant) and value.is_splat and value.tensor.size:
        return Constant.of(value.number, value.dtype)
    return value.operand if isinstance(value, BroadcastInDim) and not value.operand.shape else None
