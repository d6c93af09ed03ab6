"""Which launches run as native code by themselves, and what is said of it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import windlass as wl

MODULE = wl.cuda.compile(r"""
__global__ void wave(const float *u, float *v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) v[i] = u[i - 1] + u[i + 1] - 2 * u[i];
}
__global__ void collatz(const int *x, int *steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = 0;
    for (long long v = x[i]; v > 1; v = v % 2 ? 3 * v + 1 : v / 2) k++;
    steps[i] = k;
}
__global__ void product(const float *a, const float *x, float *y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < m; k++) sum += a[i * m + k] * x[k];
    y[i] = sum;
}
__global__ void times(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x, j = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * blockDim.x + j];
    c[i * blockDim.x + j] = sum;
}
__global__ void slide(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) a[i] = a[i + 1];
}
""")
N = 1 << 15
GRID, BLOCK = N // 128, 128


@pytest.fixture(autouse=True)
def as_it_is_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_NATIVE", "1")


def numbers(dtype: Any = np.float32) -> Any:
    return np.arange(N).astype(dtype)


LAUNCHES: dict[str, tuple[Any, ...]] = {
    "wave": (numbers(), numbers(), N),
    "collatz": (numbers(np.int32) % 27, numbers(np.int32), N),
    "product": (np.ones(4 * N, np.float32), np.ones(4, np.float32), numbers(), N, 4),
    "times": (*(np.ones(16 * N, np.float32) for _ in range(3)), 2048),
    "slide": (numbers(), N),
}


def test_large_launches_take_the_form_that_costs_less_by_estimate() -> None:
    forms = {name: MODULE[name].explain(GRID, BLOCK, *given).form for name, given in LAUNCHES.items()}
    assert forms == dict.fromkeys(LAUNCHES, "native") | {"times": "raised"}


def test_small_launches_take_native_code_which_is_called_sooner() -> None:
    report = MODULE["wave"].explain(1, 128, numbers()[:128], numbers()[:128], 128)
    assert (report.form, report.is_raised) == ("native", True)


def test_what_can_be_raised_is_where_native_code_is_for_what_can_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_NATIVE", "fallback")
    report = MODULE["wave"].explain(GRID, BLOCK, *LAUNCHES["wave"])
    assert (report.form, report.choice_reason) == ("raised", "what can be raised is raised (WINDLASS_NATIVE)")


@pytest.mark.parametrize("name", ["wave", "collatz"])
def test_launches_that_choose_native_code_give_what_the_emulator_gives(name: str) -> None:
    ours, wanted = ([each.copy() if isinstance(each, np.ndarray) else each for each in LAUNCHES[name]] for _ in "ab")
    MODULE[name][GRID, BLOCK](*ours)
    report = MODULE[name].explain()
    assert (report.form, report.is_raised) == ("native", True)
    assert str(report).startswith(f"native: {name} with grid ({GRID}, 1, 1)")
    wl.emulate(MODULE[name])[GRID, BLOCK](*wanted)
    assert ours[1].tobytes() == wanted[1].tobytes()


def test_arrays_too_small_are_told_of_before_anything_runs() -> None:
    v = np.zeros(N - 2, np.float32)
    with pytest.raises(wl.LaunchError, match="array 'v' is too small"):
        MODULE["wave"][GRID, BLOCK](numbers(), v, N)
    assert not v.any()


def test_read_only_arrays_are_refused() -> None:
    v = numbers()
    v.flags.writeable = False
    for launch in (MODULE["wave"][GRID, BLOCK], wl.native(MODULE["wave"])[GRID, BLOCK]):
        with pytest.raises(wl.LaunchError, match="WL0406"):
            launch(numbers(), v, N)


def test_checked_launches_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_CHECK", "1")
    assert MODULE["wave"].explain(GRID, BLOCK, *LAUNCHES["wave"]).form == "raised"


def test_what_is_not_raised_runs_as_native_code_without_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    from windlass.raising import state

    monkeypatch.setattr(state, "MOST_OPS", 10)
    source = "__global__ void k(int *x) { int i = threadIdx.x; x[i] = x[i] * x[i] % 7 + (x[i] ^ 3) * (x[i] | 4); }"
    kernel, x = wl.cuda.compile(source)["k"], np.arange(8, dtype=np.int32)
    wanted = x * x % 7 + (x ^ 3) * (x | 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[1, 8](x)
    assert x.tolist() == wanted.tolist()
    report = kernel.explain()
    assert (report.form, report.is_raised) == ("native", False)
    assert "not raised" in str(report)
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    with pytest.raises(wl.RaisingError):
        kernel[1, 4](x)


def test_reports_of_emulated_launches_say_why_there_is_no_native_code() -> None:
    kernel = wl.cuda.compile("""
    __global__ void shift(const float *x, float *y, const int *widths) {
        __shared__ volatile float part[32];
        part[threadIdx.x] = x[threadIdx.x];
        y[threadIdx.x] = __shfl_down_sync(~0u, part[threadIdx.x ^ 1], 1, widths[0]);
    }""")["shift"]
    report = kernel.explain(1, 32, numbers()[:32], numbers()[:32], np.ones(1, np.int32))
    assert report.form == "emulated"
    assert "it does not run as native code either: its warps go in step" in str(report)


def test_launches_whose_threads_exchange_numbers_have_a_cost() -> None:
    kernel = wl.cuda.compile("""
    __global__ void k(unsigned *x, int n) { x[threadIdx.x] = __shfl_sync(0xffffffff, threadIdx.x, n); }""")["k"]
    x = np.zeros(64, np.uint32)
    kernel[1, 64](x, 3)
    assert x.tolist() == [3] * 32 + [35] * 32
