"""Fourier transforms along divided axes, written as transforms along axes that are whole, with what moves in between.

An axis is whole where others are divided in its place. Back in its first layout an array goes only where something
needs it there: what is computed of a spectrum element by element, and transformed back, stays as it was left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from windlass.communication.known_everywhere import Copies, FreeValues, pad_to
from windlass.communication.layouts import Atlas, Layout, Sizes, State, cheapest_ways, way_to
from windlass.communication.places import owner_of
from windlass.communication.propagation import Propagation
from windlass.communication.resharding import constrain, layout_of
from windlass.ir import Builder, Function, Value
from windlass.ir.core import Op
from windlass.ops import Fft, Slice, Transpose
from windlass.ops.pointwise import Elementwise

MOST_AXES = 5
"""Arrays of more axes have too many layouts to look at."""

DONE: frozenset[int] = frozenset()


class Moved(NamedTuple):
    """What stands for a value: an array in another layout, perhaps longer along axes that are divided."""

    whole: Value
    layout: Layout
    shape: Sizes
    home: Layout
    """How the value is divided where it is needed as it is."""


def write_transforms_by_axis(function: Function, propagation: Propagation) -> bool:
    """Rewrite the function in place; whether anything changed."""
    return _Writer(function, propagation).write()


class _Writer:
    def __init__(self, function: Function, propagation: Propagation) -> None:
        self.function = function
        self.propagation = propagation
        self.mesh = propagation.mesh
        self.moved: dict[Value, Moved] = {}
        self.restored: dict[Value, Value] = {}
        self.free = FreeValues(function, propagation.is_undivided)
        self.copies = Copies()

    def write(self) -> bool:
        for op in list(self.function.walk()):
            if op.block is None:
                continue
            with Builder(op.block, before=op, source=op.source):
                found = self._written(op)
            if found is not None:
                self.moved[op.results[0]] = found
            else:
                for value in dict.fromkeys(op.operands):
                    if value in self.moved:
                        op.replace_operand(value, self._restore(value))
        for value in reversed(self.moved):
            owner = owner_of(value)
            assert owner is not None
            if not value.uses:
                owner.erase()
        return bool(self.moved)

    def _written(self, op: Op) -> Moved | None:
        match op:
            case Fft():
                return self._transform(op)
            case Elementwise() if len(op.results) == 1 and any(value in self.moved for value in op.operands):
                return self._compute(op)
            case _:
                return None

    # -- where values are -----------------------------------------------------------------------------------------

    def _layout(self, value: Value) -> Layout | None:
        divisions = self.propagation.divisions(value)
        if divisions is None or not any(divisions):
            return None
        is_whole = all(each is None or each.extent == size for each, size in zip(divisions, value.shape, strict=True))
        return layout_of(divisions) if is_whole else None

    def _atlas(self, layout: Layout) -> Atlas:
        return Atlas(self.mesh, self.mesh.size(tuple(name for names in layout for name in names)))

    def _restore(self, value: Value) -> Value:
        """The value as it is, after the op that gave it."""
        if value not in self.restored:
            moved, owner = self.moved[value], owner_of(value)
            assert owner is not None and owner.block is not None
            atlas, whole = self._atlas(moved.layout), moved.whole
            with Builder(owner.block, before=owner.next, source=owner.source):
                found = cheapest_ways((moved.layout, DONE), lambda state: _steps_of(atlas, moved.shape, state))
                # Half a spectrum may have a length that does not lie there.
                home = (moved.home, DONE)
                is_even = atlas.extents(moved.shape, moved.home) == moved.shape
                for layout, _ in way_to(home, found)[1:] if is_even and home in found else ():
                    whole = self._move(whole, moved.shape, atlas, layout)
                self.restored[value] = _cut(whole, moved.shape)
        return self.restored[value]

    def _move(self, whole: Value, sizes: Sizes, atlas: Atlas, layout: Layout) -> Value:
        """The array in the next layout: longer where that divides, and as it was where it no longer does."""
        extents = atlas.extents(sizes, layout)
        found = constrain(pad_to(whole, tuple(map(max, extents, whole.shape))), self.mesh, layout)
        return _cut(found, extents)

    # -- ops ------------------------------------------------------------------------------------------------------

    def _compute(self, op: Elementwise) -> Moved | None:
        """An op on elements of one layout, all else known on every device."""
        given = [self.moved[value] for value in op.operands if value in self.moved]
        first = given[0]
        if any((each.layout, each.shape, each.home) != (first.layout, first.shape, first.home) for each in given):
            return None
        rest = [value for value in op.operands if value not in self.moved]
        if not all(map(self.free.is_free, rest)):
            return None
        extents = first.whole.shape
        operands = tuple(
            self.moved[value].whole
            if value in self.moved
            else self.copies.copy(value, extents, tuple(range(len(extents))), op.block)
            if value.shape
            else value
            for value in op.operands
        )
        return first._replace(whole=op.with_fields(operands).results[0])

    def _transform(self, op: Fft) -> Moved | None:
        known = self.moved.get(op.operand)
        layout = known.layout if known is not None else self._layout(op.operand)
        rank = len(op.shape)
        axes = frozenset(range(rank - len(op.fft_length), rank))
        if layout is None or rank > MOST_AXES or not all(op.shape):
            return None
        if known is None and not any(layout[axis] for axis in axes):
            return None
        home = layout if known is None else known.home
        atlas = self._atlas(layout)
        way = self._way(op, atlas, layout, home, axes)
        if way is None:
            return None
        whole = op.operand if known is None else known.whole
        remaining = axes
        for number, (layout, after) in enumerate(way):
            if number:
                whole = self._move(whole, _sizes(op, remaining), atlas, layout)
            whole, remaining = self._transform_whole(op, whole, layout, remaining)
            assert remaining == after
        return Moved(whole, way[-1][0], op.shape, home)

    def _way(self, op: Fft, atlas: Atlas, layout: Layout, home: Layout, axes: frozenset[int]) -> list[State] | None:
        """The layouts to go through, and what is to be transformed after each: what costs least, the way home too."""
        itemsize, real = op.operand.tensor.numpy_dtype.itemsize, op.fft_type == "RFFT"

        def after(layout: Layout, remaining: frozenset[int]) -> State:
            for group in _groups(op, layout, remaining):
                remaining -= group
            return layout, remaining

        def steps(state: State) -> Iterator[tuple[float, State]]:
            layout, remaining = state
            # A transform of real numbers makes complex ones of them.
            size = itemsize * (2 if real and len(layout) - 1 not in remaining else 1)
            for share, following in atlas.steps(_sizes(op, remaining), layout):
                yield share * size, after(following, remaining)

        found = cheapest_ways(after(layout, axes), steps)
        ends = [state for state in found if not state[1]]
        if not ends:
            return None
        back = cheapest_ways((home, DONE), steps)

        def cost(state: State) -> tuple[float, float]:
            there = found[state][0]
            return there + (back[state][0] if state in back else math.inf), there

        return way_to(min(ends, key=cost), found)

    def _transform_whole(
        self, op: Fft, whole: Value, layout: Layout, remaining: frozenset[int]
    ) -> tuple[Value, frozenset[int]]:
        """Transform along all axes that are whole."""
        last = len(layout) - 1
        for group in _groups(op, layout, remaining):
            kind = op.fft_type
            if last not in group:
                kind = "FFT" if kind in ("FFT", "RFFT") else "IFFT"
            lengths = [op.shape[axis] for axis in sorted(group)]
            if last in group:
                lengths[-1] = op.fft_length[-1]
            order = (*(axis for axis in range(last + 1) if axis not in group), *sorted(group))
            is_in_place = order == tuple(range(last + 1))
            found: Value = whole if is_in_place else Transpose(whole, order)
            found = Fft(found, kind, tuple(lengths))
            whole = found if is_in_place else Transpose(found, tuple(order.index(axis) for axis in range(last + 1)))
            remaining -= group
        return whole, remaining


def _steps_of(atlas: Atlas, sizes: Sizes, state: State) -> Iterator[tuple[float, State]]:
    layout, remaining = state
    return ((share, (following, remaining)) for share, following in atlas.steps(sizes, layout))


def _groups(op: Fft, layout: Layout, remaining: frozenset[int]) -> list[frozenset[int]]:
    """What of the remaining axes can be transformed in this layout, in order: the last one of real numbers first."""
    last = len(layout) - 1
    whole = {axis for axis in remaining if not layout[axis]}
    if op.fft_type == "RFFT" and last in remaining and last not in whole:
        return []
    if op.fft_type == "IRFFT" and remaining - whole:
        whole.discard(last)
    if not whole:
        return []
    # Several last axes are one op; each other one is brought to the end for its own.
    first = next((axis + 1 for axis in range(last, -1, -1) if axis not in whole), 0)
    suffix = frozenset(range(first, last + 1))
    others = [frozenset({axis}) for axis in sorted(whole - suffix)]
    found = [suffix, *others] if op.fft_type == "RFFT" else [*others, suffix]
    return [group for group in found if group]


def _sizes(op: Fft, remaining: frozenset[int]) -> Sizes:
    """How long the axes are while some are to be transformed: only the last one may become longer or shorter."""
    last = len(op.shape) - 1
    return (*op.shape[:-1], (op.operand if last in remaining else op).shape[last])


def _cut(value: Value, shape: Sizes) -> Value:
    return value if value.shape == shape else Slice(value, (0,) * len(shape), shape, (1,) * len(shape))
