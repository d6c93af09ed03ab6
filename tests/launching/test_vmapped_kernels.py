"""`jax.vmap` of kernels and captured functions is one program for all elements, not a loop over them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

SOURCE = """
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" {
__global__ void blur(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
}
__global__ void pick(float *out, const float *in, const int *places) {
    out[threadIdx.x] = in[places[threadIdx.x]];
}
__global__ void count(int *bins, const int *values) {
    atomicAdd(&bins[values[threadIdx.x]], 1);
}
__global__ void total(float *out, const float *in) {
    __shared__ float parts[8];
    parts[threadIdx.x] = in[threadIdx.x];
    for (int step = 4; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
    }
    if (threadIdx.x == 0) out[0] = parts[0];
}
__global__ void collatz(int *steps, const int *start) {
    int n = start[threadIdx.x], count = 0;
    while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; count++; }
    steps[threadIdx.x] = count;
}
__global__ void recurse(int *out, const int *in) { out[threadIdx.x] = fibonacci(in[threadIdx.x]); }
}
"""
ROWS = 5
FLOATS = np.random.default_rng(3).standard_normal((ROWS, 8)).astype(np.float32)
PLACES = np.random.default_rng(4).integers(0, 8, (ROWS, 8)).astype(np.int32)
CASES: list[tuple[str, tuple[Any, ...]]] = [
    ("blur", (FLOATS * 0, FLOATS, 8)),
    ("pick", (FLOATS * 0, FLOATS, PLACES)),
    ("count", (PLACES * 0, PLACES)),
    ("total", (FLOATS[:, :1], FLOATS)),
    ("collatz", (PLACES * 0, PLACES + 1)),
]


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "arguments"), CASES, ids=[name for name, _ in CASES])
def test_each_element_gets_what_its_own_launch_gives(
    module: wl.cuda.Module, name: str, arguments: tuple[Any, ...]
) -> None:
    run = module[name].jax(1, 8)
    axes = tuple(0 if isinstance(each, np.ndarray) else None for each in arguments)
    vmapped = jax.vmap(run, axes)
    found = vmapped(*arguments)
    for row in range(ROWS):
        own = run(*(each[row] if isinstance(each, np.ndarray) else each for each in arguments))
        np.testing.assert_array_equal(np.asarray(found)[row], own)
    # The same along other axes, of some arguments alone, within another.
    turned = [each.T if isinstance(each, np.ndarray) else each for each in arguments]
    last = tuple(1 if isinstance(each, np.ndarray) else None for each in arguments)
    np.testing.assert_array_equal(jax.jit(jax.vmap(run, last))(*turned), found)
    some = (0, *(None,) * (len(arguments) - 1))
    first = [arguments[0], *(each[2] if isinstance(each, np.ndarray) else each for each in arguments[1:])]
    alone = jax.vmap(run, some)(*first)
    np.testing.assert_array_equal(np.asarray(alone)[2], np.asarray(found)[2])
    pairs = [np.stack([each, each[::-1]]) if isinstance(each, np.ndarray) else each for each in arguments]
    nested = np.asarray(jax.vmap(vmapped, axes)(*pairs))
    np.testing.assert_array_equal(nested, np.stack([found, np.asarray(found)[::-1]]))


@pytest.mark.parametrize(("name", "arguments"), CASES[:4], ids=[name for name, _ in CASES[:4]])
def test_no_loop_over_the_elements_is_left(module: wl.cuda.Module, name: str, arguments: tuple[Any, ...]) -> None:
    axes = tuple(0 if isinstance(each, np.ndarray) else None for each in arguments)
    text = jax.jit(jax.vmap(module[name].jax(1, 8), axes)).lower(*arguments).as_text()
    assert "stablehlo.while" not in text


def test_emulated_kernels_run_one_after_another(module: wl.cuda.Module) -> None:
    run = module["recurse"].jax(1, 8)
    with pytest.warns(wl.WindlassWarning, match="recurse"):
        found = jax.vmap(run)(PLACES * 0, PLACES)
    np.testing.assert_array_equal(found, np.array([0, 1, 1, 2, 3, 5, 8, 13])[PLACES])


def test_captured_function_is_vmapped() -> None:
    @wl.jit
    def newton(x: Any) -> Any:
        guess = x
        while abs(guess * guess - x) > 1e-3:
            guess = 0.5 * (guess + x / guess)
        return guess

    values = np.array([1, 2, 50, 9], np.float32)
    found = jax.vmap(newton)(jnp.asarray(values))
    np.testing.assert_array_equal(found, [newton(value) for value in values])
