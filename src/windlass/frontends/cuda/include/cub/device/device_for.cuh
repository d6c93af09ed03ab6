#pragma once
#include "submission.cuh"
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform.h>

namespace cub {
struct DeviceFor {
    template <class N, class F> static cudaError_t Bulk(N count, F op, cudaStream_t stream = 0) {
        thrust::counting_iterator<N> first(0);
        return ForEachN(first, count, op, stream);
    }
    template <class It, class F> static cudaError_t ForEach(It first, It last, F op, cudaStream_t stream = 0) {
        return detail::submit(stream, [=] {
            detail::run(detail::from_host(), thrust::detail::for_each_fn(), first, last, op);
        });
    }
    template <class It, class N, class F> static cudaError_t ForEachN(It first, N count, F op, cudaStream_t stream = 0) {
        return ForEach(first, first + count, op, stream);
    }
    template <class It, class F> static cudaError_t ForEachCopy(It first, It last, F op, cudaStream_t stream = 0) {
        return ForEach(first, last, op, stream);
    }
    template <class It, class N, class F>
    static cudaError_t ForEachCopyN(It first, N count, F op, cudaStream_t stream = 0) {
        return ForEachN(first, count, op, stream);
    }
    // With memory that is not needed.
    template <class N, class F>
    static cudaError_t Bulk(void *storage, size_t &bytes, N count, F op, cudaStream_t stream = 0) {
        return detail::asks_for_size(storage, bytes) ? cudaSuccess : Bulk(count, op, stream);
    }
    template <class It, class F>
    static cudaError_t ForEach(void *storage, size_t &bytes, It first, It last, F op, cudaStream_t stream = 0) {
        return detail::asks_for_size(storage, bytes) ? cudaSuccess : ForEach(first, last, op, stream);
    }
    template <class It, class N, class F>
    static cudaError_t ForEachN(void *storage, size_t &bytes, It first, N count, F op, cudaStream_t stream = 0) {
        return detail::asks_for_size(storage, bytes) ? cudaSuccess : ForEachN(first, count, op, stream);
    }
};
}  // namespace cub
