"""Spectral programs as people write them: the same numbers, by transforms of real numbers where these do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.ir.values import tensor
from windlass.ops import Add, BroadcastInDim, Constant, Convert, Fft, Multiply
from windlass.rules.real_transforms import hermitian_part, is_hermitian

Function = Callable[..., Any]


def frequencies(x: jax.Array) -> jax.Array:
    return 2 * jnp.pi * jnp.fft.fftfreq(x.shape[-1])


def derivative(x: jax.Array) -> jax.Array:
    return jnp.real(jnp.fft.ifft(1j * frequencies(x) * jnp.fft.fft(x)))


def gradient(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    k, spectrum = frequencies(x), jnp.fft.fft2(x)
    return jnp.fft.ifft2(1j * k[:, None] * spectrum).real, jnp.fft.ifft2(1j * k * spectrum).real


def poisson(x: jax.Array) -> jax.Array:
    k = frequencies(x)
    squares = (k[:, None] ** 2 + k**2).at[0, 0].set(1.0)
    return jnp.fft.ifft2((jnp.fft.fft2(x) / squares).at[0, 0].set(0)).real


def columns(x: jax.Array) -> jax.Array:
    return jnp.fft.ifft(jnp.fft.fft(x, axis=0) * frequencies(x)[:, None] ** 2, axis=0).real


def correlation(x: jax.Array) -> jax.Array:
    return jnp.fft.ifft2(jnp.fft.fft2(x) * jnp.conj(jnp.fft.fft2(x * x))).real


def two_filters(x: jax.Array) -> jax.Array:
    k = frequencies(x) ** 2
    return (jnp.fft.ifft(k * jnp.fft.fft(x)) + jnp.fft.ifft(jnp.exp(-k) * jnp.fft.fft(x * x))).real


def power(x: jax.Array) -> jax.Array:
    return jnp.abs(jnp.fft.fft(x)) ** 2


def round_trip(x: jax.Array) -> jax.Array:
    return jnp.fft.ifft2(jnp.fft.fft2(x)).real


def shifted(x: jax.Array) -> jax.Array:
    """By half a step: at even sizes the middle frequency is neither real nor of a pair."""
    return jnp.fft.ifft(jnp.exp(0.5j * frequencies(x)) * jnp.fft.fft(x)).real


PROGRAMS: list[tuple[Function, set[str]]] = [
    (derivative, {"RFFT", "IRFFT"}),
    (gradient, {"RFFT", "IRFFT"}),
    (poisson, {"RFFT", "IRFFT"}),
    (columns, {"RFFT", "IRFFT"}),
    (correlation, {"RFFT", "IRFFT"}),
    (two_filters, {"RFFT", "IRFFT"}),
    (power, {"RFFT"}),
    (round_trip, set()),
    (shifted, {"RFFT", "IRFFT"}),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [96, 81])
@pytest.mark.parametrize(("function", "kinds"), PROGRAMS, ids=[each.__name__ for each, _ in PROGRAMS])
def test_spectral_programs_are_the_same_by_transforms_of_real_numbers(
    function: Function, kinds: set[str], size: int
) -> None:
    x = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    text = jax.jit(function).lower(x).as_text()
    for exact in (False, True):
        optimized = wl.stablehlo.optimize(text, exact=exact)
        if not exact:
            assert set(re.findall(r"type = (\w+)", optimized)) == kinds
        for found, expected in zip(wl.stablehlo.run(optimized, x), jax.tree.leaves(function(x)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("size", [6, 7])
@pytest.mark.parametrize("count", [1, 2])
def test_hermitian_parts_have_the_same_real_inverse(size: int, count: int) -> None:
    generator = np.random.default_rng(size)
    table = generator.standard_normal((size, size)) + 1j * generator.standard_normal((size, size))
    spectrum = Fft(Convert(tensor("f64", size, size), "complex<f64>"), "FFT", (size,) * count)
    product = Multiply(Constant.of(table), spectrum)
    assert not is_hermitian(product, count)
    part = hermitian_part(product, count)
    assert isinstance(part, Multiply)
    assert isinstance(part.lhs, Constant)
    axes = tuple(range(2 - count, 2))
    values = np.fft.fftn(generator.standard_normal((size, size)), axes=axes)
    half = (part.lhs.array * values)[:, : size // 2 + 1]
    found = np.fft.irfftn(half, (size,) * count, axes)
    np.testing.assert_allclose(found, np.fft.ifftn(table * values, axes=axes).real, atol=1e-12)


@pytest.mark.parametrize("dtype", ["int32", "bfloat16", "float32"])
def test_numbers_of_any_kind_are_made_real_before_they_are_transformed(dtype: str) -> None:
    x = np.arange(64 * 64).reshape(64, 64) % 13
    x = jnp.asarray(x, dtype)

    def half(x: jax.Array) -> jax.Array:
        return jnp.fft.fft(x.astype(jnp.complex64))[:, :20]

    text = jax.jit(half).lower(x).as_text()
    optimized = wl.stablehlo.optimize(text)
    assert "RFFT" in optimized
    np.testing.assert_allclose(wl.stablehlo.run(optimized, x)[0], half(x), rtol=1e-4, atol=1e-3)


def test_axes_that_a_broadcast_exchanges_are_not_taken_for_the_transformed_ones() -> None:
    rows = Fft(Convert(tensor("f32", 8, 8), "complex<f32>"), "FFT", (8,))
    assert is_hermitian(BroadcastInDim(rows, (3, 8, 8), (1, 2)), 1)
    assert not is_hermitian(BroadcastInDim(rows, (3, 8, 8), (2, 1)), 1)


def test_long_sums_and_repeated_squares_of_spectra_are_looked_at_in_no_time() -> None:
    total = unknown = tensor("complex<f32>", 64, 64, name="k")
    for _ in range(5000):
        total = Add(total, unknown)
    assert hermitian_part(total, 1) is None
    squared = Fft(Convert(tensor("f32", 64, 64), "complex<f32>"), "FFT", (64,))
    for _ in range(10):
        squared = Multiply(squared, squared)
    assert is_hermitian(squared, 1)


def test_spectra_that_may_be_of_complex_numbers_stay_whole() -> None:
    size = (64, 64)
    complex_numbers = Fft(tensor("complex<f32>", *size), "FFT", size)
    real_numbers = Fft(Convert(tensor("f32", *size), "complex<f32>"), "FFT", size)
    unknown = tensor("complex<f32>", *size, name="k")
    assert is_hermitian(real_numbers, 2)
    assert not is_hermitian(real_numbers, 1), "of two axes one by itself is not mirrored"
    assert not is_hermitian(complex_numbers, 2)
    assert not is_hermitian(Multiply(unknown, real_numbers), 2)
    assert hermitian_part(Multiply(unknown, real_numbers), 2) is None
