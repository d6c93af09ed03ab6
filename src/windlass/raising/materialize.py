"""Indices and conditions as tensors: iota arithmetic, no tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windlass.affine import index as indices
from windlass.affine.dimensions import Box, Dimension
from windlass.affine.index import Atom, Choice, Data, FloorDivide, Index, Modulo, RuntimeScalar
from windlass.affine.predicate import (
    AtLeastZero,
    Conjunction,
    DataCondition,
    DiffersFromZero,
    Disjunction,
    EqualsZero,
    Predicate,
)
from windlass.ir import Value
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert
from windlass.ops.elementwise import (
    Add,
    And,
    Divide,
    Multiply,
    Or,
    Remainder,
    Select,
    ShiftRightArithmetic,
    Subtract,
)
from windlass.ops.extremes import Maximum, Minimum
from windlass.raising import emission
from windlass.raising.lanes import Lanes, lanes_of

WORKING_RANGES: Mapping[str, tuple[int, int]] = {"i32": (-(2**31), 2**31 - 1), "i64": (-(2**63), 2**63 - 1)}


def dtype_for(*ranges: tuple[int, int]) -> str:
    """The smallest of i32 and i64 that holds all of the ranges."""
    least, most = WORKING_RANGES["i32"]
    return "i32" if all(least <= lower and upper <= most for lower, upper in ranges) else "i64"


def materialize(index: Index, box: Box, dtype: str) -> Lanes:
    """The index at the lanes of the box, wrapped around to `dtype` if that is an integer type that can't hold it."""
    index = index.simplify(box)
    needed = dtype_for(index.value_range(box))
    working = dtype if dtype in WORKING_RANGES else needed
    lanes = _index(index, box, working)
    if working == dtype:
        return lanes
    return Lanes(Convert(lanes.value, dtype), lanes.dims, lanes.lower)


def _index(index: Index, box: Box, dtype: str) -> Lanes:
    """In i32 or i64 arithmetic, which may wrap around so long as it comes back."""
    total: Lanes | None = None
    constant = index.constant
    for atom, factor in index.terms.items():
        if isinstance(atom, Dimension):
            constant += factor * box.lower(atom)
            part = _counter(atom, box, dtype)
        else:
            part = _atom(atom, box, dtype)
        if total is not None and factor == -1:
            total = Lanes.elementwise(Subtract, total, part, box=box)
            continue
        if factor != 1:
            part = _with_number(Multiply, part, factor, dtype)
        total = part if total is None else Lanes.elementwise(Add, total, part, box=box)
    if total is None:
        return Lanes(emission.constant(_wrap(constant, dtype), dtype))
    return _with_number(Add, total, constant, dtype) if constant else total


def _counter(dimension: Dimension, box: Box, dtype: str) -> Lanes:
    """0, 1, 2, ... along a dimension of the box."""
    return Lanes.over(emission.iota((box.extent(dimension),), dtype, 0), (dimension,), box)


def _wrap(number: int, dtype: str) -> int:
    least, most = WORKING_RANGES[dtype]
    return (number - least) % (most - least + 1) + least


def _with_number(op: type[Add | Multiply | Divide | Remainder], lanes: Lanes, number: int, dtype: str) -> Lanes:
    filled = emission.constant(_wrap(number, dtype), dtype, lanes.value.shape)
    return Lanes(op(lanes.value, filled), lanes.dims, lanes.lower)


def _convert(lanes: Lanes, dtype: str) -> Lanes:
    return lanes if lanes.dtype == dtype else Lanes(Convert(lanes.value, dtype), lanes.dims, lanes.lower)


def _atom(atom: Atom, box: Box, dtype: str) -> Lanes:
    match atom:
        case Dimension():
            lanes = _counter(atom, box, dtype)
            return _with_number(Add, lanes, box.lower(atom), dtype) if box.lower(atom) else lanes
        case RuntimeScalar():
            return _convert(Lanes(atom.value), dtype)
        case Data():
            return _convert(lanes_of(atom).cover(box), dtype)
        case FloorDivide() | Modulo():
            return _division(atom, box, dtype)
        case indices.IndexMinimum() | indices.IndexMaximum():
            working = _wider(dtype, atom.left.value_range(box), atom.right.value_range(box))
            op = Minimum if isinstance(atom, indices.IndexMinimum) else Maximum
            left, right = _index(atom.left, box, working), _index(atom.right, box, working)
            return _convert(Lanes.elementwise(op, left, right, box=box), dtype)
        case Choice():
            condition = _compare(atom.condition, "GE", box)
            left, right = _index(atom.left, box, dtype), _index(atom.right, box, dtype)
            return Lanes.elementwise(Select, condition, left, right, box=box)


def _wider(dtype: str, *ranges: tuple[int, int]) -> str:
    return "i64" if dtype == "i64" else dtype_for(*ranges)


def _division(atom: FloorDivide | Modulo, box: Box, dtype: str) -> Lanes:
    """Division that rounds down by one that truncates: the operand is shifted up by a multiple of the divisor."""
    lower, upper = atom.operand.value_range(box)
    multiple = max(0, -(lower // atom.divisor))
    shifted = atom.operand + multiple * atom.divisor
    if shifted.value_range(box)[1] > WORKING_RANGES["i64"][1]:
        return _convert(_wide_division(atom, box), dtype)
    working = _wider(dtype, shifted.value_range(box), (atom.divisor, atom.divisor), (lower, upper))
    operand = _index(shifted, box, working)
    if isinstance(atom, Modulo):
        return _convert(_with_number(Remainder, operand, atom.divisor, working), dtype)
    quotient = _with_number(Divide, operand, atom.divisor, working)
    return _convert(_with_number(Add, quotient, -multiple, working) if multiple else quotient, dtype)


def _wide_division(atom: FloorDivide | Modulo, box: Box) -> Lanes:
    """The same where the operand takes all of 64 bits: what truncation leaves below zero is put right."""
    operand = _index(atom.operand, box, "i64")
    divisor = atom.divisor
    rest = _with_number(Remainder, operand, divisor, "i64")
    is_below = Lanes(emission.compare_with(rest.value, "LT", 0), rest.dims, rest.lower)
    if isinstance(atom, Modulo):
        return Lanes.elementwise(Select, is_below, _with_number(Add, rest, divisor, "i64"), rest, box=box)
    if divisor & (divisor - 1) == 0:
        amount = emission.constant(divisor.bit_length() - 1, "i64", operand.value.shape)
        return Lanes(ShiftRightArithmetic(operand.value, amount), operand.dims, operand.lower)
    quotient = _with_number(Divide, operand, divisor, "i64")
    return Lanes.elementwise(Select, is_below, _with_number(Add, quotient, -1, "i64"), quotient, box=box)


def materialize_places(index: Index, box: Box, size: int, dtype: str | None = None) -> Lanes:
    """The index as places along an axis of `size`: those outside may be others, but stay outside.

    `dtype` is one that holds `size` too.
    """
    dtype = dtype or dtype_of_places(size)
    index = index.simplify(box)
    least, most = WORKING_RANGES[dtype]
    lower, upper = index.value_range(box)
    if least <= lower and upper <= most:
        return materialize(index, box, dtype)
    wide = materialize(index, box, "i64")
    ends = [emission.constant(each, "i64", wide.value.shape) for each in (-1, size)]
    inside = Minimum(Maximum(wide.value, ends[0]), ends[1])
    return _convert(Lanes(inside, wide.dims, wide.lower), dtype)


def dtype_of_places(size: int) -> str:
    """The dtype for places along an axis: it holds `size` itself too, which stands for nowhere.

    >>> dtype_of_places(2**31 - 1), dtype_of_places(2**31)
    ('i32', 'i64')
    """
    return "i32" if size <= WORKING_RANGES["i32"][1] else "i64"


def materialize_condition(condition: Predicate, box: Box) -> Lanes:
    """Where the condition holds, as lanes of i1 over just the dimensions that it depends on."""
    match condition:
        case AtLeastZero():
            return _compare(condition.index, "GE", box)
        case EqualsZero():
            return _compare(condition.index, "EQ", box)
        case DiffersFromZero():
            return _negate(_compare(condition.index, "EQ", box))
        case DataCondition():
            inner = lanes_of(condition).cover(box)
            return _negate(inner) if condition.is_negated else inner
        case Conjunction():
            return _combine(And, condition.parts, box)
        case Disjunction():
            return _combine(Or, condition.parts, box)
        case _:
            return Lanes(emission.constant(condition.is_true, "i1"))


def _negate(lanes: Lanes) -> Lanes:
    return Lanes(emission.negate(lanes.value), lanes.dims, lanes.lower)


def _combine(op: type[And | Or], parts: Sequence[Predicate], box: Box) -> Lanes:
    """Those over few dimensions first, so that little is broadcast."""
    first, *others = sorted((materialize_condition(part, box) for part in parts), key=lambda each: len(each.dims))
    for each in others:
        first = Lanes.elementwise(op, first, each, box=box)
    return first


def _compare(index: Index, direction: str, box: Box) -> Lanes:
    """One side of the comparison takes the terms over one set of dimensions, the other one all the rest."""
    index = index.simplify(box)
    if not index.terms:
        held = index.constant >= 0 if direction == "GE" else index.constant == 0
        return Lanes(emission.constant(held, "i1"))
    first = next(iter(index.terms))
    near = indices.dimensions_of(first)
    left = Index(0, {each: factor for each, factor in index.terms.items() if indices.dimensions_of(each) == near})
    right = Index(0, {each: factor for each, factor in index.terms.items() if each not in left.terms})
    if all(factor < 0 for factor in left.terms.values()):
        # -left + right + c >= 0 is right + c >= left.
        flipped = {"GE": "LE", "EQ": "EQ"}[direction]
        left, right, direction = -left, right + index.constant, flipped
    else:
        right = -right - index.constant
    working = dtype_for(left.value_range(box), right.value_range(box), *_partial_ranges(left, box))
    left_lanes = _index(left, box, working)
    if not right.terms:
        number = emission.constant(right.constant, working, left_lanes.value.shape)
        return Lanes(Compare(left_lanes.value, number, direction), left_lanes.dims, left_lanes.lower)
    right_lanes = _index(right, box, working)

    def compare(one: Value, other: Value) -> Value:
        return Compare(one, other, direction)

    return Lanes.elementwise(compare, left_lanes, right_lanes, box=box)


def _partial_ranges(index: Index, box: Box) -> Sequence[tuple[int, int]]:
    return [indices.range_of(atom, box) for atom in index.terms]


def scalar_start(index: Index, box: Box, size: int, dtype: str) -> Value:
    """An index over scalars only, a place along an axis of `size`, as a rank-0 tensor."""
    lanes = materialize_places(index, box, size, dtype)
    if lanes.dims:
        raise ValueError(f"{index} differs between lanes")
    return lanes.value
