"""The part of libcu++ that there is: atomics, targets, the standard library under cuda::std."""

from __future__ import annotations

import numpy as np

import windlass as wl

SOURCE = r"""
#include <cuda/atomic>
#include <cuda/cmath>
#include <cuda/functional>
#include <cuda/std/complex>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <nv/target>

__global__ void count(const int *x, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> bin(bins[x[i]]);
    bin.fetch_add(1, cuda::memory_order_relaxed);
}
__global__ void bounds(const int *x, int *greatest) {
    cuda::atomic_ref<int>(*greatest).fetch_max(x[threadIdx.x]);
}
__device__ int where() {
    NV_IF_TARGET(NV_IS_DEVICE, (return 1;), (return 2;))
}
__device__ int generation() {
    NV_DISPATCH_TARGET(NV_PROVIDES_SM_90, (return 90;), NV_PROVIDES_SM_70, (return 70;), NV_IS_HOST, (return 0;))
}
__global__ void numbers(int *out, float *parts) {
    cuda::std::tuple<int, float> pair(3, 0.5f);
    auto twice = cuda::proclaim_return_type<int>([] __device__(int x) { return 2 * x; });
    cuda::std::complex<float> z(1.0f, 2.0f);
    z = z * z;
    out[0] = where();
    out[1] = generation();
    out[2] = twice(cuda::std::get<0>(pair));
    out[3] = cuda::ceil_div(10, 3);
    out[4] = cuda::std::is_same_v<int, cuda::std::remove_const_t<const int>>;
    parts[0] = z.real();
    parts[1] = z.imag();
}
"""


def test_parts_of_libcuxx_work_in_kernels() -> None:
    module = wl.cuda.compile(SOURCE)
    x = np.random.default_rng(3).integers(0, 10, 500, dtype=np.int32)
    bins = np.zeros(10, np.int32)
    module["count"][4, 128](x, bins, 500)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=10))
    greatest = np.array([-1], np.int32)
    module["bounds"][1, 64](x, greatest)
    assert greatest[0] == x[:64].max()
    out, parts = np.zeros(5, np.int32), np.zeros(2, np.float32)
    module["numbers"][1, 1](out, parts)
    assert out.tolist() == [1, 70, 6, 4, 1]
    assert parts.tolist() == [-3, 4]
