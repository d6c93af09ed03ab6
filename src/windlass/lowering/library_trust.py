"""Which folds XLA:CPU hands to its library (YNNPACK), with what else, and what of that the library computes rightly.

A fold (`Reduce`, `ReduceWindow`) of floats or of 8-bit integers goes there if it is large, and takes along what it is
computed from and what is computed from it, as far as the library knows the ops. Source: xla/backends/cpu/ynn_support.cc
and transforms/library_rewriter.cc. What is wrong was found on jaxlib 0.10.2 by comparing each op at special values and
by `tests/fuzz/xla_programs.py`; docs/reference/xla.md shows the smallest programs.
"""

from __future__ import annotations

from windlass.facts.ranges import has_nan
from windlass.ir import Op, TensorType, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Abs,
    Add,
    Atan2,
    BroadcastInDim,
    Ceil,
    Clamp,
    Compare,
    Constant,
    Convert,
    Convolution,
    Cosine,
    Divide,
    DotGeneral,
    Erf,
    Exponential,
    ExponentialMinusOne,
    Floor,
    Iota,
    Log,
    Logistic,
    LogPlusOne,
    Maximum,
    Minimum,
    Multiply,
    Negate,
    Pad,
    Power,
    Reduce,
    ReducePrecision,
    ReduceWindow,
    Remainder,
    Reshape,
    RoundNearestEven,
    Rsqrt,
    Select,
    Sign,
    Sine,
    Slice,
    Sqrt,
    Square,
    Subtract,
    Tanh,
    Transpose,
)

__all__ = ["Maximum", "tensor"]

LEAST_ELEMENTS = 4096
"""Smaller arrays XLA folds, and computes with, by loops of its own."""
MOST_AXES = 6
"""Axes that the library is trusted with: with more the process may end."""
FARTHEST = 8
"""How many ops are gone through to find out along which axes values repeat."""

FOLDED = (Add, Maximum, Minimum)
FLOATS = frozenset({"f64", "f32", "bf16", "f16"})
BYTES = frozenset({"i8", "ui8"})

MOVEMENTS = (BroadcastInDim, Reshape, Transpose, Pad, Slice, Iota, Constant)
UNKNOWN_TO_LIBRARY = (Atan2, Clamp, Compare, ReducePrecision, Remainder, Select)
"""Elementwise ops of floats that it never takes along."""
RIGHT = (
    Abs, Add, Ceil, Cosine, Divide, Exponential, Floor, Log, Logistic, Multiply, Power, RoundNearestEven, Rsqrt, Sine,
    Sqrt, Square, Subtract,
)  # fmt: skip
"""Elementwise ops that give of all floats what XLA's loops give, but for the last digit."""
WITHOUT_SIGN = (Erf, ExponentialMinusOne, LogPlusOne, Negate, Sign, Tanh)
"""These are right but for zeros: the library has 0 for -0."""
BLIND_TO_SIGN = (Abs, Cosine, Exponential, Logistic, Square)
"""Ops that make the same of 0 and -0. So do sums."""
CARRYING_SIGN = (Add, Convert, Multiply, Subtract, *WITHOUT_SIGN, *MOVEMENTS)


Fold = Reduce | ReduceWindow


def is_for_library(op: Op) -> bool:
    """Whether XLA hands the fold to the library.

    >>> from windlass.ops.reduction import reduce_sum
    >>> [is_for_library(reduce_sum(tensor("f32", 64, size), (1,)).owner) for size in (32, 64)]
    [False, True]
    """
    if not isinstance(op, Reduce | ReduceWindow) or len(op.inputs) != 1 or op.combiner not in FOLDED:
        return False
    if any(isinstance(inner, ReducePrecision) for inner in op.body.block):
        return False
    types = (op.inputs[0].tensor, op.results[0].tensor)
    if types[0].dtype not in (FLOATS if op.combiner is Add else FLOATS | BYTES):
        return False
    return max(type_.size for type_ in types) >= LEAST_ELEMENTS


def is_taken_along(op: Op) -> bool:
    """Whether the library may take an op along with a fold that it feeds, or that feeds it."""
    if isinstance(op, MOVEMENTS):
        return True
    if not op.is_elementwise or isinstance(op, UNKNOWN_TO_LIBRARY) or not isinstance(op.type, TensorType):
        return False
    types = [op.tensor, *(operand.tensor for operand in op.operands)]
    is_known = all(type_.dtype in FLOATS | BYTES for type_ in types)
    return is_known and max(type_.size for type_ in types) >= LEAST_ELEMENTS


def is_right(op: Op, sign_matters: bool) -> bool:
    """Whether the library gives of an op that it takes along what XLA's loops give.

    `sign_matters` says that something depends on the sign of a zero that the op gives.

    >>> is_right(Maximum(tensor("f32", 5000), tensor("f32", 5000)), False)  # NaN is lost
    False
    """
    if isinstance(op, MOVEMENTS):
        return True
    if isinstance(op, Convert):
        return op.tensor.is_float
    if op.tensor.dtype in BYTES:
        return isinstance(op, Maximum | Minimum)  # arithmetic saturates
    return isinstance(op, RIGHT) or (isinstance(op, WITHOUT_SIGN) and not sign_matters)


def passes_sign(user: Op, value: Value, sign_matters: bool) -> bool:
    """Whether the sign of zeros in a value is seen in what a user gives, of which `sign_matters` is known."""
    if isinstance(user, Reduce | ReduceWindow):
        return user.combiner is not Add
    if isinstance(user, BLIND_TO_SIGN):
        return False
    is_carried = isinstance(user, CARRYING_SIGN) or (isinstance(user, Divide) and user.rhs is not value)
    return sign_matters if is_carried else True


def is_beyond_library(op: Fold, sign_matters: bool) -> bool:
    """Whether the library may do the fold itself wrongly, whatever it takes along.

    >>> from windlass.ops.reduction import reduce_max
    >>> largest = reduce_max(tensor("f32", 64, 64), (1,)).owner
    >>> is_beyond_library(largest, False)  # NaN is lost
    True
    """
    (operand,) = op.inputs
    if op.combiner is not Add and operand.tensor.is_float and (sign_matters or has_nan(operand)):
        return True
    if isinstance(op, ReduceWindow) and any(each != 1 for each in op.base_dilations):
        return True
    return operand.tensor.rank > MOST_AXES or repeats(operand)


def is_product(op: Op) -> bool:
    """Whether the library makes the product, and a fold of it together with the fold."""
    return isinstance(op, DotGeneral | Convolution) and op.tensor.dtype in FLOATS


def repeats(value: Value) -> bool:
    """Whether all elements along some axis are the same by the way that the value is made.

    >>> repeats(BroadcastInDim(tensor("f32", 3), (3, 4), (0,)))
    True
    """
    return len(_axes_that_vary(value, FARTHEST)) < sum(size > 1 for size in value.shape)


def _axes_that_vary(value: Value, most: int) -> set[int]:
    every = {axis for axis, size in enumerate(value.shape) if size > 1}
    if isinstance(value, Constant):
        return set() if value.is_splat else every
    if isinstance(value, Iota):
        return {value.iota_dimension}
    if not isinstance(value, Op) or not most:
        return every
    if isinstance(value, BroadcastInDim):
        inner = _axes_that_vary(value.operand, most - 1)
        return {axis for place, axis in enumerate(value.broadcast_dimensions) if place in inner}
    if isinstance(value, Transpose):
        inner = _axes_that_vary(value.operand, most - 1)
        return {axis for axis, place in enumerate(value.permutation) if place in inner}
    if isinstance(value, Reshape | Slice):
        return set() if repeats(value.operand) else every
    if not value.is_elementwise:
        return every
    found: set[int] = set()
    for operand in value.operands:
        found |= _axes_that_vary(operand, most - 1) if operand.shape == value.shape else set()
        if found == every:
            break
    return found
