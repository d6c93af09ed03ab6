"""Maximum and minimum as a lattice: absorbed, mirrored by signs, shifted together."""

from __future__ import annotations

from windlass.facts.ranges import has_nan, range_of, zeros_have_signs
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Abs, Add, Compare, Constant, Maximum, Minimum, Multiply, Negate, Select
from windlass.ops.ranges import everything
from windlass.ops.sampling import Draw
from windlass.rewriting.duals import Dual
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.duals import ORDER, SUMS_AND_PRODUCTS
from windlass.rules.known_operands import bounded, free, random_type
from windlass.rules.splats import splat

__all__ = ["tensor"]

x, y, z = hole("x"), hole("y"), hole("z")
c = splat("c")

REALS = ("f32", "f64", "bf16", "i32", "ui32", "i8")


@rewrite(Maximum(Maximum(x, y), y), dual=ORDER)
def maximum_of_maximum_with_same(op: Maximum | Minimum, x: Value, y: Value) -> Value | None:
    """max(max(x, y), y) = max(x, y)

    >>> x, y = tensor("f32"), tensor("f32", name="y")
    >>> maximum_of_maximum_with_same(Maximum(Maximum(x, y), y))
    Maximum(x, y)
    """
    return None if x.tensor.is_complex else type(op)(x, y)


def _may_absorb(y: Value) -> bool:
    return not y.tensor.is_complex and not has_nan(y) and not (y.tensor.is_float and range_of(y).has_zero)


def _sample_absorbed(draw: Draw) -> Maximum:
    type_ = random_type(draw, REALS)
    x, y = free(type_), bounded(draw, type_, 1, 5, "y") if draw.boolean() else free(type_, "y")
    return Maximum(*draw.choose(((x, Minimum(x, y)), (Minimum(y, x), x))))


@rewrite(Maximum(x, Minimum(x, y)), sample=_sample_absorbed, dual=ORDER)
def maximum_absorbs_minimum(x: Value, y: Value) -> Value | None:
    """max(x, min(x, y)) = x, for integers, and where y is proven to be neither NaN nor zero

    >>> n = tensor("i32", name="n")
    >>> maximum_absorbs_minimum(Maximum(n, Minimum(n, tensor("i32", name="y"))))
    n
    """
    return x if _may_absorb(y) else None


@rewrite(Add(Maximum(x, y), Minimum(x, y)), single_use=True, dual=SUMS_AND_PRODUCTS)
def sum_of_both_extremes(op: Add | Multiply, x: Value, y: Value) -> Value | None:
    """max(x, y) + min(x, y) = x + y

    >>> x, y = tensor("f32"), tensor("f32", name="y")
    >>> sum_of_both_extremes(Add(Maximum(x, y), Minimum(x, y)))
    Add(x, y)
    """
    return None if x.tensor.is_complex or x.tensor.is_boolean else type(op)(x, y)


def _can_be_mirrored(*values: Value) -> bool:
    """Whether -x runs the other way than x: for floats, and for integers that are never the least one."""
    first = values[0].tensor
    if first.is_float:
        return True
    if not first.is_integer or first.is_unsigned:
        return False
    return all(range_of(value).low > everything(value.type).low for value in values)


def _sample_mirrored(draw: Draw) -> Maximum:
    type_ = random_type(draw, ("f32", "bf16", "i32"))
    x, y = (bounded(draw, type_, -5, 5, name) if draw.boolean() else free(type_, name) for name in "xy")
    return Maximum(Negate(x), Negate(y))


@rewrite(Maximum(Negate(x), Negate(y)), single_use=True, sample=_sample_mirrored, dual=ORDER)
def maximum_of_negates(x: Value, y: Value, dual: Dual) -> Value | None:
    """max(-x, -y) = -min(x, y), for floats, and for integers if neither is the least one

    >>> maximum_of_negates(Maximum(Negate(tensor("f32")), Negate(tensor("f32", name="y"))))
    Negate(Minimum(x, y))
    """
    return Negate(dual(Minimum)(x, y)) if _can_be_mirrored(x, y) else None


@rewrite(Maximum(x, Negate(x)), single_use=True)
def modulus_as_maximum(x: Value) -> Value | None:
    """max(x, -x) = |x|

    >>> x = tensor("f32")
    >>> modulus_as_maximum(Maximum(x, Negate(x)))
    Abs(x)
    """
    return None if x.tensor.is_complex or x.tensor.is_unsigned else Abs(x)


def _sample_chosen_modulus(draw: Draw) -> Select:
    type_ = random_type(draw, ("f32", "i32", "i8"))
    x = free(type_)
    direction = draw.choose(("LT", "LE", "GT", "GE"))
    sides = (Negate(x), x) if direction in ("LT", "LE") else (x, Negate(x))
    return Select(Compare(x, Constant.of(0, type_.dtype, type_.shape), direction), *sides)


@rewrite(Select(Compare(x, c, hole("direction")), y, z), single_use=True, sample=_sample_chosen_modulus)
def modulus_as_choice(op: Select, x: Value, y: Value, z: Value, c: Constant, direction: str) -> Value | None:
    """select(x < 0, -x, x) = |x|, for integers, and for floats where the signs of zeros don't count

    >>> n = tensor("i32", name="n")
    >>> modulus_as_choice(Select(Compare(n, Constant.of(0, "i32"), "LT"), Negate(n), n))
    Abs(n)
    """
    if op.pred.shape != op.shape or x.tensor.is_complex or x.tensor.is_unsigned or float(c.number) != 0:
        return None
    negative, positive = {"LT": (y, z), "LE": (y, z), "GT": (z, y), "GE": (z, y)}.get(direction, (None, None))
    if positive is not x or not isinstance(negative, Negate) or negative.operand is not x:
        return None
    if x.tensor.is_float and zeros_have_signs() and range_of(x).has_zero:
        return None
    return Abs(x)


@rewrite(Maximum(Add(x, z), Add(y, z)), single_use=True, reassociates=True, dual=ORDER)
def maximum_of_shifted(op: Maximum | Minimum, x: Value, y: Value, z: Value) -> Value | None:
    """max(x + z, y + z) = max(x, y) + z, for floats

    >>> x, y, z = (tensor("f32", name=name) for name in "xyz")
    >>> maximum_of_shifted(Maximum(Add(x, z), Add(y, z)))
    Add(Maximum(x, y), z)
    """
    return Add(type(op)(x, y), z) if x.tensor.is_float else None
