"""Kernels as PTX: the text of small ones, what launches rely on, what is refused, and what NVIDIA's ptxas says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import windlass as wl
from tests.programs.program import PROGRAMS
from tests.programs.test_programs import compiled
from windlass.numba import cuda as numba_cuda

from .ptxas import assemble, find_ptxas, needs_ptxas

SAXPY = """
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""

SUM = """
struct Scale { double factor; short shift; };
__constant__ float weights[4];
__device__ int launches;
extern __shared__ float partial[];
template <class T> __global__ void __launch_bounds__(256, 2) sum(const T *x, T *total, Scale scale, char flag) {
    partial[threadIdx.x] = x[threadIdx.x] * weights[threadIdx.x % 4] * (float)scale.factor;
    __syncthreads();
    if (threadIdx.x == 0) {
        T sum = 0;
        for (int i = 0; i < (int)blockDim.x; i++) sum += partial[i];
        atomicAdd(total, sum);
        atomicAdd(&launches, flag + scale.shift);
    }
}
template __global__ void sum<float>(const float *, float *, Scale, char);
__global__ void other(float *x) { x[0] = expf(x[0]); }
"""


def lines_of(text: str) -> list[str]:
    """The lines of PTX without comments and space around."""
    return [line for line in (line.partition("//")[0].strip() for line in text.splitlines()) if line]


def test_text_of_a_small_kernel() -> None:
    text = lines_of(wl.cuda.compile(SAXPY)["saxpy"].ptx(sm=90))
    assert text[:8] == [
        ".version 7.8",
        ".target sm_90",
        ".address_size 64",
        ".visible .entry saxpy(",
        ".param .f32 saxpy_param_0,",
        ".param .u64 .ptr .align 1 saxpy_param_1,",
        ".param .u64 .ptr .align 1 saxpy_param_2,",
        ".param .u32 saxpy_param_3",
    ]
    names = [re.match(r"(?:@!?%p\d+\s+)?([a-z0-9_.]+)\s", f"{line} ") for line in text]
    done = [match[1] for match in names if match and not match[1].startswith(".")]
    # A product and a sum that each round, as they are written: nothing for ptxas to fuse.
    assert [name for name in done if name.endswith("f32") and name[:2] != "ld"] == ["mul.rn.f32", "add.rn.f32"]
    assert done.count("ld.global.b32") == 2 and done.count("st.global.b32") == 1 and done.count("bra") == 1


def test_products_and_sums_are_contracted_where_the_user_allows_it() -> None:
    text = wl.cuda.compile(SAXPY, allow_contraction=True)["saxpy"].ptx()
    assert "fma.rn.f32" in text and not re.search(r"(mul|add)\S*\.f32", text)


def test_kernel_has_the_entry_the_parameters_and_the_variables_that_nvcc_gives_it() -> None:
    module = wl.cuda.compile(SUM)
    kernel = module["sum<float>"]
    text = kernel.ptx(sm=80)
    entry = re.search(r"\.visible \.entry (\w+)\((.*?)\)\s*(.*?)\{", text, re.DOTALL)
    assert entry is not None and entry[1] == kernel.signature.mangled
    parameters = [" ".join(line.split()[:-1]) for line in entry[2].replace(",", "").strip().splitlines()]
    pointer = ".param .u64 .ptr .align 1"
    assert [each.split("_param")[0].strip() for each in parameters[:2]] == [pointer] * 2
    assert re.search(r"\.param \.align 8 \.b8 \w+_param_2\[16\]", entry[2])
    assert re.search(r"\.param \.[us]8 \w+_param_3", entry[2])
    assert entry[3].split() == [".maxntid", "256", ".minnctapersm", "2"]
    assert ".visible .const .align 4 .b8 weights[16]" in text and ".visible .global .align 4 .u32 launches" in text
    assert ".extern .shared .align 4 .b8 partial[];" in text
    # Other kernels are not in it, nor what debuggers want to know.
    assert text.count(".entry") == 1 and ".loc" not in text and ".section" not in text


def test_lines_of_the_source_are_told_where_they_are_asked_for() -> None:
    text = wl.cuda.compile(SAXPY)["saxpy"].ptx(line_info=True)
    assert re.search(r"\.loc\s+1 4 ", text) and '"<source>"' in text and "debug_info" not in text


def test_kernels_of_python_and_of_raw_text_become_ptx() -> None:
    @numba_cuda.jit
    def scale(x: Any, factor: Any) -> None:
        i = numba_cuda.grid(1)
        if i < x.size:
            x[i] *= factor

    text, result = numba_cuda.compile_ptx(scale.py_func, "void(float32[::1], float32)", cc=(8, 6))
    assert ".target sm_86" in text and text.count(".entry") == 1 and "mul.rn.f32" in text
    assert str(result) == "none"

    import windlass.cupy as cp

    assert ".entry saxpy(" in cp.RawKernel(SAXPY, "saxpy").ptx(sm=75)


def test_what_has_no_ptx_is_refused_with_its_line() -> None:
    source = """
    __global__ void look(cudaTextureObject_t t, float *y) {
        y[0] = tex1Dfetch<float>(t, 3);
    }"""
    with pytest.raises(
        wl.WindlassError, match=r"(?s)WL1601.*'look' can't become PTX: it reads a texture.*:3:\d"
    ) as told:
        wl.cuda.compile(source)["look"].ptx()
    assert told.value.diagnostics[0].help


@pytest.mark.parametrize("sm", [91, "volta", 35])
def test_unknown_architectures_are_refused(sm: Any) -> None:
    with pytest.raises(wl.WindlassError, match=r"(?s)WL1602.*sm is one of 70"):
        wl.cuda.compile(SAXPY)["saxpy"].ptx(sm=sm)


@needs_ptxas
@pytest.mark.one_in(80)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_ptxas_takes_the_programs(program: Any, tmp_path: Path) -> None:
    kernel = compiled(program.source)[program.kernel]
    if kernel.texture_uses:
        with pytest.raises(wl.WindlassError, match="WL1601"):
            kernel.ptx()
        return
    assert find_ptxas() is not None
    assemble(kernel.ptx(sm=80), 80, tmp_path)
