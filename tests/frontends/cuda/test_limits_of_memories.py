"""What a source declares has to fit a device, as ptxas demands."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl

BODY = "s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = s[threadIdx.x ^ 1];"


def test_shared_variables_have_48_kib() -> None:
    with pytest.raises(wl.CompilationError) as caught:
        wl.cuda.compile(f"__global__ void k(float *x) {{\n    __shared__ float s[262144];\n    {BODY}\n}}")
    assert str(caught.value) == (
        "error[WL0210]: kernel 'k' uses too much shared data: 1048576 bytes, the most is 49152\n"
        " --> <source>:2:22\n"
        "   |\n"
        " 2 |     __shared__ float s[262144];\n"
        "   |                      ^\n"
        "  note: 's' has 1048576 bytes\n"
        "  help: declare it extern __shared__ and give its size at the launch: kernel[grid, block, bytes](...)"
    )
    x = np.arange(4, dtype=np.float32)
    wl.cuda.compile(f"__global__ void k(float *x) {{ __shared__ float s[12288]; {BODY} }}")["k"][1, 4](x)
    assert x.tolist() == [1, 0, 3, 2]


def test_shared_variables_of_functions_and_files_count_too() -> None:
    source = f"""
    __shared__ int q[2];
    template <int n> __device__ void swap(float *x) {{ __shared__ float s[n]; {BODY} }}
    template <int n> __global__ void k(float *x) {{
        q[threadIdx.x & 1] = 1; __syncthreads(); x[1] = q[0]; swap<n>(x);
    }}
    template __global__ void k<12286>(float *);
    template __global__ void k<4>(float *);
    """
    assert wl.cuda.compile(source)["k<4>"].signature.shared_bytes == 24
    with pytest.raises(wl.CompilationError, match=r"WL0210.*kernel 'k<12287>'[^$]*'q' has 8 bytes"):
        wl.cuda.compile(source.replace("12286", "12287"))


def test_static_and_dynamic_shared_memory_have_227_kib_together() -> None:
    source = (
        f"extern __shared__ float d[]; __global__ void k(float *x) {{ __shared__ float s[12288]; d[0] = 1; {BODY} }}"
    )
    kernel = wl.cuda.compile(source)["k"]
    assert kernel[1, 1, 232_448 - 49_152] is not None
    with pytest.raises(wl.LaunchError, match=r"WL0403.*its __shared__ variables have 49152"):
        kernel[1, 1, 232_448 - 49_151]


def test_constant_variables_have_64_kib() -> None:
    source = "__constant__ float c[16384]; __global__ void k(float *x) { x[0] = c[threadIdx.x]; }"
    wl.cuda.compile(source)
    with pytest.raises(wl.CompilationError, match=r"WL0211.*65540 bytes, the most is 65536"):
        wl.cuda.compile(source.replace("16384", "16385"))


def test_parameters_have_32764_bytes() -> None:
    source = "struct S { int a[N]; }; __global__ void k(int *x, S s) { x[0] = s.a[threadIdx.x]; }"
    wl.cuda.compile(source, define={"N": 8189})
    with pytest.raises(wl.CompilationError, match=r"WL0212.*32768 bytes, the most is 32764"):
        wl.cuda.compile(source, define={"N": 8190})
