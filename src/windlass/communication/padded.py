"""Values that are shorter than the divided extent, such as fields that a mesh does not divide evenly: padded to it.

What goes from one region to another is of the length that is divided. So a loop carries a shorter value within an array
of that length; what stands around it there is never read. Its rounds then move halos, and the value is cut out once,
after the loop.
"""

from __future__ import annotations

from typing import NamedTuple

from windlass.communication.local_regions import embed, middle, whole_shape
from windlass.communication.places import owner_of
from windlass.communication.propagation import Divisions, Propagation
from windlass.ir import Block, Builder, Function, Region, TensorType, Value
from windlass.ops import Return, Slice, While


class Place(NamedTuple):
    """Where a value begins in the array of the divided extent that holds it."""

    divisions: Divisions
    starts: tuple[int, ...]

    def within(self, value: Value) -> Value:
        """The array that holds the value."""
        return embed(value, self.divisions, self.starts)

    def cut(self, array: Value, shape: tuple[int, ...]) -> Value:
        """The value of this shape, of the array that holds it."""
        limits = tuple(start + size for start, size in zip(self.starts, shape, strict=True))
        return Slice(array, self.starts, limits, (1,) * len(shape))


def write_as_padded(function: Function, propagation: Propagation) -> bool:
    """Rewrite the function in place; whether anything changed."""
    changed = False
    # Those within others come first.
    for op in reversed(list(function.walk())):
        if isinstance(op, While):
            shorter = _find_shorter(op, propagation)
            if shorter:
                _carry_padded(op, shorter)
                changed = True
    return changed


def _find_shorter(loop: While, propagation: Propagation) -> dict[int, Place]:
    """The carried values that are shorter than the divided extent, by less than its half.

    One begins where what it is cut from says; else where another of its shape does; else in the middle.
    """
    found: dict[int, Divisions] = {}
    known: dict[tuple[tuple[int, ...], Divisions], tuple[int, ...]] = {}
    for place, value in enumerate(loop.operands):
        divisions = propagation.divisions(value) if isinstance(value.type, TensorType) else None
        if not divisions:
            continue
        pairs = [(size, each.extent) for size, each in zip(value.shape, divisions, strict=True) if each is not None]
        if all(size <= extent < 2 * size for size, extent in pairs) and any(size < extent for size, extent in pairs):
            found[place] = divisions
            owner = owner_of(value)
            if isinstance(owner, Slice) and set(owner.strides) == {1}:
                whole, operand = whole_shape(value, divisions), owner.operand
                if operand.shape == whole and propagation.divisions(operand) == divisions:
                    known.setdefault((value.shape, divisions), owner.start_indices)
    places: dict[int, Place] = {}
    for place, divisions in found.items():
        shape = loop.operands[place].shape
        centred = tuple(0 if each is None else middle(size, each) for size, each in zip(shape, divisions, strict=True))
        places[place] = Place(divisions, known.get((shape, divisions), centred))
    return places


def _carry_padded(loop: While, shorter: dict[int, Place]) -> None:
    assert loop.block is not None
    with Builder(loop.block, before=loop, source=loop.source):
        operands = [
            shorter[place].within(value) if place in shorter else value for place, value in enumerate(loop.operands)
        ]
        cond, body = (
            Region(_with_padded(region.block, shorter, operands, is_body=region is loop.body))
            for region in (loop.cond, loop.body)
        )
        made = While(cond, body, tuple(operands))
        for place, (old, new) in enumerate(zip(loop.results, made.results, strict=True)):
            old.replace_all_uses_with(shorter[place].cut(new, old.tensor.shape) if place in shorter else new)
    loop.erase()


def _with_padded(block: Block, shorter: dict[int, Place], operands: list[Value], is_body: bool) -> Block:
    """A copy of the condition or the body of a loop that carries arrays with the values in them."""
    made = Block([operand.type for operand in operands])
    known: dict[Value, Value] = dict(zip(block.arguments, made.arguments, strict=True))
    with Builder(made):
        for place, way in shorter.items():
            known[block.arguments[place]] = way.cut(made.arguments[place], block.arguments[place].tensor.shape)
        for op in block:
            if op is not block.terminator:
                op.clone(known)
        given: list[Value] = []
        for place, value in enumerate(block.terminator.operands):
            new = known.get(value, value)
            if is_body and place in shorter:
                # What the loop leaves as it is stays so.
                is_kept = value is block.arguments[place]
                new = made.arguments[place] if is_kept else shorter[place].within(new)
            given.append(new)
        Return(tuple(given))
    return made
