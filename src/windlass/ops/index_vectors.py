"""The indices that gathers and scatters take: vectors of them along one axis."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from windlass.ir.types import TensorType
from windlass.ir.values import Value
from windlass.ops.base import Array, BroadcastInDim, TensorOp
from windlass.ops.creation import Constant
from windlass.ops.extremes import Clamp


def index_components(op: TensorOp, indices: TensorType, index_vector_dim: int, constraint: str) -> int:
    """How many components each index vector has."""
    inside = 0 <= index_vector_dim <= indices.rank
    if not inside:
        op.fault(constraint, f"index_vector_dim {index_vector_dim} of indices of rank {indices.rank}")
    return indices.shape[index_vector_dim] if index_vector_dim < indices.rank else 1


def with_components(indices: Array, index_vector_dim: int) -> Array:
    """The indices with an axis for the components, also where they are single numbers."""
    return indices[..., np.newaxis] if index_vector_dim == indices.ndim else indices


def moved_inside(indices: Value, index_vector_dim: int, limits: list[int]) -> Value:
    """The indices between 0 and the limit of their component; themselves where they are known to be.

    >>> from windlass.ir.values import tensor
    >>> moved_inside(tensor("i32", 7), 1, [4])
    Clamp(Constant(0), x, Constant(4))
    """
    type_ = indices.tensor
    largest = int(ml_dtypes.iinfo(type_.numpy_dtype).max)
    highs = [min(limit, largest) for limit in limits]
    if isinstance(indices, Constant):
        fitted = np.array(highs).reshape([-1 if axis == index_vector_dim else 1 for axis in range(type_.rank)])
        if bool(((indices.array >= 0) & (indices.array <= fitted)).all()):
            return indices
    if not highs or (type_.is_unsigned and min(highs) == largest):
        return indices
    most: Value = Constant.of(highs[0], type_.dtype)
    if len(set(highs)) > 1:
        most = BroadcastInDim(Constant.of(highs, type_.dtype), type_.shape, (index_vector_dim,))
    return Clamp(Constant.of(0, type_.dtype), indices, most)


def index_axis_positions(axes: tuple[int, ...], index_vector_dim: int) -> tuple[int, ...]:
    """Where axes of the indices stand once the axis of components is taken out."""
    return tuple(axis - (axis > index_vector_dim) for axis in axes)
