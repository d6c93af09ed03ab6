#pragma once
#include "submission.cuh"
#include <thrust/scan.h>

namespace cub {
struct DeviceScan {
    template <class In, class Out, class F, class T, class N>
    static cudaError_t ExclusiveScan(void *storage, size_t &bytes, In in, Out out, F op, T initial, N count,
                                     cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            detail::run(detail::from_host(), thrust::detail::scan_fn<true>(), in, in + count, out, initial, op);
        });
    }
    template <class In, class Out, class F, class N>
    static cudaError_t InclusiveScan(void *storage, size_t &bytes, In in, Out out, F op, N count, cudaStream_t stream = 0,
                                     bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            detail::run(detail::from_host(), thrust::detail::scan_from_first_fn(), in, in + count, out, op);
        });
    }
    template <class In, class Out, class F, class T, class N>
    static cudaError_t InclusiveScanInit(void *storage, size_t &bytes, In in, Out out, F op, T initial, N count,
                                         cudaStream_t stream = 0) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            detail::run(detail::from_host(), thrust::detail::scan_fn<false>(), in, in + count, out, initial, op);
        });
    }
    template <class In, class Out, class N>
    static cudaError_t ExclusiveSum(void *storage, size_t &bytes, In in, Out out, N count, cudaStream_t stream = 0,
                                    bool = false) {
        return ExclusiveScan(storage, bytes, in, out, cub::Sum(), detail::value_t<In>(), count, stream);
    }
    template <class In, class Out, class N>
    static cudaError_t InclusiveSum(void *storage, size_t &bytes, In in, Out out, N count, cudaStream_t stream = 0,
                                    bool = false) {
        return InclusiveScan(storage, bytes, in, out, cub::Sum(), count, stream);
    }
    // In place.
    template <class It, class N, std::enable_if_t<std::is_integral_v<N>, int> = 0>
    static cudaError_t ExclusiveSum(void *storage, size_t &bytes, It data, N count, cudaStream_t stream = 0) {
        return ExclusiveSum(storage, bytes, data, data, count, stream);
    }
    template <class It, class N, std::enable_if_t<std::is_integral_v<N>, int> = 0>
    static cudaError_t InclusiveSum(void *storage, size_t &bytes, It data, N count, cudaStream_t stream = 0) {
        return InclusiveSum(storage, bytes, data, data, count, stream);
    }
    template <class It, class F, class T, class N, std::enable_if_t<std::is_integral_v<N>, int> = 0>
    static cudaError_t ExclusiveScan(void *storage, size_t &bytes, It data, F op, T initial, N count,
                                     cudaStream_t stream = 0) {
        return ExclusiveScan(storage, bytes, data, data, op, initial, count, stream);
    }
    template <class It, class F, class N, std::enable_if_t<std::is_integral_v<N>, int> = 0>
    static cudaError_t InclusiveScan(void *storage, size_t &bytes, It data, F op, N count, cudaStream_t stream = 0) {
        return InclusiveScan(storage, bytes, data, data, op, count, stream);
    }
    // By key.
    template <class K, class V, class Out, class F, class T, class N, class Same = cub::Equality>
    static cudaError_t ExclusiveScanByKey(void *storage, size_t &bytes, K keys, V values, Out out, F op, T initial,
                                          N count, Same same = Same(), cudaStream_t stream = 0) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            detail::run(detail::from_host(), thrust::detail::scan_by_key_fn<true>(), keys, keys + count, values, out,
                        initial, same, op);
        });
    }
    template <class K, class V, class Out, class F, class N, class Same = cub::Equality>
    static cudaError_t InclusiveScanByKey(void *storage, size_t &bytes, K keys, V values, Out out, F op, N count,
                                          Same same = Same(), cudaStream_t stream = 0) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            detail::run(detail::from_host(), thrust::detail::scan_by_key_fn<false>(), keys, keys + count, values, out,
                        detail::value_t<V>(), same, op);
        });
    }
    template <class K, class V, class Out, class N, class Same = cub::Equality>
    static cudaError_t ExclusiveSumByKey(void *storage, size_t &bytes, K keys, V values, Out out, N count,
                                         Same same = Same(), cudaStream_t stream = 0) {
        return ExclusiveScanByKey(storage, bytes, keys, values, out, cub::Sum(), detail::value_t<V>(), count, same, stream);
    }
    template <class K, class V, class Out, class N, class Same = cub::Equality>
    static cudaError_t InclusiveSumByKey(void *storage, size_t &bytes, K keys, V values, Out out, N count,
                                         Same same = Same(), cudaStream_t stream = 0) {
        return InclusiveScanByKey(storage, bytes, keys, values, out, cub::Sum(), count, same, stream);
    }
};
}  // namespace cub
