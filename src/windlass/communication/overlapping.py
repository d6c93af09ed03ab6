"""Values that are longer than the field, such as those on the faces between cells: two of its length that overlap.

No mesh divides n + 1 elements evenly where it divides n, and what goes from one region to another is of the length that
is divided. So a loop carries such a value as its first n elements and its last n, and what a function gives of one is
put together outside of regions. In a region devices compute both parts: of the first one they need as much of their
neighbour's as the value is longer.
"""

from __future__ import annotations

from typing import NamedTuple

from windlass.communication.places import owner_of
from windlass.communication.propagation import Propagation
from windlass.communication.reading import READABLE
from windlass.ir import Block, Builder, Function, Region, TensorType, Value
from windlass.ops import Concatenate, Return, While
from windlass.ops.movement import slice_along


class Excess(NamedTuple):
    """That a value is longer than the divided extent: along this axis, which extent, and by how much."""

    axis: int
    extent: int
    more: int

    def parts(self, value: Value) -> tuple[Value, Value]:
        """The first elements and the last."""
        return (
            slice_along(value, self.axis, 0, self.extent),
            slice_along(value, self.axis, self.more, self.extent + self.more),
        )

    def whole(self, first: Value, last: Value) -> Value:
        """The value that has these parts."""
        end = slice_along(last, self.axis, self.extent - self.more, self.extent)
        return Concatenate((first, end), self.axis)


def write_as_overlapping(function: Function, propagation: Propagation) -> bool:
    """Rewrite the function in place; whether anything changed. Of several axes one is written at a time."""
    changed = False
    # Those within others come first.
    for op in reversed(list(function.walk())):
        if isinstance(op, While):
            found = {place: _excess(value, propagation) for place, value in enumerate(op.operands)}
            longer = {place: excess for place, excess in found.items() if excess is not None}
            if longer:
                _carry_parts(op, longer)
                changed = True
    return _give_parts(function, propagation) or changed


def _excess(value: Value, propagation: Propagation) -> Excess | None:
    """By how much the value is longer than the extent of its first such axis, if that is less than a device's part."""
    if not isinstance(value.type, TensorType):
        return None
    for axis, division in enumerate(propagation.divisions(value) or ()):
        if division is not None and 0 < value.shape[axis] - division.extent <= division.length:
            return Excess(axis, division.extent, value.shape[axis] - division.extent)
    return None


def _carry_parts(loop: While, longer: dict[int, Excess]) -> None:
    """Let a loop carry two parts of these values: the first in its place, the last behind all others."""
    assert loop.block is not None
    operands = list(loop.operands)
    with Builder(loop.block, before=loop, source=loop.source):
        for place, excess in longer.items():
            operands[place], last = excess.parts(operands[place])
            operands.append(last)
        cond, body = (
            Region(_with_parts(region.block, longer, operands, is_body=region is loop.body))
            for region in (loop.cond, loop.body)
        )
        results = list(While(cond, body, tuple(operands)).results)
        count = len(loop.results)
        for index, (place, excess) in enumerate(longer.items()):
            results[place] = excess.whole(results[place], results[count + index])
    for old, new in zip(loop.results, results[:count], strict=True):
        old.replace_all_uses_with(new)
    loop.erase()


def _with_parts(block: Block, longer: dict[int, Excess], operands: list[Value], is_body: bool) -> Block:
    """A copy of the condition or the body of a loop that carries parts."""
    count = len(block.arguments)
    made = Block([operand.type for operand in operands])
    known: dict[Value, Value] = dict(zip(block.arguments, made.arguments[:count], strict=True))
    with Builder(made):
        for index, (place, excess) in enumerate(longer.items()):
            known[block.arguments[place]] = excess.whole(made.arguments[place], made.arguments[count + index])
        for op in block:
            if op is not block.terminator:
                op.clone(known)
        given = [known.get(value, value) for value in block.terminator.operands]
        if is_body:
            for place, excess in longer.items():
                given[place], last = excess.parts(given[place])
                given.append(last)
        Return(tuple(given))
    return made


def _give_parts(function: Function, propagation: Propagation) -> bool:
    """Put results of the function together of their parts, where their region gives both."""
    end = function.body.terminator
    changed = False
    with Builder(function.body, before=end):
        for value in dict.fromkeys(end.operands):
            excess = _excess(value, propagation)
            owner = owner_of(value)
            if excess is None or not isinstance(owner, READABLE) or _is_put_together(value, excess):
                continue
            end.replace_operand(value, excess.whole(*excess.parts(value)))
            changed = True
    return changed


def _is_put_together(value: Value, excess: Excess) -> bool:
    owner = owner_of(value)
    if not isinstance(owner, Concatenate) or owner.dimension != excess.axis:
        return False
    return [each.shape[excess.axis] for each in owner.inputs] == [excess.extent, excess.more]
