"""Of what places in memory are multiples, and how local arrays of several lanes lie side by side."""

from __future__ import annotations

from collections.abc import Iterable

from windlass.ir import Value
from windlass.loops import Allocate, Load, Store, Subscript, ViewBuffer, accessed_dtype
from windlass.native.refusal import NeedsOneLane
from windlass.ops.conversion import Convert, byte_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, ShiftLeft, Subtract


def is_multiple(value: Value, of: int) -> bool:
    """Whether an integer is a multiple of a power of two, by how it is computed; wrapping around keeps that."""
    if of == 1:
        return True
    match value:
        case Constant():
            return int(value.number) % of == 0
        case Subscript():
            pairs = zip(value.indices, value.strides, strict=True)
            return value.start % of == 0 and all(stride % of == 0 or is_multiple(each, of) for each, stride in pairs)
        case Add() | Subtract():
            return is_multiple(value.lhs, of) and is_multiple(value.rhs, of)
        case Multiply():
            return is_multiple(value.lhs, of) or is_multiple(value.rhs, of)
        case ShiftLeft() if isinstance(value.rhs, Constant):
            return 1 << min(max(int(value.rhs.number), 0), 63) >= of or is_multiple(value.lhs, of)
        case Convert() if not value.operand.tensor.is_float and value.operand.dtype != "i1":
            return is_multiple(value.operand, of)
        case _:
            return False


def granule_of(op: Allocate) -> int:
    """How many bytes of a lane lie together: those of the only kind of element that is read and written there.

    Raises NeedsOneLane where there are several kinds, or other uses of the memory.
    """
    accesses = list(_accesses(op))
    widths = {byte_width(accessed_dtype(each)) for each in accesses}
    if len(widths) != 1:
        raise NeedsOneLane
    (width,) = widths
    if any(not is_multiple(each.offset, width) for each in accesses):
        raise NeedsOneLane
    return width


def _accesses(buffer: Value) -> Iterable[Load | Store]:
    for user in buffer.uses:
        if isinstance(user, ViewBuffer):
            yield from _accesses(user)
        elif isinstance(user, Load | Store) and user.buffer is buffer:
            yield user
        else:
            raise NeedsOneLane
