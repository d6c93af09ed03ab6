"""Kernels as native code, their loops as a schedule says."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl
from windlass.schedules import Schedule, interchange, parallelize, seq, tile, unroll

PRODUCT = """__global__ void product(float *c, const float *a, const float *b, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "schedule",
    [
        None,
        interchange(2, 3),
        tile(2, 3, 4, sizes=(4, 8, 16)),
        "seq(tile(2, 4, sizes=(4, 8)))",
        seq(parallelize(2), unroll(4, 4)),
        seq(interchange(3, 4), unroll("#2", 4)),
    ],
)
def test_native_code_of_a_scheduled_kernel_computes_the_same(schedule: Schedule | str | None) -> None:
    product = wl.cuda.compile(PRODUCT)["product"]
    n = 33
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-9, 9, (n, n)).astype(np.float32) for _ in range(3))
    expected = c + a @ b
    if schedule == "seq(tile(2, 4, sizes=(4, 8)))":
        with pytest.raises(wl.WindlassError, match="one does not stand directly in the other"):
            wl.native(product, schedule=schedule)[1, 1](c, a, b, n)
        return
    wl.native(product, schedule=schedule)[1, 1](c, a, b, n)
    np.testing.assert_array_equal(c, expected)


def test_arrays_of_the_launch_decide_what_is_allowed() -> None:
    kernel = wl.cuda.compile("""__global__ void turn(float *to, const float *from, int n) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                to[i * n + j] = from[j * n + i] + 1;
    }""")["turn"]
    turned = wl.native(kernel, schedule=interchange(2, 3))
    x, y = np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros((4, 4), np.float32)
    turned[1, 1](y, x, 4)
    np.testing.assert_array_equal(y, x.T + 1)
    with pytest.raises(wl.WindlassError, match="two iterations come to one place in memory"):
        turned[1, 1](x, x, 4)
