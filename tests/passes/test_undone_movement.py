"""Elementwise ops between a movement and its inverse, each looked at once however often it is used."""

from __future__ import annotations

from windlass.ir import Block, Builder, Value, tensor_type
from windlass.ops import Add, Multiply, Reshape
from windlass.passes.undone_movement import LARGEST_CONE, list_cone, reshape_undone_after_elementwise


def doublings(count: int) -> Reshape:
    """A reshape undone behind sums of a value and itself: 2 to the power of `count` ways lead to the beginning."""
    block = Block([tensor_type((2, 3), "i32")])
    with Builder(block):
        value: Value = Reshape(block.arguments[0], (6,))
        for _ in range(count):
            value = Add(value, Multiply(value, value))
        return Reshape(value, (2, 3))


def test_a_value_that_is_used_twice_is_looked_at_once() -> None:
    op = doublings(LARGEST_CONE // 2)
    found = list_cone(op)
    assert found is not None
    ops, leaves = found
    assert len(ops) == LARGEST_CONE
    assert len(leaves) == 1
    places: dict[Value, int] = {each: place for place, each in enumerate(ops)}
    assert all(
        places[operand] < place for each, place in places.items() for operand in each.operands if operand in places
    )
    assert isinstance(reshape_undone_after_elementwise(op), Add)


def test_too_many_ops_are_left_alone() -> None:
    assert list_cone(doublings(LARGEST_CONE)) is None
