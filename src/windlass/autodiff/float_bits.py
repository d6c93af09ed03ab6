"""Floats whose bits travel as integers: copied as `int4`, shuffled as `__float_as_int(v)`, packed two in a word.

An integer that holds the bits of floats has tangents of their type, one for each float in it (`FloatBits` says which
and where). What moves the integer moves these, what shifts it moves them within the word, and what changes low digits
only rounds. `follow` knows the ops for which that is so. All others compute with the bits: what comes of them has a
derivative that nobody knows, which is an error where it is asked for (`MissingDerivative`), and none where the bits
only decide something: in a comparison, or as an index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from windlass.diagnostics import Position
from windlass.facts.ranges import range_of
from windlass.ir import Op, Value
from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ops import (
    Add,
    And,
    BitcastConvert,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    Convert,
    DynamicSlice,
    DynamicUpdateSlice,
    Gather,
    Maximum,
    Minimum,
    MissingDerivative,
    Negate,
    OptimizationBarrier,
    Or,
    Pad,
    Reduce,
    Reshape,
    Reverse,
    Scatter,
    Select,
    ShiftLeft,
    ShiftRightArithmetic,
    ShiftRightLogical,
    Slice,
    Sort,
    Subtract,
    Transpose,
    Xor,
)
from windlass.ops.base import TensorOp, told
from windlass.ops.combiners import EXTREMES, combiners_of, find_choice
from windlass.ops.conversion import bit_width, exponent_bits_of

KEPT_DIGITS = 2
"""Leading digits of a float that count as the float: what is below may be changed or missing, as in rounding."""


class FloatBits(NamedTuple):
    """What an integer holds: floats of one type, by the positions of their signs in the word, lowest first.

    Without a position it is computed of a float's bits, and holds none.
    """

    dtype: str
    signs: tuple[int, ...] = ()

    @property
    def is_computed(self) -> bool:
        return not self.signs

    def tangent_types(self, value: Value) -> list[TensorType]:
        """The types of the tangents of an integer that holds these."""
        return [tensor_type(value.shape, self.dtype)] * max(len(self.signs), 1)

    def joined(self, other: FloatBits | None) -> FloatBits:
        """What is held by an integer that may come from either of two; None holds nothing that varies."""
        return self if other is None or other == self else FloatBits(self.dtype)

    def core(self, sign: int) -> int:
        """The bits of the word in which a float's sign, exponent and leading digits lie."""
        length = 1 + exponent_bits_of(self.dtype) + KEPT_DIGITS
        return ((1 << length) - 1) << (sign + 1 - length) if length <= sign + 1 else 0

    def digits(self, sign: int) -> int:
        """All bits of the word that belong to the float, down to those of the next."""
        below = [other + 1 for other in self.signs if other < sign]
        least = max(sign + 1 - bit_width(self.dtype), *below, 0)
        return (1 << (sign + 1)) - (1 << least)


Parts: TypeAlias = tuple[Value, ...]
"""The tangents of an integer, one for each float that it holds; of a float, its tangent."""
Move: TypeAlias = Callable[[Op, Sequence["Parts | None"]], Parts]
"""The tangents of a result, from an op and those of its operands."""


class Followed(NamedTuple):
    """What a result holds (None of a result that is a float), and its tangents."""

    bits: FloatBits | None
    move: Move


def follow(op: Op, held: Sequence[FloatBits | None], varies: Sequence[bool]) -> list[Followed | None]:
    """For each result that varies with the bits of floats, what it holds; `held` and `varies` are by operand."""
    held = [None if place in _indices(op) else each for place, each in enumerate(held)]
    if not any(each is not None for each in held) and not isinstance(op, BitcastConvert):
        return [None] * len(op.results)
    if isinstance(op, BitcastConvert):
        return [_read_bits(op) if held[0] is None else _recast(op, held[0])] if varies[0] else [None]
    sources = _sources(op)
    results: list[Followed | None] = []
    for place, result in enumerate(op.results):
        type_ = result.type
        if not isinstance(type_, TensorType) or type_.is_boolean:
            results.append(None)
        elif sources is not None:
            results.append(_follow_moved(place, sources[place], held))
        else:
            kept = _follow_computed(op, held) if type_.is_integer else None
            results.append(kept or _lost(op, place, held))
    return results


def _indices(op: Op) -> range:
    """The places of the operands that only say where something is."""
    match op:
        case Gather() | DynamicSlice():
            return range(1, len(op.operands))
        case DynamicUpdateSlice():
            return range(2, len(op.operands))
        case Scatter():
            return range(len(op.inputs), len(op.inputs) + 1)
        case _:
            return range(0)


def _sources(op: Op) -> list[tuple[int, ...]] | None:
    """For each result the places of the operands whose elements it consists of; None of ops that do more."""
    match op:
        case Select():
            return [(1, 2)]
        case Maximum() | Minimum():
            return [(0, 1)]
        case OptimizationBarrier() | Sort():
            return [(place,) for place in range(len(op.results))]
        case Reduce() if find_choice(op.body) is not None:
            return [(0,), ()]
        case Reduce() if all(combiner in EXTREMES for combiner in combiners_of(op.body)):
            return [(place,) for place in range(len(op.results))]
        case Scatter() if op.replaces_all() or all(each in EXTREMES for each in combiners_of(op.update_computation)):
            count = len(op.results)
            return [(place, count + 1 + place) for place in range(count)]
        case Concatenate():
            return [tuple(range(len(op.operands)))]
        case (
            Reshape() | Transpose() | BroadcastInDim() | Slice() | Reverse() | Pad() | DynamicSlice() | Gather()
            | DynamicUpdateSlice()
        ):  # fmt: skip
            return [tuple(sorted(frozenset[int]().union(*op.linear_positions())))]
        case _:
            return None


def _follow_moved(place: int, sources: tuple[int, ...], held: Sequence[FloatBits | None]) -> Followed | None:
    """What only moves."""
    found: FloatBits | None = None
    for position in sources:
        bits = held[position]
        found = found if bits is None else bits.joined(found)
    if found is None:
        return None
    if found.is_computed:
        return Followed(found, lambda op, given: _computed(op, given, found.tangent_types(op.results[place])))
    return Followed(found, _Moved(place, sources, found))


def _follow_computed(op: Op, held: Sequence[FloatBits | None]) -> Followed | None:
    """What integer arithmetic leaves whole."""
    whole = [(position, each) for position, each in enumerate(held) if each is not None and each.signs]
    match op:
        case Convert():
            return _shifted(held[0], 0, op)
        case ShiftLeft() if held[1] is None:
            return _shifted(held[0], _constant_of(op.rhs), op)
        case ShiftRightLogical() | ShiftRightArithmetic() if held[1] is None:
            by = _constant_of(op.rhs)
            return _shifted(held[0], None if by is None else -by, op)
        case And() | Or() | Xor() if len(whole) == 1:
            return _masked(op, *whole[0])
        case Or() | Xor() | Add():
            return _united(op, held)
        case Subtract() if held[1] is None:
            return _united(op, held)
        case _:
            return None


# -- from floats, and back ---------------------------------------------------------------------------------------------


def _read_bits(op: BitcastConvert) -> Followed | None:
    """Of a float, that it is read as another type: its own, or a wider word that holds several, or parts of it."""
    dtype = op.operand.dtype
    bits = FloatBits(dtype, (bit_width(dtype) - 1,))
    return _recast(op, bits)


def _recast(op: BitcastConvert, bits: FloatBits) -> Followed:
    """The same bits in words of another width, or a float again."""
    found = None if bits.is_computed else _in_words(op, bits)
    if found is None:
        return _lost(op, 0, [bits])
    held = found.bits
    assert held is not None
    is_own = op.tensor.is_float and held.signs == (bit_width(op.dtype) - 1,)
    if is_own and exponent_bits_of(held.dtype) == exponent_bits_of(op.dtype):
        return Followed(None, lambda op, given: (_converted(found.move(op, given)[0], op.type),))
    return found


def _in_words(op: BitcastConvert, bits: FloatBits) -> Followed | None:
    """What is held by words of another width. Of a float in several words, the last holds sign and leading digits."""
    width, whole, size = bit_width(op.operand.dtype), bit_width(op.dtype), bit_width(bits.dtype)
    if whole == width:
        return Followed(bits, lambda op, given: _of(given, 0))
    words = max(size // min(width, whole), 1)
    if whole > width:
        count = whole // width
        if count % words:
            return None
        chosen = range(words - 1, count, words)
        signs = tuple(sign + width * place for place in chosen for sign in bits.signs)

        def unite(op: Op, given: Sequence[Parts | None]) -> Parts:
            columns = [_split(each, count) for each in _of(given, 0)]
            return tuple(column[place] for place in chosen for column in columns)

        return Followed(FloatBits(bits.dtype, signs), unite)
    count = width // whole
    signs = tuple(sign - whole * (words - 1) for sign in bits.signs if sign < whole * words)
    if tuple(sign + whole * place for place in range(words - 1, count, words) for sign in signs) != bits.signs:
        return None
    found = FloatBits(bits.dtype, signs)
    if not all(found.core(sign) for sign in signs):
        return None

    def divide(op: Op, given: Sequence[Parts | None]) -> Parts:
        parts = _of(given, 0)
        zero = Constant.splat(0, parts[0].type)
        columns: list[Value] = []
        for each in range(len(signs)):
            row = [
                parts[place // words * len(signs) + each] if place % words == words - 1 else zero
                for place in range(count)
            ]
            columns.append(_joined(row))
        return tuple(columns)

    return Followed(found, divide)


def _of(given: Sequence[Parts | None], position: int) -> Parts:
    parts = given[position]
    assert parts is not None
    return parts


def _split(tangent: Value, count: int) -> Parts:
    """The elements along the last axis, each by itself."""
    shape = tangent.shape
    starts, ends, strides = [0] * len(shape), list(shape), (1,) * len(shape)
    parts: list[Value] = []
    for place in range(count):
        starts[-1], ends[-1] = place, place + 1
        parts.append(Reshape(Slice(tangent, tuple(starts), tuple(ends), strides), shape[:-1]))
    return tuple(parts)


def _joined(parts: Sequence[Value]) -> Value:
    """The inverse of `_split`."""
    return Concatenate(tuple(Reshape(each, (*each.shape, 1)) for each in parts), parts[0].tensor.rank)


def _converted(value: Value, type_: Type) -> Value:
    assert isinstance(type_, TensorType)
    return value if value.dtype == type_.dtype else Convert(value, type_.dtype)


# -- within words ------------------------------------------------------------------------------------------------------


def _shifted(bits: FloatBits | None, by: int | None, op: TensorOp) -> Followed | None:
    """The floats that are left whole as the bits move up the word; the others are gone."""
    if bits is None or by is None or bits.is_computed:
        return None
    width = bit_width(op.dtype)
    places = [place for place, sign in enumerate(bits.signs) if sign + by < width and bits.core(sign + by)]
    cut = [sign for place, sign in enumerate(bits.signs) if place not in places and 0 <= sign + by < width]
    # Of a float that is cut through, what is left is computed with.
    if cut or not places:
        return None
    found = FloatBits(bits.dtype, tuple(bits.signs[place] + by for place in places))
    return Followed(found, lambda op, given: tuple(_of(given, 0)[place] for place in places))


def _masked(op: And | Or | Xor, position: int, bits: FloatBits) -> Followed | None:
    """The floats that the other operand leaves whole, or whose signs it sets, clears or turns."""
    other = op.operands[1 - position]
    every = (1 << bit_width(op.dtype)) - 1
    touched = every ^ certain_bits(other) if isinstance(op, And) else possible_bits(other)
    places: list[int] = []
    for place, sign in enumerate(bits.signs):
        if isinstance(op, And) and not possible_bits(other) & bits.digits(sign):
            continue  # It is gone as a whole.
        if touched & bits.core(sign) & ~(1 << sign):
            return None
        places.append(place)
    if not places:
        return None

    def move(op: Op, given: Sequence[Parts | None]) -> Parts:
        parts, before = _of(given, position), op.operands[position]
        signs = ((place, bits.signs[place]) for place in places)
        return tuple(
            _turned(op, before, sign, parts[place]) if touched >> sign & 1 else parts[place] for place, sign in signs
        )

    return Followed(FloatBits(bits.dtype, tuple(bits.signs[place] for place in places)), move)


def _turned(after: Value, before: Value, sign: int, tangent: Value) -> Value:
    """The tangent of a float whose sign may be another one afterwards."""
    digit = Constant.of(1 << sign, f"ui{bit_width(before.dtype)}", before.shape)
    changed = And(Xor(before, after), BitcastConvert(digit, before.dtype))
    return Select(Compare(changed, Constant.splat(0, changed.type), "EQ"), tangent, Negate(tangent))


def _united(op: Op, held: Sequence[FloatBits | None]) -> Followed | None:
    """The floats of both operands, each of which the other leaves whole but for low digits."""
    chosen: list[tuple[int, int, int]] = []
    dtype: str | None = None
    for position, bits in enumerate(held):
        if bits is None:
            continue
        others = possible_bits(op.operands[1 - position])
        if bits.is_computed:
            continue
        if dtype not in (None, bits.dtype) or any(others & bits.core(sign) for sign in bits.signs):
            return None
        dtype = bits.dtype
        chosen += [(sign, position, place) for place, sign in enumerate(bits.signs)]
    if dtype is None:
        return None
    chosen.sort()
    bits = FloatBits(dtype, tuple(sign for sign, _, _ in chosen))
    return Followed(bits, lambda op, given: tuple(_of(given, position)[place] for _, position, place in chosen))


def possible_bits(value: Value) -> int:
    """The bits of an integer that may be set in some element.

    >>> from windlass.ir.values import tensor
    >>> hex(possible_bits(ShiftLeft(Convert(tensor("ui8"), "ui32"), Constant.of(4, "ui32"))))
    '0xff0'
    """
    width = bit_width(value.dtype)
    every = (1 << width) - 1
    constant = _constant_of(value)
    if constant is not None:
        return constant
    match value:
        case Constant():
            found = 0
            for each in set(value.array.reshape(-1).tolist()):
                found |= each
            return found & every
        case And():
            return possible_bits(value.lhs) & possible_bits(value.rhs)
        case Or() | Xor():
            return possible_bits(value.lhs) | possible_bits(value.rhs)
        case Convert() if value.operand.tensor.is_integer:
            below = possible_bits(value.operand)
            source = bit_width(value.operand.dtype)
            negative = value.operand.dtype.startswith("i") and below >> (source - 1) & 1
            return (below | (every ^ ((1 << source) - 1) if negative and source < width else 0)) & every
        case BitcastConvert() if bit_width(value.operand.dtype) == width and value.operand.tensor.is_integer:
            return possible_bits(value.operand)
        case ShiftLeft() if (by := _constant_of(value.rhs)) is not None:
            return possible_bits(value.lhs) << by & every
        case ShiftRightLogical() if (by := _constant_of(value.rhs)) is not None:
            return possible_bits(value.lhs) >> by
        case Add():
            # No more than one digit beyond the longer of the two.
            longest = max(possible_bits(value.lhs).bit_length(), possible_bits(value.rhs).bit_length())
            return min((1 << (longest + 1)) - 1, every)
        case TensorOp() if (sources := _sources(value)) is not None and len(value.results) == 1:
            found = 0
            for position in sources[0]:
                found |= possible_bits(value.operands[position])
            return found
        case _:
            known = range_of(value)
            return (1 << int(known.high).bit_length()) - 1 if known.low >= 0 else every


def certain_bits(value: Value) -> int:
    """The bits of an integer that are set in all elements, as far as they are known."""
    while isinstance(value, BroadcastInDim | Reshape):
        value = value.operand
    found = every = (1 << bit_width(value.dtype)) - 1
    if not isinstance(value, Constant):
        return 0
    for each in set(value.value.data.reshape(-1).tolist()):
        found &= each
    return found & every


def _constant_of(value: Value) -> int | None:
    """The bits of an integer that is the same known number in all elements."""
    while isinstance(value, BroadcastInDim | Reshape):
        value = value.operand
    if not isinstance(value, Constant) or not value.is_splat or not value.tensor.is_integer:
        return None
    return int(value.number) & ((1 << bit_width(value.dtype)) - 1)


# -- moved -------------------------------------------------------------------------------------------------------------


class _Moved:
    """The tangents of a result that consists of elements of operands: the op again, on the tangents of these."""

    def __init__(self, place: int, sources: tuple[int, ...], bits: FloatBits) -> None:
        self.place = place
        self.sources = sources
        self.bits = bits

    def __call__(self, op: Op, given: Sequence[Parts | None]) -> Parts:
        assert isinstance(op, TensorOp)
        found: list[Value] = []
        for part in range(len(self.bits.signs)):
            chosen: list[Value | None] = [None] * len(op.operands)
            for position in self.sources:
                parts = given[position]
                chosen[position] = (
                    Constant.of(0, self.bits.dtype, op.operands[position].shape) if parts is None else parts[part]
                )
            found.append(self._moved(op, chosen))
        return tuple(found)

    def _moved(self, op: TensorOp, chosen: Sequence[Value | None]) -> Value:
        if type(op).tangents is not TensorOp.tangents:
            moved = op.tangents(tuple(chosen))[self.place]
            assert moved is not None
            return moved
        operands = tuple(own if each is None else each for own, each in zip(op.operands, chosen, strict=True))
        return op.with_operands(operands).results[self.place]


# -- computed with -----------------------------------------------------------------------------------------------------


def _lost(op: Op, place: int, held: Sequence[FloatBits | None]) -> Followed:
    """What holds no float any more: an integer, or a number that was made of one."""
    result = op.results[place]
    computed = FloatBits(next(each for each in held if each is not None).dtype)
    if not result.tensor.is_integer:
        return Followed(None, lambda op, given: _computed(op, given, [op.results[place].type]))
    return Followed(computed, lambda op, given: _computed(op, given, computed.tangent_types(op.results[place])))


def _computed(op: Op, given: Sequence[Parts | None], types: Sequence[Type]) -> Parts:
    return missing(given, types, f"the bits of a float are computed with here ({told(op)})", op.source)


def missing(given: Sequence[Parts | None], types: Sequence[Type], reason: str, source: Position | None) -> Parts:
    """Tangents that nobody knows: for this reason, or that for which one of those given is missing already."""
    operands = tuple(value for parts in given if parts is not None for value in parts)
    earlier = next((value for value in operands if isinstance(value, MissingDerivative)), None)
    if earlier is not None:
        reason, source = earlier.reason, earlier.source
    found: list[Value] = []
    for type_ in types:
        assert isinstance(type_, TensorType)
        made = MissingDerivative(operands, type_, reason)
        made.source = source
        found.append(made)
    return tuple(found)
