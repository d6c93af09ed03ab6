"""Host functions of programs: called on NumPy arrays, compiled by wl.jit, differentiated."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import CompilationError, LaunchError
from windlass.hosting.program import Program

SOURCE = r"""
#include <cublas_v2.h>
#include <cstdlib>

__global__ void activate(float *x, const float *b, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns) x[i] = tanhf(x[i] + b[i % rows]);
}

// y = tanh(W x + b), total = |y|^2
void layer(float *total, float *y, const float *w, const float *x, const float *b, int rows, int inner, int columns) {
    cublasHandle_t handle;
    cublasCreate(&handle);
    float one = 1, zero = 0, *product;
    size_t bytes = rows * columns * sizeof(float);
    cudaMalloc(&product, bytes);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, rows, columns, inner, &one, w, rows, x, inner, &zero, product, rows);
    activate<<<(rows * columns + 127) / 128, 128>>>(product, b, rows, columns);
    cudaMemcpy(y, product, bytes, cudaMemcpyDeviceToDevice);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    cublasSdot(handle, rows * columns, y, 1, y, 1, total);
    cublasDestroy(handle);
    cudaFree(product);
}

void norm_on_host(float *x, int n) {
    cublasHandle_t handle;
    cublasCreate(&handle);
    float norm;
    cublasSnrm2(handle, n, x, 1, &norm);
    norm = 1 / norm;
    cublasSscal(handle, n, &norm, x, 1);
}
void look(float *x, float *y) {
    if (x[0] > 0) cudaMemset(y, 0, sizeof(float));
}
void stop(int status) { exit(status); }
extern "C" double halved(double x) { return x / 2; }
"""
ROWS, INNER, COLUMNS = 5, 4, 3


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    source = tmp_path_factory.mktemp("host") / "layer.cu"
    source.write_text(SOURCE)
    return wl.cuda.program(source)


def draw(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def test_a_host_function_updates_numpy_arrays_in_place(program: Program) -> None:
    w, x, b = draw(INNER, ROWS), draw(COLUMNS, INNER), draw(ROWS)
    y, total = np.zeros((COLUMNS, ROWS), np.float32), np.zeros(1, np.float32)
    program["layer"](total, y, w, x, b, ROWS, INNER, COLUMNS)
    expected = np.tanh(x @ w + b)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(total, [(expected**2).sum()], rtol=1e-5)
    assert program["halved"](3.0) == 1.5


def test_a_host_function_has_the_gradient_of_its_mathematics(program: Program) -> None:
    layer = program["layer"]

    def loss(w: Any, x: Any, b: Any) -> Any:
        total, y = np.zeros(1, np.float32), np.zeros((COLUMNS, ROWS), np.float32)
        layer(total, y, w, x, b, ROWS, INNER, COLUMNS)
        return total[0]

    def by_jax(w: Any, x: Any, b: Any) -> Any:
        return (jnp.tanh(x @ w + b) ** 2).sum()

    arguments = draw(INNER, ROWS), draw(COLUMNS, INNER), draw(ROWS)
    expected = jax.grad(by_jax, (0, 1, 2))(*arguments)
    found = wl.grad(loss, (0, 1, 2))(*arguments)
    for each, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(each, wanted, rtol=1e-4, atol=1e-5)

    def of_values(w: Any) -> Any:
        given = jnp.zeros(1), jnp.zeros((COLUMNS, ROWS))
        return layer.jax(*given, w, *arguments[1:], ROWS, INNER, COLUMNS)[0][0]

    np.testing.assert_allclose(jax.jit(jax.grad(of_values))(arguments[0]), expected[0], rtol=1e-4, atol=1e-5)


def test_host_code_that_looks_at_what_is_traced_is_refused(program: Program) -> None:
    with pytest.raises(LaunchError, match=r"WL0422.*gives a number to the host"):
        jax.jit(lambda x: program["norm_on_host"].jax(x, 3))(jnp.ones(3))
    with pytest.raises(LaunchError, match=r"WL0422.*reads or writes device memory in host code"):
        program["look"].jax(jnp.ones(1), jnp.ones(1))
    # JAX's arrays that are no tracers have contents.
    np.testing.assert_allclose(program["norm_on_host"].jax(jnp.full(4, 2.0), 4), 0.5)
    x = np.full(4, 2, np.float32)
    program["norm_on_host"](x, 4)
    np.testing.assert_allclose(x, 0.5)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("layers", (), "WL0421.*did you mean 'layer'"),
        ("stop", (3,), "WL0421.*ended the program with status 3"),
        ("stop", (1 << 40,), "WL0408"),
        ("halved", (), "WL0402"),
        ("halved", (np.ones(2),), "WL0407"),
        ("look", (np.ones(2), np.ones(2, np.float32)), "WL0401"),
    ],
)
def test_calls_that_do_not_fit_are_told(program: Program, name: str, arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises((CompilationError, LaunchError), match=f"(?s){said}"):
        program[name](*arguments)
