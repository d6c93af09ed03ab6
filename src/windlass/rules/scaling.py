"""Products and quotients with constants: merged, turned round, made products where that is exact."""

from __future__ import annotations

from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, Constant, Divide, Multiply, Select, Subtract
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.duals import SIGNS
from windlass.rules.known_operands import FLOATS, bounded, condition, free, non_negative, random_type
from windlass.rules.splats import compute, is_splat, is_usual, like, reciprocal_of_power_of_two, splat, splat_hole

__all__ = ["tensor"]

x, y, z, p = hole("x"), hole("y"), hole("z"), hole("p")
c, d = splat("c"), splat("d")
one, zero = splat_hole("one", 1), splat_hole("zero", 0)
any_zero = hole("any_zero", lambda value: is_splat(value) and not value.number)


def _usual_product(op_class: type[Multiply] | type[Divide], left: Constant, right: Constant) -> Constant | None:
    """The product or quotient of two floats, if nothing comes near the limits of their type."""
    if not (left.tensor.is_float and is_usual(left) and is_usual(right)):
        return None
    made = compute(op_class, left, right)
    return made if is_usual(made) else None


def sample_divide_by_power(draw: Draw) -> Divide:
    type_ = random_type(draw, FLOATS)
    return Divide(free(type_), Constant.of(draw.choose((2, 4, 64, -8, 0.5)), type_.dtype, type_.shape))


@rewrite(Divide(x, c), sample=sample_divide_by_power)
def divide_by_power_of_two(x: Value, c: Constant) -> Value | None:
    """x / 2ᵏ = x · 2⁻ᵏ for floats

    >>> divide_by_power_of_two(Divide(tensor("f32"), Constant.of(64, "f32")))
    Multiply(x, Constant(0.015625))
    """
    reciprocal = reciprocal_of_power_of_two(c)
    return None if reciprocal is None or not x.tensor.size else Multiply(x, reciprocal)


@rewrite(Divide(x, c), reassociates=True)
def divide_by_constant(x: Value, c: Constant) -> Value | None:
    """x / c = x · (1 / c) for floats, nearly

    >>> divide_by_constant(Divide(tensor("f32"), Constant.of(5, "f32")))
    Multiply(x, Constant(0.20000000298023224))
    """
    if isinstance(x, Constant) or not x.tensor.size or c.dtype not in ("f32", "f64"):
        return None
    reciprocal = _usual_product(Divide, Constant.of(1, c.dtype, c.shape), c)
    return None if reciprocal is None else Multiply(x, reciprocal)


@rewrite(Multiply(Multiply(x, c), d))
def multiply_by_integers(x: Value, c: Constant, d: Constant) -> Value | None:
    """(x · c) · d = x · (c · d) for integers

    >>> multiply_by_integers(Multiply(Multiply(tensor("i32"), Constant.of(2, "i32")), Constant.of(3, "i32")))
    Multiply(x, Constant(6))
    """
    return Multiply(x, compute(Multiply, c, d)) if x.tensor.is_integer else None


@rewrite(Multiply(Multiply(x, c), d), reassociates=True, single_use=True)
def multiply_by_constants(x: Value, c: Constant, d: Constant) -> Value | None:
    """(x · c) · d = x · (c · d) for floats

    >>> multiply_by_constants(Multiply(Multiply(tensor("f32"), Constant.of(2, "f32")), Constant.of(3, "f32")))
    Multiply(x, Constant(6.0))
    """
    made = _usual_product(Multiply, c, d)
    return None if made is None else Multiply(x, made)


@rewrite(Multiply(Divide(c, x), d), reassociates=True, single_use=True)
def multiply_of_constant_over(x: Value, c: Constant, d: Constant) -> Value | None:
    """(c / x) · d = (c · d) / x for floats

    >>> multiply_of_constant_over(Multiply(Divide(Constant.of(6, "f32"), tensor("f32")), Constant.of(3, "f32")))
    Divide(Constant(18.0), x)
    """
    made = _usual_product(Multiply, c, d)
    return None if made is None else Divide(made, x)


@rewrite(Divide(c, Multiply(x, d)), reassociates=True, single_use=True)
def constant_over_scaled(x: Value, c: Constant, d: Constant) -> Value | None:
    """c / (x · d) = (c / d) / x for floats

    >>> constant_over_scaled(Divide(Constant.of(6, "f32"), Multiply(tensor("f32"), Constant.of(3, "f32"))))
    Divide(Constant(2.0), x)
    """
    made = _usual_product(Divide, c, d)
    return None if made is None else Divide(made, x)


@rewrite(Multiply(x, Divide(one, y)), reassociates=True, single_use=True)
def multiply_by_reciprocal(x: Value, y: Value) -> Value | None:
    """x · (1 / y) = x / y for floats

    >>> multiply_by_reciprocal(Multiply(tensor("f32"), Divide(Constant.of(1, "f32"), tensor("f32", name="y"))))
    Divide(x, y)
    """
    return Divide(x, y) if x.tensor.is_float else None


@rewrite(Divide(x, Divide(one, y)), reassociates=True)
def divide_by_reciprocal(x: Value, y: Value) -> Value | None:
    """x / (1 / y) = x · y for floats

    >>> divide_by_reciprocal(Divide(tensor("f32"), Divide(Constant.of(1, "f32"), tensor("f32", name="y"))))
    Multiply(x, y)
    """
    # Where 1 / y overflows, y being tiny, x / inf is 0: so is the product nearly. Zeros and infinities agree.
    return Multiply(x, y) if x.tensor.is_float else None


def sample_divide_by_choice(draw: Draw) -> Divide:
    type_ = random_type(draw, FLOATS)
    sides = [Constant.of(draw.choose((1, 2, 4, 0.5)), type_.dtype, type_.shape) for _ in range(2)]
    return Divide(free(type_), Select(condition(type_), *sides))


@rewrite(Divide(x, Select(p, c, d)), sample=sample_divide_by_choice, single_use=True)
def divide_by_choice_of_powers_of_two(x: Value, p: Value, c: Constant, d: Constant) -> Value | None:
    """x / select(p, 2ᵏ, 2ᵐ) = x · select(p, 2⁻ᵏ, 2⁻ᵐ) for floats

    >>> choice = Select(tensor("i1", name="p"), Constant.of(2, "f32"), Constant.of(1, "f32"))
    >>> divide_by_choice_of_powers_of_two(Divide(tensor("f32"), choice))
    Multiply(x, Select(p, Constant(0.5), Constant(1.0)))
    """
    sides = (reciprocal_of_power_of_two(c), reciprocal_of_power_of_two(d))
    if sides[0] is None or sides[1] is None or not x.tensor.size:
        return None
    return Multiply(x, Select(p, sides[0], sides[1]))


def sample_sum_with_zero(draw: Draw) -> Add:
    type_ = random_type(draw, FLOATS)
    return Add(non_negative(draw, type_), Constant.of(0, type_.dtype, type_.shape))


@rewrite(Add(x, zero), sample=sample_sum_with_zero)
def add_zero_to_what_is_not_minus_zero(x: Value) -> Value | None:
    """x + 0.0 = x, if x is proven not to be -0.0

    >>> from windlass.ops import Abs
    >>> add_zero_to_what_is_not_minus_zero(Add(Abs(tensor("f32")), Constant.of(0, "f32")))
    Abs(x)
    """
    return x if x.tensor.is_float and not range_of(x).negative_zero else None


def sample_sum_with_zeros(draw: Draw) -> Add:
    type_ = random_type(draw, FLOATS)
    zeros = Multiply(bounded(draw, type_, -9, 9, "y"), Constant.of(draw.choose((0.0, -0.0)), type_.dtype, type_.shape))
    other = draw.choose((non_negative(draw, type_), Constant.of(draw.integer(0, 2), type_.dtype, type_.shape)))
    return Add(other, zeros)


@rewrite(Add(x, Multiply(y, any_zero)), sample=sample_sum_with_zeros)
def add_product_with_zero(x: Value, y: Value) -> Value | None:
    """x + y · 0 = x, if y is proven to be finite and x not to be -0.0

    >>> from windlass.ops import Abs, Convert
    >>> counted = Convert(tensor("i32", name="n"), "f32")
    >>> add_product_with_zero(Add(Abs(tensor("f32")), Multiply(counted, Constant.of(0, "f32"))))
    Abs(x)
    """
    return x if x.tensor.is_float and range_of(y).is_finite and not range_of(x).negative_zero else None


@rewrite(Add(Multiply(x, c), Multiply(x, d)), single_use=True)
def sum_of_integer_multiples(x: Value, c: Constant, d: Constant) -> Value | None:
    """x · c + x · d = x · (c + d) for integers

    >>> x = tensor("i32")
    >>> sum_of_integer_multiples(Add(Multiply(x, Constant.of(3, "i32")), Multiply(x, Constant.of(5, "i32"))))
    Multiply(x, Constant(8))
    """
    return Multiply(x, compute(Add, c, d)) if x.tensor.is_integer else None


def sample_common_factor(draw: Draw) -> Add:
    type_ = random_type(draw, ("f32", "f64"))
    x, y, z = (free(type_, name) for name in "xyz")
    return Add(Multiply(x, y), Multiply(*draw.choose(((x, z), (z, x)))))


@rewrite(
    Add(Multiply(x, y), Multiply(x, z)), reassociates=True, single_use=True, sample=sample_common_factor, dual=SIGNS
)
def sum_with_common_factor(op: Add | Subtract, x: Value, y: Value, z: Value) -> Value | None:
    """x · y + x · z = x · (y + z) for floats

    >>> x, y, z = (tensor("f32", name=name) for name in "xyz")
    >>> sum_with_common_factor(Add(Multiply(x, y), Multiply(x, z)))
    Multiply(x, Add(y, z))
    """
    if not x.tensor.is_float or (isinstance(op, Add) and isinstance(x, Constant)):
        return None
    return Multiply(x, type(op)(y, z))


@rewrite(Add(Divide(x, z), Divide(y, z)), reassociates=True, single_use=True)
def sum_of_quotients(x: Value, y: Value, z: Value) -> Value | None:
    """x / z + y / z = (x + y) / z for floats

    >>> x, y, z = (tensor("f32", name=name) for name in "xyz")
    >>> sum_of_quotients(Add(Divide(x, z), Divide(y, z)))
    Divide(Add(x, y), z)
    """
    return Divide(Add(x, y), z) if x.tensor.is_float else None


@rewrite(Add(Multiply(x, c), x), reassociates=True, single_use=True)
def one_more_share(x: Value, c: Constant) -> Value | None:
    """x · c + x = x · (c + 1) for floats, if c + 1 is not nearly 0

    >>> x = tensor("f32")
    >>> one_more_share(Add(Multiply(x, Constant.of(2, "f32")), x))
    Multiply(x, Constant(3.0))
    """
    if not x.tensor.is_float or isinstance(x, Constant) or not is_usual(c) or float(c.number) < -0.5:
        return None
    return Multiply(x, compute(Add, c, like(1, c)))
