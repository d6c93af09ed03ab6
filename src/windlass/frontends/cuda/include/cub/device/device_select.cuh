#pragma once
#include "submission.cuh"
#include <thrust/remove.h>

namespace cub {
struct DeviceSelect {
    template <class In, class Flags, class Out, class Count, class N>
    static cudaError_t Flagged(void *storage, size_t &bytes, In in, Flags flags, Out out, Count selected, N count,
                               cudaStream_t stream = 0, bool = false) {
        return FlaggedIf(storage, bytes, in, flags, out, selected, count, CastOp<bool>(), stream);
    }
    template <class It, class Flags, class Count, class N, std::enable_if_t<std::is_integral_v<N>, int> = 0>
    static cudaError_t Flagged(void *storage, size_t &bytes, It data, Flags flags, Count selected, N count,
                               cudaStream_t stream = 0) {
        return Flagged(storage, bytes, data, flags, data, selected, count, stream);
    }
    template <class In, class Flags, class Out, class Count, class N, class F>
    static cudaError_t FlaggedIf(void *storage, size_t &bytes, In in, Flags flags, Out out, Count selected, N count, F op,
                                 cudaStream_t stream = 0) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            *selected = detail::run(detail::from_host(), thrust::detail::copy_if_fn(), in, in + count, flags, out, op) - out;
        });
    }
    template <class In, class Out, class Count, class N, class F>
    static cudaError_t If(void *storage, size_t &bytes, In in, Out out, Count selected, N count, F op,
                          cudaStream_t stream = 0, bool = false) {
        return FlaggedIf(storage, bytes, in, in, out, selected, count, op, stream);
    }
    template <class It, class Count, class N, class F, std::enable_if_t<std::is_integral_v<N>, int> = 0>
    static cudaError_t If(void *storage, size_t &bytes, It data, Count selected, N count, F op, cudaStream_t stream = 0) {
        return If(storage, bytes, data, data, selected, count, op, stream);
    }
    template <class In, class Out, class Count, class N>
    static cudaError_t Unique(void *storage, size_t &bytes, In in, Out out, Count selected, N count,
                              cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            *selected = thrust::detail::unique_copy_forms()(detail::from_host(), in, in + count, out, cub::Equality()) - out;
        });
    }
    template <class K, class V, class KO, class VO, class Count, class N, class Same = cub::Equality>
    static cudaError_t UniqueByKey(void *storage, size_t &bytes, K keys, V values, KO keys_out, VO values_out,
                                   Count selected, N count, Same same = Same(), cudaStream_t stream = 0) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            auto ends = detail::run(detail::from_host(), thrust::detail::unique_copy_fn(), keys, keys + count, values,
                                    keys_out, values_out, same);
            *selected = ends.first - keys_out;
        });
    }
};

struct DevicePartition {
    // What is selected comes first, in order; the rest after it, in reverse.
    template <class In, class Flags, class Out, class Count, class N>
    static cudaError_t Flagged(void *storage, size_t &bytes, In in, Flags flags, Out out, Count selected, N count,
                               cudaStream_t stream = 0, bool = false) {
        return partition(storage, bytes, in, flags, out, selected, count, CastOp<bool>(), stream);
    }
    template <class In, class Out, class Count, class N, class F>
    static cudaError_t If(void *storage, size_t &bytes, In in, Out out, Count selected, N count, F op,
                          cudaStream_t stream = 0, bool = false) {
        return partition(storage, bytes, in, in, out, selected, count, op, stream);
    }
    // Three parts, each in order; how many are in the first and in the second.
    template <class In, class A, class B, class C, class Counts, class N, class F, class G>
    static cudaError_t If(void *storage, size_t &bytes, In in, A first, B second, C others, Counts counts, N count, F op1,
                          G op2, cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            using T = detail::value_t<In>;
            thrust::detail::buffer<T> rest((size_t)count);
            auto ends = detail::run(detail::from_host(), thrust::detail::partition_copy_fn(), in, in + count, in, first,
                                    rest.data, op1);
            auto last = detail::run(detail::from_host(), thrust::detail::partition_copy_fn(), rest.data, ends.second,
                                    rest.data, second, others, op2);
            counts[0] = ends.first - first;
            counts[1] = last.first - second;
        });
    }

private:
    template <class In, class Flags, class Out, class Count, class N, class F>
    static cudaError_t partition(void *storage, size_t &bytes, In in, Flags flags, Out out, Count selected, N count, F op,
                                 cudaStream_t stream) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            thrust::detail::buffer<detail::value_t<In>> rest((size_t)count);
            auto ends = detail::run(detail::from_host(), thrust::detail::partition_copy_fn(), in, in + count, flags, out,
                                    rest.data, op);
            size_t others = ends.second - rest.data;
            for (size_t i = 0; i < others; i++) ends.first[i] = rest.data[others - 1 - i];
            *selected = ends.first - out;
        });
    }
};
}  // namespace cub
