"""What generic code says more than once: shifts to and fro, blocks of zeros, masks of masks.

The programs are in `ordinary.PROGRAMS`, with the others.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from benchmarks.ordinary import floats, ordinary, whole
from jax import lax


@ordinary(whole(50, dtype=jnp.uint32), whole(50))
def shifts_of_words(u: Any, i: Any) -> Any:
    n = jnp.clip(i, 0, 99)
    return [u >> 0, (u >> 1) >> 2, (u >> 3) << 3, n >> 2, (u << 2) * 3, lax.div(n * 6, 3),
            lax.rem(n, 128), n // 7, (i + 5) - 3, lax.div(i, 8) * 8 + lax.rem(i, 8), 7 - (3 - i),
            9 - (i + 2), -(i - n), 0 - i, jnp.maximum(jnp.maximum(i, 3), 5),
            jnp.maximum(jnp.clip(i, 0, 9), 4), jnp.minimum(jnp.clip(i, 0, 9), 4),
            (n & 15).astype(jnp.int8).astype(jnp.int32), i - (i + n), (2 * i + 3) - 7, i - 3 + 5,
            4 - (i - 3)]  # fmt: skip


@ordinary(floats(60, 60), floats(60, 40), floats(60), whole())
def parts_of_products(a: Any, b: Any, v: Any, i: Any) -> Any:
    zeros = jnp.zeros((60, 60))
    blocks = jnp.block([[a, zeros], [zeros, a]])
    return [lax.dynamic_slice(a @ b, (i, 0), (2, 40)), a[:, ::-1] @ b[::-1],
            blocks @ jnp.concatenate([b, b]), (a * v[None]) @ b[:, :2], (a * v[:, None]) * v[:, None],
            (a * v) * v[:, None], 2 * (a @ b) + b, (3 * a) @ b + b, jnp.linalg.inv(a) @ b, (-a) @ (-b),
            b.T @ a.T + (a @ b).T, (a @ b).T - b.T @ a.T, jnp.block([[a, zeros], [zeros, a]]) @ blocks,
            jnp.concatenate([a, a], 1) @ blocks]  # fmt: skip


@ordinary(
    jax.ShapeDtypeStruct((30,), jnp.bfloat16), jax.ShapeDtypeStruct((30,), jnp.bfloat16), floats(30), gradient=False
)
def widened_numbers(x: Any, y: Any, z: Any) -> Any:
    wide, other = x.astype(jnp.float32), y.astype(jnp.float32)
    return [wide < other, jnp.maximum(wide, other), wide @ other, jnp.floor(jnp.abs(z)).astype(jnp.int32),
            jnp.trunc(jnp.floor(z)), wide == other, (z > 0).astype(jnp.int8).astype(jnp.float32),
            jnp.floor(jnp.clip(z, 0, 9)).astype(jnp.uint8)]  # fmt: skip


@ordinary(floats(40, 16), floats(1, 16), whole(), whole())
def tables_in_place(x: Any, row: Any, i: Any, j: Any) -> Any:
    first = lax.dynamic_slice(x[4:], (i, 0), (8, 16))
    updated = lax.dynamic_update_slice(x, row, (i, j))
    bumped = lax.dynamic_update_slice(x, lax.dynamic_slice(updated, (i, 0), (1, 16)) + 1, (i, 0))
    again = lax.dynamic_update_slice(updated, lax.dynamic_slice(updated, (i, 0), (1, 16)) * 2, (i, 0))
    return [lax.dynamic_slice(first, (j, 0), (2, 16)), updated, bumped, again,
            x.at[99].set(0.0, mode="drop"), lax.dynamic_slice(x[:, ::-1], (i, 0), (3, 16)),
            lax.dynamic_update_slice(x, x[:0], (i, j)), x[jnp.clip(jnp.arange(12) + i, 0, 39)],
            lax.dynamic_slice(x[jnp.array([5, 3, 1, 7])], (i, 0), (2, 16)),
            jnp.concatenate([x[0::4], x[1::4]]), x[::2][::2]]  # fmt: skip


@ordinary(floats(200, 30))
def masked_sums(x: Any) -> Any:
    rows, columns = lax.broadcasted_iota(jnp.int32, (200, 30), 0), lax.broadcasted_iota(jnp.int32, (200, 30), 1)
    return [jnp.sum(jnp.where(rows < 20, x, 0)), jnp.sum(jnp.where(rows == 5, x, 0), 0),
            jnp.sum(jnp.concatenate([x, x[:5]]), 0), rows.T,
            jnp.where((rows == columns) | (rows == columns + 1), x, 0), jnp.where(rows > 300, x, 1),
            jnp.max(jnp.concatenate([x, x]), 0), jnp.where(rows == 7, x, 0).sum(0),
            jnp.sum(jnp.where((rows >= 4) & (rows < 9), x, 0), 0), jnp.pad(jnp.zeros((3, 3)), 1) @ x[:5],
            (rows < 20) & (rows >= 0), (rows < 20) & (rows >= 30),
            (rows > columns + 1) | (rows > columns),
            jnp.where(rows != columns, jnp.where(rows != columns, 0, x), x)]  # fmt: skip


@ordinary(floats(60, 8))
def scans(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        total, peak, count = carry
        return (total + row * 2, jnp.maximum(peak, row), count + 1), None

    last, _ = lax.scan(step, (x[0] * 0, x[0], 0), x)
    return [last, lax.associative_scan(jnp.add, x)[-1], lax.cumsum(x, 0)[-1], lax.cummax(x, 0)[-1],
            lax.fori_loop(3, 3, lambda _, y: y * 2, x),
            lax.fori_loop(0, 60, lambda i, s: s + jnp.sin(x[i]).sum(), 0.0)]  # fmt: skip


@ordinary(floats(50))
def orders(x: Any) -> Any:
    ordered = lax.sort(x)
    return [lax.sort(ordered), ordered[::-1], ordered[-1], ordered[:1], lax.rev(lax.sort(x), (0,)),
            lax.top_k(x, 3)[0], jnp.argmax(x), lax.sort((x, jnp.arange(50)), num_keys=1)[0], jnp.max(x),
            jnp.nanmax(x), jnp.ptp(x)]  # fmt: skip


@ordinary(whole(50, dtype=jnp.uint32), whole(50), whole(50), whole(50, dtype=jnp.int8), whole(50, dtype=jnp.int8))
def arithmetic_of_indices(u: Any, i: Any, j: Any, s: Any, t: Any) -> Any:
    n = jnp.clip(i, 0, 7)
    words = lax.bitcast_convert_type(u, jnp.int32)
    first = lax.reduce((i, j), (0, 0), lambda a, b: (a[0] + b[0], a[1] | b[1]), (0,))[0]
    return [first, lax.dynamic_slice(words, (i[0],), (3,)),
            lax.bitcast_convert_type(jnp.broadcast_to(u[:1], (50,)), jnp.int32), n >> 3,
            lax.div(n * 6, 6), (u >> 3) * 8, (i + j) - i, i.astype(jnp.int16).astype(jnp.int8),
            s.astype(jnp.int32) < t.astype(jnp.int32), jnp.sort(jnp.sort(i)), jnp.sort(i)[::-1],
            jnp.sort(j)[-1], jnp.sort(i)[:1], jnp.sum(jnp.sort(j)), jnp.median(jnp.sort(i))]  # fmt: skip


@ordinary(floats(50, 30), floats(50), whole(50), whole(), gradient=False)
def rows_and_masks(x: Any, y: Any, i: Any, k: Any) -> Any:
    rows, columns = lax.broadcasted_iota(jnp.int32, (300, 200), 0), lax.broadcasted_iota(jnp.int32, (300, 200), 1)
    return [jnp.sum(jnp.where(y[:, None] > 0, x, 0), 1), jnp.sum(jax.nn.one_hot(i, 30) * x, -1),
            jnp.arange(100_000) < 200_000, jnp.tri(300, 200, k=500), (rows > columns) | (rows >= columns),
            (rows < 20) & (rows >= 30), jnp.concatenate([jnp.zeros(400), jnp.zeros(400)]),
            lax.dynamic_slice(x[:30], (jnp.clip(k, 0, 20), 0), (8, 16)),
            lax.dynamic_slice(lax.dynamic_slice(x, (k, 0), (1, 30)), (0, k), (1, 4)),
            x.at[2:5].set(x[2:5].at[1].set(7)),
            lax.while_loop(lambda c: c[0] < 0, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1],
            lax.fori_loop(0, 4, lambda _, v: v @ (x.T @ x), x)]  # fmt: skip


@ordinary(floats(60, 60), gradient=False)
def windows_and_products(x: Any) -> Any:
    blocks = lax.reduce_window(x, 0.0, lax.add, (4, 4), (4, 4), "VALID")
    running = lax.reduce_window(x, 0.0, lax.add, (60, 1), (1, 1), ((59, 0), (0, 0)))
    y, z = x.astype(jnp.bfloat16), x[:20].astype(jnp.bfloat16)
    return [jnp.sum(blocks), running[-1],
            lax.reduce_window(x, -jnp.inf, lax.max, (3, 3), (1, 1), "VALID")[2:6],
            lax.reduce_window(jnp.ones((9, 9)), 0.0, lax.add, (3, 3), (1, 1), "VALID"),
            x @ x[::-1].T + x[::-1] @ x.T, x @ x[::-1].T - x[::-1] @ x.T,
            jnp.linalg.solve(x, jnp.eye(60)) @ x[:, :2],
            jnp.dot(z.astype(jnp.float32), y.astype(jnp.float32)), jnp.max(x.reshape(2, 1800), 1)]  # fmt: skip


@ordinary(floats(512, 512), whole(), whole(), whole(), whole(), gradient=False, batch=False)
def crops_of_crops(image: Any, i: Any, j: Any, k: Any, m: Any) -> Any:
    """A random crop, its centre, and a random crop of it."""
    crop = lax.dynamic_slice(image, (i, j), (256, 256))
    other = lax.dynamic_slice(image, (j, i), (256, 256))
    return crop[96:160, 96:160], lax.dynamic_slice(other, (k, m), (32, 32))


@ordinary(floats(16, 16, 3), gradient=False, batch=False)
def brightness(image: Any) -> Any:
    """The largest and the smallest of three colours, as in conversions to hue and saturation."""
    red, green, blue = image[..., 0], image[..., 1], image[..., 2]
    largest = jnp.maximum(jnp.maximum(red, green), blue)
    return largest, largest - jnp.minimum(jnp.minimum(red, green), blue)


@ordinary(floats(64, 100), gradient=False, batch=False)
def rounds_with_a_fixed_edge(rows: Any) -> Any:
    """Each round writes the same edge before it looks at a row of the inside."""

    def step(i: Any, state: Any) -> Any:
        rows, total = state
        rows = rows.at[0].set(0.0)
        return rows, jnp.tanh(total + rows[i + 1])

    return lax.fori_loop(0, 40, step, (rows, jnp.zeros(100)))
