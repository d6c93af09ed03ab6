"""Whole CUDA programs, host side included: what they print, how they end, and what a launch leaves in memory."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import windlass as wl
from windlass.command_line.program import run as run_command

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

__constant__ float factor;
__device__ int launches;

template <class T> __global__ void scale(T *x, T by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by * factor;
    if (i == 0) atomicAdd(&launches, 1);
}

struct Pair { float *x; int n; };
__global__ void add_one(Pair pair) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pair.n) pair.x[i] += 1;
}
__global__ void through_pointers(float **rows, int n) {
    if (threadIdx.x < n) rows[blockIdx.x][threadIdx.x] += blockIdx.x;
}

int main(int count, char **arguments) {
    int n = 1000;
    std::vector<float> h(n, 2.f);
    float *d, three = 3;
    cudaMalloc(&d, n * sizeof(float));
    cudaMemcpy(d, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(factor, &three, sizeof three);
    cudaEvent_t start, stop;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    cudaEventRecord(start);
    scale<<<(n + 127) / 128, 128>>>(d, 5.f, n);
    cudaEventRecord(stop);
    add_one<<<8, 128>>>(Pair{d + 1, n - 1});
    float *rows[2] = {d, d + 500}, **device_rows;
    cudaMalloc(&device_rows, sizeof rows);
    cudaMemcpy(device_rows, rows, sizeof rows, cudaMemcpyHostToDevice);
    through_pointers<<<2, 32>>>(device_rows, 4);
    cudaMemcpy(h.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost);
    int seen;
    cudaMemcpyFromSymbol(&seen, launches, sizeof seen);
    printf("%g %g %g %g, %d launches, %d arguments\n", h[0], h[1], h[499], h[503], seen, count - 1);
    float ms = -1;
    cudaEventElapsedTime(&ms, start, stop);
    std::cout << (ms >= 0 ? "timed" : "no time") << ", " << cudaGetErrorString(cudaGetLastError()) << std::endl;

    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    scale<<<8, 128, 0, stream>>>(d, 1.f / 3, n);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&executable, graph, 0, 0, 0);
    for (int i = 0; i < 3; i++) cudaGraphLaunch(executable, stream);
    cudaMemcpyFromSymbol(&seen, launches, sizeof seen);
    printf("%d launches\n", seen);
    scale<<<1, 2000>>>(d, 1.f, n);
    printf("%s; ", cudaGetErrorString(cudaGetLastError()));
    printf("%s\n", cudaGetErrorString(cudaMemcpy(d, d, 1 << 20, cudaMemcpyDeviceToDevice)));
    if (count > 1) exit(atoi(arguments[1]));
    return 0;
}
"""

PRINTED = """\
30 31 31 32, 1 launches, {} arguments
timed, no error
4 launches
invalid configuration argument; invalid argument
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> wl.cuda.Program:
    source = tmp_path_factory.mktemp("program") / "main.cu"
    source.write_text(PROGRAM)
    return wl.cuda.program(source)


@pytest.mark.parametrize("mode", ["auto", "raised", "native", "emulated"])
def test_program_prints_and_ends_as_on_a_gpu(
    program: wl.cuda.Program, mode: wl.cuda.Mode, capfd: pytest.CaptureFixture[str]
) -> None:
    program.mode = mode
    assert program.run() == 0
    assert capfd.readouterr().out == PRINTED.format(0)
    assert program.run(["7"]) == 7
    assert capfd.readouterr().out == PRINTED.format(1)


def test_launches_can_be_observed(program: wl.cuda.Program, capfd: pytest.CaptureFixture[str]) -> None:
    program.mode = "raised"
    seen: list[tuple[str, str, float]] = []

    def observe(record: wl.cuda.LaunchRecord) -> None:
        x = record.arrays.get("x")
        seen.append((record.kernel, record.how, float("nan") if x is None else float(x[0])))

    program.run(observe=observe)
    capfd.readouterr()
    assert seen[0] == ("scale<float>", "raised", 30.0)
    assert [name for name, _, _ in seen] == ["scale<float>", "add_one", "through_pointers", *["scale<float>"] * 3]
    np.testing.assert_allclose(seen[-1][2], 30.0, rtol=1e-6)


def test_access_out_of_bounds_names_the_line_and_is_an_error_of_the_device(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "outside.cu"
    source.write_text("""\
#include <cstdio>
__global__ void beyond(int *x) { x[1000] = 1; }
int main() {
    int *x;
    cudaMalloc(&x, 40);
    beyond<<<1, 32>>>(x);
    printf("%s\\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 3;
}
""")
    assert run_command(["run", str(source), "--", "ignored"]) == 3
    out, err = capfd.readouterr()
    assert out == "cudaErrorIllegalAddress\n"
    assert "write of 4 bytes out of bounds" in err and "outside.cu:2:42" in err and "of 'x', which has 40 bytes" in err


def test_missing_function_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "part.cu"
    source.write_text("void elsewhere(); int main() { elsewhere(); }")
    assert run_command(["run", str(source)]) == 1
    err = capfd.readouterr().err
    assert "error[WL0109]: the program's parts can't be linked" in err and "elsewhere" in err


def test_unknown_mode_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", str(tmp_path / "main.cu"), "--mode", "fast"]) == 1
    assert capfd.readouterr().err == (
        "error[WL0703]: --mode fast: not understood\n  help: modes are auto, raised, native, emulated\n"
    )


@pytest.mark.parametrize("mode", ["raised", "emulated"])
def test_host_and_kernels_share_managed_variables(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], mode: wl.cuda.Mode
) -> None:
    source = tmp_path / "managed.cu"
    source.write_text(r"""
#include <cstdio>
struct Config { int n; double scale; };
__managed__ int total = 5;
__device__ __managed__ float data[6] = {1, 2, 3};
static __managed__ int *list;
__managed__ Config config;
__global__ void add(int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    atomicAdd(&total, i);
    data[i] = data[i] * config.scale;
}
__global__ void add_list(int n) {
    if (threadIdx.x < n) data[threadIdx.x] += list[threadIdx.x];
}
__global__ void increment(float *p, int n) {
    if (threadIdx.x < n) p[threadIdx.x] += 1;
}
int main() {
    cudaMallocManaged(&list, 6 * sizeof(int));
    for (int i = 0; i < 6; i++) list[i] = 10 * i;
    config = Config{4, 2.0};
    total += 1;
    add<<<1, 32>>>(config.n);
    add_list<<<1, 32>>>(config.n);
    cudaDeviceSynchronize();
    printf("%d:", total);
    for (float x : data) printf(" %g", x);
    data[5] = 7;
    increment<<<1, 32>>>(data + 4, 2);
    cudaDeviceSynchronize();
    int nine = 9, back;
    cudaMemcpyToSymbol(total, &nine, sizeof nine);
    add<<<1, 2>>>(2);
    cudaMemcpyFromSymbol(&back, total, sizeof back);
    printf(" | %g %g %g | %d %d %s\n", data[1], data[4], data[5], total, back, cudaGetErrorName(cudaGetLastError()));
}
""")
    program = wl.cuda.program(source, mode=mode)
    how: dict[str, str] = {}
    for _ in range(2):
        assert program.run(observe=lambda launch: how.update({launch.kernel: launch.how})) == 0
        assert capfd.readouterr().out == "12: 2 14 26 30 0 0 | 28 1 8 | 10 10 cudaSuccess\n"
    assert how["add"] == how["increment"] == mode


def test_kernels_that_print_stay_in_the_emulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "prints.cu"
    source.write_text(
        "#include <cstdio>\n"
        '__global__ void f(int *x) { if (++x[threadIdx.x] > 0 && threadIdx.x == 1) printf("step %d\\n", x[0]); }\n'
        "int main() { int *x; cudaMallocManaged(&x, 8); for (int i = 0; i < 3; i++) f<<<1, 2>>>(x);\n"
        "cudaDeviceSynchronize(); return 0; }\n"
    )
    monkeypatch.setattr("windlass.launching.tiering.SECONDS_EMULATED", 0.0)
    how: list[str] = []
    assert wl.cuda.program(source).run([], observe=lambda launch: how.append(launch.how)) == 0
    assert how == ["emulated"] * 3
    assert capfd.readouterr().out == "step 1\nstep 2\nstep 3\n"


def test_kernels_that_assert_are_raised_and_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "asserts.cu"
    source.write_text(
        r"""
#include <cassert>
#include <cstdio>
__device__ void check(int x) { assert(x < 3); }
__global__ void f(int *x) { check(++x[threadIdx.x]); }
__global__ void g(int *x) { if (x[threadIdx.x] > 2) __trap(); }
__global__ void plain(int *x) { x[threadIdx.x] += 0; }
int main() {
    int *x;
    cudaMallocManaged(&x, 8);
    for (int i = 0; i < 3; i++) {
        plain<<<1, 2>>>(x), g<<<1, 2>>>(x), f<<<1, 2>>>(x);
        printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    }
}
""".replace("\\\\", "\\")
    )
    monkeypatch.setattr("windlass.launching.tiering.SECONDS_EMULATED", 0.0)
    how: list[tuple[str, str, str]] = []

    def observe(launch: wl.cuda.LaunchRecord) -> None:
        how.append((launch.kernel, launch.how, launch.reason.diagnostics[0].headline if launch.reason else ""))

    assert wl.cuda.program(source).run([], observe=observe) == 0
    out, err = capfd.readouterr()
    assert out == "cudaSuccess\ncudaSuccess\ncudaErrorAssert\n"
    assert "error[WL0607]: assertion failed: x < 3" in err and "asserts.cu:4:" in err
    assert ("plain", "native", "") in how
    assert ("f", "raised", "") in how
    assert ("g", "raised", "") in how


def test_launches_that_nobody_can_wait_for_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "hopeless.cu"
    source.write_text(
        r"""
#include <cstdio>
__global__ void scatter(unsigned *y, const long *x) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i & 7] > 100) y[x[i & 7] & 7] = i;
}
__global__ void print(const long *x) { if (x[0]) printf("%d\n", (int)blockIdx.x); }
int main() {
    unsigned *y;
    long *x;
    cudaMalloc(&y, 64), cudaMalloc(&x, 64), cudaMemset(x, 0, 64);
    scatter<<<2147483647, 1024>>>(y, x);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    print<<<2147483647, 1024>>>(x);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
""".replace("\\\\", "\\")
    )
    assert wl.cuda.program(source).run() == 0
    out, err = capfd.readouterr()
    assert out == "cudaErrorInvalidConfiguration\n" * 2
    assert "error[WL0418]: scatter: as a tensor program this launch takes" in err
    assert "error[WL0419]: print: the emulator would take 9 hours or more" in err
    assert "it prints, which only the emulator does (WL0412)" in err


BAD_LAUNCHES = r"""
#include <cstdio>
__global__ void f(float *x) {
    extern __shared__ float s[];
    s[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = s[0];
}
void say(const char *what) { printf("%s: %s\n", what, cudaGetErrorString(cudaGetLastError())); }
int main() {
    float *x;
    cudaMalloc(&x, 64 * 4);
    f<<<1, 2048>>>(x), say("threads");
    f<<<1, 32, 1 << 20>>>(x), say("shared memory");
    f<<<1, 32, 64 << 10>>>(x), say("more than by default");
    cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
    f<<<1, 32, 64 << 10>>>(x), say("asked for");
    cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20), say("too much asked for");
    f<<<1, 32, 128, (cudaStream_t)0x1234>>>(x), say("stream");
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    f<<<1, 32, 128, stream>>>(x), say("good stream");
    cudaStreamDestroy(stream);
    f<<<1, 32, 128, stream>>>(x), say("destroyed stream");
    cudaStreamDestroy(stream), say("destroyed twice");
    cudaEventRecord((cudaEvent_t)8, 0), say("event");
    cudaGraphLaunch((cudaGraphExec_t)8, 0), say("graph");
    return 0;
}
"""


def test_bad_launches_are_errors_of_cuda(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "bad.cu"
    source.write_text(BAD_LAUNCHES)
    assert wl.cuda.program(source).run([]) == 0
    assert capfd.readouterr().out.splitlines() == [
        "threads: invalid configuration argument",
        "shared memory: invalid argument",
        "more than by default: invalid argument",
        "asked for: no error",
        "too much asked for: invalid argument",
        "stream: invalid resource handle",
        "good stream: no error",
        "destroyed stream: invalid resource handle",
        "destroyed twice: invalid resource handle",
        "event: invalid resource handle",
        "graph: invalid argument",
    ]


@pytest.mark.parametrize("mode", ["auto", "raised", "emulated"])
def test_pointers_to_variables_and_their_names_are_one_memory(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], mode: wl.cuda.Mode
) -> None:
    source = tmp_path / "names.cu"
    source.write_text(r"""
#include <cstdio>
__device__ int counts[4] = {1, 2, 3, 4};
__managed__ int shared[4] = {5, 6, 7, 8};
__global__ void mix(int *p) { p[threadIdx.x] += 10; counts[threadIdx.x + 2] = p[threadIdx.x] * 2; }
__global__ void mix_shared(int *p) { p[threadIdx.x] += 10; shared[threadIdx.x + 2] = p[threadIdx.x] * 2; }
__global__ void count(int n) { if (threadIdx.x < n) counts[threadIdx.x] += 100; }
int main() {
    int *p, h[4];
    cudaGetSymbolAddress((void **)&p, counts);
    mix<<<1, 2>>>(p);
    count<<<1, 32>>>(3);
    cudaMemcpyFromSymbol(h, counts, sizeof h);
    printf("%d %d %d %d |", h[0], h[1], h[2], h[3]);
    mix_shared<<<1, 2>>>(shared);
    cudaDeviceSynchronize();
    printf(" %d %d %d %d, %s\n", shared[0], shared[1], shared[2], shared[3], cudaGetErrorName(cudaGetLastError()));
}
""")
    program = wl.cuda.program(source, mode=mode)
    how: dict[str, str] = {}
    for _ in range(2):
        assert program.run(observe=lambda launch: how.update({launch.kernel: launch.how})) == 0
        assert capfd.readouterr().out == "111 112 122 24 | 15 16 30 32, cudaSuccess\n"
    assert how == {"mix": "emulated", "mix_shared": "emulated", "count": "raised" if mode == "raised" else "emulated"}


def test_hosts_convert_numbers_of_8_bits(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "eight.cu"
    source.write_text(r"""
#include <cstdio>
#include <cuda_fp8.h>
int main() {
    for (int i = 0; i < 65536; i++) {
        __half x(__half_raw{(unsigned short)i});
        __nv_fp8_e4m3 narrow(x);
        printf("%d %d %.9g\n", narrow.__x, __nv_cvt_halfraw_to_fp8(x, __NV_NOSAT, __NV_E5M2), (float)narrow);
    }
}""")
    assert wl.cuda.program(source).run() == 0
    rows = np.array([line.split() for line in capfd.readouterr().out.splitlines()])
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    is_number = ~np.isnan(x)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = np.clip(x.astype(np.float32), -448, 448).astype(ml_dtypes.float8_e4m3fn)
        unbounded = x.astype(ml_dtypes.float8_e5m2)
    np.testing.assert_array_equal(rows[is_number, 0].astype(int), narrow.view(np.uint8)[is_number])
    np.testing.assert_array_equal(rows[is_number, 1].astype(int), unbounded.view(np.uint8)[is_number])
    np.testing.assert_array_equal(rows[is_number, 2].astype(np.float64), narrow.astype(np.float64)[is_number])
