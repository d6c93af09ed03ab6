"""How each op reads what devices hold: what it takes at which distances, and how its part is made on one device.

An op that only moves its operand along divided axes, as slices do, makes nothing: its value is the operand's array with
another start. All others are a `Step`: reads of arrays at distances, and ops on the parts that were read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from windlass.communication.halo_exchange import FIRST_FOR_FOLDS, Channels
from windlass.communication.layouts import moving_between
from windlass.communication.local_regions import middle
from windlass.communication.needs import Extents
from windlass.communication.ordered_numbers import from_ordered, to_ordered
from windlass.communication.places import OWN, Local, Read, Ring, Span, owner_of
from windlass.communication.positions import Positions
from windlass.communication.propagation import Division, Divisions, Propagation
from windlass.communication.resharding import layout_of, send_to_all
from windlass.communication.running_folds import make_running_sums, running_axis
from windlass.facts.known_values import known_start
from windlass.ir import Region, Value
from windlass.ir.captures import captures
from windlass.ir.core import Op
from windlass.ops import (
    AllReduce,
    And,
    BitcastConvert,
    BroadcastInDim,
    Cholesky,
    Compare,
    Concatenate,
    Constant,
    Convert,
    Convolution,
    DotGeneral,
    DynamicSlice,
    DynamicUpdateSlice,
    Fft,
    Iota,
    Maximum,
    Minimum,
    Opaque,
    Or,
    Pad,
    Reduce,
    ReduceWindow,
    Reshape,
    Reverse,
    Select,
    Slice,
    Sort,
    TensorOp,
    TopK,
    Transpose,
    TriangularSolve,
)
from windlass.ops.combiners import combiner_region, is_identity
from windlass.ops.conversion import bit_width
from windlass.ops.pointwise import Elementwise

BY_LETTERS = (
    Elementwise, BitcastConvert, BroadcastInDim, Cholesky, Convolution, DotGeneral, DynamicSlice, Fft, Reduce,
    ReduceWindow, Reshape, Reverse, Sort, TopK, Transpose, TriangularSolve,
)  # fmt: skip
"""Ops that do the same on a part of an axis as on the whole of it, where their letters keep the axis."""
READABLE = (*BY_LETTERS, Concatenate, Constant, DynamicUpdateSlice, Iota, Pad, Slice)


class Unreadable(Exception):
    """The op has no form in which devices work on their parts."""

    def __init__(self, op: Op) -> None:
        super().__init__(type(op).__name__)
        self.op = op


@dataclass
class Making:
    """What the ops of one step are made for: the result's local shape and extents."""

    divisions: Divisions
    shape: tuple[int, ...]
    extents: Extents
    positions: Positions
    channels: Channels

    def __post_init__(self) -> None:
        self.mesh = self.positions.mesh

    def indices(self, axis: int, start: int, is_ring: bool) -> Value:
        division = self.divisions[axis]
        assert division is not None
        return self.positions.indices(division, start, self.extents[axis][0], self.shape[axis], is_ring)

    def spread(self, vector: Value, axis: int, shape: tuple[int, ...] | None = None) -> Value:
        """A vector along an axis, repeated along all others."""
        return BroadcastInDim(vector, shape or self.shape, (axis,))


Make = Callable[[Making, Sequence[Value]], Sequence[Value]]


@dataclass
class Step:
    """An op, what it reads, and how it is made from that for a part."""

    op: Op
    reads: tuple[Read, ...]
    make: Make
    own: tuple[int, ...] = ()
    """Axes along which devices can have it for their own positions only."""


@dataclass
class Reader:
    """Reads the ops of one region, in their order."""

    propagation: Propagation
    ring: Ring = field(default_factory=Ring)
    locals: dict[Value, Local] = field(default_factory=dict[Value, Local])
    steps: list[Step] = field(default_factory=list[Step])
    shifts: bool = False
    """Whether anything is moved along a divided axis."""
    folds: bool = False
    """Whether anything is folded along one."""
    embedded: Mapping[Value, tuple[int, ...]] = field(default_factory=dict[Value, "tuple[int, ...]"])
    """Where values from earlier regions that are shorter than the divided extent begin in arrays of that extent."""
    keeps_home: bool = False
    """Whether results of the divided extent begin at the first position, wherever what they are made of does: what is
    read at a distance is then seen to be, where it is read."""

    def divisions(self, value: Value, op: Op) -> Divisions:
        found = self.propagation.divisions(value)
        if found is None or not all(value.shape):
            raise Unreadable(op)
        return found

    def local(self, value: Value, op: Op) -> Local:
        """Where the op's operand is; one from outside begins at the first device's first position.

        Of those that are shorter than the divided extent, slices are read from what they are cut from, and others lie
        in the middle of an array of that extent.

        Raises Unreadable for those that are longer.
        """
        known = self.locals.get(value)
        if known is None:
            base, starts = value, [0] * len(value.shape)
            while (cut := self._cut(base, op)) is not None:
                base = cut.operand
                starts = [own + start for own, start in zip(starts, cut.start_indices, strict=True)]
            divisions = self.divisions(base, op)
            for axis, (size, division) in enumerate(zip(base.shape, divisions, strict=True)):
                if division is not None:
                    if size > division.extent:
                        raise Unreadable(op)
                    starts[axis] += self.offset(base, axis, division)
            known = Local(base, tuple(starts), tuple(each is not None for each in divisions))
            self.locals[value] = known
        return known

    def offset(self, value: Value, axis: int, division: Division) -> int:
        """Where a value from outside begins in the array of the divided extent that holds it."""
        known = self.embedded.get(value)
        return middle(value.shape[axis], division) if known is None else known[axis]

    def _cut(self, value: Value, op: Op) -> Slice | None:
        """The slice that a value from outside is, if it is shorter than the divided extent along divided axes alone."""
        found = owner_of(value)
        if not isinstance(found, Slice) or value in self.embedded or set(found.strides) != {1}:
            return None
        divisions = self.divisions(value, op)
        if divisions != self.divisions(found.operand, op):
            return None
        is_cut = [size != own for size, own in zip(found.shape, found.operand.shape, strict=True)]
        return found if all(division for division, flag in zip(divisions, is_cut, strict=True) if flag) else None

    def read(self, op: Op) -> None:
        """Enter the op.

        Raises Unreadable.
        """
        match op:
            case Constant():
                self._read_constant(op)
            case Iota():
                self._read_iota(op)
            case Slice():
                self._read_slice(op)
            case Pad():
                self._read_pad(op)
            case Concatenate():
                self._read_concatenate(op)
            case DynamicUpdateSlice() if self._updates_part(op):
                self._read_update(op)
            case DynamicUpdateSlice():
                self._read_whole_update(op)
            case Reduce() if self._folds_divided(op):
                self._read_fold(op)
            case ReduceWindow() if self._runs_along_divided(op):
                self._read_running_fold(op)
            case Opaque() if op in self.propagation.reshardings:
                self._read_resharding(op)
            case _:
                if not isinstance(op, BY_LETTERS):
                    raise Unreadable(op)
                self._read_by_letters(op)

    def is_cheap(self, op: Op) -> bool:
        """Whether each region rather makes the op anew than takes its value from another."""
        match op:
            case Constant():
                return op.is_splat
            case Iota():
                return True
            case BroadcastInDim():
                found = self.propagation.divisions(op.operand)
                return found is not None and not any(found)
            case _:
                return False

    # -- from nothing ---------------------------------------------------------------------------------------------

    def _read_constant(self, op: Constant) -> None:
        divisions = self.divisions(op, op)
        if not op.is_splat:
            raise Unreadable(op)
        self._enter(op, [0] * len(divisions), [each is not None for each in divisions])
        self.steps.append(Step(op, (), lambda making, _: [Constant.of(op.number, op.dtype, making.shape)]))

    def _read_iota(self, op: Iota) -> None:
        divisions = self.divisions(op, op)
        axis = op.iota_dimension
        division = divisions[axis]
        is_ring = division is None or op.shape[axis] <= division.extent
        flags = [each is not None for each in divisions]
        flags[axis] = is_ring and division is not None

        def make(making: Making, _: Sequence[Value]) -> list[Value]:
            if division is None:
                return [Iota(making.shape, op.dtype, axis)]
            indices = making.indices(axis, 0, is_ring)
            return [making.spread(indices if indices.dtype == op.dtype else Convert(indices, op.dtype), axis)]

        self._enter(op, [0] * len(divisions), flags)
        self.steps.append(Step(op, (), make))

    # -- movement along axes --------------------------------------------------------------------------------------

    def _read_slice(self, op: Slice) -> None:
        divisions, local = self.divisions(op, op), self.local(op.operand, op)
        bounds = list(zip(op.start_indices, op.limit_indices, op.strides, strict=True))
        if any(division is not None and bounds[axis][2] != 1 for axis, division in enumerate(divisions)):
            raise Unreadable(op)
        starts = [
            self.ring.centred(
                local.starts[axis] + bounds[axis][0], op.shape[axis], axis, divisions, local.is_ring[axis]
            )
            for axis in range(len(divisions))
        ]
        whole = [(0, size, 1) for size in op.operand.shape]
        self._note_shift(divisions, [bound != each for bound, each in zip(bounds, whole, strict=True)])
        undivided = [axis for axis, division in enumerate(divisions) if division is None]
        if all(bounds[axis] == whole[axis] for axis in undivided):
            self.locals[op] = Local(local.base, tuple(starts), local.is_ring)
            return

        def make(making: Making, parts: Sequence[Value]) -> list[Value]:
            cut = [
                bounds[axis] if divisions[axis] is None else (0, size, 1) for axis, size in enumerate(parts[0].shape)
            ]
            first, limits, strides = zip(*cut, strict=True)
            return [Slice(parts[0], first, limits, strides)]

        self._enter(op, starts, local.is_ring)
        self.steps.append(Step(op, (self._in_place(local, starts, divisions, op.start_indices),), make))

    def _read_pad(self, op: Pad) -> None:
        divisions, local = self.divisions(op, op), self.local(op.operand, op)
        self.local(op.padding_value, op)
        lows, highs, interiors = op.edge_padding_low, op.edge_padding_high, op.interior_padding
        divided = [axis for axis, division in enumerate(divisions) if division is not None]
        if any(interiors[axis] for axis in divided):
            raise Unreadable(op)
        self._note_shift(divisions, [low != 0 or high != 0 for low, high in zip(lows, highs, strict=True)])
        starts, flags = [0] * len(divisions), list(local.is_ring)
        masked: list[int] = []
        for axis in divided:
            division = divisions[axis]
            assert division is not None
            is_masked = lows[axis] > 0 or highs[axis] > 0
            if is_masked:
                masked.append(axis)
            starts[axis] = self.ring.centred(
                local.starts[axis] - lows[axis], op.shape[axis], axis, divisions, local.is_ring[axis]
            )
            flags[axis] = local.is_ring[axis] and not (is_masked and op.shape[axis] > division.extent)
        rest = [axis for axis in range(len(divisions)) if axis not in divided]
        pads_rest = any(lows[axis] or highs[axis] or interiors[axis] for axis in rest)
        if not masked and not pads_rest:
            self.locals[op] = Local(local.base, tuple(starts), local.is_ring)
            return
        self._keep_home(op, starts, flags, divisions)

        def make(making: Making, parts: Sequence[Value]) -> list[Value]:
            part, number = parts
            if pads_rest:
                low, high, interior = (
                    tuple(0 if axis in divided else each[axis] for axis in range(len(divisions)))
                    for each in (lows, highs, interiors)
                )
                part = Pad(part, number, low, high, interior)
            inside = _inside(
                making,
                [(axis, starts[axis], flags[axis], lows[axis], lows[axis] + op.operand.shape[axis]) for axis in masked],
                op.shape,
            )
            return [part if inside is None else Select(inside, part, BroadcastInDim(number, making.shape, ()))]

        self._enter(op, starts, flags)
        offsets = [-low for low in lows]
        spans = [
            self._span(axis, starts[axis] + lows[axis], op.operand.shape[axis], divisions, flags[axis])
            for axis in masked
        ]
        inner = replace(self._in_place(local, starts, divisions, offsets), spans=tuple(spans))
        reads = (inner, Read(self.local(op.padding_value, op).base, (), ()))
        self.steps.append(Step(op, reads, make))

    def _read_concatenate(self, op: Concatenate) -> None:
        divisions = self.divisions(op, op)
        axis, division = op.dimension, divisions[op.dimension]
        if division is None:
            self._read_by_letters(op)
            return
        self.shifts = True
        pieces = [self.local(value, op) for value in op.inputs]
        sizes = [value.shape[axis] for value in op.inputs]
        offsets = [sum(sizes[:index]) for index in range(len(sizes))]
        # Those on a line can't be taken from elsewhere; else the longest stays where it is.
        leader = max(range(len(sizes)), key=lambda index: (not all(pieces[index].is_ring), sizes[index]))
        starts = self._starts_like([pieces[leader], *pieces], divisions)
        starts[axis] = self.ring.centred(
            pieces[leader].starts[axis] - offsets[leader], op.shape[axis], axis, divisions, pieces[leader].is_ring[axis]
        )

        def read_pieces() -> list[Read]:
            places = ([-offset if each == axis else 0 for each in range(len(divisions))] for offset in offsets)
            return [
                self._in_place(piece, starts, divisions, place) for piece, place in zip(pieces, places, strict=True)
            ]

        flags = [all(piece.is_ring[each] for piece in pieces) for each in range(len(divisions))]
        flags = [flag and divisions[each] is not None for each, flag in enumerate(flags)]
        if len(set(read_pieces())) == 1:
            # All pieces are of one array, each where it is: a roll, or periodic ghost cells.
            self.locals[op] = Local(pieces[0].base, tuple(starts), pieces[0].is_ring)
            return
        flags[axis] = flags[axis] and op.shape[axis] <= division.extent
        self._keep_home(op, starts, flags, divisions)
        reads = read_pieces()

        def make(making: Making, parts: Sequence[Value]) -> list[Value]:
            found = parts[-1]
            indices = making.indices(axis, starts[axis], flags[axis])
            for part, offset in list(zip(parts, offsets, strict=True))[-2::-1]:
                limit = offset + sizes[offsets.index(offset)]
                is_before = making.positions.within(indices, 0, limit, op.shape[axis])
                assert is_before is not None
                found = Select(making.spread(is_before, axis), part, found)
            return [found]

        # Neighbours that read the same are one.
        merged: list[int] = []
        for index in range(len(reads)):
            if merged and reads[index] == reads[merged[-1]]:
                continue
            merged.append(index)
        ends = [*merged[1:], len(reads)]
        sizes = [sum(sizes[first:end]) for first, end in zip(merged, ends, strict=True)]
        offsets = [offsets[index] for index in merged]
        self._enter(op, starts, flags)
        reads = [
            replace(reads[index], spans=(self._span(axis, starts[axis] + offset, size, divisions, flags[axis]),))
            for index, offset, size in zip(merged, offsets, sizes, strict=True)
        ]
        self.steps.append(Step(op, tuple(reads), make))

    def _updates_part(self, op: DynamicUpdateSlice) -> bool:
        divisions = self.divisions(op, op)
        return any(
            division is not None and op.update.shape[axis] != op.shape[axis] for axis, division in enumerate(divisions)
        )

    def _read_update(self, op: DynamicUpdateSlice) -> None:
        divisions = self.divisions(op, op)
        operand, update = self.local(op.operand, op), self.local(op.update, op)
        self.shifts = True
        places: list[int] = []
        for axis, start in enumerate(op.start_indices):
            place = known_start(start, op.shape[axis] - op.update.shape[axis])
            if place is None:
                raise Unreadable(op)
            places.append(place)
        starts = self._starts_like([operand], divisions)
        is_ring = [
            division is not None
            and operand.is_ring[axis]
            and update.is_ring[axis]
            and (op.shape[axis] <= division.extent or op.update.shape[axis] == op.shape[axis])
            for axis, division in enumerate(divisions)
        ]
        spans = [
            self._span(axis, starts[axis] + places[axis], op.update.shape[axis], divisions, is_ring[axis])
            for axis, division in enumerate(divisions)
            if division is not None
        ]
        new = self._in_place(update, starts, divisions, [-place for place in places])
        reads = (
            self._in_place(operand, starts, divisions, [0] * len(divisions)),
            replace(new, spans=tuple(spans)),
        )
        rest = [axis for axis, division in enumerate(divisions) if division is None]
        updated = tuple(op.update.shape)

        def make(making: Making, parts: Sequence[Value]) -> list[Value]:
            whole, new = parts
            cut = whole
            is_partial = any(updated[axis] != op.shape[axis] for axis in rest)
            if is_partial:
                first = tuple(places[axis] if axis in rest else 0 for axis in range(len(divisions)))
                limits = tuple(place + size for place, size in zip(first, new.shape, strict=True))
                cut = Slice(whole, first, limits, (1,) * len(first))
            limits_of = [
                (axis, starts[axis], is_ring[axis], places[axis], places[axis] + updated[axis])
                for axis, division in enumerate(divisions)
                if division is not None
            ]
            inside = _inside(making, limits_of, op.shape, new.shape)
            found = new if inside is None else Select(inside, new, cut)
            if is_partial:
                at = tuple(Constant.of(places[axis] if axis in rest else 0, "i64") for axis in range(len(divisions)))
                found = DynamicUpdateSlice(whole, found, at)
            return [found]

        self._enter(op, starts, is_ring)
        self.steps.append(Step(op, reads, make))

    def _read_whole_update(self, op: DynamicUpdateSlice) -> None:
        """An update of all positions along the divided axes, at computed places along the others."""
        divisions = self.divisions(op, op)
        operand, update = self.local(op.operand, op), self.local(op.update, op)
        places = [self.local(start, op) for start in op.start_indices]
        starts = self._starts_like([operand, update], divisions)
        flags = [operand.is_ring[axis] and update.is_ring[axis] for axis in range(len(divisions))]

        def make(making: Making, parts: Sequence[Value]) -> list[Value]:
            whole, new, *at = parts
            zero = Constant.of(0, op.start_indices[0].dtype)
            chosen = [start if division is None else zero for start, division in zip(at, divisions, strict=True)]
            return [DynamicUpdateSlice(whole, new, tuple(chosen))]

        self._enter(op, starts, flags)
        none = [0] * len(divisions)
        whole = (self._in_place(each, starts, divisions, none) for each in (operand, update))
        self.steps.append(Step(op, (*whole, *(Read(each.base, (), ()) for each in places)), make))

    # -- axes kept as they are ------------------------------------------------------------------------------------

    def _read_by_letters(self, op: TensorOp) -> None:
        """An op that keeps the divided axes, of operands and results, by its letters."""
        axes = op.axes()
        if axes is None or any(captures(region) for region in op.regions):
            raise Unreadable(op)
        divisions = self.divisions(op.results[0], op)
        if any(self.divisions(result, op) != divisions for result in op.results):
            raise Unreadable(op)
        owners: dict[int, int] = {}
        for axis, letters in enumerate(axes.results[0]):
            if divisions[axis] is not None:
                if letters is None or len(letters) != 1:
                    raise Unreadable(op)
                owners[letters[0]] = axis
        if any(row != axes.results[0] for row in axes.results):
            raise Unreadable(op)
        operands = [self.local(value, op) for value in op.operands]
        placed: list[tuple[int | None, ...]] = []
        for value, row in zip(op.operands, axes.operands, strict=True):
            own: list[int | None] = []
            for letters, division in zip(row, self.divisions(value, op), strict=True):
                if division is None:
                    if letters and any(letter in owners for letter in letters):
                        raise Unreadable(op)
                    own.append(None)
                elif letters is None or len(letters) != 1 or letters[0] not in owners:
                    raise Unreadable(op)
                else:
                    own.append(owners[letters[0]])
            placed.append(tuple(own))
        starts, flags = [0] * len(divisions), [division is not None for division in divisions]
        for axis, division in enumerate(divisions):
            if division is None:
                continue
            given = [
                (local.starts[own.index(axis)], local.is_ring[own.index(axis)])
                for local, own in zip(operands, placed, strict=True)
                if axis in own
            ]
            flags[axis] = all(flag for _, flag in given)
            # Those on a line can't be taken from elsewhere.
            given.sort(key=lambda each: each[1])
            starts[axis] = given[0][0] if given else 0
        self._keep_home(op.results[0], starts, flags, divisions)
        reads = tuple(
            Read(
                local.base,
                own,
                tuple(
                    0 if axis is None else self.ring.distance(local, place, starts[axis], axis, divisions)
                    for place, axis in enumerate(own)
                ),
            )
            for local, own in zip(operands, placed, strict=True)
        )

        def make(making: Making, parts: Sequence[Value]) -> Sequence[Value]:
            match op:
                case BroadcastInDim() | Reshape():
                    return [op.with_fields(tuple(parts), shape=making.shape)]
                case DynamicSlice():
                    zero = Constant.of(0, op.start_indices[0].dtype)
                    at = [zero if divisions[axis] is not None else each for axis, each in enumerate(parts[1:])]
                    return [op.with_fields((parts[0], *at), slice_sizes=making.shape)]
                case _:
                    fields = {name: getattr(op, name).clone({}) for name in op.region_names}
                    return op.with_fields(tuple(parts), **fields).results

        for result in op.results:
            self._enter(result, starts, flags)
        self.steps.append(Step(op, reads, make))

    # -- folds along divided axes ---------------------------------------------------------------------------------

    def _folds_divided(self, op: Reduce) -> bool:
        divisions = self.divisions(op.inputs[0], op)
        return any(divisions[axis] is not None for axis in op.dimensions)

    def _read_fold(self, op: Reduce) -> None:
        """A fold of each device's own elements, and then of what all devices have."""
        combiner = op.combiner
        # Each device begins with the first value: one that leaves a trace would do so many times.
        is_repeatable = combiner in (And, Maximum, Minimum, Or) or is_identity(op.init_values[0], combiner)
        if len(op.inputs) != 1 or combiner is None or captures(op.body) or not is_repeatable:
            raise Unreadable(op)
        given = self.divisions(op.inputs[0], op)
        local, init = self.local(op.inputs[0], op), self.local(op.init_values[0], op)
        kept = [axis for axis in range(len(given)) if axis not in op.dimensions]
        shape = op.inputs[0].shape
        axes: list[int | None] = []
        folded: list[tuple[int, Division]] = []
        for axis, division in enumerate(given):
            if division is None:
                axes.append(None)
            elif axis in kept:
                axes.append(kept.index(axis))
            else:
                axes.append(OWN)
                folded.append((axis, division))
                is_held = 0 <= local.starts[axis] <= division.extent - shape[axis]
                if shape[axis] > division.extent or not (local.is_ring[axis] or is_held):
                    raise Unreadable(op)
                if not is_held:
                    # What begins before the first position, or ends after the last, is folded where the ring closes.
                    self.ring.goes_round.add(division.names)
        starts = [local.starts[axis] if given[axis] is not None else 0 for axis in kept]
        flags = [local.is_ring[axis] for axis in kept]

        def make(making: Making, parts: Sequence[Value]) -> Sequence[Value]:
            part, start = parts
            for axis, division in folded:
                if shape[axis] == division.extent:
                    continue
                indices = making.positions.indices(
                    division, local.starts[axis], 0, division.length, local.is_ring[axis]
                )
                tests = [Compare(indices, Constant.of(shape[axis], indices.dtype, indices.shape), "LT")]
                if not local.is_ring[axis]:
                    tests.append(Compare(indices, Constant.of(0, indices.dtype, indices.shape), "GE"))
                for test in tests:
                    is_there = making.spread(test, axis, part.shape)
                    part = Select(is_there, part, BroadcastInDim(start, part.shape, ()))
            (own,) = Reduce((part,), (start,), op.dimensions, op.body.clone({})).results
            names = tuple(name for _, division in folded for name in division.names)
            return [_fold_over_devices(own, combiner, op.body, making.mesh.groups(names), making.channels)]

        self.folds = True
        self._enter(op.results[0], starts, flags)
        reads = (Read(local.base, tuple(axes), (0,) * len(axes)), Read(init.base, (), ()))
        self.steps.append(Step(op, reads, make))

    def _runs_along_divided(self, op: ReduceWindow) -> bool:
        found = running_axis(op)
        return found is not None and self.divisions(op.inputs[0], op)[found[0]] is not None

    def _read_running_fold(self, op: ReduceWindow) -> None:
        """Sums of a device's own elements, and then of what those before have: it has them for its own places only."""
        found = running_axis(op)
        assert found is not None
        axis = found[0]
        divisions = self.divisions(op.results[0], op)
        local, init = self.local(op.inputs[0], op), self.local(op.init_values[0], op)
        division = divisions[axis]
        is_whole = division is not None and op.inputs[0].shape[axis] == division.extent and not local.starts[axis]
        if not is_whole or self.divisions(op.inputs[0], op) != divisions:
            raise Unreadable(op)

        def make(making: Making, parts: Sequence[Value]) -> Sequence[Value]:
            assert division is not None
            return [make_running_sums(op, parts[0], parts[1], making.mesh, division, making.channels)]

        self.folds = True
        self._enter(op.results[0], local.starts, local.is_ring)
        reads = (self._in_place(local, local.starts, divisions, [0] * len(divisions)), Read(init.base, (), ()))
        self.steps.append(Step(op, reads, make, (axis,)))

    # -- from one division to another -----------------------------------------------------------------------------

    def _read_resharding(self, op: Opaque) -> None:
        """What was divided along one axis is divided along another: a device has that for its own places only."""
        value = op.inputs[0]
        given, divisions = self.divisions(value, op), self.divisions(op.results[0], op)
        local = self.local(value, op)
        moving = moving_between(layout_of(given), layout_of(divisions))
        if moving is None:
            raise Unreadable(op)
        source, to, names = moving
        for axis in (source, to):
            division = given[axis]
            if division is not None and not (local.is_ring[axis] and value.shape[axis] == division.extent):
                raise Unreadable(op)
        before = given[source]
        assert before is not None
        own_names = before.names[len(before.names) - len(names) :]

        def make(making: Making, parts: Sequence[Value]) -> Sequence[Value]:
            return [send_to_all(parts[0], moving, own_names, making.mesh, making.channels)]

        starts, flags, axes = [0] * len(divisions), [True] * len(divisions), [OWN] * len(divisions)
        for axis in range(len(divisions)):
            if axis not in (source, to):
                starts[axis], flags[axis], axes[axis] = local.starts[axis], local.is_ring[axis], axis
        distances = (self.ring.distance(local, axis, starts[axis], axis, given) for axis in range(len(divisions)))
        places = (axis if division is not None else None for axis, division in zip(axes, given, strict=True))
        self.shifts = True
        self._enter(
            op.results[0], starts, [flag and each is not None for flag, each in zip(flags, divisions, strict=True)]
        )
        own = tuple(axis for axis in (source, to) if divisions[axis] is not None)
        self.steps.append(Step(op, (Read(local.base, tuple(places), tuple(distances)),), make, own))

    # -- what these share -----------------------------------------------------------------------------------------

    def _enter(self, value: Value, starts: Sequence[int], is_ring: Sequence[bool]) -> None:
        self.locals[value] = Local(value, tuple(starts), tuple(is_ring))

    def _keep_home(self, value: Value, starts: list[int], is_ring: Sequence[bool], divisions: Divisions) -> None:
        """Let a result begin at the first position along axes of the divided extent, if results keep home."""
        for axis, division in enumerate(divisions):
            if self.keeps_home and division is not None and is_ring[axis] and value.shape[axis] == division.extent:
                starts[axis] = 0

    def _in_place(self, local: Local, starts: Sequence[int], divisions: Divisions, offsets: Sequence[int]) -> Read:
        """The read of an operand whose axes are the result's, its element k + offset for the result's element k."""
        distances = tuple(
            self.ring.distance(local, axis, starts[axis] - offsets[axis], axis, divisions)
            for axis in range(len(divisions))
        )
        axes = tuple(axis if division is not None else None for axis, division in enumerate(divisions))
        return Read(local.base, axes, distances)

    def _span(self, axis: int, first: int, size: int, divisions: Divisions, is_ring: bool) -> Span:
        division = divisions[axis]
        assert division is not None
        return Span(axis, first, first + size, division.length, division.parts, is_ring)

    def _starts_like(self, operands: Sequence[Local], divisions: Divisions) -> list[int]:
        """The starts of the first operand, along each axis of the first that is on a line."""
        return [
            next((local.starts[axis] for local in operands if not local.is_ring[axis]), operands[0].starts[axis])
            for axis in range(len(divisions))
        ]

    def _note_shift(self, divisions: Divisions, moves: Sequence[bool]) -> None:
        self.shifts |= any(move and division is not None for move, division in zip(moves, divisions, strict=True))


def _fold_over_devices(
    own: Value, combiner: type[Op], body: Region, groups: tuple[tuple[int, ...], ...], channels: Channels
) -> Value:
    """What all devices of a group have, folded."""

    def fold(value: Value, computation: Region) -> Value:
        return AllReduce((value,), groups, computation, channels.take(FIRST_FOR_FOLDS), True).results[0]

    if combiner in (Maximum, Minimum) and own.tensor.is_float and bit_width(own.dtype) >= 16:
        is_greatest = combiner is Maximum
        ordered = to_ordered(own, is_greatest)
        found = fold(ordered, combiner_region(Maximum, ordered.dtype))
        return from_ordered(found, own.dtype, is_greatest)
    return fold(own, body.clone({}))


def _inside(
    making: Making,
    limits: Sequence[tuple[int, int, bool, int, int]],
    sizes: Sequence[int],
    shape: tuple[int, ...] | None = None,
) -> Value | None:
    """Where an element is within limits along each of some axes; None where all are.

    The limits: axis, start, whether it is on a ring, the first index and the first beyond.
    """
    tests: list[Value] = []
    for axis, start, is_ring, first, limit in limits:
        if (first, limit) == (0, sizes[axis]):
            continue
        test = making.positions.within(making.indices(axis, start, is_ring), first, limit, sizes[axis])
        if test is not None:
            tests.append(making.spread(test, axis, shape))
    if not tests:
        return None
    found = tests[0]
    for test in tests[1:]:
        found = And(found, test)
    return found
