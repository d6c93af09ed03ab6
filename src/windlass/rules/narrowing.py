"""Work between two conversions done in the type that it comes from and goes back to."""

from __future__ import annotations

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Abs,
    Add,
    And,
    Ceil,
    Concatenate,
    Constant,
    Convert,
    Floor,
    Maximum,
    Minimum,
    Multiply,
    Negate,
    Not,
    Or,
    RoundNearestAfz,
    RoundNearestEven,
    Select,
    Sign,
    Sqrt,
    Subtract,
)
from windlass.ops.base import TensorOp
from windlass.ops.elementwise import Xor
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.conversions import holds_exactly
from windlass.rules.known_operands import condition, free, random_type
from windlass.rules.splats import compute, like, splat

__all__ = ["tensor"]

x, dtype, d = hole("x"), hole("dtype"), splat("d")

MODULAR = (Add, Subtract, Multiply, And, Or, Xor, Not, Negate)
"""The low bits of what these give depend on the low bits of what they are given only."""

ORDERED = (Maximum, Minimum, Abs, Negate, Sign, Floor, Ceil, RoundNearestEven, RoundNearestAfz)
"""What these give of numbers of a narrower float type is such a number, and the one that it gives in that type."""

ROUNDED = (Add, Subtract, Multiply, Sqrt)
"""Rounding these twice is rounding once, where the wider type has more than twice as many digits."""

TWICE_AS_MANY = {("f32", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f16", "f64")}


def narrow_operand(value: Value, dtype: str) -> Value | None:
    """The value in a narrower type that holds it exactly, if it comes from there or is such a number."""
    if isinstance(value, Convert) and value.operand.dtype == dtype and holds_exactly(value.dtype, dtype):
        return value.operand
    if isinstance(value, Constant) and value.is_splat and not value.tensor.is_complex:
        narrow = compute(Convert, value, dtype=dtype)
        back = compute(Convert, narrow, dtype=value.dtype)
        return narrow if back.value == value.value and float(value.number) == float(value.number) else None
    return None


def low_bits_of_operand(value: Value, dtype: str) -> Value | None:
    """The low bits of an integer, if it was widened from them, or is a number."""
    if isinstance(value, Convert) and value.operand.dtype == dtype:
        return value.operand
    if isinstance(value, Constant) and value.is_splat:
        return compute(Convert, value, dtype=dtype)
    return None


def _narrowed(op: Convert, inner: Op, integers: bool) -> list[Value] | None:
    find = low_bits_of_operand if integers else narrow_operand
    operands: list[Value] = []
    for each in inner.operands:
        found = find(each, op.dtype)
        if found is None:
            return None
        operands.append(found)
    return None if all(isinstance(each, Constant) for each in operands) else operands


def _sample_narrowed(draw: Draw, classes: tuple[type[Op], ...], pairs: tuple[tuple[str, str], ...]) -> Convert:
    narrow, wide = draw.choose(pairs)
    type_ = random_type(draw, (narrow,))
    made = draw.choose(classes)
    names = ["operand"] if len(made.fields) == 1 else ["lhs", "rhs"]
    values: dict[str, Value] = {name: Convert(free(type_, name), wide) for name in names}
    if len(names) == 2 and draw.integer(0, 3) == 0:
        values["rhs"] = like(draw.choose((2, 3)), values["lhs"])
    return Convert(made.from_fields(values), narrow)


INTEGER_PAIRS = (("i8", "i32"), ("i32", "i64"), ("ui8", "ui32"), ("i16", "i64"))
FLOAT_PAIRS = (("f32", "f64"), ("bf16", "f32"), ("f16", "f32"))


@rewrite(
    Convert(any_op(TensorOp, only=MODULAR, bind="x"), dtype),
    single_use=True,
    sample=lambda draw: _sample_narrowed(draw, MODULAR, INTEGER_PAIRS),
)
def low_bits_of_arithmetic(op: Convert, x: TensorOp) -> Value | None:
    """convert(convert(x) + convert(y)) = x + y, where integers are widened and cut again: only low bits count

    So for differences, products, and what works bit by bit.

    >>> wide = Add(Convert(tensor("i32"), "i64"), Convert(tensor("i32", name="y"), "i64"))
    >>> low_bits_of_arithmetic(Convert(wide, "i32"))
    Add(x, y)
    """
    if not (x.tensor.is_integer and op.tensor.is_integer):
        return None
    if holds_exactly(op.dtype, x.dtype):
        return None
    operands = _narrowed(op, x, integers=True)
    return None if operands is None else x.with_operands(tuple(operands))


def _sample_after_narrowing(draw: Draw, made: type[Add] | type[Subtract]) -> Add | Subtract:
    narrow, wide = draw.choose(INTEGER_PAIRS)
    x = free(random_type(draw, (wide,)))
    c = like(draw.choose((2, 3, 200)), x)
    cut = Convert(draw.choose((Add(x, c), Subtract(x, c), Subtract(c, x))), narrow)
    return made(cut, like(draw.choose((1, 3)), cut))


def _after_narrowing(op: Add | Subtract, cut: Value, d: Constant) -> Value | None:
    """convert(x ± c) ± d with one number."""
    if not isinstance(cut, Convert) or not isinstance(cut.operand, Add | Subtract):
        return None
    inner = cut.operand
    if not is_alone(cut) or not is_alone(inner):
        return None
    if not (op.tensor.is_integer and inner.tensor.is_integer) or holds_exactly(op.dtype, inner.dtype):
        return None
    left, right = inner.operands
    if isinstance(right, Constant) and right.is_splat:
        # (x - c) ± d = x - (c ∓ d)
        merge = {Add: Subtract, Subtract: Add}[type(op)] if isinstance(inner, Subtract) else type(op)
        return inner.with_operands(
            (Convert(left, op.dtype), compute(merge, compute(Convert, right, dtype=op.dtype), d))
        )
    if isinstance(left, Constant) and left.is_splat:
        number = compute(type(op), compute(Convert, left, dtype=op.dtype), d)
        return inner.with_operands((number, Convert(right, op.dtype)))
    return None


@rewrite(Add(x, d), sample=lambda draw: _sample_after_narrowing(draw, Add))
def sum_after_narrowed_sum(op: Add, x: Value, d: Constant) -> Value | None:
    """convert(x + c) + d = convert(x) + (c + d), where integers are cut: only low bits count

    So for differences of x and a number.

    >>> cut = Convert(Add(tensor("i64"), Constant.of(2, "i64")), "i32")
    >>> sum_after_narrowed_sum(Add(cut, Constant.of(3, "i32")))
    Add(Convert(x, dtype='i32'), Constant(5))
    """
    return _after_narrowing(op, x, d)


@rewrite(Subtract(x, d), sample=lambda draw: _sample_after_narrowing(draw, Subtract))
def difference_after_narrowed_sum(op: Subtract, x: Value, d: Constant) -> Value | None:
    """convert(x + c) - d = convert(x) + (c - d), where integers are cut: only low bits count

    So for differences of x and a number.

    >>> cut = Convert(Add(tensor("i64"), Constant.of(2, "i64")), "i32")
    >>> difference_after_narrowed_sum(Subtract(cut, Constant.of(3, "i32")))
    Add(Convert(x, dtype='i32'), Constant(-1))
    """
    return _after_narrowing(op, x, d)


@rewrite(
    Convert(any_op(TensorOp, only=ORDERED, bind="x"), dtype),
    single_use=True,
    sample=lambda draw: _sample_narrowed(draw, ORDERED, FLOAT_PAIRS),
)
def exact_function_between_conversions(op: Convert, x: TensorOp) -> Value | None:
    """convert(max(convert(x), convert(y))) = max(x, y), where floats are widened and narrowed again

    So for min, |x|, -x, sign, and what rounds to whole numbers.

    >>> wide = Maximum(Convert(tensor("f32"), "f64"), Convert(tensor("f32", name="y"), "f64"))
    >>> exact_function_between_conversions(Convert(wide, "f32"))
    Maximum(x, y)
    """
    if not (x.tensor.is_float and op.tensor.is_float):
        return None
    operands = _narrowed(op, x, integers=False)
    return None if operands is None else x.with_operands(tuple(operands))


@rewrite(
    Convert(any_op(TensorOp, only=ROUNDED, bind="x"), dtype),
    single_use=True,
    sample=lambda draw: _sample_narrowed(draw, ROUNDED, FLOAT_PAIRS[:2]),
)
def arithmetic_between_conversions(op: Convert, x: TensorOp) -> Value | None:
    """convert(convert(x) · convert(y)) = x · y, to the last bit, where the wider type has twice as many digits

    So for sums, differences and roots.

    >>> wide = Multiply(Convert(tensor("f32"), "f64"), Convert(tensor("f32", name="y"), "f64"))
    >>> arithmetic_between_conversions(Convert(wide, "f32"))
    Multiply(x, y)
    """
    if (op.dtype, x.dtype) not in TWICE_AS_MANY:
        return None
    operands = _narrowed(op, x, integers=False)
    return None if operands is None else x.with_operands(tuple(operands))


def _sample_choice(draw: Draw) -> Convert:
    narrow, wide = draw.choose((*FLOAT_PAIRS, *INTEGER_PAIRS))
    type_ = random_type(draw, (narrow,))
    left, right = (Convert(free(type_, name), wide) for name in "xy")
    return Convert(Select(condition(type_), left, draw.choose((right, like(2, right)))), narrow)


@rewrite(Convert(any_op(Select, bind="x"), dtype), single_use=True, sample=_sample_choice)
def choice_between_conversions(op: Convert, x: Select) -> Value | None:
    """convert(select(p, convert(x), convert(y))) = select(p, x, y), where x and y are widened and narrowed again

    >>> wide = Select(tensor("i1", name="p"), Convert(tensor("f32"), "f64"), Convert(tensor("f32", name="y"), "f64"))
    >>> choice_between_conversions(Convert(wide, "f32"))
    Select(p, x, y)
    """
    left, right = (narrow_operand(each, op.dtype) for each in (x.on_true, x.on_false))
    if left is None or right is None or (isinstance(left, Constant) and isinstance(right, Constant)):
        return None
    return Select(x.pred, left, right)


def _sample_parts(draw: Draw) -> Convert:
    narrow, wide = draw.choose((*FLOAT_PAIRS, *INTEGER_PAIRS))
    parts = tuple(Convert(tensor(narrow, draw.integer(1, 3), 4, name=name), wide) for name in "xyz")
    return Convert(Concatenate(parts, 0), narrow)


@rewrite(Convert(any_op(Concatenate, bind="x"), dtype), single_use=True, sample=_sample_parts)
def parts_between_conversions(op: Convert, x: Concatenate) -> Value | None:
    """convert(concatenate(convert(x), convert(y))) = concatenate(x, y), where they are widened and narrowed again

    >>> parts = Convert(tensor("f32", 2), "f64"), Convert(tensor("f32", 3, name="y"), "f64")
    >>> parts_between_conversions(Convert(Concatenate(parts, 0), "f32"))
    Concatenate((x, y), dimension=0)
    """
    parts = [narrow_operand(each, op.dtype) for each in x.operands]
    known = tuple(each for each in parts if each is not None)
    if len(known) < len(parts) or all(isinstance(each, Constant) for each in known):
        return None
    return Concatenate(known, x.dimension)
