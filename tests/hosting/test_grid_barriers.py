"""Programs whose blocks meet at barriers across the grid: raised at once, since the emulator runs blocks in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

import windlass as wl

COOPERATIVE = r"""
#include <cstdio>
#include <cooperative_groups.h>
namespace groups = cooperative_groups;

__device__ int twice(int x) { return 2 * x; }
__device__ void meet() { groups::this_grid().sync(); }
__global__ void turn(int *x, int *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = twice(i);
    meet();
    y[i] = x[n - 1 - i];
}
__global__ void plain(int *y) { y[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

int main(int count, char **) {
    int n = 128, blocks = count > 1 ? 1 : 4, *x, *y, total = 0, first = 0;
    cudaMallocManaged(&x, n * sizeof(int));
    cudaMallocManaged(&y, n * sizeof(int));
    void *arguments[] = {&x, &y, &n};
    cudaError_t error = cudaLaunchCooperativeKernel(turn, blocks, n / blocks, arguments);
    if (!error) error = cudaDeviceSynchronize();
    plain<<<4, 32>>>(y);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) total += y[i] == 2 * (n - 1 - i) + 1;
    printf("%s %d %d\n", cudaGetErrorName(error), total, y[0]);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> wl.cuda.Program:
    source = tmp_path_factory.mktemp("cooperative") / "turn.cu"
    source.write_text(COOPERATIVE)
    return wl.cuda.program(source)


def test_kernel_with_a_grid_barrier_is_raised_at_once(
    program: wl.cuda.Program, capfd: pytest.CaptureFixture[str]
) -> None:
    program.mode = "auto"
    how: dict[str, str] = {}
    assert program.run(observe=lambda launch: how.update({launch.kernel: launch.how})) == 0
    assert capfd.readouterr().out == "cudaSuccess 128 255\n"
    assert how == {"turn": "raised", "plain": "emulated"}


def test_emulator_says_that_it_has_no_grid_barrier(program: wl.cuda.Program, capfd: pytest.CaptureFixture[str]) -> None:
    program.mode = "emulated"
    assert program.run() == 0
    out, err = capfd.readouterr()
    assert out == "cudaErrorNotSupported 1 1\n"  # of zeros and ones: the kernel's second half is missing
    assert "error[WL0611]: the emulator runs blocks one after another" in err
    assert "turn.cu:7:" in err and "__device__ void meet()" in err and "in kernel turn" in err


def test_emulator_has_grid_barriers_of_one_block(program: wl.cuda.Program, capfd: pytest.CaptureFixture[str]) -> None:
    program.mode = "auto"
    how: dict[str, str] = {}
    program.run(["one block"], observe=lambda launch: how.update({launch.kernel: launch.how}))
    assert capfd.readouterr().out == "cudaSuccess 128 255\n"
    assert how["turn"] == "emulated"


def test_warning_says_what_a_kernel_with_a_grid_barrier_lacks(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "prints.cu"
    source.write_text(COOPERATIVE.replace("    meet();", '    if (x[i] < 0) printf("negative");\n    meet();'))
    assert wl.cuda.program(source).run() == 0
    out, err = capfd.readouterr()
    assert out == "cudaSuccess 128 255\n"
    assert "warning[WL0412]: turn is raised for its barrier across the grid: it prints, which only the emulator" in err


def test_error_says_why_a_kernel_with_a_grid_barrier_was_not_raised(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "pointers.cu"
    source.write_text(r"""
#include <cstdio>
#include <cooperative_groups.h>
__global__ void keep(int **kept, int *x) {
    kept[blockIdx.x] = x + blockIdx.x;
    cooperative_groups::this_grid().sync();
    *kept[gridDim.x - 1 - blockIdx.x] = blockIdx.x;
}
int main() {
    int **kept, *x;
    cudaMalloc(&kept, 4 * sizeof(int *));
    cudaMalloc(&x, 4 * sizeof(int));
    void *arguments[] = {&kept, &x};
    cudaLaunchCooperativeKernel(keep, 4, 1, arguments);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
""")
    wl.cuda.program(source).run()
    out, err = capfd.readouterr()
    assert out == "cudaErrorNotSupported\n"
    assert "error[WL0611]" in err and "note: it was not raised: a pointer is kept in memory" in err
