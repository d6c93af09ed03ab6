"""What is refused of compare-and-swaps, and float extremes with NaN, from CUDA source."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl
from windlass.launching.emulation import emulate_launch
from windlass.runtime.launch_shape import LaunchShape

HEAD = "__global__ void kernel(int *p, const int *x, int *out, int n) { int i = threadIdx.x; if (i >= n) return; "
REFUSED = {
    "the result is used": (
        "int old = *p, a; do { a = old; old = atomicCAS(p, a, a ^ 5); } while (a != old); out[i] = old;",
        "is used, which depends on the order of threads",
    ),
    "a lock": (
        "while (atomicCAS(p, 0, 1) != 0) {} out[0] += x[i]; atomicExch(p, 0);",
        "which of them succeeds is asked",
    ),
    "a claim": ("if (atomicCAS(p, 0, i + 1) == 0) out[i] = 1;", "which of them succeeds is asked"),
    "an order": (
        "int old = *p, a; do { a = old; old = atomicCAS(p, a, a * 3 + x[i]); } while (a != old);",
        "function whose result depends on their order",
    ),
    "a cap": (
        "int old = *p, a; do { a = old; old = atomicCAS(p, a, min(a + x[i], 100)); } while (a != old);",
        "function whose result depends on their order",
    ),
    "a difference": (
        "int old = *p, a; do { a = old; old = atomicCAS(p, a, x[i] - a); } while (a != old);",
        "function whose result depends on their order",
    ),
    "a square": (
        "int old = *p, a; do { a = old; old = atomicCAS(p, a, a * a * x[i]); } while (a != old);",
        "function whose result depends on their order",
    ),
    "two kinds": (
        "int old = *p, a; do { a = old; old = atomicCAS(p, a, (a + x[i]) ^ x[0]); } while (a != old);",
        "function whose result depends on their order",
    ),
}


WAITING = HEAD + "__syncthreads(); "
"""Threads that wait for one another can't run one after another."""


def arguments() -> list[np.ndarray | int]:
    return [np.array([1, 2], np.int32), np.arange(8, dtype=np.int32), np.zeros(8, np.int32), 8]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_the_order_of_threads_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    body, reason = REFUSED[name]
    kernel = wl.cuda.compile(WAITING + body + " }")["kernel"]
    with pytest.raises(wl.RaisingError, match=reason) as caught:
        kernel[1, 8](*arguments())
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "WL0302"
    assert diagnostic.position is not None and diagnostic.position.line == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [name for name in REFUSED if name != "a lock"])
def test_threads_that_do_not_wait_take_turns_as_in_the_emulator(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    kernel = wl.cuda.compile(HEAD + REFUSED[name][0] + " }")["kernel"]
    raised, emulated = arguments(), arguments()
    kernel[3, 8](*raised)
    emulate_launch(kernel, LaunchShape((3, 1, 1), (8, 1, 1)), emulated, finds_races=False)
    for one, other in zip(raised, emulated, strict=True):
        np.testing.assert_array_equal(one, other)
    assert "run one after another" in str(kernel.explain())


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "body", [REFUSED["a lock"][0], "if (i > 0) while (atomicAdd(&p[0], 0) == 1) {} out[atomicAdd(&p[1], 1) & 7] = i;"]
)
def test_threads_that_wait_for_memory_to_change_take_no_turns(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    kernel = wl.cuda.compile(HEAD + body + " }")["kernel"]
    with pytest.raises(wl.RaisingError, match="WL0302"):
        kernel[1, 8](*arguments())


def test_different_swaps_of_one_loop_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    body = "for (int k = 0; k < n; ++k) { atomicCAS(p, 0, 1); atomicCAS(p, 2, 0); atomicCAS(p, 1, 2); }"
    kernel = wl.cuda.compile(HEAD + body + " }")["kernel"]
    for count in (100, 101):
        p = np.zeros(2, np.int32)
        kernel[1, 1](p, p.copy(), p.copy(), count)
        assert p.tolist() == [2 * (count % 2), 0]


def test_a_swap_that_changes_nothing_does_not_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    kernel = wl.cuda.compile(HEAD + "atomicCAS(p + i / 4, 7, x[i]); }")["kernel"]
    for values in ([5, 7, 7, 7, 7, 7, 7, 5], [7, 7, 7, 5, 5, 7, 7, 7]):
        p = np.full(3, 7, np.int32)
        kernel[1, 8](p, np.array(values, np.int32), p.copy(), 8)
        assert p.tolist() == [5, 5, 7]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("kind", ["fmin", "fmax"])
def test_atomic_extremes_of_floats_keep_numbers(kind: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    type_, word, here, back = {
        np.float16: ("__half", "unsigned short", "__ushort_as_half", "__half_as_ushort"),
        np.float32: ("float", "unsigned", "__uint_as_float", "__float_as_uint"),
        np.float64: ("double", "unsigned long long", "__longlong_as_double", "__double_as_longlong"),
    }[dtype]
    function = {"fmin": "__hmin", "fmax": "__hmax"}[kind] if dtype is np.float16 else kind
    source = f"""#include <cuda_fp16.h>
    __global__ void kernel({type_} *p, const int *where, const {type_} *x) {{
        int i = threadIdx.x;
        {word} *bits = ({word} *)&p[where[i]], old = *bits, a;
        do {{ a = old; old = atomicCAS(bits, a, {back}({function}(x[i], {here}(a)))); }} while (a != old);
    }}"""
    kernel = wl.cuda.compile(source)["kernel"]
    inf, nan = np.inf, np.nan
    x = np.array([nan, nan, 3, -3, nan, inf, -inf, nan, -5, 5, 0.25], dtype)
    where = np.array([0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5], np.int32)
    place = np.array([nan, nan, nan, nan, 1, -7, nan], dtype)
    wanted = place.copy()
    getattr(np, kind).at(wanted, where, x)
    kernel[1, 11](place, where, x)
    assert np.array_equal(place, wanted, equal_nan=True)


def test_what_is_subtracted_and_added_again_is_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    kernel = wl.cuda.compile("""__global__ void kernel(float *p, const float *x) {
        __syncthreads();
        float d = x[threadIdx.x];
        unsigned old = *(unsigned *)p, was;
        do { was = old; old = atomicCAS((unsigned *)p, was, __float_as_uint(__uint_as_float(was) - d + d)); }
        while (was != old);
    }""")["kernel"]
    p = np.array([3], np.float32)
    kernel[1, 8](p, np.arange(8, dtype=np.float32))
    assert p[0] == 3
