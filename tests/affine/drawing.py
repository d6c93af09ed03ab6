"""Random dimensions, boxes, indices and predicates, and the points of a box."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.index import Index
from windlass.affine.predicate import FALSE, TRUE, Predicate


@st.composite
def dimensions(draw: st.DrawFn, least: int = 1, most: int = 3, largest: int = 7) -> list[Dimension]:
    count = draw(st.integers(least, most))
    return [Dimension("xyzuvw"[place], draw(st.integers(1, largest)), place) for place in range(count)]


@st.composite
def boxes(draw: st.DrawFn, dims: Sequence[Dimension]) -> Box:
    box = Box()
    for dimension in dims:
        if draw(st.booleans()):
            lower = draw(st.integers(0, dimension.size - 1))
            box = box.restrict(dimension, lower, draw(st.integers(lower + 1, dimension.size)))
    return box


@st.composite
def affine_indices(draw: st.DrawFn, dims: Sequence[Dimension]) -> Index:
    result = Index(draw(st.integers(-9, 9)))
    for dimension in dims:
        if draw(st.booleans()):
            result = result + Index.of(dimension).scale(draw(st.integers(-6, 6)))
    return result


@st.composite
def indices(draw: st.DrawFn, dims: Sequence[Dimension], depth: int = 3) -> Index:
    if depth == 0:
        return draw(affine_indices(dims))
    kinds = st.sampled_from(["affine", "add", "scale", "divide", "modulo", "least", "most", "choose", "rest"])
    first = draw(indices(dims, depth - 1))
    match draw(kinds):
        case "affine":
            return draw(affine_indices(dims))
        case "add":
            return first + draw(indices(dims, depth - 1))
        case "scale":
            return first.scale(draw(st.integers(-4, 4)))
        case "divide":
            return first.floor_divide(draw(st.integers(1, 8)))
        case "modulo":
            return first.modulo(draw(st.integers(1, 8)))
        case "least":
            return first.minimum(draw(indices(dims, depth - 1)))
        case "most":
            return first.maximum(draw(indices(dims, depth - 1)))
        case "rest":
            divisor = draw(st.integers(1, 8))
            return first - first.floor_divide(divisor).scale(divisor)
        case _:
            return Index.choose(draw(affine_indices(dims)), first, draw(indices(dims, depth - 1)))


@st.composite
def predicates(draw: st.DrawFn, dims: Sequence[Dimension], depth: int = 2) -> Predicate:
    if depth == 0:
        if draw(st.integers(0, 19)) == 0:
            return draw(st.sampled_from([TRUE, FALSE]))
        direction = draw(st.sampled_from(["EQ", "NE", "LT", "LE", "GT", "GE"]))
        left = draw(indices(dims, draw(st.sampled_from([0, 0, 1]))))
        return Predicate.compare(direction, left, draw(affine_indices(dims)))
    first, second = draw(predicates(dims, depth - 1)), draw(predicates(dims, depth - 1))
    match draw(st.sampled_from(["and", "or", "not", "same"])):
        case "and":
            return first & second
        case "or":
            return first | second
        case "not":
            return ~first
        case _:
            return (first & second) | (first & ~second)


@st.composite
def ways_along_an_axis(draw: st.DrawFn, dims: Sequence[Dimension], size: int) -> Index:
    """A place along an axis as kernels compute it: shifted, strided, reversed, clamped, wrapped, repeated, in tiles."""
    position = Index(0)
    for dimension in dims:
        inner = 1
        for later in dims[list(dims).index(dimension) + 1 :]:
            inner *= later.size
        position = position + Index.of(dimension).scale(inner if draw(st.integers(0, 5)) else draw(st.integers(-3, 3)))
    position = position.scale(draw(st.sampled_from([1, 1, 1, 1, -1, 2, 3]))) + draw(st.integers(-3, 3))
    divisor = draw(st.integers(2, 5))
    match draw(st.sampled_from(["plain", "plain", "clamp", "wrap", "edge", "reflect", "repeat", "tile", "floor"])):
        case "clamp":
            return position.maximum(Index(0)).minimum(Index(size - 1))
        case "wrap":
            return (position + size).modulo(size)
        case "edge":
            return Index.choose(position - 1, position - 1, position)
        case "reflect":
            return Index.choose(position, position, -position)
        case "repeat":
            return position.floor_divide(divisor)
        case "tile":
            return position.modulo(divisor)
        case "floor":
            return position.floor_divide(divisor).scale(divisor + 1) + position.modulo(divisor)
        case _:
            return position


@st.composite
def array_accesses(draw: st.DrawFn) -> tuple[list[Dimension], Index, tuple[int, ...], int]:
    """Dimensions, an index into a row-major array, its row strides, and how many words it has."""
    dims = draw(dimensions(1, 4, 5))
    shape = [draw(st.integers(1, 7)) for _ in range(draw(st.integers(1, 3)))]
    along: list[list[Dimension]] = [[] for _ in shape]
    for dimension in dims:
        if draw(st.integers(0, 5)):
            along[draw(st.integers(0, len(shape) - 1))].append(dimension)
    index, stride = Index(0), 1
    strides: list[int] = []
    for size, own in zip(reversed(shape), reversed(along), strict=True):
        index = index + draw(ways_along_an_axis(own, size)).scale(stride)
        stride *= size
        strides.append(stride)
    hints = tuple(strides[:-1]) if draw(st.booleans()) else ()
    return dims, index, hints, stride


def in_bounds(index: Index, size: int) -> Predicate:
    """A mask under which the index is inside of memory."""
    return Predicate.compare("GE", index, Index(0)) & Predicate.compare("LT", index, Index(size))


def points(dims: Sequence[Dimension], box: Box) -> Iterator[dict[Dimension, int]]:
    """Every point of the box."""
    for place in itertools.product(*(range(*box.bounds(dimension)) for dimension in dims)):
        yield dict(zip(dims, place, strict=True))
