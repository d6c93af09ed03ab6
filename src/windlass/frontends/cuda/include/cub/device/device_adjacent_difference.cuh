#pragma once
#include "submission.cuh"
#include <thrust/adjacent_difference.h>
#include <thrust/iterator/reverse_iterator.h>

namespace cub {
struct DeviceAdjacentDifference {
    template <class In, class Out, class N, class F = cub::Difference>
    static cudaError_t SubtractLeftCopy(void *storage, size_t &bytes, In in, Out out, N count, F op = F(),
                                        cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            detail::run(detail::from_host(), thrust::detail::adjacent_difference_fn(), in, in + count, out, op);
        });
    }
    template <class It, class N, class F = cub::Difference>
    static cudaError_t SubtractLeft(void *storage, size_t &bytes, It data, N count, F op = F(), cudaStream_t stream = 0,
                                    bool = false) {
        return SubtractLeftCopy(storage, bytes, data, data, count, op, stream);
    }
    template <class In, class Out, class N, class F = cub::Difference>
    static cudaError_t SubtractRightCopy(void *storage, size_t &bytes, In in, Out out, N count, F op = F(),
                                         cudaStream_t stream = 0, bool = false) {
        return SubtractLeftCopy(storage, bytes, thrust::make_reverse_iterator(in + count),
                                thrust::make_reverse_iterator(out + count), count, op, stream);
    }
    template <class It, class N, class F = cub::Difference>
    static cudaError_t SubtractRight(void *storage, size_t &bytes, It data, N count, F op = F(), cudaStream_t stream = 0,
                                     bool = false) {
        return SubtractRightCopy(storage, bytes, data, data, count, op, stream);
    }
};
}  // namespace cub
