"""The problems of ADBench, from their published equations: the same function by `wl.optimize` and by `jax.jit`.

F. Šrajer, Z. Kukelova, A. Fitzgibbon, *A Benchmark of Selected Algorithmic Differentiation Tools on Some Problems in
Machine Learning and Computer Vision*, 2018: a Gaussian mixture, bundle adjustment, a diagonal LSTM, hand tracking. The
sizes are small, the data random, and of residuals the sum of squares is differentiated.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.derivatives.case import Case, Function, case, draw, uniform

import windlass as wl


def _same(function: Function, arguments: tuple[Any, ...], by: tuple[int, ...]) -> Case:
    return Case(wl.optimize(function), {"jax.numpy": function}, arguments, by)


@case
def gaussian_mixture() -> Case:
    samples, dimension, parts = 1000, 16, 20
    below = np.tril_indices(dimension, -1)

    def loss(alphas: Any, means: Any, diagonals: Any, lower: Any, x: Any) -> Any:
        scale = jnp.zeros((parts, dimension, dimension), jnp.float32)
        scale = scale.at[:, below[0], below[1]].set(lower)
        scale = scale + jnp.eye(dimension) * jnp.exp(diagonals)[:, None]
        spread = jnp.einsum("kij,nkj->nki", scale, x[:, None] - means)
        inner = alphas + diagonals.sum(1) - 0.5 * (spread**2).sum(2)
        fit = jax.scipy.special.logsumexp(inner, 1).sum() - samples * jax.scipy.special.logsumexp(alphas)
        prior = 0.5 * ((jnp.exp(diagonals) ** 2).sum() + (lower**2).sum()) - diagonals.sum()
        return fit + prior

    arguments = (
        uniform(parts),
        uniform((parts, dimension)),
        uniform((parts, dimension), -1, 0),
        uniform((parts, dimension * (dimension - 1) // 2), -0.3, 0.3),
        uniform((samples, dimension)),
    )
    return _same(loss, arguments, (0, 1, 2, 3))


@case
def bundle_adjustment() -> Case:
    cameras, points, count = 64, 4096, 1 << 15

    def rotated(turn: Any, x: Any) -> Any:
        square = (turn * turn).sum(1, keepdims=True) + 1e-12
        angle = jnp.sqrt(square)
        axis, cosine = turn / angle, jnp.cos(angle)
        along = (axis * x).sum(1, keepdims=True) * (1 - cosine)
        return x * cosine + jnp.cross(axis, x) * jnp.sin(angle) + axis * along

    def loss(camera: Any, x: Any, w: Any, seen: Any, which: Any, where: Any) -> Any:
        c = camera[which]
        local = rotated(c[:, :3], x[where] - c[:, 3:6])
        flat = local[:, :2] / local[:, 2:]
        square = (flat * flat).sum(1, keepdims=True)
        flat = flat * (1 + c[:, 9:10] * square + c[:, 10:11] * square * square)
        error = w[:, None] * (c[:, 6:7] * flat + c[:, 7:9] - seen)
        return (error**2).sum() + ((1 - w**2) ** 2).sum()

    numbers = draw()
    arguments = (
        uniform((cameras, 11), -0.1, 0.1),
        uniform((points, 3), 1, 2),
        uniform(count),
        uniform((count, 2)),
        numbers.integers(0, cameras, count).astype(np.int32),
        numbers.integers(0, points, count).astype(np.int32),
    )
    return _same(loss, arguments, (0, 1, 2))


@case
def long_short_term_memory() -> Case:
    layers, size, length = 2, 14, 1024

    def loss(weights: Any, biases: Any, extra: Any, sequence: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            hidden, cell = state
            x = x * extra[0]
            kept: list[Any] = []
            for w, b, h, c in zip(weights, biases, hidden, cell, strict=True):
                forget, take = jax.nn.sigmoid(x * w[0] + b[0]), jax.nn.sigmoid(h * w[1] + b[1])
                give, change = jax.nn.sigmoid(x * w[2] + b[2]), jnp.tanh(h * w[3] + b[3])
                c = c * forget + take * change
                x = give * jnp.tanh(c)
                kept.append((x, c))
            said = x * extra[1] + extra[2]
            hidden, cell = (jnp.stack(each) for each in zip(*kept, strict=True))
            return (hidden, cell), said - jnp.log(jnp.exp(said).sum() + 2)

        start = jnp.zeros((layers, size), jnp.float32)
        _, said = jax.lax.scan(step, (start, start), sequence[:-1])
        return -(said * sequence[1:]).sum() / ((length - 1) * size)

    shape = (layers, 4, size)
    arguments = (uniform(shape, -1), uniform(shape, -1), uniform((3, size), -1), uniform((length, size)))
    return _same(loss, arguments, (0, 1, 2))


@case
def hand_tracking() -> Case:
    fingers, joints, vertices, points = 5, 4, 544, 4096
    bones = 1 + fingers * joints

    def turned(angles: Any) -> Any:
        (a, b, c), (x, y, z) = jnp.cos(angles.T), jnp.sin(angles.T)
        one, none = jnp.ones_like(a), jnp.zeros_like(a)

        def matrix(*rows: Any) -> Any:
            return jnp.stack([jnp.stack(row, -1) for row in rows], -2)

        by_x = matrix((one, none, none), (none, a, -x), (none, x, a))
        by_y = matrix((b, none, y), (none, one, none), (-y, none, b))
        by_z = matrix((c, -z, none), (z, c, none), (none, none, one))
        return by_z @ by_y @ by_x

    def loss(pose: Any, offset: Any, lengths: Any, skin: Any, mesh: Any, seen: Any, which: Any) -> Any:
        turns = turned(pose)
        palm = turns[0], offset
        frames = [palm]
        for finger in range(fingers):
            turn, place = palm
            for joint in range(joints):
                bone = 1 + finger * joints + joint
                place = place + turn @ lengths[bone]
                turn = turn @ turns[bone]
                frames.append((turn, place))
        turn = jnp.stack([each for each, _ in frames])
        place = jnp.stack([each for _, each in frames])
        moved = jnp.einsum("bij,bvj->bvi", turn, mesh) + place[:, None]
        skinned = (skin[..., None] * moved).sum(0)
        return ((seen - skinned[which]) ** 2).sum()

    arguments = (
        uniform((bones, 3), -1, 1),
        uniform(3),
        uniform((bones, 3)),
        uniform((bones, vertices)),
        uniform((bones, vertices, 3)),
        uniform((points, 3)),
        draw().integers(0, vertices, points).astype(np.int32),
    )
    return _same(loss, arguments, (0, 1))
