"""Scatters whose results are wanted with their axes in another order: the places are named otherwise."""

from __future__ import annotations

from windlass.ir import Result, Value
from windlass.ops import BroadcastInDim, Constant, Scatter, Transpose

Sizes = tuple[int, ...]

SMALLEST_SHARE = 2
"""The result has at least so many times the elements of the updates: they are written out of order then."""


def scatter_of(value: Value) -> Scatter | None:
    """The scatter of which the value is the one result."""
    owner = value.owner if isinstance(value, Result) else None
    return owner if isinstance(owner, Scatter) and len(owner.inputs) == 1 else None


def can_be_turned(op: Scatter) -> bool:
    """Whether the scatter can be done in another order of axes, all but what it is done to for nothing."""
    large = SMALLEST_SHARE * op.updates[0].tensor.size <= op.inputs[0].tensor.size
    return large and not op.extra and op.results[0].type is op.inputs[0].type


def starts_from_one_number(op: Scatter) -> bool:
    """Whether the array that it is done to is the same in any order of axes."""
    x = op.inputs[0]
    return (isinstance(x, Constant) and x.is_splat) or (isinstance(x, BroadcastInDim) and not x.operand.shape)


def one_number_of(value: Value, shape: Sizes) -> Value:
    """An array of one number, in another shape."""
    if isinstance(value, Constant):
        return Constant.of(value.number, value.dtype, shape)
    assert isinstance(value, BroadcastInDim)
    return BroadcastInDim(value.operand, shape, ())


def scatter_in_order(op: Scatter, x: Value, order: Sizes) -> Value:
    """The scatter into x, axis i of which is the axis order[i] of what the op scatters into.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import make_region
    >>> scalar = tensor("f32").type
    >>> body = make_region([scalar] * 2, lambda old, new: new)
    >>> i, u = tensor("i32", 2, 1, name="i"), tensor("f32", 2, 5, name="u")
    >>> rows = Scatter((tensor("f32", 9, 5),), i, (u,), (1,), (0,), (), (), (0,), 1, body)
    >>> columns = scatter_in_order(rows, tensor("f32", 5, 9), (1, 0)).owner
    >>> columns.inserted_window_dims, columns.scatter_dims_to_operand_dims
    ((1,), (1,))
    """
    place = {axis: index for index, axis in enumerate(order)}
    taken = {*op.inserted_window_dims, *op.input_batching_dims}
    # The window's axes of the updates, in the order in which the input has them now.
    window = dict(zip((axis for axis in range(len(order)) if axis not in taken), op.update_window_dims, strict=True))
    wanted = [window[axis] for axis in order if axis in window]
    axes = list(range(op.updates[0].tensor.rank))
    for position, axis in zip(op.update_window_dims, wanted, strict=True):
        axes[position] = axis
    (updates,) = op.updates
    batching = sorted(
        (place[axis], other)
        for axis, other in zip(op.input_batching_dims, op.scatter_indices_batching_dims, strict=True)
    )
    mapped = tuple(place[axis] for axis in op.scatter_dims_to_operand_dims)
    fields = {
        **op.field_values(),
        "inputs": (x,),
        "updates": (updates if axes == sorted(axes) else Transpose(updates, tuple(axes)),),
        "inserted_window_dims": tuple(sorted(place[axis] for axis in op.inserted_window_dims)),
        "input_batching_dims": tuple(axis for axis, _ in batching),
        "scatter_indices_batching_dims": tuple(axis for _, axis in batching),
        "scatter_dims_to_operand_dims": mapped,
        "indices_are_sorted": op.indices_are_sorted and len(mapped) < 2,
        "update_computation": op.update_computation.clone({}),
    }
    return Scatter.from_fields(fields).results[0]
