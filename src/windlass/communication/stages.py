"""One region of local code, an `sdy.manual_computation`.

It begins with the halos of what it takes. Then every op works on the device's own part, and on as much around it as
others read of its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from windlass.communication.combining import combine_folds
from windlass.communication.halo_exchange import Channels, count_traffic, exchange_halos
from windlass.communication.invariants import Invariants, Unchanged, find_unchanged
from windlass.communication.local_regions import embed, extended_shape, local_shape, make_region, whole_shape
from windlass.communication.machines import Machine
from windlass.communication.needs import Extents, Halo, Sharers, add_box, hull_of, may_differ, put_together
from windlass.communication.places import EVERY, OWN, Read, owner_of
from windlass.communication.positions import Positions
from windlass.communication.propagation import Divisions, Propagation
from windlass.communication.reading import Making, Reader, Step, Unreadable
from windlass.diagnostics import Position
from windlass.ir import Block, Builder, Value, tensor_type
from windlass.ir.core import Op
from windlass.ops import Concatenate, Constant, DynamicUpdateSlice, OptimizationBarrier, Pad, Slice

MOST_BOXES, MOST_BOXES_APART = 24, 120
"""So many places are told apart of which devices need an array: of more, all that is between. More of them where it is
told apart which devices need which."""
Parts = dict[Value, tuple[Value, Extents]]
"""What a device holds of each array, and at which positions."""


@dataclass
class Stage:
    """One region: its ops in order, those that are made anew included."""

    propagation: Propagation
    block: Block
    """Where the ops are from."""
    ops: list[Op]
    reader: Reader
    inputs: list[Value] = field(default_factory=list[Value])
    outputs: list[Value] = field(default_factory=list[Value])
    places: dict[Value, tuple[int, ...]] = field(default_factory=dict[Value, "tuple[int, ...]"])
    """Where each result begins in the array of the divided extent that holds it."""
    widths: dict[Value, float] = field(default_factory=dict[Value, float])
    shares: dict[Value, float] = field(default_factory=dict[Value, float])
    """Those that were asked for."""
    strained: set[Op] = field(default_factory=set[Op])
    """Ops whose results devices have for their own positions only, where more is needed."""
    boxes: dict[Value, dict[Extents, Sharers]] = field(default_factory=dict[Value, "dict[Extents, Sharers]"])
    """What is needed of each array."""
    is_told_apart: bool = False
    """Whether it is known which devices need which boxes."""
    unchanged: dict[Value, Unchanged] = field(default_factory=dict[Value, Unchanged])
    """The inputs whose halos are exchanged before a loop that leaves them as they are."""
    sources: dict[Value, Position | None] | None = None
    """Where arrays are read at a distance, once that was asked for."""

    def read(self, outputs: Iterable[Value]) -> list[Op]:
        """Read the ops, and find out what is needed for these results.

        Gives the ops that keep the region from being one.
        """
        reader = self.reader
        unreadable: list[Op] = []
        for op in self.ops:
            try:
                reader.read(op)
            except Unreadable as error:
                unreadable.append(error.op)
        if unreadable:
            return unreadable
        for value in outputs:
            try:
                self._give(value)
            except Unreadable as error:
                unreadable.append(error.op)
        if unreadable:
            return unreadable
        self._find_needs()
        if any(may_differ(self.boxes[value], self._divisions(value)) for value in self.inputs):
            self.is_told_apart = True
            self._find_needs()
        for value in self.inputs:
            if self.width_of(value) > 0 and (found := find_unchanged(value, self.block)) is not None:
                self.unchanged[value] = found
        return []

    def _find_needs(self) -> None:
        """What devices need of each array, from the results to what they are made of."""
        reader, most = self.reader, MOST_BOXES_APART if self.is_told_apart else MOST_BOXES
        self.boxes.clear()
        self.strained.clear()
        for value in self.outputs:
            rank = len(value.shape)
            self._need(self._read_given(value), {((0, 0),) * rank: (EVERY,) * rank})
        for step in reversed(reader.steps):
            needed: dict[Extents, Sharers] = {}
            for result in step.op.results:
                for box, sharers in self.boxes.get(result, {}).items():
                    add_box(needed, box, sharers)
            if not needed:
                continue
            if len(needed) > most:
                needed = put_together(needed, self._divisions(step.op.results[0]))
            if len(needed) > most:
                needed = {hull_of(needed): (EVERY,) * len(next(iter(needed)))}
            if any(box[axis] != (0, 0) for box in needed for axis in step.own):
                self.strained.add(step.op)
                continue
            for result in step.op.results:
                self.boxes[result] = needed
            for read in step.reads:
                self._need(read, needed)
        made = {result for step in reader.steps for result in step.op.results}
        self.inputs = [value for value in self.boxes if value not in made]

    def strainers(self) -> set[Op]:
        """The ops that read elsewhere what devices have, or make of what they have, for their own positions only."""
        own: set[Value] = set()
        found: set[Op] = set()
        for step in self.reader.steps:
            taken = [read for read in step.reads if read.base in own]
            if any(any(read.distances) for read in taken):
                found.add(step.op)
            if taken or step.op in self.strained:
                own.update(step.op.results)
        for value in self.outputs:
            read, owner = self._read_given(value), owner_of(value)
            if owner is not None and read.base in own and any(read.distances):
                found.add(owner)
        return found - self.strained

    def _give(self, value: Value) -> None:
        owner = owner_of(value)
        assert owner is not None
        divisions = self.reader.divisions(value, owner)
        if any(each is not None and size > each.extent for size, each in zip(value.shape, divisions, strict=True)):
            raise Unreadable(owner)
        self.outputs.append(value)
        self.places[value] = self._place(value)

    def _place(self, value: Value) -> tuple[int, ...]:
        """Where as few elements move as may be."""
        starts = self.reader.locals[value].starts
        return tuple(
            0 if each is None else min(max(start, 0), each.extent - size)
            for start, size, each in zip(starts, value.shape, self._divisions(value), strict=True)
        )

    def _read_given(self, value: Value) -> Read:
        local, divisions = self.reader.locals[value], self._divisions(value)
        places = self.places[value]
        axes = tuple(axis if division is not None else None for axis, division in enumerate(divisions))
        ring = self.reader.ring
        distances = (ring.distance(local, axis, place, axis, divisions) for axis, place in enumerate(places))
        return Read(local.base, axes, tuple(distances))

    def _need(self, read: Read, boxes: Mapping[Extents, Sharers]) -> None:
        for span in read.spans:
            axis, clipped = span.axis, dict[Extents, Sharers]()
            for box, sharers in boxes.items():
                for place, parts in span.clip(*box[axis], self.is_told_apart).items():
                    if parts & sharers[axis]:
                        own = (*sharers[:axis], parts & sharers[axis], *sharers[axis + 1 :])
                        add_box(clipped, (*box[:axis], place, *box[axis + 1 :]), own)
            boxes = clipped
        if not boxes:
            return  # what matters nowhere is not taken at all
        found = self.boxes.setdefault(read.base, {})
        moves = list(zip(read.axes, read.distances, strict=True))
        whole = [own for own, axis in enumerate(read.axes) if axis is None]
        is_in_place = not any(read.distances) and all(axis in (None, own) for own, axis in enumerate(read.axes))
        if is_in_place and all(len(box) == len(moves) and all(box[own] == (0, 0) for own in whole) for box in boxes):
            moved = boxes
        else:
            moved = dict[Extents, Sharers]()
            for box, sharers in boxes.items():
                place = tuple([_moved(box, axis, distance) for axis, distance in moves])
                add_box(
                    moved, place, tuple([EVERY if axis is None or axis == OWN else sharers[axis] for axis, _ in moves])
                )
        if found:
            for box, sharers in moved.items():
                add_box(found, box, sharers)
        else:
            found.update(moved)

    def extents(self, value: Value) -> Extents:
        """The positions that a device holds of an array; of one from outside at least its own."""
        boxes = self.boxes[value]
        return hull_of({*boxes, ((0, 0),) * len(value.shape)} if value in self.inputs else boxes)

    def width(self) -> float:
        """The widest halo, as a share of what a device holds along that axis."""
        return max(map(self.width_of, self.inputs), default=0.0)

    def width_of(self, value: Value) -> float:
        """How far what is needed of an array goes beyond what a device holds, as a share of that."""
        if value in self.widths or value not in self.boxes:
            return self.widths.get(value, 0.0)
        shares = [0.0]
        for division, extent in zip(self._divisions(value), hull_of(self.boxes[value]), strict=True):
            if division is not None:
                shares.append(max(-extent[0], extent[1]) / division.length)
        self.widths[value] = max(shares)
        return self.widths[value]

    def share(self) -> float:
        """The most that a device is sent of an array from one end of an axis, as a share of what it holds there."""
        return max(map(self.share_of, self.inputs), default=0.0)

    def share_of(self, value: Value) -> float:
        """The same of one array: what lies between strips that are sent does not count."""
        if value not in self.shares:
            halo = self._halo(value)
            sizes = [
                way.size / division.length
                for axis, division in enumerate(halo.divisions)
                if division is not None
                for end in (0, 1)
                for way in halo.ways(axis, end, ())
            ]
            self.shares[value] = max(sizes, default=0.0)
        return self.shares[value]

    def cost(self, machine: Machine) -> float:
        """How long the exchange of halos takes, by estimate, but for what is exchanged before loops."""
        halos = [self._halo(value) for value in self.inputs if value not in self.unchanged]
        return machine.cost(*count_traffic(self.propagation.mesh, halos))

    def _halo(self, value: Value, part: Value | None = None) -> Halo:
        divisions = self._divisions(value)
        if part is None:
            (part,) = Block([tensor_type(local_shape(value, divisions), value.dtype)]).arguments
        return Halo(part, divisions, self.boxes[value], self._reader_of(value))

    def _reader_of(self, value: Value) -> Position | None:
        """Where the source reads an array at a distance."""
        if self.sources is None:
            self.sources = {}
            for step in self.reader.steps:
                for read in step.reads:
                    if any(read.distances):
                        self.sources.setdefault(read.base, step.op.source)
        return self.sources.get(value)

    # -- made -----------------------------------------------------------------------------------------------------

    def make(self, channels: Channels, replaced: Mapping[Value, Value], invariants: Invariants) -> dict[Value, Value]:
        """The region, at the place of the active builder; gives the array that holds each output, from its place on.

        `replaced` tells what holds the outputs of regions before.
        """
        taken, divided = ([self._divisions(value) for value in values] for values in (self.inputs, self.outputs))
        operands: list[Value] = []
        shapes: list[tuple[int, ...]] = []
        for value, divisions in zip(self.inputs, taken, strict=True):
            if value in self.unchanged:
                goes_round = self.reader.ring.goes_round
                operands.append(invariants.widen(self.unchanged[value], self._halo(value), goes_round))
                shapes.append(extended_shape(value, divisions, self.extents(value)))
            else:
                starts = [
                    0 if each is None else self.reader.offset(value, axis, each) for axis, each in enumerate(divisions)
                ]
                operands.append(embed(replaced.get(value, value), divisions, starts))
                shapes.append(local_shape(value, divisions))
        block = Block([tensor_type(shape, value.dtype) for value, shape in zip(self.inputs, shapes, strict=True)])
        with Builder(block):
            parts = self._make_parts(block, channels)
            given = [self._take(self._read_given(value), ((0, 0),) * len(value.shape), parts) for value in self.outputs]
        types = [
            tensor_type(whole_shape(value, each), value.dtype)
            for value, each in zip(self.outputs, divided, strict=True)
        ]
        results = make_region(self.propagation.mesh, block, given, operands, taken, types, divided)
        combine_folds(block)
        for value, result in zip(self.outputs, results, strict=True):
            self.propagation.join_all(value, result)
        return dict(zip(self.outputs, results, strict=True))

    def _make_parts(self, block: Block, channels: Channels) -> Parts:
        given: dict[Value, Value] = dict(zip(self.inputs, block.arguments, strict=True))
        changed = [value for value in self.inputs if value not in self.unchanged]
        halos = [self._halo(value, given[value]) for value in changed]
        extended = exchange_halos(self.propagation.mesh, halos, self.reader.ring.goes_round, channels)
        given.update(zip(changed, extended, strict=True))
        parts: Parts = {value: (part, self.extents(value)) for value, part in given.items()}
        positions = Positions(self.propagation.mesh)
        kept = self._find_kept()
        for step in self.reader.steps:
            results = step.op.results
            if results[0] not in self.boxes:
                continue
            needed = self.extents(results[0])
            with Builder(block, source=step.op.source):
                self._make_step(step, needed, parts, positions, channels)
                if results[0] in kept:
                    (part,) = OptimizationBarrier((parts[results[0]][0],)).results
                    parts[results[0]] = part, needed
        return parts

    def _find_kept(self) -> set[Value]:
        """What is put together of parts and read at several distances: XLA would do that again for each of them."""
        read: dict[Value, set[tuple[int, ...]]] = {}
        joining = (Concatenate, DynamicUpdateSlice)
        for step in self.reader.steps:
            if not isinstance(step.op, joining):
                for each in step.reads:
                    read.setdefault(each.base, set()).add(each.distances)
        return {value for value, found in read.items() if len(found) > 1 and isinstance(value, joining)}

    def _make_step(self, step: Step, extents: Extents, parts: Parts, positions: Positions, channels: Channels) -> None:
        op = step.op
        divisions = self._divisions(op.results[0])
        shape = tuple(
            size if division is None else division.length + extent[1] - extent[0]
            for size, division, extent in zip(op.results[0].shape, divisions, extents, strict=True)
        )
        taken = [self._take(read, extents, parts) for read in step.reads]
        made = step.make(Making(divisions, shape, extents, positions, channels), taken)
        for result, part in zip(op.results, made, strict=True):
            if part.shape != shape:
                raise Unreadable(op)
            parts[result] = (part, extents)

    def _take(self, read: Read, extents: Extents, parts: Parts) -> Value:
        """The part of an array that the result's positions need; zeros where it does not matter what is there."""
        if read.base not in parts:
            shape = [
                size if division is None or axis is None else division.length + extents[axis][1] - extents[axis][0]
                for size, division, axis in zip(read.base.shape, self._divisions(read.base), read.axes, strict=True)
            ]
            return Constant.of(0, read.base.dtype, tuple(shape))
        part, held = parts[read.base]
        divisions = self._divisions(read.base)
        first, limits = [0] * len(divisions), list(part.shape)
        for own, axis in enumerate(read.axes):
            division = divisions[own]
            if axis is not None and division is not None:
                low, high = (0, 0) if axis == OWN else extents[axis]
                first[own] = low + read.distances[own] - held[own][0]
                limits[own] = first[own] + division.length + high - low
        if not any(first) and tuple(limits) == part.shape:
            return part
        cut = [
            (max(0, min(begin, size)), max(0, min(end, size)))
            for begin, end, size in zip(first, limits, part.shape, strict=True)
        ]
        if any(begin >= end for begin, end in cut):
            return Constant.of(0, part.dtype, tuple(end - begin for begin, end in zip(first, limits, strict=True)))
        starts, ends = zip(*cut, strict=True)
        found: Value = Slice(part, starts, ends, (1,) * len(first))
        lows = tuple(own - begin for own, begin in zip(starts, first, strict=True))
        highs = tuple(end - own for own, end in zip(ends, limits, strict=True))
        if any((*lows, *highs)):
            found = Pad(found, Constant.of(0, part.dtype), lows, highs, (0,) * len(lows))
        return found

    def _divisions(self, value: Value) -> Divisions:
        found = self.propagation.divisions(value)
        assert found is not None
        return found


def _moved(box: Extents, axis: int | None, distance: int) -> tuple[int, int]:
    """Where along an axis an op reads what is at these places of the result, at this distance along that axis of it."""
    if axis is None:
        return 0, 0
    if axis == OWN:
        return distance, distance
    low, high = box[axis]
    return low + distance, high + distance
