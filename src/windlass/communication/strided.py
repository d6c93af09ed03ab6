"""Every other element along a divided axis, as the red and the black ones of a sweep: computed with those between.

A device's part of every s-th element begins where its part of all happens to: no mesh divides such values evenly. What
is computed of them, element by element, and put back between others is computed of all elements instead, and taken
where they are put. That is more arithmetic, and nothing is moved but halos.
"""

from __future__ import annotations

from windlass.communication.places import owner_of
from windlass.communication.propagation import Propagation
from windlass.ir import Builder, Function, Value
from windlass.ops import And, BroadcastInDim, Compare, Constant, Iota, Pad, Remainder, Select, Slice
from windlass.ops.pointwise import Elementwise

Sizes = tuple[int, ...]


def write_strided_as_dense(function: Function, propagation: Propagation) -> bool:
    """Rewrite the function in place; whether anything changed."""
    changed = False
    for op in [op for op in function.walk() if isinstance(op, Pad)]:
        divisions = propagation.divisions(op) or ()
        if op.block is None or not any(
            each is not None and between for each, between in zip(divisions, op.interior_padding, strict=False)
        ):
            continue
        with Builder(op.block, before=op, source=op.source):
            found = _written(op)
        if found is not None:
            op.replace_all_uses_with(found)
            op.erase()
            changed = True
    return changed


def _written(op: Pad) -> Value | None:
    """What stands at the places of the operand's elements, and the padding value elsewhere."""
    steps = tuple(between + 1 for between in op.interior_padding)
    dense = _Dense().find(op.operand, steps)
    if dense is None:
        return None
    is_put: Value | None = None
    for axis, step in enumerate(steps):
        if step > 1:
            number = Remainder(Iota(dense.shape, "i32", axis), Constant.of(step, "i32", dense.shape))
            test = Compare(number, Constant.of(0, "i32", dense.shape), "EQ")
            is_put = test if is_put is None else And(is_put, test)
    assert is_put is not None
    dense = Select(is_put, dense, BroadcastInDim(op.padding_value, dense.shape, ()))
    lows, highs = op.edge_padding_low, op.edge_padding_high
    return Pad(dense, op.padding_value, lows, highs, (0,) * len(lows)) if any((*lows, *highs)) else dense


class _Dense:
    """Values with what lies between their elements: of an array of which every s-th element was taken, all of them."""

    def __init__(self) -> None:
        self.known: dict[tuple[Value, Sizes], Value | None] = {}

    def find(self, value: Value, steps: Sizes) -> Value | None:
        """An array whose elements at each multiple of the steps are the value's; None where there is none at hand."""
        if all(step == 1 or size == 1 for step, size in zip(steps, value.shape, strict=True)):
            return value
        key = (value, steps)
        if key not in self.known:
            self.known[key] = self._make(value, steps)
        return self.known[key]

    def _make(self, value: Value, steps: Sizes) -> Value | None:
        shape = tuple((size - 1) * step + 1 for size, step in zip(value.shape, steps, strict=True))
        owner = owner_of(value)
        match owner:
            case Constant() if owner.is_splat:
                return Constant.of(owner.number, owner.dtype, shape)
            case BroadcastInDim() if not owner.operand.shape:
                return BroadcastInDim(owner.operand, shape, ())
            case Slice() if _takes_every(owner, steps):
                limits = tuple(first + size for first, size in zip(owner.start_indices, shape, strict=True))
                return Slice(owner.operand, owner.start_indices, limits, (1,) * len(shape))
            case Slice() if set(owner.strides) == {1}:
                whole = self.find(owner.operand, steps)
                starts = tuple(first * step for first, step in zip(owner.start_indices, steps, strict=True))
                limits = tuple(first + size for first, size in zip(starts, shape, strict=True))
                return None if whole is None else Slice(whole, starts, limits, (1,) * len(shape))
            case Elementwise() if len(owner.results) == 1:
                operands = [self.find(each, steps) if each.shape else each for each in owner.operands]
                known = tuple(each for each in operands if each is not None)
                return owner.with_fields(known).results[0] if len(known) == len(operands) else None
            case _:
                return None


def _takes_every(op: Slice, steps: Sizes) -> bool:
    """Whether it takes every s-th element along each axis."""
    return all(own == step or size == 1 for own, step, size in zip(op.strides, steps, op.shape, strict=True))
