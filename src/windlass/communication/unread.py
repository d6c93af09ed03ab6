"""Updates that nobody reads, such as ghost cells that a loop fills in each round and no stencil looks at.

What a device would have to send for them is known only of a program as a whole: the box of each value's elements that
are read is found from the results back to the arguments, around loops until it grows no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from windlass.communication.propagation import CONSTRAINT, Propagation
from windlass.communication.reading import BY_LETTERS
from windlass.facts.boxes import ElementBox
from windlass.facts.known_values import known_starts
from windlass.ir import Block, Builder, Function, TensorType, Value
from windlass.ir.captures import captures
from windlass.ir.core import Op
from windlass.ops import (
    Branching,
    Concatenate,
    Constant,
    DynamicUpdateSlice,
    Opaque,
    Pad,
    Slice,
    TensorOp,
    While,
)

MOST_ROUNDS = 4
"""So often a loop is looked at: what is read of a value that still grows then is all of it."""


def drop_unread_updates(function: Function, propagation: Propagation) -> bool:
    """Leave out of updates along divided axes what nobody reads, in place; whether anything changed."""
    reads = _Reads()
    reads.visit(function.body)
    changed = False
    for op in list(function.walk()):
        if isinstance(op, DynamicUpdateSlice) and op.block in reads.blocks:
            changed = _cut_down(op, reads.found.get(op), propagation) or changed
    return changed


def _cut_down(op: DynamicUpdateSlice, read: ElementBox | None, propagation: Propagation) -> bool:
    """Update as much as is read, along the divided axes that it updates a part of."""
    starts = known_starts(op.start_indices, op.shape, op.update.shape)
    divisions = propagation.divisions(op)
    if starts is None or not divisions or not any(divisions) or op.block is None:
        return False
    updated = ElementBox.at(starts, op.update.shape)
    both = None if read is None else updated.meet(read)
    if both is None or 0 in both.shape:
        op.replace_all_uses_with(op.operand)
        op.erase()
        return True
    first, limit = list(updated.start), list(updated.limit)
    for axis, division in enumerate(divisions):
        if division is not None and op.update.shape[axis] != op.shape[axis]:
            first[axis], limit[axis] = both.start[axis], both.limit[axis]
    kept = ElementBox(tuple(first), tuple(limit))
    if kept == updated:
        return False
    seen = kept.seen_from(updated.start)
    with Builder(op.block, before=op, source=op.source):
        part = Slice(op.update, seen.start, seen.limit, (1,) * len(first))
        places = tuple(Constant.of(place, start.dtype) for place, start in zip(first, op.start_indices, strict=True))
        found = DynamicUpdateSlice(op.operand, part, places)
    propagation.join_all(op.update, part)
    propagation.join_all(op, found)
    op.replace_all_uses_with(found)
    op.erase()
    return True


@dataclass
class _Reads:
    """For each value a box around all of its elements that are read; none where nothing is."""

    found: dict[Value, ElementBox] = field(default_factory=dict[Value, ElementBox])
    blocks: set[Block] = field(default_factory=set[Block])
    """Those whose ops were looked at."""

    def add(self, value: Value, box: ElementBox | None) -> bool:
        """Note that a box of a value is read; whether that is more than was known."""
        if box is None or not isinstance(value.type, TensorType) or 0 in box.shape:
            return False
        known = self.found.get(value)
        hull = box if known is None else _hull((known, box))
        self.found[value] = hull
        return hull != known

    def add_whole(self, values: Iterable[Value]) -> None:
        for value in values:
            if isinstance(value.type, TensorType):
                # Scalars are read, too.
                self.found[value] = ElementBox.whole(value.shape)

    def visit(self, block: Block, given: Sequence[ElementBox | None] | None = None) -> None:
        """Find what ops of a block read, where so much is read of what it gives; where nothing is said, all."""
        *ops, terminator = block
        self.blocks.add(block)
        if given is None:
            self.add_whole(terminator.operands)
        else:
            for value, box in zip(terminator.operands, given, strict=True):
                self.add(value, box)
        for op in reversed(ops):
            if not op.is_pure or any(result in self.found for result in op.results):
                self._visit(op)

    def _visit(self, op: Op) -> None:
        match op:
            case While() if op.is_pure:
                self._visit_loop(op)
            case Branching() if op.is_pure:
                self.add_whole(op.operands)
                for region in op.regions:
                    self.visit(region.block, [self.found.get(result) for result in op.results])
            case Slice():
                self._visit_slice(op, self.found[op])
            case Pad() if not any(op.interior_padding):
                lows = op.edge_padding_low
                self.add(op.operand, self.found[op].seen_from(lows).meet(ElementBox.whole(op.operand.shape)))
                self.add_whole((op.padding_value,))
            case Concatenate():
                self._visit_concatenate(op, self.found[op])
            case DynamicUpdateSlice():
                self._visit_update(op, self.found[op])
            case Opaque() if op.operation == CONSTRAINT and op.results[0] in self.found:
                self.add(op.inputs[0], self.found[op.results[0]])
            case TensorOp() if isinstance(op, BY_LETTERS):
                self._visit_by_letters(op)
            case _:
                self._visit_any(op)

    def _visit_any(self, op: Op) -> None:
        self.add_whole(op.operands)
        for region in op.regions:
            self.add_whole(captures(region))

    def _visit_loop(self, loop: While) -> None:
        body, given = loop.body.block, loop.body.block.terminator.operands
        self.visit(loop.cond.block)
        for _ in range(MOST_ROUNDS):
            self.visit(body, [self._read_of(loop, place) for place in range(len(given))])
            growing = [place for place, value in enumerate(given) if self.add(value, self._read_of(loop, place))]
            if not growing:
                break
        else:
            # What is read of these may go on growing, and so may what is read of all others.
            self.add_whole(given)
            self.add_whole(body.arguments)
            self.visit(body)
        for place, operand in enumerate(loop.operands):
            self.add(operand, self._read_of(loop, place))

    def _read_of(self, loop: While, place: int) -> ElementBox | None:
        """What is read of a carried value, by what comes after a round."""
        values = (loop.results[place], loop.body.block.arguments[place], loop.cond.block.arguments[place])
        boxes = [box for value in values if (box := self.found.get(value)) is not None]
        return _hull(boxes) if boxes else None

    def _visit_slice(self, op: Slice, box: ElementBox) -> None:
        bounds = list(zip(op.start_indices, op.strides, box.start, box.limit, strict=True))
        start = tuple(first + step * low for first, step, low, _ in bounds)
        limit = tuple(first + step * (high - 1) + 1 for first, step, _, high in bounds)
        self.add(op.operand, ElementBox(start, limit))

    def _visit_concatenate(self, op: Concatenate, box: ElementBox) -> None:
        place = 0
        for value in op.inputs:
            first = tuple(place if axis == op.dimension else 0 for axis in range(len(box.start)))
            self.add(value, box.seen_from(first).meet(ElementBox.whole(value.shape)))
            place += value.shape[op.dimension]

    def _visit_update(self, op: DynamicUpdateSlice, box: ElementBox) -> None:
        self.add_whole(op.start_indices)
        starts = known_starts(op.start_indices, op.shape, op.update.shape)
        if starts is None:
            self.add(op.operand, box)
            self.add_whole((op.update,))
            return
        updated = box.meet(ElementBox.at(starts, op.update.shape))
        if 0 in updated.shape:
            self.add(op.operand, box)
            return
        self.add(op.update, updated.seen_from(starts))
        for rest in box.around(updated):
            self.add(op.operand, rest)

    def _visit_by_letters(self, op: TensorOp) -> None:
        axes = op.axes()
        if axes is None:
            self._visit_any(op)
            return
        read: dict[int, tuple[int, int]] = {}
        for result, row in zip(op.results, axes.results, strict=True):
            box = self.found.get(result)
            for axis, letters in enumerate(row if box is not None else ()):
                if box is not None and letters is not None and len(letters) == 1:
                    low, high = read.get(letters[0], (box.start[axis], box.limit[axis]))
                    read[letters[0]] = min(low, box.start[axis]), max(high, box.limit[axis])
        for value, row in zip(op.operands, axes.operands, strict=True):
            if not isinstance(value.type, TensorType):
                continue
            ranges = [
                read.get(letters[0], (0, size)) if letters is not None and len(letters) == 1 else (0, size)
                for letters, size in zip(row, value.shape, strict=True)
            ]
            self.add(value, ElementBox(tuple(low for low, _ in ranges), tuple(high for _, high in ranges)))
        for region in op.regions:
            self.add_whole(captures(region))


def _hull(boxes: Iterable[ElementBox]) -> ElementBox:
    """The box around boxes."""
    starts, limits = zip(*((box.start, box.limit) for box in boxes), strict=True)
    lows, highs = (zip(*corners, strict=True) for corners in (starts, limits))
    return ElementBox(tuple(map(min, lows)), tuple(map(max, highs)))
