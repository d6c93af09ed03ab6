#pragma once
#include "submission.cuh"
#include "../iterator/arg_index_input_iterator.cuh"
#include <thrust/reduce.h>

namespace cub {
struct DeviceReduce {
    template <class In, class Out, class F, class T, class N>
    static cudaError_t Reduce(void *storage, size_t &bytes, In in, Out out, N count, F op, T initial,
                              cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            *out = detail::run(detail::from_host(), thrust::detail::reduce_fn(), in, in + count, initial, op);
        });
    }
    template <class In, class Out, class N>
    static cudaError_t Sum(void *storage, size_t &bytes, In in, Out out, N count, cudaStream_t stream = 0, bool = false) {
        return Reduce(storage, bytes, in, out, count, cub::Sum(), detail::output_t<Out, In>(), stream);
    }
    template <class In, class Out, class N>
    static cudaError_t Min(void *storage, size_t &bytes, In in, Out out, N count, cudaStream_t stream = 0, bool = false) {
        return Reduce(storage, bytes, in, out, count, cub::Min(), Traits<detail::value_t<In>>::Max(), stream);
    }
    template <class In, class Out, class N>
    static cudaError_t Max(void *storage, size_t &bytes, In in, Out out, N count, cudaStream_t stream = 0, bool = false) {
        return Reduce(storage, bytes, in, out, count, cub::Max(), Traits<detail::value_t<In>>::Lowest(), stream);
    }
    // Of no elements: offset 1, and the value that loses to all others.
    template <class In, class Out, class N>
    static cudaError_t ArgMin(void *storage, size_t &bytes, In in, Out out, N count, cudaStream_t stream = 0, bool = false) {
        using T = detail::value_t<In>;
        return Reduce(storage, bytes, ArgIndexInputIterator<In, int, T>(in), out, count, cub::ArgMin(),
                      KeyValuePair<int, T>(1, Traits<T>::Max()), stream);
    }
    template <class In, class Out, class N>
    static cudaError_t ArgMax(void *storage, size_t &bytes, In in, Out out, N count, cudaStream_t stream = 0, bool = false) {
        using T = detail::value_t<In>;
        return Reduce(storage, bytes, ArgIndexInputIterator<In, int, T>(in), out, count, cub::ArgMax(),
                      KeyValuePair<int, T>(1, Traits<T>::Lowest()), stream);
    }
    template <class In, class Out, class F, class G, class T, class N>
    static cudaError_t TransformReduce(void *storage, size_t &bytes, In in, Out out, N count, F op, G transform,
                                       T initial, cudaStream_t stream = 0) {
        return Reduce(storage, bytes, thrust::make_transform_iterator(in, transform), out, count, op, initial, stream);
    }
    template <class Keys, class KeysOut, class Values, class SumsOut, class Runs, class F, class N>
    static cudaError_t ReduceByKey(void *storage, size_t &bytes, Keys keys, KeysOut unique, Values values, SumsOut sums,
                                   Runs runs, F op, N count, cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            auto ends = detail::run(detail::from_host(), thrust::detail::reduce_by_key_fn(), keys, keys + count, values,
                                    unique, sums, cub::Equality(), op);
            *runs = ends.second - sums;
        });
    }
};

// Segment i is [begins[i], ends[i]).
struct DeviceSegmentedReduce {
    template <class In, class Out, class Begins, class Ends, class F, class T>
    static cudaError_t Reduce(void *storage, size_t &bytes, In in, Out out, int segments, Begins begins, Ends ends, F op,
                              T initial, cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            for (int i = 0; i < segments; i++)
                out[i] = detail::run(detail::from_host(), thrust::detail::reduce_fn(), in + begins[i],
                                     in + (begins[i] < ends[i] ? ends[i] : begins[i]), initial, op);
        });
    }
    template <class In, class Out, class Begins, class Ends>
    static cudaError_t Sum(void *storage, size_t &bytes, In in, Out out, int segments, Begins begins, Ends ends,
                           cudaStream_t stream = 0, bool = false) {
        return Reduce(storage, bytes, in, out, segments, begins, ends, cub::Sum(), detail::output_t<Out, In>(), stream);
    }
    template <class In, class Out, class Begins, class Ends>
    static cudaError_t Min(void *storage, size_t &bytes, In in, Out out, int segments, Begins begins, Ends ends,
                           cudaStream_t stream = 0, bool = false) {
        return Reduce(storage, bytes, in, out, segments, begins, ends, cub::Min(), Traits<detail::value_t<In>>::Max(), stream);
    }
    template <class In, class Out, class Begins, class Ends>
    static cudaError_t Max(void *storage, size_t &bytes, In in, Out out, int segments, Begins begins, Ends ends,
                           cudaStream_t stream = 0, bool = false) {
        return Reduce(storage, bytes, in, out, segments, begins, ends, cub::Max(), Traits<detail::value_t<In>>::Lowest(),
                      stream);
    }
    // Offsets count from the beginning of each segment.
    template <class In, class Out, class Begins, class Ends>
    static cudaError_t ArgMin(void *storage, size_t &bytes, In in, Out out, int segments, Begins begins, Ends ends,
                              cudaStream_t stream = 0, bool = false) {
        return places<cub::ArgMin>(storage, bytes, in, out, segments, begins, ends, Traits<detail::value_t<In>>::Max(), stream);
    }
    template <class In, class Out, class Begins, class Ends>
    static cudaError_t ArgMax(void *storage, size_t &bytes, In in, Out out, int segments, Begins begins, Ends ends,
                              cudaStream_t stream = 0, bool = false) {
        return places<cub::ArgMax>(storage, bytes, in, out, segments, begins, ends, Traits<detail::value_t<In>>::Lowest(),
                                   stream);
    }

private:
    template <class F, class In, class Out, class Begins, class Ends, class T>
    static cudaError_t places(void *storage, size_t &bytes, In in, Out out, int segments, Begins begins, Ends ends,
                              T none, cudaStream_t stream) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            using Pair = KeyValuePair<int, detail::value_t<In>>;
            for (int i = 0; i < segments; i++) {
                ArgIndexInputIterator<In, int, detail::value_t<In>> first(in + begins[i]);
                auto count = begins[i] < ends[i] ? ends[i] - begins[i] : 0;
                out[i] = detail::run(detail::from_host(), thrust::detail::reduce_fn(), first, first + count, Pair(1, none), F());
            }
        });
    }
};
}  // namespace cub
