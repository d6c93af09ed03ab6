"""Layers and cells of neural networks, and gradients of some: written for reading, as model code is."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from benchmarks.tensor.program import Draw, add_gradient, program
from jax import lax

TWELVE = "twelve"
NETWORKS = "networks"

# ---- Kolmogorov–Arnold layer: a spline per edge, by the recursion of Cox and de Boor ----

ORDER, INTERVALS = 3, 5


def spline_basis(x: Any) -> Any:
    """The B-splines at each element of x, along a new last axis of INTERVALS + ORDER."""
    step = 2.0 / INTERVALS
    knots = jnp.arange(-ORDER, INTERVALS + ORDER + 1, dtype=jnp.float32) * step - 1.0
    x = x[..., None]
    basis = ((x >= knots[:-1]) & (x < knots[1:])).astype(jnp.float32)
    for order in range(1, ORDER + 1):
        left = (x - knots[: -(order + 1)]) / (knots[order:-1] - knots[: -(order + 1)])
        right = (knots[order + 1 :] - x) / (knots[order + 1 :] - knots[1:-order])
        basis = left * basis[..., :-1] + right * basis[..., 1:]
    return basis


def make_kan(draw: Draw) -> tuple[Any, ...]:
    return draw.uniform(512, 64, low=-0.9, high=0.9), draw.weight(64, 64, INTERVALS + ORDER), draw.weight(64, 64)


@program(TWELVE, make_kan)
def kan_layer(x: Any, splines: Any, base: Any) -> Any:
    return jnp.einsum("bik,iok->bo", spline_basis(x), splines) + jax.nn.silu(x) @ base


add_gradient("kan_layer", TWELVE, (1, 2))


def make_two_kan_layers(draw: Draw) -> tuple[Any, ...]:
    x, splines, base = make_kan(draw)
    return x, ((splines, base), (draw.weight(64, 64, INTERVALS + ORDER), draw.weight(64, 64)))


@program(NETWORKS, make_two_kan_layers)
def kan_network(x: Any, layers: Any) -> Any:
    for splines, base in layers:
        x = jnp.tanh(kan_layer(x, splines, base))
    return x


# ---- a small llama ----

WIDTH, HEADS, LENGTH = 256, 8, 128


def rms_norm(x: Any, scale: Any) -> Any:
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def rotate(x: Any) -> Any:
    """Rotary position embedding of x, (length, heads, size)."""
    length, _, size = x.shape
    frequencies = 10000.0 ** (-jnp.arange(0, size, 2, dtype=jnp.float32) / size)
    angles = jnp.arange(length, dtype=jnp.float32)[:, None] * frequencies[None, :]
    cosine, sine = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    even, odd = x[..., 0::2], x[..., 1::2]
    return jnp.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).reshape(x.shape)


def make_llama(draw: Draw) -> tuple[Any, ...]:
    def layer() -> dict[str, Any]:
        squares = {name: draw.weight(WIDTH, WIDTH) for name in ("query", "key", "value", "out")}
        feed = {"gate": draw.weight(WIDTH, 2 * WIDTH), "up": draw.weight(WIDTH, 2 * WIDTH)}
        norms = {name: draw.uniform(WIDTH, low=0.5, high=1.5) for name in ("norm1", "norm2")}
        return squares | feed | norms | {"down": draw.weight(2 * WIDTH, WIDTH)}

    tokens = draw.integers(LENGTH, high=512)
    return tokens, {
        "embedding": draw.normal(512, WIDTH, scale=0.05),
        "layers": [layer(), layer()],
        "norm": draw.uniform(WIDTH),
    }


@program(TWELVE, make_llama, tolerance=1e-3)
def llama(tokens: Any, parameters: Any) -> Any:
    x = parameters["embedding"][tokens]
    for layer in parameters["layers"]:
        normed = rms_norm(x, layer["norm1"])
        query, key, value = (
            (normed @ layer[name]).reshape(LENGTH, HEADS, WIDTH // HEADS) for name in ("query", "key", "value")
        )
        query, key = rotate(query), rotate(key)
        scores = jnp.einsum("qhd,khd->hqk", query, key) / jnp.sqrt(WIDTH // HEADS)
        scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -jnp.inf)
        mixed = jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores, -1), value)
        x = x + mixed.reshape(LENGTH, WIDTH) @ layer["out"]
        normed = rms_norm(x, layer["norm2"])
        x = x + (jax.nn.silu(normed @ layer["gate"]) * (normed @ layer["up"])) @ layer["down"]
    return rms_norm(x, parameters["norm"]) @ parameters["embedding"].T


add_gradient("llama", TWELVE, 1)

# ---- recurrent cells ----

UNITS = 256


def make_nas_cell(draw: Draw) -> tuple[Any, ...]:
    return (
        draw.normal(8, 8, UNITS),
        draw.normal(8, UNITS),
        draw.normal(8, UNITS),
        [draw.weight(UNITS, UNITS) for _ in range(8)],
        [draw.weight(UNITS, UNITS) for _ in range(8)],
    )


@program(NETWORKS, make_nas_cell, tolerance=1e-3)
def nas_cell_unrolled(inputs: Any, hidden: Any, cell: Any, from_input: Any, from_hidden: Any) -> Any:
    """The recurrent cell found by neural architecture search (Zoph and Le, 2017), with a matrix for each gate."""
    for step in range(inputs.shape[0]):
        x = inputs[step]
        gates = [x @ w + hidden @ u for w, u in zip(from_input, from_hidden, strict=True)]
        one = jax.nn.sigmoid(gates[0]), jax.nn.relu(gates[1]), jax.nn.sigmoid(gates[2]), jax.nn.relu(gates[3])
        two = jnp.tanh(gates[4]), jax.nn.sigmoid(gates[5]), jnp.tanh(gates[6]), jax.nn.sigmoid(gates[7])
        first = jnp.tanh(one[0] * one[1]) + jnp.tanh(two[0] + two[1])
        second = jnp.tanh(one[2] * one[3]) * jax.nn.sigmoid(two[2] + two[3])
        cell = jnp.tanh(first * second + cell) * jnp.tanh(second)
        hidden = jnp.tanh(cell * first)
    return hidden, cell


def make_lstm(draw: Draw, steps: int) -> tuple[Any, ...]:
    names = "input", "forget", "cell", "output"
    return (
        draw.normal(steps, 16, UNITS),
        {name: draw.weight(UNITS, UNITS) for name in names},
        {name: draw.weight(UNITS, UNITS) for name in names},
        {name: draw.normal(UNITS) for name in names},
    )


def lstm_step(hidden: Any, cell: Any, x: Any, from_input: Any, from_hidden: Any, bias: Any) -> tuple[Any, Any]:
    def gate(name: str) -> Any:
        return x @ from_input[name] + hidden @ from_hidden[name] + bias[name]

    kept = jax.nn.sigmoid(gate("forget")) * cell
    cell = kept + jax.nn.sigmoid(gate("input")) * jnp.tanh(gate("cell"))
    return jax.nn.sigmoid(gate("output")) * jnp.tanh(cell), cell


@program(NETWORKS, lambda draw: make_lstm(draw, 32), tolerance=1e-3)
def lstm_scan(inputs: Any, from_input: Any, from_hidden: Any, bias: Any) -> Any:
    def step(state: Any, x: Any) -> Any:
        hidden, cell = lstm_step(*state, x, from_input, from_hidden, bias)
        return (hidden, cell), hidden

    zero = jnp.zeros(inputs.shape[1:])
    return lax.scan(step, (zero, zero), inputs)[1]


add_gradient("lstm_scan", NETWORKS, (1, 2, 3))


@program(NETWORKS, lambda draw: make_lstm(draw, 12), tolerance=1e-3)
def lstm_unrolled(inputs: Any, from_input: Any, from_hidden: Any, bias: Any) -> Any:
    hidden = cell = jnp.zeros(inputs.shape[1:])
    outputs = []
    for step in range(inputs.shape[0]):
        hidden, cell = lstm_step(hidden, cell, inputs[step], from_input, from_hidden, bias)
        outputs.append(hidden)
    return jnp.stack(outputs)


# ---- transformer and convolutional blocks ----


def make_bert(draw: Draw) -> tuple[Any, ...]:
    weights = {name: draw.weight(WIDTH, WIDTH) for name in ("query", "key", "value", "out")}
    weights |= {"up": draw.weight(WIDTH, 4 * WIDTH), "down": draw.weight(4 * WIDTH, WIDTH)}
    biases = {name: draw.normal(weight.shape[1]) for name, weight in weights.items()}
    norms = {name: draw.uniform(WIDTH) for name in ("scale1", "shift1", "scale2", "shift2")}
    return draw.normal(4, 128, WIDTH), draw.integers(4, low=64, high=129), weights, biases, norms


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-12) * scale + shift


@program(NETWORKS, make_bert, tolerance=1e-3)
def bert_layer(x: Any, lengths: Any, weights: Any, biases: Any, norms: Any) -> Any:
    batch, length, width = x.shape

    def dense(x: Any, name: str) -> Any:
        return x @ weights[name] + biases[name]

    def split(x: Any) -> Any:
        return x.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

    query, key, value = (split(dense(x, name)) for name in ("query", "key", "value"))
    scores = query @ key.transpose(0, 1, 3, 2) / jnp.sqrt(width // HEADS)
    mask = (jnp.arange(length)[None, :] < lengths[:, None]).astype(jnp.float32)
    scores = scores + (1.0 - mask)[:, None, None, :] * -1e9
    mixed = (jax.nn.softmax(scores, -1) @ value).transpose(0, 2, 1, 3).reshape(batch, length, width)
    x = layer_norm(x + dense(mixed, "out"), norms["scale1"], norms["shift1"])
    return layer_norm(x + dense(jax.nn.gelu(dense(x, "up")), "down"), norms["scale2"], norms["shift2"])


def convolve(x: Any, kernel: Any, groups: int = 1) -> Any:
    layout = ("NCHW", "OIHW", "NCHW")
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout, feature_group_count=groups)


def batch_norm(x: Any, norm: Any) -> Any:
    """As at inference: mean and variance are given."""
    mean, variance, scale, shift = (each[None, :, None, None] for each in norm)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift


def make_resnext(draw: Draw) -> tuple[Any, ...]:
    def norm(channels: int) -> tuple[Any, ...]:
        return (
            draw.normal(channels),
            draw.uniform(channels, low=0.5, high=2),
            draw.normal(channels),
            draw.normal(channels),
        )

    kernels = draw.normal(64, 128, 1, 1, scale=0.1), draw.normal(64, 8, 3, 3, scale=0.1), draw.normal(128, 64, 1, 1)
    return draw.normal(2, 128, 28, 28), kernels, (norm(64), norm(64), norm(128))


@program(NETWORKS, make_resnext, tolerance=1e-3)
def resnext_block(x: Any, kernels: Any, norms: Any) -> Any:
    y = jax.nn.relu(batch_norm(convolve(x, kernels[0]), norms[0]))
    y = jax.nn.relu(batch_norm(convolve(y, kernels[1], groups=8), norms[1]))
    return jax.nn.relu(x + batch_norm(convolve(y, kernels[2]), norms[2]))


@program(NETWORKS, make_resnext, tolerance=1e-3)
def resnext_branches(x: Any, kernels: Any, norms: Any) -> Any:
    """The same block as its paper draws it: a convolution for each group, and the results side by side."""
    y = jax.nn.relu(batch_norm(convolve(x, kernels[0]), norms[0]))
    parts = [convolve(y[:, i : i + 8], kernels[1][i : i + 8]) for i in range(0, 64, 8)]
    y = jax.nn.relu(batch_norm(jnp.concatenate(parts, 1), norms[1]))
    return jax.nn.relu(x + batch_norm(convolve(y, kernels[2]), norms[2]))


def make_experts(draw: Draw) -> tuple[Any, ...]:
    return (
        draw.normal(256, 128),
        [(draw.weight(128, 256), draw.weight(256, 128)) for _ in range(8)],
        draw.weight(128, 8),
    )


@program(NETWORKS, make_experts, tolerance=1e-3)
def dense_mixture_of_experts(x: Any, experts: Any, router: Any) -> Any:
    """Every expert sees every row, one after the other in a Python loop."""
    share = jax.nn.softmax(x @ router, -1)
    return sum(share[:, i : i + 1] * (jax.nn.relu(x @ up) @ down) for i, (up, down) in enumerate(experts))


@program(NETWORKS, lambda draw: (draw.normal(1, 1, 16, 64), draw.normal(1, 2048, 4, 64), draw.normal(1, 2048, 4, 64)))
def grouped_query_attention(query: Any, key: Any, value: Any) -> Any:
    """One new token attends to what came before; four heads each share keys and values."""
    shared = query.shape[2] // key.shape[2]
    key, value = (jnp.repeat(each, shared, axis=2) for each in (key, value))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(query.shape[-1])
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), value)
