"""Kernels that must not be raised, or not without a word, since the source has no one answer."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl


def test_blocks_that_change_one_array_take_turns_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    double = wl.cuda.compile("""
        __global__ void twice(float *y) {
            __shared__ float t[32];
            t[threadIdx.x] = y[threadIdx.x] * 2;
            __syncthreads();
            y[threadIdx.x] = t[31 - threadIdx.x];
        }""")["twice"]
    y = np.arange(32, dtype=np.float32)
    double[1, 32](y)
    np.testing.assert_array_equal(y, 2 * np.arange(32)[::-1])
    with pytest.warns(wl.WindlassWarning, match=r"(?s)WL0309.*its blocks run one after another"):
        double[2, 32](y)
    np.testing.assert_array_equal(y, 8 * np.arange(32)[::-1])


def test_loop_whose_counter_wraps_around_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    total = wl.cuda.compile("""
        __global__ void total(float *x, unsigned n, unsigned step) {
            float s = 0;
            for (unsigned i = threadIdx.x; i < n; i += step) s += x[i & 7];
            x[threadIdx.x] = s;
        }""")["total"]
    x = np.ones(8, np.float32)
    total[1, 1](x, 100, 7)
    assert x[0] == 15
    with pytest.raises(wl.WindlassError, match="wraps around"):
        total[1, 1](x, 4294967295, 4)


def test_load_of_what_several_threads_stored_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    last = wl.cuda.compile("""
        __global__ void last(int *y, int place, int shift) {
            __shared__ int t[32];
            t[threadIdx.x & place] = threadIdx.x;
            y[threadIdx.x] = t[(threadIdx.x + shift) & place];
        }""")["last"]
    y = np.zeros(32, np.int32)
    last[1, 32](y, 31, 0)
    np.testing.assert_array_equal(y, np.arange(32))
    with pytest.raises(wl.WindlassError, match="WL0309"):
        last[1, 32](y, 0, 0)


def test_shuffles_from_absent_lanes_are_a_warning_where_they_matter(recwarn: pytest.WarningsRecorder) -> None:
    module = wl.cuda.compile("""
        __global__ void eight(const double *x, double *sum, int first) {
            double own = x[threadIdx.x];
            if (threadIdx.x < 8)
                for (int k = first; k > 0; k /= 2) own += __shfl_down_sync(0xffffffff, own, k);
            if (threadIdx.x == 0) *sum = own;
        }""")
    x, total = np.arange(32.0), np.zeros(1)
    module["eight"][1, 32](x, total, 4)
    assert total[0] == 28 and not recwarn.list
    module["eight"][1, 32](x, total, 16)
    assert [str(each.message) for each in recwarn.list] == [
        "warning[WL0618]: eight: the result depends on what a shuffle reads from a lane that takes no part\n"
        " --> <source>:5:59\n"
        "   |\n"
        " 5 |                 for (int k = first; k > 0; k /= 2) own += __shfl_down_sync(0xffffffff, own, k);\n"
        "   |                                                           ^\n"
        "  help: what such a lane gives is undefined: let all lanes that are read take part"
    ]
    # Their own values, as in the emulator.
    assert total[0] == 4 * 28
    with pytest.raises(wl.EmulationError, match="WL0618"):
        wl.emulate(module["eight"])[1, 32](x, total, 16)
