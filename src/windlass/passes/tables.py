"""Tables: what costly functions give for numbers that are known is computed once, before the program runs.

Programs hold many: rotations of Fourier transforms and of position embeddings, windows of filters, frequencies. XLA
folds none that is counted (an iota), and computes it anew in each loop that reads it.
"""

from __future__ import annotations

import numpy as np

from windlass.facts.terms import evaluate_term
from windlass.ir import TensorType, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Constant,
    Convert,
    Cosine,
    Elementwise,
    Exponential,
    Iota,
    Multiply,
    Power,
    Sine,
)
from windlass.ops.base import TensorOp
from windlass.ops.sampling import Draw
from windlass.passes.constants import LARGEST_FOLDED
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite

__all__ = ["tensor"]

LARGEST_TABLE = 1 << 16
"""Elements of a table."""
LARGEST_TABLES = 1 << 23
"""Bytes of all constants of a block together."""
DEEPEST_TERM = 24
"""Ops that a table may be made of."""
LEAST_EFFORT = 10
"""Operations per element that reading a table is worth."""


def sample_table(draw: Draw) -> Elementwise:
    """A costly function of a count."""
    size = draw.integer(LARGEST_FOLDED + 1, LARGEST_FOLDED + 40)
    shape = draw.choose(((size,), (2, size)))
    count = Convert(Iota(shape, "i32", len(shape) - 1), draw.choose(("f32", "f64", "complex<f32>")))
    scale = Constant.of(draw.choose((0.25, -0.0625)), count.dtype, shape)
    scaled = Multiply(count, scale)
    if draw.boolean():
        return Power(Constant.of(3, count.dtype, shape), scaled)
    return draw.choose((Cosine, Sine))(scaled)


@rewrite(any_op(Elementwise), sample=sample_table, reassociates=True)
def table_of_costly_function(op: Elementwise) -> Value | None:
    """f(0 … n-1) = table, for functions that cost more than reading, of at most 65,536 elements

    >>> turn = Sine(Multiply(Convert(Iota((500,), "i32", 0), "f32"), Constant.of(0.25, "f32", (500,))))
    >>> table_of_costly_function(turn).value.array[2] - np.sin(np.float32(0.5))
    np.float32(0.0)
    """
    if op.effort * (2 if op.tensor.is_complex else 1) < LEAST_EFFORT:
        return None
    if not LARGEST_FOLDED < op.tensor.size <= LARGEST_TABLE or not _is_known(op):
        return None
    return _tabulate(op)


def sample_op_on_table(draw: Draw) -> TensorOp:
    """An op on a table and on what else is known."""
    size = LARGEST_FOLDED + draw.integer(1, 40)
    table = Constant.of(np.linspace(0, 4, size).astype(np.float32))
    other = draw.choose((Constant.of(2, "f32", (size,)), Convert(Iota((size,), "i32", 0), "f32"), table))
    return draw.choose((Add(table, other), Multiply(other, table), Exponential(table), Convert(table, "f64")))


@rewrite(any_op(TensorOp, takes=(Constant,)), sample=sample_op_on_table, reassociates=True)
def table_of_table(op: TensorOp) -> Value | None:
    """f(table) = table, if it is no larger

    >>> table = Constant.of(np.linspace(0, 4, 500).astype(np.float32))
    >>> table_of_table(Add(table, table)).value.array[-1]
    np.float32(8.0)
    """
    if not any(type(operand) is Constant and not operand.is_splat for operand in op.operands):
        return None
    if isinstance(op, BroadcastInDim) or not isinstance(op.type, TensorType) or op.region_names or not op.is_pure:
        return None
    held = max(operand.tensor.size for operand in op.operands if isinstance(operand, Constant) and not operand.is_splat)
    if not held >= op.tensor.size > LARGEST_FOLDED or held > LARGEST_TABLE or not _is_known(op):
        return None
    return _tabulate(op)


def _tabulate(op: TensorOp) -> Value | None:
    held = 0
    for each in op.block or ():
        held += each.tensor.bytes if isinstance(each, Constant) and not each.is_splat else 0
    if held + op.tensor.bytes > LARGEST_TABLES:
        return None
    try:
        array = evaluate_term(op, {})
    except (NotImplementedError, ValueError, np.linalg.LinAlgError):
        return None  # no meaning on arrays alone, or not on these
    return Constant.of(array.astype(op.tensor.numpy_dtype, copy=False), op.dtype)


def _is_known(op: TensorOp) -> bool:
    """Whether the op is made of counts and constants only, of few ops."""
    seen: set[Value] = set()
    pending: list[Value] = [op]
    while pending:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        if isinstance(each, Constant | Iota):
            continue
        is_plain = isinstance(each, TensorOp) and not each.region_names and each.is_pure and bool(each.operands)
        if not is_plain or len(seen) > DEEPEST_TERM or each.tensor.size > LARGEST_TABLE:
            return False
        pending += each.operands if isinstance(each, TensorOp) else ()
    return True
