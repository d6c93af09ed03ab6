"""Updates of a word that change a part of it only: how atomics on halves and bytes are made of those on words.

    half = which & 1 ? old >> 16 : old & 0xffff;
    new = which & 1 ? (old & 0xffff) | (f(half) << 16) : (old & 0xffff0000) | f(half);

is f on the half that `which` names. To see that, bytes are followed through the shifts and masks, once for each value
that the low bits of `which` may have: all but some neighbours must keep their place, and those must be made by the
same function of themselves each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from windlass.ir import Block, Builder, Op, Value, tensor_type
from windlass.ops.base import INTEGER
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert, Convert, bit_width, byte_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import (
    Add,
    And,
    Multiply,
    Not,
    Or,
    Select,
    ShiftLeft,
    ShiftRightLogical,
    Subtract,
    Xor,
)
from windlass.ops.extremes import Maximum, Minimum
from windlass.parallel.atomic_kinds import is_outside

LOW_BITS = 7
"""What names a part are the lowest bits of an index or address."""

Byte = int | tuple[Value, int]
"""A byte that is known, or byte number n of a value, counted from the lowest."""
Key = tuple[object, ...]


@dataclass
class WordPart:
    """A part of a word, and how it is made of itself."""

    body: Block
    """Takes the part; its new value is the body's last."""
    new: Value
    width: int
    """In bytes."""
    selector: _Selector | None
    """The low bits on which it depends which part it is."""
    places: dict[int, int]
    """Where in the word it begins, in bytes, by what the low bits are."""

    def place(self) -> Value | None:
        """Where the part begins, as an i64 placed by the current builder; None if that is at the word's begin."""
        if self.selector is None:
            (begin,) = self.places.values()
            return Constant.of(begin, "i64") if begin else None
        bits: Value = self.selector.value
        bits = bits if bits.dtype == "i64" else Convert(bits, "i64")
        if self.selector.shift:
            bits = ShiftRightLogical(bits, Constant.of(self.selector.shift, "i64"))
        steps = {begin / bit for bit, begin in self.places.items() if bit}
        if len(steps) == 1 and self.places[0] == 0 and float(step := steps.pop()).is_integer():
            return bits if step == 1 else Multiply(bits, Constant.of(int(step), "i64"))
        result: Value = Constant.of(self.places[0], "i64")
        for bit, begin in self.places.items():
            result = Select(Compare(bits, Constant.of(bit, "i64"), "EQ"), Constant.of(begin, "i64"), result)
        return result


def find_part(new: Value, old: Value, body: Block, before: Builder) -> WordPart | None:
    """The one part of a word that an update changes, if that is all that its new value differs in from the old one.

    What is made of other values goes where the builder puts it.
    """
    if old.dtype not in ("i32", "i64"):
        return None
    selectors = list(_selectors(new, body))
    bases = {each.base for each in selectors}
    if len(bases) > 1:
        return None
    base = bases.pop() if bases else None
    mask = max((each.mask for each in selectors), default=0)
    if any(each.mask & ~mask for each in selectors):
        return None
    made: dict[int, tuple[_Found, Block, Value]] = {}
    outside: dict[Value, Value] = {}
    for bits in (each for each in range(mask + 1) if each & ~mask == 0):
        found = _Tracing(old, body, base, bits).find(new)
        bodies = None if found is None else found.make(before, outside)
        if found is None or bodies is None:
            break
        made[bits] = (found, *bodies)
    else:
        first, part, value = made.pop(0)
        is_same = all(_form(block, result) == _form(part, value) for _, block, result in made.values())
        places = {0: first.begin, **{bits: found.begin for bits, (found, _, _) in made.items()}}
        if is_same:
            _forget(block for _, block, _ in made.values())
            selector = next((each for each in selectors if each.mask == mask), None)
            return WordPart(part, value, first.width, selector, places)
        _forget([part])
    _forget(block for _, block, _ in made.values())
    return None


def _forget(bodies: Iterable[Block]) -> None:
    """Let what bodies use no longer count them as users."""
    for body in bodies:
        for op in tuple(body):
            op.drop_operands()


def _form(body: Block, result: Value) -> list[Key]:
    """Equal for bodies that compute the same."""
    numbers: dict[Value, int] = dict.fromkeys(body.arguments, -1)
    form: list[Key] = []
    for op in body:
        operands = tuple(numbers.get(operand, operand) for operand in op.operands)
        form.append((type(op), op.type, tuple(op.attributes.items()), operands))
        numbers[op] = len(numbers)
    return [*form, (body.arguments[0].type, numbers.get(result, result))]


@dataclass
class _Selector:
    """Low bits of an integer: `value = (base & mask) << shift`."""

    value: And
    base: Value
    mask: int
    shift: int


def _selector(value: Value) -> _Selector | None:
    if not isinstance(value, And):
        return None
    kept, base, shift = _constant(value.rhs), _without_conversions(value.lhs), 0
    if isinstance(base, ShiftLeft):
        shift = _constant(base.rhs) or 0
        base = _without_conversions(base.lhs)
    if kept is None or kept < 0 or not 0 < kept >> shift <= LOW_BITS:
        return None
    return _Selector(value, base, kept >> shift, shift)


def _selectors(new: Value, body: Block) -> Iterator[_Selector]:
    """Low bits of something that the update depends on, known before it."""
    seen: set[Value] = set()
    waiting = [new]
    while waiting:
        value = waiting.pop()
        if value in seen or not isinstance(value, Op):
            continue
        seen.add(value)
        if is_outside(value, body):
            selector = _selector(value)
            if selector is not None:
                yield selector
                continue
            if not isinstance(value, Convert | BitcastConvert | Compare | Not | ShiftLeft | Multiply | Subtract | Xor):
                continue
        waiting += value.operands


def _without_conversions(value: Value) -> Value:
    """What an integer was converted from; its low bits are the same."""
    while isinstance(value, BitcastConvert | Convert) and value.operand.dtype in INTEGER:
        value = value.operand
    return value


def _constant(value: Value) -> int | None:
    return int(value.number) if isinstance(value, Constant) and value.dtype in INTEGER else None


# -- bytes on their way -----------------------------------------------------------------------------------------------


class _Tracing:
    """Follows bytes of the old value, where the low bits of `base` are `bits`."""

    def __init__(self, old: Value, body: Block, base: Value | None, bits: int) -> None:
        self.old = old
        self.body = body
        self.base = base
        self.bits = bits
        self.traced: dict[Value, tuple[Byte, ...]] = {}

    def find(self, new: Value) -> _Found | None:
        """The part that is changed, if the others are kept."""
        traced = self.bytes_of(new)
        changed = [place for place, each in enumerate(traced) if each != (self.old, place)]
        if not changed:
            return None
        begin, width = changed[0], len(changed)
        source = traced[begin]
        if width not in (1, 2) or begin % width or isinstance(source, int):
            return None
        if [traced[place] for place in changed] != [(source[0], each) for each in range(width)]:
            return None
        if changed != list(range(begin, begin + width)):
            return None
        return _Found(self, source[0], begin, width)

    def number(self, value: Value) -> int | None:
        """The value, if the low bits tell."""
        known = _constant(value)
        if known is not None:
            return known
        selector = _selector(value)
        if selector is not None and selector.base is self.base:
            return (self.bits & selector.mask) << selector.shift
        match value:
            case Convert() | BitcastConvert() if value.operand.dtype in INTEGER and value.dtype in INTEGER:
                return self.number(value.operand)
            case Not() if value.dtype == "i1":
                inner = self.number(value.operand)
                return None if inner is None else 1 - inner
            case ShiftLeft() | Multiply() | Subtract() | Xor() | Compare():
                left, right = self.number(value.lhs), self.number(value.rhs)
                if left is None or right is None:
                    return None
                return _combine(value, left, right)
            case _:
                return None

    def bytes_of(self, value: Value) -> tuple[Byte, ...]:
        """Each byte of a value, the lowest first."""
        if value not in self.traced:
            self.traced[value] = self._trace(value)
        return self.traced[value]

    def _trace(self, value: Value) -> tuple[Byte, ...]:
        count = byte_width(value.dtype)
        unknown: tuple[Byte, ...] = tuple((value, place) for place in range(count))
        if value is self.old or value.dtype not in INTEGER:
            return unknown
        number = self.number(value)
        if number is not None:
            return tuple((number >> (8 * place)) & 255 for place in range(count))
        match value:
            case BitcastConvert() if value.operand.dtype in INTEGER:
                return self.bytes_of(value.operand)
            case Convert() if value.operand.dtype in INTEGER:
                inner = self.bytes_of(value.operand)
                if len(inner) >= count:
                    return inner[:count]
                return inner + (0,) * (count - len(inner)) if value.operand.tensor.is_unsigned else unknown
            case Select():
                taken = self.number(value.pred)
                if taken is not None:
                    return self.bytes_of(value.on_true if taken else value.on_false)
                return self._where_equal(value.on_true, value.on_false, unknown)
            case Maximum() | Minimum():
                # What is 0 in both is so in the greater and in the lesser one, if neither is negative.
                kept = self._where_equal(value.lhs, value.rhs, unknown)
                return kept if value.tensor.is_unsigned or kept[-1] == 0 else unknown
            case ShiftLeft() | ShiftRightLogical():
                distance = self.number(value.rhs)
                if distance is None or distance % 8 or not 0 <= distance < 8 * count:
                    return unknown
                inner, step = self.bytes_of(value.lhs), distance // 8
                zeros: tuple[Byte, ...] = (0,) * step
                return zeros + inner[: count - step] if isinstance(value, ShiftLeft) else inner[step:] + zeros
            case Not():
                inner = self.bytes_of(value.operand)
                known = tuple(255 - each for each in inner if isinstance(each, int))
                return known if len(known) == count else unknown
            case And() | Or() | Xor() | Add():
                pairs = list(zip(self.bytes_of(value.lhs), self.bytes_of(value.rhs), strict=True))
                merged = tuple(_merge(value, *pair) for pair in pairs)
                if isinstance(value, Add) and any(each is None for each in merged):
                    return unknown
                return tuple(here if here is not None else byte for here, byte in zip(merged, unknown, strict=True))
            case _:
                return unknown

    def _where_equal(self, one: Value, other: Value, unknown: tuple[Byte, ...]) -> tuple[Byte, ...]:
        """Known bytes that two values have in common; the unknown ones elsewhere."""
        triples = zip(self.bytes_of(one), self.bytes_of(other), unknown, strict=True)
        return tuple(left if left == right and isinstance(left, int) else new for left, right, new in triples)

    # -- the function of the part -------------------------------------------------------------------------------------

    def is_part(self, value: Value, begin: int, width: int) -> bool:
        """Whether a value is the old part, with zeros above it."""
        return self.begins_with_part(value, begin, width) and not any(self.bytes_of(value)[width:])

    def begins_with_part(self, value: Value, begin: int, width: int) -> bool:
        """Whether the lowest bytes of a value are the old part."""
        if value.dtype not in INTEGER or bit_width(value.dtype) < 8 * width:
            return False
        return self.bytes_of(value)[:width] == tuple((self.old, begin + each) for each in range(width))

    def chosen(self, value: Value) -> Value | None:
        """The side of a choice that the low bits decide."""
        if not isinstance(value, Select):
            return None
        taken = self.number(value.pred)
        return None if taken is None else value.on_true if taken else value.on_false

    def float_type(self, value: Value, begin: int, width: int) -> str | None:
        """The float type that the part is seen as, if it is."""
        if is_outside(value, self.body) or not isinstance(value, Op):
            return None
        if isinstance(value, BitcastConvert) and value.tensor.is_float and self.is_part(value.operand, begin, width):
            return value.dtype
        return next(filter(None, (self.float_type(each, begin, width) for each in value.operands)), None)

    def rebuild(self, value: Value, begin: int, width: int, part: Value, made: dict[Value, Value]) -> Value:
        """The value as made of the part.

        Raises _WholeWord where it is made of other parts, too.
        """
        if is_outside(value, self.body):
            return value
        if value is self.old:
            raise _WholeWord
        if value in made:
            return made[value]
        chosen = self.chosen(value)
        if self.is_part(value, begin, width):
            result = part if not part.tensor.is_float else BitcastConvert(part, f"i{8 * width}")
            if bit_width(value.dtype) > 8 * width:
                result = Convert(BitcastConvert(result, f"ui{8 * width}"), value.dtype)
            elif value.dtype != result.dtype:
                result = BitcastConvert(result, value.dtype)
        elif chosen is not None:
            result = self.rebuild(chosen, begin, width, part, made)
        elif (
            isinstance(value, BitcastConvert)
            and value.dtype == part.dtype
            and self.is_part(value.operand, begin, width)
        ):
            result = part
        else:
            assert isinstance(value, Op)
            operands = {each: self.rebuild(each, begin, width, part, made) for each in value.operands}
            result = value.clone(operands)
        made[value] = result
        return result


class _WholeWord(Exception):
    """What is stored to a part of the word is made of more than that part."""


@dataclass
class _Found:
    """The part that is changed for some low bits: it becomes the lowest bytes of `source`."""

    tracing: _Tracing
    source: Value
    begin: int
    width: int

    def make(self, before: Builder, outside: dict[Value, Value]) -> tuple[Block, Value] | None:
        """A body that takes the part, and its new value, placed there; None if that is made of other parts, too.

        `outside` holds the lowest bytes of values that are known before, which the builder places there.
        """
        tracing, word = self.tracing, f"i{8 * self.width}"
        kept = tracing.float_type(self.source, self.begin, self.width) or word
        block = Block([tensor_type((), kept)], ["old"])
        with Builder(block, source=tracing.body.last.source if tracing.body.last else None):
            try:
                new = _Narrowing(self, before, outside, block.arguments[0]).lowest(self.source)
            except _WholeWord:
                _forget([block])
                return None
            if isinstance(new, BitcastConvert) and new.operand.dtype == kept:
                new = new.operand
            elif new.dtype != kept:
                new = BitcastConvert(new, kept)
        return block, new


class _Narrowing:
    """Makes the new part of the old one by operations on numbers of its own width, where that gives the same."""

    def __init__(self, found: _Found, before: Builder, outside: dict[Value, Value], part: Value) -> None:
        self.found = found
        self.before = before
        self.outside = outside
        self.part = part
        self.word = f"i{8 * found.width}"
        self.made: dict[Value, Value] = {}

    def lowest(self, value: Value) -> Value:
        """The lowest bytes of a value."""
        found, tracing = self.found, self.found.tracing
        if value.dtype not in INTEGER or bit_width(value.dtype) < 8 * found.width:
            return self._word(self._rebuilt(value))
        if tracing.begins_with_part(value, found.begin, found.width):
            return self.part if self.part.dtype == self.word else BitcastConvert(self.part, self.word)
        if is_outside(value, tracing.body):
            if value not in self.outside:
                with self.before:
                    self.outside[value] = self._word(value)
            return self.outside[value]
        chosen = tracing.chosen(value)
        match value if chosen is None else chosen:
            case And() | Or() | Xor() | Add() | Subtract() | Multiply() as op:
                return type(op)(self.lowest(op.lhs), self.lowest(op.rhs))
            case Maximum() | Minimum() as op if all(self._is_short(each) for each in op.operands):
                sides = [BitcastConvert(self.lowest(each), f"u{self.word}") for each in op.operands]
                return BitcastConvert(type(op)(*sides), self.word)
            case Convert() | BitcastConvert() as op if op.operand.dtype in INTEGER:
                return self.lowest(op.operand)
            case Select() as op:
                return Select(self._rebuilt(op.pred), self.lowest(op.on_true), self.lowest(op.on_false))
            case other:
                return self._word(self._rebuilt(other))

    def _is_short(self, value: Value) -> bool:
        """Whether a value has nothing but zeros above the part's bytes."""
        above = self.found.tracing.bytes_of(value)[self.found.width :]
        return bool(above) and all(each == 0 for each in above)

    def _rebuilt(self, value: Value) -> Value:
        return self.found.tracing.rebuild(value, self.found.begin, self.found.width, self.part, self.made)

    def _word(self, value: Value) -> Value:
        """The lowest bytes of a value that was made, or the whole of a shorter one."""
        width = 8 * self.found.width
        if bit_width(value.dtype) > width and isinstance(value, Convert) and bit_width(value.operand.dtype) == width:
            value = value.operand
        if bit_width(value.dtype) == width:
            return value if value.dtype == self.word else BitcastConvert(value, self.word)
        return Convert(value, self.word)


def _combine(op: Op, left: int, right: int) -> int | None:
    match op:
        case ShiftLeft():
            return left << right
        case Multiply():
            return left * right
        case Subtract():
            return left - right
        case Xor():
            return left ^ right
        case Compare() if op.direction in ("EQ", "NE"):
            return int((left == right) == (op.direction == "EQ"))
        case _:
            return None


def _merge(op: Op, left: Byte, right: Byte) -> Byte | None:
    """A byte of a bitwise combination (or of a sum without carry); None if it is a new one."""
    if isinstance(left, int) and not isinstance(right, int):
        left, right = right, left
    if not isinstance(right, int):
        return None
    if isinstance(left, int):
        if isinstance(op, And):
            return left & right
        if isinstance(op, Add):
            return left + right if not left & right else None
        return left | right if isinstance(op, Or) else left ^ right
    if isinstance(op, And):
        return left if right == 255 else 0 if right == 0 else None
    return left if right == 0 else None
