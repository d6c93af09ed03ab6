"""Sorts of floats as sorts of integers in the same order, which XLA:CPU does many times faster.

XLA:CPU sorts one array of integers by a routine that knows their order; for floats it calls the comparison each time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windlass.ir import Block, Builder, Region, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ir.values import tensor
from windlass.ops import (
    And,
    BitcastConvert,
    Compare,
    Constant,
    Convert,
    Iota,
    Not,
    Or,
    Return,
    Select,
    ShiftLeft,
    ShiftRightArithmetic,
    Sort,
    Xor,
)
from windlass.ops.control import If
from windlass.ops.evaluation import evaluate_block
from windlass.ops.reduction import reduce_or
from windlass.ops.regions import make_region
from windlass.ops.sampling import Draw
from windlass.passes.carries import run_once
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.sorts import direction_of, ordinary_comparator, sort_by

__all__ = ["tensor"]

BITS = {"f16": "i16", "f32": "i32", "f64": "i64"}


def _keys(array: np.ndarray[Any, Any], ordinary: bool) -> np.ndarray[Any, Any]:
    """Integers in the order of floats: in their total order, or in that of jnp.sort."""
    if ordinary:
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), np.where(array == 0, 0, array))
    bits = array.astype(array.dtype).view(f"i{array.dtype.itemsize}")
    return bits ^ ((bits >> (8 * array.dtype.itemsize - 1)) & np.iinfo(bits.dtype).max)


def find_order(comparator: Region, dtype: str) -> str | None:
    """ "total" or "ordinary" where the comparator puts floats in their total order, or in that of jnp.sort.

    It has to consist of comparisons and choices, with zero and NaN for constants. These see no more of two numbers than
    how they stand to each other and to zero, so it is tried on numbers that stand so in all ways.

    >>> find_order(ordinary_comparator("f32"), "f32")
    'ordinary'
    """
    block = comparator.block
    outside = captures(comparator)
    for op in (*outside, *block):
        if op is block.last or isinstance(op, And | Compare | Not | Or | Select):
            continue
        if not isinstance(op, Constant) or not (op.number == 0 or op.number != op.number):
            return None
    if not all(isinstance(each, Constant) for each in outside):
        return None
    kind = tensor_type((), dtype).numpy_dtype
    numbers = np.array([-np.inf, -2, -1, -0.0, 0.0, 1, 2, np.inf, np.nan, np.nan], kind)
    numbers[-1] = np.copysign(numbers[-1], kind.type(-1))
    left, right = (each.ravel() for each in np.meshgrid(numbers, numbers, indexing="ij"))
    known: dict[Value, Any] = {each: each.array for each in outside if isinstance(each, Constant)}
    (found,) = evaluate_block(block, (left, right), known)
    for name in ("total", "ordinary"):
        if np.array_equal(_keys(left, name == "ordinary") < _keys(right, name == "ordinary"), found):
            return name
    return None


def sample_sort_of_floats(draw: Draw) -> Sort:
    """A sort of floats in either order."""
    shape = draw.shape(1, 2, 2)
    dtype, axis = draw.choose(("f32", "f64", "f16")), draw.integer(0, len(shape) - 1)
    x = tensor(dtype, *shape)
    if draw.boolean():
        return sort_by((x,), axis)
    return Sort((x,), ordinary_comparator(dtype), axis, True)


@rewrite(any_op(Sort), sample=sample_sort_of_floats, by_cost=True)
def sort_of_floats_as_integers(op: Sort) -> Value | tuple[Value, ...] | None:
    """sort(x) = key⁻¹(sort(key(x))), with integers as keys in the order of the floats x

    >>> made = sort_of_floats_as_integers(sort_by((tensor("f32", 9),), 0))
    >>> made.dtype, made.operand.lhs.owner.inputs[0].dtype
    ('f32', 'i32')
    """
    if len(op.inputs) != 1 or op.inputs[0].dtype not in BITS or op.inputs[0].tensor.size == 0:
        return None
    if isinstance(op.parent_op, If):
        # It may be the one for zeros of both signs.
        return None
    x = op.inputs[0]
    order = find_order(op.comparator, x.dtype)
    if order is None:
        return None
    if order == "total":
        return _sort_keys(op, x, BitcastConvert(x, BITS[x.dtype]))
    # Zeros of both signs would be put in order; they have to stay in that in which they come.
    dtype, every = BITS[x.dtype], tuple(range(x.tensor.rank))
    bits = BitcastConvert(x, dtype)
    least = np.iinfo(bits.tensor.numpy_dtype).min
    has_both = And(
        reduce_or(Compare(bits, Constant.of(least, dtype, x.shape), "EQ"), every),
        reduce_or(Compare(bits, Constant.of(0, dtype, x.shape), "EQ"), every),
    )
    slow, fast = Block(), Block()
    with Builder(slow):
        Return(Sort(op.inputs, op.comparator.clone({}), op.dimension, True).results)
    with Builder(fast):
        most = Constant.of(np.iinfo(bits.tensor.numpy_dtype).max, dtype, x.shape)
        Return((_sort_keys(op, x, Select(Compare(x, x, "NE"), most, bits)),))
    return If(has_both, Region(slow), Region(fast)).results


def _sort_keys(op: Sort, x: Value, bits: Value) -> Value:
    ordered = sort_by((_mirror(bits),), op.dimension, "LT", False).results[0]
    return BitcastConvert(_mirror(ordered), x.dtype)


def _mirror(bits: Value) -> Value:
    """The bits of a float as an integer in the same order; and back again."""
    width = 8 * bits.tensor.numpy_dtype.itemsize
    sign = ShiftRightArithmetic(bits, Constant.of(width - 1, bits.dtype, bits.shape))
    most = Constant.of(np.iinfo(bits.tensor.numpy_dtype).max, bits.dtype, bits.shape)
    return Xor(bits, And(sign, most))


# -- where elements go ------------------------------------------------------------------------------------------------


def sample_places_in_order(draw: Draw) -> Sort:
    """jnp.argsort."""
    shape = draw.shape(1, 2, 2)
    axis = draw.integer(0, len(shape) - 1)
    dtype = draw.choose(("f32", "i32"))
    operands = tensor(dtype, *shape), Iota(shape, "i32", axis)
    op = sort_by(operands, axis)
    if dtype == "f32" and draw.boolean():
        scalars = [tensor_type((), each) for each in (dtype, dtype, "i32", "i32")]
        inner = ordinary_comparator(dtype).block

        def compare(left: Value, right: Value, *_: Value) -> Value:
            return run_once(inner, (left, right))[0]

        op = Sort(operands, make_region(scalars, compare), axis, True)
    Not(op.results[1])
    return op


@rewrite(any_op(Sort), sample=sample_places_in_order, by_cost=True)
def places_in_order_as_integers(op: Sort) -> tuple[Value, ...] | None:
    """argsort(x) = the lower words of sort(2³² key(x) + i), with integers as keys in the order of x

    >>> x, places = tensor("f32", 9), Iota((9,), "i32", 0)
    >>> ordered = sort_by((x, places), 0)
    >>> user = Not(ordered.results[1])
    >>> places_in_order_as_integers(ordered)[1].dtype
    'i32'
    """
    if len(op.inputs) != 2 or op.results[0].uses or not op.results[1].uses:
        return None
    (x, places), axis = op.inputs, op.dimension % op.inputs[0].tensor.rank
    if x.dtype not in ("f32", "i32") or x.tensor.size == 0 or not isinstance(places, Iota):
        return None
    block = op.comparator.block
    if places.dtype != "i32" or places.iota_dimension != axis or any(each.uses for each in block.arguments[2:]):
        return None
    key = x
    if x.tensor.is_float:
        short = Block([x.type for x in block.arguments[:2]])
        with Builder(short):
            Return(run_once(block, (*short.arguments, *block.arguments[2:])))
        order = find_order(Region(short), x.dtype)
        if order is None:
            return None
        if order == "ordinary":
            zero = Constant.of(0, x.dtype, x.shape)
            key = Select(Compare(x, zero, "EQ"), zero, x)
        key = _mirror(BitcastConvert(key, "i32"))
        if order == "ordinary":
            key = Select(Compare(x, x, "NE"), Constant.of(np.iinfo(np.int32).max, "i32", x.shape), key)
    elif direction_of(op) != "LT":
        return None
    words = ShiftLeft(Convert(key, "i64"), Constant.of(32, "i64", x.shape))
    both = Or(words, Convert(places, "i64"))
    ordered = sort_by((both,), op.dimension, "LT", False).results[0]
    lower = And(ordered, Constant.of(0xFFFFFFFF, "i64", x.shape))
    return x, Convert(lower, "i32")
