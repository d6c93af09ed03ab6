"""Arithmetic with neutral elements. Floats keep every value, NaN and the sign of zero included."""

from __future__ import annotations

from windlass.facts.ranges import is_finite, is_nonnegative, zeros_have_signs
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, And, Constant, Divide, Maximum, Minimum, Multiply, Negate, Not, Or, Subtract
from windlass.ops.sampling import Draw
from windlass.rewriting.duals import Dual
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.duals import LOGIC, ORDER
from windlass.rules.known_operands import non_negative, random_type
from windlass.rules.splats import false, splat_hole, true

__all__ = ["Minimum", "tensor"]

x, y = hole("x"), hole("y")


zero, minus_zero, one = splat_hole("zero", 0), splat_hole("minus_zero", -0.0), splat_hole("one", 1)


def _is_real_integer(value: Value) -> bool:
    return value.tensor.is_integer


@rewrite(Add(x, zero))
def add_zero(x: Value) -> Value | None:
    """x + 0 = x for integers and booleans (for floats -0.0 + 0.0 is 0.0)

    >>> add_zero(Add(tensor("i32"), Constant.of(0, "i32")))
    x
    """
    return x if x.tensor.is_integer or x.tensor.is_boolean else None


@rewrite(Add(x, minus_zero))
def add_minus_zero(x: Value) -> Value | None:
    """x + -0.0 = x for floats

    >>> add_minus_zero(Add(tensor("f32"), Constant.of(-0.0, "f32")))
    x
    """
    return x if x.tensor.is_float else None


@rewrite(Subtract(x, zero))
def subtract_zero(x: Value) -> Value | None:
    """x - 0 = x for integers and floats

    >>> subtract_zero(Subtract(tensor("f32"), Constant.of(0, "f32")))
    x
    """
    return None if x.tensor.is_complex else x


@rewrite(Multiply(x, one))
def multiply_by_one(x: Value) -> Value | None:
    """x · 1 = x, but for complex numbers

    >>> multiply_by_one(Multiply(tensor("f32"), Constant.of(1, "f32")))
    x
    """
    return None if x.tensor.is_complex else x


@rewrite(Divide(x, one))
def divide_by_one(x: Value) -> Value | None:
    """x / 1 = x, but for complex numbers

    >>> divide_by_one(Divide(tensor("f32"), Constant.of(1, "f32")))
    x
    """
    return None if x.tensor.is_complex else x


def sample_product_with_zero(draw: Draw) -> Multiply:
    type_ = random_type(draw)
    return Multiply(non_negative(draw, type_), Constant.of(0, type_.dtype, type_.shape))


@rewrite(Multiply(x, zero), sample=sample_product_with_zero)
def multiply_by_zero(x: Value, zero: Constant) -> Value | None:
    """x · 0 = 0 for integers, and for floats that are finite and have no sign that counts

    >>> multiply_by_zero(Multiply(tensor("i32"), Constant.of(0, "i32")))
    Constant(0)
    """
    if x.tensor.is_float:
        return zero if is_finite(x) and (is_nonnegative(x) or not zeros_have_signs()) else None
    return zero if _is_real_integer(x) else None


def sample_difference_with_itself(draw: Draw) -> Subtract:
    x = non_negative(draw, random_type(draw))
    return Subtract(x, x)


@rewrite(Subtract(x, x), sample=sample_difference_with_itself)
def subtract_itself(op: Subtract, x: Value) -> Value | None:
    """x - x = 0 for integers, and for floats that are proven to be finite

    >>> x = tensor("i32")
    >>> subtract_itself(Subtract(x, x))
    Constant(0)
    """
    known = _is_real_integer(x) or (x.tensor.is_float and is_finite(x))
    return Constant.of(0, op.dtype, op.shape) if known else None


@rewrite(Negate(Negate(x)))
def negate_of_negate(x: Value) -> Value:
    """-(-x) = x

    >>> negate_of_negate(Negate(Negate(tensor("f32"))))
    x
    """
    return x


@rewrite(Maximum(x, x), dual=ORDER)
def maximum_of_same(x: Value) -> Value | None:
    """max(x, x) = x

    >>> x = tensor("f32")
    >>> maximum_of_same(Maximum(x, x))
    x
    """
    return None if x.tensor.is_complex else x


@rewrite(And(x, true), dual=LOGIC)
def and_true(x: Value) -> Value:
    """x and true = x

    >>> and_true(And(tensor("i1"), Constant.of(True)))
    x
    """
    return x


@rewrite(And(x, false), dual=LOGIC)
def and_false(false: Constant) -> Value:
    """x and false = false

    >>> and_false(And(tensor("i1"), Constant.of(False)))
    Constant(False)
    """
    return false


@rewrite(And(Not(x), Not(y)), single_use=True, dual=LOGIC)
def and_of_nots(x: Value, y: Value, dual: Dual) -> Value:
    """not x and not y = not (x or y), bit by bit

    >>> and_of_nots(And(Not(tensor("i1")), Not(tensor("i1", name="y"))))
    Not(Or(x, y))
    """
    return Not(dual(Or)(x, y))


@rewrite(And(x, x), dual=LOGIC)
def and_of_same(x: Value) -> Value:
    """x and x = x, bit by bit

    >>> x = tensor("i32")
    >>> and_of_same(And(x, x))
    x
    """
    return x
