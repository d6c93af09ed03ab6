"""Programs that communicate otherwise: transposes, transforms, sums, products, solvers, particles."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from benchmarks.communication.case import Case, Field, divided
from benchmarks.communication.stencils import CUBE, LINE, PLANE, N, five_points_rolled

M = 1024
BOX_OF_WAVES = (CUBE, CUBE, CUBE)
SHARE = 7 / 8
"""Of an array that is divided among eight devices, what a device has not."""


def transposed(u: Any) -> Any:
    return u + u.T


def column_integral(u: Any) -> Any:
    return u - u.mean(0)


def pressure(u: Any) -> Any:
    """Running sums from the top, along the divided axis."""
    return jnp.cumsum(u, 0)


def poisson(f: Any) -> Any:
    k = jnp.fft.fftfreq(f.shape[0])
    symbol = 4 - 2 * jnp.cos(2 * jnp.pi * k)[:, None] - 2 * jnp.cos(2 * jnp.pi * k)[None]
    return jnp.fft.ifft2(jnp.fft.fft2(f) / jnp.where(symbol == 0, 1, symbol)).real


def filtered(f: Any) -> Any:
    """What is slower than a wave number remains, of a real field in three dimensions."""
    k = jnp.fft.fftfreq(f.shape[0])
    square = k[:, None, None] ** 2 + k[:, None] ** 2 + jnp.fft.rfftfreq(f.shape[2]) ** 2
    return jnp.fft.irfftn(jnp.fft.rfftn(f) * jnp.exp(-8 * square), f.shape)


def conjugate_gradients(x: Any, r: Any, p: Any) -> Any:
    q = 4.1 * p - 4 * five_points_rolled(p)
    rr = (r * r).sum()
    alpha = rr / (p * q).sum()
    x, r = x + alpha * p, r - alpha * q
    return x, r, r + (r * r).sum() / rr * p


def statistics(u: Any) -> Any:
    """Four folds of one field, which need not wait for one another."""
    return u.sum(), (u * u).sum(), u.max(), u.min()


def normalized(u: Any) -> Any:
    """Rows to mean 0 and variance 1, the rows divided."""
    return (u - u.mean(1, keepdims=True)) / jnp.sqrt(u.var(1, keepdims=True) + 1e-5)


def softmax(u: Any) -> Any:
    return jax.nn.softmax(u, 1)


def product(a: Any, b: Any) -> Any:
    return a @ b


def sum_of_products(a: Any, b: Any) -> Any:
    """The inner axis is divided."""
    return a @ b


def transformer_layer(x: Any, qkv: Any, out: Any, up: Any, down: Any) -> Any:
    """Heads and hidden units divided among the devices, as by Megatron."""

    def norm(x: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)

    q, k, v = jnp.einsum("sd,cdhe->chse", norm(x), qkv)
    weights = jax.nn.softmax(jnp.einsum("hse,hte->hst", q, k) / 8, -1)
    x = x + jnp.einsum("hst,hte,hed->sd", weights, v, out)
    return x + jax.nn.gelu(norm(x) @ up) @ down


def bodies(x: Any, m: Any) -> Any:
    d = x[None] - x[:, None]
    return x + 1e-4 * jnp.einsum("ijk,ij,j->ik", d, 1 / ((d**2).sum(-1) + 0.1) ** 1.5, m)


SEQUENCE, WIDTH, HEADS = 256, 512, 8

OTHERS: tuple[Case, ...] = (
    Case("transpose", LINE, divided(LINE, M, M), 8 * M * M / 8 * SHARE, 1, transposed),
    Case("column integral", PLANE, divided(PLANE, N, N), 2 * 8 * (N / 2) * 3 / 4, 1, column_integral),
    # By doubling distances; a gather of all totals takes one message.
    Case("running sums, divided axis", LINE, divided(LINE, M, M), 3 * 8 * M, 3, pressure),
    # A real field has half a spectrum: M / 2 + 1 complex numbers of each row go to where columns are whole, and back.
    Case("Poisson by FFT, slabs", LINE, divided(LINE, M, M), 2 * 16 * M / 8 * (M / 2 + 1) * SHARE, 2, poisson),
    # Of M / 8 rows each half is sent to the other half's device, and half of all columns to all.
    Case(
        "Poisson by FFT, blocks", PLANE, divided(PLANE, M, M),
        2 * (8 * M * M / 8 / 2 + 16 * M / 8 * (M / 2 + 1) * SHARE), 4, poisson,
    ),
    Case(
        "Fourier filter in a box, pencils", PLANE, divided(PLANE, *BOX_OF_WAVES),
        2 * 16 * CUBE * CUBE * (CUBE / 2 + 1) / 8 * (1 / 2 + 3 / 4), 4, filtered,
    ),
    Case(
        "conjugate gradients, a step", PLANE, divided(PLANE, N, N, count=3),
        8 * 2 * (N / 4 + N / 2) + 3 * 2 * 8 * SHARE, 6, conjugate_gradients,
    ),
    Case("four folds", PLANE, divided(PLANE, N, N), 4 * 2 * 8 * SHARE, 2, statistics),
    Case("layer norm", LINE, (Field((M, M), (None, "x")),), 2 * 2 * 8 * M * SHARE, 2, normalized),
    Case("softmax", LINE, (Field((M, M), (None, "x")),), 2 * 2 * 8 * M * SHARE, 2, softmax),
    Case(
        "product, rows by rows", LINE, divided(LINE, M, M, count=2), 8 * M * M * SHARE, 1, product,
    ),
    Case(
        "product, inner axis", LINE, (Field((M, M), (None, "x")), Field((M, M), ("x", None))),
        2 * 8 * M * M * SHARE, 1, sum_of_products,
    ),
    Case(
        "transformer layer", LINE,
        (
            Field((SEQUENCE, WIDTH), (None, None), "float32"),
            Field((3, WIDTH, HEADS, WIDTH // HEADS), (None, None, "x", None), "float32"),
            Field((HEADS, WIDTH // HEADS, WIDTH), ("x", None, None), "float32"),
            Field((WIDTH, 4 * WIDTH), (None, "x"), "float32"),
            Field((4 * WIDTH, WIDTH), ("x", None), "float32"),
        ),
        2 * 2 * 4 * SEQUENCE * WIDTH * SHARE, 2, transformer_layer, tolerance=1e-3,
    ),
    Case(
        "n bodies", LINE, (Field((M, 3), ("x", None)), Field((M,), ("x",))), 8 * 4 * M * SHARE, 2, bodies,
    ),
)  # fmt: skip
