"""cuFFT's transforms against NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.hosting.libraries.device import Device
from tests.hosting.libraries.test_products import random

R2C, C2R, C2C, D2Z, Z2D, Z2Z = 0x2A, 0x2C, 0x29, 0x6A, 0x6C, 0x69


def planned(device: Device, extents: tuple[int, ...], kind: int, count: int = 1) -> int:
    place, found = device.place(np.int32)
    if len(extents) == 1:
        assert device.call("cufftPlan1d", place, *extents, kind, count) == 0
    else:
        assert device.call(f"cufftPlan{len(extents)}d", place, *extents, kind) == 0
    return int(found[0])


@pytest.mark.parametrize("extents", [(8,), (15,), (1,), (4, 6), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("is_double", [False, True])
def test_plain_transforms(device: Device, extents: tuple[int, ...], is_double: bool) -> None:
    complex_kind, real_kind = (np.complex128, np.float64) if is_double else (np.complex64, np.float32)
    tolerance = 1e-12 if is_double else 1e-5
    x = random(1, complex_kind, *extents)
    exact: Any = x.astype(np.complex128)
    for is_in_place in (False, True):
        source, memory = device.put(x.ravel())
        target, found = (source, memory) if is_in_place else device.put(np.full(x.size, np.nan, complex_kind))
        plan = planned(device, extents, Z2Z if is_double else C2C)
        name = "cufftExecZ2Z" if is_double else "cufftExecC2C"
        assert device.call(name, plan, source, target, -1) == 0
        np.testing.assert_allclose(found.reshape(extents), np.fft.fftn(exact), rtol=tolerance, atol=tolerance * 10)
        assert device.call(name, plan, target, source, 1) == 0
        np.testing.assert_allclose(memory.reshape(extents), exact * x.size, rtol=tolerance, atol=tolerance * 100)
    y = random(2, real_kind, *extents)
    half = (*extents[:-1], extents[-1] // 2 + 1)
    wanted = np.fft.rfftn(y.astype(np.float64))
    source, memory = device.put(y.ravel())
    target, found = device.put(np.full(math.prod(half), np.nan, complex_kind))
    there = planned(device, extents, D2Z if is_double else R2C)
    back = planned(device, extents, Z2D if is_double else C2R)
    assert device.call("cufftExecD2Z" if is_double else "cufftExecR2C", there, source, target) == 0
    np.testing.assert_allclose(found.reshape(half), wanted, rtol=tolerance, atol=tolerance * 10)
    memory[:] = 0
    assert device.call("cufftExecZ2D" if is_double else "cufftExecC2R", back, target, source) == 0
    np.testing.assert_allclose(memory.reshape(extents), y * y.size, rtol=tolerance, atol=tolerance * 100)
    # In place the rows of real numbers are padded.
    padded = np.full((*extents[:-1], 2 * half[-1]), np.nan, real_kind)
    padded[..., : extents[-1]] = y
    place, memory = device.put(padded.ravel())
    assert device.call("cufftExecD2Z" if is_double else "cufftExecR2C", there, place, place) == 0
    np.testing.assert_allclose(memory.view(complex_kind).reshape(half), wanted, rtol=tolerance, atol=tolerance * 10)
    assert device.call("cufftExecZ2D" if is_double else "cufftExecC2R", back, place, place) == 0
    rows = memory.reshape(padded.shape)[..., : extents[-1]]
    np.testing.assert_allclose(rows, y * y.size, rtol=tolerance, atol=tolerance * 100)


def test_batches_and_layouts(device: Device) -> None:
    x = random(1, np.complex64, 3, 8)
    plan = planned(device, (8,), C2C, 3)
    source, _ = device.put(x.ravel())
    target, found = device.put(np.zeros(24, np.complex64))
    assert device.call("cufftExecC2C", plan, source, target, -1) == 0
    np.testing.assert_allclose(found.reshape(3, 8), np.fft.fft(x), rtol=1e-5, atol=1e-5)
    # Columns of a matrix of 8 rows and 5 columns, of which 3 are transformed; results with steps of 2.
    matrix = random(2, np.complex64, 8, 5)
    source, _ = device.put(matrix.ravel())
    target, found = device.put(np.full(3 * 20, np.nan, np.complex64))
    place, made = device.place(np.int32)
    n, whole_in, whole_out = (device.number(value, np.int32) for value in (8, 8, 10))
    arguments = (place, 1, n, whole_in, 5, 1, whole_out, 2, 20, C2C, 3)
    assert device.call("cufftPlanMany", *arguments) == 0
    assert device.call("cufftExecC2C", int(made[0]), source, target, -1) == 0
    rows = found.reshape(3, 20)
    np.testing.assert_allclose(rows[:, :16:2], np.fft.fft(matrix[:, :3].T), rtol=1e-5, atol=1e-5)
    assert np.isnan(rows[:, 1::2]).all() and np.isnan(rows[:, 16:]).all()


def test_plans_with_types_and_64_bit_sizes(device: Device) -> None:
    place, made = device.place(np.int32)
    size, _ = device.place()
    assert device.call("cufftCreate", place) == 0
    plan = int(made[0])
    n = device.number(6, np.int64)
    nothing = device.number(0, np.int64).__class__(0)
    assert device.call("cufftXtMakePlanMany", plan, 1, n, nothing, 1, 6, 1, nothing, 1, 4, 5, 2, size, 5) == 0
    x = random(1, np.float64, 2, 6)
    target, found = device.put(np.zeros(8, np.complex128))
    assert device.call("cufftXtExec", plan, device.put(x.ravel())[0], target, -1) == 0
    np.testing.assert_allclose(found.reshape(2, 4), np.fft.rfft(x), rtol=1e-12, atol=1e-12)
    assert device.call("cufftXtMakePlanMany", plan, 1, n, nothing, 1, 6, 2, nothing, 1, 4, 6, 2, size, 6) == 16


def test_wrong_plans_are_refused(device: Device, capfd: pytest.CaptureFixture[str]) -> None:
    place, made = device.place(np.int32)
    assert device.call("cufftPlan1d", place, 0, C2C, 1) == 8
    assert device.call("cufftPlan1d", place, 8, 0x33, 1) == 4
    assert device.call("cufftCreate", place) == 0
    x, _ = device.put(np.zeros(8, np.complex64))
    assert device.call("cufftExecC2C", int(made[0]), x, x, -1) == 1
    plan = planned(device, (8,), R2C)
    assert device.call("cufftExecC2C", plan, x, x, -1) == 3
    assert device.call("cufftExecC2C", planned(device, (9,), C2C), x, x, -1) == 6
    assert "'idata' needs 72 bytes, and its allocation of 64 bytes has 64 there" in capfd.readouterr().err
    assert device.call("cufftDestroy", plan) == 0
    assert device.call("cufftDestroy", plan) == 1
