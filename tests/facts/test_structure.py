from __future__ import annotations

from windlass.facts.structure import find_diagonal
from windlass.ir import Block, Builder, tensor_type
from windlass.ops import BroadcastInDim, Constant, Multiply, Return, Select, Transpose
from windlass.rules.diagonals import index_mask


def test_what_is_on_a_diagonal_is_found_anew_when_ops_far_above_were_replaced() -> None:
    block = Block([tensor_type((4,), "f32"), tensor_type((4, 4), "f32")])
    vector, matrix = block.arguments
    with Builder(block):
        mask, zero = index_mask(4), Constant.of(0, "f32", (4, 4))
        old = Select(mask, matrix, zero)
        scaled = Multiply(Transpose(old, (1, 0)), matrix)
        Return((scaled,))
    found = find_diagonal(scaled)
    assert found is not None
    with Builder(block, old):
        new = Select(mask, BroadcastInDim(vector, (4, 4), (0,)), zero)
    old.replace_all_uses_with(new)
    old.erase()
    again = find_diagonal(scaled)
    assert again is not None
    made = again.make()
    assert isinstance(made, Multiply)
    assert made.lhs is vector


def test_what_was_not_known_may_be_known_later() -> None:
    block = Block([tensor_type((4, 4), "f32")] * 2)
    matrix, other = block.arguments
    with Builder(block):
        moved = Transpose(Transpose(matrix, (1, 0)), (1, 0))
        Return((moved,))
    assert find_diagonal(moved) is None
    with Builder(block, block.first):
        diagonal = Select(index_mask(4), other, Constant.of(0, "f32", (4, 4)))
    matrix.replace_all_uses_with(diagonal)
    assert find_diagonal(moved) is not None
