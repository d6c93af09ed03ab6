"""Arithmetic with neutral elements. Floats keep every value, NaN and the sign of zero included."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, And, Constant, Divide, Maximum, Minimum, Multiply, Negate, Not, Or, Subtract
from windlass.ops.sampling import Draw
from windlass.rewriting.facts import is_finite, is_nonnegative, zeros_have_signs
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.known_operands import non_negative, random_type
from windlass.rules.splats import splat_hole

__all__ = ["tensor"]

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


def _idempotent(x: Value) -> Value | None:
    return None if x.tensor.is_complex else x


@rewrite(Maximum(x, x))
def maximum_of_same(x: Value) -> Value | None:
    """max(x, x) = x

    >>> x = tensor("f32")
    >>> maximum_of_same(Maximum(x, x))
    x
    """
    return _idempotent(x)


@rewrite(Minimum(x, x))
def minimum_of_same(x: Value) -> Value | None:
    """min(x, x) = x

    >>> x = tensor("f32")
    >>> minimum_of_same(Minimum(x, x))
    x
    """
    return _idempotent(x)


true = hole(
    "true", lambda value: isinstance(value, Constant) and value.is_splat and value.dtype == "i1" and bool(value.number)
)
false = hole(
    "false", lambda value: isinstance(value, Constant) and value.is_splat and value.dtype == "i1" and not value.number
)


@rewrite(And(x, true))
def and_true(x: Value) -> Value:
    """x and true = x

    >>> and_true(And(tensor("i1"), Constant.of(True)))
    x
    """
    return x


@rewrite(And(x, false))
def and_false(false: Constant) -> Value:
    """x and false = false

    >>> and_false(And(tensor("i1"), Constant.of(False)))
    Constant(False)
    """
    return false


@rewrite(Or(x, false))
def or_false(x: Value) -> Value:
    """x or false = x

    >>> or_false(Or(tensor("i1"), Constant.of(False)))
    x
    """
    return x


@rewrite(Or(x, true))
def or_true(true: Constant) -> Value:
    """x or true = true

    >>> or_true(Or(tensor("i1"), Constant.of(True)))
    Constant(True)
    """
    return true


@rewrite(And(Not(x), Not(y)), single_use=True)
def and_of_nots(x: Value, y: Value) -> Value:
    """not x and not y = not (x or y), for booleans and bits

    >>> and_of_nots(And(Not(tensor("i1")), Not(tensor("i1", name="y"))))
    Not(Or(x, y))
    """
    return Not(Or(x, y))


@rewrite(Or(Not(x), Not(y)), single_use=True)
def or_of_nots(x: Value, y: Value) -> Value:
    """not x or not y = not (x and y), for booleans and bits

    >>> or_of_nots(Or(Not(tensor("i1")), Not(tensor("i1", name="y"))))
    Not(And(x, y))
    """
    return Not(And(x, y))


@rewrite(And(x, x))
def and_of_same(x: Value) -> Value:
    """x and x = x, for booleans and bits

    >>> x = tensor("i32")
    >>> and_of_same(And(x, x))
    x
    """
    return x


@rewrite(Or(x, x))
def or_of_same(x: Value) -> Value:
    """x or x = x, for booleans and bits

    >>> x = tensor("i32")
    >>> or_of_same(Or(x, x))
    x
    """
    return x
