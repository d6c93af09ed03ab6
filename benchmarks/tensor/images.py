"""Filters of images and signals, pools, and layers of small networks: convolutions in the forms that people write."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.tensor.program import Draw, add_gradient, normal, program
from jax import lax

IMAGES = "images"
N = 768


def shifts(u: Any, weights: Any) -> Any:
    """The places of `u` that have all neighbours, filtered by a small matrix of numbers, by slices."""
    rows, columns = weights.shape
    height, width = u.shape[0] - rows + 1, u.shape[1] - columns + 1
    places = [(i, j) for i in range(rows) for j in range(columns) if weights[i, j]]
    return sum(float(weights[i, j]) * u[i : i + height, j : j + width] for i, j in places)


SOBEL = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], np.float32)
GAUSS = np.exp(-0.5 * (np.arange(9, dtype=np.float32) - 4) ** 2 / 4)


@program(IMAGES, normal((N, N)))
def sobel_by_slices(u: Any) -> Any:
    return jnp.sqrt(shifts(u, SOBEL) ** 2 + shifts(u, SOBEL.T) ** 2)


@program(IMAGES, normal((N, N)))
def sobel_by_convolution(u: Any) -> Any:
    kernels = jnp.stack([SOBEL, SOBEL.T])[:, None]
    edges = lax.conv(u[None, None], kernels, (1, 1), "SAME")[0]
    return jnp.sqrt((edges**2).sum(0))


@program(IMAGES, normal((N, N)))
def gaussian_blur_by_shifts(u: Any) -> Any:
    """One axis after the other."""
    row = GAUSS / GAUSS.sum()
    return shifts(shifts(u, row[None]), row[:, None])


@program(IMAGES, normal((N, N)))
def gaussian_blur_by_convolution(u: Any) -> Any:
    """As image libraries do: a convolution along each axis, of the padded image."""
    row = GAUSS / GAUSS.sum()
    padded = jnp.pad(u, 4, mode="reflect")[None, None]
    return lax.conv(lax.conv(padded, row[None, None, None], (1, 1), "VALID"), row[None, None, :, None], (1, 1), "VALID")


@program(IMAGES, normal((16, 64, 64, 3)))
def sharpen_colours(images: Any) -> Any:
    """A depthwise convolution: each colour by itself."""
    kernel = jnp.tile(jnp.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], jnp.float32)[:, :, None, None], (1, 1, 1, 3))
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=layout, feature_group_count=3)


@program(IMAGES, normal((200_000,), (31,)))
def smoothed_signal(signal: Any, window: Any) -> Any:
    return jnp.convolve(signal, window / window.sum(), mode="same")


@program(IMAGES, normal((8, 56, 56, 64)))
def pooled_features(x: Any) -> Any:
    """Maximum and mean over 3 × 3 places."""
    window, strides = (1, 3, 3, 1), (1, 1, 1, 1)
    largest = lax.reduce_window(x, -jnp.inf, lax.max, window, strides, "SAME")
    return largest - lax.reduce_window(x, 0.0, lax.add, window, strides, "SAME") / 9


def make_separable(draw: Draw) -> tuple[Any, ...]:
    norm = draw.normal(64), draw.uniform(64, low=0.5, high=2), draw.normal(64), draw.normal(64)
    return draw.normal(4, 28, 28, 64), draw.normal(3, 3, 1, 64, scale=0.3), draw.weight(64, 64), norm


@program(IMAGES, make_separable, tolerance=1e-3)
def separable_layer(x: Any, depthwise: Any, pointwise: Any, norm: Any) -> Any:
    """A layer of MobileNet at inference: depthwise convolution, 1 × 1 convolution, normalization."""
    layout = ("NHWC", "HWIO", "NHWC")
    mean, variance, scale, shift = norm
    y = lax.conv_general_dilated(x, depthwise, (1, 1), "SAME", dimension_numbers=layout, feature_group_count=64)
    y = lax.conv_general_dilated(y, pointwise[None, None], (1, 1), "SAME", dimension_numbers=layout)
    return jax.nn.relu((y - mean) / jnp.sqrt(variance + 1e-5) * scale + shift)


add_gradient("separable_layer", IMAGES, (0, 1, 2))


def make_residual(draw: Draw) -> tuple[Any, ...]:
    return draw.normal(4, 32, 28, 28), draw.normal(6, 32, 32, 3, 3, scale=0.05)


@program(IMAGES, make_residual, tolerance=1e-3)
def residual_layers_in_a_scan(x: Any, kernels: Any) -> Any:
    def layer(x: Any, kernel: Any) -> Any:
        return x + jnp.tanh(lax.conv(x, kernel, (1, 1), "SAME")), None

    return lax.scan(layer, x, kernels)[0]


def make_digits(draw: Draw) -> tuple[Any, ...]:
    return draw.normal(64, 28, 28, 1), draw.normal(3, 3, 1, 16, scale=0.3), draw.normal(3, 3, 16, 32, scale=0.1)


@program(IMAGES, make_digits, tolerance=1e-3)
def digits_network(images: Any, first: Any, second: Any) -> Any:
    """The two convolutions and pools that networks for handwritten digits begin with."""
    layout = ("NHWC", "HWIO", "NHWC")
    for kernel in (first, second):
        images = jax.nn.relu(lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=layout))
        images = lax.reduce_window(images, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return images.reshape(len(images), -1)


def make_points(draw: Draw) -> tuple[Any, ...]:
    return draw.normal(200_000, 3), draw.normal(3, 3), draw.normal(3)


@program(IMAGES, make_points)
def rotated_points(points: Any, rotation: Any, offset: Any) -> Any:
    return points @ rotation.T + offset
