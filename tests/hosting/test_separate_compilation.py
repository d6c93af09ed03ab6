"""Programs of several sources whose device code names one another's functions and variables."""

from __future__ import annotations

from pathlib import Path

import pytest

import windlass as wl
from windlass.command_line.program import run as run_command

HEADER = """
#pragma once
struct Pair { float a, b; };
extern __device__ int calls;
extern __constant__ float weights[4];
__device__ float combine(Pair p, int k);
extern "C" __device__ int thousands(int x);
namespace deep { struct Scale { float by; __device__ float of(float) const; }; }
static __constant__ float own;
static __global__ void twice(float *x) { x[threadIdx.x] *= 2 * own; }
void set_theirs(float x, float *d);
"""
MAIN = r"""
#include <cstdio>
#include "shared.h"
__global__ void run(float *x, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    x[i] = combine(Pair{x[i], own}, i) + thousands(i) + deep::Scale{2}.of(x[i]);
    atomicAdd(&calls, 1);
}
__global__ void local(float *x) { x[threadIdx.x] += weights[0]; }
int main() {
    float h[4] = {1, 2, 3, 4}, *d, w[4] = {10, 20, 30, 40}, half = 0.5f;
    cudaMalloc(&d, 16);
    cudaMemcpy(d, h, 16, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(weights, w, 16);
    cudaMemcpyToSymbol(own, &half, 4);
    set_theirs(100, d);
    run<<<1, 32>>>(d, 4);
    local<<<1, 4>>>(d);
    twice<<<1, 1>>>(d);
    cudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost);
    int seen;
    cudaMemcpyFromSymbol(&seen, calls, 4);
    printf("%g %g %g %g %d %s\n", h[0], h[1], h[2], h[3], seen, cudaGetErrorName(cudaGetLastError()));
}
"""
OTHER = """
#include "shared.h"
__device__ int calls = 5;
__constant__ float weights[4];
__device__ float combine(Pair p, int k) { return p.a * p.b + weights[k] + own; }
extern "C" __device__ int thousands(int x) { return x * 1000; }
namespace deep { __device__ float Scale::of(float x) const { return by * x; } }
void set_theirs(float x, float *d) {
    cudaMemcpyToSymbol(own, &x, 4);
    twice<<<1, 1>>>(d + 3);
}
"""


def write(folder: Path, **texts: str) -> list[Path]:
    (folder / "shared.h").write_text(HEADER)
    sources = [folder / f"{name}.cu" for name in texts]
    for source, text in zip(sources, texts.values(), strict=True):
        source.write_text(text)
    return sources


@pytest.mark.parametrize("mode", ["raised", "emulated"])
def test_functions_variables_and_what_is_static(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], mode: wl.cuda.Mode
) -> None:
    program = wl.cuda.program(*write(tmp_path, main=MAIN, other=OTHER), mode=mode)
    how: set[str] = set()
    for _ in range(2):
        assert program.run(observe=lambda launch: how.add(launch.how)) == 0
        # x[3] is 4 * 2 * 100 at first, and each unit has its own `own`: 0.5 in main, 100 in the other.
        wanted = [x * 0.5 + 10 * (i + 1) + 100 + 1000 * i + 2 * x + 10 for i, x in enumerate((1, 2, 3, 800))]
        assert capfd.readouterr().out == " ".join(f"{x:g}" for x in wanted) + " 9 cudaSuccess\n"
    assert how == {mode}


def test_a_function_that_no_source_defines_is_named_with_its_user(tmp_path: Path) -> None:
    main = """
__device__ float nowhere(float x);
namespace far { extern __device__ int away; }
__global__ void use(float *x) { *x = nowhere(*x) + far::away; }
int main() { use<<<1, 1>>>(nullptr); }
"""
    with pytest.raises(wl.diagnostics.CompilationError) as caught:
        wl.cuda.program(*write(tmp_path, main=main))
    first, second = caught.value.diagnostics
    assert first.code == second.code == "WL0120"
    assert first.headline == f"device code: 'nowhere' is used in '{tmp_path / 'main.cu'}', and defined nowhere"
    assert "'far::away' is used in" in second.headline


def test_a_function_that_two_sources_define_is_named_with_both(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sources = write(tmp_path, main=MAIN, other=OTHER, third="__device__ float same() { return 1; }")
    sources[1].write_text(OTHER + "__device__ float same() { return 2; }")
    assert run_command(["run", *map(str, sources)]) == 1
    error = capfd.readouterr().err
    assert "error[WL0120]: device code: 'same' is defined in" in error
    assert "other.cu' and in" in error and "third.cu'" in error
