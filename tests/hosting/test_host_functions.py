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
#include <cmath>
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

// Conjugate gradients: host code computes with numbers that it gets from the device.
void solve(double *x, const double *a, const double *b, int n, int steps) {
    cublasHandle_t handle;
    cublasCreate(&handle);
    double *r, *p, *q, one = 1, zero = 0;
    size_t bytes = n * sizeof(double);
    cudaMalloc(&r, bytes), cudaMalloc(&p, bytes), cudaMalloc(&q, bytes);
    cudaMemset(x, 0, bytes);
    cudaMemcpy(r, b, bytes, cudaMemcpyDeviceToDevice), cudaMemcpy(p, b, bytes, cudaMemcpyDeviceToDevice);
    double rho, before, pq;
    cublasDdot(handle, n, r, 1, r, 1, &rho);
    for (int i = 0; i < steps; i++) {
        cublasDgemv(handle, CUBLAS_OP_N, n, n, &one, a, n, p, 1, &zero, q, 1);
        cublasDdot(handle, n, p, 1, q, 1, &pq);
        double alpha = rho / pq, minus = -alpha;
        cublasDaxpy(handle, n, &alpha, p, 1, x, 1);
        cublasDaxpy(handle, n, &minus, q, 1, r, 1);
        before = rho;
        cublasDdot(handle, n, r, 1, r, 1, &rho);
        double beta = rho / before;
        cublasDscal(handle, n, &beta, p, 1);
        cublasDaxpy(handle, n, &one, r, 1, p, 1);
    }
    cublasDestroy(handle);
}
double on_host(double *x, int n, double scale) {
    double h[4], sum = 0;
    cudaMemcpy(h, x, n * sizeof(double), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) sum += std::sqrt(std::fabs(h[i])) * scale, h[i] = 2 * h[i] + i;
    cudaMemcpy(x, h, n * sizeof(double), cudaMemcpyHostToDevice);
    return sum;
}
void until_small(float *x, int n) {
    cublasHandle_t handle;
    cublasCreate(&handle);
    float norm = 1, half = 0.5;
    while (norm > 0.75) cublasSscal(handle, n, &half, x, 1), cublasSnrm2(handle, n, x, 1, &norm);
}
void look(float *x, float *y) {
    if (x[0] > 0) cudaMemset(y, 0, sizeof(float));
}
__constant__ float factor;
void set_variable(float *x, float value) { cudaMemcpyToSymbol(factor, &value, sizeof value); }
static float *kept;
void keep(int n) { cudaMalloc(&kept, n * sizeof(float)); }
void use_kept(float *x, int n) { cudaMemcpy(x, kept, n * sizeof(float), cudaMemcpyDeviceToDevice); }
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


def test_what_host_code_computes_with_numbers_of_the_device_has_derivatives(program: Program) -> None:
    n = 4
    m, b, weights = (np.random.default_rng(seed).normal(size=size) for seed, size in enumerate(((n, n), n, n)))

    def system(m: Any) -> Any:
        return m @ m.T + n * np.eye(n)

    def by_gradients(m: Any, b: Any) -> Any:
        return weights @ program["solve"].jax(jnp.zeros(n), system(m), b, n, n)

    def on_host(x: Any, scale: Any) -> Any:
        arrays = [x.copy()]
        return program["on_host"](*arrays, n, scale) + (arrays[0] ** 2).sum()

    def by_hand(x: Any, scale: Any) -> Any:
        return (scale * jnp.sqrt(abs(x))).sum() + ((2 * x + jnp.arange(n)) ** 2).sum()

    with jax.enable_x64(True):
        found = jax.jit(jax.grad(by_gradients, (0, 1)))(m, b)
        expected = jax.grad(lambda m, b: weights @ jnp.linalg.solve(system(m), b), (0, 1))(m, b)
        for each, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(each, wanted, rtol=1e-10)
        wanted = jax.grad(by_hand, (0, 1))(b, 0.5)
    for each, other in zip(wl.grad(on_host, (0, 1))(b, 0.5), wanted, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-10)


def test_host_code_that_needs_what_is_not_known_is_refused(program: Program) -> None:
    until_small = program["until_small"]
    with pytest.raises(LaunchError, match=r"WL0422.*a decision by a number"):
        jax.jit(lambda x: until_small.jax(x, 3))(jnp.ones(3))
    with pytest.raises(LaunchError, match=r"WL0422.*reads or writes device memory in host code"):
        program["look"].jax(jnp.ones(1), jnp.ones(1))
    program["keep"](2)
    for name, number in (("use_kept", 2), ("set_variable", 0.5)):
        with pytest.raises(
            LaunchError, match=r"(?s)WL0422.*a device variable, or memory that another function allocated"
        ):
            program[name].jax(jnp.ones(2), number)
    # JAX's arrays that are no tracers have contents.
    np.testing.assert_allclose(until_small.jax(jnp.ones(4), 4), 0.25)
    x = np.ones(4, np.float32)
    until_small(x, 4)
    np.testing.assert_allclose(x, 0.25)


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
