// Inclusive and exclusive scans, also by key, and of what a function makes of each element.
#pragma once
#include "copy.h"
#include "../../iterator/transform_iterator.h"

namespace thrust {
namespace detail {
template <bool Exclusive> struct scan_fn {
    static constexpr int functions = 1;
    template <class In, class Out, class T, class F>
    __host__ __device__ Out operator()(In first, In last, Out out, T sum, F f) const {
        for (; first != last; ++first, ++out) {
            T next = f(sum, *first);
            *out = Exclusive ? sum : next;
            sum = next;
        }
        return out;
    }
};
// Without an initial value.
struct scan_from_first_fn {
    static constexpr int functions = 1;
    template <class In, class Out, class F> __host__ __device__ Out operator()(In first, In last, Out out, F f) const {
        if (first == last) return out;
        value_of<In> sum = *first;
        *out = sum;
        for (++first, ++out; first != last; ++first, ++out) {
            sum = f(sum, *first);
            *out = sum;
        }
        return out;
    }
};
struct inclusive_scan_forms {
    template <class P, class In, class Out> __host__ __device__ Out operator()(P place, In first, In last, Out out) const {
        return run(place, scan_from_first_fn(), first, last, out, plus<value_of<In>>());
    }
    template <class P, class In, class Out, class F>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, F f) const {
        return run(place, scan_from_first_fn(), first, last, out, f);
    }
    template <class P, class In, class Out, class T, class F>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, T initial, F f) const {
        return run(place, scan_fn<false>(), first, last, out, initial, f);
    }
};
struct exclusive_scan_forms {
    template <class P, class In, class Out> __host__ __device__ Out operator()(P place, In first, In last, Out out) const {
        return run(place, scan_fn<true>(), first, last, out, value_of<In>(), plus<value_of<In>>());
    }
    template <class P, class In, class Out, class T>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, T initial) const {
        return run(place, scan_fn<true>(), first, last, out, initial, plus<T>());
    }
    template <class P, class In, class Out, class T, class F>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, T initial, F f) const {
        return run(place, scan_fn<true>(), first, last, out, initial, f);
    }
};
template <class F, class In> using scanned_value = std::decay_t<decltype(std::declval<F &>()(*std::declval<In &>()))>;
struct transform_inclusive_scan_forms {
    template <class P, class In, class Out, class Unary, class F>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, Unary unary, F f) const {
        using Each = transform_iterator<Unary, In, scanned_value<Unary, In>, scanned_value<Unary, In>>;
        return run(place, scan_from_first_fn(), Each(first, unary), Each(last, unary), out, f);
    }
};
struct transform_exclusive_scan_forms {
    template <class P, class In, class Out, class Unary, class T, class F>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, Unary unary, T initial, F f) const {
        using Each = transform_iterator<Unary, In, scanned_value<Unary, In>, scanned_value<Unary, In>>;
        return run(place, scan_fn<true>(), Each(first, unary), Each(last, unary), out, initial, f);
    }
};
// Starts anew where neighbouring keys differ.
template <bool Exclusive> struct scan_by_key_fn {
    static constexpr int functions = 2;
    template <class K, class V, class Out, class T, class Same, class F>
    __host__ __device__ Out operator()(K key, K last, V value, Out out, T initial, Same same, F f) const {
        bool is_first = true;
        T sum = initial;
        K before = key;
        for (; key != last; before = key, ++key, ++value, ++out, is_first = false) {
            bool starts = is_first || !same(*before, *key);
            if (Exclusive) {
                if (starts) sum = initial;
                T next = f(sum, *value);
                *out = sum;
                sum = next;
            } else {
                sum = starts ? (T)*value : (T)f(sum, *value);
                *out = sum;
            }
        }
        return out;
    }
};
struct inclusive_scan_by_key_forms {
    template <class P, class K, class V, class Out>
    __host__ __device__ Out operator()(P place, K first, K last, V values, Out out) const {
        return (*this)(place, first, last, values, out, equal_to<value_of<K>>(), plus<value_of<V>>());
    }
    template <class P, class K, class V, class Out, class Same>
    __host__ __device__ Out operator()(P place, K first, K last, V values, Out out, Same same) const {
        return (*this)(place, first, last, values, out, same, plus<value_of<V>>());
    }
    template <class P, class K, class V, class Out, class Same, class F>
    __host__ __device__ Out operator()(P place, K first, K last, V values, Out out, Same same, F f) const {
        return run(place, scan_by_key_fn<false>(), first, last, values, out, value_of<V>(), same, f);
    }
};
struct exclusive_scan_by_key_forms {
    template <class P, class K, class V, class Out>
    __host__ __device__ Out operator()(P place, K first, K last, V values, Out out) const {
        return (*this)(place, first, last, values, out, value_of<V>(), equal_to<value_of<K>>(), plus<value_of<V>>());
    }
    template <class P, class K, class V, class Out, class T>
    __host__ __device__ Out operator()(P place, K first, K last, V values, Out out, T initial) const {
        return (*this)(place, first, last, values, out, initial, equal_to<value_of<K>>(), plus<T>());
    }
    template <class P, class K, class V, class Out, class T, class Same>
    __host__ __device__ Out operator()(P place, K first, K last, V values, Out out, T initial, Same same) const {
        return (*this)(place, first, last, values, out, initial, same, plus<T>());
    }
    template <class P, class K, class V, class Out, class T, class Same, class F>
    __host__ __device__ Out operator()(P place, K first, K last, V values, Out out, T initial, Same same, F f) const {
        return run(place, scan_by_key_fn<true>(), first, last, values, out, initial, same, f);
    }
};
}  // namespace detail
__THRUST_FUNCTION(inclusive_scan, detail::inclusive_scan_forms)
__THRUST_FUNCTION(exclusive_scan, detail::exclusive_scan_forms)
__THRUST_FUNCTION(transform_inclusive_scan, detail::transform_inclusive_scan_forms)
__THRUST_FUNCTION(transform_exclusive_scan, detail::transform_exclusive_scan_forms)
__THRUST_FUNCTION(inclusive_scan_by_key, detail::inclusive_scan_by_key_forms)
__THRUST_FUNCTION(exclusive_scan_by_key, detail::exclusive_scan_by_key_forms)
}  // namespace thrust
