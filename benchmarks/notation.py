"""Index notation on NumPy arrays beside `jax.jit` of the einsum, convolution or fold that it means.

python -m benchmarks.notation [--rounds 9]
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.measuring import Result, compare, show
from jax import lax
from rich.console import Console

import windlass as wl

MODULE = wl.notation("""
def layer(float(B, N) x, float(M, N) w, float(M) b) -> (y) {
  y(i, j) +=! x(i, n) * w(j, n)
  y(i, j) = max(y(i, j) + b(j), 0.0)
}
def convolution(float(N, C, H, W) x, float(M, C, KH, KW) k) -> (y) {
  y(n, m, h, w) +=! x(n, c, h + kh, w + kw) * k(m, c, kh, kw)
}
def kronecker(float(D0, N0) W0, float(D1, N1) W1, float(D2, N2) W2, float(M, N0, N1, N2) X) -> (Y) {
  Y(m, d0, d1, d2) +=! W0(d0, n0) * W1(d1, n1) * W2(d2, n2) * X(m, n0, n1, n2)
}
def rows(float(E, D) T, int32(B, L) I) -> (O) { O(i, j) +=! T(I(i, k), j) }
def pool(float(N, C, H, W) x) -> (y) { y(n, c, h, w) max=! x(n, c, 2*h + kh, 2*w + kw) where kh in 0:3, kw in 0:3 }
""")


def layer(x: Any, w: Any, b: Any) -> Any:
    return jnp.maximum(jnp.einsum("in,jn->ij", x, w) + b, 0)


def convolution(x: Any, k: Any) -> Any:
    return lax.conv_general_dilated(x, k, (1, 1), "VALID")


def kronecker(a: Any, b: Any, c: Any, x: Any) -> Any:
    return jnp.einsum("ax,by,cz,mxyz->mabc", a, b, c, x, optimize="optimal")


def rows(table: Any, indices: Any) -> Any:
    return table[indices].sum(1)


def pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "VALID")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    draw = np.random.default_rng(0)

    def floats(*shape: int) -> Any:
        return draw.random(shape, np.float32)

    cases: dict[Any, tuple[Any, ...]] = {
        layer: (floats(256, 512), floats(512, 512), floats(512)),
        convolution: (floats(8, 32, 56, 56), floats(32, 32, 3, 3)),
        kronecker: (floats(16, 16), floats(16, 16), floats(16, 16), floats(256, 16, 16, 16)),
        rows: (floats(100_000, 64), draw.integers(0, 100_000, (1024, 20), np.int32)),
        pool: (floats(8, 32, 112, 112),),
    }
    results: list[Result] = []
    for function, arguments in cases.items():
        compiled, theirs = MODULE[function.__name__], jax.jit(function)
        run = {"jax.jit": lambda theirs=theirs, arguments=arguments: np.asarray(theirs(*arguments))}
        results.append(compare(function.__name__, partial(compiled, *arguments), run, options.rounds, goal=1.0))
    show(results, Console())


if __name__ == "__main__":
    main()
