"""One region of local code, an `sdy.manual_computation`.

It begins with the halos of what it takes. Then every op works on the device's own part, and on as much around it as
others read of its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windlass.communication.combining import combine_folds
from windlass.communication.halo_exchange import Channels, Extents, Halo, count_traffic, exchange_halos
from windlass.communication.machines import Machine
from windlass.communication.places import OWN, Read, owner_of
from windlass.communication.positions import Positions
from windlass.communication.propagation import Divisions, Propagation
from windlass.communication.reading import Making, Reader, Step, Unreadable
from windlass.diagnostics import Position
from windlass.ir import Block, Builder, Region, Value, tensor_type
from windlass.ir.core import Op
from windlass.ops import Constant, Opaque, OpaqueTerminator, Pad, Slice
from windlass.ops.shardings import MANUAL, Sharding

END = "sdy.return"
MOST_BOXES = 24
"""So many places are told apart of which a device needs an array: of more, all that is between."""
Parts = dict[Value, tuple[Value, Extents]]
"""What a device holds of each array, and at which positions."""


@dataclass
class Stage:
    """One region: its ops in order, those that are made anew included."""

    propagation: Propagation
    ops: list[Op]
    reader: Reader
    inputs: list[Value] = field(default_factory=list[Value])
    outputs: list[Value] = field(default_factory=list[Value])
    places: dict[Value, tuple[int, ...]] = field(default_factory=dict[Value, "tuple[int, ...]"])
    """Where each result begins in the array of the divided extent that holds it."""
    widths: dict[Value, float] = field(default_factory=dict[Value, float])
    """Those that were asked for."""
    boxes: dict[Value, set[Extents]] = field(default_factory=dict[Value, "set[Extents]"])
    """What is needed of each array."""

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
        for step in reversed(reader.steps):
            needed = set[Extents]().union(*(self.boxes.get(result, ()) for result in step.op.results))
            if not needed:
                continue
            if len(needed) > MOST_BOXES:
                needed = {_hull(needed)}
            if step.own is not None and any(box[step.own] != (0, 0) for box in needed):
                return [step.op]
            for result in step.op.results:
                self.boxes[result] = needed
            for read in step.reads:
                self._need(read, needed)
        made = {result for step in reader.steps for result in step.op.results}
        self.inputs = [value for value in self.boxes if value not in made]
        return []

    def _give(self, value: Value) -> None:
        owner = owner_of(value)
        assert owner is not None
        divisions = self.reader.divisions(value, owner)
        if any(each is not None and size > each.extent for size, each in zip(value.shape, divisions, strict=True)):
            raise Unreadable(owner)
        self.outputs.append(value)
        self.places[value] = self._place(value)
        self._need(self._read_given(value), [((0, 0),) * len(divisions)])

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

    def _need(self, read: Read, boxes: Iterable[Extents]) -> None:
        for span in read.spans:
            boxes = [
                (*box[: span.axis], clipped, *box[span.axis + 1 :])
                for box in boxes
                for clipped in span.clip(*box[span.axis])
            ]
        self.boxes.setdefault(read.base, set()).update(
            tuple(
                (0, 0)
                if axis is None
                else (distance, distance)
                if axis == OWN
                else (box[axis][0] + distance, box[axis][1] + distance)
                for axis, distance in zip(read.axes, read.distances, strict=True)
            )
            for box in boxes
        )

    def extents(self, value: Value) -> Extents:
        """The positions that a device holds of an array; of one from outside at least its own."""
        boxes = self.boxes[value]
        return _hull({*boxes, ((0, 0),) * len(value.shape)} if value in self.inputs else boxes)

    def width(self) -> float:
        """The widest halo, as a share of what a device holds along that axis."""
        return max(map(self.width_of, self.inputs), default=0.0)

    def width_of(self, value: Value) -> float:
        """How far what is needed of an array goes beyond what a device holds, as a share of that."""
        if value in self.widths or value not in self.boxes:
            return self.widths.get(value, 0.0)
        shares = [0.0]
        for division, extent in zip(self._divisions(value), _hull(self.boxes[value]), strict=True):
            if division is not None:
                shares.append(max(-extent[0], extent[1]) / division.length)
        self.widths[value] = max(shares)
        return self.widths[value]

    def cost(self, machine: Machine) -> float:
        """How long the exchange of halos takes, by estimate."""
        types = [_local_type(value, self._divisions(value)) for value in self.inputs]
        parts = Block(types).arguments
        halos = [
            Halo(part, self._divisions(value), self.boxes[value])
            for value, part in zip(self.inputs, parts, strict=True)
        ]
        return machine.cost(*count_traffic(self.propagation.mesh, halos))

    # -- made -----------------------------------------------------------------------------------------------------

    def make(self, channels: Channels, replaced: Mapping[Value, Value]) -> dict[Value, Value]:
        """The region, at the place of the active builder; gives the array that holds each output, from its place on.

        `replaced` tells what holds the outputs of regions before.
        """
        mesh = self.propagation.mesh
        block = Block([_local_type(value, self._divisions(value)) for value in self.inputs])
        with Builder(block):
            parts = self._make_parts(block, channels)
            results = [
                self._take(self._read_given(value), ((0, 0),) * len(value.shape), parts) for value in self.outputs
            ]
            OpaqueTerminator(END, tuple(results), (), (), ())
        combine_folds(block)

        def list_shardings(values: Sequence[Value]) -> str:
            texts = [
                Sharding(mesh, tuple(() if each is None else each.names for each in self._divisions(value))).text
                for value in values
            ]
            return f"#sdy.sharding_per_value<[{', '.join(texts)}]>"

        names = ", ".join(f'"{name}"' for name, _ in mesh.axes)
        texts = (
            ("in_shardings", list_shardings(self.inputs)),
            ("out_shardings", list_shardings(self.outputs)),
            ("manual_axes", f"#sdy<manual_axes{{{names}}}>"),
        )
        types = tuple(tensor_type(self._whole(value), value.dtype) for value in self.outputs)
        operands = tuple(self._embed(replaced.get(value, value), value) for value in self.inputs)
        region = Opaque(MANUAL, operands, types, texts, (Region(block),))
        for value, result in zip(self.outputs, region.results, strict=True):
            self.propagation.join_all(value, result)
        return dict(zip(self.outputs, region.results, strict=True))

    def _whole(self, value: Value) -> tuple[int, ...]:
        """The shape of the array that holds a value from or for outside."""
        return tuple(
            size if each is None else each.extent
            for size, each in zip(value.shape, self._divisions(value), strict=True)
        )

    def _embed(self, given: Value, value: Value) -> Value:
        """What is given for a value, in an array of the divided extent."""
        shape = self._whole(value)
        if given.shape == shape:
            return given
        lows = tuple(
            0 if each is None else self.reader.offset(value, axis, each)
            for axis, each in enumerate(self._divisions(value))
        )
        highs = tuple(size - low - own for size, low, own in zip(shape, lows, given.shape, strict=True))
        return Pad(given, Constant.of(0, given.dtype), lows, highs, (0,) * len(lows))

    def _make_parts(self, block: Block, channels: Channels) -> Parts:
        readers: dict[Value, Position | None] = {}
        for step in self.reader.steps:
            for read in step.reads:
                if any(read.distances):
                    readers.setdefault(read.base, step.op.source)
        halos = [
            Halo(part, self._divisions(value), self.boxes[value], readers.get(value))
            for value, part in zip(self.inputs, block.arguments, strict=True)
        ]
        extended = exchange_halos(self.propagation.mesh, halos, self.reader.ring.goes_round, channels)
        parts: Parts = {value: (part, self.extents(value)) for value, part in zip(self.inputs, extended, strict=True)}
        positions = Positions(self.propagation.mesh)
        for step in self.reader.steps:
            results = step.op.results
            if results[0] not in self.boxes:
                continue
            needed = self.extents(results[0])
            with Builder(block, source=step.op.source):
                self._make_step(step, needed, parts, positions, channels)
        return parts

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


def _local_type(value: Value, divisions: Divisions) -> Any:
    shape = tuple(size if each is None else each.length for size, each in zip(value.shape, divisions, strict=True))
    return tensor_type(shape, value.dtype)


def _hull(boxes: Iterable[Extents]) -> Extents:
    """The positions in any of the boxes, and those between."""
    return tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in zip(*boxes, strict=True))
