"""Gathers and scatters at places that were transposed: the places are taken as they are, and what is read turned."""

from __future__ import annotations

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import Add, BroadcastInDim, Constant, Elementwise, Gather, Multiply, Scatter, Transpose
from windlass.ops.combiners import COMBINERS, combiner_region
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone, users_of
from windlass.rules.axes import Sizes, pick

__all__ = ["tensor"]


def turned_axes(permutation: Sizes, vector_axis: int, windows: Sizes) -> tuple[Sizes, int]:
    """Where the axes of what is read at transpose(i, p) stand in what is read at i; and i's axis of components.

    `windows` are the axes of what is read that are no axes of the places.

    >>> turned_axes((1, 0), 2, ())
    ((1, 0), 2)
    >>> turned_axes((1, 0, 2), 2, (0,))
    ((0, 2, 1), 2)
    """
    rank = len(permutation)
    own = [permutation[axis] for axis in range(rank) if axis != vector_axis]
    places = [axis for axis in range(len(own) + len(windows)) if axis not in windows]
    order = sorted(own)
    before = {place: place for place in windows}
    before.update((place, places[order.index(axis)]) for place, axis in zip(places, own, strict=True))
    turned = tuple(before[place] for place in sorted(before))
    return turned, permutation[vector_axis] if vector_axis < rank else rank


def _is_read_as_places(value: Value) -> bool:
    """Whether all that use the value can do without its transpose."""
    return all(isinstance(user, Gather | Scatter | Elementwise) for user in users_of(value))


def _sample_gather(draw: Draw) -> Gather:
    """Elements of a matrix, or one element of each row, at places that were transposed."""
    x = tensor("f32", 4, 5)
    p = draw.permutation(3)
    if draw.boolean():
        shape = [draw.integer(1, 3) for _ in range(3)]
        vector_axis = draw.integer(0, 2)
        shape[p[vector_axis]] = 2
        places = Transpose(tensor("i32", *shape, name="i"), p)
        return Gather(x, places, (), (0, 1), (), (), draw.permutation(2), vector_axis, (1, 1))
    q = draw.permutation(2)
    shape = [3, 3]
    shape[q[0]] = 4
    places = Transpose(tensor("i32", *shape, name="i"), q)
    return Gather(x, places, (), (1,), (0,), (0,), (1,), 2, (1, 1))


@rewrite(any_op(Gather, start_indices=any_op(Transpose, bind="turned")), sample=_sample_gather)
def gather_at_transposed_places(op: Gather, turned: Transpose) -> Value | None:
    """gather(x, transpose(i, p)) = transpose(gather(x, i), p), where elements are gathered

    >>> i = Transpose(tensor("i32", 2, 3, name="i"), (1, 0))
    >>> gather_at_transposed_places(Gather(tensor("f32", 9), i, (), (0,), (), (), (0,), 2, (1,))).permutation
    (1, 0)
    """
    if any(size != 1 for size in op.slice_sizes) or op.tensor.size > turned.tensor.size:
        return None
    if not _is_read_as_places(turned):
        return None
    order, vector_axis = turned_axes(turned.permutation, op.index_vector_dim, op.offset_dims)
    fields = {
        **op.field_values(),
        "start_indices": turned.operand,
        "start_indices_batching_dims": pick(turned.permutation, op.start_indices_batching_dims),
        "index_vector_dim": vector_axis,
        "indices_are_sorted": False,
    }
    made = Gather.from_fields(fields).results[0]
    return made if order == tuple(range(len(order))) else Transpose(made, order)


def _sample_scatter(draw: Draw) -> Scatter:
    """Elements added into an array at places that were transposed, as they were."""
    p = draw.permutation(3)
    places = Transpose(tensor("i32", 2, 3, 2, name="i"), p)
    updates: Value = Transpose(tensor("f32", 2, 3, 2, name="u"), p)
    if draw.boolean():
        updates = BroadcastInDim(tensor("f32", places.shape[0], name="u"), places.shape, (0,))
    combiner = draw.choose((Add, Multiply))
    body = combiner_region(combiner, "f32")
    return Scatter((tensor("f32", 5),), places, (updates,), (), (0,), (), (), (0,), 3, body)


@rewrite(
    any_op(Scatter, scatter_indices=any_op(Transpose, bind="turned")),
    reassociates=True,
    in_kernels=True,
    sample=_sample_scatter,
)
def scatter_at_transposed_places(op: Scatter, turned: Transpose) -> Value | None:
    """scatter(x, transpose(i, p), transpose(u, p)) = scatter(x, i, u), where updates may meet in any order

    >>> i, u = Transpose(tensor("i32", 2, 3, name="i"), (1, 0)), Transpose(tensor("f32", 2, 3, name="u"), (1, 0))
    >>> made = Scatter((tensor("f32", 9),), i, (u,), (), (0,), (), (), (0,), 2, combiner_region(Add, "f32"))
    >>> scatter_at_transposed_places(made).owner.updates
    (u,)
    """
    if op.combiner not in COMBINERS and not op.unique_indices:
        return None
    order, vector_axis = turned_axes(turned.permutation, op.index_vector_dim, op.update_window_dims)
    before = [_unturned(update, order, op) for update in op.updates]
    updates = tuple(each for each in before if each is not None)
    if len(updates) < len(before) or not _is_read_as_places(turned):
        return None
    fields = {
        **op.field_values(),
        "scatter_indices": turned.operand,
        "updates": updates,
        "scatter_indices_batching_dims": pick(turned.permutation, op.scatter_indices_batching_dims),
        "index_vector_dim": vector_axis,
        "indices_are_sorted": False,
        "update_computation": op.update_computation.clone({}),
    }
    return Scatter.from_fields(fields).results[0]


def _unturned(update: Value, order: Sizes, op: Op) -> Value | None:
    """What the update is the transpose of, in this order of axes, where to say so takes no copy; else None."""
    if isinstance(update, Transpose) and update.permutation == order and is_alone(update, op):
        return update.operand
    shape = tuple(size for _, size in sorted(zip(order, update.shape, strict=True)))
    if isinstance(update, Constant) and update.is_splat:
        return Constant.of(update.number, update.dtype, shape)
    if isinstance(update, BroadcastInDim):
        return BroadcastInDim(update.operand, shape, pick(order, update.broadcast_dimensions))
    return None
