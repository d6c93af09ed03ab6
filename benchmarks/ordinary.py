"""Ordinary functions of jax.numpy, lax, scipy and random, with their gradients and batches: what rules are for.

`count_rules.py` counts which rules fire on them. They are written as users write: with masks, conditions and indices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax

Function = Callable[..., Any]


@dataclass(frozen=True)
class Ordinary:
    """A function and the shapes and element types that it is called with."""

    function: Function
    arguments: tuple[jax.ShapeDtypeStruct, ...]

    def lower(self) -> str:
        """The program that JAX makes of it, as StableHLO text."""
        return jax.jit(self.function, keep_unused=True).lower(*self.arguments).as_text()


PROGRAMS: dict[str, Ordinary] = {}


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def whole(*shape: int, dtype: Any = jnp.int32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def flags(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.bool_)


def ordinary(*arguments: jax.ShapeDtypeStruct, gradient: bool = True, batch: bool = True) -> Callable[..., Function]:
    """Enter a function for such arguments, with its gradient by the float ones, and a batch of 4."""

    def enter(function: Function) -> Function:
        name = function.__name__
        PROGRAMS[name] = Ordinary(function, arguments)
        places = tuple(k for k, each in enumerate(arguments) if jnp.issubdtype(each.dtype, jnp.floating))
        if gradient and places:
            PROGRAMS[f"{name}, gradient"] = Ordinary(jax.grad(_loss(function), places), arguments)
        if batch:
            many = tuple(jax.ShapeDtypeStruct((4, *each.shape), each.dtype) for each in arguments)
            PROGRAMS[f"{name}, batch"] = Ordinary(jax.vmap(function), many)
        return function

    return enter


def _loss(function: Function) -> Function:
    def loss(*values: Any) -> jax.Array:
        leaves = jax.tree.leaves(function(*values))
        return jnp.sum(jnp.stack([jnp.sum(jnp.abs(leaf.astype(jnp.float32))) for leaf in leaves]))

    return loss


# -- networks ---------------------------------------------------------------------------------------------------------


@ordinary(floats(32, 64), floats(64, 128), floats(128), floats(128, 10), floats(10), whole(32))
def classifier(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, labels: Any) -> Any:
    hidden = jax.nn.relu(x @ w1 + b1)
    logits = jax.nn.log_softmax(hidden @ w2 + b2)
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, 10) * logits, axis=-1))


@ordinary(floats(16, 64), floats(64), floats(64))
def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-6) * scale + shift


@ordinary(floats(2, 16, 32), floats(2, 16, 32), floats(2, 16, 32))
def causal_attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(32.0)
    mask = jnp.tril(jnp.ones((16, 16), bool))
    scores = jnp.where(mask, scores, -jnp.inf)
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores, axis=-1), v)


@ordinary(floats(8, 32), whole(8))
def label_smoothing(logits: Any, labels: Any) -> Any:
    targets = jax.nn.one_hot(labels, 32) * 0.9 + 0.1 / 32
    return -jnp.sum(targets * jnp.log(jax.nn.softmax(logits)), -1)


@ordinary(floats(100))
def activations(x: Any) -> Any:
    return [jax.nn.gelu(x), jax.nn.silu(x), jax.nn.elu(x), jax.nn.selu(x), jax.nn.softplus(x),
            jax.nn.hard_tanh(x), jax.nn.leaky_relu(x), jax.nn.log_sigmoid(x), jax.nn.relu6(x),
            jax.nn.mish(x), jax.nn.hard_sigmoid(x)]  # fmt: skip


@ordinary(floats(100))
def tanh_by_exponentials(x: Any) -> Any:
    return (
        (jnp.exp(x) - jnp.exp(-x)) / (jnp.exp(x) + jnp.exp(-x)),
        1 / (1 + jnp.exp(-x)),
        (jnp.exp(2 * x) - 1) / (jnp.exp(2 * x) + 1),
    )


@ordinary(floats(100), floats(100))
def exponentials(x: Any, y: Any) -> Any:
    return [jnp.exp(x) * jnp.exp(y), x / jnp.exp(y), jnp.log(jnp.exp(x)), jnp.expm1(x) + 1,
            jnp.log(1 + x * x), jnp.log(jnp.exp(x) / jnp.sum(jnp.exp(x)))]  # fmt: skip


@ordinary(floats(1, 28, 28, 4), floats(3, 3, 4, 8))
def convolution_block(x: Any, w: Any) -> Any:
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = lax.conv_general_dilated(padded, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return y.mean((1, 2))


@ordinary(floats(2, 16, 8), floats(8, 1, 3))
def depthwise_convolution(x: Any, w: Any) -> Any:
    y = jnp.transpose(x, (0, 2, 1))
    return lax.conv_general_dilated(y, w[:, :, ::-1], (1,), "SAME", feature_group_count=8)


@ordinary(floats(2, 9, 9, 8), floats(1, 1, 8, 4))
def pointwise_convolution(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@ordinary(floats(4, 32, 32))
def pooling(x: Any) -> Any:
    y = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2), (1, 2, 2), "VALID") / 4
    return y.sum((1, 2)), jnp.max(lax.reduce_window(x, -jnp.inf, lax.max, (1, 4, 4), (1, 4, 4), "VALID"), (1, 2))


@ordinary(floats(64, 64))
def box_filters(x: Any) -> Any:
    sums = lax.reduce_window(x, 0.0, lax.add, (5, 5), (1, 1), "SAME")
    wide = lax.reduce_window(x, -jnp.inf, lax.max, (17, 17), (1, 1), "SAME")
    ones = lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, (5, 5), (1, 1), "SAME")
    return sums / ones, wide


@ordinary(floats(5, 8), floats(20, 8), floats(8, 8), floats(8, 8), floats(8), gradient=True)
def recurrent_network(h: Any, xs: Any, wx: Any, wh: Any, b: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        new = jnp.tanh(x @ wx + carry @ wh + b)
        return new, new.sum()

    return lax.scan(step, h, xs)


# -- movement ---------------------------------------------------------------------------------------------------------


@ordinary(floats(6, 8))
def flips(x: Any) -> Any:
    return [jnp.flip(jnp.flip(x, 0), 0), jnp.rot90(x, 2), jnp.fliplr(x.T), jnp.flip(jnp.pad(x, 1), 1),
            jnp.flip(x.reshape(-1)), jnp.flip(jnp.broadcast_to(x[:1], (6, 8)), 0),
            jnp.flip(x, 0) * jnp.flip(x, 0)]  # fmt: skip


@ordinary(floats(100))
def convolved_with_itself(x: Any) -> Any:
    return jnp.convolve(x, x[::-1], mode="same"), jnp.correlate(x, x[:9], mode="same"), jnp.convolve(x, x[:5], "full")


@ordinary(floats(12, 10))
def grids(x: Any) -> Any:
    rows, columns = jnp.meshgrid(jnp.arange(12.0), jnp.arange(10.0), indexing="ij")
    corner = jnp.arange(120).reshape(12, 10)
    return [x * rows + columns, corner.T, jnp.arange(12)[::-1], jnp.indices((12, 10))[0] * x,
            rows[2:5, :3], jnp.linspace(0, 1, 12)[:, None] * x]  # fmt: skip


@ordinary(floats(10, 10), floats(10, 10))
def triangles(a: Any, b: Any) -> Any:
    return [jnp.tril(a) @ b, jnp.triu(jnp.tril(a)), jnp.tril(a, -1) + jnp.triu(a), a * jnp.tri(10),
            jnp.where(jnp.eye(10, dtype=bool), 0, a), jnp.tril(jnp.tril(a), -1),
            jnp.triu(a) * jnp.tril(b)]  # fmt: skip


@ordinary(floats(10, 10), floats(10))
def diagonals(a: Any, v: Any) -> Any:
    return [jnp.diag(jnp.diag(v)), jnp.diag(a.T), a.at[jnp.diag_indices(10)].set(v), jnp.diag(v) @ a,
            a @ jnp.eye(10), jnp.fill_diagonal(a, 0.0, inplace=False), jnp.trace(a @ a),
            jnp.einsum("ii->i", a @ a), jnp.diag(v) @ jnp.diag(v)]  # fmt: skip


@ordinary(floats(8, 6))
def stacks(x: Any) -> Any:
    return [jnp.concatenate([x, x[:0]]), jnp.concatenate([x[:3], x[3:]]),
            jnp.stack([x[:, k] for k in range(6)], 1),
            jnp.concatenate([jnp.zeros((2, 6)), jnp.zeros((3, 6)), x]),
            jnp.concatenate([jnp.sin(x[:4]), jnp.sin(x[4:])]),
            jnp.concatenate([jnp.broadcast_to(x[0], (2, 6)), jnp.broadcast_to(x[0], (3, 6))]),
            jnp.vstack([x, x])[4:12], jnp.stack([x[0::2], x[1::2]], 1).reshape(8, 6),
            jnp.hstack([x, x]).sum(), jnp.concatenate([x, x, x]).max(0),
            jnp.concatenate([jnp.ones((1, 6)), x[1:-1], jnp.ones((1, 6))]), jnp.stack([x, x]).sum(0)]  # fmt: skip


@ordinary(floats(20), whole())
def windows_of_a_signal(x: Any, i: Any) -> Any:
    part = lax.dynamic_slice(x[2:], (i,), (8,))
    inner = lax.dynamic_slice(part, (i,), (4,))
    clamped = lax.dynamic_slice(x, (jnp.clip(i, 0, 16),), (4,))
    updated = lax.dynamic_update_slice(x, clamped * 2, (jnp.clip(i, 0, 16),))
    return inner, updated, lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i,), (4,)), (i,)), x.at[i].set(x[i] + 1)


@ordinary(floats(16, 4), whole(9), whole(3))
def gathers(x: Any, i: Any, j: Any) -> Any:
    return [x[i][j], x[i][2:5], (x @ x.T)[i], x[jnp.arange(15)], x[jnp.array([3, 1, 2])], x[i, 0],
            x[jnp.clip(i, 0, 15)], x[::2][j]]  # fmt: skip


@ordinary(floats(9, 9), floats(9, 9))
def halos(x: Any, y: Any) -> Any:
    field = jnp.pad(x, 1)
    field = field.at[0].set(field[-2]).at[-1].set(field[1])
    inner = x.at[1:-1, 1:-1].set(y[1:-1, 1:-1])
    return [field, inner.at[1:-1, 1:-1].add(1), x.at[:].set(y), x.at[0:0].set(0), x.at[2:4].set(x[2:4]),
            x.at[2:5].set(x[2:5] * 2), jnp.zeros((11, 11)).at[1:-1, 1:-1].set(x).at[0, 1:-1].set(y[0])]  # fmt: skip


@ordinary(floats(30), whole(30), gradient=False)
def segments(x: Any, i: Any) -> Any:
    return (
        jax.ops.segment_sum(x, i, 5),
        jax.ops.segment_max(x, i, 5),
        jnp.bincount(i, length=8),
        jnp.zeros(5, bool).at[i].set(True).astype(jnp.float32),
    )


@ordinary(floats(100))
def sorted_values(x: Any) -> Any:
    ordered = jnp.sort(x)
    return [jnp.sort(ordered), ordered[::-1], jnp.sort(x[::-1]), jnp.max(ordered), ordered[0],
            jnp.argsort(x), jnp.median(x), jnp.sort(x)[-5:], jnp.percentile(x, 30.0), jnp.sum(ordered)]  # fmt: skip


@ordinary(floats(1), whole(8))
def sorts_of_little(x: Any, i: Any) -> Any:
    return [jnp.sort(x), jnp.sort(jnp.broadcast_to(x, (7,))), jnp.argsort(jnp.zeros(5)),
            jnp.sort(jnp.arange(9)[::-1]), jnp.unique(i, size=8), jnp.searchsorted(jnp.arange(8), i)]  # fmt: skip


# -- sums -------------------------------------------------------------------------------------------------------------


@ordinary(floats(30, 20))
def reductions(x: Any) -> Any:
    return [jnp.sum(jnp.sum(x, 0)), jnp.sum(x * 2), jnp.sum(x + 1), jnp.sum(-x), jnp.max(-x),
            jnp.max(x + 1, 0), jnp.min(2 * x), jnp.sum(jnp.flip(x)), jnp.sum(jnp.pad(x, 2)),
            jnp.max(jnp.exp(x)), jnp.sum(x.T), jnp.mean(x, 0).mean(),
            jnp.sum(jnp.where(jnp.arange(20) < 5, x, 0), 1), jnp.sum(jnp.arange(100)),
            jnp.sum(jnp.broadcast_to(x[0], (30, 20)), 0), jnp.max(x.reshape(10, 3, 20).max(1), 0),
            jnp.sum(x * jnp.eye(30, 20)), jnp.max(jnp.tanh(x)), jnp.cumsum(x, 0)[-1],
            jnp.max(jnp.sort(x, 0), 0), jnp.sum(jnp.concatenate([x, 2 * x])), jnp.any(~(x > 0)),
            jnp.all(~(x > 0)), jnp.sum(jnp.concatenate([x, x], 1), 0),
            jnp.sum(jnp.where(jnp.arange(30)[:, None] == 3, x, 0), 0)]  # fmt: skip


@ordinary(jax.ShapeDtypeStruct((40, 8), jnp.bfloat16), whole(40, 8, dtype=jnp.int8), gradient=False)
def narrow_types(x: Any, i: Any) -> Any:
    return [jnp.max(x.astype(jnp.float32), 0), jnp.max(i.astype(jnp.int32)),
            x.astype(jnp.float32).astype(jnp.bfloat16), i.astype(jnp.int32).astype(jnp.float32),
            jnp.float32(x) @ jnp.float32(x).T, jnp.where(i > 0, 1, 0).astype(jnp.float32),
            i.astype(jnp.int32) < 5, jnp.pad(x, 1).astype(jnp.float32),
            i.astype(jnp.int32).astype(jnp.int8), (i.astype(jnp.int32) & 255).astype(jnp.uint8)]  # fmt: skip


@ordinary(floats(4000, 3))
def long_columns(x: Any) -> Any:
    return [jnp.sum(x, 0), jnp.max(x, 0), jnp.argmax(x, 0), jnp.cumsum(x, 0), lax.cummax(x, axis=0)]  # fmt: skip


@ordinary(floats(3, 40000))
def long_rows(x: Any) -> Any:
    return jnp.sum(x, 1), jnp.max(x, 1), jnp.argmax(x, 1), jnp.sum(x * x[0], 1)


@ordinary(floats(500))
def statistics(x: Any) -> Any:
    return [jnp.var(x), jnp.std(x), jnp.average(x, weights=jnp.ones(500)), jnp.cov(x),
            jnp.histogram(x, 10, (-1, 1))[0], jnp.linalg.norm(x), jnp.sqrt(jnp.sum(x * x)),
            jnp.sqrt(x * x), jnp.sqrt(jnp.square(x)), jnp.square(jnp.sqrt(jnp.abs(x))),
            jnp.power(jnp.abs(x), 0.5), jnp.square(jnp.abs(x))]  # fmt: skip


# -- conditions -------------------------------------------------------------------------------------------------------


@ordinary(floats(50), floats(50))
def choices(x: Any, y: Any) -> Any:
    p = x > 0
    return [jnp.where(p, jnp.where(p, x, y), 0), jnp.where(p, 0, jnp.where(p, x, y)), jnp.where(~p, x, y),
            jnp.where(p, x, x), jnp.where(x == y, x, y), jnp.where(p, 1.0, 0.0) * x,
            jnp.where(p, 2.0, 3.0) + 1, jnp.where(p, x, 0) + jnp.where(p, 0, y),
            jnp.where(jnp.isnan(x), jnp.nan, x + 1), jnp.where(p, x, jnp.where(y > 0, x, y)),
            x / jnp.where(p, 2.0, 4.0), jnp.where(p, jnp.where(y > 0, x, y), y), jnp.where(x > y, x, y),
            p.astype(jnp.float32) * (y > 0).astype(jnp.float32), jnp.select([x > 1, x > 0], [x, y], 0),
            jnp.piecewise(x, [x < 0, x >= 0], [0.0, 1.0]), jnp.heaviside(x, 0.5),
            1.0 - p.astype(jnp.float32), x * p.astype(jnp.float32), jnp.where(p, 1, 0) == 1,
            p.astype(jnp.int32) > 0]  # fmt: skip


@ordinary(flags(30), flags(30), flags(30))
def logic(p: Any, q: Any, r: Any) -> Any:
    return [~(~p), p & True, p | False, p & (p | q), p | (p & q), p & (p & q), p | (p | q),
            (p & q) | (p & ~q), (p & q) | (p & r), p & ~p, p | ~p, p ^ True, p ^ p, (p ^ q) ^ q, ~p & ~q,
            ~p | ~q, p & p, p | p, jnp.where(p, q, False), jnp.where(p, True, q), p | True, p & False,
            jnp.logical_not(jnp.logical_and(p, ~q)), jnp.where(p, False, True), p == q, p != np.False_]  # fmt: skip


@ordinary(floats(40), floats(40), whole(40))
def comparisons(x: Any, y: Any, i: Any) -> Any:
    return [jnp.equal(i, i), (x < y) | (x == y), (x <= y) & (x != y), jnp.maximum(x, y) == x,
            jnp.minimum(x, y) > y, -x < 2, jnp.sign(i) != 1, jnp.isfinite(i.astype(jnp.float32)),
            jnp.abs(x) < 0, i.astype(jnp.float32) > 3, jnp.where(x > 0, 3, 5) == 5, i + 1 < 5,
            jnp.arange(40) < 20, (jnp.arange(40) >= 0) & (jnp.arange(40) < 40),
            i.astype(jnp.int8).astype(jnp.int32) < 99, x.astype(jnp.float64) < y.astype(jnp.float64),
            jnp.logical_not(i < 3), jnp.clip(i, 0, 9) >= 0, -x < -y]  # fmt: skip


@ordinary(floats(60), floats(60))
def extremes(x: Any, y: Any) -> Any:
    return [jnp.maximum(jnp.maximum(x, y), y), jnp.minimum(jnp.minimum(x, y), x), jnp.maximum(x, x),
            jnp.minimum(x, x), jnp.clip(jnp.clip(x, 0, 1), -1, 2), jnp.maximum(jnp.clip(x, 0, 1), 0.5),
            jnp.minimum(jnp.clip(x, 0, 1), 0.5), jnp.clip(jnp.tanh(x), -1, 1), jnp.maximum(jnp.abs(x), 0),
            jnp.minimum(jnp.exp(x), -1), jnp.clip(jax.nn.sigmoid(x), 0, 1), -jnp.maximum(-x, -y),
            jnp.maximum(x, y) + jnp.minimum(x, y)]  # fmt: skip


# -- arithmetic -------------------------------------------------------------------------------------------------------


@ordinary(floats(70), floats(70), floats(70))
def signs(x: Any, y: Any, z: Any) -> Any:
    return [x - (-y), -(x - y), (-x) * (-y), (-x) / (-y), x / -1, 0.0 - x, jnp.abs(-x), jnp.square(-x),
            jnp.square(jnp.abs(x)), jnp.cos(-x), jnp.sin(-x), x + (-y), jnp.negative(-x), jnp.tanh(-x),
            -x * y, x * -1.0, jnp.abs(jnp.abs(x)), jnp.abs(x * x), x - x]  # fmt: skip


@ordinary(floats(70), floats(70), floats(70))
def scales(x: Any, y: Any, z: Any) -> Any:
    return [x * 2 * 3, (3 / x) * 2, 6 / (x * 2), x * (1 / y), x / (1 / y), x / 2, x / 3, x * y + x * z,
            x * y - x * z, x / z + y / z, x * 0 + y, x + 0, x * 1, x / 1, x**2, x**3, x**0,
            jnp.power(jnp.abs(x), 1.5), x**-1, x * x * x * x, x + x + x + x, (x + 1) + 2, (x - 1) + 1,
            x + y - x, x * y * x * y, jnp.sqrt(jnp.abs(x)) * jnp.sqrt(jnp.abs(x)),
            1.0 / jnp.sqrt(x * x + 1)]  # fmt: skip


@ordinary(whole(70), whole(70), gradient=False)
def integers(i: Any, j: Any) -> Any:
    n = jnp.abs(i) % 100
    return [i + j - j, i - (i + j), i - (i - j), i + (j - i), (i // 8) * 8 + i % 8, n // 4, n % 128,
            (n * 6) // 3, (i << 2) * 3, i * 3 + i * 5, i * 2 * 4, i - (j - i), n // 1, i % 1, -i + j, ~i,
            i & 0, i | 0, i ^ 0, (i & 12) & 10, (i | 3) | 4, (i ^ 5) ^ 3, (i << 1) << 2, i >> 0, i << 0,
            (n >> 1) >> 2, (n >> 3) << 3, (i & 15) + (i & 240), (i & 15) | (i & 240), (i | 7) & 7,
            (i & 8) | 8, i * i * i * i, jnp.sign(i) * jnp.sign(i), 7 - i < 3, jnp.minimum(n, 200),
            n % 16 + 16 * (n // 16)]  # fmt: skip


@ordinary(whole(64, dtype=jnp.uint32), gradient=False)
def hashes(x: Any) -> Any:
    y = (x ^ (x >> 16)) * np.uint32(0x85EBCA6B)
    y = (y ^ (y >> 13)) * np.uint32(0xC2B2AE35)
    return [y ^ (y >> 16), lax.bitcast_convert_type(x, jnp.float32)[3:9],
            (x >> 9) | np.uint32(0x3F800000),
            lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.float32), jnp.uint32),
            lax.bitcast_convert_type(x.reshape(8, 8).T, jnp.int32), ((x & 0xFF) << 8) | ((x >> 8) & 0xFF)]  # fmt: skip


@ordinary(whole(2, dtype=jnp.uint32), gradient=False, batch=False)
def random_numbers(key: Any) -> Any:
    one, two = jax.random.split(jax.random.wrap_key_data(key))
    return [jax.random.uniform(one, (20,)), jax.random.normal(two, (4, 5)),
            jax.random.bernoulli(one, 0.3, (9,)), jax.random.permutation(two, 8),
            jax.random.categorical(one, jnp.zeros((3, 5))), jax.random.randint(two, (6,), 0, 10)]  # fmt: skip


@ordinary(floats(40), whole(40))
def rounding(x: Any, i: Any) -> Any:
    return [jnp.floor(jnp.floor(x)), jnp.round(i.astype(jnp.float32)), jnp.floor(x).astype(jnp.int32),
            jnp.trunc(jnp.floor(x)), x % 1.0, jnp.floor_divide(x, 2.0), jnp.fmod(x, 3.0), jnp.mod(i, 7),
            jnp.divmod(i, 5)[0], jnp.ceil(jnp.floor(x)), i.astype(jnp.float32).astype(jnp.int32)]  # fmt: skip


@ordinary(jax.ShapeDtypeStruct((30,), jnp.complex64), floats(30), gradient=False)
def complex_numbers(z: Any, x: Any) -> Any:
    w = x + 1j
    return [z.real + 1j * z.imag, lax.complex(z.real, z.imag), jnp.conj(jnp.conj(z)),
            jnp.real(jnp.conj(z)), (x.astype(jnp.complex64)).real, (z * jnp.conj(z)).real,
            jnp.imag(lax.complex(x, x) + 2), jnp.abs(x.astype(jnp.complex64)),
            jnp.imag(x.astype(jnp.complex64)), w.real, jnp.abs(z) ** 2, jnp.exp(1j * x)]  # fmt: skip


@ordinary(floats(64), floats(64))
def fourier(x: Any, y: Any) -> Any:
    return (
        jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(y)),
        jnp.fft.fftshift(jnp.abs(jnp.fft.fft(x))),
        jnp.fft.rfft(x * jnp.hanning(64)),
        jnp.fft.ifft(jnp.fft.fft(x)).real,
    )


@ordinary(floats(2000))
def windowed_spectrum(x: Any) -> Any:
    n = jnp.arange(2000)
    return x * (0.5 - 0.5 * jnp.cos(2 * jnp.pi * n / 2000)), x * jnp.blackman(2000), jnp.sum(x * jnp.sin(0.01 * n))


# -- linear algebra ---------------------------------------------------------------------------------------------------


@ordinary(floats(40, 30), floats(30, 40), floats(40), floats(30))
def chains(a: Any, b: Any, v: Any, w: Any) -> Any:
    return [a @ b @ v, jnp.sum(a @ b), jnp.trace(a @ b), (a @ b)[:3], (a @ b).T, (a @ b)[0], (a @ w) @ v,
            -(a @ b), (-a) @ b, (2 * a) @ b, a @ b + a @ b, (a @ b) / 2, (a @ b)[::-1], a[::-1] @ b,
            a @ b + v, jnp.outer(v, w) @ b, (a + jnp.outer(v, w)) @ b, jnp.linalg.multi_dot([a, b, a, b]),
            (a @ b) @ (a @ b), (a * v[:, None]) @ b, v @ (a * w), (a @ b)[:, 2:5], jnp.sum(a @ b, 0)]  # fmt: skip


@ordinary(floats(30, 30), floats(30, 30), floats(30, 6))
def squares(x: Any, y: Any, z: Any) -> Any:
    return [x @ x + (x @ x).T, x @ y + x @ z @ z.T, x @ y - z @ z.T @ y, x.T @ x, x @ x.T @ x @ x.T,
            jnp.linalg.matrix_power(x, 4), (x @ y).T + y.T @ x.T, 3.0 * (x @ y) + z @ z.T,
            x - (2 * y) @ x, x @ y + y @ x]  # fmt: skip


@ordinary(floats(12, 12), floats(12), floats(12, 2))
def systems(a: Any, b: Any, c: Any) -> Any:
    s = a @ a.T + jnp.eye(12)
    return [jnp.linalg.solve(s, b), jnp.linalg.inv(s) @ b, jnp.linalg.inv(s) @ c,
            jsp.linalg.cho_solve(jsp.linalg.cho_factor(s), b),
            jsp.linalg.solve_triangular(jnp.tril(s), c, lower=True), jnp.linalg.slogdet(s)[1],
            b @ jnp.linalg.inv(s), jnp.linalg.inv(s)[0]]  # fmt: skip


@ordinary(floats(20, 3), floats(25, 3))
def distances(x: Any, y: Any) -> Any:
    squares = jnp.sum((x[:, None] - y[None]) ** 2, -1)
    cheaper = jnp.sum(x * x, 1)[:, None] - 2 * x @ y.T + jnp.sum(y * y, 1)
    return jnp.sqrt(squares + 1e-9), jnp.exp(-cheaper), jnp.argmin(squares, 1)


@ordinary(floats(6, 6), floats(4, 4), floats(24))
def block_matrices(a: Any, b: Any, v: Any) -> Any:
    block = jsp.linalg.block_diag(a, b)
    return (
        block @ v[:10],
        jnp.kron(a, b) @ v,
        jnp.block([[a, a], [a, -a]]) @ v[:12],
        jnp.block([[a, jnp.zeros((6, 4))], [jnp.zeros((4, 6)), b]]) @ v[:10],
    )


@ordinary(floats(50, 50), floats(50))
def banded_matrices(a: Any, v: Any) -> Any:
    laplacian = 2 * jnp.eye(50) - jnp.eye(50, k=1) - jnp.eye(50, k=-1)
    return [laplacian @ v, laplacian @ a, jnp.roll(jnp.eye(50), 1, 0) @ v, jnp.eye(50)[::-1] @ v,
            jnp.tri(50) @ v, jnp.ones((50, 50)) @ v, jnp.ones((4, 50)) @ a]  # fmt: skip


@ordinary(floats(30, 8), whole(12))
def embeddings(table: Any, tokens: Any) -> Any:
    return (
        jax.nn.one_hot(tokens, 30) @ table,
        table[tokens].sum(0),
        jnp.take(table, tokens, axis=0) * 2,
        jnp.eye(30)[tokens] @ table,
    )


# -- loops and branches -----------------------------------------------------------------------------------------------


@ordinary(floats(20, 6), whole())
def loops(x: Any, n: Any) -> Any:
    total = lax.fori_loop(0, 20, lambda i, s: s + x[i], jnp.zeros(6))
    doubled = lax.fori_loop(0, 20, lambda i, y: y.at[i].set(2 * x[i]), jnp.zeros_like(x))
    none = lax.fori_loop(0, 0, lambda i, s: s + x[i], jnp.zeros(6))
    one = lax.fori_loop(0, 1, lambda i, s: s + x[i], jnp.zeros(6))
    three = lax.fori_loop(0, 3, lambda i, s: jnp.sin(s) + i, x)
    return [total, doubled, none, one, three, lax.map(jnp.sum, x),
            lax.scan(lambda c, r: (c + r, c * 2), x[0], x)]  # fmt: skip


@ordinary(floats(9), whole(), flags())
def branches(x: Any, n: Any, p: Any) -> Any:
    return [lax.cond(p, lambda y: y + 1, lambda y: y * 2, x), lax.cond(~p, jnp.sin, jnp.cos, x),
            lax.switch(n, [jnp.sin, jnp.cos], x), lax.cond(True, jnp.sin, jnp.cos, x),
            lax.cond(p, lambda y: y, lambda y: y, x), lax.switch(n, [jnp.sin, jnp.cos, jnp.tanh], x)]  # fmt: skip


@ordinary(floats(16), gradient=True)
def newton(x: Any) -> Any:
    return lax.fori_loop(0, 5, lambda _, y: 0.5 * (y + (x * x + 1) / y), jnp.ones_like(x))


@ordinary(floats(8, 8), floats(8))
def repeated_matvecs(w: Any, x: Any) -> Any:
    ys = [jnp.tanh(w[k] * x) for k in range(8)]
    return jnp.stack(ys), sum(w[k] @ x for k in range(8)), jnp.stack([w @ x, w @ (2 * x), w @ (x + 1)])


@ordinary(floats(64))
def finite_differences(x: Any) -> Any:
    return [jnp.diff(x), jnp.gradient(x), jnp.roll(x, 1) - 2 * x + jnp.roll(x, -1), x[1:] - x[:-1],
            jnp.interp(x, jnp.arange(10.0), jnp.arange(10.0) ** 2), jnp.cumsum(x) - x, jnp.trapezoid(x)]  # fmt: skip


@ordinary(floats(32), floats(32))
def special_functions(x: Any, y: Any) -> Any:
    z = jnp.abs(x) + 0.5
    return [jsp.special.erf(x), jsp.special.gammaln(z), jsp.special.logsumexp(x), jsp.special.xlogy(x, z),
            jsp.stats.norm.logpdf(x, y, z), jsp.special.expit(x), jsp.special.logit(jax.nn.sigmoid(x)),
            jsp.special.digamma(z), jnp.logaddexp(x, y), jnp.hypot(x, y)]  # fmt: skip
