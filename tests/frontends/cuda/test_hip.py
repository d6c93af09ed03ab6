"""Sources in HIP: names that lead to CUDA's, programs that run as they are, messages in the words of the source."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import windlass as wl
from tests.frontends.cuda.hip_headers import RUNTIME, all_headers, cuda_names
from windlass.command_line.program import run as run_command
from windlass.frontends.cuda.clang import INCLUDE_FOLDER
from windlass.frontends.cuda.hip import hip_names

PROGRAM = r"""
#if !defined(__HIPCC__) || !defined(__HIP_PLATFORM_NVIDIA__) || defined(__HIP_PLATFORM_AMD__)
#error "another platform"
#endif
#include "hip/hip_runtime.h"
#include <hip/hip_bf16.h>
#include <hip/hip_complex.h>
#include <hipblas/hipblas.h>
#include <hipcub/hipcub.hpp>
#include <hiprand/hiprand_kernel.h>
#include <cstdio>

__constant__ float factor;
template <typename T> __global__ void saxpy(const T *x, T *y, int n) {
    int i = hipBlockDim_x * hipBlockIdx_x + hipThreadIdx_x;
    if (i < n) y[i] += factor * x[i];
}
__global__ void sum(const float *x, float *out, int n) {
    HIP_DYNAMIC_SHARED(float, of_warps)
    int i = threadIdx.x;
    float value = i < n ? x[i] : 0;
    for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down(value, offset);
    if (i % warpSize == 0) of_warps[i / warpSize] = value;
    __syncthreads();
    if (i == 0) unsafeAtomicAdd(out, of_warps[0] + of_warps[1]);
}
__global__ void libraries(float *out) {
    using Reduce = hipcub::BlockReduce<float, 64>;
    __shared__ typename Reduce::TempStorage storage;
    float total = Reduce(storage).Sum((float)__hip_bfloat16(1.0f));
    hiprandState state;
    hiprand_init(7, threadIdx.x, 0, &state);
    hipFloatComplex turned = hipCmulf(make_hipFloatComplex(0, 1), make_hipFloatComplex(0, 2));
    if (threadIdx.x == 0) out[0] = total, out[1] = hiprand_uniform(&state) <= 1, out[2] = turned.x;
}
#define CHECK(call) if (hipError_t error = (call)) return printf("%s\n", hipGetErrorName(error))
int main() {
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    const int n = 60;
    float x[n], y[n], two = 2, one = 1, zero = 0, *dx, *dy, *out;
    for (int i = 0; i < n; i++) x[i] = i, y[i] = 1;
    CHECK(hipMalloc(&dx, sizeof x));
    CHECK(hipMalloc((void **)&dy, sizeof y));
    CHECK(hipHostMalloc(&out, 32, hipHostMallocDefault));
    CHECK(hipMemcpy(dx, x, sizeof x, hipMemcpyHostToDevice));
    CHECK(hipMemcpyHtoD(dy, y, sizeof y));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factor), &two, sizeof two));
    hipLaunchKernelGGL(HIP_KERNEL_NAME(saxpy<float>), dim3(1), dim3(64), 0, 0, dx, dy, n);
    out[4] = 0;
    hipLaunchKernelGGL(sum, 1, 64, 2 * sizeof(float), hipStreamDefault, dy, out + 4, n);
    libraries<<<1, 64>>>(out);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    printf("warp %d of %s: %g %g %g %g\n", properties.warpSize, properties.gcnArchName, out[4], out[0], out[1], out[2]);
    hipblasHandle_t handle;
    hipblasCreate(&handle);
    hipblasSgemm(handle, HIPBLAS_OP_N, HIPBLAS_OP_T, 2, 2, 2, &one, dx, 2, dx, 2, &zero, out, 2);
    hipDeviceSynchronize();
    printf("%g %g %s\n", out[0], out[3], hipGetErrorName(hipErrorOutOfMemory));
    CHECK(hipSetDevice(7));
}
"""


def test_programs_run_as_they_are(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "saxpy.hip"
    source.write_text(PROGRAM)
    assert run_command(["run", str(source)]) == len("hipErrorInvalidDevice\n")
    output, errors = capfd.readouterr()
    assert output.splitlines() == [
        "warp 32 of windlass: 3600 64 1 -2",
        "4 10 hipErrorOutOfMemory",
        "hipErrorInvalidDevice",
    ]
    assert errors == ""


def test_kernels_are_raised_from_python() -> None:
    module = wl.cuda.compile("""
        #include <hip/hip_runtime.h>
        struct Own { int x; };
        __device__ Own operator+(Own a, Own b) { return {a.x - b.x}; }
        __global__ void vectors(float4 *x, uchar2 *bytes) {
            int i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x;
            x[i] += 2 * x[i] - make_float4(1, 2, 3, 4) / 2;
            bytes[i] ^= bytes[i] << 1;
            if (x[i] == -x[i] || (Own{1} + Own{1}).x) bytes[i] = make_uchar2(0, 0);
        }""")
    x, data = np.ones((64, 4), np.float32), np.full((64, 2), 7, np.uint8)
    module["vectors"][2, 32](x, data)
    np.testing.assert_array_equal(x, np.tile(np.array([2.5, 2, 1.5, 1], np.float32), (64, 1)))
    np.testing.assert_array_equal(data, 7 ^ 14)


def test_sources_are_in_hip_by_what_they_say() -> None:
    # Thrust's headers bring HIP's runtime to those who speak HIP.
    wl.cuda.compile(
        "#include <thrust/pair.h>\n__global__ void k(float *x) { *x = 1; }\nvoid f() { hipDeviceSynchronize(); }\n"
    )
    either = "#ifdef __HIPCC__\n#include <hip/hip_runtime.h>\n#else\n#include <cuda_runtime.h>\n#endif\n"
    module = wl.cuda.compile(
        either + "__global__ void k(int *x) {\n#ifdef __HIPCC__\n*x = 1;\n#else\n*x = 2;\n#endif\n}"
    )
    x = np.zeros(1, np.int32)
    module["k"][1, 1](x)
    assert x[0] == 2


def test_messages_have_the_names_of_the_source(tmp_path: Path) -> None:
    source = tmp_path / "wrong.cpp"
    source.write_text(
        "#include <hip/hip_runtime.h>\n__global__ void k() {}\n"
        "int main() { float *p; hipMalloc(p, 4); hipWonder(p); hipMemcpyKind k = hipMemcpyHostToNowhere; }\n"
    )
    with pytest.raises(wl.CompilationError) as caught:
        wl.cuda.program(source)
    told = str(caught.value)
    assert "no matching function for call to 'hipMalloc'" in told and "cuda" not in told
    assert "Windlass has HIP's names for what it has of CUDA; hipWonder is none of them" in told
    source.write_text("#include <hip/hip_runtime.h>\n#include <rocprim/rocprim.hpp>\n")
    with pytest.raises(wl.CompilationError, match="belongs to rocPRIM, which Windlass does not have"):
        wl.cuda.program(source)


def test_every_name_of_cuda_has_its_twin() -> None:
    for name, header in all_headers().items():
        assert (INCLUDE_FOLDER / name).read_text() == header, (
            f"{name} is not current: run python -m tests.frontends.cuda.hip_headers"
        )
    text = (INCLUDE_FOLDER / "windlass" / "runtime_api.h").read_text()
    functions = set(re.findall(r"\bcudaError_t (cuda\w+)\(", text))
    assert len(functions) > 100
    own = (INCLUDE_FOLDER / "hip" / "hip_runtime_api.h").read_text()
    known = set(cuda_names(RUNTIME))
    left_out = {name for name in functions - known if not re.search(rf"\b{hip_names(name)[0]}\b", own)}
    assert all(name.startswith("cudaThread") for name in left_out), left_out
