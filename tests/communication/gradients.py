"""Gradients of programs on eight devices: what they gave beside one device's, and what they communicated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import windlass as wl
from tests.communication.programs import MESHES, heat

Field = tuple[tuple[int, ...], tuple[str | None, ...]]


@dataclass(frozen=True)
class Gradient:
    """A function whose gradient is taken; `ideal` is what it itself must communicate, in bytes.

    `fields` are the shapes of what it takes, and the axes of the mesh that divide these. With `corners`, one exchange
    of twice the width may take the place of two: these bytes more.
    """

    function: Callable[..., Any]
    mesh: str
    fields: tuple[Field, ...]
    ideal: float
    corners: float = 0
    is_of_numpy: bool = True
    """Whether the function may be one of NumPy, and not of JAX alone: that is one of `wl.optimize` then."""

    @property
    def name(self) -> str:
        return self.function.__name__


GRADIENTS: list[Gradient] = []
PLANE: Field = ((48, 32), ("x", "y"))
FACES = 4 * (2 * 16 + 2 * 12)
CORNERS = 4 * 4


def gradient(mesh: str, *fields: Field, ideal: float, **more: Any) -> Any:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        GRADIENTS.append(Gradient(function, mesh, fields, ideal, **more))
        return function

    return enter


@gradient("4x2", PLANE, ideal=FACES)
def periodic_heat(u: Any) -> Any:
    around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
    return ((u + 0.1 * u * (around - 4 * u)) ** 2).sum()


@gradient("4x2", PLANE, ideal=FACES + CORNERS, corners=2 * CORNERS)
def nine_points_with_corners(u: Any) -> Any:
    moved = [jnp.roll(u, (i, j), (0, 1)) * (i + 2 * j + 4) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    return (functools.reduce(jnp.add, moved) ** 2).sum()


@gradient("4x2", PLANE, ideal=FACES, corners=2 * CORNERS, is_of_numpy=False)
def interior_update(u: Any) -> Any:
    return (heat(u) ** 3).sum()


@gradient("4x2", PLANE, ideal=FACES, corners=2 * CORNERS)
def mirrored_ghost_fill(u: Any) -> Any:
    p = jnp.pad(u, 1, mode="reflect")
    return ((u + 0.1 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)) ** 2).sum()


@gradient("8", ((64, 16), ("x", None)), ideal=2 * 4 * 16 * 7 / 8)
def column_integral(u: Any) -> Any:
    return ((u - u.mean(0)) ** 3).sum()


@gradient("4x2", PLANE, ideal=10 * FACES, is_of_numpy=False)
def jacobi_in_a_loop(u: Any) -> Any:
    return (jax.lax.fori_loop(0, 10, lambda _, v: u + 0.2 * heat(v), u) ** 2).sum()


@gradient("4x2", PLANE, ideal=FACES + CORNERS, corners=2 * CORNERS)
def convolution_layer(u: Any) -> Any:
    kernel = jnp.arange(9.0, dtype=u.dtype).reshape(1, 1, 3, 3) / 36
    return (jnp.tanh(jax.lax.conv_general_dilated(u[None, None], kernel, (1, 1), "SAME")) ** 2).sum()


def run(each: Gradient) -> dict[str, Any]:
    sizes, names = MESHES[each.mesh]
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(sizes), names)
    random = np.random.default_rng(7)
    arrays = [random.random(shape).astype(np.float32) + 0.5 for shape, _ in each.fields]
    shardings = [jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*names)) for _, names in each.fields]
    placed = [jax.device_put(array, sharding) for array, sharding in zip(arrays, shardings, strict=True)]
    places = tuple(range(len(arrays)))
    plain = jax.grad(each.function, places)
    divided = wl.grad(each.function if each.is_of_numpy else wl.optimize(each.function), places)
    report = wl.communication(divided, mesh, *placed)
    found, expected = divided(*placed), jax.jit(plain)(*map(jnp.asarray, arrays))
    return {
        "difference": max(
            float(np.max(np.abs(np.asarray(one) - np.asarray(other))) / np.max(np.abs(other)))
            for one, other in zip(found, expected, strict=True)
        ),
        "is_like_primal": [
            gradient.sharding.is_equivalent_to(sharding, gradient.ndim)
            for gradient, sharding in zip(found, shardings, strict=True)
        ],
        "bytes": report.bytes,
        "plain_bytes": report.plain_bytes,
    }
