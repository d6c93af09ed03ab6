// remove, unique, partition, reverse: ranges with fewer elements, or in another order.
#pragma once
#include "copy.h"
#include "../../iterator/constant_iterator.h"
#include "../../iterator/discard_iterator.h"
#include "transform.h"

namespace thrust {
namespace detail {
struct remove_if_fn {
    using has_own_kernels = void;
    static constexpr int functions = 1;
    template <class It, class Stencil, class F>
    __host__ __device__ It operator()(It first, It last, Stencil stencil, F f) const {
        It kept = first;
        for (; first != last; ++first, ++stencil)
            if (!f(*stencil)) *kept = (value_of<It>)*first, ++kept;
        return kept;
    }
    template <class It, class Stencil, class F> __host__ It in_kernels(It first, It last, Stencil stencil, F f) const {
        flags<Stencil, F> found(stencil, stencil + (last - first), f);
        return (*this)(first, last, found.data, is_true());
    }
};
struct remove_if_forms {
    template <class P, class It, class F> __host__ __device__ It operator()(P place, It first, It last, F f) const {
        return run(place, remove_if_fn(), first, last, first, f);
    }
    template <class P, class It, class Stencil, class F>
    __host__ __device__ It operator()(P place, It first, It last, Stencil stencil, F f) const {
        return run(place, remove_if_fn(), first, last, stencil, f);
    }
};
struct remove_forms {
    template <class P, class It, class T> __host__ __device__ It operator()(P place, It first, It last, T value) const {
        return run(place, remove_if_fn(), first, last, first, equals_value<T>{value});
    }
};
template <class F> struct opposite {
    F f;
    template <class T> __WINDLASS_BOTH_MEMBER bool operator()(T &&x) const { return !const_cast<F &>(f)(x); }
};
struct remove_copy_if_forms {
    template <class P, class In, class Out, class F>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, F f) const {
        return run(place, copy_if_fn(), first, last, first, out, opposite<F>{f});
    }
    template <class P, class In, class Stencil, class Out, class F>
    __host__ __device__ Out operator()(P place, In first, In last, Stencil stencil, Out out, F f) const {
        return run(place, copy_if_fn(), first, last, stencil, out, opposite<F>{f});
    }
};
struct remove_copy_forms {
    template <class P, class In, class Out, class T>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, T value) const {
        return run(place, copy_if_fn(), first, last, first, out, opposite<equals_value<T>>{{value}});
    }
};
// Of equal neighbours the first; with it its value.
struct unique_copy_fn {
    static constexpr int functions = 1;
    template <class In, class V, class Out, class VOut, class Same>
    __host__ __device__ std::pair<Out, VOut> operator()(In first, In last, V values, Out out, VOut values_out,
                                                        Same same) const {
        if (first != last) {
            value_of<In> key = *first;
            *out = key, ++out;
            *values_out = (value_of<V>)*values, ++values_out;
            for (++first, ++values; first != last; ++first, ++values) {
                if (same(key, *first)) continue;
                key = *first;
                *out = key, ++out;
                *values_out = (value_of<V>)*values, ++values_out;
            }
        }
        return std::pair<Out, VOut>(out, values_out);
    }
};
struct unique_copy_forms {
    template <class P, class In, class Out> __host__ __device__ Out operator()(P place, In first, In last, Out out) const {
        return (*this)(place, first, last, out, equal_to<value_of<In>>());
    }
    template <class P, class In, class Out, class Same>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, Same same) const {
        constant_iterator<char> none((char)0);
        return run(place, unique_copy_fn(), first, last, none, out, discard_iterator<>(), same).first;
    }
};
struct unique_forms {
    template <class P, class It, class... Same>
    __host__ __device__ It operator()(P place, It first, It last, Same... same) const {
        return unique_copy_forms()(place, first, last, first, same...);
    }
};
struct unique_by_key_copy_forms {
    template <class P, class K, class V, class KO, class VO>
    __host__ __device__ std::pair<KO, VO> operator()(P place, K first, K last, V values, KO keys_out, VO values_out) const {
        return run(place, unique_copy_fn(), first, last, values, keys_out, values_out, equal_to<value_of<K>>());
    }
    template <class P, class K, class V, class KO, class VO, class Same>
    __host__ __device__ std::pair<KO, VO> operator()(P place, K first, K last, V values, KO keys_out, VO values_out,
                                                     Same same) const {
        return run(place, unique_copy_fn(), first, last, values, keys_out, values_out, same);
    }
};
struct unique_by_key_forms {
    template <class P, class K, class V, class... Same>
    __host__ __device__ std::pair<K, V> operator()(P place, K first, K last, V values, Same... same) const {
        return unique_by_key_copy_forms()(place, first, last, values, first, values, same...);
    }
};
struct unique_count_fn {
    static constexpr int functions = 1;
    template <class In, class Same> __host__ __device__ distance_of<In> operator()(In first, In last, Same same) const {
        if (first == last) return 0;
        distance_of<In> count = 1;
        for (In next = first; ++next != last; first = next) count += !same(*first, *next);
        return count;
    }
};
struct unique_count_forms {
    template <class P, class In> __host__ __device__ distance_of<In> operator()(P place, In first, In last) const {
        return run(place, unique_count_fn(), first, last, equal_to<value_of<In>>());
    }
    template <class P, class In, class Same>
    __host__ __device__ distance_of<In> operator()(P place, In first, In last, Same same) const {
        return run(place, unique_count_fn(), first, last, same);
    }
};
struct partition_copy_fn {
    using has_own_kernels = void;
    static constexpr int functions = 1;
    template <class In, class Stencil, class A, class B, class F>
    __host__ __device__ std::pair<A, B> operator()(In first, In last, Stencil stencil, A chosen, B others, F f) const {
        for (; first != last; ++first, ++stencil) {
            if (f(*stencil)) *chosen = *first, ++chosen;
            else *others = *first, ++others;
        }
        return std::pair<A, B>(chosen, others);
    }
    template <class In, class Stencil, class A, class B, class F>
    __host__ std::pair<A, B> in_kernels(In first, In last, Stencil stencil, A chosen, B others, F f) const {
        flags<Stencil, F> found(stencil, stencil + (last - first), f);
        return (*this)(first, last, found.data, chosen, others, is_true());
    }
};
struct partition_copy_forms {
    template <class P, class In, class A, class B, class F>
    __host__ __device__ std::pair<A, B> operator()(P place, In first, In last, A chosen, B others, F f) const {
        return run(place, partition_copy_fn(), first, last, first, chosen, others, f);
    }
    template <class P, class In, class Stencil, class A, class B, class F>
    __host__ __device__ std::pair<A, B> operator()(P place, In first, In last, Stencil stencil, A chosen, B others,
                                                   F f) const {
        return run(place, partition_copy_fn(), first, last, stencil, chosen, others, f);
    }
};
// Those of which the predicate holds move to the front one by one, past the others: stable, and in place.
struct partition_fn {
    static constexpr int functions = 1;
    template <class It, class Stencil, class F>
    __host__ __device__ It operator()(It first, It last, Stencil stencil, F f) const {
        It front = first;
        for (It at = first; at != last; ++at, ++stencil) {
            if (!f(*stencil)) continue;
            value_of<It> kept = *at;
            for (It to = at; to != front; --to) *to = (value_of<It>) * (to - 1);
            *front = kept, ++front;
        }
        return front;
    }
};
struct host_partition_fn {
    using has_own_kernels = void;
    static constexpr int functions = 1;
    template <class It, class Stencil, class F>
    __host__ It operator()(It first, It last, Stencil stencil, F f) const {
        std::vector<value_of<It>> others;
        It front = first;
        for (; first != last; ++first, ++stencil) {
            if (f(*stencil)) *front = (value_of<It>)*first, ++front;
            else others.push_back(*first);
        }
        It end = front;
        for (const auto &each : others) *end = each, ++end;
        return front;
    }
    template <class It, class Stencil, class F> __host__ It in_kernels(It first, It last, Stencil stencil, F f) const {
        flags<Stencil, F> found(stencil, stencil + (last - first), f);
        return (*this)(first, last, found.data, is_true());
    }
};
template <class It, class S, class F> __host__ __device__ It run_partition(right_here, It first, It last, S stencil, F f) {
    return partition_fn()(first, last, stencil, f);
}
template <class It, class S, class F> __host__ It run_partition(from_host place, It first, It last, S stencil, F f) {
    return run(place, host_partition_fn(), first, last, stencil, f);
}
struct partition_forms {
    template <class P, class It, class F> __host__ __device__ It operator()(P place, It first, It last, F f) const {
        return run_partition(place, first, last, first, f);
    }
    template <class P, class It, class Stencil, class F>
    __host__ __device__ It operator()(P place, It first, It last, Stencil stencil, F f) const {
        return run_partition(place, first, last, stencil, f);
    }
};
struct reverse_fn {
    static constexpr int functions = 0;
    template <class It> __host__ __device__ void operator()(It first, It last) const {
        for (; first != last && first != --last; ++first) {
            value_of<It> kept = *first;
            *first = (value_of<It>)*last;
            *last = kept;
        }
    }
};
struct reverse_forms {
    template <class P, class It> __host__ __device__ void operator()(P place, It first, It last) const {
        run(place, reverse_fn(), first, last);
    }
};
struct reverse_copy_fn {
    static constexpr int functions = 0;
    template <class In, class Out> __host__ __device__ Out operator()(In first, In last, Out out) const {
        for (; first != last; ++out) *out = *--last;
        return out;
    }
};
struct reverse_copy_forms {
    template <class P, class In, class Out> __host__ __device__ Out operator()(P place, In first, In last, Out out) const {
        return run(place, reverse_copy_fn(), first, last, out);
    }
};
}  // namespace detail
__THRUST_FUNCTION(remove_if, detail::remove_if_forms)
__THRUST_FUNCTION(remove, detail::remove_forms)
__THRUST_FUNCTION(remove_copy_if, detail::remove_copy_if_forms)
__THRUST_FUNCTION(remove_copy, detail::remove_copy_forms)
__THRUST_FUNCTION(unique, detail::unique_forms)
__THRUST_FUNCTION(unique_copy, detail::unique_copy_forms)
__THRUST_FUNCTION(unique_by_key, detail::unique_by_key_forms)
__THRUST_FUNCTION(unique_by_key_copy, detail::unique_by_key_copy_forms)
__THRUST_FUNCTION(unique_count, detail::unique_count_forms)
__THRUST_FUNCTION(partition, detail::partition_forms)
__THRUST_FUNCTION(stable_partition, detail::partition_forms)
__THRUST_FUNCTION(partition_copy, detail::partition_copy_forms)
__THRUST_FUNCTION(stable_partition_copy, detail::partition_copy_forms)
__THRUST_FUNCTION(reverse, detail::reverse_forms)
__THRUST_FUNCTION(reverse_copy, detail::reverse_copy_forms)
}  // namespace thrust

template <class F, class A>
inline constexpr bool __windlass_calls_on_host<thrust::detail::opposite<F>, A> = __windlass_calls_on_host<F, A>;
