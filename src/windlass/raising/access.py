"""Loads and stores of all lanes at once: memory is a flat tensor of words, the index says which word.

Active lanes are in bounds by the rules of the source language; what inactive lanes read is arbitrary, and they write
nothing. Nothing is emitted whose size grows with memory but ops on the memory itself.

An index is first made one over other dimensions where that turns quotients and remainders into plain terms
(`regrouping`), then `layout` finds the axes that it goes along, and `reading` or `writing` emits the access. What has
no layout without index tensors is gathered or scattered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.index import Index
from windlass.affine.layout import AccessingLanes, Layout, Line, Point, Segments, Window, find_layout
from windlass.affine.predicate import Disjunction, Predicate, equals_zero
from windlass.ir import Value
from windlass.ops.combiners import Combiner
from windlass.ops.elementwise import Select
from windlass.raising import emission
from windlass.raising.gathers import as_index, scatter
from windlass.raising.lanes import Lanes
from windlass.raising.materialize import materialize_condition
from windlass.raising.plan import AccessPlan, facts_of, make_plan
from windlass.raising.races import RacingWriters, combine_over, settle
from windlass.raising.reading import read
from windlass.raising.regrouping import Regrouping, fuse_line, regrouped_index, regrouped_predicate
from windlass.raising.writing import can_write_rows, find_targets, write, write_rows

MOST_PARTS = 32
"""A store is taken apart into no more stores than this."""


def load(memory: Value, index: Index | Lanes, box: Box, mask: Predicate, row_strides: Sequence[int] = ()) -> Lanes:
    """What each active lane reads.

    `row_strides` are the strides (in words) that the memory's array is declared with, as hints. The result has values
    for all lanes of the box, and lacks the dimensions that the index does not depend on.
    """
    index = as_index(index)
    smaller, residual = mask.split(box)
    if memory.shape[0] == 0 or box.is_empty or smaller.is_empty or residual.is_false:
        return Lanes(emission.zero_like(memory))
    access = AccessingLanes(smaller, facts_of(residual), residual.is_true, tuple(row_strides))
    plan = make_plan(index.simplify(smaller), memory.shape[0], access)
    return _read_plan(memory, plan).cover(box)


def _read_plan(memory: Value, plan: AccessPlan) -> Lanes:
    """What lanes read, for the box before the plan's steps."""
    if plan.unrolled is None:
        lanes = read(memory, plan.layout, plan.box)
    else:
        lanes = _side_by_side(memory, plan, plan.unrolled)
    for regrouping, old_box in reversed(plan.steps):
        lanes = regrouping.backward(lanes, old_box)
    return lanes


def _side_by_side(memory: Value, plan: AccessPlan, dimension: Dimension) -> Lanes:
    """The parts of an unrolled access, each selected where it belongs."""
    result: Lanes | None = None
    for value, part in zip(range(*plan.box.bounds(dimension)), plan.parts, strict=True):
        if part is None:
            continue
        lanes = _read_plan(memory, part).cover(plan.box)
        if result is None:
            result = lanes
            continue
        here = materialize_condition(equals_zero(Index.of(dimension) - value, plan.box), plan.box)
        result = Lanes.elementwise(Select, here, lanes, result, box=plan.box)
    return Lanes(emission.zero_like(memory)) if result is None else result


def store(
    memory: Value,
    index: Index | Lanes,
    value: Lanes,
    box: Box,
    mask: Predicate,
    row_strides: Sequence[int] = (),
) -> Value:
    """The memory after each active lane has written its value.

    Where active lanes write to the same place, one of them wins; no order between lanes is kept, so a serial loop has
    to give only the lanes of its last iteration, or make one store per iteration.
    """
    return _Store(tuple(row_strides), None).run(
        memory, as_index(index), RacingWriters(value, box, mask), (), MOST_PARTS
    )


def scatter_combine(
    memory: Value,
    index: Index | Lanes,
    value: Lanes,
    box: Box,
    mask: Predicate,
    combiner: Combiner,
    dims: Sequence[Dimension] = (),
    row_strides: Sequence[int] = (),
) -> Value:
    """The memory after each active lane has combined its value into its place, in no particular order.

    `combiner` is an op class such as Add, Maximum or And. `dims` are all the dimensions of the lanes that do this:
    those too that neither the index nor the value nor the mask depends on, for each lane counts.
    """
    index, writers = as_index(index), RacingWriters(value, box, mask)
    every = in_order({*dims, *index.dimensions, *value.dims, *mask.dimensions})
    return _Store(tuple(row_strides), combiner).run(memory, index, writers, every, MOST_PARTS)


class _Store:
    """One store, or one combination into memory; taken apart where an index has several affine pieces."""

    def __init__(self, row_strides: tuple[int, ...], combiner: Combiner | None) -> None:
        self.row_strides = row_strides
        self.combiner = combiner

    def run(
        self, memory: Value, index: Index, writers: RacingWriters, dims: tuple[Dimension, ...], budget: int
    ) -> Value:
        """The memory afterwards. `dims` are those along which every lane counts, though nothing may depend on them."""
        box, mask = writers.mask.split(writers.box)
        if memory.shape[0] == 0 or box.is_empty or mask.is_false:
            return memory
        index = index.simplify(box)
        value = writers.value.at(box)
        found = self._without_races(index, replace(writers, value=value, box=box, mask=mask), dims)
        if found is None:
            return scatter(memory, index, value, box, mask, dims, self.combiner)
        dims = tuple(each for each in dims if each in index.dimensions)
        writers = found
        box, mask = writers.box, writers.mask
        index = index.simplify(box)
        all_active = mask.is_true and not writers.has_idle
        access = AccessingLanes(box, facts_of(mask), all_active, self.row_strides, splits_strides=True)
        plan = make_plan(index, memory.shape[0], access)
        if plan.steps and plan.is_whole and budget > 0:
            return self._regrouped(memory, index, writers, dims, budget - 1, plan.steps[0][0])
        layout = find_layout(index, memory.shape[0], access) if plan.steps else plan.layout
        if plan.unrolled is not None and not plan.steps:
            lower, upper = box.bounds(plan.unrolled)
            parts = [box.restrict(plan.unrolled, value, value + 1) for value in range(lower, upper)]
        else:
            parts = _parts_of(layout, box)
        if len(parts) <= budget and parts != [box]:
            # Each lane is in one part, so that parts may be written one after the other.
            left = budget // len(parts) if len(parts) > 1 else budget - 1
            for part in parts:
                smaller = replace(writers, value=writers.value.at(part), box=part)
                memory = self.run(memory, index, smaller, dims, left)
            return memory
        fused = self._line_with_guard(layout, box, mask) if budget > 0 else None
        if fused is not None:
            return self._regrouped(memory, index, writers, dims, budget - 1, fused)
        return self._written(memory, index, writers, dims, budget, layout)

    def _written(
        self,
        memory: Value,
        index: Index,
        writers: RacingWriters,
        dims: tuple[Dimension, ...],
        budget: int,
        layout: Layout,
    ) -> Value:
        """The memory after a store that is seen as rows and columns in one piece."""
        box, mask = writers.box, writers.mask
        targets = find_targets(layout, box) if layout.is_whole else None
        if targets is None:
            for axis in layout.axes:
                fused = fuse_line(axis.way, box) if isinstance(axis.way, Line) else None
                if fused is not None and layout.is_whole and budget > 0:
                    return self._regrouped(memory, index, writers, dims, budget - 1, fused)
            if can_write_rows(layout, box, mask):
                return write_rows(memory, layout, writers.value, box, mask, self.combiner)
            is_injective = mask.is_true and all(isinstance(axis.way, Point | Line) for axis in layout.axes)
            return scatter(memory, index, writers.value, box, mask, dims, self.combiner, is_injective)
        boxes = _boxes_of(mask, box)
        if 1 < len(boxes) <= budget:
            for part in boxes:
                smaller = replace(writers, value=writers.value.at(part), box=part)
                memory = self.run(memory, index, smaller, dims, budget // len(boxes))
            return memory
        return write(memory, layout, targets, writers.value, box, mask, self.combiner)

    def _regrouped(
        self,
        memory: Value,
        index: Index,
        writers: RacingWriters,
        dims: tuple[Dimension, ...],
        budget: int,
        regrouping: Regrouping,
    ) -> Value:
        """The same over other dimensions."""
        new = [each for replacement in regrouping.replacements.values() for each in replacement.dimensions]
        dims = in_order([*(each for each in dims if each not in regrouping.removed), *new])
        box = writers.box.without(regrouping.removed)
        mask = regrouped_predicate(writers.mask, regrouping, writers.box) & regrouping.bounds(writers.box)
        value = regrouping.forward(writers.value, writers.box)
        index = regrouped_index(index, regrouping, writers.box)
        return self.run(memory, index, replace(writers, value=value, box=box, mask=mask), dims, budget)

    def _line_with_guard(self, layout: Layout, box: Box, mask: Predicate) -> Regrouping | None:
        """The dimensions of a line as one, where the mask asks something of all of them: perhaps a range of places."""
        if not layout.is_whole:
            return None
        for axis in layout.axes:
            way = axis.way
            if isinstance(way, Line) and any(part.dimensions == frozenset(way.dims) for part in mask.conjuncts()):
                fused = fuse_line(way, box)
                if fused is not None:
                    return fused
        return None

    def _without_races(self, index: Index, writers: RacingWriters, dims: tuple[Dimension, ...]) -> RacingWriters | None:
        """RacingWriters that no two of which differ in nothing but dimensions that the index does not depend on."""
        every = {*writers.value.dims, *writers.mask.dimensions, *dims}
        shared = in_order(every - index.dimensions)
        if not shared:
            return writers
        if self.combiner is None:
            return settle(writers, shared)
        return combine_over(writers, shared, self.combiner)


def _boxes_of(mask: Predicate, box: Box) -> list[Box]:
    """The box taken apart where the mask holds on all of a slab of it, whatever else it asks for elsewhere.

    So a store where `j == last or is_land` writes the last row as a whole.
    """
    if isinstance(mask, Disjunction):
        for part in mask.parts:
            slab, residual = part.split(box)
            cut = [each for each in slab.restricted if slab.bounds(each) != box.bounds(each)]
            if not residual.is_true or len(cut) != 1:
                continue
            (lower, upper), (first, last) = box.bounds(cut[0]), slab.bounds(cut[0])
            ranges = [(lower, first), (first, last), (last, upper)]
            return [box.restrict(cut[0], *bounds) for bounds in ranges if bounds[0] < bounds[1]]
    return [box]


def _parts_of(layout: Layout, box: Box) -> list[Box]:
    """Boxes in which each piecewise axis has one piece, and in which all lanes along a line are inside of its axis."""
    parts = [box]
    for axis in layout.axes:
        way, size = axis.way, axis.size
        if isinstance(way, Window):
            way, size = way.inner, way.size
        if isinstance(way, Segments):
            parts = [part.restrict(way.dimension, piece.lower, piece.upper) for part in parts for piece in way.pieces]
        elif isinstance(way, Line):
            bounds = _bounds_inside(way, size, box)
            if bounds is not None:
                parts = [part.restrict(way.dims[0], *bounds) for part in parts]
    return parts


def _bounds_inside(line: Line, size: int, box: Box) -> tuple[int, int] | None:
    """The range of a line's only dimension in which its places are inside of the axis."""
    if len(line.dims) != 1:
        return None
    (dimension,) = line.dims
    lower, upper = box.bounds(dimension)
    count = upper - lower
    first = max(0, -(line.first // line.step))
    last = min(count, (size - 1 - line.first) // line.step + 1)
    if line.reversed:
        first, last = count - last, count - first
    if last <= first:
        return lower, lower
    return lower + first, lower + last
