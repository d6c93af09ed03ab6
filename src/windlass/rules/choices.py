"""Choices between results of one function: the operands are chosen instead, and the function is done once."""

from __future__ import annotations

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    And,
    Compare,
    Convert,
    Exponential,
    Multiply,
    Negate,
    Not,
    Or,
    Pad,
    Select,
    Sine,
    Slice,
    Transpose,
)
from windlass.ops.base import TensorOp
from windlass.ops.comparison import OPPOSITE
from windlass.ops.elementwise import Xor
from windlass.ops.pointwise import Binary, Unary
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.known_operands import condition, free, random_type
from windlass.rules.splats import is_splat

__all__ = ["Exponential", "tensor"]

p, x, y = hole("p"), hole("x"), hole("y")


def _sample_choice(draw: Draw) -> Select:
    type_ = random_type(draw, ("f32", "i32", "bf16"))
    pred = condition(type_) if draw.boolean() else tensor("i1", name="p")
    kinds = (Negate, Exponential, Sine) if type_.is_float else (Negate,)
    made = draw.choose(kinds)
    return Select(pred, made(free(type_)), made(free(type_, "y")))


@rewrite(
    Select(p, any_op(TensorOp, only=(Unary, Convert), bind="x"), any_op(TensorOp, only=(Unary, Convert), bind="y")),
    sample=_sample_choice,
)
def choice_of_one_function(op: Select, p: Value, x: Unary | Convert, y: Unary | Convert) -> Value | None:
    """select(p, f(x), f(y)) = f(select(p, x, y)), if nothing else uses f(x) and f(y)

    >>> p, x, y = tensor("i1", name="p"), tensor("f32"), tensor("f32", name="y")
    >>> choice_of_one_function(Select(p, Exponential(x), Exponential(y)))
    Exponential(Select(p, x, y))
    """
    if not _are_alike(x, y) or x.operand.type is not y.operand.type:
        return None
    return x.with_operands((Select(p, x.operand, y.operand),))


def _are_alike(left: Op, right: Value) -> bool:
    """Whether both are one op with equal attributes and one user each, on operands of one type."""
    if not isinstance(right, Op) or type(left) is not type(right) or left is right:
        return False
    if not is_alone(left) or not is_alone(right):
        return False
    names = [field.name for field in left.fields if field.kind == "attribute"]
    return all(getattr(left, name) == getattr(right, name) for name in names)


def _sample_common(draw: Draw) -> Select:
    type_ = random_type(draw, ("f32", "i32", "bf16"))
    p, (x, y, z) = condition(type_), [free(type_, name) for name in "xyz"]
    made = draw.choose((Add, Multiply))
    return Select(p, made(x, z), made(*draw.choose(((y, z), (z, y)))))


@rewrite(Select(p, any_op(Binary, bind="x"), any_op(Binary, bind="y")), sample=_sample_common)
def choice_of_one_operand(op: Select, p: Value, x: Binary, y: Binary) -> Value | None:
    """select(p, f(x, z), f(y, z)) = f(select(p, x, y), z), if nothing else uses f(x, z) and f(y, z)

    >>> p, x, y, z = tensor("i1", name="p"), *(tensor("f32", name=name) for name in "xyz")
    >>> choice_of_one_operand(Select(p, Add(x, z), Add(y, z)))
    Add(Select(p, x, y), z)
    """
    if (
        not _are_alike(x, y)
        or x.lhs.type is not y.lhs.type
        or x.lhs.tensor.is_complex
        or op.pred.shape not in ((), x.lhs.shape)
    ):
        return None
    if x.rhs is y.rhs and not (is_splat(x.lhs) and is_splat(y.lhs)):
        return x.with_operands((Select(p, x.lhs, y.lhs), x.rhs))
    if x.lhs is y.lhs and not (is_splat(x.rhs) and is_splat(y.rhs)):
        return x.with_operands((x.lhs, Select(p, x.rhs, y.rhs)))
    if x.is_commutative and x.lhs is y.rhs:
        return x.with_operands((x.lhs, Select(p, x.rhs, y.lhs)))
    if x.is_commutative and x.rhs is y.lhs:
        return x.with_operands((Select(p, x.lhs, y.rhs), x.rhs))
    return None


@rewrite(Select(p, Not(x), x))
def choice_of_opposites(op: Select, p: Value, x: Value) -> Value | None:
    """select(p, not q, q) = p xor q

    >>> q = tensor("i1", name="q")
    >>> choice_of_opposites(Select(tensor("i1", name="p"), Not(q), q))
    Xor(p, q)
    """
    return Xor(p, x) if x.tensor.is_boolean and p.shape == op.shape else None


@rewrite(Select(p, hole("q"), p))
def choice_of_both(op: Select, p: Value, q: Value) -> Value | None:
    """select(p, q, p) = p and q

    >>> p, q = tensor("i1", name="p"), tensor("i1", name="q")
    >>> choice_of_both(Select(p, q, p))
    And(p, q)
    """
    return None if is_splat(q) else And(p, q)


@rewrite(Select(p, p, hole("q")))
def choice_of_either(op: Select, p: Value, q: Value) -> Value | None:
    """select(p, p, q) = p or q

    >>> p, q = tensor("i1", name="p"), tensor("i1", name="q")
    >>> choice_of_either(Select(p, p, q))
    Or(p, q)
    """
    return None if is_splat(q) else Or(p, q)


# -- movements --------------------------------------------------------------------------------------------------------


def _sample_moved(draw: Draw) -> Select:
    dtype = draw.choose(("f32", "i32"))
    x, y = (tensor(dtype, 3, 4, name=name) for name in "xy")
    fill = tensor(dtype, name="c")
    kind = draw.integer(0, 2)
    if kind == 0:
        left, right = (Pad(each, fill, (1, 0), (0, 2), (0, 1)) for each in (x, y))
    elif kind == 1:
        left, right = (Transpose(each, (1, 0)) for each in (x, y))
    else:
        left, right = (Slice(each, (0, 1), (3, 3), (1, 1)) for each in (x, y))
    return Select(tensor("i1", name="p"), left, right)


@rewrite(
    Select(
        p,
        any_op(TensorOp, only=(Pad, Slice, Transpose), bind="x"),
        any_op(TensorOp, only=(Pad, Slice, Transpose), bind="y"),
    ),
    sample=_sample_moved,
)
def choice_of_one_movement(
    op: Select, p: Value, x: Pad | Slice | Transpose, y: Pad | Slice | Transpose
) -> Value | None:
    """select(p, pad(x, c), pad(y, c)) = pad(select(p, x, y), c), and so for slices and transposes, for one condition

    >>> p, x, y, c = tensor("i1", name="p"), tensor("f32", 2), tensor("f32", 2, name="y"), tensor("f32", name="c")
    >>> choice_of_one_movement(Select(p, Pad(x, c, (1,), (0,), (0,)), Pad(y, c, (1,), (0,), (0,))))
    Pad(Select(p, x, y), c, edge_padding_low=(1,), edge_padding_high=(0,), interior_padding=(0,))
    """
    first, second = x.operand, y.operand
    if p.shape or not _are_alike(x, y) or first.type is not second.type or x.operands[1:] != y.operands[1:]:
        return None
    if first.tensor.size > op.tensor.size:
        return None
    return x.with_operands((Select(p, first, second), *x.operands[1:]))


def _sample_padded(draw: Draw) -> Select:
    x, y, c = tensor("f32", 3, 4), tensor("f32", 3, 4, name="y"), tensor("f32", name="c")
    left, right = (Pad(each, c, (1, 0), (2, 3), (0, 0)) for each in (x, y))
    return Select(tensor("i1", 6, 7, name="p"), left, right)


@rewrite(
    Select(
        p,
        Pad(x, hole("c"), hole("low"), hole("high"), hole("interior")),
        Pad(y, hole("c"), hole("low"), hole("high"), hole("interior")),
    ),
    single_use=True,
    sample=_sample_padded,
)
def choice_between_equal_pads(op: Select, p: Value, x: Value, y: Value) -> Value | None:
    """select(p, pad(x, c), pad(y, c)) = pad(select(slice(p), x, y), c), without p where both are c

    >>> p, x, y, c = tensor("i1", 9, name="p"), tensor("f32", 2), tensor("f32", 2, name="y"), tensor("f32", name="c")
    >>> choice_between_equal_pads(Select(p, Pad(x, c, (1,), (6,), (0,)), Pad(y, c, (1,), (6,), (0,)))).operand.on_true
    x
    """
    padded = op.on_true
    assert isinstance(padded, Pad)
    edges = (*padded.edge_padding_low, *padded.edge_padding_high)
    if not p.shape or any(padded.interior_padding) or any(edge < 0 for edge in edges) or x.type is not y.type:
        return None
    if x.tensor.size * 2 > op.tensor.size:
        return None
    low = padded.edge_padding_low
    limits = tuple(start + size for start, size in zip(low, x.shape, strict=True))
    return padded.with_operands((Select(Slice(p, low, limits, (1,) * len(low)), x, y), padded.padding_value))


def _sample_second_choice(draw: Draw) -> Select:
    type_ = random_type(draw, ("i32", "ui8", "f32"))
    left, right = free(type_, "m"), free(type_, "n")
    direction = draw.choose(("EQ", "NE", "LT", "GE"))
    x, y, z = (free(type_, name) for name in "xyz")
    inner = Select(Compare(left, right, OPPOSITE[direction]), y, z)
    first = Compare(left, right, direction)
    return Select(first, x, inner) if draw.boolean() else Select(first, inner, x)


@rewrite(Select(Compare(hole("m"), hole("n"), hole("direction")), x, y), sample=_sample_second_choice)
def choice_within_opposite_choice(op: Select, m: Value, n: Value, direction: str, x: Value, y: Value) -> Value | None:
    """select(m < n, x, select(m ≥ n, y, z)) = select(m < n, x, y), for integers; and so for = and ≠ always

    >>> m, n, x, y, z = (tensor("i32", name=name) for name in "mnxyz")
    >>> choice_within_opposite_choice(Select(Compare(m, n, "LT"), x, Select(Compare(m, n, "GE"), y, z)))
    Select(Compare(m, n, direction='LT'), x, y)
    """
    if (m.tensor.is_float or m.tensor.is_complex) and direction not in ("EQ", "NE"):
        return None
    assert isinstance(op.pred, Compare)
    if op.pred.compare_type == "TOTALORDER":
        return None
    sides = [x, y]
    for index, side in enumerate(sides):
        inner = side.pred if isinstance(side, Select) else None
        if not isinstance(side, Select) or not isinstance(inner, Compare) or inner.lhs is not m or inner.rhs is not n:
            continue
        if is_alone(side) and inner.direction == OPPOSITE[direction]:
            # Where the outer condition is false the inner one is true, and the other way round.
            sides[index] = side.on_false if index == 0 else side.on_true
            return Select(op.pred, *sides)
    return None
