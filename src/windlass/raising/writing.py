"""Emission of stores: from a layout to an update of a window of memory, or a scatter.

Lanes that are not active, and gaps between lanes, take the old words of the window. Two stores to one window, under
masks that complete each other, become one update without old words by the catalogue of rewrites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.index import Index
from windlass.affine.layout import Axis, Layout, Line, Point, Take, Window
from windlass.affine.predicate import Predicate
from windlass.ir import Value
from windlass.ops.combiners import Combiner, scattering_region
from windlass.ops.dynamic_slices import DynamicSlice, DynamicUpdateSlice
from windlass.ops.elementwise import Select
from windlass.ops.indexing import Scatter
from windlass.raising import emission
from windlass.raising.lanes import Lanes
from windlass.raising.materialize import dtype_of_places, materialize_condition, materialize_places, scalar_start
from windlass.raising.reading import shape_memory

SPARSEST = 16
"""A window that is rewritten for less than one word in so many is better scattered into."""


@dataclass(frozen=True)
class _Target:
    """Where along an axis the lanes write: `count` places, `step` apart, from `start`."""

    start: int | Index
    count: int
    step: int
    dims: tuple[Dimension, ...]
    reversed: tuple[Dimension, ...]

    @property
    def extent(self) -> int:
        """From the first place to the last one."""
        return (self.count - 1) * self.step + 1


def _target(axis: Axis, box: Box) -> _Target | None:
    match axis.way:
        case Point():
            return _Target(axis.way.position, 1, 1, (), ())
        case Line():
            count = box.count(axis.way.dims)
            target = _Target(axis.way.first, count, axis.way.step, axis.way.dims, axis.way.reversed)
            if axis.way.first < 0 or axis.way.first + target.extent > axis.size:
                return None
            return target
        case Window():
            inner = _target(Axis(axis.way.size, axis.way.inner), box)
            if inner is None or not isinstance(inner.start, int):
                return None
            return _Target(axis.way.start + inner.start, inner.count, inner.step, inner.dims, inner.reversed)
        case _:
            return None


def find_targets(layout: Layout, box: Box) -> list[_Target] | None:
    """The window of memory that lanes write to, one target per axis; None where it is none, or too sparse a one."""
    targets: list[_Target] = []
    words = places = 1
    for axis in layout.axes:
        target = _target(axis, box)
        if target is None:
            return None
        words *= target.extent
        places *= target.count
        targets.append(target)
    return None if words > SPARSEST * places else targets


def write(
    memory: Value,
    layout: Layout,
    targets: Sequence[_Target],
    value: Lanes,
    box: Box,
    mask: Predicate,
    combiner: Combiner | None = None,
) -> Value:
    """Flat memory after the lanes have written to their targets (or combined their values into what stands there).

    Neither the value nor the mask depends on a dimension that no axis has.
    """
    update = _in_window(value, targets, box)
    sizes = tuple(target.extent for target in targets)
    starts = [target.start for target in targets if isinstance(target.start, int)]
    shape = tuple(axis.size for axis in layout.axes)
    is_all = len(starts) == len(targets) and not any(starts) and sizes == shape
    writes_all = mask.is_true and all(target.step == 1 for target in targets)
    if is_all and writes_all and combiner is None:
        return _put_back(memory, update, layout)
    array = shape_memory(memory, layout)
    active = None if writes_all else _in_window(materialize_condition(mask, box), targets, box)
    zeros = [0] * len(targets)
    update = emission.pad(update, zeros, zeros, _gaps(targets))
    if not writes_all or combiner is not None:
        if active is not None:
            active = emission.pad(active, zeros, zeros, _gaps(targets), False)
        update = _combined(_read_window(array, targets, sizes, box), update, active, combiner)
    return _put_back(memory, DynamicUpdateSlice(array, update, _starts(array, targets, box)), layout)


def _combined(old: Value, update: Value, active: Value | None, combiner: Combiner | None) -> Value:
    """The new words where active, the old ones elsewhere."""
    if combiner is not None:
        update = combiner(old, update)
    return update if active is None else Select(active, update, old)


def _in_window(lanes: Lanes, targets: Sequence[_Target], box: Box) -> Value:
    """Lanes in the order in which they lie in memory, without the gaps between them."""
    order = [dimension for target in targets for dimension in target.dims]
    value = lanes.expand(order, box)
    downward = [dimension for target in targets for dimension in target.reversed]
    value = emission.reverse(value, [order.index(dimension) for dimension in downward])
    return emission.reshape(value, [target.count for target in targets])


def _gaps(targets: Sequence[_Target]) -> list[int]:
    return [target.step - 1 if target.count > 1 else 0 for target in targets]


def can_write_rows(layout: Layout, box: Box, mask: Predicate) -> bool:
    """Whether lanes write whole runs of words, at places along the other axes that an index tensor gives."""
    picking: set[Dimension] = set()
    has_run = False
    for axis in layout.axes:
        if isinstance(axis.way, Take):
            picking.update(axis.dims)
            continue
        target = _target(axis, box)
        if target is None or target.step > 1 or not isinstance(target.start, int):
            return False
        has_run = has_run or target.count > 1
    return bool(picking) and has_run and mask.dimensions <= picking


def write_rows(
    memory: Value, layout: Layout, value: Lanes, box: Box, mask: Predicate, combiner: Combiner | None = None
) -> Value:
    """As `write`, by a scatter of windows: `can_write_rows` has to hold. One writer of a shared place wins."""
    array = shape_memory(memory, layout)
    batch = [dimension for axis in layout.axes if isinstance(axis.way, Take) for dimension in axis.dims]
    dtype = dtype_of_places(max(array.shape))
    components: list[Value] = []
    mapped: list[int] = []
    runs: list[_Target] = []
    inserted: list[int] = []
    is_masked = not mask.is_true
    for place, axis in enumerate(layout.axes):
        if isinstance(axis.way, Take):
            lanes = materialize_places(axis.way.index, box, axis.size, dtype)
            if is_masked:
                # Rows that are not active go to a place outside, which a scatter leaves out.
                nowhere = Lanes(emission.constant(axis.size, dtype))
                lanes = Lanes.elementwise(Select, materialize_condition(mask, box), lanes, nowhere, box=box)
                is_masked = False
            components.append(lanes.expand(batch, box))
            mapped.append(place)
            inserted.append(place)
            continue
        target = _target(axis, box)
        assert target is not None and isinstance(target.start, int)
        if target.start:
            components.append(emission.constant(target.start, dtype, box.shape(batch)))
            mapped.append(place)
        if isinstance(axis.way, Point):
            if not target.start:
                components.append(emission.constant(0, dtype, box.shape(batch)))
                mapped.append(place)
            inserted.append(place)
        else:
            runs.append(target)
    order = [*batch, *(dimension for target in runs for dimension in target.dims)]
    update = emission.reverse(
        value.expand(order, box), [order.index(each) for target in runs for each in target.reversed]
    )
    update = emission.reshape(update, [*box.shape(batch), *(target.count for target in runs)])
    if len(components) > 1:
        columns = [emission.reshape(each, (*each.shape, 1)) for each in components]
        indices = emission.concatenate(columns, len(batch))
    else:
        (indices,) = components
    body = scattering_region(combiner, memory.dtype)
    window = tuple(range(len(batch), len(update.shape)))
    op = Scatter((array,), indices, (update,), window, tuple(inserted), (), (), tuple(mapped), len(batch), body)
    return _put_back(memory, op.results[0], layout)


def _starts(array: Value, targets: Sequence[_Target], box: Box) -> tuple[Value, ...]:
    dtype = dtype_of_places(max(array.shape))
    return tuple(
        emission.constant(target.start, dtype)
        if isinstance(target.start, int)
        else scalar_start(target.start, box, size, dtype)
        for target, size in zip(targets, array.shape, strict=True)
    )


def _read_window(array: Value, targets: Sequence[_Target], sizes: Sequence[int], box: Box) -> Value:
    fixed = [target.start for target in targets if isinstance(target.start, int)]
    if len(fixed) == len(targets):
        return emission.take_slice(array, fixed, [start + size for start, size in zip(fixed, sizes, strict=True)])
    return DynamicSlice(array, _starts(array, targets, box), tuple(sizes))


def _put_back(memory: Value, array: Value, layout: Layout) -> Value:
    """The memory with the part that the layout shows replaced."""
    size = memory.shape[0]
    flat = emission.reshape(array, (layout.count,))
    start, stop = layout.start, layout.start + layout.count
    flat = emission.take_slice(flat, [max(-start, 0)], [min(stop, size) - start])
    if flat.shape == memory.shape:
        return flat
    return DynamicUpdateSlice(memory, flat, (emission.constant(max(start, 0), dtype_of_places(size)),))
