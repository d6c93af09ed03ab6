"""Order, extremes, windows and sums, as programs that look at data write them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from benchmarks.tensor.program import Draw, program
from jax import lax

EVERYDAY = "everyday"


@program(EVERYDAY, lambda draw: (draw.normal(64, 784, 128),))
def batch_moments(images: Any) -> Any:
    """Mean and deviation of each pixel over a batch."""
    return images.mean(0), images.std(0)


@program(EVERYDAY, lambda draw: (draw.normal(64, 50_257),))
def greedy_tokens(logits: Any) -> Any:
    return jnp.argmax(logits, -1)


@program(EVERYDAY, lambda draw: (draw.normal(1000, 1000), draw.integers(1000, high=1000)))
def accuracy(logits: Any, labels: Any) -> Any:
    return jnp.mean(jnp.argmax(logits, 1) == labels)


@program(EVERYDAY, lambda draw: (draw.normal(1000, 1000),))
def masked_means(x: Any) -> Any:
    is_valid = x > -1
    return jnp.where(is_valid, x, 0).sum(1) / is_valid.sum(1)


@program(EVERYDAY, lambda draw: (draw.normal(200, 501),))
def quartiles(x: Any) -> Any:
    return jnp.median(x, 1), jnp.percentile(x, 75, axis=1) - jnp.percentile(x, 25, axis=1)


@program(EVERYDAY, lambda draw: (draw.normal(20_000), draw.normal(20_000)))
def rank_correlation(x: Any, y: Any) -> Any:
    """Spearman's: the correlation of ranks."""
    first, second = (jnp.argsort(jnp.argsort(each)).astype(jnp.float32) for each in (x, y))
    first, second = first - first.mean(), second - second.mean()
    return (first * second).sum() / jnp.sqrt((first * first).sum() * (second * second).sum())


@program(EVERYDAY, lambda draw: (draw.normal(2000, 64), draw.uniform(2000, 64)))
def running_totals(x: Any, weights: Any) -> Any:
    return jnp.cumsum(x * weights, 0) / jnp.cumsum(weights, 0), lax.cummax(x)


@program(EVERYDAY, lambda draw: (draw.normal(100_000),))
def rolling_extremes(x: Any) -> Any:
    """The range over the last 64 samples, and their mean."""
    highest = lax.reduce_window(x, -jnp.inf, lax.max, (64,), (1,), "VALID")
    lowest = lax.reduce_window(x, jnp.inf, lax.min, (64,), (1,), "VALID")
    return highest - lowest, lax.reduce_window(x, 0.0, lax.add, (64,), (1,), "VALID") / 64


@program(EVERYDAY, lambda draw: (draw.normal(8, 64, 64, 16),))
def blurred_and_pooled(images: Any) -> Any:
    blurred = lax.reduce_window(images, 0.0, lax.add, (1, 5, 5, 1), (1, 1, 1, 1), "SAME") / 25
    return lax.reduce_window(blurred, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def make_positions(draw: Draw) -> tuple[Any, ...]:
    return (draw.normal(512, 8, 64),)


@program(EVERYDAY, make_positions)
def rotary_positions(x: Any) -> Any:
    """Rotary position embedding: rotations by tables of sines and cosines."""
    length, _, size = x.shape
    angles = jnp.arange(length)[:, None] * 10_000.0 ** (-jnp.arange(0, size, 2) / size)
    cosine, sine = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    even, odd = x[..., ::2], x[..., 1::2]
    return jnp.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).reshape(x.shape)


@program(EVERYDAY, lambda draw: (draw.normal(16, 100_000),))
def bias_gradient(x: Any) -> Any:
    return jax.grad(lambda bias: jnp.tanh(x + bias).sum())(jnp.zeros(x.shape[1]))
