"""Which local arrays are small parts of a larger result, kept in registers: their elements can be lanes.

    float sums[4][4];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) sums[i][j] += down[i] * across[j];

Each thread does here what sixteen could do. Where every access to such an array counts its elements by the counters
of loops, the loops over `i` and `j` become dimensions as the threads' are, and the array holds one tensor over them:
`Allocate.axes` and `For.counts_elements` say so. That is only what raising tries: the access that doesn't fit is found
when it is interpreted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windlass.ir import Argument, Block, Op, Result, Value
from windlass.loops import Allocate, DoWhile, For, Load, Store, Subscript, ViewBuffer
from windlass.ops.conversion import BitcastConvert, Convert, byte_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, Or, ShiftLeft, Subtract

Strides = dict[For, int]
"""By how many bytes an address grows with each iteration of loops."""


@dataclass
class _Access:
    op: Load | Store
    constant: int
    strides: Strides

    @property
    def dtype(self) -> str:
        return self.op.dtype_read if isinstance(self.op, Load) else self.op.value.dtype


def has_register_tiles(body: Block) -> bool:
    """Whether it looks as if some arrays were such; copies of statements may have to be made loops first."""
    arrays = [op for op in body.walk() if isinstance(op, Allocate) and op.space == "local"]
    return any(_is_accumulated_in(_accesses(array) or []) for array in arrays)


def mark_register_tiles(body: Block) -> None:
    """Mark the arrays that are accumulated in, and those that the same loops count; none at all if one doesn't fit."""
    accesses = {op: _accesses(op) for op in body.walk() if isinstance(op, Allocate) and op.space == "local"}
    chosen = {array for array, found in accesses.items() if found and _is_accumulated_in(found)}
    if not chosen:
        return
    loops: set[For] = set()
    while True:
        for array in chosen:
            found = accesses[array]
            if found is None:
                return
            for access in found:
                loops |= access.strides.keys()
        more = {
            array for array, found in accesses.items() if array not in chosen and _is_counted_by(array, found, loops)
        }
        if not more:
            break
        chosen |= more
    marks: list[tuple[Allocate, tuple[tuple[int, int], ...]]] = []
    for array in chosen:
        axes = _axes(array, accesses[array] or [])
        if axes is None:
            return
        marks.append((array, axes))
    for array, axes in marks:
        array.axes = axes
    for loop in loops:
        loop.counts_elements = True


def is_tiled(body: Block) -> bool:
    """Whether arrays are marked."""
    return any(isinstance(op, Allocate) and op.axes for op in body.walk())


# -- accesses ---------------------------------------------------------------------------------------------------------


def _uses(buffer: Value) -> Iterator[tuple[Op, Value]]:
    for user in buffer.uses:
        if isinstance(user, ViewBuffer):
            yield from _uses(user)
        else:
            yield user, buffer


def _accesses(array: Allocate) -> list[_Access] | None:
    """All that is done with an array; None where that is not only loads and stores at places that loops count."""
    found: dict[Op, _Access] = {}
    for user, buffer in _uses(array):
        if not isinstance(user, Load | Store) or user.buffer is not buffer or user.is_volatile:
            return None
        place = _place(user.offset)
        if place is None:
            return None
        found[user] = _Access(user, *place)
    return list(found.values())


def _place(offset: Value) -> tuple[int, Strides] | None:
    """An offset as a constant and multiples of the counters of loops of known length."""
    match offset:
        case Constant():
            return int(offset.number), {}
        case Argument():
            region = offset.block.parent if offset.block is not None else None
            loop = region.parent if region is not None else None
            if isinstance(loop, For) and offset is loop.body.block.arguments[0] and trips_of(loop) is not None:
                return 0, {loop: 1}
            return None
        case Convert() | BitcastConvert():
            return _place(offset.operand)
        case Subscript():
            constant, strides = offset.start, Strides()
            for index, stride in zip(offset.indices, offset.strides, strict=True):
                place = _place(index)
                if place is None:
                    return None
                constant += stride * place[0]
                for loop, step in place[1].items():
                    strides[loop] = strides.get(loop, 0) + stride * step
            return constant, {loop: stride for loop, stride in strides.items() if stride}
        case Add() | Or() | Subtract():
            one, other = (_place(operand) for operand in offset.operands)
            if one is None or other is None:
                return None
            sign = -1 if isinstance(offset, Subtract) else 1
            strides = dict(one[1])
            for loop, stride in other[1].items():
                strides[loop] = strides.get(loop, 0) + sign * stride
            return one[0] + sign * other[0], {loop: stride for loop, stride in strides.items() if stride}
        case Multiply() | ShiftLeft():
            one, other = (_place(operand) for operand in offset.operands)
            if one is None or other is None:
                return None
            if one[1] and isinstance(offset, Multiply):
                one, other = other, one
            if isinstance(offset, ShiftLeft):
                one, other = other, one
                if one[1] or not 0 <= one[0] < 64:
                    return None
                one = 1 << one[0], {}
            if one[1]:
                return None
            return one[0] * other[0], {loop: one[0] * stride for loop, stride in other[1].items()}
        case _:
            return None


def trips_of(loop: For) -> int | None:
    """The number of iterations, if it is a number more than one."""
    count = loop.trip_count
    return int(count.number) if isinstance(count, Constant) and count.number > 1 else None


def _loops_around(op: Op) -> Iterator[Op]:
    outer = op.parent_op
    while outer is not None:
        if isinstance(outer, For | DoWhile):
            yield outer
        outer = outer.parent_op


def _is_accumulated_in(accesses: list[_Access]) -> bool:
    """Whether some loop adds to elements that loops within it count, or around it."""
    for store in accesses:
        if not isinstance(store.op, Store) or not store.strides:
            continue
        value = store.op.value
        summands: Sequence[Value] = ()
        if isinstance(value, Add | Subtract) and any(loop not in store.strides for loop in _loops_around(store.op)):
            summands = value.operands
        elif isinstance(value, Result) and isinstance(value.owner, For):
            summands = value.owner.initial[value.index : value.index + 1]
        for load in accesses:
            if load.op in summands and (load.constant, load.strides) == (store.constant, store.strides):
                return True
    return False


def _is_counted_by(array: Allocate, accesses: list[_Access] | None, loops: set[For]) -> bool:
    if accesses is not None:
        return any(not loops.isdisjoint(access.strides) for access in accesses)
    return any(any(loop in loops for loop in _loops_around(user)) for user, _ in _uses(array))


# -- axes -------------------------------------------------------------------------------------------------------------


def _axes(array: Allocate, accesses: list[_Access]) -> tuple[tuple[int, int], ...] | None:
    """The axes as loops count them: of what is added to, those of the stores that do; else as few as there are."""
    is_sum = _is_accumulated_in(accesses)
    found: set[tuple[tuple[int, int], ...]] = set()
    for access in accesses:
        if not access.strides or (is_sum and not isinstance(access.op, Store)):
            continue
        axes = sorted(((stride, trips_of(loop) or 0) for loop, stride in access.strides.items()), reverse=True)
        size = byte_width(access.dtype)
        for stride, count in reversed(axes):
            if stride != size:
                break
            size *= count
        else:
            if not access.constant and size == array.size:
                found.add(tuple(axes))
    # Sums that are cleared by one loop and added to by several have the axes of the latter.
    return max(found, key=len, default=None) if is_sum else min(found, key=len, default=None)
