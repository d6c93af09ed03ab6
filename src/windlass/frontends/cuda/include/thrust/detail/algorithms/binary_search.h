// Searches in sorted ranges: for one value, or for each of a range of values.
#pragma once
#include "copy.h"

namespace thrust {
namespace detail {
template <class In, class T, class Less> __host__ __device__ In lower(In first, In last, const T &value, Less &less) {
    for (distance_of<In> count = last - first; count > 0;) {
        distance_of<In> half = count / 2;
        if (less(first[half], value)) first += half + 1, count -= half + 1;
        else count = half;
    }
    return first;
}
template <class In, class T, class Less> __host__ __device__ In upper(In first, In last, const T &value, Less &less) {
    for (distance_of<In> count = last - first; count > 0;) {
        distance_of<In> half = count / 2;
        if (less(value, first[half])) count = half;
        else first += half + 1, count -= half + 1;
    }
    return first;
}
struct lower_fn {
    static constexpr int functions = 1;
    template <class In, class T, class Less> __host__ __device__ In operator()(In first, In last, T value, Less less) const {
        return lower(first, last, value, less);
    }
};
struct upper_fn {
    static constexpr int functions = 1;
    template <class In, class T, class Less> __host__ __device__ In operator()(In first, In last, T value, Less less) const {
        return upper(first, last, value, less);
    }
};
struct found_fn {
    static constexpr int functions = 1;
    template <class In, class T, class Less>
    __host__ __device__ bool operator()(In first, In last, T value, Less less) const {
        In at = lower(first, last, value, less);
        return at != last && !less(value, *at);
    }
};
// For each of several values: a position, or whether it is there.
template <class One> struct each_search_fn {
    using each_by_itself = void;
    static constexpr int functions = 1;
    template <class In, class T, class Less>
    static __host__ __device__ auto search(In first, In last, const T &value, Less less) {
        if constexpr (std::is_same_v<One, found_fn>) return One()(first, last, value, less);
        else return One()(first, last, value, less) - first;
    }
    template <class V, class In, class Out, class Less>
    __host__ __device__ Out operator()(V value, V end, In first, In last, Out out, Less less) const {
        for (; value != end; ++value, ++out) *out = search(first, last, (value_of<V>)*value, less);
        return out;
    }
    template <class V, class In, class Out, class Less> __host__ __device__ long size(V value, V end, In, In, Out, Less) const {
        return end - value;
    }
    template <class V, class In, class Out, class Less>
    __host__ __device__ void at(long i, V values, V, In first, In last, Out out, Less less) const {
        out[i] = search(first, last, (value_of<V>)values[i], less);
    }
    template <class V, class In, class Out, class Less>
    __host__ __device__ Out result(long n, V, V, In, In, Out out, Less) const {
        return out + n;
    }
};
template <class One> struct search_forms {
    template <class P, class In, class T, std::enable_if_t<!is_policy<T>, int> = 0>
    __host__ __device__ auto operator()(P place, In first, In last, T value) const {
        return run(place, One(), first, last, value, less<value_of<In>>());
    }
    template <class P, class In, class T, class Less>
    __host__ __device__ auto operator()(P place, In first, In last, T value, Less less) const {
        return run(place, One(), first, last, value, less);
    }
    template <class P, class In, class V, class Out, std::enable_if_t<is_iterator<V>::value && is_iterator<Out>::value, int> = 0>
    __host__ __device__ Out operator()(P place, In first, In last, V value, V end, Out out) const {
        return run(place, each_search_fn<One>(), value, end, first, last, out, less<value_of<In>>());
    }
    template <class P, class In, class V, class Out, class Less, std::enable_if_t<is_iterator<V>::value, int> = 0>
    __host__ __device__ Out operator()(P place, In first, In last, V value, V end, Out out, Less less) const {
        return run(place, each_search_fn<One>(), value, end, first, last, out, less);
    }
};
struct equal_range_forms {
    template <class P, class In, class T, class... Less>
    __host__ __device__ std::pair<In, In> operator()(P place, In first, In last, T value, Less... less) const {
        return std::pair<In, In>(search_forms<lower_fn>()(place, first, last, value, less...),
                                 search_forms<upper_fn>()(place, first, last, value, less...));
    }
};
}  // namespace detail
__THRUST_FUNCTION(lower_bound, detail::search_forms<detail::lower_fn>)
__THRUST_FUNCTION(upper_bound, detail::search_forms<detail::upper_fn>)
__THRUST_FUNCTION(binary_search, detail::search_forms<detail::found_fn>)
__THRUST_FUNCTION(equal_range, detail::equal_range_forms)
}  // namespace thrust
