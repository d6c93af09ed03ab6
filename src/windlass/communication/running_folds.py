"""Running sums along a divided axis: each device's own, and then what the devices before have in all."""

from __future__ import annotations

from windlass.communication.halo_exchange import FIRST_FOR_FOLDS, Channels
from windlass.communication.propagation import Division
from windlass.ir import Value
from windlass.ops import Add, BroadcastInDim, CollectivePermute, ReduceWindow
from windlass.ops.combiners import is_identity
from windlass.ops.movement import slice_along
from windlass.ops.shardings import Mesh


def running_axis(op: ReduceWindow) -> tuple[int, bool] | None:
    """The axis along which the op gives running sums, and whether from the end; None where it is something else."""
    if len(op.inputs) != 1 or op.combiner is not Add or not is_identity(op.init_values[0], Add):
        return None
    axes = [axis for axis, size in enumerate(op.window_dimensions) if size > 1 or any(op.padding[axis])]
    if len(axes) != 1 or {*op.window_strides, *op.base_dilations, *op.window_dilations} != {1}:
        return None
    (axis,) = axes
    size = op.inputs[0].shape[axis]
    pads = tuple(op.padding[axis])
    if op.window_dimensions[axis] != size or pads not in ((size - 1, 0), (0, size - 1)):
        return None
    return axis, pads[0] == 0


def make_running_sums(
    op: ReduceWindow, part: Value, start: Value, mesh: Mesh, division: Division, channels: Channels
) -> Value:
    """The running sums of a device's part, with all that comes before; sums double how far they reach."""
    found = running_axis(op)
    assert found is not None
    axis, is_reverse = found
    length = part.shape[axis]
    windows = tuple(length if each == axis else 1 for each in range(len(part.shape)))
    padding = tuple(
        ((0, length - 1) if is_reverse else (length - 1, 0)) if each == axis else (0, 0)
        for each in range(len(part.shape))
    )
    ones = (1,) * len(windows)
    (own,) = ReduceWindow((part,), (start,), windows, ones, ones, ones, padding, op.body.clone({})).results
    reached: Value = slice_along(own, axis, 0, 1) if is_reverse else slice_along(own, axis, length - 1, length)
    before: Value | None = None
    step = 1
    while step < division.parts:
        pairs = mesh.neighbours(division.names, -step if is_reverse else step, is_ring=False)
        # Where there is no device before, zeros arrive, which change no sum.
        received = CollectivePermute(reached, pairs, channels.take(FIRST_FOR_FOLDS))
        before = received if before is None else Add(before, received)
        reached = Add(reached, received)
        step *= 2
    if before is None:
        return own
    return Add(own, BroadcastInDim(before, own.shape, tuple(range(len(own.shape)))))
