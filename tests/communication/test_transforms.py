"""Fourier transforms of divided axes, and what else goes from one division to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.communication.on_devices import evaluate
from windlass.communication.exchanging import exchange_and_estimate
from windlass.communication.resharding import constrain
from windlass.ir import Block, Builder, Function, Module, Value, tensor_type
from windlass.ops import Add, BroadcastInDim, Constant, Convert, Fft, Iota, Multiply, Opaque, Pad, Return
from windlass.ops.movement import slice_along
from windlass.ops.shardings import MANUAL, Mesh, Sharding

LINE, PLANE, BOX = Mesh((("x", 4),)), Mesh((("x", 4), ("y", 2))), Mesh((("x", 2), ("y", 2), ("z", 2)))
X, Y = ("x",), ("y",)


def of_kind(kind: Any, *lengths: int) -> Callable[[Value], Value]:
    return lambda value: Fft(value, kind, lengths)


def filtered(value: Value) -> Value:
    """A spectrum multiplied by what depends on the wave number, and transformed back."""
    half = (*value.shape[:-1], value.shape[-1] // 2 + 1)
    weights = np.arange(np.prod(half)).reshape(half) + 1j
    return Fft(Multiply(Fft(value, "RFFT", value.shape), Constant.of(weights, "complex<f64>")), "IRFFT", value.shape)


def filtered_and_differenced(value: Value) -> Value:
    found = filtered(value)
    size = value.shape[0]
    lows, highs, none = (1, 0), (0, 0), (0, 0)
    before = Pad(slice_along(found, 0, 0, size - 1), Constant.of(0.0, "f64"), lows, highs, none)
    return Add(found, before)


def filtered_beside_spectrum(value: Value) -> tuple[Value, Value]:
    spectrum = Fft(value, "FFT", value.shape)
    return spectrum, Fft(Add(spectrum, spectrum), "IFFT", value.shape)


Case = tuple[str, Callable[[Value], Any], Mesh, tuple[int, ...], tuple[tuple[str, ...], ...], str, float, int]
R, C = "f64", "complex<f64>"
CASES: tuple[Case, ...] = (
    # There: three of four parts of a device's 4 × 12 complex numbers; and back.
    ("rows divided", of_kind("FFT", 16, 12), LINE, (16, 12), (X, ()), C, 2 * 16 * 48 * 3 / 4, 2),
    ("columns divided", of_kind("IFFT", 16, 12), LINE, (16, 12), ((), X), C, 2 * 16 * 48 * 3 / 4, 2),
    # Seven columns of a spectrum are divided as eight.
    ("half of an odd length", of_kind("RFFT", 16, 13), LINE, (16, 13), (X, ()), R, 2 * 16 * 32 * 3 / 4, 2),
    ("back to an odd length", of_kind("IRFFT", 16, 13), LINE, (16, 7), (X, ()), C, 2 * 16 * 32 * 3 / 4, 2),
    ("both divided", of_kind("FFT", 16, 16), PLANE, (16, 16), (X, Y), C, 16 * 32 * (1 / 2 + 7 / 8 + 3 / 4), 3),
    ("one by both", of_kind("FFT", 16, 24), PLANE, (16, 24), (("y", "x"), ()), C, 2 * 16 * 48 * 7 / 8, 2),
    ("pencils", of_kind("RFFT", 8, 4, 6), PLANE, (8, 4, 6), (X, Y, ()), R, 16 * 16 * 2 * (1 / 2 + 3 / 4), 4),
    ("a box", of_kind("FFT", 8, 4, 8), BOX, (8, 4, 8), (X, Y, ("z",)), C, 16 * 32 * (4 * 1 / 2 + 3 / 4), 5),
    ("a batch", of_kind("FFT", 6), PLANE, (8, 8, 6), (X, Y, ()), C, 0, 0),
    ("a batch, last axis", of_kind("FFT", 8), PLANE, (8, 6, 8), (X, (), Y), C, 2 * 16 * 48 * 1 / 2, 2),
    ("filtered", filtered, LINE, (16, 12), (X, ()), R, 2 * 16 * 32 * 3 / 4, 2),
    ("filtered, both divided", filtered, PLANE, (16, 16), (X, Y), R, 2 * (8 * 32 / 2 + 16 * 32 * 7 / 8), 4),
    # Seventeen numbers of half a spectrum are divided as eighteen; what is transformed back goes the way that it came.
    ("filtered, pencils", filtered, PLANE, (16, 16, 32), (X, Y, ()), R, 2 * 16 * 576 * (1 / 2 + 3 / 4), 4),
    ("then a difference", filtered_and_differenced, LINE, (16, 12), (X, ()), R, 2 * 16 * 32 * 3 / 4 + 8 * 12, 3),
    ("kept as well", filtered_beside_spectrum, LINE, (16, 12), (X, ()), C, 3 * 16 * 48 * 3 / 4, 3),
)  # fmt: skip


def module_of(write: Callable[[Value], Any], shape: tuple[int, ...], dtype: Any) -> Module:
    block = Block([tensor_type(shape, dtype)])
    with Builder(block):
        found = write(block.arguments[0])
        Return(found if isinstance(found, tuple) else (found,))
    return Module([Function("main", block)])


def check(module: Module, sharding: Sharding, expected_bytes: float, expected_messages: int) -> None:
    (argument,) = module.main.arguments
    random = np.random.default_rng(1)
    array = random.random(argument.shape)
    if argument.tensor.is_complex:
        array = array + 1j * random.random(argument.shape)
    exchanged = exchange_and_estimate(module, [sharding])
    if not expected_messages:
        assert exchanged is None
        return
    assert exchanged is not None
    assert exchanged.traffic == (expected_bytes, expected_messages)
    assert any(isinstance(op, Opaque) and op.operation == MANUAL for op in exchanged.module.main.body)
    found, expected = (evaluate(each.main, [array]) for each in (exchanged.module, module))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9 * np.abs(other).max())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_transform_of_divided_axes_is_made_of_local_ones(case: Case) -> None:
    _, write, mesh, shape, axes, dtype, expected_bytes, expected_messages = case
    check(module_of(write, shape, dtype), Sharding(mesh, axes), expected_bytes, expected_messages)


def filtered_by_wave_numbers(value: Value) -> Value:
    """One vector serves two axes."""
    numbers = Multiply(Iota((16,), "f64", 0), Iota((16,), "f64", 0))
    weights = Add(*(BroadcastInDim(numbers, (16, 16), (axis,)) for axis in range(2)))
    spectrum = Multiply(Fft(value, "FFT", value.shape), Convert(weights, "complex<f64>"))
    return Fft(spectrum, "IFFT", value.shape)


def test_what_serves_several_axes_is_copied_for_each() -> None:
    check(module_of(filtered_by_wave_numbers, (16, 16), C), Sharding(LINE, (X, ())), 2 * 16 * 64 * 3 / 4, 2)

    def damped(value: Value) -> Value:
        numbers = Multiply(Iota((16,), "f64", 0), Iota((16,), "f64", 0))
        weights = Add(*(BroadcastInDim(numbers, (16, 16), (axis,)) for axis in range(2)))
        before = Pad(slice_along(value, 0, 0, 15), Constant.of(0.0, "f64"), (1, 0), (0, 0), (0, 0))
        return Multiply(weights, before)

    check(module_of(damped, (16, 16), R), Sharding(PLANE, (X, Y)), 8 * 8, 1)


@pytest.mark.parametrize("size", [16, 5])
def test_transform_of_one_axis_alone_is_left_to_xla(size: int) -> None:
    """There is no other axis to divide, or none that is long enough."""
    module = module_of(of_kind("FFT", 16), (16,), C) if size == 16 else module_of(of_kind("FFT", 16, 3), (16, 3), C)
    axes = (X,) if size == 16 else (X, ())
    assert exchange_and_estimate(module, [Sharding(LINE, axes)]) is None


def test_constraint_that_divides_another_axis_sends_each_part_once() -> None:
    def write(value: Value) -> Value:
        turned = constrain(Add(value, value), PLANE, ((), (*Y, *X)))
        return constrain(Multiply(turned, turned), PLANE, (X, Y))

    module = module_of(write, (8, 16), R)
    check(module, Sharding(PLANE, ((*X, *Y), ())), 8 * 16 * (7 / 8 + 3 / 4), 2)
