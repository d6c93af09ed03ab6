"""More ordinary functions: products, convolutions, windows, integers, complex numbers, loops and conditions.

Their programs are in `ordinary.PROGRAMS`, with the others.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.ordinary import flags, floats, ordinary, whole
from jax import lax

HALF = jnp.bfloat16


@ordinary(floats(4, 100, 3), floats(3, 3), floats(8, 14, 14), floats(14, 14, 10), gradient=False, batch=False)
def products_of_layers(points: Any, rotation: Any, images: Any, classes: Any) -> Any:
    """One rotation for several clouds of points; a dense layer on images."""
    everywhere = jnp.broadcast_to(rotation, (4, 3, 3))
    return jnp.matmul(points, everywhere), images.reshape(8, -1) @ classes.reshape(-1, 10)


@ordinary(floats(300, 20), floats(300, 20), floats(), floats(100, 8), floats(90, 8), gradient=False, batch=False)
def products_of_statistics(x: Any, y: Any, c: Any, queries: Any, keys: Any) -> Any:
    """Symmetrized covariances, an antisymmetric part, scaled scores."""
    return (0.5 * (x @ y.T) + 0.5 * (y @ x.T), c * (x @ y.T) - c * (y @ x.T), (queries @ keys.T) * 0.125)


@ordinary(floats(50), floats(40, 50), floats(40), floats(40), batch=False)
def steps_of_a_network(x: Any, w: Any, b: Any, target: Any) -> Any:
    """A step down the gradient, written out."""
    error = jnp.tanh(w @ x + b) - target
    return x + (-error) @ w, x - (-error) @ w, (w @ x[:, None])[:, 0]


@ordinary(jax.ShapeDtypeStruct((600, 600), HALF), jax.ShapeDtypeStruct((600, 600), HALF), gradient=False, batch=False)
def product_in_half_precision(x: Any, y: Any) -> Any:
    return x.astype(jnp.float32) @ y.astype(jnp.float32)


@ordinary(floats(8, 200, 16), floats(3, 16, 16), gradient=False, batch=False)
def convolution_along_time(x: Any, w: Any) -> Any:
    """A layer on delayed frames, as it is written without a convolution."""
    return sum(x[:, i : 198 + i] @ w[i] for i in range(3))


@ordinary(floats(4, 8, 32, 32), floats(8, 8, 3, 3), floats(8, 8, 3, 3), floats(8), gradient=False, batch=False)
def convolutions_and_scales(x: Any, k: Any, j: Any, s: Any) -> Any:
    """Normalization after a convolution, branches that are added, results with the features last."""

    def convolve(x: Any, k: Any) -> Any:
        return lax.conv(x, k, (1, 1), "SAME")

    return (convolve(x, k) * s[:, None, None], convolve(x, k) / 9, convolve(x, k) + convolve(x, j),
            convolve(2 * x, j).transpose(0, 2, 3, 1))  # fmt: skip


@ordinary(floats(4, 8, 32, 32), floats(8, 8, 3, 3), floats(8, 8, 3, 3), gradient=False, batch=False)
def gates(x: Any, k: Any, j: Any) -> Any:
    """On against off, as retinas have them."""
    return jax.nn.relu(lax.conv(x, k, (1, 1), "SAME") - lax.conv(x, j, (1, 1), "SAME"))


@ordinary(floats(60, 60), floats(4, 8, 8, 16), floats(4, 40000), flags(60, 60), gradient=False, batch=False)
def windows_looked_at_in_part(x: Any, images: Any, long: Any, mask: Any) -> Any:
    near = lax.reduce_window(mask, False, lax.bitwise_or, (3, 3), (1, 1), "SAME")
    return [lax.reduce_window(x, -jnp.inf, lax.max, (1, 1), (2, 2), "VALID"),
            lax.reduce_window(images, 0.0, lax.add, (1, 8, 8, 1), (1, 8, 8, 1), "VALID"),
            jnp.max(long, 0), near[2:6], lax.cumsum(x, 0)[-1], lax.cummax(x, 0)[-1], jnp.cumprod(x[0])[-1]]  # fmt: skip


@ordinary(floats(30), floats(30), gradient=False)
def powers(x: Any, y: Any) -> Any:
    """What generic code makes of exponents that happen to be whole."""
    of_y = [jnp.power(y, jnp.float32(n)) for n in (1, 0, 2, 3, -1, -2)]
    return of_y, jnp.abs(x) * jnp.abs(x), jnp.abs(y) + jnp.zeros(30) * jnp.float32(0), jnp.sum(jnp.abs(x) ** 2)


@ordinary(floats(30), whole(30), gradient=False)
def switched_off(x: Any, n: Any) -> Any:
    """A term whose weight is zero."""
    return jnp.abs(x) + n.astype(jnp.float32) * 0.0


@ordinary(whole(30), whole(30), whole(30, dtype=jnp.uint32))
def more_integers(i: Any, j: Any, u: Any) -> Any:
    small = jnp.clip(i, 0, 6)
    return [lax.div(i, j) * j + lax.rem(i, j), lax.rem(lax.rem(i, 5), 9), small % 7, (i + 3) + 4, small + 3 < 7,
            i + 3 == 7, jnp.where(jnp.arange(30) % 2 == 0, i, 0)[:4], jnp.where(jnp.arange(4) % 2 == 0, i[:4], 0),
            (u + 1) + 2]  # fmt: skip


@ordinary(floats(30), gradient=False)
def power_spectrum(x: Any) -> Any:
    z = x.astype(jnp.complex64)
    return jnp.real(z * jnp.conj(z))


@ordinary(floats(10, 3), floats(3, 10), floats(10), floats(10), gradient=False, batch=False)
def arrays_put_together(x: Any, y: Any, v: Any, w: Any) -> Any:
    columns = [jnp.broadcast_to(each, (3, 10)) for each in (v, w)]
    return (jnp.concatenate(columns, 1), jnp.concatenate([x.T, x.T + y], 1), jnp.concatenate([x.T, (2 * x).T], 1),
            jnp.stack([x[0], x[2], x[4], x[6]]), jnp.stack([x[3], x[2], x[1]]), jnp.pad(jnp.pad(x, 1), 2),
            (x * 3).T.reshape(3, 1, 10))  # fmt: skip


@ordinary(floats(200, 30), floats(200, 30), flags(30), floats(30), floats(30), gradient=False, batch=False)
def choices_by_place(x: Any, y: Any, p: Any, a: Any, b: Any) -> Any:
    """By place, and both ways at once: the sum of what is chosen and what is not."""
    rows = jnp.arange(200)[:, None]
    return jnp.where(rows < 20, x, y), jnp.where(rows == 199, x, y), jnp.where(p, a, b) + (jnp.where(p, b, a) - x[0])


@ordinary(flags(30), floats(30), floats(30), floats(30), gradient=False, batch=False)
def perimeter(p: Any, a: Any, b: Any, c: Any) -> Any:
    """Of triangles, two sides of which are exchanged if need be."""
    return jnp.where(p, a, b) + (jnp.where(p, b, a) + c)


@ordinary(floats(60, 60), gradient=False, batch=False)
def border(x: Any) -> Any:
    """What is inside of an image, and what is at its edge."""
    rows = jnp.pad(jnp.ones((56, 60), bool), ((2, 2), (0, 0)))
    columns = jnp.pad(jnp.ones((60, 56), bool), ((0, 0), (2, 2)))
    outer = [jnp.pad(jnp.zeros(each, bool), pads, constant_values=True)
             for each, pads in (((56, 60), ((2, 2), (0, 0))), ((60, 56), ((0, 0), (2, 2))))]  # fmt: skip
    return jnp.where(rows & columns, x, 0), jnp.where(outer[0] | outer[1], 0, x)


@ordinary(floats(60), whole(3), gradient=False, batch=False)
def marks(x: Any, i: Any) -> Any:
    return jnp.sqrt(jnp.zeros(60).at[i].set(2.0)), jnp.zeros(5).at[jnp.array([1, 3])].set(2.0) * x[:5]


@ordinary(floats(8, 6), floats(8, 6), floats(80, 6), floats(2, 6), floats(2, 6), whole(), gradient=False, batch=False)
def updates_over_updates(x: Any, u: Any, y: Any, v: Any, w: Any, i: Any) -> Any:
    twice = lax.dynamic_update_slice(lax.dynamic_update_slice(y, v, (i, 0)), w, (i, 0))
    wider = y.at[2:4].set(v).at[1:6].set(1.0)
    return lax.dynamic_update_slice(x, u, (i, 0)), twice, wider, jnp.pad(y, 1).at[2:4, 2:4].set(v[:, :2])


@ordinary(floats(100, 6), floats(6), floats(6, 6), gradient=False, batch=False)
def recurrences(x: Any, u: Any, w: Any) -> Any:
    cleared = lax.fori_loop(0, 10, lambda i, c: c.at[i].set(0.0).at[i].set(u * i), x)
    state, _ = lax.scan(lambda h, row: (jnp.tanh(w @ h + row[0]), None), u, x[:, None, :])
    return cleared, state


@ordinary(flags(), floats(300), gradient=False, batch=False)
def conditions_within(p: Any, x: Any) -> Any:
    ordered = lax.cond(p, lambda v: jnp.where(p, jnp.sort(v), v), lambda v: jnp.where(p, v, jnp.cumsum(v)), x)
    shared = lax.cond(p, lambda v: (jnp.sin(v), jnp.cumsum(v)), lambda v: (jnp.sin(v), jnp.sort(v)), x)
    return ordered, shared


@ordinary(floats(1, 1, 256, 256), floats(20000), gradient=False, batch=False)
def known_filters(image: Any, signal: Any) -> Any:
    """Blurs, a shift, edges of edges, a filter after a filter."""
    bell = np.exp(-(np.linspace(-2, 2, 21) ** 2)).astype(np.float32)
    shift, edges = np.zeros((3, 3), np.float32), np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], np.float32)
    shift[0, 2] = 1

    def filtered(kernel: Any, image: Any) -> Any:
        return lax.conv(image, jnp.asarray(kernel)[None, None], (1, 1), "VALID")

    smooth = jnp.convolve(jnp.convolve(signal, jnp.array([1.0, 2.0, 1.0])), jnp.array([1.0, -1.0]))
    return (
        filtered(np.outer(bell, bell), image),
        filtered(shift, image),
        filtered(edges, filtered(edges, image)),
        smooth,
    )


@ordinary(floats(2, 256, 256), gradient=False, batch=False)
def curl_of_a_periodic_flow(flow: Any) -> Any:
    """The vorticity of a flow, and a band of the spectrum of the first of many equal rows."""
    k = jnp.asarray(np.fft.fftfreq(256, 1 / 256), jnp.float32)
    u, v = jnp.fft.fft2(flow[0]), jnp.fft.fft2(flow[1])
    vorticity = (jnp.fft.ifft2(1j * k[:, None] * v) - jnp.fft.ifft2(1j * k * u)).real
    rows = jnp.fft.fft(flow[0] + 1j * flow[1])
    return vorticity, jnp.fft.fft(jnp.broadcast_to(flow[0, 0], (6, 256))), rows[3]
