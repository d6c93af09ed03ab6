"""What goes into clang and what comes out: paths, includes, macros, positions, loops, the precompiled header."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import llvmlite.binding as llvm
import pytest

from windlass.diagnostics import WindlassWarning
from windlass.diagnostics.cache import cache_directory
from windlass.frontends.cuda import compile_device, find_kernel
from windlass.frontends.cuda.child import Outcome
from windlass.frontends.cuda.clang import run_clang

HEAT = """\
__global__ void heat(int n, const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1)
        out[i] = in[i] + 0.5f * (in[i - 1] - 2 * in[i] + in[i + 1]);
}
"""


def body(llvm_ir: str, mangled: str) -> str:
    """The text of one function."""
    match = re.search(rf"^define [^\n]*@{mangled}\(.*?^\}}", llvm_ir, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[0]


def test_llvmlite_parses_and_verifies_the_module() -> None:
    module = llvm.parse_assembly(compile_device(HEAT).llvm_ir)
    module.verify()
    assert "_Z4heatiPKfPf" in [function.name for function in module.functions]


def test_every_operation_has_a_position_in_the_users_file() -> None:
    llvm_ir = compile_device(HEAT).llvm_ir
    operations = [line for line in body(llvm_ir, "_Z4heatiPKfPf").splitlines()[2:-1] if line.startswith("  ")]
    assert operations
    assert all("!dbg" in line or line.strip().startswith(";") for line in operations)
    assert 'filename: "<source>"' in llvm_ir
    assert re.search(r"!DILocation\(line: 2, column: 13,", llvm_ir)


def test_metadata_that_nothing_needs_is_dropped() -> None:
    llvm_ir = compile_device(HEAT).llvm_ir
    assert "DIImportedEntity" not in llvm_ir
    assert "#dbg_value" not in llvm_ir
    assert len(llvm_ir.splitlines()) < 200


def test_loops_stay_loops_and_scalars_stay_scalars() -> None:
    source = """
    __global__ void sum(const float *x, float *y) {
        float total = 0;
        for (int i = 0; i < 64; ++i) total += x[64 * threadIdx.x + i];
        y[threadIdx.x] = total;
    }
    __global__ void clear(float *x) { for (int i = 0; i < 100; ++i) x[i] = 0; }
    """
    code = compile_device(source)
    text = body(code.llvm_ir, "_Z3sumPKfPf")
    assert text.count("fadd float") == 1
    assert " x float>" not in text
    assert "memset" not in code.llvm_ir


def test_products_and_sums_are_fused_only_on_request() -> None:
    source = "__global__ void f(float *x) { x[0] = x[1] * x[2] + x[3]; }"
    assert "contract" not in compile_device(source).llvm_ir
    assert "fmul contract float" in compile_device(source, fast_math=True).llvm_ir


def test_paths_includes_and_macros_are_used(tmp_path: Path) -> None:
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "far.h").write_text("#define FAR 5\n")
    (tmp_path / "near.h").write_text("#define NEAR 7\n")
    file = tmp_path / "kernel.cu"
    file.write_text('#include "near.h"\n#include <far.h>\n__global__ void f(int *x) { *x = NEAR * FAR * N + M(2); }\n')
    code = compile_device(file, include=[tmp_path / "headers"], define={"N": 10, "M(x)": "(x * x)", "EMPTY": None})
    assert "store i32 354" in code.llvm_ir
    assert code.source_text == {}
    position = code.kernels[0].position
    assert position is not None
    assert (position.file, position.line, position.column) == (str(file), 3, 17)
    assert compile_device(str(file), include=str(tmp_path / "headers"), define={"N": 10, "M(x)": "x"}).kernels


def test_macros_of_the_user_do_not_reach_our_headers() -> None:
    code = compile_device("__global__ void f(int *x) { *x = value + T; }", define={"value": 1, "T": 2, "lane": 3})
    assert "store i32 3" in code.llvm_ir


def test_launches_spelled_with_spaces_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "spaces.cu"
    file.write_text("__global__ void f(int *x) { *x = 1; }\nvoid run(int *x) { f<< <1, 32>> >(x); }\n")
    assert compile_device(file).kernels[0].name == "f"


def test_host_code_of_whole_programs_is_parsed() -> None:
    source = """
    #include <cstdio>
    #include <vector>
    #include <iostream>
    #include <algorithm>
    #include <cuda_runtime.h>
    #include <helper_cuda.h>
    __constant__ float c[4];
    template <class T> __global__ void fill(T *x, T v, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] = v * c[0];
    }
    int main(int argc, char **argv) {
        std::vector<float> host(1024);
        float *device;
        checkCudaErrors(cudaMalloc(&device, host.size() * sizeof(float)));
        cudaMemcpyToSymbol(c, host.data(), sizeof(c));
        cudaEvent_t start, stop;
        cudaEventCreate(&start); cudaEventCreate(&stop); cudaEventRecord(start);
        cudaStream_t stream; cudaStreamCreate(&stream);
        fill<<<dim3(4), 256, 0, stream>>>(device, 2.0f, 1024);
        void *arguments[] = {&device};
        cudaLaunchKernel((void *)fill<double>, dim3(1), dim3(1), arguments, 0, 0);
        cudaMemcpy(host.data(), device, 4096, cudaMemcpyDeviceToHost);
        cudaDeviceProp properties; cudaGetDeviceProperties(&properties, 0);
        std::cout << properties.name << std::endl;
        std::sort(host.begin(), host.end());
        printf("%f %s\\n", host[0], cudaGetErrorString(cudaGetLastError()));
        return cudaFree(device) == cudaSuccess ? 0 : 1;
    }
    """
    assert sorted(kernel.name for kernel in compile_device(source).kernels) == ["fill<double>", "fill<float>"]


def test_local_functions_are_inlined() -> None:
    source = """
    __device__ __noinline__ float inner(float x) { return x * x; }
    __device__ float outer(float x) { float s = 0; for (int i = 0; i < 9; ++i) s += inner(x + i); return s; }
    __global__ void f(float *x) { x[threadIdx.x] = outer(x[threadIdx.x]) + outer(1 + x[0]); }
    """
    assert " call float @" not in body(compile_device(source).llvm_ir, "_Z1fPf")


def test_compiling_without_a_writable_cache_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("WINDLASS_CACHE", str(blocked))
    with pytest.warns(WindlassWarning, match="WL0706"):
        assert find_kernel(compile_device(HEAT), "heat").name == "heat"


def test_the_cache_follows_its_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_CACHE", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"
    monkeypatch.delenv("WINDLASS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "windlass"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "windlass"
    assert all(place.stat().st_mode & 0o777 == 0o700 for place in (tmp_path / "windlass", cache_directory()))


def test_concurrent_compilations_share_one_precompiled_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_CACHE", str(tmp_path))
    names: list[str] = []
    threads = [threading.Thread(target=lambda: names.append(compile_device(HEAT).kernels[0].name)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == ["heat"] * 3
    assert [path.suffix for path in (tmp_path / "headers").iterdir()] == [".pch"]


def test_a_damaged_precompiled_header_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_CACHE", str(tmp_path))
    compile_device(HEAT)
    (header,) = (tmp_path / "headers").iterdir()
    header.write_bytes(b"not a header")
    assert compile_device(HEAT).kernels[0].name == "heat"
    assert compile_device(HEAT).kernels[0].name == "heat"


def test_a_small_file_is_compiled_by_two_short_runs_of_clang_when_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """One reads it after the precompiled header, which takes 0.1 s where all headers take 1.2, one optimizes."""
    compile_device(HEAT)
    runs: list[Sequence[str]] = []

    def run(arguments: Sequence[str], seconds: float | None = None) -> Outcome:
        runs.append(arguments)
        return run_clang(arguments, seconds)

    monkeypatch.setattr("windlass.frontends.cuda.compilation.run_clang", run)
    compile_device(f"{HEAT}// not compiled before: {uuid4()}")
    assert ["-include-pch" in run for run in runs] == [True, False]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("standard", ["gnu++17", "c++17"])
def test_bodies_that_the_c_library_brings_for_older_standards_are_left_out(standard: str) -> None:
    source = '__global__ void say(int x) { printf("%d", x); }'
    llvm_ir = compile_device(f"#include <cstdio>\n{source}", standard=standard).llvm_ir
    llvm.parse_assembly(llvm_ir).verify()
    assert re.search(r"^declare i32 @vprintf\(ptr", llvm_ir, re.MULTILINE)
