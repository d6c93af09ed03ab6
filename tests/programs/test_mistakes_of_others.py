"""Programs on which other compilers are known to be silently wrong: values, and derivatives in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

SOURCE = """
#define N 8
#define KERNEL(name, ...) __global__ void name(const double *x, double *y) { int i = threadIdx.x; __VA_ARGS__; }
KERNEL(adding_where_data_say, atomicAdd(&y[(int)(x[i] * 10) % N], x[i]))
KERNEL(column_integral, double sum = 0; for (int k = 0; k < N; k++) { sum += x[k] * (i + 1); y[i] = sum * x[i]; })
KERNEL(stencil_with_a_boundary, if (i == 0) y[i] = x[0]; else if (i == N - 1) y[i] = x[N - 1] * 2;
    else y[i] = x[i - 1] - 2 * x[i] + x[i + 1] * x[i])
KERNEL(more_threads_than_elements, if (i < 4) y[i] = x[i] * x[3 - i])
KERNEL(in_local_memory, double t[N]; for (int k = 0; k < N; k++) t[(k + i) % N] = x[k] * k;
    y[i] = t[(i + 1) % N] * t[2])
KERNEL(in_shared_memory, __shared__ double t[N]; t[i] = x[i] * x[i]; __syncthreads(); y[i] = t[N - 1 - i] * x[i])
KERNEL(read_then_overwritten, y[i] = x[i]; double old = y[i]; y[i] = old * old; y[i] = y[i] * old + y[i])
KERNEL(two_steps_in_place, y[i] = x[i]; for (int k = 0; k < 2; k++) { y[i] = y[i] * y[i] + 0.5 * x[i]; })
KERNEL(loop_of_dynamic_length, double v = x[i]; int k = 0; while (v < 4 && k < 30) { v = v * v + 0.4; k++; } y[i] = v)
KERNEL(reading_by_the_counter, double v = 0; for (int k = 0; k < 40; k++) v = sin(v + x[k % N]) + x[i]; y[i] = v)
KERNEL(softplus, y[i] = log1p(exp(-fabs(x[i] - 1))) + fmax(x[i] - 1, 0.))
"""
NAMES = [line.split("(")[1].split(",")[0] for line in SOURCE.splitlines() if line.startswith("KERNEL(")]
X = np.array([0.31, 0.82, 0.45, 1.23, 0.64, 0.15, 1.57, 0.93])
WEIGHTS = np.cos(np.arange(8) + 1.0)


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    with jax.enable_x64(True):
        yield


def by_hand(name: str, x: Any) -> Any:
    place = np.arange(8)
    match name:
        case "adding_where_data_say":
            y = [0.0] * 8
            for each in x:
                y[int(each * 10) % 8] += each
            return np.array(y)
        case "column_integral":
            return x.sum() * (place + 1) * x
        case "stencil_with_a_boundary":
            return np.array([x[0], *(x[:-2] - 2 * x[1:-1] + x[2:] * x[1:-1]), x[7] * 2])
        case "more_threads_than_elements":
            return np.array([*(x[:4] * x[3::-1]), 0, 0, 0, 0])
        case "in_local_memory":
            return np.array([x[1] * x[(2 - i) % 8] * ((2 - i) % 8) for i in place])
        case "in_shared_memory":
            return (x * x)[::-1] * x
        case "read_then_overwritten":
            return x**3 + x**2
        case "two_steps_in_place":
            return (x * x + 0.5 * x) ** 2 + 0.5 * x
        case "loop_of_dynamic_length":
            y = []
            for each in x:
                k = 0
                while each < 4 and k < 30:
                    each, k = each * each + 0.4, k + 1
                y.append(each)
            return np.array(y)
        case "reading_by_the_counter":
            v = np.zeros(8)
            for k in range(40):
                v = np.sin(v + x[k % 8]) + x
            return v
        case _:
            return np.logaddexp(0, x - 1)


def differences(f: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    return np.array([(f(x + step * each) - f(x - step * each)) / (2 * step) for each in np.eye(len(x))])


def test_kernels_have_the_values_and_derivatives_of_plain_python() -> None:
    module = wl.cuda.compile(SOURCE)
    kernels = {name: module[name].jax(1, 8) for name in NAMES}

    def results(x: Any) -> Any:
        return jnp.stack([kernels[name](x, jnp.zeros(8)) for name in NAMES])

    def all_of_them(x: Any) -> Any:
        return (*jax.jvp(results, (x,), (x * x,)), jax.jacrev(lambda x: results(x) @ WEIGHTS)(x))

    values, forward, reverse = map(np.asarray, jax.jit(all_of_them)(X))
    for row, name in enumerate(NAMES):
        np.testing.assert_allclose(values[row], by_hand(name, X), 1e-12, 1e-14, err_msg=name)
        expected = differences(lambda each, name=name: by_hand(name, each) @ WEIGHTS, X)
        np.testing.assert_allclose(reverse[row], expected, 1e-6, 1e-6, err_msg=name)
        np.testing.assert_allclose(forward[row] @ WEIGHTS, reverse[row] @ (X * X), 1e-10, 1e-12, err_msg=name)


def sum_begun_with(x: Any) -> Any:
    return jax.lax.reduce(jnp.broadcast_to(x[0], (8,)), jnp.asarray(3.0, x.dtype), jax.lax.add, (0,)) + x.sum()


def slice_of_a_clamped_update(x: Any) -> Any:
    updated = jax.lax.dynamic_update_slice(x, x[:4] * 10, (jnp.argmax(x) + 5,))
    return (jax.lax.slice(updated, (4,), (8,)) * jnp.arange(4.0)).sum()


def joined_of_joined(x: Any) -> Any:
    return (
        jnp.concatenate([jnp.concatenate([x[:2], x[2:5] * 2]), jnp.concatenate([x[5:], x[:3] ** 2])]) * jnp.arange(11)
    ).sum()


def rounded_twice(x: Any) -> Any:
    return (x.astype(jnp.bfloat16).astype(x.dtype) * jnp.arange(8)).sum()


def complex_gather(x: Any) -> Any:
    return jnp.abs((x * (1 + 2j))[jnp.array([3, 1, 3, 7])] * jnp.arange(4)).sum()


def short_checkpointed_loop(x: Any) -> Any:
    def body(state: Any, i: Any) -> Any:
        noise = jax.random.normal(jax.random.fold_in(jax.random.key(0), i))
        return jnp.sin(state * x[i]) + noise, None

    return jax.lax.scan(jax.checkpoint(body), x, jnp.arange(3))[0].sum()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "function",
    [
        sum_begun_with,
        slice_of_a_clamped_update,
        joined_of_joined,
        rounded_twice,
        complex_gather,
        short_checkpointed_loop,
    ],
)
def test_rewritten_functions_have_the_values_and_derivatives_of_jax(function: Callable[[Any], Any]) -> None:
    optimized, x = wl.optimize(function), jnp.asarray(X)
    np.testing.assert_allclose(optimized(x), function(x), 1e-12)
    expected = jax.grad(function)(x)
    np.testing.assert_allclose(jax.grad(optimized)(x), expected, 1e-10, 1e-12)
