"""Writes random functions of jax.numpy, and what JAX makes of them: derivatives, batches, loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.tensor.author import Program
from windlass.ops.sampling import RandomDraw, Unsuitable
from windlass.stablehlo import import_text

Step = Callable[..., Any]
LARGEST = 400

SMOOTH: tuple[Step, ...] = (
    jnp.sin, jnp.cos, jnp.tanh, jnp.square, jnp.negative, jnp.abs, jax.nn.relu, jax.nn.sigmoid, jax.nn.softplus,
    lambda x: jnp.exp(-jnp.square(x)), lambda x: jnp.sqrt(1 + x * x), lambda x: jnp.log1p(x * x), jax.nn.gelu,
    lambda x: 1 / (1 + x * x), lambda x: x / 2 + 1, lambda x: x**3 / 8, lambda x: x * 0.5 - 2.0, jnp.sign,
    lambda x: jnp.where(x > 0, x, 0.1 * x), lambda x: jnp.clip(x, -1, 1), jnp.floor, lambda x: x + 0, lambda x: 1 * x,
    lambda x: jnp.maximum(x, 0.5), jnp.arctan, jax.nn.silu, lambda x: x.astype(jnp.float32), jnp.round,
)  # fmt: skip
"""Elementwise functions that stay finite."""

JOINT: tuple[Step, ...] = (
    jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum, lambda x, y: x / (1 + y * y), jnp.hypot,
    lambda x, y: jnp.where(x > y, x, -y), lambda x, y: x * y + x, lambda x, y: 2 * x - 3 * y, jnp.arctan2,
    lambda x, y: jnp.where(jnp.abs(x) < 1, x * y, y),
)  # fmt: skip


def write_function(seed: int) -> Program:
    """The program that JAX lowers a random function to, transformed in some way, in double precision."""
    with jax.enable_x64(True):
        changed, given = draw_transformed(seed)
        text = jax.jit(changed, keep_unused=True).lower(*given).as_text()
    return Program(import_text(text), tuple(np.asarray(array) for array in given), False)


def draw_transformed(seed: int) -> tuple[Callable[..., Any], list[Any]]:
    """The function of that number, and what to call it with in double precision."""
    draw = RandomDraw(seed)
    shapes = [draw.shape(1, 3, 1) for _ in range(draw.integer(1, 3))]
    generator = np.random.default_rng(seed)
    arrays = [np.round(generator.uniform(-2, 2, shape), 2) for shape in shapes]
    return transformed(draw, draw_function(draw, arrays), arrays)


def draw_function(draw: RandomDraw, arrays: Sequence[Any], least: int = 4, most: int = 11) -> Callable[..., Any]:
    """A function of arrays of these shapes, which gives the last of its values."""
    shapes = [jax.ShapeDtypeStruct(np.shape(array), jnp.result_type(array)) for array in arrays]
    steps: list[tuple[Step, tuple[int, ...]]] = []
    goal = draw.integer(least, most)
    for _ in range(12 * goal):
        if len(steps) == goal:
            break
        try:
            step, places = draw_step(draw, shapes)
            made = jax.eval_shape(step, *(shapes[place] for place in places))
        except (TypeError, ValueError, IndexError, Unsuitable):
            continue
        if made.size > LARGEST or made.size == 0:
            continue
        steps.append((step, places))
        shapes.append(made)

    def function(*values: Any) -> Any:
        known = list(values)
        for step, places in steps:
            known.append(step(*(known[place] for place in places)))
        return known[-1] if len(known) < len(values) + 3 else known[-1].sum() + known[-2]

    return function


def draw_step(draw: RandomDraw, shapes: Sequence[Any]) -> tuple[Step, tuple[int, ...]]:
    """A function of some of the values."""

    def choose() -> int:
        return draw.integer(max(0, len(shapes) - 5), len(shapes) - 1)

    first, second = choose(), choose()
    shape = shapes[first].shape
    rank = len(shape)
    axis = draw.integer(0, max(rank - 1, 0))
    match draw.integer(0, 15):
        case 0 | 1 | 2:
            return draw.choose(SMOOTH), (first,)
        case 3 | 4:
            return draw.choose(JOINT), (first, second)
        case 5 | 6:
            return draw_product(draw), (first, second)
        case 7 | 8:
            return draw_reduction(draw, axis), (first,)
        case 9 | 10 | 11:
            return draw_movement(draw, shape, axis), (first,)
        case 12:
            return draw_pick(draw, shape, axis), (first,)
        case 13:
            return draw_update(draw, shape, axis), (first, second)
        case 14:
            return draw_loop(draw, shape), (first,)
        case _:
            return draw_batch(draw), (first, second)


def draw_product(draw: RandomDraw) -> Step:
    spec = draw.choose(
        ("ij,jk->ik", "ij,j->i", "i,ij->j", "ij,ij->i", "i,j->ij", "ij,kj->ik", "bij,bjk->bik", "ij,ij->")
    )
    products: tuple[Step, ...] = (
        jnp.dot,
        jnp.matmul,
        lambda x, y: jnp.einsum(spec, x, y),
        lambda x, y: jnp.matmul(x, jnp.transpose(y)),
        lambda x, y: jnp.diag(y) @ x,
        lambda x, y: x @ jnp.eye(x.shape[-1]) + y,
        lambda x, y: jnp.trace(x @ y),
        lambda x, y: (x @ y)[0],
        jnp.outer,
        lambda x, y: jnp.convolve(x.ravel(), y.ravel()[:5], mode="same"),
        lambda x, y: jnp.tril(x) @ y,
    )
    return draw.choose(products)


def draw_reduction(draw: RandomDraw, axis: int) -> Step:
    keeps = draw.boolean()
    reduction = draw.choose((jnp.sum, jnp.mean, jnp.max, jnp.min, jnp.prod, jnp.var, jax.nn.logsumexp))
    return draw.choose(
        (
            lambda x: reduction(x, axis=axis, keepdims=keeps),
            reduction,
            lambda x: x - reduction(x, axis=axis, keepdims=True),
            lambda x: jax.nn.softmax(x, axis=axis),
            lambda x: jnp.cumsum(x, axis=axis),
            lambda x: jnp.sort(x, axis=axis),
            lambda x: x / (1 + jnp.linalg.norm(x)),
            lambda x: jnp.argmax(x, axis=axis) * 0.5,
            lambda x: jnp.diff(x, axis=axis),
            lambda x: lax.cummax(jnp.asarray(x), axis=axis),
            lambda x: jnp.median(x, axis=axis),
            lambda x: jax.nn.one_hot(jnp.argmax(x, axis=axis), 3),
        )
    )


def draw_movement(draw: RandomDraw, shape: tuple[int, ...], axis: int) -> Step:
    rank = len(shape)
    permutation = draw.permutation(rank)
    shift, count = draw.integer(-2, 3), draw.integer(1, 3)
    mode = draw.choose(("constant", "edge", "wrap", "reflect"))
    return draw.choose(
        (
            lambda x: jnp.transpose(x, permutation),
            lambda x: x.reshape(-1),
            lambda x: x.reshape(shape[0], -1),
            lambda x: jnp.expand_dims(x, axis),
            lambda x: jnp.flip(x, axis),
            lambda x: jnp.roll(x, shift, axis),
            lambda x: jnp.pad(x, count, mode=mode),
            lambda x: jnp.concatenate([x, x[:count]], 0),
            lambda x: jnp.stack([x, 2 * x], axis),
            lambda x: jnp.tile(x, count),
            lambda x: jnp.repeat(x, count, axis),
            lambda x: jnp.broadcast_to(x, (count, *x.shape)),
            lambda x: x[::2],
            lambda x: x[..., 1:] + x[..., :-1],
            lambda x: x[1:-1] * 2 - x[:-2] - x[2:],
            lambda x: x[..., ::-1],
            jnp.tril,
            lambda x: jnp.triu(x, 1) + x,
            jnp.diag,
            lambda x: x.T,
            lambda x: jnp.concatenate(jnp.split(x, 2, 0)[::-1]),
        )
    )


def draw_pick(draw: RandomDraw, shape: tuple[int, ...], axis: int) -> Step:
    at = draw.integer(-1, 3)
    several = np.array([draw.integer(0, 3) for _ in range(draw.integer(1, 4))])
    return draw.choose(
        (
            lambda x: x[at],
            lambda x: x[..., at],
            lambda x: x[several],
            lambda x: jnp.take(x, several, axis=axis, mode="clip"),
            lambda x: lax.dynamic_slice_in_dim(jnp.asarray(x), jnp.argmax(x) % 3, 1, axis),
            lambda x: x[jnp.arange(x.shape[0])[::-1]],
            lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis=axis), axis=axis),
            lambda x: x[jnp.argmax(x.ravel()) % x.shape[0]],
            jnp.diagonal,
        )
    )


def draw_update(draw: RandomDraw, shape: tuple[int, ...], axis: int) -> Step:
    at = draw.integer(-1, 2)
    several = np.array([draw.integer(0, 2) for _ in range(draw.integer(1, 3))])
    return draw.choose(
        (
            lambda x, y: x.at[at].set(y.ravel()[0]),
            lambda x, y: x.at[at].add(y.mean()),
            lambda x, y: x.at[several].add(y.ravel()[0]),
            lambda x, y: x.at[1:-1].set(x[1:-1] * 2),
            lambda x, y: x.at[..., 1:].multiply(y.ravel()[:1]),
            lambda x, y: lax.dynamic_update_slice_in_dim(x, 2 * x[:1], jnp.argmax(y) % 3, 0),
            lambda x, y: jnp.zeros_like(x).at[::2].set(x[::2]),
            lambda x, y: x.at[several].max(y.min()),
            lambda x, y: jax.ops.segment_sum(x, np.arange(x.shape[0]) % 2, 2),
        )
    )


def draw_loop(draw: RandomDraw, shape: tuple[int, ...]) -> Step:
    """Loops and branches whose bodies are random functions that keep the type."""
    example = np.zeros(shape)
    inside = draw_function(draw, [example], 1, 3)

    def body(x: Any) -> Any:
        return (jnp.broadcast_to(jnp.mean(inside(x)), x.shape) + x).astype(x.dtype)

    rounds = draw.integer(0, 5)
    return draw.choose(
        (
            lambda x: lax.fori_loop(0, rounds, lambda i, y: 0.5 * body(y) + i, x),
            lambda x: lax.fori_loop(0, x.shape[0], lambda i, y: y.at[i].set(y[i] * 2 + jnp.sin(x[i])), x),
            lambda x: lax.scan(lambda carry, row: (carry + row, carry * row), x[0] * 0, x)[1],
            lambda x: lax.scan(lambda carry, row: (0.5 * carry, inside(row[None])), 1.0, x)[1],
            lambda x: lax.cond(x.sum() > 0, body, lambda y: y * 2, x),
            lambda x: lax.switch(jnp.argmax(x) % 3, [body, jnp.sin, lambda y: y], x),
            lambda x: lax.map(lambda row: inside(row[None]).sum(), x),
            lambda x: lax.associative_scan(jnp.add, x),
            lambda x: lax.scan(lambda carry, i: (carry + x[i], carry[..., None] * 2), x[0], np.arange(x.shape[0]))[1],
        )
    )


def draw_batch(draw: RandomDraw) -> Step:
    return draw.choose(
        (
            jax.vmap(jnp.dot),
            jax.vmap(lambda x, y: x @ y),
            jax.vmap(lambda x, y: jnp.sum(x * y)),
            jax.vmap(lambda x, y: x * y, in_axes=(0, None)),
            jax.vmap(jnp.outer),
            lambda x, y: jnp.stack([x[i] * y[i] for i in range(3)]),
            lambda x, y: sum(x[i] @ y for i in range(2)),
            lambda x, y: jnp.concatenate([x[i : i + 1] + jnp.sin(y[i : i + 1]) for i in range(2)]),
        )
    )


def transformed(
    draw: RandomDraw, function: Callable[..., Any], arrays: Sequence[Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """What JAX makes of the function, and what to call it with."""
    weights = np.cos(np.arange(LARGEST))

    def loss(*values: Any) -> Any:
        found = function(*values)
        return jnp.sum(found * weights[: found.size].reshape(found.shape))

    given = list(arrays)
    many = [np.stack([array, array[::-1] * 0.5]) for array in arrays]
    everything = tuple(range(len(given)))
    match draw.integer(0, 7):
        case 0 | 1:
            return function, given
        case 2 | 3:
            return jax.grad(loss, everything), given
        case 4:
            return lambda *values: jax.jvp(function, values, tuple(jnp.cos(value) for value in values)), given
        case 5:
            return jax.vmap(function), many
        case 6:
            return jax.vmap(jax.grad(loss)), many
        case _:
            return lambda *values: jax.jvp(jax.grad(loss), values, tuple(jnp.ones_like(v) for v in values)), given
