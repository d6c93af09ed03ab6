"""Fourier transforms along divided axes, written as transforms along axes that are whole, with what moves in between.

An axis is whole where others are divided in its place. Back in its first layout an array goes only where something
needs it there: what is computed of a spectrum element by element, and transformed back, stays as it was left.
"""

from __future__ import annotations

import itertools
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
    atlas: Atlas
    """By how much axes are longer."""


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

    def _atlases(self, layout: Layout) -> list[Atlas]:
        """Axes may be longer by few elements, for few divisors, or by more."""
        names = [name for each in layout for name in each]
        chosen = (each for count in range(1, len(names) + 1) for each in itertools.combinations(names, count))
        return [Atlas(self.mesh, unit) for unit in sorted({self.mesh.size(each) for each in chosen})]

    def _restore(self, value: Value) -> Value:
        """The value as it is, after the op that gave it."""
        if value not in self.restored:
            moved, owner = self.moved[value], owner_of(value)
            assert owner is not None and owner.block is not None
            atlas, whole = moved.atlas, moved.whole
            with Builder(owner.block, before=owner.next, source=owner.source):
                here, home = State(0, moved.layout, DONE), State(0, moved.home, DONE)
                found = cheapest_ways(here, lambda state: _steps_of(atlas, moved.shape, state))
                # Half a spectrum may have a length that does not lie there.
                is_even = atlas.extents(moved.shape, moved.home) == moved.shape
                for state in way_to(home, found)[1:] if is_even and home in found else ():
                    whole = self._move(whole, moved.shape, atlas, state.layout)
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
        axes = _axes_of(op)
        if layout is None or len(op.shape) > MOST_AXES or not all(op.shape):
            return None
        if known is None and not any(layout[axis] for axis in axes):
            return None
        home = layout if known is None else known.home
        atlases = self._atlases(layout) if known is None else [known.atlas]
        ways = [(found, each) for each in atlases if (found := self._way(op, each, layout, home)) is not None]
        if not ways:
            return None
        (_, way), atlas = min(ways, key=lambda each: each[0][0])
        whole = op.operand if known is None else known.whole
        remaining = axes
        for number, (layout, after) in enumerate(way):
            if number:
                whole = self._move(whole, _sizes(op, remaining), atlas, layout)
            whole, remaining = self._transform_whole(op, whole, layout, remaining)
            assert remaining == after
        return Moved(whole, layout, op.shape, home, atlas)

    def _way(
        self, op: Fft, atlas: Atlas, layout: Layout, home: Layout
    ) -> tuple[tuple[float, float], list[tuple[Layout, frozenset[int]]]] | None:
        """The layouts to go through, and what is to be transformed after each; None where there is no way.

        That is what costs least with what follows: another transform of what is computed of this one, and the way home
        from the last. That cost comes first, with the way home and without.
        """
        following, is_needed = self._following(op)
        transforms = [op, *following]

        def after(number: int, layout: Layout, remaining: frozenset[int]) -> State:
            for group in _groups(transforms[number], layout, remaining):
                remaining -= group
            if not remaining and number + 1 < len(transforms):
                return after(number + 1, layout, _axes_of(transforms[number + 1]))
            return State(number, layout, remaining)

        def find_homes(made: Fft) -> dict[Layout, float]:
            size = made.tensor.numpy_dtype.itemsize
            found = cheapest_ways(State(0, home, DONE), lambda state: _steps_of(atlas, made.shape, state))
            return {state.layout: size * cost for state, (cost, _) in found.items()}

        last = len(transforms) - 1
        homes, homes_between = find_homes(transforms[last]), find_homes(op) if is_needed and last else {}

        def steps(state: State) -> Iterator[tuple[float, State]]:
            own = transforms[state.number]
            # A transform of real numbers makes complex ones of them.
            is_complex = own.fft_type == "RFFT" and len(layout) - 1 not in state.remaining
            size = own.operand.tensor.numpy_dtype.itemsize * (2 if is_complex else 1)
            for share, to in atlas.steps(_sizes(own, state.remaining), state.layout):
                found = after(state.number, to, state.remaining)
                between = homes_between.get(to, math.inf) if is_needed and found.number > state.number else 0
                yield share * size + between, found

        found = cheapest_ways(after(0, layout, _axes_of(op)), steps)
        ends = [state for state in found if state.number == last and not state.remaining]
        if not ends:
            return None

        def cost(state: State) -> tuple[float, float]:
            there = found[state][0]
            return there + homes.get(state.layout, math.inf), there

        best = min(ends, key=cost)
        way = [(state.layout, state.remaining if not state.number else DONE) for state in way_to(best, found)]
        count = next((place + 1 for place, (_, remaining) in enumerate(way) if not remaining), len(way))
        return cost(best), way[:count]

    def _following(self, op: Fft) -> tuple[list[Fft], bool]:
        """The transform of what is computed of this one, if there is one, and whether it is needed as it is, too."""
        following: list[Fft] = []
        is_needed = False
        values: list[Value] = [op]
        for value in values:
            for user in value.uses:
                if isinstance(user, Fft):
                    following.append(user)
                elif isinstance(user, Elementwise) and len(user.results) == 1:
                    values += [each for each in user.results if each not in values]
                else:
                    is_needed = True
        return following[:1], is_needed or not following

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
    return ((share, state._replace(layout=following)) for share, following in atlas.steps(sizes, state.layout))


def _axes_of(op: Fft) -> frozenset[int]:
    """The axes that it transforms."""
    rank = len(op.shape)
    return frozenset(range(rank - len(op.fft_length), rank))


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
