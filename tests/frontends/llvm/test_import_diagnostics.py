"""What can't be imported is refused with a code and the user's line."""

from __future__ import annotations

import numpy as np
import pytest

from windlass.diagnostics import RaisingError
from windlass.frontends.llvm import import_kernel
from windlass.ir.signature import DeviceCode

from .running import compiled, imported, imported_ir

REFUSED = {
    "WL0201": """
        __global__ void kernel(int *x, int n) {
            int i = 0;
            if (n > 5) goto middle;
        top:
            x[i] = x[i + n] * 3;
        middle:
            x[i + 1] += i;
            if (++i < x[n]) goto top;
        }""",
    "WL0202": """
        __device__ int depth(const int *x, int n) {
            return x[n] < 2 ? x[n] : n + depth(x, x[n]) * depth(x, n - 1);
        }
        __global__ void kernel(int *x, int n) { x[0] = depth(x, n); /* HERE */ }""",
    "WL0203": """
        typedef float (*function)(float);
        __device__ float twice(float x) { return 2 * x; }
        __device__ float thrice(float x) { return 3 * x; }
        __device__ function table[2] = {twice, thrice};
        __global__ void kernel(float *x, int n) {
            x[0] = table[n](x[0]);  // HERE
        }""",
    "WL0204": """
        __global__ void kernel(int *x, int n) {
            int *scratch = (int *)malloc(n * 4);  // HERE
            for (int i = 0; i < n; i++) scratch[i] = x[n - i];
            for (int i = 0; i < n; i++) x[i] = scratch[x[i]];
            free(scratch);
        }""",
    "WL0205": """
        __global__ void kernel(unsigned *x) {
            unsigned r;
            asm volatile("vadd4.u32.u32.u32 %0, %1, %1, %1;" : "=r"(r) : "r"(x[0]));  // HERE
            x[1] = r;
        }""",
    "WL0206": """
        __global__ void kernel(float **rows) {
            rows[blockIdx.x][threadIdx.x] = 0;  // HERE
        }""",
    "WL0207": """
        __global__ void kernel(unsigned long long *x) {
            unsigned __int128 p = (unsigned __int128)x[0] * x[1];  // HERE
            x[2] = (unsigned long long)(p >> 64);
        }""",
}


@pytest.mark.parametrize("code", REFUSED)
def test_refusals_name_code_and_line(code: str) -> None:
    source = REFUSED[code]
    with pytest.raises(RaisingError) as caught:
        imported(source)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code, str(diagnostic)
    assert diagnostic.position is not None
    line = source.splitlines()[diagnostic.position.line - 1]
    assert "HERE" in line or code == "WL0201", str(diagnostic)
    assert "kernel" in str(diagnostic)
    assert line.strip()[:20] in str(diagnostic)


def test_irreducible_loops_keep_their_own_code() -> None:
    with pytest.raises(RaisingError, match="entered in several places"):
        imported(REFUSED["WL0201"])


def test_structs_that_hold_pointers_are_refused() -> None:
    source = """
        struct Field { float *data; int n; };
        __global__ void kernel(Field f) { f.data[threadIdx.x] = f.n; }"""
    with pytest.raises(RaisingError, match="WL0206"):
        imported(source)


def test_an_address_used_as_a_number_is_refused() -> None:
    with pytest.raises(RaisingError, match="WL0206"):
        imported("__global__ void kernel(int *x) { x[0] = (int)((size_t)x >> 4); }")


def test_pointers_into_different_arrays_are_not_compared() -> None:
    with pytest.raises(RaisingError, match="WL0206"):
        imported("__global__ void kernel(int *x, int *y) { if (x + y[0] < y) x[0] = 1; }")


def test_unknown_kernels_are_refused_with_those_that_exist() -> None:
    with pytest.raises(RaisingError, match="kernels: _Z6kernelPi"):
        import_kernel(compiled("__global__ void kernel(int *x) { *x = 0; }"), "kernel")


def test_text_that_is_not_llvm_ir_is_refused() -> None:
    with pytest.raises(RaisingError, match="WL0209"):
        import_kernel(DeviceCode("this is no module", ()), "kernel")


def test_calls_that_are_not_known_become_device_calls() -> None:
    from windlass.loops import DeviceCall

    from .running import ops_of

    function = imported_ir(
        """%r = call i32 @mystery(i32 %n, ptr %x)
           store i32 %r, ptr %x
           ret void""",
        "i32 %n, ptr %x",
        "declare i32 @mystery(i32, ptr)",
    )
    (call,) = ops_of(function, DeviceCall)
    assert isinstance(call, DeviceCall)
    assert call.callee == "mystery" and call.result_dtypes == ("i32",)
    assert np.dtype(np.int32) == call.results[0].tensor.numpy_dtype
