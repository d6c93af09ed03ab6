// reduce, reduce_by_key, transform_reduce, inner_product, count.
#pragma once
#include "copy.h"
#include "../../iterator/transform_iterator.h"
#include "../../iterator/zip_iterator.h"
#include "../../zip_function.h"

namespace thrust {
namespace detail {
// Combined in pairs of neighbours, as trees are: sums of many floats stay as accurate as a device's.
template <class T, class In, class F> __host__ __device__ T reduced(In first, long count, F &f) {
    constexpr int depth = 48, leaf = 32;
    T sums[depth];
    long sizes[depth];
    int top = 0;
    for (long done = 0; done < count;) {
        long size = count - done < leaf ? count - done : leaf;
        T sum = *first;
        ++first;
        for (long i = 1; i < size; i++, ++first) sum = f(sum, *first);
        done += size;
        for (; top > 0 && sizes[top - 1] <= size; top--) sum = f(sums[top - 1], sum), size += sizes[top - 1];
        sums[top] = sum, sizes[top] = size;
        top++;
    }
    for (; top > 1; top--) sums[top - 2] = f(sums[top - 2], sums[top - 1]);
    return sums[0];
}
struct reduce_fn {
    using has_own_kernels = void;
    static constexpr int functions = 1;
    template <class In, class T, class F> __host__ __device__ T operator()(In first, In last, T initial, F f) const {
        if constexpr (std::is_default_constructible_v<T> && std::is_convertible_v<deref_t<In>, T> &&
                      std::is_convertible_v<typename std::iterator_traits<In>::iterator_category,
                                            std::random_access_iterator_tag>) {
            long count = (long)(last - first);
            return count > 0 ? (T)f(initial, reduced<T>(first, count, f)) : initial;
        } else {
            for (; first != last; ++first) initial = f(initial, *first);
            return initial;
        }
    }
    template <class In, class T, class F> __host__ T in_kernels(In first, In last, T initial, F f) const {
        if constexpr (__windlass_calls_on_host<F, T &, value_of<In> &> && !__windlass_reads_on_host<In>) {
            values<In> read(first, last);
            return (*this)(read.data, read.data + (last - first), initial, f);
        } else {
            return run_in_one_thread(*this, first, last, initial, f);
        }
    }
};
struct reduce_forms {
    template <class P, class In> __host__ __device__ value_of<In> operator()(P place, In first, In last) const {
        return run(place, reduce_fn(), first, last, value_of<In>(), plus<value_of<In>>());
    }
    template <class P, class In, class T> __host__ __device__ T operator()(P place, In first, In last, T initial) const {
        return run(place, reduce_fn(), first, last, initial, plus<T>());
    }
    template <class P, class In, class T, class F>
    __host__ __device__ T operator()(P place, In first, In last, T initial, F f) const {
        return run(place, reduce_fn(), first, last, initial, f);
    }
};
struct transform_reduce_forms {
    template <class P, class In, class Unary, class T, class F>
    __host__ __device__ T operator()(P place, In first, In last, Unary unary, T initial, F f) const {
        // A plain intermediate type: what the function gives may be a reference into what is no more.
        using Value = std::decay_t<decltype(unary(*first))>;
        using Each = transform_iterator<Unary, In, Value, Value>;
        return run(place, reduce_fn(), Each(first, unary), Each(last, unary), initial, f);
    }
};
struct inner_product_forms {
    template <class P, class A, class B, class T>
    __host__ __device__ T operator()(P place, A first, A last, B second, T initial) const {
        return (*this)(place, first, last, second, initial, plus<T>(), multiplies<T>());
    }
    template <class P, class A, class B, class T, class F, class G>
    __host__ __device__ T operator()(P place, A first, A last, B second, T initial, F f, G g) const {
        using Both = zip_iterator<std::tuple<A, B>>;
        using Value = std::decay_t<decltype(g(*first, *second))>;
        using Each = transform_iterator<zip_function<G>, Both, Value, Value>;
        Each begin(Both({first, second}), g), end(Both({last, second + (last - first)}), g);
        return run(place, reduce_fn(), begin, end, initial, f);
    }
};
template <class F> struct one_if {
    F f;
    template <class T> __host__ __device__ long operator()(T &&x) const { return const_cast<F &>(f)(x) ? 1 : 0; }
};
struct count_if_fn {
    using has_own_kernels = void;
    static constexpr int functions = 1;
    template <class In, class F> __host__ __device__ distance_of<In> operator()(In first, In last, F f) const {
        distance_of<In> count = 0;
        for (; first != last; ++first)
            if (f(*first)) ++count;
        return count;
    }
    template <class In, class F> __host__ distance_of<In> in_kernels(In first, In last, F f) const {
        flags<In, F> found(first, last, f);
        return (*this)(found.data, found.data + (last - first), is_true());
    }
};
struct count_if_forms {
    template <class P, class In, class F>
    __host__ __device__ distance_of<In> operator()(P place, In first, In last, F f) const {
        return run(place, count_if_fn(), first, last, f);
    }
};
template <class T> struct same_as {
    T value;
    template <class U> __host__ __device__ bool operator()(const U &x) const { return x == value; }
};
struct count_forms {
    template <class P, class In, class T>
    __host__ __device__ distance_of<In> operator()(P place, In first, In last, T value) const {
        return run(place, count_if_fn(), first, last, same_as<T>{value});
    }
};
struct reduce_by_key_fn {
    static constexpr int functions = 2;
    template <class K, class V, class KeysOut, class ValuesOut, class Same, class F>
    __host__ __device__ std::pair<KeysOut, ValuesOut> operator()(K first, K last, V value, KeysOut keys_out,
                                                                 ValuesOut values_out, Same same, F f) const {
        while (first != last) {
            value_of<K> key = *first;
            value_of<V> sum = *value;
            for (++first, ++value; first != last && same(key, *first); ++first, ++value) sum = f(sum, *value);
            *keys_out = key, ++keys_out;
            *values_out = sum, ++values_out;
        }
        return std::pair<KeysOut, ValuesOut>(keys_out, values_out);
    }
};
struct reduce_by_key_forms {
    template <class P, class K, class V, class KO, class VO>
    __host__ __device__ std::pair<KO, VO> operator()(P place, K first, K last, V values, KO keys_out, VO values_out) const {
        return (*this)(place, first, last, values, keys_out, values_out, equal_to<value_of<K>>(), plus<value_of<V>>());
    }
    template <class P, class K, class V, class KO, class VO, class Same>
    __host__ __device__ std::pair<KO, VO> operator()(P place, K first, K last, V values, KO keys_out, VO values_out,
                                                     Same same) const {
        return (*this)(place, first, last, values, keys_out, values_out, same, plus<value_of<V>>());
    }
    template <class P, class K, class V, class KO, class VO, class Same, class F>
    __host__ __device__ std::pair<KO, VO> operator()(P place, K first, K last, V values, KO keys_out, VO values_out,
                                                     Same same, F f) const {
        return run(place, reduce_by_key_fn(), first, last, values, keys_out, values_out, same, f);
    }
};
}  // namespace detail
__THRUST_FUNCTION(reduce, detail::reduce_forms)
__THRUST_FUNCTION(reduce_by_key, detail::reduce_by_key_forms)
__THRUST_FUNCTION(transform_reduce, detail::transform_reduce_forms)
__THRUST_FUNCTION(inner_product, detail::inner_product_forms)
__THRUST_FUNCTION(count, detail::count_forms)
__THRUST_FUNCTION(count_if, detail::count_if_forms)
}  // namespace thrust
