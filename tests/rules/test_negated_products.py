"""Signs that may leave a product, and those that may not."""

from __future__ import annotations

import pytest

from windlass.ir.values import tensor
from windlass.ops import DotGeneral, Negate
from windlass.rules.negated_products import dot_of_negated


@pytest.mark.parametrize(("left", "right"), [("f32", "i8"), ("i8", "f32")])
def test_signs_of_integers_stay_in_a_product_of_floats(left: str, right: str) -> None:
    # -(-128) is -128 for i8, and -0 is 0, which decides the sign of a product that is zero.
    x, y = Negate(tensor(left, 2, name="x")), Negate(tensor(right, 2, name="y"))
    assert dot_of_negated(DotGeneral(x, y, (), (), (0,), (0,), dtype="f32")) is None


def test_signs_of_floats_leave_a_product() -> None:
    x, y = tensor("f32", 2, name="x"), tensor("f32", 2, name="y")
    made = dot_of_negated(DotGeneral(Negate(x), Negate(y), (), (), (0,), (0,), dtype="f32"))
    assert isinstance(made, DotGeneral) and made.operands == (x, y)
