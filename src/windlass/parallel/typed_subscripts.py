"""Accesses by subscript: what each offset in bytes is made of, as far as it counts elements of what is accessed.

    Load(tile, Add(Multiply(i, 68), Multiply(j, 4)), "f32") = Load(tile, Subscript((i, j), (68, 4)), "f32")

Both sides wrap around by 2**64, so they are equal whatever the indices are. An offset that is not surely a multiple of
the accessed width stays as it is.
"""

from __future__ import annotations

from windlass.ir import Argument, Block, Builder, Op, Result, Value
from windlass.loops import Access, Subscript, accessed_dtype
from windlass.ops.conversion import byte_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, ShiftLeft, Subtract

Terms = dict[Value, int]
"""A sum of multiples."""

MOST_PARTS = 64
"""Sums of more are not looked through."""


def type_subscripts(block: Block) -> None:
    """Make subscripts of the offsets of accesses in a block and within its ops.

    >>> from windlass.ir import BufferType, tensor_type
    >>> from windlass.loops import Load
    >>> body = Block([tensor_type((), "i64"), BufferType.of("global")])
    >>> i, x = body.arguments
    >>> with Builder(body):
    ...     load = Load(x, Add(Multiply(i, Constant.of(12, "i64")), Constant.of(8, "i64")), "f32")
    >>> type_subscripts(body)
    >>> load.offset.strides, load.offset.start
    ((12,), 8)
    """
    known: dict[tuple[Value, int], Subscript | None] = {}
    for op in list(block.walk()):
        if not isinstance(op, Access) or isinstance(op.offset, Subscript):
            continue
        offset, width = op.offset, byte_width(accessed_dtype(op))
        if op.operands.count(offset) > 1:
            continue  # it is stored, too
        if (offset, width) not in known:
            known[offset, width] = _subscript_of(offset, width)
        found = known[offset, width]
        if found is not None:
            op.replace_operand(offset, found)


def _subscript_of(offset: Value, width: int) -> Subscript | None:
    """The offset in elements of that width, where it is made; None if it might lie within one."""
    op = offset.owner if isinstance(offset, Result) else offset
    assert isinstance(op, Op | Argument) and op.block is not None
    before = op.next if isinstance(op, Op) else op.block.first
    assert before is not None
    with Builder(op.block, before, before.source):
        found = _collect(offset, width)
        if found is None:
            return None
        terms = {index: stride for index, factor in found[0].items() if (stride := _signed(factor))}
        start = _signed(found[1])
        if start % width or any(stride % width for stride in terms.values()):
            return None
        return Subscript(tuple(terms), tuple(terms.values()), start)


def _collect(offset: Value, width: int) -> tuple[Terms, int] | None:
    """What an i64 is a sum of, and the constant in it; None where that is too much.

    What is multiplied by whole elements already is an index of the source, and is not looked into.
    """
    terms, start, waiting = Terms(), 0, [(offset, 1)]
    for _ in range(MOST_PARTS):
        if not waiting:
            return terms, start
        value, factor = waiting.pop()
        if isinstance(value, Constant):
            start += factor * int(value.number)
            continue
        parts = _parts(value) if factor == 1 or factor % width else ()
        waiting += [(part, factor * scale) for part, scale in reversed(parts)]
        if not parts:
            terms[value] = terms.get(value, 0) + factor
    return None


def _parts(value: Value) -> tuple[tuple[Value, int], ...]:
    """The multiples of which a value is the sum; none where it is no sum."""
    match value:
        case Add():
            return (value.lhs, 1), (value.rhs, 1)
        case Subtract():
            return (value.lhs, 1), (value.rhs, -1)
        case Multiply() | ShiftLeft():
            inner, scale = _unscaled(value)
            if inner is not value:
                return ((inner, scale),)
            (left, scale), (right, other) = _unscaled(value.lhs), _unscaled(value.rhs)
            is_scaled = isinstance(value, Multiply) and scale * other != 1
            return ((Multiply(left, right), scale * other),) if is_scaled else ()
        case _:
            return ()


def _unscaled(value: Value) -> tuple[Value, int]:
    """What a value is a known multiple of, and the factor."""
    match value:
        case Multiply(rhs=Constant(number=number)):
            return value.lhs, int(number)
        case Multiply(lhs=Constant(number=number)):
            return value.rhs, int(number)
        case ShiftLeft(rhs=Constant(number=number)) if 0 <= number < 64:
            return value.lhs, 1 << int(number)
        case _:
            return value, 1


def _signed(number: int) -> int:
    """The i64 that equals a number by 2**64.

    >>> _signed(2**64 - 4), _signed(2**63)
    (-4, -9223372036854775808)
    """
    return (number + 2**63) % 2**64 - 2**63
