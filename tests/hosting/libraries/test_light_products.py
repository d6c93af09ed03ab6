"""cuBLASLt's product against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.hosting.libraries.device import Array, Device, Pointer
from tests.hosting.libraries.test_products import check, padded, random

NULL = Pointer(0)
TRANSPOSE_A, TRANSPOSE_B, EPILOGUE, BIAS = 3, 4, 7, 8
RELU, WITH_BIAS, GELU, AUXILIARY = 2, 4, 32, 128


def described(device: Device, compute: int = 68, scale: int = 0, **attributes: Any) -> int:
    """An operation with attributes, by number: a32_3=1 sets attribute 3 to the 32-bit integer 1."""
    description = device.create("cublasLtMatmulDescCreate", compute, scale)
    for name, value in attributes.items():
        size, _, number = name.removeprefix("a").partition("_")
        content = value.address if isinstance(value, Pointer) else value
        kind: Any = np.int32 if size == "32" else np.int64
        pointer = device.number(content, kind)
        assert device.call("cublasLtMatmulDescSetAttribute", description, int(number), pointer, int(size) // 8) == 0
    return description


def multiply(device: Device, description: int, layouts: list[int], pointers: list[Pointer], *factors: Pointer) -> int:
    handle, preference = device.create("cublasLtCreate"), device.create("cublasLtMatmulPreferenceCreate")
    results, _ = device.put(np.full(96, 255), np.uint8)
    place, count = device.place(np.int32)
    arguments = (handle, description, *layouts, preference, 1, results, place)
    status = device.call("cublasLtMatmulAlgoGetHeuristic", *arguments)
    if status:
        return int(status)
    assert count[0] == 1
    operands = [each for pair in zip(pointers, layouts, strict=True) for each in pair]
    arguments = (handle, description, factors[0], *operands[:4], factors[1], *operands[4:], results, NULL, 0, 0)
    return int(device.call("cublasLtMatmul", *arguments))


@pytest.mark.parametrize("epilogue", [1, RELU, WITH_BIAS, RELU | WITH_BIAS, GELU, GELU | WITH_BIAS, GELU | AUXILIARY])
def test_epilogues(device: Device, epilogue: int) -> None:
    a, b, c = random(1, np.float32, 3, 4), random(2, np.float32, 5, 3), random(3, np.float32, 4, 5)
    bias = random(4, np.float32, 4)
    aux, seen = device.put(np.full((6, 5), np.nan, np.float32))
    attributes: dict[str, Any] = {"a32_3": 1, "a32_4": 1, "a32_7": epilogue, "a64_8": device.put(bias)[0]}
    if epilogue & AUXILIARY:
        attributes |= {"a64_11": aux, "a64_12": 6}
    description = described(device, **attributes)
    pc, found = device.put(padded(c, 6))
    layouts = [device.create("cublasLtMatrixLayoutCreate", 0, *each) for each in ((3, 4, 3), (5, 3, 5), (4, 5, 6))]
    factors = device.number(2, np.float32), device.number(0.5, np.float32)
    pointers = [device.put(a)[0], device.put(b)[0], pc, pc]
    assert multiply(device, description, [*layouts, layouts[2]], pointers, *factors) == 0
    expected = 2 * a.T @ b.T + 0.5 * c + (bias[:, None] if epilogue & WITH_BIAS else 0)
    if epilogue & AUXILIARY:
        check(seen, 6, expected, 1e-5)
    if epilogue & RELU:
        expected = np.maximum(expected, 0)
    if epilogue & GELU:
        # The form with tanh.
        inner = np.sqrt(2 / np.pi) * (expected + 0.044715 * expected**3)
        expected = 0.5 * expected * (1 + np.tanh(inner))
    check(found, 6, expected, 1e-5)


def test_orders_batches_and_separate_results(device: Device) -> None:
    a, b = random(1, np.float64, 2, 3, 4), random(2, np.float64, 4, 5)
    description = described(device, 70, 1)
    layouts = []
    for rows, columns, order, count, stride in ((3, 4, 1, 2, 12), (4, 5, 0, 2, 0), (3, 5, 1, 2, 15)):
        leading = columns if order else rows
        layout = device.create("cublasLtMatrixLayoutCreate", 1, rows, columns, leading)
        for attribute, value, kind in ((1, order, np.int32), (5, count, np.int32), (6, stride, np.int64)):
            size = np.dtype(kind).itemsize
            number = device.number(value, kind)
            assert device.call("cublasLtMatrixLayoutSetAttribute", layout, attribute, number, size) == 0
        layouts.append(layout)
    d, found = device.put(np.full(30, np.nan))
    pointers = [device.put(a.ravel())[0], device.put(b)[0], NULL, d]
    factors = device.number(1, np.float64), device.number(0, np.float64)
    assert multiply(device, description, [*layouts, layouts[2]], pointers, *factors) == 0
    np.testing.assert_allclose(found.reshape(2, 3, 5), a @ b, rtol=1e-12)


def test_narrow_types_with_scales(device: Device) -> None:
    kind: Any = ml_dtypes.float8_e4m3fn
    a, b = random(1, kind, 16, 8), random(2, kind, 16, 4)
    scales = [device.put([value], np.float32) for value in (2.0, 0.5, 1.0, 0.25)]
    largest, seen = device.put([0.0], np.float32)
    attributes: dict[str, Any] = {f"a64_{17 + place}": pointer for place, (pointer, _) in enumerate(scales)}
    description = described(device, a32_3=1, a64_21=largest, **attributes)
    layouts = [
        device.create("cublasLtMatrixLayoutCreate", number, *shape)
        for number, shape in ((28, (16, 8, 16)), (28, (16, 4, 16)), (14, (8, 4, 8)), (28, (8, 4, 8)))
    ]
    c: Array = np.zeros((8, 4), ml_dtypes.bfloat16)
    d, found = device.put(np.zeros((8, 4), kind))
    pointers = [device.put(each)[0] for each in (a, b, c)]
    factors = device.number(1, np.float32), device.number(0, np.float32)
    assert multiply(device, description, layouts, [*pointers, d], *factors) == 0
    exact = a.astype(np.float32).T @ b.astype(np.float32)
    np.testing.assert_allclose(seen[0], np.abs(exact).max(), rtol=1e-6)
    np.testing.assert_array_equal(found.reshape(8, 4, order="F"), (exact * np.float32(0.25)).astype(kind))


def test_what_is_not_there_is_refused(device: Device, capfd: pytest.CaptureFixture[str]) -> None:
    layout = device.create("cublasLtMatrixLayoutCreate", 0, 2, 2, 2)
    x = device.put(np.ones(4), np.float32)[0]
    one = device.number(1, np.float32)
    for attributes in ({"a32_7": 256}, {"a32_2": 2}, {"a64_14": 1}):
        description = described(device, **attributes)
        assert multiply(device, description, [layout] * 4, [x] * 4, one, one) == 15
    assert "the epilogue 256 is not supported" in capfd.readouterr().err
    wide = device.create("cublasLtMatrixLayoutCreate", 0, 2, 3, 2)
    assert multiply(device, described(device), [layout, wide, layout, layout], [x] * 4, one, one) == 7


def test_descriptors_in_the_programs_own_memory(device: Device) -> None:
    memory = [device.put(np.zeros(32), np.uint64)[0] for _ in range(3)]
    assert device.call("cublasLtMatmulDescInit", memory[0], 68, 0) == 0
    assert device.call("cublasLtMatrixLayoutInit", memory[1], 0, 2, 2, 2) == 0
    assert device.call("cublasLtMatmulPreferenceInit", memory[2]) == 0
    a, found = device.put(np.full(4, 2), np.float32)
    layouts = [memory[1].address] * 4
    one, zero = device.number(1, np.float32), device.number(0, np.float32)
    assert multiply(device, memory[0].address, layouts, [a] * 4, one, zero) == 0
    np.testing.assert_array_equal(found, 8)
