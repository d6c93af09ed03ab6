"""`memset`, `memcpy` and `memmove` beyond an array: refused at once, raised as emulated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.launching.test_kernels_that_stop import outcomes

ONES = np.ones(8, np.int32)

BEYOND = {
    "a negative size": ("memset(x, 0, n);", (ONES, -1)),
    "a byte more": ("memset(x, 0, n);", (ONES, 33)),
    "a gigabyte": ("memcpy(x, x + 4, 1u << 30);", (ONES, 0)),
    "from a place on": ("memcpy(x + 4, x, n);", (ONES, 20)),
    "a negative copy": ("memcpy(x + 4, x, n);", (ONES, -4)),
    "a size that an array tells": ("memset(x, 0, x[n]);", (ONES * 40, 0)),
    "a negative one": ("memset(x, 0, x[n]);", (-ONES, 0)),
    "shared memory": ("__shared__ int s[16]; memset(s, 1, n); __syncthreads(); x[0] = s[1];", (ONES, 65)),
    "a local array": ("int s[16]; memset(s, 1, n); x[0] = s[1];", (ONES, 65)),
    "a null pointer": ("memset(n ? nullptr : x, 1, n);", (ONES, 65)),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", BEYOND)
def test_more_than_there_is_is_refused(name: str) -> None:
    body, arguments = BEYOND[name]
    raised, emulated = outcomes(f"__global__ void k(int *x, int n) {{ {body} }}", *arguments, block=1)
    assert "WL0602" in raised
    assert raised == emulated


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "body, n",
    [
        ("memset(x, 0, n);", 32),
        ("memset(x, 0, n);", 0),
        ("memset(x + 8, 0, n);", 0),
        ("if (n > 0) memset(x, 0, n);", -1),
        ("memset(x, 0, x[n]);", 0),
        ("memcpy(x + 4, x, n);", 16),
        ("__shared__ int s[16]; memset(s, 1, n); __syncthreads(); x[0] = s[1];", 64),
    ],
)
def test_what_fits_stays_raised(body: str, n: int) -> None:
    assert outcomes(f"__global__ void k(int *x, int n) {{ {body} }}", ONES, n, block=1) == ("", "")


def test_each_thread_has_its_own_place() -> None:
    source = "__global__ void k(int *x, int n) { memset(x + threadIdx.x, 1, n); }"
    assert outcomes(source, ONES, 4, block=8) == ("", "")
    raised, emulated = outcomes(source, ONES, 4, block=9)
    assert "thread (8, 0, 0)" in raised
    assert raised == emulated


def test_an_assertion_within_a_reduction_over_a_block_holds() -> None:
    source = """__global__ void k(float *x) {
        __shared__ float s[64];
        int t = threadIdx.x;
        s[t] = x[t];
        __syncthreads();
        for (int step = 32; step > 0; step /= 2) {
            if (t < step) { assert(s[t + step] < 9.0f); s[t] += s[t + step]; }
            __syncthreads();
        }
        if (t == 0) x[0] = s[0];
    }"""
    x: Any = np.full(64, 0.125, np.float32)
    assert outcomes(source, x, block=64) == ("", "")
    x = np.full(64, 0.5, np.float32)
    raised, emulated = outcomes(source, x, block=64)
    assert "WL0607" in raised
    assert raised == emulated
