"""Maximum and minimum as a lattice: absorbed, mirrored by signs, shifted together."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Abs, Add, Compare, Constant, Maximum, Minimum, Multiply, Negate, Select
from windlass.ops.ranges import everything
from windlass.ops.sampling import Draw
from windlass.rewriting.facts import has_nan, range_of, zeros_have_signs
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.known_operands import bounded, free, random_type
from windlass.rules.splats import splat

__all__ = ["tensor"]

x, y, z = hole("x"), hole("y"), hole("z")
c = splat("c")

REALS = ("f32", "f64", "bf16", "i32", "ui32", "i8")


@rewrite(Maximum(Maximum(x, y), y))
def maximum_of_maximum_with_same(op: Maximum, x: Value, y: Value) -> Value | None:
    """max(max(x, y), y) = max(x, y)

    >>> x, y = tensor("f32"), tensor("f32", name="y")
    >>> maximum_of_maximum_with_same(Maximum(Maximum(x, y), y))
    Maximum(x, y)
    """
    return None if x.tensor.is_complex else Maximum(x, y)


@rewrite(Minimum(Minimum(x, y), y))
def minimum_of_minimum_with_same(op: Minimum, x: Value, y: Value) -> Value | None:
    """min(min(x, y), y) = min(x, y)

    >>> x, y = tensor("f32"), tensor("f32", name="y")
    >>> minimum_of_minimum_with_same(Minimum(Minimum(x, y), y))
    Minimum(x, y)
    """
    return None if x.tensor.is_complex else Minimum(x, y)


def _may_absorb(y: Value) -> bool:
    return not y.tensor.is_complex and not has_nan(y) and not (y.tensor.is_float and range_of(y).has_zero)


def _sample_absorbed(
    draw: Draw, outer: type[Maximum] | type[Minimum], inner: type[Maximum] | type[Minimum]
) -> Maximum | Minimum:
    type_ = random_type(draw, REALS)
    x, y = free(type_), bounded(draw, type_, 1, 5, "y") if draw.boolean() else free(type_, "y")
    return outer(*draw.choose(((x, inner(x, y)), (inner(y, x), x))))


@rewrite(Maximum(x, Minimum(x, y)), sample=lambda draw: _sample_absorbed(draw, Maximum, Minimum))
def maximum_absorbs_minimum(x: Value, y: Value) -> Value | None:
    """max(x, min(x, y)) = x, for integers, and where y is proven to be neither NaN nor zero

    >>> n = tensor("i32", name="n")
    >>> maximum_absorbs_minimum(Maximum(n, Minimum(n, tensor("i32", name="y"))))
    n
    """
    return x if _may_absorb(y) else None


@rewrite(Minimum(x, Maximum(x, y)), sample=lambda draw: _sample_absorbed(draw, Minimum, Maximum))
def minimum_absorbs_maximum(x: Value, y: Value) -> Value | None:
    """min(x, max(x, y)) = x, for integers, and where y is proven to be neither NaN nor zero

    >>> n = tensor("i32", name="n")
    >>> minimum_absorbs_maximum(Minimum(n, Maximum(n, tensor("i32", name="y"))))
    n
    """
    return x if _may_absorb(y) else None


@rewrite(Add(Maximum(x, y), Minimum(x, y)), single_use=True)
def sum_of_both_extremes(x: Value, y: Value) -> Value | None:
    """max(x, y) + min(x, y) = x + y

    >>> x, y = tensor("f32"), tensor("f32", name="y")
    >>> sum_of_both_extremes(Add(Maximum(x, y), Minimum(x, y)))
    Add(x, y)
    """
    return None if x.tensor.is_complex or x.tensor.is_boolean else Add(x, y)


@rewrite(Multiply(Maximum(x, y), Minimum(x, y)), single_use=True)
def product_of_both_extremes(x: Value, y: Value) -> Value | None:
    """max(x, y) · min(x, y) = x · y

    >>> x, y = tensor("f32"), tensor("f32", name="y")
    >>> product_of_both_extremes(Multiply(Maximum(x, y), Minimum(x, y)))
    Multiply(x, y)
    """
    return None if x.tensor.is_complex or x.tensor.is_boolean else Multiply(x, y)


def _can_be_mirrored(*values: Value) -> bool:
    """Whether -x runs the other way than x: for floats, and for integers that are never the least one."""
    first = values[0].tensor
    if first.is_float:
        return True
    if not first.is_integer or first.is_unsigned:
        return False
    return all(range_of(value).low > everything(value.type).low for value in values)


def _sample_mirrored(draw: Draw, extreme: type[Maximum] | type[Minimum]) -> Maximum | Minimum:
    type_ = random_type(draw, ("f32", "bf16", "i32"))
    x, y = (bounded(draw, type_, -5, 5, name) if draw.boolean() else free(type_, name) for name in "xy")
    return extreme(Negate(x), Negate(y))


@rewrite(Maximum(Negate(x), Negate(y)), single_use=True, sample=lambda draw: _sample_mirrored(draw, Maximum))
def maximum_of_negates(x: Value, y: Value) -> Value | None:
    """max(-x, -y) = -min(x, y), for floats, and for integers if neither is the least one

    >>> maximum_of_negates(Maximum(Negate(tensor("f32")), Negate(tensor("f32", name="y"))))
    Negate(Minimum(x, y))
    """
    return Negate(Minimum(x, y)) if _can_be_mirrored(x, y) else None


@rewrite(Minimum(Negate(x), Negate(y)), single_use=True, sample=lambda draw: _sample_mirrored(draw, Minimum))
def minimum_of_negates(x: Value, y: Value) -> Value | None:
    """min(-x, -y) = -max(x, y), for floats, and for integers if neither is the least one

    >>> minimum_of_negates(Minimum(Negate(tensor("f32")), Negate(tensor("f32", name="y"))))
    Negate(Maximum(x, y))
    """
    return Negate(Maximum(x, y)) if _can_be_mirrored(x, y) else None


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
    if op.pred.shape != op.shape or float(c.number) != 0 or x.tensor.is_complex or x.tensor.is_unsigned:
        return None
    negative, positive = {"LT": (y, z), "LE": (y, z), "GT": (z, y), "GE": (z, y)}.get(direction, (None, None))
    if positive is not x or not isinstance(negative, Negate) or negative.operand is not x:
        return None
    if x.tensor.is_float and zeros_have_signs() and range_of(x).has_zero:
        return None
    return Abs(x)


@rewrite(Maximum(Add(x, z), Add(y, z)), single_use=True, reassociates=True)
def maximum_of_shifted(x: Value, y: Value, z: Value) -> Value | None:
    """max(x + z, y + z) = max(x, y) + z, for floats

    >>> x, y, z = (tensor("f32", name=name) for name in "xyz")
    >>> maximum_of_shifted(Maximum(Add(x, z), Add(y, z)))
    Add(Maximum(x, y), z)
    """
    return Add(Maximum(x, y), z) if x.tensor.is_float else None


@rewrite(Minimum(Add(x, z), Add(y, z)), single_use=True, reassociates=True)
def minimum_of_shifted(x: Value, y: Value, z: Value) -> Value | None:
    """min(x + z, y + z) = min(x, y) + z, for floats

    >>> x, y, z = (tensor("f32", name=name) for name in "xyz")
    >>> minimum_of_shifted(Minimum(Add(x, z), Add(y, z)))
    Add(Minimum(x, y), z)
    """
    return Add(Minimum(x, y), z) if x.tensor.is_float else None
