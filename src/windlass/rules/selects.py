"""Selects whose choice is known, or makes no difference."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from windlass.facts.known_values import known_elements
from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Abs,
    Add,
    And,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    Elementwise,
    Iota,
    Multiply,
    Negate,
    Not,
    Or,
    Select,
    Slice,
    Subtract,
)
from windlass.ops.pointwise import Binary, Unary
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.axes import replace
from windlass.rules.known_operands import FLOATS, condition, free, non_negative, number, random_type, zero_or_number
from windlass.rules.masked_blocks import find_block
from windlass.rules.splats import compute, false, is_number, is_splat, true

__all__ = ["Compare", "tensor"]

p, x, y, z = hole("p"), hole("x"), hole("y"), hole("z")
known = hole("known", lambda value: isinstance(value, Constant) and value.is_splat)


@rewrite(Select(known, x, y))
def select_by_constant(known: Constant, x: Value, y: Value) -> Value:
    """select(true, x, y) = x; select(false, x, y) = y

    >>> select_by_constant(Select(Constant.of(True), tensor("f32"), tensor("f32", name="y")))
    x
    """
    return x if bool(known.number) else y


@rewrite(Select(p, x, x))
def select_of_same(x: Value) -> Value:
    """select(p, x, x) = x

    >>> x = tensor("f32", 3)
    >>> select_of_same(Select(tensor("i1", 3, name="p"), x, x))
    x
    """
    return x


@rewrite(Select(Not(p), x, y))
def select_by_not(p: Value, x: Value, y: Value) -> Value:
    """select(not p, x, y) = select(p, y, x)

    >>> select_by_not(Select(Not(tensor("i1", name="p")), tensor("f32"), tensor("f32", name="y")))
    Select(p, y, x)
    """
    return Select(p, y, x)


@rewrite(Select(p, Select(p, x, y), z), single_use=True)
def select_of_select_on_true(p: Value, x: Value, z: Value) -> Value:
    """select(p, select(p, x, y), z) = select(p, x, z)

    >>> p, x, y, z = tensor("i1", name="p"), tensor("f32"), tensor("f32", name="y"), tensor("f32", name="z")
    >>> select_of_select_on_true(Select(p, Select(p, x, y), z))
    Select(p, x, z)
    """
    return Select(p, x, z)


@rewrite(Select(p, z, Select(p, x, y)), single_use=True)
def select_of_select_on_false(p: Value, z: Value, y: Value) -> Value:
    """select(p, z, select(p, x, y)) = select(p, z, y)

    >>> p, x, y, z = tensor("i1", name="p"), tensor("f32"), tensor("f32", name="y"), tensor("f32", name="z")
    >>> select_of_select_on_false(Select(p, z, Select(p, x, y)))
    Select(p, z, y)
    """
    return Select(p, z, y)


@rewrite(Select(p, true, false))
def select_of_true_and_false(op: Select, p: Value) -> Value:
    """select(p, true, false) = p, repeated if it is one condition for many elements

    >>> select_of_true_and_false(Select(tensor("i1", name="p"), Constant.of(True), Constant.of(False)))
    p
    """
    return p if p.shape == op.shape else BroadcastInDim(p, op.shape, ())


@rewrite(Select(p, x, false))
def select_of_false(op: Select, p: Value, x: Value) -> Value | None:
    """select(p, x, false) = and(p, x)

    >>> select_of_false(Select(tensor("i1", name="p"), tensor("i1"), Constant.of(False)))
    And(p, x)
    """
    return And(p, x) if p.shape == op.shape else None


@rewrite(Not(Not(x)))
def not_of_not(x: Value) -> Value:
    """not(not(x)) = x

    >>> not_of_not(Not(Not(tensor("i1"))))
    x
    """
    return x


@rewrite(Select(p, false, true))
def select_of_false_and_true(op: Select, p: Value) -> Value | None:
    """select(p, false, true) = not(p), repeated if it is one condition for many elements

    >>> select_of_false_and_true(Select(tensor("i1", name="p"), Constant.of(False), Constant.of(True)))
    Not(p)
    """
    if op.tensor.size == 0:
        return None
    return Not(p) if p.shape == op.shape else BroadcastInDim(Not(p), op.shape, ())


@rewrite(Select(p, true, x))
def select_of_true(op: Select, p: Value, x: Value) -> Value | None:
    """select(p, true, x) = or(p, x)

    >>> select_of_true(Select(tensor("i1", name="p"), Constant.of(True), tensor("i1")))
    Or(p, x)
    """
    return Or(p, x) if p.shape == op.shape else None


q = hole("q")


@rewrite(Select(p, x, Select(q, x, y)), single_use=True)
def select_of_same_in_either_case(op: Select, p: Value, q: Value, x: Value, y: Value) -> Value | None:
    """select(p, x, select(q, x, y)) = select(p or q, x, y)

    >>> p, q, x, y = tensor("i1", name="p"), tensor("i1", name="q"), tensor("f32"), tensor("f32", name="y")
    >>> select_of_same_in_either_case(Select(p, x, Select(q, x, y)))
    Select(Or(p, q), x, y)
    """
    return Select(Or(p, q), x, y) if p.type is q.type and op.tensor.size else None


@rewrite(Select(p, Select(q, x, y), y), single_use=True)
def select_in_both_cases(op: Select, p: Value, q: Value, x: Value, y: Value) -> Value | None:
    """select(p, select(q, x, y), y) = select(p and q, x, y)

    >>> p, q, x, y = tensor("i1", name="p"), tensor("i1", name="q"), tensor("f32"), tensor("f32", name="y")
    >>> select_in_both_cases(Select(p, Select(q, x, y), y))
    Select(And(p, q), x, y)
    """
    return Select(And(p, q), x, y) if p.type is q.type and op.tensor.size else None


def sample_equal_choice(draw: Draw) -> Select:
    type_ = random_type(draw, ("f32", "f64", "i32"))
    x, y = draw.choose((non_negative(draw, type_), free(type_))), zero_or_number(draw, type_)
    kind = draw.choose(("EQ", "NE"))
    return Select(Compare(x, y, kind), *((y, x) if kind == "EQ" else (x, y)))


@rewrite(Select(Compare(x, y, hole("direction")), z, hole("w")), sample=sample_equal_choice)
def select_of_equals(op: Select, x: Value, y: Value, direction: str) -> Value | None:
    """select(x = y, y, x) = x, for integers, and floats that are proven not to be zeros of two signs

    >>> x = tensor("i32")
    >>> select_of_equals(Select(Compare(x, Constant.of(3, "i32"), "EQ"), Constant.of(3, "i32"), x))
    x
    """
    if direction not in ("EQ", "NE") or x.tensor.is_complex or op.pred.shape != op.shape:
        return None
    equal, different = (op.on_true, op.on_false) if direction == "EQ" else (op.on_false, op.on_true)
    for one, other in ((x, y), (y, x)):
        if _is_same(equal, one) and different is other:
            if x.tensor.is_float and _may_differ_in_sign(x, y):
                return None
            return different
    return None


def _may_differ_in_sign(x: Value, y: Value) -> bool:
    left, right = range_of(x), range_of(y)
    signs = left.negative_zero or right.negative_zero
    # Both are -0.0 where that is the only zero that they have.
    return signs and left.has_zero and right.has_zero


def _is_same(left: Value, right: Value) -> bool:
    if left is right:
        return True
    return isinstance(left, Constant) and isinstance(right, Constant) and left.value == right.value


# -- elementwise ops of selects ---------------------------------------------------------------------------------------


def sample_op_of_choice(draw: Draw) -> Elementwise:
    type_ = random_type(draw, ("f32", "i32", "bf16"))
    choice = Select(condition(type_), number(draw, type_), number(draw, type_))
    if draw.boolean():
        return draw.choose((Negate, Abs))(choice)
    operands = (choice, number(draw, type_))
    return draw.choose((Add, Multiply, Subtract))(*draw.choose((operands, operands[::-1])))


@rewrite(any_op(Elementwise, only=(Unary, Binary), takes=(Select,)), sample=sample_op_of_choice)
def op_of_choice_of_constants(op: Elementwise) -> Value | None:
    """f(select(p, c, d), e) = select(p, f(c, e), f(d, e)) for constants, if nothing else uses the choice

    >>> choice = Select(tensor("i1", name="p"), Constant.of(2, "f32"), Constant.of(3, "f32"))
    >>> op_of_choice_of_constants(Add(choice, Constant.of(1, "f32")))
    Select(p, Constant(3.0), Constant(4.0))
    """
    operands = op.operands
    choices = [each for each in operands if isinstance(each, Select)]
    if len(choices) != 1 or not is_alone(choices[0]) or not all(map(is_splat, choices[0].operands[1:])):
        return None
    choice = choices[0]
    if not all(each is choice or is_splat(each) for each in operands) or operands.count(choice) != 1:
        return None
    if not op.tensor.size:
        return None
    made: list[Constant] = []
    for side in (choice.on_true, choice.on_false):
        numbers = [side if each is choice else each for each in operands]
        made.append(compute(type(op), *[each for each in numbers if isinstance(each, Constant)]))
    return Select(choice.pred, *made)


def sample_op_of_choices(draw: Draw) -> Binary:
    type_ = random_type(draw, ("f32", "i32", "bf16"))
    p = condition(type_)
    sides = [draw.choose((number(draw, type_, 0, 1), free(type_, name))) for name in "wxyz"]
    if draw.integer(0, 3) == 0:
        return draw.choose((Add, Multiply))(Select(p, sides[0], sides[1]), Select(p, sides[1], sides[0]))
    return draw.choose((Add, Multiply, Subtract))(Select(p, sides[0], sides[1]), Select(p, sides[2], sides[3]))


@rewrite(
    any_op(Binary, lhs=Select(hole("p"), hole("a"), hole("b")), rhs=Select(hole("p"), hole("c"), hole("d"))),
    sample=sample_op_of_choices,
)
def op_of_two_choices(op: Binary, p: Value, a: Value, b: Value, c: Value, d: Value) -> Value | None:
    """f(select(p, a, b), select(p, c, d)) = select(p, f(a, c), f(b, d)), if neither side is left to compute

    Where f is commutative, f(select(p, a, b), select(p, b, a)) = f(a, b).

    >>> p, x, y = tensor("i1", name="p"), tensor("i32"), tensor("i32", name="y")
    >>> zero = Constant.of(0, "i32")
    >>> op_of_two_choices(Add(Select(p, x, zero), Select(p, zero, y)))
    Select(p, x, y)
    """
    if op.type is not op.operands[0].type:
        return None
    if op.is_commutative and a is d and b is c:
        return type(op)(a, b)
    on_true = _without_computing(op, a, c)
    on_false = None if on_true is None else _without_computing(op, b, d)
    return None if on_true is None or on_false is None else Select(p, on_true, on_false)


def sample_sum_with_both_choices(draw: Draw, combine: type[Add] | type[Subtract]) -> Add:
    type_ = random_type(draw, ("f32", "i32", "f64"))
    p, x, y, z = condition(type_), free(type_), free(type_, "y"), free(type_, "z")
    inner = combine(Select(p, y, x), z)
    return Add(*draw.choose(((Select(p, x, y), inner), (inner, Select(p, x, y)))))


@rewrite(
    Add(Select(p, x, y), Subtract(Select(p, y, x), z)),
    single_use=True,
    reassociates=True,
    sample=lambda draw: sample_sum_with_both_choices(draw, Subtract),
)
def difference_of_both_choices(op: Add, x: Value, y: Value, z: Value) -> Value | None:
    """select(p, x, y) + (select(p, y, x) - z) = (x + y) - z

    >>> p, x, y, z = tensor("i1", name="p"), *(tensor("f32", name=name) for name in "xyz")
    >>> difference_of_both_choices(Add(Select(p, x, y), Subtract(Select(p, y, x), z)))
    Subtract(Add(x, y), z)
    """
    return Subtract(Add(x, y), z)


@rewrite(
    Add(Select(p, x, y), Add(Select(p, y, x), z)),
    single_use=True,
    reassociates=True,
    sample=lambda draw: sample_sum_with_both_choices(draw, Add),
)
def sum_of_both_choices(op: Add, x: Value, y: Value, z: Value) -> Value | None:
    """select(p, x, y) + (select(p, y, x) + z) = (x + y) + z

    >>> p, x, y, z = tensor("i1", name="p"), *(tensor("f32", name=name) for name in "xyz")
    >>> sum_of_both_choices(Add(Select(p, x, y), Add(Select(p, y, x), z)))
    Add(Add(x, y), z)
    """
    return Add(Add(x, y), z)


def _without_computing(op: Binary, left: Value, right: Value) -> Value | None:
    """The op on two operands, where that is one of them or a constant."""
    if isinstance(left, Constant) and isinstance(right, Constant) and left.is_splat and right.is_splat:
        return compute(type(op), left, right)
    if op.tensor.is_complex:
        return None
    neutral = 1 if isinstance(op, Multiply) else 0 if op.tensor.is_integer else -0.0
    if isinstance(op, Subtract) and op.tensor.is_float:
        neutral = 0
    if isinstance(op, Add | Multiply | Subtract) and is_number(right, neutral):
        return left
    return right if isinstance(op, Add | Multiply) and is_number(left, neutral) else None


def sample_choice_by_one_condition(draw: Draw) -> Select:
    type_ = random_type(draw, ("f32", "i32"))
    return Select(BroadcastInDim(tensor("i1", name="p"), type_.shape, ()), free(type_), free(type_, "y"))


@rewrite(Select(BroadcastInDim(p, hole("shape"), hole("axes")), x, y), last=True, sample=sample_choice_by_one_condition)
def select_by_one_condition(p: Value, x: Value, y: Value) -> Value | None:
    """select(broadcast(p), x, y) = select(p, x, y), for one condition for all elements

    >>> p = BroadcastInDim(tensor("i1", name="p"), (4,), ())
    >>> select_by_one_condition(Select(p, tensor("f32", 4), tensor("f32", 4, name="y")))
    Select(p, x, y)
    """
    return None if p.shape else Select(p, x, y)


# -- by place ---------------------------------------------------------------------------------------------------------


def sample_choice_by_place(draw: Draw) -> Select:
    """A choice between some rows of one array and the others of another."""
    size = draw.integer(2, 6)
    shape = draw.choose(((size, 2), (1, size, 2), (size,)))
    axis = len(shape) // 3
    inner = draw.choose(((size,), tuple(each if place == axis else 1 for place, each in enumerate(shape)), shape))
    counted = Iota(inner, "i32", inner.index(size))
    rows: Value = Compare(counted, Constant.of(draw.integer(0, size), "i32", inner), draw.choose(CUTS))
    if draw.boolean():
        rows = And(rows, Compare(counted, Constant.of(draw.integer(0, size), "i32", inner), draw.choose(CUTS)))
    places = (axis,) if len(inner) == 1 else tuple(range(len(shape)))
    p = rows if inner == shape else BroadcastInDim(rows, shape, places)
    return Select(p, tensor("f32", *shape), tensor("f32", *shape, name="y"))


CUTS = ("LT", "LE", "GT", "GE", "EQ", "NE")

MOST_CUTS = 2
"""Pieces cost a loop each."""


@rewrite(any_op(Select), by_cost=True, sample=sample_choice_by_place)
def select_by_place(op: Select) -> Value | None:
    """select(iota < k, x, y) = concatenate(x[:k], y[k:]), along the first axis; so for rows between others

    >>> rows = Compare(Iota((4,), "i32", 0), Constant.of(3, "i32", (4,)), "LT")
    >>> chosen = Select(BroadcastInDim(rows, (4, 2), (0,)), tensor("f32", 4, 2), tensor("f32", 4, 2, name="y"))
    >>> [part.shape for part in select_by_place(chosen).inputs]
    [(3, 2), (1, 2)]
    """
    axis = next((place for place, size in enumerate(op.shape) if size != 1), -1)
    if axis < 0 or op.pred.shape != op.shape or any(is_splat(side) for side in op.operands[1:]):
        return None
    cuts = _list_cuts(op.pred, axis)
    if cuts is None or not 1 <= len(cuts[0]) <= MOST_CUTS:
        return None
    places, side = (0, *cuts[0], op.shape[axis]), cuts[1]
    parts: list[Value] = []
    for start, stop in pairwise(places):
        starts, limits = replace((0,) * op.tensor.rank, axis, start), replace(op.shape, axis, stop)
        parts.append(Slice(op.on_true if side else op.on_false, starts, limits, (1,) * op.tensor.rank))
        side = not side
    return Concatenate(tuple(parts), axis)


def _list_cuts(p: Value, axis: int) -> tuple[list[int], bool] | None:
    """At which rows along the axis a condition changes, and what it says of the first row.

    None where it says this and that of one row, or isn't known.
    """
    found = find_block(p)
    if found is not None:
        block, inside = found
        if any(block[place] != (0, size) for place, size in enumerate(p.shape) if place != axis):
            return None
        begin, end = block[axis]
        cuts = [place for place in (begin, end) if 0 < place < p.shape[axis]]
        return cuts, inside if begin == 0 else not inside
    rows = _rows_chosen(p, axis)
    if rows is None:
        return None
    return [place for place in range(1, len(rows)) if rows[place] != rows[place - 1]], rows[0]


def _rows_chosen(p: Value, axis: int) -> list[bool] | None:
    """For each row along the axis what the condition says; None where it says this and that, or isn't known."""
    places: tuple[int, ...] = tuple(range(p.tensor.rank))
    if isinstance(p, BroadcastInDim):
        p, places = p.operand, p.broadcast_dimensions
    if axis not in places or not isinstance(p, Compare):
        return None
    own = places.index(axis)
    known = known_elements(p)
    if known is None or known.size == 0 or known.shape[own] == 1:
        return None
    rows = np.moveaxis(known, own, 0).reshape(known.shape[own], -1)
    return rows[:, 0].tolist() if bool((rows == rows[:, :1]).all()) else None


# -- where NaN is tested for ------------------------------------------------------------------------------------------


def sample_needless_test(draw: Draw) -> Select:
    type_ = random_type(draw, FLOATS)
    x = free(type_)
    used = draw.choose((x, Abs(x), Negate(x), free(type_, "z")))
    kind = draw.choose(("NE", "EQ"))
    sides = (Add(x, number(draw, type_)), Multiply(used, free(type_, "y")))
    return Select(Compare(x, x, kind), *(sides if kind == "NE" else sides[::-1]))


@rewrite(Select(Compare(x, x, hole("direction")), z, hole("w")), sample=sample_needless_test)
def select_of_nan_either_way(op: Select, x: Value, direction: str) -> Value | None:
    """select(x ≠ x, f(x), g(x)) = g(x), if f and g of NaN are NaN anyway

    >>> x = tensor("f32")
    >>> select_of_nan_either_way(Select(Compare(x, x, "NE"), Add(x, x), Abs(x)))
    Abs(x)
    """
    if direction not in ("EQ", "NE") or not x.tensor.is_float or not op.tensor.is_float or op.pred.shape != op.shape:
        return None
    missing, present = (op.on_true, op.on_false) if direction == "NE" else (op.on_false, op.on_true)
    roots = {x}
    if isinstance(x, Subtract) and is_splat(x.rhs) and range_of(x.rhs).is_finite:
        roots.add(x.lhs)
    return present if spreads_nan(missing, roots) and spreads_nan(present, roots) else None


DEPTH = 12


def spreads_nan(value: Value, roots: set[Value], depth: int = DEPTH) -> bool:
    """Whether an element is sure to be NaN where one of the roots is, all of which are NaN at the same places."""
    if value in roots or (isinstance(value, Constant) and value.is_splat and value.number != value.number):
        return True
    if not isinstance(value, Elementwise) or depth == 0 or not value.spreads_nan:
        return False
    return any(spreads_nan(operand, roots, depth - 1) for operand in value.operands)
