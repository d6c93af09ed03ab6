"""Dimensions split in two or fused into one, for the sake of one access.

An upsampling kernel reads `x[i / 2]`, a kernel over flat ids has `g / width` for its row and `g % width` for its
column. With `i = 2*row + place` the quotient is just `row`: the access is made over `row` and `place`, and the result
reshaped back. The other way round, `(16*block + thread) / width` needs block and thread fused before it can be split.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from windlass.affine.dimensions import EVERYWHERE, Box, Dimension, in_order
from windlass.affine.index import Atom, Data, FloorDivide, Index, Modulo, parts_of
from windlass.affine.layout import Line
from windlass.affine.predicate import (
    TRUE,
    AtLeastZero,
    Conjunction,
    DataCondition,
    DiffersFromZero,
    Disjunction,
    EqualsZero,
    Predicate,
    at_least_zero,
    conjunction,
    disjunction,
)
from windlass.raising import emission
from windlass.raising.lanes import Lanes, lanes_of

FEWEST_BLOCKS = 4
"""A quotient of fewer values than this is better taken apart into pieces."""


@dataclass(frozen=True)
class Split:
    """`old = width*outer + inner + shift`, where outer and inner run over all of their ranges.

    They make `low` lanes before the box of the old dimension and `high` lanes after it: those are not active.
    """

    old: Dimension
    outer: Dimension
    inner: Dimension
    width: int
    shift: int
    low: int
    high: int

    @property
    def removed(self) -> tuple[Dimension, ...]:
        return (self.old,)

    @property
    def replacements(self) -> Mapping[Dimension, Index]:
        return {self.old: Index.of(self.outer).scale(self.width) + Index.of(self.inner) + self.shift}

    def bounds(self, box: Box) -> Predicate:
        """What holds at the lanes of the old box only."""
        if not self.low and not self.high:
            return TRUE
        lower, upper = box.bounds(self.old)
        value = self.replacements[self.old]
        return at_least_zero(value - lower) & at_least_zero(-value + (upper - 1))

    def forward(self, lanes: Lanes, box: Box) -> Lanes:
        """Lanes over the old dimension as lanes over the new ones."""
        if self.old not in lanes.dims:
            return lanes
        lanes = lanes.cover(lanes.region.replace(self.old, *box.bounds(self.old)))
        value = emission.pad_axis(lanes.value, lanes.dims.index(self.old), self.low, self.high)
        return Lanes(value, lanes.dims, lanes.lower).replace_dimension(self.old, (self.outer, self.inner), EVERYWHERE)

    def backward(self, lanes: Lanes, box: Box) -> Lanes:
        """Lanes over the new dimensions as lanes over the old one."""
        if self.outer not in lanes.dims and self.inner not in lanes.dims:
            return lanes
        dims = in_order((*lanes.dims, self.outer, self.inner))
        value = lanes.expand(dims, lanes.region)
        axis = dims.index(self.outer)
        whole = self.outer.size * self.width
        value = emission.reshape(value, (*value.shape[:axis], whole, *value.shape[axis + 2 :]))
        value = emission.slice_axis(value, axis, self.low, whole - self.high)
        joined = (*dims[:axis], self.old, *dims[axis + 2 :])
        return Lanes.over(value, joined, lanes.region.replace(self.old, *box.bounds(self.old)))


@dataclass(frozen=True)
class Fuse:
    """One dimension that counts through the box of several, the last of them fastest."""

    old: tuple[Dimension, ...]
    fused: Dimension
    strides: tuple[int, ...]
    lower: tuple[int, ...]

    @property
    def removed(self) -> tuple[Dimension, ...]:
        return self.old

    @property
    def replacements(self) -> Mapping[Dimension, Index]:
        whole = Index.of(self.fused)
        result: dict[Dimension, Index] = {}
        above = self.fused.size
        for dimension, stride, lower in zip(self.old, self.strides, self.lower, strict=True):
            result[dimension] = whole.floor_divide(stride).modulo(above // stride) + lower
            above = stride
        return result

    def bounds(self, box: Box) -> Predicate:
        """All lanes of the new dimension are lanes of the old box."""
        return TRUE

    def forward(self, lanes: Lanes, box: Box) -> Lanes:
        """Lanes over the old dimensions as lanes over the new one."""
        if not set(self.old) & set(lanes.dims):
            return lanes
        others = [dimension for dimension in lanes.dims if dimension not in self.old]
        region = lanes.region
        for dimension in self.old:
            region = region.replace(dimension, *box.bounds(dimension))
        present = [dimension for dimension in self.old if dimension in lanes.dims]
        value = lanes.cover(Box({each: region.bounds(each) for each in (*others, *present)})).expand(
            (*others, *self.old), region
        )
        value = emission.reshape(value, (*value.shape[: len(others)], self.fused.size))
        dims = [*others, self.fused]
        order = sorted(range(len(dims)), key=lambda place: dims[place].key)
        return Lanes.over(emission.transpose(value, order), [dims[place] for place in order], region)

    def backward(self, lanes: Lanes, box: Box) -> Lanes:
        """Lanes over the new dimension as lanes over the old ones."""
        if self.fused not in lanes.dims:
            return lanes
        axis = lanes.dims.index(self.fused)
        dims = [*lanes.dims[:axis], *self.old, *lanes.dims[axis + 1 :]]
        shape = (*lanes.value.shape[:axis], *box.shape(self.old), *lanes.value.shape[axis + 1 :])
        value = emission.reshape(lanes.value, shape)
        order = sorted(range(len(dims)), key=lambda place: dims[place].key)
        region = lanes.region
        for dimension in self.old:
            region = region.replace(dimension, *box.bounds(dimension))
        return Lanes.over(emission.transpose(value, order), [dims[place] for place in order], region)


Regrouping: TypeAlias = "Split | Fuse"


def find_regroupings(index: Index, box: Box) -> list[Regrouping]:
    """Regroupings that would make some quotient or remainder in the index simpler, the most promising first."""
    found: dict[tuple[object, ...], tuple[int, int, Regrouping]] = {}
    for atom in _divisions(index):
        operand, divisor = atom.operand, atom.divisor
        strides = [(each, factor) for each, factor in operand.terms.items() if isinstance(each, Dimension)]
        if len(strides) != len(operand.terms) or any(_is_data_over(index, each) for each, _ in strides):
            continue
        if len(strides) == 1:
            ((dimension, factor),) = strides
            lower, upper = operand.value_range(box)
            if factor == 1 and upper // divisor - lower // divisor >= FEWEST_BLOCKS:
                key = (dimension, divisor, operand.constant)
                if key not in found:
                    found[key] = (-divisor, operand.constant, _split(dimension, divisor, operand.constant, box))
        else:
            fused = _fuse(strides, box)
            if fused is not None:
                found.setdefault((fused.old,), (-(2**62), 0, fused))
    return [regrouping for *_, regrouping in sorted(found.values(), key=lambda each: each[:2])]


def _divisions(index: Index) -> Iterator[FloorDivide | Modulo]:
    for atom in index.terms:
        if isinstance(atom, FloorDivide | Modulo):
            yield atom
        for part in parts_of(atom):
            yield from _divisions(part)


def _is_data_over(index: Index, dimension: Dimension) -> bool:
    return any(
        dimension in atom.handle.dims
        if isinstance(atom, Data)
        else any(_is_data_over(part, dimension) for part in parts_of(atom))
        for atom in index.terms
    )


def _split(old: Dimension, width: int, offset: int, box: Box) -> Split:
    """For the quotient and remainder of `old + offset` by the width."""
    lower, upper = box.bounds(old)
    first, last = (lower + offset) // width, (upper - 1 + offset) // width
    outer, inner = old.refine(width, last - first + 1)
    shift = first * width - offset
    low = lower - shift
    high = (last + 1 - first) * width - low - (upper - lower)
    return Split(old, outer, inner, width, shift, low, high)


def _fuse(strides: list[tuple[Dimension, int]], box: Box) -> Fuse | None:
    """For a sum of dimensions whose strides nest without gaps down to 1."""
    strides = sorted(strides, key=lambda each: -each[1])
    for (_, stride), (inner, inner_stride) in itertools.pairwise(strides):
        if stride != inner_stride * box.extent(inner):
            return None
    if strides[-1][1] != 1:
        return None
    outermost, stride = strides[0]
    dims = tuple(dimension for dimension, _ in strides)
    name = "*".join(dimension.name for dimension in dims)
    fused = Dimension(name, stride * box.extent(outermost), outermost.order, (*outermost.key, 0))
    lower = tuple(box.lower(dimension) for dimension in dims)
    return Fuse(dims, fused, tuple(each for _, each in strides), lower)


def fuse_line(line: Line, box: Box) -> Fuse | None:
    """One dimension for all those along a line, so that a guard on the place along it becomes one on a dimension."""
    if len(line.dims) < 2 or line.reversed:
        return None
    strides: list[tuple[Dimension, int]] = []
    stride = 1
    for dimension in reversed(line.dims):
        strides.append((dimension, stride))
        stride *= box.extent(dimension)
    return _fuse(strides, box)


def regrouped_index(index: Index, regrouping: Regrouping, box: Box) -> Index:
    """The index over the new dimensions, for the lanes of the box without the old ones."""
    return index.substitute(regrouping.replacements, box.without(regrouping.removed))


def regrouped_predicate(predicate: Predicate, regrouping: Regrouping, box: Box) -> Predicate:
    """The predicate over the new dimensions; `box` is that of the old ones."""
    if predicate.dimensions.isdisjoint(regrouping.removed):
        return predicate
    match predicate:
        case AtLeastZero() | EqualsZero() | DiffersFromZero():
            predicate = type(predicate)(_with_data(predicate.index, regrouping, box))
            return predicate.substitute(regrouping.replacements, box.without(regrouping.removed))
        case DataCondition():
            return DataCondition(regrouping.forward(lanes_of(predicate), box), predicate.is_negated)
        case Conjunction():
            return conjunction(regrouped_predicate(part, regrouping, box) for part in predicate.parts)
        case Disjunction():
            return disjunction(regrouped_predicate(part, regrouping, box) for part in predicate.parts)
        case _:
            return predicate


def _with_data(index: Index, regrouping: Regrouping, box: Box) -> Index:
    def leaf(atom: Atom) -> Index:
        if isinstance(atom, Data) and set(atom.handle.dims) & set(regrouping.removed):
            return Index.of(Data(regrouping.forward(lanes_of(atom), box), atom.lower, atom.upper))
        return Index.of(atom)

    return index.rebuild(leaf)
