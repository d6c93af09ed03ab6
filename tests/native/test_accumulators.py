"""Small arrays that threads only accumulate into: each part of the work has a copy, and nobody sees that it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.launching.form import Request
from windlass.launching.native_launch import compile_launch
from windlass.native import NativeCode, plan, running
from windlass.native.machine import compile_text
from windlass.runtime.arguments import check_argument
from windlass.runtime.launch_shape import read_launch_shape

OPERATIONS = ("Add", "Sub", "Min", "Max", "And", "Or", "Xor")
SOURCE = r"""
template <class T> __device__ T *places(T *x) { return x + 2; }
#define KERNEL(OPERATION, T, U)                                                        \
__global__ void OPERATION##_##U(const int *at, const T *x, T *out, int n) {            \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
    if (i < n) { atomic##OPERATION(&out[at[i]], x[i]);                                 \
                 atomic##OPERATION(places(out), (T)(x[i] + 1)); }                      \
}
__device__ int total[4];
__global__ void variable(const int *at, const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(&total[at[i] & 3], x[i]); out[i] = 1; }
}
__global__ void met(const int *at, const int *x, int *out, int n) {
    __shared__ int counts[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 16) counts[threadIdx.x] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&counts[at[i]], x[i]);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], counts[threadIdx.x]);
}
__global__ void kinds(const int *at, const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(&out[at[i]], x[i]); atomicMax(&out[at[i]], 3); }
}
__global__ void read(const int *at, const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[at[i]], x[i] + out[1]);
}
__global__ void old(const int *at, const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[at[i]], x[i] + (atomicAdd(&out[3], 0) & 0));
}
""" + "\n".join(
    f"KERNEL({operation}, {type_}, {name})"
    for operation in OPERATIONS
    for type_, name in (("int", "i"), ("unsigned", "u"), ("unsigned long long", "l"))
    if operation != "Sub" or name != "l"
)
MODULE = wl.cuda.compile(SOURCE)
DTYPES = {"i": np.int32, "u": np.uint32, "l": np.uint64}
THREADS = 2400


def arguments(dtype: Any = np.int32) -> list[Any]:
    random = np.random.default_rng(5)
    info = np.iinfo(dtype)
    x = random.integers(info.min, info.max, THREADS - 5, dtype, endpoint=True)
    out = random.integers(info.min, info.max, 16, dtype, endpoint=True)
    return [random.integers(0, 16, THREADS - 5).astype(np.int32), x, out, THREADS - 5]


def code_of(name: str, given: list[Any]) -> NativeCode:
    kernel = MODULE[name]
    pairs = zip(kernel.signature.parameters, given, strict=True)
    checked = [check_argument(kernel.signature, parameter, each) for parameter, each in pairs]
    return compile_launch(Request(kernel, read_launch_shape(kernel.signature, (75, 32)), checked))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [each for each in MODULE.kernels if each not in ("kinds", "read", "old")])
def test_accumulated_arrays_are_those_of_the_emulator(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = arguments(DTYPES.get(name.rpartition("_")[2], np.int32))
    if name == "variable":
        given[2] = np.zeros(THREADS, np.int32)
    found: list[bytes] = []
    for run in (wl.emulate(MODULE[name]), wl.native(MODULE[name]), wl.native(MODULE[name])):
        MODULE.variables["total"] = np.arange(4, dtype=np.int32)
        copies = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
        run[75, 32](*copies)
        found.append(copies[2].tobytes() + MODULE.variables["total"].tobytes())
        monkeypatch.setattr(running, "SECONDS_WORTH_HELP", -1.0)  # the second time in parts
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_copies_are_made_where_there_are_many_threads_to_an_element(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr(plan, "compile_text", lambda text: (texts.append(text), compile_text(text))[1])
    many = arguments()
    many[2] = np.zeros(600, np.int32)
    for given in (arguments(), many):
        code_of("Add_i", given)
    assert ["@join.add.i32" in text for text in texts] == [True, False]


def test_an_array_that_is_read_or_changed_in_two_ways_has_no_copies() -> None:
    assert [code_of(name, arguments()).is_ordered for name in ("kinds", "read", "old")] == [True, True, True]


def test_an_index_beyond_a_copied_array_is_named() -> None:
    given = arguments()
    given[0][70] = 16
    with pytest.raises(wl.EmulationError, match="element 16 of 'out', which has 16 elements"):
        wl.native(MODULE["Add_i"])[75, 32](*given)
