"""Stencils: one launch, several in one program, many in a loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from benchmarks.derivatives.case import Case, case, uniform

import windlass as wl

MODULE = wl.cuda.compile(r"""
__global__ void heat(const float *now, float *next, float c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i > n - 2 || j > n - 2) return;
    const float *at = now + j * n + i;
    next[j * n + i] = *at + c * (at[-1] + at[1] + at[-n] + at[n] - 4 * *at);
}
__global__ void nonlinear(const float *now, float *next, float c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i > n - 2 || j > n - 2) return;
    const float *at = now + j * n + i;
    next[j * n + i] = *at + c * *at * (at[-1] + at[1] + at[-n] + at[n] - 4 * *at);
}
__global__ void hotspot(const float *power, const float *now, float *next, int n, float cap, float rx, float ry,
                        float rz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    int west = max(i - 1, 0), east = min(i + 1, n - 1), north = max(j - 1, 0), south = min(j + 1, n - 1);
    float t = now[j * n + i];
    next[j * n + i] = t + cap * (power[j * n + i] + (now[south * n + i] + now[north * n + i] - 2.0f * t) * ry
                                 + (now[j * n + east] + now[j * n + west] - 2.0f * t) * rx + (80.0f - t) * rz);
}
__constant__ float weights[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
__constant__ int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__global__ void boltzmann(const float *f, float *g, float omega, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float in[9], rho = 0, ux = 0, uy = 0;
    for (int k = 0; k < 9; k++) {
        in[k] = f[(k * n + (j - cy[k] + n) % n) * n + (i - cx[k] + n) % n];
        rho += in[k]; ux += cx[k] * in[k]; uy += cy[k] * in[k];
    }
    ux /= rho; uy /= rho;
    float square = 1.5f * (ux * ux + uy * uy);
    for (int k = 0; k < 9; k++) {
        float along = 3.0f * (cx[k] * ux + cy[k] * uy);
        float equilibrium = weights[k] * rho * (1.0f + along + 0.5f * along * along - square);
        g[(k * n + j) * n + i] = in[k] + omega * (equilibrium - in[k]);
    }
}
""")


def _shape(size: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return (size // 16, size // 16), (16, 16)


def _around(u: Any) -> Any:
    return u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1] - 4 * u[1:-1, 1:-1]


@case
def heat() -> Case:
    size = 1024
    launch = MODULE["heat"].jax(*_shape(size))

    def updated(u: Any, c: Any) -> Any:
        return (u.at[1:-1, 1:-1].add(c * _around(u)) ** 2).sum()

    def padded(u: Any, c: Any) -> Any:
        return ((u + c * jnp.pad(_around(u), 1)) ** 2).sum()

    return Case(
        lambda u, c: (launch(u, u, c, size) ** 2).sum(),
        {"updated": updated, "padded": padded},
        (uniform((size, size)), 0.1),
        (0, 1),
        most_primals=3,
    )


@case
def nonlinear_stencil() -> Case:
    size = 1024
    launch = MODULE["nonlinear"].jax(*_shape(size))

    def updated(u: Any, c: Any) -> Any:
        return (u.at[1:-1, 1:-1].add(c * u[1:-1, 1:-1] * _around(u)) ** 2).sum()

    def padded(u: Any, c: Any) -> Any:
        return ((u + c * u * jnp.pad(_around(u), 1)) ** 2).sum()

    return Case(
        lambda u, c: (launch(u, u, c, size) ** 2).sum(),
        {"updated": updated, "padded": padded},
        (uniform((size, size)), 0.1),
        (0, 1),
        most_primals=3,
    )


@case
def hotspot_8_launches() -> Case:
    size, steps = 512, 8
    launch = MODULE["hotspot"].jax(*_shape(size))

    def ours(u: Any, power: Any, cap: Any, rx: Any, ry: Any, rz: Any) -> Any:
        for _ in range(steps):
            u = launch(power, u, jnp.zeros_like(u), size, cap, rx, ry, rz)
        return (u**2).sum()

    def padded(u: Any, power: Any, cap: Any, rx: Any, ry: Any, rz: Any) -> Any:
        for _ in range(steps):
            p = jnp.pad(u, 1, mode="edge")
            by_y = p[2:, 1:-1] + p[:-2, 1:-1] - 2 * u
            by_x = p[1:-1, 2:] + p[1:-1, :-2] - 2 * u
            u = u + cap * (power + by_y * ry + by_x * rx + (80 - u) * rz)
        return (u**2).sum()

    def joined(u: Any, power: Any, cap: Any, rx: Any, ry: Any, rz: Any) -> Any:
        for _ in range(steps):
            by_y = jnp.concatenate([u[1:], u[-1:]]) + jnp.concatenate([u[:1], u[:-1]]) - 2 * u
            by_x = jnp.concatenate([u[:, 1:], u[:, -1:]], 1) + jnp.concatenate([u[:, :1], u[:, :-1]], 1) - 2 * u
            u = u + cap * (power + by_y * ry + by_x * rx + (80 - u) * rz)
        return (u**2).sum()

    field = uniform((size, size))
    arguments = (field, field[::-1].copy(), 0.5, 0.1, 0.1, 0.01)
    return Case(ours, {"padded": padded, "joined": joined}, arguments, (0, 1, 2, 3, 4, 5), most_primals=3)


@case
def lattice_boltzmann() -> Case:
    size = 256
    launch = MODULE["boltzmann"].jax(*_shape(size))
    weights = [4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36]
    moves = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]

    def rolled(f: Any, omega: Any) -> Any:
        f = jnp.stack([jnp.roll(each, (y, x), (0, 1)) for each, (x, y) in zip(f, moves, strict=True)])
        rho = f.sum(0)
        ux = sum(x * each for each, (x, _) in zip(f, moves, strict=True)) / rho
        uy = sum(y * each for each, (_, y) in zip(f, moves, strict=True)) / rho
        square = 1.5 * (ux * ux + uy * uy)
        along = [3 * (x * ux + y * uy) for x, y in moves]
        equilibrium = jnp.stack(
            [w * rho * (1 + each + 0.5 * each * each - square) for w, each in zip(weights, along, strict=True)]
        )
        return ((f + omega * (equilibrium - f)) ** 2).sum()

    return Case(
        lambda f, omega: (launch(f, jnp.zeros_like(f), omega, size) ** 2).sum(),
        {"rolled": rolled},
        (uniform((9, size, size), 0.5, 1.0), 0.7),
        (0, 1),
        most_primals=3,
    )


@case
def heat_of_200_launches() -> Case:
    """Their number is an argument of ours, and compiled in for JAX."""
    size, count = 256, 200
    launch = MODULE["nonlinear"][_shape(size)]

    @wl.jit
    def ours(u: Any, scratch: Any, c: Any, steps: Any) -> Any:
        for _ in range(steps):
            launch(u, scratch, c, size)
            u[:] = scratch
        return (u * u).sum()

    def scanned(u: Any, scratch: Any, c: Any, steps: Any) -> Any:
        del steps, scratch

        def step(u: Any, _: Any) -> Any:
            return u.at[1:-1, 1:-1].add(c * u[1:-1, 1:-1] * _around(u)), None

        return (jax.lax.scan(step, u, None, length=count)[0] ** 2).sum()

    arguments = (uniform((size, size)), uniform((size, size)), 0.1, count)
    return Case(ours, {"scan": scanned}, arguments, (0, 2), most_primals=3)
