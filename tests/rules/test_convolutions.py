"""Convolutions, pools and thin products in programs of jax.numpy: what they become on each device, and give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from windlass import stablehlo

LAYOUTS = {"NHWC": ("NHWC", "HWIO", "NHWC"), "NCHW": ("NCHW", "OIHW", "NCHW")}
Shape = tuple[int, ...]


def convolve(layout: str = "NHWC", **options: Any) -> Callable[..., Any]:
    settings: dict[str, Any] = {
        "window_strides": (1, 1),
        "padding": "SAME",
        "dimension_numbers": LAYOUTS[layout],
    } | options
    convolution: Any = lax.conv_general_dilated
    return lambda x, k: convolution(x, k, **settings)


def lowered(function: Callable[..., Any], *shapes: Shape) -> str:
    return jax.jit(function).lower(*(jax.ShapeDtypeStruct(shape, "float32") for shape in shapes)).as_text()


def optimized(function: Callable[..., Any], *shapes: Shape, **choices: Any) -> str:
    """The program after the optimizer, which gives what JAX gives."""
    text = lowered(function, *shapes)
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
    result = stablehlo.optimize(text, **choices)
    for expected, found in zip(
        jax.tree.leaves(jax.jit(function)(*arrays)), stablehlo.run(result, *arrays), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * float(np.abs(expected).max()))
    return result


def count(text: str, op: str) -> int:
    return text.count(f"stablehlo.{op}")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("options", [{}, {"window_strides": (2, 2)}, {"rhs_dilation": (2, 2)}, {"padding": "VALID"}])
def test_depthwise_convolution_is_a_loop_on_cpus(layout: str, options: dict[str, Any]) -> None:
    x, k = ((2, 20, 20, 8), (3, 3, 1, 8)) if layout == "NHWC" else ((2, 8, 20, 20), (8, 1, 3, 3))
    function = convolve(layout, feature_group_count=8, **options)
    assert not count(optimized(function, x, k, device="cpu"), "convolution")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("options", [{}, {"padding": ((1, 0), (0, 2))}, {"rhs_dilation": (2, 1)}])
def test_convolution_of_few_channels_is_a_loop_on_cpus(layout: str, groups: int, options: dict[str, Any]) -> None:
    channels = 3 * groups
    images, kernel = (4, 64, 64, channels), (3, 3, 3, 8)
    x, k = (images, kernel) if layout == "NHWC" else ((4, channels, 64, 64), (8, 3, 3, 3))
    function = convolve(layout, feature_group_count=groups, **options)
    assert not count(optimized(function, x, k, device="cpu"), "convolution")


@pytest.mark.parametrize("device", ["gpu", "tpu"])
def test_convolutions_of_many_channels_stay_everywhere(device: str) -> None:
    for each in ("cpu", device):
        assert count(optimized(convolve(), (2, 12, 12, 32), (3, 3, 32, 32), device=each), "convolution") == 1


def test_smoothing_a_signal_is_a_loop_on_cpus() -> None:
    def smooth(signal: jax.Array, window: jax.Array) -> jax.Array:
        return jnp.convolve(signal, window, mode="same")

    assert not count(optimized(smooth, (4000,), (9,), device="cpu"), "convolution")


def test_windows_are_never_reversed_on_cpus() -> None:
    def loss(x: jax.Array, k: jax.Array) -> jax.Array:
        return jnp.tanh(convolve()(x, k)).sum()

    text = optimized(jax.grad(loss, (0, 1)), (2, 12, 12, 16), (3, 3, 16, 16), device="cpu")
    assert "reverse = [true" not in text


def test_convolution_in_a_loop_has_its_features_last_on_cpus() -> None:
    def run(x: jax.Array, k: jax.Array) -> jax.Array:
        return lax.fori_loop(0, 3, lambda _, y: jnp.tanh(convolve("NCHW")(y, k)), x)

    shapes = (2, 16, 12, 12), (16, 16, 3, 3)
    assert "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" in optimized(run, *shapes, device="cpu")
    assert "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]" in optimized(run, *shapes, device="gpu")


def test_gradient_of_depthwise_kernel_is_sums_on_cpus() -> None:
    def loss(x: jax.Array, k: jax.Array) -> jax.Array:
        return (convolve(feature_group_count=16)(x, k) ** 2).sum()

    assert not count(optimized(jax.grad(loss, (0, 1)), (8, 30, 30, 16), (3, 3, 1, 16), device="cpu"), "convolution")


@pytest.mark.parametrize("combine", [lax.max, lax.add])
def test_overlapping_pool_is_a_loop_on_cpus(combine: Any) -> None:
    def pool(x: jax.Array) -> jax.Array:
        initial = -jnp.inf if combine is lax.max else 0.0
        return lax.reduce_window(x, initial, combine, (1, 5, 1, 1), (1, 1, 1, 1), "SAME")

    assert not count(optimized(pool, (8, 60, 60, 32), device="cpu"), "reduce_window")


def test_batch_normalization_scales_the_kernel() -> None:
    def layer(x: jax.Array, k: jax.Array, mean: jax.Array, variance: jax.Array, scale: jax.Array) -> jax.Array:
        return (convolve()(x, k) - mean) / jnp.sqrt(variance**2 + 1e-5) * scale

    text = optimized(layer, (2, 12, 12, 16), (3, 3, 16, 16), (16,), (16,), (16,))
    scaled = [line for line in text.splitlines() if "multiply" in line or "divide" in line]
    assert scaled
    assert not any("tensor<2x12x12x16xf32>" in line for line in scaled)


def test_products_with_shifted_slices_are_one_convolution() -> None:
    def by_shifts(x: jax.Array, k: jax.Array) -> Any:
        return sum(x[:, i : i + 30, j : j + 30] @ k[i, j] for i in range(5) for j in range(5))

    text = optimized(by_shifts, (8, 34, 34, 32), (5, 5, 32, 64), device="cpu")
    assert count(text, "convolution") == 1
    assert not count(text, "dot_general")


def test_points_times_a_small_matrix_need_no_product() -> None:
    text = optimized(lambda x, y: x @ y + 1, (5000, 3), (3, 3), device="cpu")
    assert not count(text, "dot_general")


def test_infinities_stay_where_they_are() -> None:
    x = np.zeros((1, 40, 40, 1), np.float32)
    x[0, 7, 9, 0], x[0, 20, 20, 0] = np.inf, np.nan
    k = np.arange(9, dtype=np.float32).reshape(3, 3, 1, 1) + 1
    text = stablehlo.optimize(lowered(convolve(), x.shape, k.shape), device="cpu")
    assert not count(text, "convolution")
    (found,) = stablehlo.run(text, x, k)
    np.testing.assert_array_equal(found, convolve()(x, k))
