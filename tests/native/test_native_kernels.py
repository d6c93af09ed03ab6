"""Kernels as native code give what the emulator gives, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.launching.form import Request
from windlass.launching.native_launch import compile_launch
from windlass.native import NativeCode
from windlass.runtime.arguments import check_argument
from windlass.runtime.launch_shape import read_launch_shape

SOURCE = r"""
__global__ void heat(const float *u, float *v, int n, float c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < n - 1 && j > 0 && j < n - 1)
        v[j * n + i] = u[j * n + i] + c * (u[j * n + i - 1] + u[j * n + i + 1] + u[(j - 1) * n + i]
                                           + u[(j + 1) * n + i] - 4 * u[j * n + i]);
}
__global__ void mandelbrot(int *out, int n, int limit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float x0 = 3.0f * i / n - 2.0f, y0 = 2.0f * j / n - 1.0f, x = 0, y = 0;
    int k = 0;
    while (k < limit && x * x + y * y < 4.0f) { float t = x * x - y * y + x0; y = 2 * x * y + y0; x = t; k++; }
    out[j * n + i] = k;
}
__global__ void spmv(int n, const int *start, const int *column, const float *value, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0;
        for (int k = start[i]; k < start[i + 1]; k++) sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}
__global__ void last(const int *lengths, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int place = 7;
        for (int k = 0; k < lengths[i]; k++) place = 3 * k + 1;
        out[i] = place;
    }
}
__global__ void divide(const int *a, const int *b, int *q, unsigned *r, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && b[i] > -3) { q[i] = a[i] / b[i]; r[i] = (unsigned)a[i] % (unsigned)b[i]; }
}
__global__ void choose(const float *a, const float *b, float *out, int n, float border) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i];
    if (x > border) {
        x = sqrtf(x) + b[i];
        if (x > 1.5f) out[i] = x; else out[i] = -x;
    } else if (x < 0.25f) {
        out[i] = b[n - 1 - i];
    } else {
        out[i] = b[(7 * i) % n];
    }
}
__global__ void mixed(const double *a, short *out, unsigned char *bytes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[2 * i] = (short)(a[i] * 1000); bytes[i] = (unsigned char)(out[2 * i] >> 3); }
}
__global__ void locals(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float tile[8];
    for (int k = 0; k < 8; k++) tile[(k * 3 + i) % 8] = x[(i + k) % n];
    float sum = 0;
    for (int k = 0; k < 8; k++) sum = sum * 0.5f + tile[k];
    if (i < n) y[i] = sum;
}
__global__ void periodic(const float *x, float *y, const int *row) {
    int begin = 64 * row[0];
    for (unsigned i = 0; i < 64; i++) y[i] = x[begin + (i + 63) % 64];
}
__global__ void borders(const float *u, float *v, unsigned *w, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    const float *row = u + j * n;
    int far = min(i + 9, n - 1), left = (i + n - 1) % n, right = (i + 1) % n, up = max(j - 1, 0);
    float here = row[i], west = i > 0 ? row[i - 1] : here, near = i >= 3 && i < n - 3 ? row[i + 3] - row[i - 3] : 0;
    v[j * n + i] = here + row[far] * row[left] - row[right] + west + near + u[up * n + i] + i / width;
    w[j * n + i] = (unsigned)(i * 7 + n) % 640u + ((i + j) % n == 5 ? 1000 : 0) + (i - 20) / 64 + (i - 20) % 64;
    if (i % n == 17) v[j * n + i] = 5;
}
__global__ void rows(const float *x, float *y, const int *row, const unsigned *begin, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i < n) {
        float found = row[j] < 9 ? x[row[j] * n + i] : 0;
        if (i % 3) y[j * n + i] = found + x[begin[j] + i + 1];
    }
}
__global__ void planes(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = x[i]; y[n + i] = 2 * x[i]; y[2 * n + i] += y[i]; }
}
__global__ void met(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = x[i]; y[n - 1 + i] = 2 * x[i]; }
}
__global__ void histogram(const int *x, int *counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[x[i]], 1);
}
__global__ void prefix(int *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n) a[i] += a[i - 1];
}
__global__ void total(const float *x, float *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i]);
}
struct Settings { float factor; int rounds; };
__constant__ float table[16];
__device__ int seen;
__global__ void settings(Settings s, float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < s.rounds; k++) sum += s.factor * k + table[(k + i) % 16];
    x[i] = sum;
    if (i == 3) seen = n;
}
__global__ void cube(float *x, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x, j = threadIdx.y + blockIdx.y * blockDim.y,
        k = threadIdx.z + blockIdx.z * blockDim.z;
    if (i < n && j < n && k < n) x[(k * n + j) * n + i] += i + 10 * j + 100 * k;
}
__global__ void functions(const double *x, double *y, float *z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a = x[i];
    y[i] = exp(a) + log1p(a) * sin(a) - cbrt(a) + atan2(a, 0.5) + fmod(a, 0.3) + rint(a) + erf(a);
    z[i] = powf((float)a, 1.7f) + tanhf((float)a) + hypotf((float)a, 2.0f) + exp2f((float)a) + roundf((float)a);
}
__global__ void pick(float *a, float *b, const int *which, int n) {
    int i = threadIdx.x;
    float *p = which[i] ? a : b;
    p[i] = i;
}
__global__ void shifts(const unsigned *x, unsigned *y, const int *by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (x[i] << (by[i] & 31)) ^ (x[i] >> 3) ^ __popc(x[i]) ^ __clz(x[i]) ^ min(x[i], 77u);
}
"""
MODULE = wl.cuda.compile(SOURCE)
RANDOM = np.random.default_rng(7)
N = 70


def floats(count: int, dtype: Any = np.float32) -> Any:
    return RANDOM.random(count).astype(dtype)


def integers(low: int, high: int, count: int) -> Any:
    return RANDOM.integers(low, high, count).astype(np.int32)


LENGTHS = integers(0, 9, 200)
STARTS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int32)

LAUNCHES: dict[str, tuple[str, Any, Any, Sequence[Any]]] = {
    "heat": ("heat", (3, 18), (32, 4), (floats(N * N), np.zeros(N * N, np.float32), N, 0.1)),
    "heat, blocks of one": ("heat", (N, N), 1, (floats(N * N), np.zeros(N * N, np.float32), N, 0.1)),
    "heat, odd blocks": ("heat", (6, 18), (13, 4), (floats(N * N), np.zeros(N * N, np.float32), N, 0.1)),
    "mandelbrot": ("mandelbrot", (3, 18), (32, 4), (np.zeros(N * N, np.int32), N, 40)),
    "spmv": (
        "spmv", 4, 64,
        (200, STARTS, integers(0, 90, STARTS[-1]), floats(STARTS[-1]), floats(90), np.zeros(200, np.float32)),
    ),
    "last": ("last", 4, 64, (LENGTHS, np.zeros(200, np.int32), 200)),
    "divide": (
        "divide", 4, 64,
        (
            np.append(integers(-100, 100, 198), [-(2**31), 5]).astype(np.int32),
            np.append(integers(-4, 4, 198), [-1, 0]).astype(np.int32),
            np.zeros(200, np.int32), np.zeros(200, np.uint32), 200,
        ),
    ),
    "choose": ("choose", 4, 64, (floats(200), floats(200), np.zeros(200, np.float32), 200, 0.6)),
    "mixed": ("mixed", 4, 64, (floats(200, np.float64), np.zeros(400, np.int16), np.zeros(200, np.uint8), 200)),
    "locals": ("locals", 4, 64, (floats(200), np.zeros(200, np.float32), 200)),
    "histogram": ("histogram", 4, 64, (integers(0, 10, 200), np.zeros(10, np.int32), 200)),
    "periodic": ("periodic", 1, 1, (floats(128), np.zeros(64, np.float32), np.ones(1, np.int32))),
    "borders": (
        "borders", (3, 18), (32, 4), (floats(N * N), np.zeros(N * N, np.float32), np.zeros(N * N, np.uint32), N, 100),
    ),
    "borders, rows of one block": (
        "borders", (1, N), 72, (floats(N * N), np.zeros(N * N, np.float32), np.zeros(N * N, np.uint32), N, 8),
    ),
    "rows": (
        "rows", (3, 8), 32,
        (floats(9 * N), np.zeros(9 * N, np.float32), np.arange(8, dtype=np.int32)[::-1].copy(), integers(0, N, 8), N),
    ),
    "planes": ("planes", 4, 64, (floats(200), np.zeros(600, np.float32), 200)),
    "prefix": ("prefix", 1, 64, (integers(0, 10, 60), 60)),
    "total": ("total", 4, 64, (floats(200), np.zeros(1, np.float32), 200)),
    "settings": ("settings", 4, 64, ((1.5, 11), np.zeros(200, np.float32), 200)),
    "cube": ("cube", (2, 3, 5), (8, 4, 2), (floats(10**3), 10)),
    "functions": ("functions", 4, 64, (floats(200, np.float64), np.zeros(200), np.zeros(200, np.float32), 200)),
    "pick": ("pick", 1, 64, (floats(64), floats(64), integers(0, 2, 64), 64)),
    "shifts": (
        "shifts", 4, 64,
        (
            RANDOM.integers(0, 2**32, 200).astype(np.uint32), np.zeros(200, np.uint32), integers(0, 40, 200), 200,
        ),
    ),
}  # fmt: skip

ORDERED = {"periodic", "prefix", "total"}
"""Those whose threads run one after another, since their order matters."""


def copied(arguments: Sequence[Any]) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]


def code_of(name: str, grid: Any, block: Any, arguments: Sequence[Any]) -> NativeCode:
    kernel = MODULE[name]
    pairs = zip(kernel.signature.parameters, arguments, strict=True)
    checked = [check_argument(kernel.signature, parameter, argument) for parameter, argument in pairs]
    return compile_launch(Request(kernel, read_launch_shape(kernel.signature, (grid, block)), checked))


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_VECTOR_FUNCTIONS", "0")
    MODULE.variables["table"] = np.arange(16, dtype=np.float32) / 7


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", LAUNCHES)
def test_native_code_gives_what_the_emulator_gives(case: str) -> None:
    name, grid, block, arguments = LAUNCHES[case]
    native, emulated = copied(arguments), copied(arguments)
    MODULE.variables["seen"] = 0
    wl.native(MODULE[name])[grid, block](*native)
    seen = int(MODULE.variables["seen"])
    MODULE.variables["seen"] = 0
    wl.emulate(MODULE[name])[grid, block](*emulated) if name != "prefix" else np.cumsum(emulated[0], out=emulated[0])
    assert seen == int(MODULE.variables["seen"])
    for got, wanted in zip(native, emulated, strict=True):
        if isinstance(got, np.ndarray):
            assert got.tobytes() == wanted.tobytes()


def test_whoever_wishes_for_native_code_again_gets_what_was_compiled() -> None:
    kernel = wl.cuda.compile("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")["twice"]
    assert wl.native(kernel)[1, 4] is wl.native(kernel)[1, 4]


def test_threads_run_in_order_where_their_order_matters() -> None:
    kinds = {case: code_of(*launch).is_ordered for case, launch in LAUNCHES.items() if case != "settings"}
    assert {case for case, is_ordered in kinds.items() if is_ordered} == ORDERED


def test_rows_that_share_an_element_are_not_taken_for_apart() -> None:
    assert code_of("met", 4, 64, (floats(200), np.zeros(399, np.float32), 200)).is_ordered


def test_lanes_follow_the_launch() -> None:
    widths = {case: code_of(*LAUNCHES[case]).width for case in ("heat", "heat, odd blocks", "mandelbrot", "spmv")}
    assert widths == {"heat": 8, "heat, odd blocks": 1, "mandelbrot": 8, "spmv": 1}


def test_accesses_behind_guards_need_no_checks() -> None:
    assert [len(code_of(*LAUNCHES[case]).sites) for case in ("heat", "choose", "cube", "locals")] == [0, 0, 0, 0]
    assert len(code_of(*LAUNCHES["spmv"]).sites) == 3  # those at places that the data give


def test_a_thread_beyond_an_array_is_named() -> None:
    out = np.zeros(60 * N, np.float32)
    with pytest.raises(wl.EmulationError, match=r"WL0602.*write of 4 bytes out of bounds") as caught:
        wl.native(MODULE["heat"])[(3, 18), (32, 4)](floats(N * N), out, N, 0.1)
    assert "element 4201 of 'v', which has 4200 elements of float32" in str(caught.value)
    assert caught.value.diagnostics[0].position is not None
    assert caught.value.diagnostics[0].position.line == 5


def test_an_index_beyond_an_array_is_named_where_the_data_give_it() -> None:
    columns = integers(0, 90, STARTS[-1])
    columns[50] = -1
    with pytest.raises(wl.EmulationError, match="read of 4 bytes out of bounds") as caught:
        wl.native(MODULE["spmv"])[4, 64](200, STARTS, columns, floats(len(columns)), floats(90), np.zeros(200, "f4"))
    row = int(np.searchsorted(STARTS, 50, "right")) - 1
    assert f"block (0, 0, 0), thread ({row}, 0, 0)" in str(caught.value)


def test_a_row_is_left_as_it_wraps_around() -> None:
    begin = np.array([0, 2**32 - 20], np.uint32)
    row, y = np.zeros(2, np.int32), np.zeros(9 * N, np.float32)
    with pytest.raises(wl.EmulationError, match=r"read of 4 bytes out of bounds") as caught:
        wl.native(MODULE["rows"])[(3, 2), 32](floats(9 * N), y, row, begin, N)
    assert "element 429496727" in str(caught.value)


def test_a_null_pointer_is_named() -> None:
    with pytest.raises(wl.EmulationError, match="write of 4 bytes through a null pointer"):
        wl.native(MODULE["heat"])[(3, 18), (32, 4)](floats(N * N), None, N, 0.1)


def test_arrays_that_overlap_are_not_taken_apart() -> None:
    memory = floats(2 * N * N)
    native, emulated = memory.copy(), memory.copy()
    for run, array in ((wl.native, native), (wl.emulate, emulated)):
        run(MODULE["heat"])[(3, 18), (32, 4)](array[: N * N], array[N * N :], N, 0.1)
        run(MODULE["choose"])[4, 64](array[:200], array[:200], array[200:400], 200, 0.5)
    assert native.tobytes() == emulated.tobytes()
    shifted = memory.copy()
    wl.native(MODULE["prefix"])[1, 64](shifted[:40].view(np.int32), 40)


def test_what_has_no_native_code_is_refused_with_its_line() -> None:
    source = """
    __global__ void part(int *x) { for (int k = 0; k < x[threadIdx.x]; k++) __syncthreads(); x[threadIdx.x] = 1; }
    __global__ void step(int *x) { __shared__ volatile int t[64]; t[threadIdx.x] = x[threadIdx.x];
        x[threadIdx.x] = t[threadIdx.x ^ 1]; }
    __global__ void tell(int *x) { printf("%d", x[0]); }
    __global__ void lock(int *x) { while (atomicCAS(x, 0, 1) != 0) {} x[1]++; atomicExch(x, 0); }
    """
    module = wl.cuda.compile(source)
    reasons: dict[str, str] = {}
    for name in module.kernels:
        with pytest.raises(wl.RaisingError) as caught:
            wl.native(module[name])[1, 64](np.zeros(64, np.int32))
        assert caught.value.diagnostics[0].code == "WL0440"
        reasons[name] = caught.value.diagnostics[0].headline.partition(": ")[2]
    assert reasons == {
        "part": "the threads of a block meet in a loop that some of them leave before others",
        "step": "its warps go in step, as volatile memory has them do",
        "tell": "it prints",
        "lock": "its threads may wait for one another",
    }
