"""Signs: negations that cancel, move into constants, or make no difference."""

from __future__ import annotations

from windlass.facts.ranges import is_nonnegative, zeros_have_signs
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Abs, Add, Constant, Cosine, Divide, Multiply, Negate, Sqrt, Square, Subtract
from windlass.ops.sampling import Draw
from windlass.rewriting.duals import Dual
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.duals import SIGNS
from windlass.rules.known_operands import free, non_negative, random_type
from windlass.rules.splats import compute, splat, splat_hole

__all__ = ["tensor"]

x, y, c, d = hole("x"), hole("y"), splat("c"), splat("d")
minus_one, zero, minus_zero = splat_hole("minus_one", -1), splat_hole("zero", 0), splat_hole("minus_zero", -0.0)


@rewrite(Add(x, Negate(y)), dual=SIGNS)
def add_of_negate(x: Value, y: Value, dual: Dual) -> Value:
    """x + -y = x - y

    >>> add_of_negate(Add(tensor("f32"), Negate(tensor("f32", name="y"))))
    Subtract(x, y)
    """
    return dual(Subtract)(x, y)


@rewrite(Negate(Subtract(x, y)), single_use=True)
def negate_of_subtract(x: Value, y: Value) -> Value | None:
    """-(x - y) = y - x for integers (equal floats would give -0.0)

    >>> negate_of_subtract(Negate(Subtract(tensor("i32"), tensor("i32", name="y"))))
    Subtract(y, x)
    """
    return Subtract(y, x) if x.tensor.is_integer else None


@rewrite(Multiply(Negate(x), Negate(y)))
def multiply_of_negates(x: Value, y: Value) -> Value | None:
    """-x · -y = x · y, but for complex numbers

    >>> multiply_of_negates(Multiply(Negate(tensor("f32")), Negate(tensor("f32", name="y"))))
    Multiply(x, y)
    """
    return None if x.tensor.is_complex else Multiply(x, y)


@rewrite(Divide(Negate(x), Negate(y)))
def divide_of_negates(x: Value, y: Value) -> Value | None:
    """-x / -y = x / y for floats

    >>> divide_of_negates(Divide(Negate(tensor("f32")), Negate(tensor("f32", name="y"))))
    Divide(x, y)
    """
    return Divide(x, y) if x.tensor.is_float else None


@rewrite(Multiply(Negate(x), c))
def multiply_of_negate_by_constant(x: Value, c: Constant) -> Value | None:
    """-x · c = x · -c, but for complex numbers

    >>> multiply_of_negate_by_constant(Multiply(Negate(tensor("f32")), Constant.of(2, "f32")))
    Multiply(x, Constant(-2.0))
    """
    return None if x.tensor.is_complex else Multiply(x, compute(Negate, c))


@rewrite(Divide(Negate(x), c))
def divide_of_negate_by_constant(x: Value, c: Constant) -> Value | None:
    """-x / c = x / -c for floats

    >>> divide_of_negate_by_constant(Divide(Negate(tensor("f32")), Constant.of(3, "f32")))
    Divide(x, Constant(-3.0))
    """
    return Divide(x, compute(Negate, c)) if x.tensor.is_float else None


@rewrite(Negate(Multiply(x, c)), single_use=True)
def negate_of_multiply_by_constant(x: Value, c: Constant) -> Value | None:
    """-(x · c) = x · -c, but for complex numbers

    >>> negate_of_multiply_by_constant(Negate(Multiply(tensor("f32"), Constant.of(2, "f32"))))
    Multiply(x, Constant(-2.0))
    """
    return None if x.tensor.is_complex else Multiply(x, compute(Negate, c))


@rewrite(Negate(Divide(x, y)), single_use=True)
def negate_of_divide_with_constant(x: Value, y: Value) -> Value | None:
    """-(x / c) = x / -c and -(c / x) = -c / x for floats

    >>> negate_of_divide_with_constant(Negate(Divide(Constant.of(2, "f32"), tensor("f32", name="y"))))
    Divide(Constant(-2.0), y)
    """
    if not x.tensor.is_float:
        return None
    if isinstance(x, Constant) and x.is_splat:
        return Divide(compute(Negate, x), y)
    if isinstance(y, Constant) and y.is_splat:
        return Divide(x, compute(Negate, y))
    return None


@rewrite(Multiply(x, minus_one))
def multiply_by_minus_one(x: Value) -> Value | None:
    """x · -1 = -x, but for complex numbers

    >>> multiply_by_minus_one(Multiply(tensor("f32"), Constant.of(-1, "f32")))
    Negate(x)
    """
    return None if x.tensor.is_complex else Negate(x)


@rewrite(Divide(x, minus_one))
def divide_by_minus_one(x: Value) -> Value | None:
    """x / -1 = -x, but for complex numbers

    >>> divide_by_minus_one(Divide(tensor("f32"), Constant.of(-1, "f32")))
    Negate(x)
    """
    return None if x.tensor.is_complex or x.tensor.is_unsigned else Negate(x)


@rewrite(Subtract(zero, x))
def subtract_from_zero(x: Value) -> Value | None:
    """0 - x = -x for integers, and for floats where the signs of zeros don't count (0.0 - 0.0 is 0.0, and -0.0 is not)

    >>> subtract_from_zero(Subtract(Constant.of(0, "i32"), tensor("i32")))
    Negate(x)
    """
    return Negate(x) if x.tensor.is_integer or (x.tensor.is_float and not zeros_have_signs()) else None


def sample_abs_of_non_negative(draw: Draw) -> Abs:
    type_ = random_type(draw, ("f32", "i32", "f64", "i64"))
    # The root of -0.0 is -0.0.
    return Abs(Sqrt(free(type_)) if type_.is_float and draw.boolean() else non_negative(draw, type_))


@rewrite(Abs(x), sample=sample_abs_of_non_negative)
def abs_of_non_negative(x: Value) -> Value | None:
    """|x| = x, if x is proven to be neither negative nor -0.0

    >>> from windlass.ops import Exponential
    >>> abs_of_non_negative(Abs(Exponential(tensor("f32"))))
    Exponential(x)
    """
    # The sign of NaN goes, but is nothing that programs can rely on.
    return x if not x.tensor.is_complex and is_nonnegative(x) else None


@rewrite(Abs(Negate(x)))
def abs_of_negate(x: Value) -> Value:
    """|-x| = |x|

    >>> abs_of_negate(Abs(Negate(tensor("f32"))))
    Abs(x)
    """
    return Abs(x)


@rewrite(Multiply(Abs(x), Abs(x)))
def square_of_abs(x: Value) -> Value | None:
    """|x| · |x| = x · x, but for complex numbers

    >>> size = Abs(tensor("f32"))
    >>> square_of_abs(Multiply(size, size))
    Multiply(x, x)
    """
    return None if x.tensor.is_complex else Multiply(x, x)


@rewrite(Square(Abs(x)))
def named_square_of_abs(x: Value) -> Value | None:
    """square(|x|) = square(x), but for complex numbers

    >>> named_square_of_abs(Square(Abs(tensor("f32"))))
    Square(x)
    """
    return None if x.tensor.is_complex else Square(x)


@rewrite(Square(Negate(x)))
def named_square_of_negate(x: Value) -> Value | None:
    """square(-x) = square(x), but for complex numbers

    >>> named_square_of_negate(Square(Negate(tensor("f32"))))
    Square(x)
    """
    return None if x.tensor.is_complex else Square(x)


@rewrite(Cosine(Negate(x)))
def cosine_of_negate(x: Value) -> Value | None:
    """cos(-x) = cos(x), but for complex numbers

    >>> cosine_of_negate(Cosine(Negate(tensor("f32"))))
    Cosine(x)
    """
    return None if x.tensor.is_complex else Cosine(x)


def _sample_opposite_factors(draw: Draw) -> Add:
    type_ = random_type(draw, ("f32", "f64", "i32", "ui8"))
    c = Constant.of(draw.choose((2, 3, 5)), type_.dtype, type_.shape)
    pair = (Multiply(free(type_), c), Multiply(free(type_, "y"), compute(Negate, c)))
    return Add(*draw.choose((pair, pair[::-1])))


def _are_opposite(c: Constant, d: Constant) -> bool:
    return not c.tensor.is_complex and bool(compute(Negate, c).number == d.number)


@rewrite(
    Add(Multiply(x, c), Multiply(y, d)),
    single_use=True,
    reassociates=True,
    sample=_sample_opposite_factors,
    dual=SIGNS,
)
def sum_with_opposite_factors(op: Add | Subtract, x: Value, y: Value, c: Constant, d: Constant) -> Value | None:
    """x · c + y · -c = (x - y) · c

    >>> c, d = Constant.of(2.5, "f32"), Constant.of(-2.5, "f32")
    >>> sum_with_opposite_factors(Add(Multiply(tensor("f32"), c), Multiply(tensor("f32", name="y"), d)))
    Multiply(Subtract(x, y), Constant(2.5))
    """
    if not _are_opposite(c, d) or isinstance(x, Constant) or isinstance(y, Constant):
        return None
    if isinstance(op, Subtract):
        return Multiply(Add(x, y), c)
    positive = x.tensor.is_integer or float(c.number) > 0
    return Multiply(Subtract(x, y), c) if positive else Multiply(Subtract(y, x), d)
