from __future__ import annotations

import pytest

from windlass.facts.matrix_parts import Band, find_parts
from windlass.ir.values import tensor
from windlass.ops import Add, Compare, Constant, Convert, Iota, Select


@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_what_a_mask_takes_along_a_diagonal_is_a_band(offset: int) -> None:
    down = Add(Iota((3, 2), "i32", 0), Constant.of(offset, "i32", (3, 2)))
    mask = Compare(down, Iota((3, 2), "i32", 1), "EQ")
    chosen = Select(mask, tensor("f32", 3, 2), Constant.of(0, "f32", (3, 2)))
    for matrix in (chosen, Convert(mask, "f32")):
        parts = find_parts(matrix, 4)
        assert parts is not None
        assert [part.offset for part in parts if isinstance(part, Band)] == [offset]


@pytest.mark.parametrize("offset", [-3, 2, 5])
def test_a_diagonal_outside_of_the_matrix_is_no_band(offset: int) -> None:
    down = Add(Iota((3, 2), "i32", 0), Constant.of(offset, "i32", (3, 2)))
    mask = Compare(down, Iota((3, 2), "i32", 1), "EQ")
    chosen = Select(mask, tensor("f32", 3, 2), Constant.of(0, "f32", (3, 2)))
    for matrix in (chosen, Convert(mask, "f32")):
        parts = find_parts(matrix, 4)
        assert not any(isinstance(part, Band) for part in parts or ())
