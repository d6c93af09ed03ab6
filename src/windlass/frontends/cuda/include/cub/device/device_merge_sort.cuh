#pragma once
#include "submission.cuh"
#include <thrust/sort.h>

namespace cub {
// Sorting with any comparison; all of it is stable.
struct DeviceMergeSort {
    template <class K, class V, class N, class Less>
    static cudaError_t SortPairs(void *storage, size_t &bytes, K keys, V values, N count, Less less,
                                 cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            thrust::detail::run_sort(detail::from_host(), keys, keys + count, values, less);
        });
    }
    template <class K, class N, class Less>
    static cudaError_t SortKeys(void *storage, size_t &bytes, K keys, N count, Less less, cudaStream_t stream = 0,
                                bool = false) {
        return SortPairs(storage, bytes, keys, thrust::detail::no_values(), count, less, stream);
    }
    template <class K, class V, class KO, class VO, class N, class Less>
    static cudaError_t SortPairsCopy(void *storage, size_t &bytes, K keys, V values, KO keys_out, VO values_out, N count,
                                     Less less, cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            detail::run(detail::from_host(), thrust::detail::copy_fn(), keys, keys + count, keys_out);
            detail::run(detail::from_host(), thrust::detail::copy_fn(), values, values + count, values_out);
            thrust::detail::run_sort(detail::from_host(), keys_out, keys_out + count, values_out, less);
        });
    }
    template <class K, class KO, class N, class Less>
    static cudaError_t SortKeysCopy(void *storage, size_t &bytes, K keys, KO keys_out, N count, Less less,
                                    cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            detail::run(detail::from_host(), thrust::detail::copy_fn(), keys, keys + count, keys_out);
            thrust::detail::run_sort(detail::from_host(), keys_out, keys_out + count, thrust::detail::no_values(), less);
        });
    }
    template <class... A> static cudaError_t StableSortKeys(void *storage, size_t &bytes, A... arguments) {
        return SortKeys(storage, bytes, arguments...);
    }
    template <class... A> static cudaError_t StableSortPairs(void *storage, size_t &bytes, A... arguments) {
        return SortPairs(storage, bytes, arguments...);
    }
    template <class... A> static cudaError_t StableSortKeysCopy(void *storage, size_t &bytes, A... arguments) {
        return SortKeysCopy(storage, bytes, arguments...);
    }
};
}  // namespace cub
