"""Loops that write a part of an array in each round, which later rounds read."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.derivatives.case import Case, case, uniform

import windlass as wl

RECURRENCE = wl.cuda.compile(r"""
__global__ void recurrence(const float *a, float *y, int n) {
    for (int i = 1; i < n; i++) y[i] = tanhf(a[i] * y[i - 1]);
}
""")["recurrence"]


@case
def recurrence_in_a_kernel() -> Case:
    count = 16_000
    launch = RECURRENCE.jax(1, 1)

    def scanned(a: Any, y: Any) -> Any:
        def step(last: Any, factor: Any) -> tuple[Any, Any]:
            last = jnp.tanh(factor * last)
            return last, last

        return (jax.lax.scan(step, y[0], a[1:])[1] ** 2).sum() + y[0] ** 2

    return Case(
        lambda a, y: (launch(a, y, count) ** 2).sum(),
        {"scan": scanned},
        (uniform(count, 0.9, 1.3), uniform(count)),
        (0, 1),
    )


@case
def rows_of_a_table() -> Case:
    rounds, size = 1000, 1024

    @wl.jit
    def table(x: Any) -> Any:
        h = np.zeros((rounds, size), np.float32)
        h[0] = x
        for i in range(rounds - 1):
            h[i + 1] = np.tanh(h[i]) * np.float32(1.01)
        return (h * h).sum()

    def scanned(x: Any) -> Any:
        def step(row: Any, _: Any) -> tuple[Any, Any]:
            row = jnp.tanh(row) * 1.01
            return row, row

        return (x * x).sum() + (jax.lax.scan(step, x, None, length=rounds - 1)[1] ** 2).sum()

    return Case(table, {"scan": scanned}, (uniform(size),))
