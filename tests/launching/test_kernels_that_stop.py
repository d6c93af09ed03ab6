"""Assertions, traps and misaligned vectors: a launch that is raised fails as an emulated one does."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import WindlassError


def outcomes(source: str, *arguments: Any, block: int = 4, grid: int = 1) -> tuple[str, str]:
    """The error of a launch that is raised and of an emulated one ("" for none); arrays have to agree.

    Only raised forms count: a kernel that needs the emulator for another reason is an error here.
    """
    messages: list[str] = []
    results: list[list[Any]] = []
    kernel = wl.cuda.compile("#include <assert.h>\n" + source)["k"]
    for launched in (kernel, wl.emulate(kernel)):
        given = [each.copy() if isinstance(each, np.ndarray) and each.base is None else each for each in arguments]
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("error")
            patch.setenv("WINDLASS_FALLBACK", "error")
            try:
                launched[grid, block](*given)
                messages.append("")
            except WindlassError as error:
                messages.append(str(error))
        results.append(given)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    return messages[0], messages[1]


ZEROS, ONES = np.zeros(8, np.int32), np.ones(8, np.int32)

STOPPING = {
    "a trap": ("if (x[0] == 0) __trap(); x[1] = 5;", "WL0608"),
    "a breakpoint": ("if (x[0] == 0) __brkpt(); x[1] = 5;", "WL0608"),
    "a trap for all data": ("if (blockDim.x == 4) __trap(); x[1] = 5;", "WL0608"),
    "a trap of one thread": ("if (threadIdx.x == 3 && x[3] == 0) __trap(); x[threadIdx.x] = 5;", "WL0608"),
    "an assertion": ("assert(x[threadIdx.x] != 0 || threadIdx.x < 2); x[threadIdx.x] = 5;", "WL0607"),
    "one in a loop": ("int s = 0; for (int i = 4; i < 8; i++) { assert(x[i] != 0); s += x[i]; } x[threadIdx.x] = s;",
                      "WL0607"),
    "one about a sum": ("int s = 1; for (int i = 0; i < 4; i++) { s += x[i + 4]; assert(s > 1); } x[threadIdx.x] = s;",
                        "WL0607"),
    "one that ends a loop": ("int i = 0; while (i < 9) { assert(x[threadIdx.x] > 0); i += x[threadIdx.x]; }"
                             "x[1 + threadIdx.x] = i;",
                             "WL0607"),
    "one after a barrier": ("__shared__ int s[4]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads();"
                            "assert(s[threadIdx.x ^ 1] != 0); x[threadIdx.x] = 1;", "WL0607"),
    "one after an atomic": ("atomicAdd(x + 7, 1); assert(x[threadIdx.x] != 0);", "WL0607"),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", STOPPING)
def test_a_kernel_that_stops_tells_the_same_in_both_forms(name: str) -> None:
    body, code = STOPPING[name]
    raised, emulated = outcomes(f"__global__ void k(int *x) {{ {body} }}", ZEROS)
    assert code in raised
    assert raised == emulated
    assert "in kernel k, block (0, 0, 0), thread (" in raised


def test_kernels_that_do_not_stop_stay_raised() -> None:
    for body, _ in STOPPING.values():
        if "blockDim" in body or "atomicAdd" in body or "1 + threadIdx" in body:
            continue  # stops for all data, or has a race
        assert outcomes(f"__global__ void k(int *x) {{ {body} }}", ONES) == ("", "")


def test_a_later_launch_that_stops_is_found() -> None:
    kernel = wl.cuda.compile("__global__ void k(int *x) { if (x[0] < 0) __trap(); x[1] += 5; }")["k"]
    x = np.array([1, 0], np.int32)
    kernel[1, 1](x)
    assert x.tolist() == [1, 5]
    bad = np.array([-1, 0], np.int32)
    with pytest.raises(wl.EmulationError, match=r"WL0608.*the kernel trapped"):
        kernel[1, 1](bad)
    assert bad.tolist() == [-1, 0]
    kernel[1, 1](x)
    assert x.tolist() == [1, 10]
    assert "emulated if the kernel traps" in str(kernel.explain(1, 1, x))


VECTORS = np.arange(24, dtype=np.int32)

MISALIGNED = {
    "a known place": ("*(int4 *)(x + 1) = make_int4(1, 2, 3, 4);", (VECTORS,)),
    "one read": ("int4 v = *(int4 *)(x + 1); x[0] = v.x + v.y + v.z + v.w;", (VECTORS,)),
    "one of two words": ("*(int2 *)(x + 1) = make_int2(1, 2);", (VECTORS,)),
    "places of some threads": ("((int4 *)(x + 2 * threadIdx.x))[0] = make_int4(1, 2, 3, 4);", (VECTORS,)),
    "places that a number tells": ("*(int4 *)(x + y[0]) = make_int4(1, 2, 3, 4);", (VECTORS, np.full(1, 6, np.int32))),
    "a struct": ("struct alignas(8) S { int a, b; }; ((S *)(x + 1))[0] = S{1, 2};", (VECTORS,)),
    "doubles": ("*(double *)(x + 1) = 1.0;", (VECTORS,)),
    "a view": ("((int4 *)x)[0] = make_int4(1, 2, 3, 4);", (VECTORS[1:9],)),
    "a chosen array": ("*(int4 *)((y[0] ? x : y) + 2) = make_int4(1, 2, 3, 4);", (VECTORS, np.ones(8, np.int32))),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", MISALIGNED)
def test_a_misaligned_vector_is_found_in_both_forms(name: str) -> None:
    body, arguments = MISALIGNED[name]
    parameters = ", ".join(f"int *{each}" for each in "xy"[: len(arguments)])
    raised, emulated = outcomes(f"__global__ void k({parameters}) {{ {body} }}", *arguments, block=2)
    assert "WL0609" in raised
    assert raised == emulated


def test_aligned_vectors_stay_raised() -> None:
    body = "*(int4 *)(x + y[0]) = make_int4(1, 2, 3, 4);"
    source = f"__global__ void k(int *x, int *y) {{ {body} }}"
    assert outcomes(source, VECTORS, np.full(1, 8, np.int32), block=1) == ("", "")
    source = "__global__ void k(int4 *x, int n) { x[threadIdx.x * n] = make_int4(1, 2, 3, 4); }"
    assert outcomes(source, VECTORS, 2, block=3) == ("", "")


def test_views_of_each_alignment_are_launches_of_their_own() -> None:
    kernel = wl.cuda.compile("__global__ void k(int4 *x) { x[threadIdx.x] = make_int4(1, 2, 3, 4); }")["k"]
    x = VECTORS.copy()
    for start in (0, 4, 1, 8, 2, 3):
        part = x[start : start + 8]
        part[...] = 0
        if start % 4:
            with pytest.raises(wl.EmulationError, match="WL0609"):
                kernel[1, 2](part)
        else:
            kernel[1, 2](part)
        assert part.tolist() == ([0] * 8 if start % 4 else [1, 2, 3, 4] * 2)
