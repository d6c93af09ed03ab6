"""Values that differ from lane to lane: a tensor with one axis for each dimension that the value depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from windlass.affine.atoms import Data
from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.predicate import FALSE, TRUE, DataCondition, Predicate
from windlass.ir import Value
from windlass.ops.movement import Transpose
from windlass.raising import emission


class Lanes:
    """A tensor over some dimensions, for a box of lanes.

    `value` has one axis for each of `dims`, which stand in canonical order. `lower` says for each of them which lane
    the axis starts at; how far it goes is the value's shape. For dimensions that it lacks the value is the same at all
    lanes. What inactive lanes hold does not matter.
    """

    __slots__ = ("dims", "lower", "value")

    def __init__(self, value: Value, dims: Sequence[Dimension] = (), lower: Sequence[int] | None = None) -> None:
        self.value = value
        self.dims = tuple(dims)
        self.lower = tuple(lower) if lower is not None else (0,) * len(self.dims)
        if len(value.shape) != len(self.dims) or len(self.lower) != len(self.dims):
            raise ValueError(f"a value of shape {value.shape} can't lie over the dimensions {self.dims}")
        if in_order(self.dims) != self.dims:
            raise ValueError(f"the dimensions {self.dims} are not in canonical order")

    @staticmethod
    def over(value: Value, dims: Sequence[Dimension], box: Box) -> Lanes:
        """Lanes whose axes start where the box starts."""
        return Lanes(value, dims, [box.lower(dimension) for dimension in dims])

    @property
    def identity(self) -> Hashable:
        """Lanes of one identity hold the same values."""
        return id(self.value), self.dims, self.lower

    @property
    def dtype(self) -> str:
        return self.value.dtype

    @property
    def region(self) -> Box:
        """The lanes that it has values for."""
        return Box(
            {
                dimension: (lower, lower + extent)
                for dimension, lower, extent in zip(self.dims, self.lower, self.value.shape, strict=True)
            }
        )

    def at(self, box: Box) -> Lanes:
        """The part for the lanes of a smaller box; dimensions that it lacks are not looked at.

        Raises ValueError where the box has lanes without a value: `cover` gives them one.
        """
        starts: list[int] = []
        limits: list[int] = []
        for dimension, lower, extent in zip(self.dims, self.lower, self.value.shape, strict=True):
            box_lower, box_upper = box.bounds(dimension)
            if box_lower < lower or box_upper > lower + extent:
                raise ValueError(f"{self} has no values for all of {dimension} in [{box_lower}, {box_upper})")
            starts.append(box_lower - lower)
            limits.append(box_upper - lower)
        return Lanes.over(emission.take_slice(self.value, starts, limits), self.dims, box)

    def cover(self, box: Box) -> Lanes:
        """Values for all lanes of the box: cut where there are more; zero, for lanes not active, where less."""
        low: list[int] = []
        high: list[int] = []
        region = self.region.intersect(box)
        if any(region.extent(dimension) == 0 for dimension in self.dims):
            return Lanes.over(emission.constant(0, self.dtype, box.shape(self.dims)), self.dims, box)
        inner = self.at(region)
        for dimension in self.dims:
            (lower, upper), (box_lower, box_upper) = region.bounds(dimension), box.bounds(dimension)
            low.append(lower - box_lower)
            high.append(box_upper - upper)
        number = emission.splat_number(inner.value)
        if number is not None:
            return Lanes.over(emission.broadcast(inner.value, box.shape(self.dims), range(len(low))), self.dims, box)
        return Lanes.over(emission.pad(inner.value, low, high), self.dims, box)

    def expand(self, dims: Sequence[Dimension], box: Box) -> Value:
        """A tensor over exactly these dimensions, in this order, for the lanes of the box.

        They must include all that the value has.
        """
        inner = self.at(box)
        own = [dimension for dimension in dims if dimension in inner.dims]
        if len(own) != len(inner.dims):
            raise ValueError(f"{self} can't be expanded to {tuple(dims)}")
        value = emission.transpose(inner.value, [inner.dims.index(dimension) for dimension in own])
        return emission.broadcast(value, box.shape(dims), [dims.index(dimension) for dimension in own])

    def before_transpose(self) -> tuple[Value, tuple[Dimension, ...]]:
        """The tensor before a transpose that made the lanes, if one did, and what its axes are."""
        value = self.value
        if not isinstance(value, Transpose):
            return value, self.dims
        before = list(self.dims)
        for axis, place in enumerate(value.permutation):
            before[place] = self.dims[axis]
        return value.operand, tuple(before)

    def replace_dimension(self, old: Dimension, new: Sequence[Dimension], box: Box) -> Lanes:
        """The same values with `old` split into `new` (which stand where it stood), for the lanes of the new box.

        The product of the new extents must be the extent that the value has along `old`.
        """
        if old not in self.dims:
            return self
        axis = self.dims.index(old)
        dims = (*self.dims[:axis], *new, *self.dims[axis + 1 :])
        shape = (*self.value.shape[:axis], *box.shape(new), *self.value.shape[axis + 1 :])
        lower = (*self.lower[:axis], *(box.lower(dimension) for dimension in new), *self.lower[axis + 1 :])
        return Lanes(emission.reshape(self.value, shape), dims, lower)

    @staticmethod
    def elementwise(factory: Callable[..., Value], *operands: Lanes, box: Box) -> Lanes:
        """An elementwise op on operands over any dimensions; the result lies over the union of them, for the box.

        `factory` takes one tensor per operand, all of one shape: an op class, or a function that places several ops.
        """
        dims = in_order(dimension for operand in operands for dimension in operand.dims)
        shape = box.shape(dims)
        values: list[Value] = []
        for operand in operands:
            inner = operand.at(box)
            values.append(emission.broadcast(inner.value, shape, [dims.index(each) for each in inner.dims]))
        return Lanes.over(factory(*values), dims, box)

    def __repr__(self) -> str:
        ranges = ", ".join(
            f"{dimension} in [{lower}, {lower + extent})"
            for dimension, lower, extent in zip(self.dims, self.lower, self.value.shape, strict=True)
        )
        return f"Lanes({self.dtype}; {ranges})"


def lanes_of(holder: Data | DataCondition) -> Lanes:
    """What holds the numbers or truth values that are known at run time only."""
    assert isinstance(holder.handle, Lanes)
    return holder.handle


def condition_of(lanes: Lanes) -> Predicate:
    """The condition that lanes of i1 hold."""
    if lanes.dtype != "i1":
        raise ValueError(f"a condition has dtype i1, not {lanes.dtype}")
    number = emission.splat_number(lanes.value)
    if number is not None:
        return TRUE if number else FALSE
    return DataCondition(lanes)
