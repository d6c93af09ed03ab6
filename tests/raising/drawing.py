"""Random dimensions, boxes, indices and predicates."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from windlass.raising.dimensions import Box, Dimension
from windlass.raising.index import Index
from windlass.raising.predicate import FALSE, TRUE, Predicate


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
