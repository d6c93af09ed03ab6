"""Transposes, reversals and signs around products, transforms, windows, scatters and loops: they meet and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from windlass import stablehlo

Function = Callable[..., Any]
Shape = tuple[int, ...]


def optimized(function: Function, *shapes: Shape, dtype: str = "float32") -> str:
    """The program after the optimizer, which gives what JAX gives."""
    draw = np.random.default_rng(0)
    arrays = [draw.integers(-4, 5, shape).astype(dtype) for shape in shapes]
    result = stablehlo.optimize(jax.jit(function).lower(*arrays).as_text())
    expected = jax.jit(function)(*arrays)
    (found,) = stablehlo.run(result, *arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
    return result


def convolve(x: jax.Array, k: jax.Array, **options: Any) -> jax.Array:
    return lax.conv_general_dilated(x, k, (1, 1), options.pop("padding", "VALID"), **options)


def pooled(x: jax.Array, window: Shape, strides: Shape = (1, 1), kind: Any = lax.max) -> jax.Array:
    return lax.reduce_window(x, -jnp.inf if kind is lax.max else 0.0, kind, window, strides, "VALID")


def turned_transform(x: jax.Array) -> jax.Array:
    return jnp.real(jnp.fft.fft2(x.transpose(1, 0)).transpose(1, 0))


def put_by_columns(x: jax.Array, u: jax.Array) -> jax.Array:
    return x.T.at[jnp.array([2, 0])].mul(u).T


def masked_by_columns(x: jax.Array, i: jax.Array) -> jax.Array:
    places = jnp.abs(i.astype(jnp.int32))
    return (x.T * jnp.zeros((5, 4)).at[places, places].set(1.0)).T


def scaled_at_places(x: jax.Array, i: jax.Array) -> jax.Array:
    return x * jnp.ones(4).at[i.astype(jnp.int32)].multiply(2.0)


TURNED: dict[str, tuple[Function, tuple[Shape, ...], str]] = {
    "transform": (turned_transform, ((4, 6),), "transpose"),
    "product and its function": (lambda x, y, b: jnp.exp(x.T @ y * 0.1 + b).T, ((5, 4), (5, 3), (3,)), "transpose"),
    "product of turned arrays": (lambda x, y: jnp.einsum("abc,bd->dca", x, y), ((5, 2, 6), (2, 4)), "transpose"),
    "scatter": (put_by_columns, ((4, 5), (2, 4)), "transpose"),
    "mask": (masked_by_columns, ((4, 5), (3,)), "tensor<5x4xf32>"),
    "scatter into ones": (scaled_at_places, ((4,), (2,)), "stablehlo.multiply %arg0"),
    "pool": (lambda x: -pooled(-x, (2, 2)), ((6, 7),), "negate"),
    "sums from the end": (lambda x: jnp.cumsum(x[::-1], 0)[::-1], ((9, 3),), "reverse"),
    "pool of pools": (lambda x: pooled(pooled(x, (2, 2)), (2, 2)), ((6, 7),), "window_dimensions = array<i64: 2, 2>"),
    "convolution": (lambda x, k: -convolve(-x, k), ((2, 3, 6, 7), (4, 3, 2, 2)), "negate"),
    "padded features": (
        lambda x, k: convolve(jnp.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0))), k),
        ((2, 3, 6, 7), (4, 5, 2, 2)),
        "stablehlo.pad",
    ),
    "padded kernel": (
        lambda x, k: convolve(x, jnp.pad(k, ((0, 0), (0, 0), (1, 1), (0, 1)))),
        ((2, 3, 6, 7), (4, 3, 2, 2)),
        "stablehlo.pad",
    ),
    "transform of reversed rows": (lambda x: jnp.real(jnp.fft.fft(x[::-1])[::-1]), ((3, 8),), "reverse"),
}


@pytest.mark.parametrize("name", TURNED)
def test_what_stands_around_an_op_goes(name: str) -> None:
    function, shapes, gone = TURNED[name]
    assert gone in jax.jit(function).lower(*(jax.ShapeDtypeStruct(shape, "float32") for shape in shapes)).as_text()
    assert gone not in optimized(function, *shapes)


def test_part_of_convolution_is_convolution_of_parts() -> None:
    text = optimized(lambda x, k: convolve(x, k)[1:, 1:3, 2:4], (3, 3, 9, 9), (4, 3, 2, 2))
    assert "tensor<2x2x2x8xf32>" in text
    assert "tensor<3x4x8x8xf32>" not in text


# -- loops ------------------------------------------------------------------------------------------------------------

ROUNDS = 9


def loop(body: Function, first: Any) -> Any:
    return lax.fori_loop(0, ROUNDS, body, first)


def row(x: jax.Array, i: Any) -> jax.Array:
    return lax.dynamic_index_in_dim(x, i, 0, keepdims=False)


def put(x: jax.Array, value: jax.Array, i: Any) -> jax.Array:
    return lax.dynamic_update_index_in_dim(x, value, i, 0)


LOOPS: dict[str, tuple[Function, tuple[Shape, ...]]] = {
    "rows added to": (lambda x, y: loop(lambda i, a: put(a, row(a, i) + row(y, i), i), x), ((9, 4), (9, 4))),
    "rows added to, backwards": (
        lambda x, y: loop(lambda i, a: put(a, row(a, ROUNDS - 1 - i) * row(y, i), ROUNDS - 1 - i), x),
        ((12, 4), (9, 4)),
    ),
    "the largest": (lambda y: loop(lambda i, a: jnp.maximum(a, row(y, i)), jnp.full(4, -9.0)), ((9, 4),)),
    "products of rows": (lambda x, y: loop(lambda i, a: put(a, row(x, i) @ y, i), jnp.zeros((9, 5))), ((9, 4), (4, 5))),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loop_over_rows_goes(name: str) -> None:
    function, shapes = LOOPS[name]
    assert "while" not in optimized(function, *shapes)


def test_loop_over_places_in_an_array_is_a_gather() -> None:
    text = optimized(
        lambda y, i: loop(lambda n, a: put(a, row(y, i[n].astype(int) * 3), n), jnp.zeros((9, 4))), (7, 4), (9,)
    )
    assert "while" not in text
    assert "gather" in text


def test_rows_that_rounds_before_have_written_are_read_anew() -> None:
    def running(x: jax.Array) -> jax.Array:
        return loop(lambda i, a: put(a, row(a, i) + row(a, jnp.maximum(i - 1, 0)), i), x)

    def overlapping(x: jax.Array) -> jax.Array:
        return loop(lambda i, a: lax.dynamic_update_slice(a, 2 * lax.dynamic_slice(a, (i,), (2,)) + 1, (i,)), x)

    def clamped(x: jax.Array) -> jax.Array:
        return loop(lambda i, a: put(a, 2 * row(a, i) + 1, i), x)

    optimized(running, (9, 4))
    optimized(overlapping, (12,))
    optimized(clamped, (7, 4))


def test_array_that_rounds_turn_is_carried_turned() -> None:
    text = optimized(lambda x: loop(lambda _, a: jnp.sin(a.T).T, x).T, (4, 5))
    assert text.partition(" do {")[2].count("transpose") == 0


def test_loop_that_only_counts_goes() -> None:
    def count(n: jax.Array, x: jax.Array) -> jax.Array:
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + 3), (jnp.int32(0), x))[1]

    for n in (-2, 0, 7):
        arguments = np.int32(n), np.array([1, 2**31 - 5], np.int32)
        text = stablehlo.optimize(jax.jit(count).lower(*arguments).as_text())
        assert "while" not in text
        np.testing.assert_array_equal(stablehlo.run(text, *arguments)[0], jax.jit(count)(*arguments))


@pytest.mark.parametrize("p", [False, True])
def test_branches_that_end_alike_end_once(p: bool) -> None:
    def choice(p: jax.Array, x: jax.Array) -> jax.Array:
        return lax.cond(p, lambda: jnp.sort(x).T, lambda: jnp.cumsum(x, 1).T)

    arguments = np.bool_(p), np.random.default_rng(0).random((4, 5)).astype(np.float32)
    text = stablehlo.optimize(jax.jit(choice).lower(*arguments).as_text())
    assert text.count("stablehlo.transpose") == 1
    np.testing.assert_allclose(stablehlo.run(text, *arguments)[0], jax.jit(choice)(*arguments), rtol=1e-5)
