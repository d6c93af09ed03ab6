"""Parts of one array that are combined one after the other: a reduction along an axis, written out.

A reduction is one op, whatever the number of parts. On small arrays, and along the last axis of many elements, it is as
fast on XLA:CPU, or faster (1000 × 8 floats: 5 µs either way; 100,000 × 32: 150 µs instead of 260). Of larger arrays few
parts are added faster in one elementwise loop (100,000 × 3: 18 µs instead of 120), so these stay as they are.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from windlass.ir import Op, Result, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    And,
    Constant,
    Maximum,
    Minimum,
    Multiply,
    Or,
    Reduce,
    Reshape,
    Slice,
)
from windlass.ops.base import COMPLEX, INTEGER
from windlass.ops.combiners import identity_of, neutral_of
from windlass.ops.pointwise import Binary
from windlass.ops.reduction import reduce_with
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone, is_used_once, users_of
from windlass.rules.reductions import begins_neutral, fold_of

__all__ = ["Constant", "Maximum", "tensor"]

Sizes = tuple[int, ...]

LARGEST = 1 << 11
"""Elements: of larger arrays few parts are combined one after the other."""
MANY = 16
"""Parts along the last axis that are more than few."""
MOST_PARTS = 256
DTYPES = frozenset({"f64", "f32", "f16", "bf16", "i1"} | INTEGER | COMPLEX)


@dataclass(frozen=True)
class SliceBox:
    """Where parts are alike: the array, the axis along which they follow each other, and what is taken of the rest."""

    source: Value
    axis: int
    start: Sizes
    limit: Sizes
    strides: Sizes


@dataclass
class Run:
    """Parts of one box: which term has each place along its axis."""

    places: dict[int, int] = field(default_factory=dict[int, int])
    begins_with_zero: bool = False


@rewrite(
    any_op(Binary, only=(Add, Multiply)), reassociates=True, sample=lambda draw: sample_parts(draw, (Add, Multiply))
)
def sum_of_slices(op: Binary) -> Value | None:
    """x[0] + x[1] + … + x[n - 1] = sum(x), where x is small or the places are many; and so for products

    >>> x = tensor("f32", 3, 2)
    >>> rows = [Slice(x, (at, 0), (at + 1, 2), (1, 1)) for at in range(3)]
    >>> sum_of_slices(Add(rows[1], Add(rows[0], rows[2]))).operand.owner.inputs
    (x,)
    """
    return _fold_parts(op)


@rewrite(any_op(Binary, only=(Maximum, Minimum, And, Or)), sample=lambda draw: sample_parts(draw, (Maximum, Minimum)))
def extreme_of_slices(op: Binary) -> Value | None:
    """max(x[0], max(x[1], … x[n - 1])) = max(x), where x is small or the places are many; and so for min, any, all

    >>> x = tensor("f32", 3, 2)
    >>> rows = [Slice(x, (at, 0), (at + 1, 2), (1, 1)) for at in range(3)]
    >>> extreme_of_slices(Maximum(rows[1], Maximum(rows[0], rows[2]))).operand.owner.inputs
    (x,)
    """
    return _fold_parts(op)


def sample_parts(draw: Draw, combiners: tuple[type[Any], ...]) -> Op:
    """Parts of an array combined in any order, some of them reduced before, or with other values between them."""
    combiner = draw.choose(combiners)
    dtype = draw.choose(("f32", "i32", "complex<f32>") if combiner in (Add, Multiply) else ("f32", "i32"))
    count, step = draw.integer(3, 5), draw.choose((1, 1, 2))
    x = tensor(dtype, count * step + draw.integer(0, 1), 2)
    pairs = draw.boolean()
    parts: list[Value] = []
    at = 0
    while at < count:
        size = 2 if pairs and at + 1 < count and draw.boolean() else 1
        part: Value = Slice(x, (at * step, 0), ((at + size - 1) * step + 1, 2), (step, 1))
        parts.append(reduce_with(combiner, part, (0,)) if size > 1 else Reshape(part, (2,)))
        at += size
    if draw.boolean():
        parts.append(draw.choose((tensor(dtype, 2, name="y"), Constant.of(draw.choose((0, 0, 3)), dtype, (2,)))))
    order = draw.permutation(len(parts))
    total = parts[order[0]]
    for place in order[1:]:
        total = combiner(total, parts[place]) if draw.boolean() else combiner(parts[place], total)
    assert isinstance(total, Op)
    return total


def _fold_parts(op: Binary) -> Value | None:
    combiner = type(op)
    if not any(_may_begin(operand, combiner) for operand in op.operands):
        return None
    if _is_within(op) or not op.tensor.size or op.dtype not in DTYPES:
        return None
    leaves = _list_leaves(op)
    if leaves is None or len(leaves) < 2:
        return None
    runs: dict[SliceBox, Run] = {}
    for number, leaf in enumerate(leaves):
        for box, places, begins_with_zero in _read(leaf, combiner):
            run = runs.setdefault(box, Run())
            if not any(at in run.places for at in places):
                run.places.update(dict.fromkeys(places, number))
                run.begins_with_zero = run.begins_with_zero or begins_with_zero
    candidates = [(box, run) for box, run in runs.items() if _is_worth(op, box, run)]
    if not candidates:
        return None
    box, run = max(candidates, key=lambda each: len(each[1].places))
    taken = set(run.places.values())
    others = [leaf for number, leaf in enumerate(leaves) if number not in taken]
    begin = None if run.begins_with_zero else next((leaf for leaf in others if _is_number(leaf)), None)
    if begin is not None:
        others.remove(begin)
    total = _fold(combiner, box, run, begin if isinstance(begin, Constant) else None)
    shape = op.shape
    result: Value = Reshape(total, shape) if total.shape != shape else total
    for leaf in others:
        result = combiner(result, Reshape(leaf, shape) if leaf.shape != shape else leaf)
    return result


def _may_begin(operand: Value, combiner: type[Op]) -> bool:
    """Whether the operand looks like a part, or like several of them combined."""
    value = operand.operand if isinstance(operand, Reshape) else operand
    return type(value) is combiner or isinstance(value, Slice | Result)


def _is_number(leaf: Value) -> bool:
    return isinstance(leaf, Constant) and leaf.is_splat


def _is_within(op: Binary) -> bool:
    """Whether the op's result is a term of the same kind of sum, so that it is looked at from there."""
    value: Value = op
    while users_of(value) and is_used_once(value):
        (user,) = users_of(value)
        if user.block is not op.block:
            return False
        if isinstance(user, Reshape):
            value = user
            continue
        return type(user) is type(op)
    return False


def _list_leaves(op: Binary) -> list[Value] | None:
    """The terms, each in the order of its elements: reshapes keep it."""
    leaves: list[Value] = []
    pending: list[Value] = list(op.operands[::-1])
    while pending:
        value = pending.pop()
        is_own = is_used_once(value)
        if type(value) is type(op) and is_own and value.block is op.block:
            pending += value.operands[::-1]
        elif isinstance(value, Reshape) and is_own and type(value.operand) is type(op):
            pending.append(value.operand)
        else:
            leaves.append(value)
        if len(leaves) > MOST_PARTS:
            return None
    return leaves


def _read(leaf: Value, combiner: type[Op]) -> list[tuple[SliceBox, range, bool]]:
    """What a term may be part of: a place of an array along one of its axes, or several, combined."""
    value = leaf.operand if isinstance(leaf, Reshape) else leaf
    if isinstance(value, Slice):
        if value.tensor.size != leaf.tensor.size:
            return []
        places = zip(range(value.tensor.rank), value.start_indices, value.shape, strict=True)
        return [(_box(value, axis), range(start, start + 1), False) for axis, start, size in places if size == 1]
    fold = value.owner if isinstance(value, Result) else None
    if not isinstance(fold, Reduce) or len(fold.dimensions) != 1 or not is_alone(value):
        return []
    part = fold_of(fold, combiner, made_by=Slice)
    if not isinstance(part, Slice) or not begins_neutral(fold):
        return []
    (axis,) = fold.dimensions
    start, stride = part.start_indices[axis], part.strides[axis]
    init = fold.init_values[0]
    begins_with_zero = combiner is Add and isinstance(init, Constant) and not _is_negative_zero(init)
    return [(_box(part, axis), range(start, part.limit_indices[axis], stride), begins_with_zero)]


def _is_negative_zero(init: Constant) -> bool:
    return str(init.array.reshape(-1)[0]).startswith("-0")


def _box(part: Slice, axis: int) -> SliceBox:
    start, limit, strides = list(part.start_indices), list(part.limit_indices), list(part.strides)
    start[axis], limit[axis], strides[axis] = 0, 0, 1
    return SliceBox(part.operand, axis, tuple(start), tuple(limit), tuple(strides))


def _is_worth(op: Binary, box: SliceBox, run: Run) -> bool:
    count = len(run.places)
    if count < 3 or len(set(run.places.values())) < 2 or _step(run) is None:
        return False
    if count * op.tensor.size <= LARGEST:
        return True
    return box.axis == box.source.tensor.rank - 1 and count >= MANY


def _step(run: Run) -> int | None:
    """The distance of neighbouring places, where it is the same everywhere."""
    places = sorted(run.places)
    step = places[1] - places[0]
    return step if all(b - a == step for a, b in itertools.pairwise(places)) else None


def _fold(combiner: type[Any], box: SliceBox, run: Run, begin: Constant | None) -> Value:
    """The run combined, beginning with a number if there is one."""
    places, step = sorted(run.places), _step(run)
    assert step is not None
    start, limit, strides = list(box.start), list(box.limit), list(box.strides)
    start[box.axis], limit[box.axis], strides[box.axis] = places[0], places[-1] + 1, step
    x = box.source
    if tuple(limit) != x.shape or any(start) or any(each != 1 for each in strides):
        x = Slice(x, tuple(start), tuple(limit), tuple(strides))
    # The sum of zeros that are all negative is negative.
    neutral = (identity_of if run.begins_with_zero else neutral_of)(combiner, x.dtype)
    return reduce_with(combiner, x, (box.axis,), neutral if begin is None else begin.number)
