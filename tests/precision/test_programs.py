"""Whole programs with precision=, through XLA: as exact as f64 nearly, and nothing in f64 within."""

# pyright: basic
from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import WindlassError

GENERATOR = np.random.default_rng(3)


def close(found, expected, limit=2e-14):
    """Within a limit relative to the largest element."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= limit * np.abs(expected).max()


def heat(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])


def test_fifty_steps_of_heat():
    u = GENERATOR.standard_normal((24, 20))
    expected, found = u.copy(), u.copy()
    heat(expected, 50)
    wl.jit(whole=True, precision="f32x2")(heat)(found, 50)
    close(found, expected)


def conjugate_gradients(a, b, steps):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    old = r @ r
    for _ in range(steps):
        ap = a @ p
        size = old / (p @ ap)
        x = x + size * p
        r = r - size * ap
        new = r @ r
        p = r + (new / old) * p
        old = new
    return x


def test_conjugate_gradients():
    m = GENERATOR.standard_normal((20, 20))
    a, b = m @ m.T + 20 * np.eye(20), GENERATOR.standard_normal(20)
    close(wl.jit(whole=True, precision="f32x2")(conjugate_gradients)(a, b, 12), conjugate_gradients(a, b, 12))


def many(x, y, a, b, n, flags):
    """Programs of which each is one result: compiled together, since compiling is what takes time."""
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    ordered = np.sort(y)
    total = np.cumsum(y)
    masked = np.where(flags, y, 0.1)
    moments = np.stack([y.mean(), y.var(), (y * n).sum(), np.prod(1 + y[:5] / 10)])
    integers = np.floor(y * 10).astype(np.int64)
    return (
        weights / weights.sum(axis=1, keepdims=True),
        a @ b,
        a @ y[: a.shape[1]],
        np.sqrt(np.abs(y)) + 1 / (1 + y * y),
        np.sin(y) ** 2 + np.cos(3 * y),
        np.log1p(np.abs(y)) * np.tanh(y),
        ordered,
        total,
        masked,
        moments,
        integers,
        np.concatenate([y[::-1], y])[1:-1].reshape(2, -1).T,
        np.maximum(x, x[::-1]).min(axis=0),
        np.argmax(x, axis=1),
        np.clip(y, -0.5, 0.5) + y.astype(np.float32).astype(np.float64),
        y[integers % 7],
        np.arange(9) * 0.1,
        np.outer(y, y[:3]),
        1.5 * y**3 - y**2 / 3 + 0.25 * y - 4.0,
        flags | (y > 0.1),
    )


def test_programs_agree_with_numpy():
    arguments = (
        GENERATOR.standard_normal((6, 9)), GENERATOR.standard_normal(33), GENERATOR.standard_normal((7, 12)),
        GENERATOR.standard_normal((12, 6)), 3, GENERATOR.random(33) < 0.5,
    )  # fmt: skip
    expected = many(*arguments)
    compiled = wl.jit(whole=True, precision="f32x2")(many)
    for meant, given in zip(expected, compiled(*arguments), strict=True):
        if np.asarray(meant).dtype.kind == "f":
            close(given, meant)
        else:
            np.testing.assert_array_equal(given, meant)
    text = compiled.lower(*arguments).text("hlo")
    # Where numbers enter and leave: rounded, subtracted, joined, and moved about.
    wide = set(re.findall(r"= f64\[[^\]]*\](?:\{[^}]*\})? ([\w-]+)\(", text))
    assert wide & {"convert", "reduce-precision"}
    assert not wide & {"multiply", "divide", "dot", "reduce", "exponential", "while", "sort", "power", "sine", "log"}


def test_a_function_of_jax_and_its_derivative():
    def energy(x):
        return jnp.sum(jnp.exp(-x * x) / 3 + 0.1 * x)

    x = np.linspace(-2, 2, 17)
    expected = np.sum(np.exp(-x * x) / 3 + 0.1 * x)
    slope = -2 * x * np.exp(-x * x) / 3 + 0.1
    spread = wl.optimize(precision="f32x2")(energy)
    found = spread(x)
    assert found.dtype == np.float64
    close(found, expected)
    with jax.enable_x64(True):
        close(jax.grad(spread)(x), slope)


def test_infinities_zeros_and_nan_pass_through_xla():
    def f(x, y):
        return x / y, x * y, x + y, x - y, jnp.exp(x * 1000), jnp.sqrt(x)

    x = np.array([1.0, -1.0, 0.0, -0.0, np.inf, -np.inf, np.nan, 2.0])
    y = np.array([0.0, 0.0, 0.0, 5.0, np.inf, 2.0, 1.0, -np.inf])
    with np.errstate(all="ignore"):
        expected = (x / y, x * y, x + y, x - y, np.exp(x * 1000), np.sqrt(x))
    for meant, given in zip(expected, wl.optimize(f, precision="f32x2")(x, y), strict=True):
        np.testing.assert_allclose(given, meant, rtol=1e-14)
        numbers = ~np.isnan(meant)
        np.testing.assert_array_equal(np.signbit(given)[numbers], np.signbit(meant)[numbers])


def test_constants_keep_their_low_limbs():
    x = np.array([1.0, 3.0])
    np.testing.assert_allclose(wl.jit(whole=True, precision="f32x2")(lambda x: x + 0.1)(x), x + 0.1, rtol=1e-14)


def test_floats_of_one_limb_are_computed_as_such():
    def f(x, y):
        return x * 3, x + y

    x, y = np.array([0.1, 0.7], np.float32), np.array([1e-9, 1.0])
    expected = f(x, y)
    found = wl.jit(whole=True, precision="f32x2")(f)(x, y)
    assert [each.dtype for each in found] == [np.float32, np.float64]
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-14)


def test_more_digits_than_f64():
    def f(x):
        return (x + 1e-25) - x

    assert wl.jit(whole=True, precision="f64x2")(f)(np.ones(1))[0] == pytest.approx(1e-25, rel=1e-6)
    assert f(np.ones(1))[0] == 0


def test_what_is_refused_is_told_with_its_line():
    with pytest.raises(WindlassError, match="WL0961") as told:
        wl.jit(whole=True, precision="f16x2")
    assert "there is no precision called 'f16x2'" in str(told.value)
    with pytest.raises(WindlassError, match="WL0963"):
        wl.jit(whole=True, precision="f32x2")(lambda x: x * 2)(np.ones(3, np.float32))

    def spectrum(x):
        return np.abs(np.fft.rfft(x))

    with pytest.raises(WindlassError, match="WL0962") as told:
        wl.jit(whole=True, precision="f32x2")(spectrum)(np.ones(8))
    assert "np.fft.rfft(x)" in str(told.value)


def test_scatters_on_equal_limbs_keep_them_apart():
    def f(x, i):
        return jnp.zeros(4).at[i].add(x), jnp.zeros(4).at[i].max(x)

    x, i = GENERATOR.standard_normal(9), np.array([0, 1, 1, 2, 2, 2, 3, 0, 1])
    sums, largest = np.zeros(4), np.zeros(4)
    np.add.at(sums, i, x)
    np.maximum.at(largest, i, x)
    for meant, given in zip((sums, largest), wl.optimize(f, precision="f32x2")(x, i), strict=True):
        close(given, meant)


def test_constants_of_many_numbers_and_made_of_constants_are_kept():
    numbers = GENERATOR.standard_normal(8)

    def f(x):
        return x % 1.0, (x * numbers + numbers) / numbers - numbers, jnp.convolve(x, x[:3], precision="highest")

    x = GENERATOR.standard_normal(8)
    expected = x % 1.0, (x * numbers + numbers) / numbers - numbers, np.convolve(x, x[:3])
    for meant, given in zip(expected, wl.optimize(f, precision="f32x2")(x), strict=True):
        close(given, meant, 1e-13)
