"""Constants: equal by bits, stored once if all elements are the same."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from windlass.ir import TypeFault, tensor_type
from windlass.ops import Constant, ConstantValue


def test_equal_elements_are_stored_once() -> None:
    constant = Constant.of(np.full((100, 100), 2.5, np.float32))
    assert constant.is_splat
    assert constant.number == 2.5
    assert constant.value.data.nbytes == 4
    assert constant.array.shape == (100, 100)


def test_zeros_of_both_signs_differ_and_nan_equals_itself() -> None:
    type_ = tensor_type((2,), "f64")
    assert ConstantValue.splat(0.0, type_) != ConstantValue.splat(-0.0, type_)
    assert not Constant.of([0.0, -0.0], "f64").is_splat
    nan = ConstantValue.splat(np.nan, type_)
    assert nan == ConstantValue.splat(np.nan, type_)
    assert len({nan, ConstantValue.splat(np.nan, type_)}) == 1


def test_types_tell_constants_apart() -> None:
    assert Constant.of(1, "i32").value != Constant.of(1, "ui32").value
    assert Constant.of(1, "i32").value != Constant.of(1, "i32", (1,)).value


def test_a_constant_is_a_copy_that_nobody_can_change() -> None:
    source = np.arange(3, dtype=np.int32)
    constant = Constant.of(source)
    source[0] = 7
    assert constant.array.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        constant.array[0] = 1


def test_small_floats_and_empty_arrays() -> None:
    assert Constant.of(ml_dtypes.bfloat16(1.5)).dtype == "bf16"
    empty = Constant.of(np.zeros((0, 3), np.float32))
    assert empty.shape == (0, 3)
    assert empty.array.size == 0


def test_what_is_no_element_type_is_refused() -> None:
    with pytest.raises(TypeFault, match="no element type"):
        Constant.of(np.array(["text"]))
    with pytest.raises(ValueError, match="not all the same"):
        _ = Constant.of([1, 2], "i32").number
