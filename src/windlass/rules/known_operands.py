"""Random operands of which something is known, for the laws of rules that ask for facts."""

from __future__ import annotations

from typing import Any

from windlass.ir import TensorType, Value, tensor_type
from windlass.ir.values import tensor
from windlass.ops import Abs, Clamp, Constant, Convert, Exponential, Maximum, Multiply, Sqrt, Square
from windlass.ops.sampling import Draw

FLOATS = ("f32", "f64", "bf16", "f16")
INTEGERS = ("i32", "ui32", "i64", "ui8", "i8")


def random_type(draw: Draw, dtypes: tuple[str, ...] = (*FLOATS, *INTEGERS)) -> TensorType:
    """A small type, mostly with so many elements that special values come up."""
    return tensor_type(draw.choose(((), (3,), (40,), (6, 9))), draw.choose(dtypes))


def free(type_: TensorType, name: str = "x") -> Value:
    """A free variable."""
    return tensor(type_.dtype, *type_.shape, name=name)


def number(draw: Draw, type_: TensorType, low: int = -4, high: int = 4) -> Constant:
    """A constant with one whole number, or now and then a half, everywhere."""
    drawn: Any = draw.integer(max(low, 0) if type_.is_unsigned else low, high)
    if type_.is_float and draw.boolean():
        drawn += 0.5
    return Constant.of(drawn, type_.dtype, type_.shape)


def zero_or_number(draw: Draw, type_: TensorType, low: int = -4, high: int = 4) -> Constant:
    """A constant, often 0, of either sign for floats."""
    if draw.boolean():
        return number(draw, type_, low, high)
    return Constant.of(draw.choose((0.0, -0.0)) if type_.is_float else 0, type_.dtype, type_.shape)


def bounded(draw: Draw, type_: TensorType, low: int, high: int, name: str = "x") -> Value:
    """Elements between two numbers; none is NaN."""
    x = free(type_, name)
    limits = [Constant.of(each, type_.dtype) for each in (low, high)]
    if type_.is_float:
        steps = Convert(tensor("i16", *type_.shape, name=name), type_.dtype)
        x = Multiply(steps, Constant.of(0.5, type_.dtype, type_.shape))
    return Clamp(limits[0], x, limits[1])


def non_negative(draw: Draw, type_: TensorType, name: str = "x") -> Value:
    """Elements that are not negative, and now and then anything."""
    x = free(type_, name)
    small = (
        Convert(tensor("ui8", *type_.shape, name=name), type_.dtype)
        if type_.dtype != "i8"
        else bounded(draw, type_, 0, 100, name)
    )
    kind = draw.integer(0, 5)
    if kind == 0:
        return x
    if kind == 1 and not type_.is_unsigned:
        return bounded(draw, type_, 0, 9, name)
    if kind == 2 and type_.is_float:
        return draw.choose((Exponential, Abs, Sqrt, Square))(x)
    if kind == 3:
        return Maximum(x, Constant.of(draw.integer(0, 3), type_.dtype, type_.shape))
    return small


def whole(draw: Draw, type_: TensorType, name: str = "x") -> Value:
    """Floats that are whole numbers."""
    return Convert(tensor(draw.choose(("i8", "ui8", "i16", "i32")), *type_.shape, name=name), type_.dtype)


def condition(type_: TensorType, name: str = "p") -> Value:
    """A free boolean for each element."""
    return tensor("i1", *type_.shape, name=name)
