"""Transposes: merged, and dropped where they keep the order."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import BroadcastInDim, Transpose
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite

__all__ = ["tensor"]

Sizes = tuple[int, ...]

x, p, q = hole("x"), hole("p"), hole("q")
shape, dimensions = hole("shape"), hole("dimensions")


@rewrite(Transpose(x, p))
def transpose_in_order(x: Value, p: Sizes) -> Value | None:
    """transpose(x, identity) = x

    >>> transpose_in_order(Transpose(tensor("f32", 2, 3), (0, 1)))
    x
    """
    return x if p == tuple(range(len(p))) else None


@rewrite(Transpose(Transpose(x, p), q))
def transpose_of_transpose(x: Value, p: Sizes, q: Sizes) -> Value:
    """transpose(transpose(x, p), q) = transpose(x, p∘q)

    >>> x = tensor("f32", 2, 3, 4)
    >>> transpose_of_transpose(Transpose(Transpose(x, (2, 0, 1)), (1, 0, 2)))
    Transpose(x, permutation=(0, 2, 1))
    """
    return Transpose(x, tuple(p[axis] for axis in q))


@rewrite(Transpose(BroadcastInDim(x, shape, dimensions), p))
def transpose_of_broadcast(op: Transpose, x: Value, dimensions: Sizes, p: Sizes) -> Value:
    """transpose(broadcast(x, d), p) = broadcast(x, p⁻¹∘d)

    >>> transpose_of_broadcast(Transpose(BroadcastInDim(tensor("f32", 3), (2, 3), (1,)), (1, 0)))
    BroadcastInDim(x, shape=(3, 2), broadcast_dimensions=(0,))
    """
    return BroadcastInDim(x, op.shape, tuple(p.index(axis) for axis in dimensions))
