"""Random numbers in kernels (curand_kernel.h): known answers, and the same numbers as from cuRAND's host interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import windlass as wl
from windlass.hosting.libraries.curand import Mrg32k3a, Philox, Xorwow

SOURCE = r"""
#include <curand_kernel.h>

template <class State> __device__ void words(unsigned *out, unsigned long long seed, unsigned long long offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    State state;
    curand_init(seed, i, offset, &state);
    for (int k = 0; k < 4; k++) out[4 * i + k] = curand(&state);
}
__global__ void xorwow(unsigned *out, unsigned long long seed, unsigned long long offset) {
    words<curandState>(out, seed, offset);
}
__global__ void mrg(unsigned *out, unsigned long long seed, unsigned long long offset) {
    words<curandStateMRG32k3a>(out, seed, offset);
}
__global__ void philox(unsigned *out, unsigned long long seed, unsigned long long offset) {
    words<curandStatePhilox4_32_10_t>(out, seed, offset);
}
__global__ void cipher(uint4 *out, uint4 counter, uint2 key) { *out = curand_Philox4x32_10(counter, key); }

__global__ void setup(curandStatePhilox4_32_10_t *states, unsigned long long seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(seed, i, 0, &states[i]);
}
__global__ void draw(curandStatePhilox4_32_10_t *states, float *uniform, float *normal, double *doubles,
                     double *normal_doubles, unsigned *poisson, double mean, float4 *four) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t state = states[i];
    uniform[i] = curand_uniform(&state);
    doubles[i] = curand_uniform_double(&state);
    for (int k = 0; k < 3; k++) normal[3 * i + k] = curand_normal(&state);
    normal_doubles[i] = curand_normal_double(&state);
    poisson[i] = curand_poisson(&state, mean);
    four[i] = curand_uniform4(&state);
    states[i] = state;
}
__global__ void in_place(float *x, float *y, unsigned long long seed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, i, 0, &state);
    float4 u = curand_uniform4(&state);
    x[i] = u.x, y[i] = u.w;
}
"""


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_known_answers_of_random123(
    module: wl.cuda.Module, counter: list[int], key: list[int], words: str
) -> None:
    out = np.zeros((1, 4), np.uint32)
    wl.emulate(module["cipher"])[1, 1](out, np.array(counter, np.uint32), np.array(key, np.uint32))
    assert " ".join(f"{each:08x}" for each in out[0]) == words


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", [0, 1234, 0x123456789ABCDEF])
@pytest.mark.parametrize("offset", [0, 5, 1000003])
def test_threads_draw_what_the_host_interface_gives(module: wl.cuda.Module, seed: int, offset: int) -> None:
    lanes: dict[str, Any] = {"xorwow": Xorwow(seed), "mrg": Mrg32k3a(seed)}
    for name, source in lanes.items():
        out = np.zeros((40, 4), np.uint32)
        wl.emulate(module[name])[5, 8](out, seed, offset)
        rows = [source.words(4096 * (offset + k), 40) for k in range(4)]
        np.testing.assert_array_equal(out, np.stack(rows, axis=1))
    out = np.zeros((40, 4), np.uint32)
    wl.emulate(module["philox"])[5, 8](out, seed, offset)
    np.testing.assert_array_equal(out[0], Philox(seed).words(offset, 4))


def test_numbers_are_distributed_as_they_should(module: wl.cuda.Module) -> None:
    n, states = 2048, np.zeros((2048, 128), np.uint8)
    kernel = module["setup"]
    size = next(each for each in kernel.signature.parameters).dtype
    states = np.zeros(n, size) if size is not None else states
    arrays = [np.zeros(n, np.float32), np.zeros(3 * n, np.float32), np.zeros(n), np.zeros(n), np.zeros(n, np.uint32)]
    four = np.zeros((n, 4), np.float32)
    wl.emulate(kernel)[8, 256](states, 99)
    wl.emulate(module["draw"])[8, 256](states, *arrays, 6.5, four)
    uniform, normal, doubles, normal_doubles, poisson = arrays
    for found in (uniform, doubles, four.ravel()):
        assert found.min() > 0 and found.max() <= 1 and stats.kstest(found, "uniform").pvalue > 1e-3
    for found in (normal, normal_doubles):
        assert stats.kstest(found, "norm").pvalue > 1e-3
    assert abs(poisson.mean() - 6.5) < 0.3 and abs(poisson.var() - 6.5) < 1
    again = np.zeros((n, 4), np.float32)
    wl.emulate(module["draw"])[8, 256](states, *arrays, 6.5, again)
    assert (again != four).mean() > 0.99


def test_kernel_with_random_numbers_is_raised(module: wl.cuda.Module) -> None:
    x, y = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    kernel = module["in_place"]
    kernel[4, 256](x, y, 42, 1000)
    assert kernel.explain().is_raised
    expected = [np.zeros_like(x), np.zeros_like(y)]
    wl.emulate(kernel)[4, 256](*expected, 42, 1000)
    np.testing.assert_array_equal(x, expected[0])
    np.testing.assert_array_equal(y, expected[1])
    assert stats.kstest(x, "uniform").pvalue > 1e-3
