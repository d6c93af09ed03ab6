"""Logic: what absorbs, complements or repeats itself."""

from __future__ import annotations

from windlass.facts.ranges import range_of, zeros_have_signs
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import And, Constant, Convert, Multiply, Not, Or, Pad, Select, Subtract, Xor
from windlass.ops.sampling import Draw
from windlass.rewriting.duals import Dual
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.duals import LOGIC
from windlass.rules.known_operands import bounded, condition, non_negative, random_type
from windlass.rules.splats import splat_hole, true

__all__ = ["tensor"]

x, y, p, q = hole("x"), hole("y"), hole("p"), hole("q")


@rewrite(And(x, Or(x, y)), dual=LOGIC)
def and_absorbs_or(x: Value) -> Value:
    """x and (x or y) = x

    >>> x, y = tensor("i1"), tensor("i1", name="y")
    >>> and_absorbs_or(And(x, Or(x, y)))
    x
    """
    return x


@rewrite(And(x, And(x, y)), dual=LOGIC)
def and_of_and_with_same(x: Value, y: Value, dual: Dual) -> Value:
    """x and (x and y) = x and y

    >>> x, y = tensor("i1"), tensor("i1", name="y")
    >>> and_of_and_with_same(And(x, And(x, y)))
    And(x, y)
    """
    return dual(And)(x, y)


@rewrite(Or(And(x, y), And(x, Not(y))))
def or_of_both_cases(x: Value) -> Value:
    """(x and y) or (x and not y) = x

    >>> x, y = tensor("i1"), tensor("i1", name="y")
    >>> or_of_both_cases(Or(And(x, y), And(x, Not(y))))
    x
    """
    return x


@rewrite(Or(And(x, y), And(x, q)), single_use=True)
def or_with_common_condition(x: Value, y: Value, q: Value) -> Value:
    """(x and y) or (x and z) = x and (y or z)

    >>> x, y, z = (tensor("i1", name=name) for name in "xyz")
    >>> or_with_common_condition(Or(And(x, y), And(x, z)))
    And(x, Or(y, z))
    """
    return And(x, Or(y, q))


@rewrite(And(x, Not(x)))
def and_of_opposites(op: And) -> Value:
    """x and not x = false, and no bit for integers

    >>> x = tensor("i1")
    >>> and_of_opposites(And(x, Not(x)))
    Constant(False)
    """
    return Constant.of(0, op.dtype, op.shape)


@rewrite(Xor(x, true))
def xor_with_true(x: Value) -> Value:
    """x xor true = not x

    >>> xor_with_true(Xor(tensor("i1"), Constant.of(True)))
    Not(x)
    """
    return Not(x)


@rewrite(Xor(x, x))
def xor_of_same(op: Xor) -> Value:
    """x xor x = false, and no bit for integers

    >>> x = tensor("i32")
    >>> xor_of_same(Xor(x, x))
    Constant(0)
    """
    return Constant.of(0, op.dtype, op.shape)


@rewrite(Xor(Xor(x, y), y))
def xor_of_xor(x: Value) -> Value:
    """(x xor y) xor y = x

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> xor_of_xor(Xor(Xor(x, y), y))
    x
    """
    return x


def sample_conditions(draw: Draw) -> Multiply:
    type_ = random_type(draw)
    return Multiply(*(Convert(condition(type_, name), type_.dtype) for name in "pq"))


@rewrite(Multiply(Convert(p, hole("dtype")), Convert(q, hole("dtype"))), sample=sample_conditions)
def multiply_of_conditions(op: Multiply, p: Value, q: Value) -> Value | None:
    """convert(p) · convert(q) = convert(p and q) for booleans

    >>> p, q = tensor("i1", name="p"), tensor("i1", name="q")
    >>> multiply_of_conditions(Multiply(Convert(p, "f32"), Convert(q, "f32")))
    Convert(And(p, q), dtype='f32')
    """
    both = p.tensor.is_boolean and q.tensor.is_boolean
    return Convert(And(p, q), op.dtype) if both and not op.tensor.is_complex and not op.tensor.is_boolean else None


def sample_complement(draw: Draw) -> Subtract:
    type_ = random_type(draw)
    return Subtract(Constant.of(1, type_.dtype, type_.shape), Convert(condition(type_), type_.dtype))


@rewrite(Subtract(splat_hole("one", 1), Convert(p, hole("dtype"))), sample=sample_complement, single_use=True)
def one_minus_condition(op: Subtract, p: Value) -> Value | None:
    """1 - convert(p) = convert(not p) for booleans

    >>> one_minus_condition(Subtract(Constant.of(1, "f32"), Convert(tensor("i1", name="p"), "f32")))
    Convert(Not(p), dtype='f32')
    """
    return Convert(Not(p), op.dtype) if p.tensor.is_boolean and not op.tensor.is_complex else None


def sample_choice_by_product(draw: Draw) -> Multiply:
    type_ = random_type(draw, ("f32", "f32", "f64", "i32"))
    x = non_negative(draw, type_) if draw.boolean() else bounded(draw, type_, draw.integer(-2, 0), 9)
    return Multiply(x, Convert(condition(type_), type_.dtype))


@rewrite(Multiply(x, Convert(p, hole("dtype"))), sample=sample_choice_by_product)
def multiply_by_condition(op: Multiply, x: Value, p: Value) -> Value | None:
    """x · convert(p) = select(p, x, 0) for booleans p, if x is an integer, or finite and has no sign that counts

    >>> multiply_by_condition(Multiply(tensor("i32"), Convert(tensor("i1", name="p"), "i32")))
    Select(p, x, Constant(0))
    """
    if not p.tensor.is_boolean or not op.tensor.size:
        return None
    if op.tensor.is_float:
        known = range_of(x)
        if not known.is_finite or (known.may_be_negative and zeros_have_signs()):
            return None
    elif not op.tensor.is_integer:
        return None
    return Select(p, x, Constant.of(0, op.dtype, op.shape))


def sample_padded_masks(draw: Draw) -> And | Or:
    """Two masks that differ from what is around within one block each."""
    size = draw.integer(2, 6)
    sides: list[Value] = []
    for _ in range(2):
        inside = draw.boolean()
        low = draw.integer(0, size - 1)
        width = draw.integer(1, size - low) if draw.boolean() else size - low
        block = Constant.of(inside, "i1", (3, width))
        sides.append(Pad(block, Constant.of(not inside, "i1"), (0, low), (0, size - low - width), (0, 0)))
    return draw.choose((And, Or))(*sides)


@rewrite(And(any_op(Pad), any_op(Pad)), single_use=True, sample=sample_padded_masks, dual=LOGIC)
def and_of_padded_masks(op: And | Or) -> Value | None:
    """pad(true, false) and pad(true, false) = pad(true, false) of the block common to both; true around false likewise

    >>> masks = [Pad(Constant.of(True, "i1", (4,)), Constant.of(False, "i1"), (k,), (2 - k,), (0,)) for k in (0, 2)]
    >>> and_of_padded_masks(And(*masks)).edge_padding_low
    (2,)
    """
    return _overlap(op, isinstance(op, And))


def _overlap(op: And | Or, inside: bool) -> Value | None:
    """The mask that is `inside` where both operands are, and the contrary elsewhere."""
    boxes: list[list[tuple[int, int]]] = []
    for side in op.operands:
        box = _box(side, inside) if isinstance(side, Pad) else None
        if box is None:
            return None
        boxes.append(box)
    both = [(max(one[0], two[0]), min(one[1], two[1])) for one, two in zip(*boxes, strict=True)]
    if any(start >= stop for start, stop in both):
        return Constant.of(not inside, "i1", op.shape)
    block = Constant.of(inside, "i1", tuple(stop - start for start, stop in both))
    high = tuple(size - stop for size, (_, stop) in zip(op.shape, both, strict=True))
    return Pad(block, Constant.of(not inside, "i1"), tuple(start for start, _ in both), high, (0,) * len(both))


def _box(mask: Pad, inside: bool) -> list[tuple[int, int]] | None:
    """From where to where, along each axis, the mask is `inside`, if it is so there and nowhere else."""
    block, fill = mask.operand, mask.padding_value
    if not isinstance(block, Constant) or not isinstance(fill, Constant) or not block.is_splat or 0 in block.shape:
        return None
    low, high = mask.edge_padding_low, mask.edge_padding_high
    if block.dtype != "i1" or block.number == fill.number:
        return None
    if any(mask.interior_padding) or min((*low, *high), default=0) < 0:
        return None
    box = [(start, start + size) for start, size in zip(low, block.shape, strict=True)]
    if bool(block.number) == inside:
        return box
    # What is around a block is one itself where that lies at an edge and is as wide as the whole.
    (axis, *others) = [axis for axis in range(len(box)) if low[axis] or high[axis]] or [-1]
    if others or axis < 0 or (low[axis] and high[axis]):
        return None
    around = [(0, size) for size in mask.shape]
    around[axis] = (0, low[axis]) if low[axis] else (box[axis][1], mask.shape[axis])
    return around
