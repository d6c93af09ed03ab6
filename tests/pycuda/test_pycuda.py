"""Programs written for PyCUDA, with the import lines changed."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl
import windlass.pycuda.autoinit
import windlass.pycuda.driver as cuda
from windlass.pycuda import gpuarray
from windlass.pycuda.compiler import SourceModule
from windlass.pycuda.elementwise import ElementwiseKernel
from windlass.pycuda.reduction import ReductionKernel
from windlass.pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel
from windlass.pycuda.tools import ScalarArg, VectorArg, dtype_to_ctype

pytestmark = pytest.mark.one_in(2)

SOURCE = """
__constant__ float factor;
__global__ void multiply_them(float *dest, const float *a, const float *b) {
    const int i = threadIdx.x;
    dest[i] = a[i] * b[i];
}
__global__ void scale(float *a) { a[threadIdx.x + threadIdx.y * 4] *= factor * TWO; }
"""
MODULE = SourceModule(SOURCE, options=["-DTWO=2"])
A = np.random.default_rng(0).standard_normal(40).astype(np.float32)
B = A[::-1].copy()


def test_arguments_go_in_and_out() -> None:
    dest = np.zeros_like(A)
    MODULE.get_function("multiply_them")(cuda.Out(dest), cuda.In(A), cuda.In(B), block=(40, 1, 1), grid=(1, 1))
    np.testing.assert_array_equal(dest, A * B)


def test_memory_is_copied_there_and_back() -> None:
    memory, size = MODULE.get_global("factor")
    cuda.memcpy_htod(memory, np.float32(5))
    assert size == 4
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    a_gpu = cuda.mem_alloc(a.nbytes)
    cuda.memcpy_htod(a_gpu, a)
    MODULE.get_function("scale")(a_gpu, block=(4, 4, 1))
    result = np.empty_like(a)
    cuda.memcpy_dtoh(result, a_gpu)
    np.testing.assert_array_equal(result, 10 * a)
    np.testing.assert_array_equal(cuda.from_device_like(a_gpu + 32, a[2:]), 10 * a[2:])
    with pytest.raises(cuda.LogicError, match="65 bytes do not fit into 64"):
        cuda.memcpy_htod(a_gpu, np.zeros(65, np.uint8))


def test_in_leaves_the_array_as_it_is() -> None:
    a = np.ones(16, np.float32)
    MODULE.get_function("scale")(cuda.In(a), block=(4, 4, 1))
    assert a.tolist() == [1] * 16
    with pytest.raises(wl.LaunchError, match="give block="):
        MODULE.get_function("scale")(cuda.In(a))


def test_arrays_of_the_device_compute() -> None:
    a, b = gpuarray.to_gpu(A), gpuarray.to_gpu(B)
    np.testing.assert_allclose((2 * a + b / 3 - 1).get(), 2 * A + B / 3 - 1, rtol=1e-6)
    a += b
    np.testing.assert_array_equal(a.get(), A + B)
    np.testing.assert_allclose(gpuarray.dot(a, b).get(), np.dot(A + B, B), rtol=1e-5)
    assert gpuarray.zeros((2, 3), np.float32).shape == (2, 3)
    with pytest.raises(TypeError, match="call its get"):
        np.asarray(a)


def test_arrays_are_reshaped_in_the_order_that_is_named() -> None:
    a = gpuarray.arange(6, dtype=np.float32)
    assert a.reshape(2, 3, order="F").get().tolist() == [[0, 2, 4], [1, 3, 5]]
    assert a.reshape((3, 2)).ravel().get().tolist() == [0, 1, 2, 3, 4, 5]


def test_devices_but_the_first_are_an_error() -> None:
    with pytest.raises(cuda.LogicError, match="there is one device, number 0; got 1"):
        cuda.Device(1)
    cuda.Context.synchronize()


def test_kernels_of_expressions() -> None:
    combine = ElementwiseKernel(
        "float a, float *x, float b, float *y, float *z", "z[i] = a * x[i] + b * y[i]", "combine"
    )
    a, b = gpuarray.to_gpu(A), gpuarray.to_gpu(B)
    c = gpuarray.empty_like(a)
    combine(5, a, 6, b, c)
    np.testing.assert_allclose(c.get(), 5 * A + 6 * B, rtol=1e-6)
    dot = ReductionKernel(np.float32, "0", "a+b", "x[i]*y[i]", "float *x, float *y")
    np.testing.assert_allclose(dot(a, b).get(), np.dot(A, B), rtol=1e-4, atol=1e-5)
    row = ReductionKernel(np.float32, "0", "a+b", "x[i]*row", "float *x, float row")
    np.testing.assert_allclose(row(a, 2).get(), 2 * A.sum(), rtol=1e-4, atol=1e-5)
    with pytest.raises(wl.LaunchError, match="arrays have"):
        combine(5, a, 6, gpuarray.zeros(3, np.float32), c)


def test_scans_combine_what_came_before() -> None:
    x = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)
    total = InclusiveScanKernel(np.int32, "a+b")
    in_place = gpuarray.to_gpu(x)
    assert total(in_place) is in_place
    np.testing.assert_array_equal(in_place.get(), np.cumsum(x))
    greatest = ExclusiveScanKernel(np.int32, "a > b ? a : b", neutral=-1, name_prefix="greatest")
    source = gpuarray.to_gpu(x)
    np.testing.assert_array_equal(greatest(source, "new").get(), [-1, *np.maximum.accumulate(x)[:-1]])
    np.testing.assert_array_equal(source.get(), x)
    assert total(gpuarray.to_gpu(x[:0])).shape == (0,)
    with pytest.raises(wl.LaunchError, match="scans arrays of one length in one piece, of int32; got float64"):
        total(gpuarray.to_gpu(x.astype(np.float64)))


def test_vectors_are_arguments_and_elements() -> None:
    vec = gpuarray.vec
    module = SourceModule("__global__ void k(float3 *a, float3 b, uchar4 c) { a[threadIdx.x].x += b.y * c.w; }")
    a = gpuarray.zeros(3, vec.float3)
    module.get_function("k")(a, vec.make_float3(1, 2, 3), vec.make_uchar4(1, 2, 3, 4), block=(3, 1, 1))
    ElementwiseKernel([VectorArg(vec.float3, "v"), ScalarArg(vec.float2, "by")], "v[i].z = i * by.x", "ramp")(
        a, vec.make_float2(0.5, 0)
    )
    assert a.get().tolist() == [(8, 0, 0), (8, 0, 0.5), (8, 0, 1)]
    both = ReductionKernel(
        vec.float2, "make_float2(0, 0)", "make_float2(a.x + b.x, fmaxf(a.y, b.y))", "make_float2(v[i].x, v[i].z)",
        "float3 *v",
    )  # fmt: skip
    assert both(a).get().item() == (24, 1) and dtype_to_ctype(vec.float2) == "float2"
    with pytest.raises(TypeError, match="make_float3 takes 3 numbers, got 2"):
        vec.make_float3(1, 2)


def test_arrays_lie_as_they_are_told() -> None:
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    on_device = gpuarray.to_gpu(a)
    for each in (on_device, on_device.copy(), gpuarray.zeros_like(on_device), 2 * on_device, on_device.get()):
        assert each.strides == a.strides
    assert gpuarray.empty((2, 3), np.float32, order="F").strides == (4, 8)
    # Elements are numbered as they lie.
    number = ElementwiseKernel("double *x", "x[i] = i", "number")
    number(on_device)
    assert on_device.get().tolist() == [[0, 2, 4], [1, 3, 5]]
    # A part of an array is the array's memory; kernels see it from its first number on.
    whole = gpuarray.zeros((3, 3), np.float32)
    whole[:, 1].fill(5)
    whole[1] += 1
    column = whole[:, 2]
    module = SourceModule("__global__ void k(float *x, int step) { x[threadIdx.x * step] += 10; }")
    module.get_function("k")(column, np.int32(column.strides[0] // 4), block=(3, 1, 1))
    assert whole.get().tolist() == [[0, 5, 10], [1, 6, 11], [0, 5, 10]]
    with pytest.raises(wl.LaunchError, match="do not lie one after another in the same order"):
        number(gpuarray.zeros((3, 3), np.float64)[:, 1])
    with pytest.raises(ValueError, match="has no memory that begins with it"):
        module.get_function("k")(whole[0, ::-1], np.int32(1), block=(1, 1, 1))


def test_events_tell_time() -> None:
    start, end = cuda.Event(), cuda.Event()
    start.record()
    with pytest.raises(cuda.LogicError, match="an event was not recorded"):
        end.time_since(start)
    end.record().synchronize()
    assert start.time_till(end) >= 0 and cuda.Device.count() == 1
    assert windlass.pycuda.autoinit.device.compute_capability() == (7, 0)
