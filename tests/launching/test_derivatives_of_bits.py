"""Kernels that copy, exchange and pack floats as integers: what only travels has the derivative of what it is."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

SOURCE = """
#include <cuda_fp16.h>
#define KERNEL(name, ...) __global__ void name(const float *x, float *y) { int i = threadIdx.x; __VA_ARGS__; }
KERNEL(copied, if (i < 2) ((int4 *)y)[i] = ((const int4 *)x)[i])
KERNEL(copied_in_pairs, if (i < 4) ((long long *)y)[i] = ((const long long *)x)[7 - i & 3])
KERNEL(copied_as_doubles, if (i < 4) ((double *)y)[i] = ((const double *)x)[7 - i & 3])
KERNEL(exchanged, int b = __float_as_int(x[i] * x[i]);
    b = __shfl_xor_sync(0xffffffff, b, 1); y[i] = __int_as_float(b) * x[i])
KERNEL(shared, __shared__ unsigned s[8]; s[i] = __float_as_uint(x[i] * x[i]); __syncthreads();
    y[i] = i < 4 ? __uint_as_float(s[7 - i]) : x[i])
KERNEL(packed, unsigned long long p = __float_as_uint(x[i] * x[i]);
    p = p << 32 | __float_as_uint(x[i] * 3); p = __shfl_xor_sync(0xffffffff, p, 3);
    y[i] = __uint_as_float(p >> 32) * __uint_as_float((unsigned)p))
KERNEL(in_halves, double v = x[i] * x[i]; int low = __double2loint(v), high = __double2hiint(v);
    low = __shfl_xor_sync(0xffffffff, low, 1); high = __shfl_xor_sync(0xffffffff, high, 1);
    y[i] = __hiloint2double(high, low) * x[i])
KERNEL(in_half_floats, __half2 h = __floats2half2_rn(x[i] * 2, x[i] * x[i]); unsigned u = *(unsigned *)&h;
    u = __shfl_xor_sync(0xffffffff, u, 1); h = *(__half2 *)&u; y[i] = __low2float(h) + __high2float(h))
KERNEL(cut, y[i] = __uint_as_float(__float_as_uint(x[i] * x[i]) & 0xffffe000u) * x[i])
KERNEL(turned, unsigned u = __float_as_uint(x[i]) ^ (i % 2 ? 1u << 31 : 0);
    y[i] = __uint_as_float(u | (i % 4 == 0 ? 1u << 31 : 0)) * x[i])
KERNEL(largest, __shared__ int most; if (i == 0) most = 0; __syncthreads();
    atomicMax(&most, __float_as_int(x[i] * x[i])); __syncthreads(); y[i] = __int_as_float(most) * x[i])
KERNEL(largest_and_where, __shared__ unsigned long long best; if (i == 0) best = 0; __syncthreads();
    atomicMax(&best, (unsigned long long)__float_as_uint(x[i]) << 32 | i); __syncthreads();
    y[i] = __uint_as_float(best >> 32) + x[best & 7])
KERNEL(taken, y[i] = __int_as_float(atomicExch((int *)y + i, __float_as_int(x[i] * x[i]))) + y[i] * x[i])
KERNEL(in_a_loop, int b = __float_as_int(x[i]); float sum = 0; for (int k = 0; k < (int)(x[7] * 4); k++) {
    b = __shfl_sync(0xffffffff, b, (i + 1) % 8); sum += __int_as_float(b) * x[i] * k; } y[i] = sum)
KERNEL(deciding, int exponent = (__float_as_int(x[i]) >> 23 & 255) - 127;
    y[i] = x[i] * x[exponent & 7] * (exponent < -1 ? 2 : 1))
"""
NAMES = [line.split("(")[1].split(",")[0] for line in SOURCE.splitlines() if line.startswith("KERNEL(")]
X = np.array([0.3, 0.72, 0.93, 0.55, 0.2, 0.4, 0.62, 0.85], np.float32)


def by_hand(name: str, x: Any) -> Any:
    place, square = jnp.arange(8), x * x
    beside = square.reshape(4, 2)[:, ::-1].reshape(8)
    match name:
        case "copied":
            return x
        case "copied_in_pairs" | "copied_as_doubles":
            return x.reshape(4, 2)[::-1].reshape(8)
        case "exchanged" | "in_halves":
            return beside * x
        case "shared":
            return jnp.where(place < 4, square[::-1], x)
        case "packed":
            return (square * x * 3)[place ^ 3]
        case "in_half_floats":
            return (x * 2)[place ^ 1] + beside
        case "cut":
            return square * x
        case "turned":
            return jnp.where(place % 4 == 0, -1, jnp.where(place % 2, -1, 1)) * x * x
        case "largest":
            return jnp.max(square) * x
        case "largest_and_where":
            return jnp.full(8, 2 * jnp.max(x))
        case "taken":
            return 1 + square * x
        case "in_a_loop":
            return sum(x[(place + k + 1) % 8] * x * k for k in range(3))
        case _:
            exponent = jnp.floor(jnp.log2(x)).astype(int)
            return x * x[exponent & 7] * jnp.where(exponent < -1, 2, 1)


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


def test_floats_that_travel_as_integers_have_derivatives(module: wl.cuda.Module) -> None:
    """As one program, for it is compiling that takes the time."""
    weights = jnp.cos(jnp.arange(8.0) + 1)
    kernels = {name: module[name].jax(1, 8) for name in NAMES}

    def launched(x: Any) -> Any:
        return jnp.stack([kernels[name](x, jnp.ones(8)) @ weights for name in NAMES])

    def written(x: Any) -> Any:
        return jnp.stack([by_hand(name, x) @ weights for name in NAMES])

    def backwards(x: Any) -> Any:
        return jax.jacrev(launched)(x), jax.jacfwd(launched)(x), jax.jacfwd(jax.jacrev(launched))(x)

    expected = jax.jit(jax.jacrev(written))(X), jax.jit(jax.jacfwd(jax.jacrev(written)))(X)
    reverse, forward, second = jax.jit(backwards)(jnp.asarray(X))
    for row, name in enumerate(NAMES):
        np.testing.assert_allclose(reverse[row], expected[0][row], 2e-3, 1e-5, err_msg=name)
        np.testing.assert_allclose(forward[row], expected[0][row], 2e-3, 1e-5, err_msg=name)
        np.testing.assert_allclose(second[row], expected[1][row], 2e-3, 1e-5, err_msg=name)


def test_what_no_cotangent_reaches_refuses_nothing() -> None:
    kernel = wl.cuda.compile("""
    __global__ void k(const float *x, float *y, float *exponent, int *hash) {
        int bits = __float_as_int(x[threadIdx.x]);
        exponent[threadIdx.x] = (bits >> 23 & 255) - 127;
        hash[threadIdx.x] = bits * 0x9E3779B1;
        y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x];
    }""")["k"].jax(1, 8)
    x = jnp.asarray(X)

    def results(x: Any) -> Any:
        return kernel(x, x, x, jnp.zeros(8, "int32"))

    np.testing.assert_allclose(jax.grad(lambda x: results(x)[0].sum())(x), 2 * x)
    with pytest.raises(wl.WindlassError, match=r"WL0901.*bits of a float are computed with here \(>>\)"):
        jax.grad(lambda x: results(x)[1].sum())(x)
    with pytest.raises(wl.WindlassError, match=r"WL0901.*bits of a float are computed with here"):
        jax.jvp(lambda x: results(x)[1], (x,), (x,))
