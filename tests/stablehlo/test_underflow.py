"""Subnormal numbers are kept, as CUDA and NumPy do, though XLA:CPU flushes them to zero."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy.typing import NDArray

import windlass as wl

SOURCE = """
#include <cuda_bf16.h>
template <class T> __global__ void combine(T *y, const T *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * (T)0.5 + x[i] - y[i];
}
template <class T> __global__ void compare(int *y, const T *x, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = (x[i] > (T)0) + 2 * (x[i] == (T)0) + 4 * (x[i] < x[n - 1 - i]);
}
__global__ void sum(float *y, const float *x, int n) {
    float total = 0;
    for (int i = 0; i < n; i++) total += x[i];
    y[threadIdx.x] = total;
}
__global__ void halve(float *x, int rounds) {
    float value = x[threadIdx.x];
    while (rounds-- > 0 && value > 1e-41f) value *= 0.5f;
    x[threadIdx.x] = value;
}
__global__ void logarithm(float *y, const float *x) { y[threadIdx.x] = logf(x[threadIdx.x]); }
__global__ void log_gamma(float *y, const float *x) { y[threadIdx.x] = lgammaf(x[threadIdx.x]); }
__global__ void narrow(__nv_bfloat16 *y, const float *x) { y[threadIdx.x] = __float2bfloat16(x[threadIdx.x] * 3.0f); }
"""


@pytest.fixture(scope="module")
def module() -> Any:
    return wl.cuda.compile(SOURCE, instances=["combine<float>", "combine<double>", "compare<float>", "compare<double>"])


def tiny(count: int, dtype: type[Any]) -> NDArray[Any]:
    """Subnormal numbers of both signs, with the smallest of them, zeros and some normal numbers."""
    bits = {np.float32: np.uint32, np.float64: np.uint64}[dtype]
    smallest = np.finfo(dtype).smallest_normal.view(bits)
    found = np.random.default_rng(count).integers(0, int(smallest) * 2, count).astype(bits).view(dtype)
    found[1::2] *= -1
    found[: min(3, count)] = [0.0, np.finfo(dtype).smallest_subnormal, -0.0][: min(3, count)]
    return found


@pytest.mark.parametrize(("name", "dtype"), [("float", np.float32), ("double", np.float64)])
@pytest.mark.parametrize("count", [5, 257, 1 << 20])
def test_arithmetic_keeps_subnormals_on_every_thread(module: Any, name: str, dtype: type[Any], count: int) -> None:
    x, y = tiny(count, dtype), tiny(count, dtype)[::-1].copy()
    wanted = x * dtype(0.5) + x - y
    module[f"combine<{name}>"][(count + 255) // 256, 256](y, x, count)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize(("name", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_comparisons_tell_subnormals_from_zero(module: Any, name: str, dtype: type[Any]) -> None:
    x, y = tiny(100, dtype), np.zeros(100, np.int32)
    module[f"compare<{name}>"][1, 128](y, x, 100)
    np.testing.assert_array_equal(y, (x > 0) + 2 * (x == 0) + 4 * (x < x[::-1]))


def test_sums_and_loops_keep_subnormals(module: Any) -> None:
    x, y = np.full(64, 1e-41, np.float32), np.zeros(4, np.float32)
    module["sum"][1, 4](y, x, 64)
    np.testing.assert_array_equal(y, np.full(4, x.sum(dtype=np.float32)))
    start = np.array([1.0, 3e-38, 1e-40, 5e-42], np.float32)
    raised, emulated = start.copy(), start.copy()
    module["halve"][1, 4](raised, 200)
    wl.emulate(module["halve"])[1, 4](emulated, 200)
    np.testing.assert_array_equal(raised, emulated)


def test_logarithms_of_subnormals_are_right(module: Any) -> None:
    x = np.array([1e-40, 1e-45, 3e-42, 1.1754944e-38, 1.0, 0.0, np.inf, -1e-40, np.nan], np.float32)
    y = np.zeros_like(x)
    module["logarithm"][1, len(x)](y, x)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(y, np.log(x), rtol=2e-7)


def test_logarithms_of_the_gamma_function_of_subnormals_are_right(module: Any) -> None:
    x = np.array([1e-40, -1e-40, 1e-45, -3e-42, 1.1754944e-38, 1e-30, 0.5, 2.5, -0.5, 0.0, np.inf], np.float32)
    raised, emulated = np.zeros((2, len(x)), np.float32)
    module["log_gamma"][1, len(x)](raised, x)
    wl.emulate(module["log_gamma"])[1, len(x)](emulated, x)
    np.testing.assert_allclose(raised, emulated, rtol=1e-6)


def test_small_bfloat16_numbers_are_kept(module: Any) -> None:
    x = np.array([1e-40, 2e-39, -3e-40, 1e-40], np.float32)
    raised, emulated = np.zeros(4, bfloat16), np.zeros(4, bfloat16)
    module["narrow"][1, 4](raised, x)
    wl.emulate(module["narrow"])[1, 4](emulated, x)
    np.testing.assert_array_equal(raised.view(np.uint16), emulated.view(np.uint16))
    assert raised.view(np.uint16).all()


def test_numpy_code_keeps_subnormals() -> None:
    @wl.jit
    def shrink(x: Any) -> Any:
        for _ in range(3):
            x[:] = x * 0.25
        return x.sum()

    x = np.full(4, 2e-38, np.float32)
    assert shrink(x) > 0
    wanted = np.full(4, 2e-38, np.float32)
    for _ in range(3):
        wanted *= np.float32(0.25)
    np.testing.assert_array_equal(x, wanted)


def test_programs_without_floats_are_left_alone(module: Any) -> None:
    count = wl.cuda.compile("__global__ void count(int *x) { x[threadIdx.x] += 1; }")["count"]
    x = np.zeros(4, np.int32)
    assert "keep_subnormals" not in count.lower(1, 4, x).text("hlo")


def test_the_call_comes_before_everything_else(module: Any) -> None:
    x = np.zeros(64, np.float32)
    text: str = module["sum"].lower(1, 4, x, x.copy(), 64).text("hlo")
    entry = text[text.index("\nENTRY") :].splitlines()[1:]
    work = [line for line in entry if " = " in line and " parameter(" not in line and " constant(" not in line]
    assert "windlass_keep_subnormals" in work[0]


def test_programs_of_others_are_left_alone(module: Any) -> None:
    """Inside `jax.jit` it is JAX's program: exported, cached and run by its rules."""
    step = module["sum"].jax(1, 4)
    x = np.zeros(64, np.float32)
    assert "keep_subnormals" not in jax.jit(lambda y: step(y, x, 64)).lower(np.zeros(4, np.float32)).as_text()
