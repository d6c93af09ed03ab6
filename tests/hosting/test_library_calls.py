"""Programs that call CUDA's libraries: compiled, linked and run as they are, with each call seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import CompilationError

CUBLAS = r"""
#include <cstdio>
#include <vector>
#include <cublas_v2.h>

__global__ void fill(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = i % 7;
}

int main() {
    const int m = 3, n = 2, k = 4;
    float *a, *b, *c, h[6], one = 1, two = 2, zero = 0;
    cudaMalloc(&a, m * k * sizeof(float)), cudaMalloc(&b, k * n * sizeof(float)), cudaMalloc(&c, m * n * sizeof(float));
    fill<<<1, 32>>>(a, m * k);
    fill<<<1, 32>>>(b, k * n);
    cudaMemset(c, 0xff, m * n * sizeof(float));
    cublasHandle_t handle;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    printf("%d ", cublasCreate(&handle));
    printf("%d ", cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, m, b, k, &zero, c, m));
    printf("%d:", cublasGetVector(m * n, sizeof(float), c, 1, h, 1));
    for (float x : h) printf(" %g", x);
    cudaStreamCreate(&stream);
    cublasSetStream(handle, stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cublasSscal_64(handle, m * n, &two, c, 1);
    cudaStreamEndCapture(stream, &graph);
    two = 100;
    cudaGraphInstantiate(&executable, graph, 0, 0, 0);
    cudaGraphLaunch(executable, stream), cudaGraphLaunch(executable, stream);
    cublasSetStream(handle, 0);
    float sum;
    cublasSasum(handle, m * n, c, 1, &sum);
    printf("\n%g %s\n", sum, cublasGetStatusString(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, m, b,
                                                               k, &zero, c, m + 1)));
    return cublasDestroy(handle);
}
"""


def test_calls_of_libraries_become_tensor_programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "product.cu"
    source.write_text(CUBLAS)
    seen: list[tuple[str, str]] = []
    products: list[object] = []

    def observe(record: wl.cuda.LaunchRecord) -> None:
        seen.append((record.kernel, record.how))
        if record.kernel == "cublasSgemm":
            products.extend(np.array(record.arrays[name]) for name in "ABC")

    assert wl.cuda.program(source).run(observe=observe) == 0
    out, err = capfd.readouterr()
    a = (np.arange(12) % 7).reshape(3, 4, order="F")
    b = (np.arange(8) % 7).reshape(4, 2, order="F")
    expected = " ".join(str(value) for value in (a @ b).ravel(order="F"))
    assert out == f"0 0 0: {expected}\n{4 * (a @ b).sum()} the function failed to launch on the GPU\n"
    assert "cublasSgemm: 'C' needs 28 bytes, and its allocation of 24 bytes has 24 there" in err
    calls = ["cublasSgemm", "cublasGetVector", "cublasSscal", "cublasSscal", "cublasSasum"]
    assert [name for name, how in seen if how == "library"] == calls
    for found, wanted in zip(products, (a, b, a @ b), strict=True):
        np.testing.assert_array_equal(found, wanted)  # pyright: ignore[reportArgumentType]


def test_routine_that_is_not_there_is_named_at_the_link(tmp_path: Path) -> None:
    source = tmp_path / "missing.cu"
    source.write_text('extern "C" int cublasSmagic(int n);\nint main() { return cublasSmagic(3); }')
    with pytest.raises(CompilationError, match=r"(?s)WL0109.*cublasSmagic.*docs/guides/libraries.md"):
        wl.cuda.program(source)


LEGACY = r"""
#include <cstdio>
#include <cublas.h>

int main() {
    double h[4] = {1, 2, 3, 4}, *a, *b;
    cuDoubleComplex z[2] = {{1, 2}, {3, -1}}, *x;
    cuComplex w[2] = {{1, 2}, {3, -1}}, *y;
    cublasInit();
    cublasAlloc(4, sizeof(double), (void **)&a), cublasAlloc(4, sizeof(double), (void **)&b);
    cublasAlloc(2, sizeof(cuDoubleComplex), (void **)&x), cublasAlloc(2, sizeof(cuComplex), (void **)&y);
    cublasSetMatrix(2, 2, sizeof(double), h, 2, a, 2);
    cublasSetVector(2, sizeof *z, z, 1, x, 1), cublasSetVector(2, sizeof *w, w, 1, y, 1);
    cublasDgemm('N', 't', 2, 2, 2, 2.0, a, 2, a, 2, 0.0, b, 2);
    cublasGetMatrix(2, 2, sizeof(double), b, 2, h, 2);
    printf("%g %g %g %g, %g %d\n", h[0], h[1], h[2], h[3], cublasDdot(4, a, 1, a, 1), cublasIdamax(4, b, 1));
    cuDoubleComplex product = cublasZdotc(2, x, 1, x, 1);
    cublasZscal(2, make_cuDoubleComplex(0, 1), x, 1);
    cublasCscal(2, make_cuComplex(0, 1), y, 1);
    cuDoubleComplex sum = cublasZdotu(2, x, 1, x, 1);
    cuComplex other = cublasCdotu(2, y, 1, y, 1);
    printf("%g %g, %g %g, %g %g, %g\n", product.x, product.y, sum.x, sum.y, other.x, other.y, cublasDznrm2(2, x, 1));
    cublasDtrmm('L', 'U', 'N', 'N', 2, 2, 1.0, a, 2, b, 2);
    printf("%d ", cublasGetError());
    cublasDgemm('X', 'N', 2, 2, 2, 2.0, a, 2, a, 2, 0.0, b, 2);
    printf("%d %d\n", cublasGetError(), cublasGetError());
    cublasFree(a);
    return cublasShutdown();
}
"""


def test_interface_without_handles(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "older.cu"
    source.write_text(LEGACY)
    assert wl.cuda.program(source).run() == 0
    out, err = capfd.readouterr()
    a = np.array([[1, 3], [2, 4]])
    product = " ".join(f"{value:g}" for value in (2 * a @ a.T).ravel(order="F"))
    z = np.array([1 + 2j, 3 - 1j])
    total = (1j * z) @ (1j * z)
    assert out.splitlines() == [
        f"{product}, 30 4",
        f"15 0, {total.real:g} {total.imag:g}, {total.real:g} {total.imag:g}, {15**0.5:g}",
        "0 7 0",
    ]
    assert "cublasDgemm: 'X' is none of the values of Operation" in err
