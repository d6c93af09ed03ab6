"""What CUDA's builtins become in LLVM IR: the promises of include/README.md."""

# ruff: noqa: E501 (lines of CUDA source)

from __future__ import annotations

import re

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.frontends.cuda.native import load_kernel
from windlass.frontends.cuda import compile_device
from windlass.ir.signature import DeviceCode

SOURCE = r"""
#include <cassert>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuComplex.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <device_launch_parameters.h>
#include <helper_functions.h>
#include <math_constants.h>
namespace cg = cooperative_groups;
__global__ void registers(unsigned *x) {
    dim3 copy = blockDim; uint3 other = threadIdx;
    x[0] = threadIdx.y + blockIdx.z + gridDim.x + copy.x + other.z + warpSize;
}
__global__ void barriers(int *x) {
    __shared__ int tile[32];
    extern __shared__ float dynamic[];
    tile[threadIdx.x] = x[threadIdx.x]; dynamic[threadIdx.x] = 1;
    __syncthreads(); __syncwarp(); __threadfence(); __threadfence_block(); __threadfence_system();
    x[0] = __syncthreads_count(x[1]) + __syncthreads_and(x[2]) + __syncthreads_or(x[3]) + tile[31 - threadIdx.x] + dynamic[5];
}
__global__ void warps(int *x, double *d, float *f, unsigned long long *u) {
    unsigned all = 0xffffffffu;
    x[0] = __shfl_sync(all, x[0], 3); x[1] = __shfl_up_sync(all, x[1], 1); x[2] = __shfl_down_sync(all, x[2], 1, 16);
    x[3] = __shfl_xor_sync(all, x[3], 1); f[0] = __shfl_down_sync(all, f[0], 2); d[0] = __shfl_xor_sync(all, d[0], 4);
    x[4] = __ballot_sync(all, x[5]) + __any_sync(all, x[6]) + __all_sync(all, x[7]) + __activemask();
    x[8] = __match_any_sync(all, x[8]) + __reduce_add_sync(all, x[9]) + __reduce_max_sync(all, (unsigned)x[10]);
    int agree; x[11] = __match_all_sync(all, u[0], &agree) + agree;
}
__global__ void atomics(int *i, unsigned *u, unsigned long long *w, float *f, double *d, __half *h, __nv_bfloat16 *b) {
    atomicAdd(i, 1); atomicAdd(w, 1ull); atomicAdd(f, 1.0f); atomicAdd(d, 1.0); atomicAdd(h, __half(1)); atomicAdd(b, b[1]);
    atomicSub(i, 2); atomicMin(i, 3); atomicMin(u, 3u); atomicMax(i, 4); atomicMax(u, 4u); atomicAnd(i, 5); atomicOr(i, 6);
    atomicXor(i, 7); i[1] = atomicExch(i, 8); f[1] = atomicExch(f, 2.0f); u[1] = atomicInc(u, 9); u[2] = atomicDec(u, 9);
    i[2] = atomicCAS(i, 1, 2); w[1] = atomicCAS(w, 3ull, 4ull); atomicAdd_block(i, 5); atomicAdd_system(i, 5);
}
__device__ double atomicAdd(double *address, double value, int) { return *address += value; }
__global__ void mathematics(float *f, double *d) {
    f[0] = expf(f[0]) + __expf(f[1]) + sinf(f[2]) + powf(f[3], f[4]) + fmaf(f[5], f[6], f[7]) + sqrtf(f[8]) + tanhf(f[9]);
    d[0] = exp(d[0]) + log(d[1]) + pow(d[2], d[3]) + fma(d[4], d[5], d[6]) + floor(d[7]) + fmod(d[8], d[9]) + fabs(d[10]);
    f[1] = erff(f[0]) + tgammaf(f[1]) + lgammaf(f[2]) + cbrtf(f[3]) + hypotf(f[4], f[5]) + erfcinvf(f[6]) + j0f(f[7]);
    d[1] = erf(d[0]) + erfinv(d[1]) + erfcx(d[2]) + cyl_bessel_i0(d[3]) + acosh(d[4]) + expm1(d[5]) + log1p(d[6]);
    f[2] = max(f[3], f[4]) + fminf(f[5], f[6]) + rintf(f[7]) + roundf(f[8]) + truncf(f[9]) + copysignf(f[10], f[11]);
    sincosf(f[12], &f[13], &f[14]); d[3] = std::sqrt(d[4]) + std::max(d[5], d[6]) + CUDART_PI + CUDART_INF;
}
__global__ void textures(float *f, cudaTextureObject_t t, int i) {
    f[0] = tex1Dfetch<float>(t, i + 16777217); f[1] = tex2D<float>(t, f[2], f[3]); f[4] = __ldg(&f[5]);
}
__global__ void groups(int *x, float *f) {
    cg::thread_block block = cg::this_thread_block(); block.sync();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    f[0] = cg::reduce(tile, f[tile.thread_rank()], cg::plus<float>());
    x[0] = cg::inclusive_scan(tile, x[0]) + tile.shfl_down(x[1], 2) + tile.ballot(x[2]) + cg::coalesced_threads().size();
    cg::this_grid().sync();
}
__global__ void stops(int *x) {
    assert(x[0] > 0); printf("%d %f\n", x[1], 2.5f);
    if (x[2]) __trap();
    x[3] = (int)clock64();
}
__global__ void complex(cuFloatComplex *c) { c[0] = cuCaddf(cuCmulf(c[1], c[2]), cuConjf(c[3])); c[4].x = cuCabsf(c[5]); }
"""


@pytest.fixture(scope="module")
def code() -> DeviceCode:
    return compile_device(SOURCE, name="builtins.cu")


def text(code: DeviceCode, name: str) -> str:
    mangled = next(kernel.mangled for kernel in code.kernels if kernel.name == name)
    match = re.search(rf"^define [^\n]*@{mangled}\(.*?^\}}", code.llvm_ir, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[0]


def called(code: DeviceCode, name: str) -> set[str]:
    return set(re.findall(r"call [^@\n]*@([\w.]+)\(", text(code, name))) - {
        "llvm.lifetime.start.p0",
        "llvm.lifetime.end.p0",
    }


def test_the_module_is_valid(code: DeviceCode) -> None:
    llvm.parse_assembly(code.llvm_ir).verify()


def test_index_variables_are_registers(code: DeviceCode) -> None:
    registers = {f"llvm.nvvm.read.ptx.sreg.{name}" for name in ("tid.y", "tid.z", "ctaid.z", "nctaid.x", "ntid.x")}
    assert called(code, "registers") == registers


def test_barriers_and_fences(code: DeviceCode) -> None:
    assert called(code, "barriers") == {
        "llvm.nvvm.read.ptx.sreg.tid.x",
        "llvm.nvvm.barrier.cta.sync.aligned.all",
        "llvm.nvvm.bar.warp.sync",
        "llvm.nvvm.membar.gl",
        "llvm.nvvm.membar.cta",
        "llvm.nvvm.membar.sys",
        "llvm.nvvm.barrier.cta.red.popc.aligned.all",
        "llvm.nvvm.barrier.cta.red.and.aligned.all",
        "llvm.nvvm.barrier.cta.red.or.aligned.all",
    }
    assert re.search(r"^@\S*tile = internal \S*\s?addrspace\(3\) global \[32 x i32\]", code.llvm_ir, re.MULTILINE)
    assert re.search(r"^@dynamic = external \S*\s?addrspace\(3\) global \[0 x float\]", code.llvm_ir, re.MULTILINE)


def test_warp_intrinsics(code: DeviceCode) -> None:
    shuffles = {f"shfl.sync.{name}" for name in ("idx.i32", "up.i32", "down.i32", "bfly.i32", "down.f32")}
    votes = {"vote.ballot.sync", "vote.any.sync", "vote.all.sync", "activemask"}
    matches = {"match.any.sync.i32", "match.all.sync.i64p", "redux.sync.add", "redux.sync.umax"}
    own = {"__windlass_shfl_sync_bfly_f64"}
    assert called(code, "warps") == {f"llvm.nvvm.{name}" for name in shuffles | votes | matches} | own
    assert "@llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %" in text(code, "warps")
    assert "i32 1, i32 4127)" in text(code, "warps")


def test_atomics_are_instructions(code: DeviceCode) -> None:
    found = re.findall(r"atomicrmw (\w+) ptr %\w+, (\w+)", text(code, "atomics"))
    assert {f"{operation} {kind}" for operation, kind in found} == {
        "add i32", "add i64", "fadd float", "fadd double", "fadd half", "fadd bfloat", "sub i32", "min i32", "umin i32",
        "max i32", "umax i32", "and i32", "or i32", "xor i32", "xchg i32", "uinc_wrap i32", "udec_wrap i32",
    }  # fmt: skip
    assert len(re.findall(r"cmpxchg ptr", text(code, "atomics"))) == 2
    assert called(code, "atomics") == set()


def test_mathematics_is_intrinsics_and_libm_names(code: DeviceCode) -> None:
    found = called(code, "mathematics")
    names = (
        "exp",
        "sin",
        "cos",
        "pow",
        "fma",
        "sqrt",
        "tanh",
        "rint",
        "round",
        "trunc",
        "copysign",
        "maxnum",
        "minnum",
    )
    assert {f"llvm.{name}.f32" for name in names} <= found
    assert {f"llvm.{name}.f64" for name in ("exp", "log", "pow", "fma", "floor", "fabs", "sqrt")} <= found
    single = {"erff", "tgammaf", "lgammaf", "cbrtf", "hypotf", "erfcinvf", "j0f"}
    double = {"erf", "erfinv", "erfcx", "cyl_bessel_i0", "acosh", "expm1", "log1p"}
    assert {name for name in found if not name.startswith("llvm.")} == single | double
    assert "frem double" in text(code, "mathematics")


def test_texture_fetches_keep_whole_indices(code: DeviceCode) -> None:
    assert called(code, "textures") == {"__windlass_texture_float"}
    assert re.search(r"add (?:nsw )?i32 %i, 16777217", text(code, "textures"))


def test_cooperative_groups_are_barriers_and_shuffles(code: DeviceCode) -> None:
    found = called(code, "groups")
    assert {"llvm.nvvm.barrier.cta.sync.aligned.all", "llvm.nvvm.shfl.sync.bfly.f32", "__windlass_grid_sync"} <= found
    assert all(name.startswith(("llvm.", "__windlass_")) for name in found)


def test_assertions_prints_and_traps_are_calls(code: DeviceCode) -> None:
    assert called(code, "stops") == {"__windlass_assert_fail", "vprintf", "__windlass_trap", "__windlass_clock"}
    assert "unreachable" not in text(code, "stops")


def test_positions_of_builtins_are_the_users(code: DeviceCode) -> None:
    """Nothing inlined from the headers has a position in them."""
    files = {match[1] for match in re.finditer(r'!DIFile\(filename: "([^"]*)"', code.llvm_ir)}
    scopes = re.findall(r'distinct !DISubprogram\(name: "([^"]*)"', code.llvm_ir)
    assert "builtins.cu" in files
    assert not [name for name in scopes if name.startswith("__")]


def test_half_precision_rounds_each_operation() -> None:
    source = """
    #include <cuda_fp16.h>
    __global__ void f(const __half *x, __half2 *y, float *out) {
        out[0] = __half2float(x[0] * x[1] + x[2]);
        out[1] = __half2float(__float2half_rz(0.1f)); out[2] = __half2float(__float2half_ru(0.1f));
        out[3] = __half2float(__float2half_rd(-0.1f)); out[4] = __half2float(__float2half_rz(1e6f));
        out[5] = x[0] > x[1]; out[6] = __hisnan(x[3]); out[7] = __half2float(__hmax(x[3], x[0]));
        out[8] = __half2int_rz(__half(-2.7f)); out[9] = __low2float(__hadd2(y[0], y[0]));
        out[10] = __half_as_ushort(x[0]); out[11] = (float)(x[0] / x[1]); out[12] = __half2float(__float2half_rd(1e-9f));
        out[13] = __half2float(__float2half_ru(1e-9f)); out[14] = (float)__hneg(x[0]); out[15] = x[0] <= x[0];
    }
    """
    kernel = load_kernel(compile_device(source), "f")
    x = np.array([3.1, 0.7, 1 / 3, np.nan], np.float16)
    y = np.array([1.5, 2.5], np.float16)
    out = np.zeros(16, np.float32)
    kernel(x, y, out)
    tenth = np.float16(0.1)
    below = tenth if tenth <= 0.1 else np.nextafter(tenth, np.float16(0))
    above = np.nextafter(below, np.float16(1))
    expected = [
        x[0] * x[1] + x[2], below, above, -above, 65504, 1, 1, x[0], -2, 3,
        x[:1].view("u2")[0], x[0] / x[1], 0, np.finfo(np.float16).smallest_subnormal, -x[0], 1,
    ]  # fmt: skip
    np.testing.assert_array_equal(out, np.array(expected, np.float32))
