"""Programs written for CuPy, with the import line changed."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl
import windlass.cupy as cp
from windlass.cupy.parameters import read_parameters

X = cp.arange(12, dtype=cp.float32).reshape(3, 4)


def test_functions_give_device_arrays_even_without_axes() -> None:
    total = cp.sum(X * 2)
    assert isinstance(total, cp.ndarray) and total.shape == () and float(total) == 132
    assert isinstance(X.sum(), cp.ndarray) and isinstance(X[1, 2], cp.ndarray) and isinstance(X[1], cp.ndarray)
    plain = cp.asnumpy(X)
    assert type(plain) is np.ndarray and type(X.get()) is np.ndarray
    np.testing.assert_array_equal(plain, X.get())
    assert cp.float32 is np.float32 and cp.get_array_module(X) is cp


def test_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no 'no_such_function'"):
        _ = cp.no_such_function


def test_raw_kernel_updates_arrays_in_place() -> None:
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void axpy(const float *x, float *y, float a, int n) {
            int i = blockDim.x * blockIdx.x + threadIdx.x;
            if (i < n) y[i] += SCALE * a * x[i];
        }""",
        "axpy",
        options=("-DSCALE=2", "--std=c++14"),
    )
    x, y = cp.arange(100, dtype=cp.float32), cp.ones(100, dtype=cp.float32)
    kernel((4,), (32,), (x, y, cp.float32(3), 100))
    np.testing.assert_array_equal(y.get(), 1 + 6 * np.arange(100))
    assert kernel.kernel.explain().is_raised


def test_raw_module_gives_templates_and_variables() -> None:
    module = cp.RawModule(
        code=r"""
        __constant__ float offset[2];
        template <class T> __global__ void shift(T *x) { x[threadIdx.x] += offset[threadIdx.x % 2]; }""",
        name_expressions=("shift<float>", "shift<double>"),
    )
    module.get_global("offset")[...] = [1, 2]
    x = cp.zeros(4, dtype=cp.float64)
    module.get_function("shift<double>")((1,), (4,), (x,))
    assert x.tolist() == [1, 2, 1, 2]


def test_elementwise_kernel_broadcasts_and_infers_types() -> None:
    kernel = cp.ElementwiseKernel("T x, T y", "T z", "z = x * y + i", "scaled")
    row = cp.asarray([1, 10, 100, 1000], dtype=cp.float32)
    np.testing.assert_array_equal(kernel(X, row), X.get() * row.get() + np.arange(12).reshape(3, 4))
    out = cp.empty((3, 4), dtype=cp.float32)
    assert kernel(X, 2, out) is out or out.tolist() == (2 * X.get() + np.arange(12).reshape(3, 4)).tolist()
    np.testing.assert_array_equal(kernel(X.T, 1), X.get().T + np.arange(12).reshape(4, 3))
    assert kernel(cp.zeros((0, 4), dtype=cp.float32), row).shape == (0, 4)


def test_elementwise_kernel_indexes_raw_arrays() -> None:
    reverse = cp.ElementwiseKernel("raw T x", "T y", "y = x[n - 1 - i]", "reverse")
    assert reverse(cp.arange(5, dtype=cp.int32), size=5).tolist() == [4, 3, 2, 1, 0]
    with pytest.raises(wl.LaunchError, match="has only raw arrays: give size="):
        reverse(cp.arange(5, dtype=cp.int32))


def test_elementwise_kernel_has_several_results() -> None:
    both = cp.ElementwiseKernel("T x", "T whole, T rest", "whole = floor(x); rest = x - whole", "split")
    whole, rest = both(cp.asarray([1.25, -0.5]))
    assert whole.tolist() == [1, -1] and rest.tolist() == [0.25, 0.5]


def test_types_that_disagree_are_an_error() -> None:
    add = cp.ElementwiseKernel("T x, T y", "T z", "z = x + y", "add")
    with pytest.raises(wl.LaunchError, match="y is float64, but T is float32 already"):
        add(X, cp.ones(4))
    with pytest.raises(wl.LaunchError, match="nothing says what T is"):
        add(1, 2)
    with pytest.raises(wl.LaunchError, match="'raw T' is no parameter"):
        read_parameters("raw T")


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduction_kernel_reduces_along_axes(axis: int | tuple[int, int] | None, keepdims: bool) -> None:
    norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    expected = np.sqrt(np.sum(X.get() ** 2, axis=axis, keepdims=keepdims))
    np.testing.assert_allclose(norm(X, axis=axis, keepdims=keepdims), expected, rtol=1e-6)


def test_reduction_kernel_combines_as_it_is_told() -> None:
    greatest = cp.ReductionKernel("T x, T w", "T y", "x * w", "max(a, b)", "y = a", "-1e30", "greatest")
    assert greatest(X, cp.asarray([1, -1, 1, 0.5], dtype=cp.float32), axis=1).tolist() == [2, 6, 10]


def test_comments_end_with_their_lines() -> None:
    add = cp.ElementwiseKernel("T x, T y", "T z", "z = x + y; // the sum", "add")
    assert add(X[0], X[1]).tolist() == [4, 6, 8, 10]
    total = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a; // the sum", "0", "total")
    assert total(X, axis=1).tolist() == [6, 22, 38]


def test_arguments_may_have_any_name() -> None:
    product = cp.ReductionKernel("T row, T length", "T out", "row * length", "a + b", "out = a", "0", "product")
    assert product(X, X, axis=1).tolist() == [14, 126, 366]


def test_events_and_streams_are_there() -> None:
    start, end = cp.cuda.Event(), cp.cuda.Event()
    with cp.cuda.Stream(non_blocking=True) as stream:
        start.record()
        end.record(stream)
        stream.synchronize()
    assert cp.cuda.get_elapsed_time(start, end) >= 0
    cp.cuda.Device(0).synchronize()
    assert cp.cuda.runtime.getDeviceCount() == 1


def test_fuse_leaves_functions_as_they_are() -> None:
    @cp.fuse(kernel_name="squared_difference")
    def squared_difference(x: float, y: float) -> float:
        return (x - y) * (x - y)

    assert squared_difference(5, 3) == 4
