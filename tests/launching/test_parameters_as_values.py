"""Parameters that live in device variables and in structs by value: kernels are functions of them, with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

SOURCE = """
__constant__ double c[3];
__device__ double table[8], unused;
struct Law { double rate; int count; float3 shift[2]; };
__global__ void polynomial(const double *x, double *y) {
    int i = threadIdx.x;
    y[i] = c[0] + c[1] * x[i] + c[2] * x[i] * x[i];
}
__global__ void square_table(const double *x) { table[threadIdx.x] *= table[threadIdx.x] * x[threadIdx.x]; }
__global__ void by_law(const double *x, double *y, Law law) {
    int i = threadIdx.x;
    y[i] = law.rate * x[i] * law.count + law.shift[i % 2].y;
}
__global__ void along(const double *x, double *y, double2 by) { y[threadIdx.x] = by.x * x[threadIdx.x] + by.y * by.y; }
"""
X = np.linspace(0.2, 1.6, 8)
WEIGHTS = np.cos(np.arange(8.0))


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    with jax.enable_x64(True):
        yield


def test_device_variables_may_be_given_by_name(module: wl.cuda.Module) -> None:
    kernel, coefficients = module["polynomial"].jax(1, 8), np.array([1.0, 2.0, 3.0])

    def loss(c: Any) -> Any:
        return (kernel(X, X, c=c) * WEIGHTS).sum()

    powers = np.array([(X**power * WEIGHTS).sum() for power in range(3)])
    assert loss(coefficients) == pytest.approx(powers @ coefficients)
    np.testing.assert_allclose(jax.grad(loss)(jnp.asarray(coefficients)), powers)
    np.testing.assert_allclose(wl.grad(wl.jit(whole=True)(loss))(coefficients), powers)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(loss)))(jnp.ones((2, 3))), [powers, powers])
    assert not module.variables["c"].any()


def test_new_values_of_variables_follow_those_of_arrays(module: wl.cuda.Module) -> None:
    kernel = module["square_table"].jax(1, 8)
    np.testing.assert_allclose(kernel(X, table=X + 1), (X + 1) ** 2 * X)
    found = jax.grad(lambda x, table: (kernel(x, table=table) * WEIGHTS).sum(), (0, 1))(
        jnp.asarray(X), jnp.asarray(X + 1)
    )
    for one, other in zip(found, ((X + 1) ** 2 * WEIGHTS, 2 * (X + 1) * X * WEIGHTS), strict=True):
        np.testing.assert_allclose(one, other)
    assert not module.variables["table"].any()


SHIFTS = [[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]


@pytest.mark.parametrize(
    "law",
    [
        lambda rate, shift: {"rate": rate, "count": 3, "shift": [SHIFTS[0], (0.0, shift, 0.0)]},
        lambda rate, shift: (rate, 3, (tuple(SHIFTS[0]), {"x": 0.0, "y": shift, "z": 0.0})),
    ],
    ids=["by name", "in order"],
)
def test_members_of_structs_may_be_traced(module: wl.cuda.Module, law: Callable[[Any, Any], Any]) -> None:
    kernel = module["by_law"]

    def loss(rate: Any, shift: Any) -> Any:
        return (kernel.jax(1, 8)(X, X, law(rate, shift)) * WEIGHTS).sum()

    @wl.jit(whole=True)
    def in_place(rate: Any, shift: Any) -> Any:
        y = np.zeros(8)
        kernel[1, 8](X, y, law(rate, shift))
        return (y * WEIGHTS).sum()

    for function, grad in ((loss, jax.grad), (in_place, wl.grad)):
        assert function(1.5, 2.0) == pytest.approx(((4.5 * X + np.tile([1, 2], 4)) * WEIGHTS).sum())
        by_rate, by_shift = grad(function, (0, 1))(1.5, 2.0)
        assert by_rate == pytest.approx((3 * X * WEIGHTS).sum())
        assert by_shift == pytest.approx(WEIGHTS[1::2].sum())


def test_a_struct_of_equal_numbers_may_be_one_array(module: wl.cuda.Module) -> None:
    kernel = module["along"].jax(1, 8)
    found = jax.jit(jax.grad(lambda by: (kernel(X, X, by) * WEIGHTS).sum()))(jnp.array([1.5, 2.0]))
    np.testing.assert_allclose(found, [(X * WEIGHTS).sum(), 4 * WEIGHTS.sum()])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda m: jax.jit(m["by_law"].jax(1, 8))(X, X, (1.0, 3, SHIFTS)),
            r"WL0401.*member 'law.count' is of type int32",
        ),
        (
            lambda m: jax.jit(m["along"].jax(1, 8))(X, X, jnp.zeros(3)),
            r"WL0401.*argument 'by' must be a double2 by value",
        ),
        (lambda m: m["polynomial"].jax(1, 8)(X, X, c=jnp.zeros(4)), r"WL0411.*'c' is float64 with shape \(3,\), got"),
        (lambda m: m["polynomial"].jax(1, 8)(X, X, table=X), r"WL0411.*does not use the device variable 'table'"),
        (lambda m: m["square_table"].jax(1, 8)(X), r"(?s)WL0906.*table=value\) returns its new value too"),
        (
            lambda m: jax.jit(lambda c: m.variables.update(c=c))(jnp.zeros(3)),
            r"(?s)WL0411.*jax\(grid, block\).*c=value",
        ),
    ],
)
def test_what_does_not_fit_is_refused(module: wl.cuda.Module, ask: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(wl.WindlassError, match=message):
        ask(module)
