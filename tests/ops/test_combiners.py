"""What is said of the ops that fold values holds of their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from windlass.ir.values import tensor
from windlass.ops import Add, BitcastConvert, Compare, Constant, Maximum, Minimum, Multiply, Select, Subtract
from windlass.ops.combiners import (
    COMBINERS,
    IDEMPOTENT,
    combiner_named,
    extreme_of_numbers,
    find_chain,
    find_extreme_of_numbers,
    identity_of,
    is_identity,
    is_order_free,
    name_of,
    neutral_of,
    read_step,
    the_kind,
)

SPECIAL = {
    "f32": np.array([0.0, -0.0, 1.5, -2.25, 1e30, np.inf, -np.inf], np.float32),
    "i32": np.array([0, 1, -1, 7, 2**31 - 1, -(2**31)], np.int32),
    "ui8": np.array([0, 1, 7, 255], np.uint8),
    "i1": np.array([False, True]),
}
CASES = [
    (combiner, dtype)
    for combiner in COMBINERS
    for dtype in SPECIAL
    if dtype in combiner.dtypes and not (dtype == "i1" and name_of(combiner) in ("add", "mul"))
]


def apply(combiner: Any, dtype: str, left: Any, right: Any) -> Any:
    with np.errstate(all="ignore"):
        return combiner(tensor(dtype), tensor(dtype, name="y")).evaluate(np.asarray(left), np.asarray(right))


@pytest.mark.parametrize(("combiner", "dtype"), CASES)
def test_combiners_are_what_they_are_said_to_be(combiner: Any, dtype: str) -> None:
    numbers = SPECIAL[dtype]
    a, b, c = (each.ravel() for each in np.meshgrid(numbers, numbers, numbers))
    np.testing.assert_array_equal(apply(combiner, dtype, a, b), apply(combiner, dtype, b, a))
    if is_order_free(combiner, tensor(dtype).tensor):
        left = apply(combiner, dtype, apply(combiner, dtype, a, b), c)
        right = apply(combiner, dtype, a, apply(combiner, dtype, b, c))
        assert left.tobytes() == right.tobytes()
    neutral = np.full_like(numbers, neutral_of(combiner, dtype))
    assert apply(combiner, dtype, numbers, neutral).tobytes() == numbers.tobytes()
    np.testing.assert_array_equal(
        apply(combiner, dtype, numbers, np.full_like(numbers, identity_of(combiner, dtype))), numbers
    )
    assert (combiner in IDEMPOTENT) == (apply(combiner, dtype, numbers, numbers).tobytes() == numbers.tobytes())
    assert is_identity(Constant.of(identity_of(combiner, dtype), dtype), combiner)
    assert combiner_named(name_of(combiner)) is combiner


def test_sums_of_floats_have_an_order() -> None:
    assert not is_order_free(Add, tensor("f32").tensor)
    assert not is_order_free(Multiply, tensor("complex<f32>").tensor)
    assert is_order_free(Maximum, tensor("f32").tensor)
    assert not is_order_free(Subtract, tensor("i32").tensor)


def test_steps_of_folds_are_read() -> None:
    x, y = tensor("f32"), tensor("f32", name="y")
    assert read_step(Minimum(x, y)) == (the_kind(Minimum, "f32"), x, y)
    assert read_step(extreme_of_numbers(Minimum, x, y)) == (the_kind(Minimum, "f32", True), x, y)
    assert read_step(Subtract(x, y)) is None


def test_extremes_of_numbers_are_told_from_what_looks_like_them() -> None:
    x, y, z = (tensor("f32", name=name) for name in "xyz")
    nan = Compare(x, x, "NE")
    assert find_extreme_of_numbers(Select(nan, y, Maximum(x, y))) is None, "y may be NaN"
    assert find_extreme_of_numbers(Select(nan, z, extreme_of_numbers(Maximum, x, y))) is None
    assert find_extreme_of_numbers(Select(Compare(z, z, "NE"), y, extreme_of_numbers(Maximum, x, y))) is None
    number, not_one = Constant.of(2.0, "f32"), Constant.of(np.nan, "f32")
    assert find_extreme_of_numbers(Select(nan, number, Maximum(number, x))) == (Maximum, number, x)
    assert find_extreme_of_numbers(Select(nan, not_one, Maximum(x, not_one))) is None


def test_chains_are_of_one_op_in_one_type() -> None:
    old, x, y = (tensor("i32", name=name) for name in ("old", "x", "y"))

    def chain(new: Any) -> Any:
        return find_chain(new, old, lambda value: value not in (x, y))

    assert chain(Add(Add(old, x), y)).terms == (y, x)
    both = chain(Add(Subtract(old, x), x))
    assert (both.terms, both.subtracted) == ((x,), (x,))
    assert chain(Add(Multiply(old, x), y)) is None
    assert chain(Subtract(x, old)) is None
    assert chain(Add(old, old)) is None
    assert chain(old) is None
    float_sum = Add(BitcastConvert(Add(old, x), "f32"), tensor("f32"))
    assert chain(BitcastConvert(float_sum, "i32")) is None
